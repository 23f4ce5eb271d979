"""Builds the wheel: the program `kernelet`, which is shipped as a binary of its own, then the extension module by maturin.

`python build_backend.py [TARGET]` only compiles the program, with zig for a TARGET such as aarch64-unknown-linux-gnu, and puts it where maturin takes it from.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import maturin
from maturin import get_requires_for_build_sdist  # noqa: F401

HERE = pathlib.Path(__file__).resolve().parent
NAME = "kernelet.exe" if os.name == "nt" else "kernelet"


def check_rust() -> None:
    """Says at once that there is no Rust, before anything is downloaded or compiled."""
    if shutil.which("cargo") is None:
        raise SystemExit(
            "kernelet is built from source here, and that needs Rust, which was not found (no cargo on the PATH). Install Rust from https://rustup.rs and try "
            "again, or install a wheel: pip install --only-binary kernelet kernelet"
        )


def folder_of_scripts() -> pathlib.Path:
    """Where maturin takes scripts from; it wants the folder whatever it is asked for, and neither a clone nor a source distribution has it."""
    scripts = HERE / "kernelet.data" / "scripts"
    scripts.mkdir(parents=True, exist_ok=True)
    return scripts


def put_program(target: str | None = None) -> None:
    """Compiles the program and puts it where maturin takes scripts from; a source distribution has none."""
    scripts = folder_of_scripts()
    workspace = HERE.parent
    if not (workspace / "crates" / "kernelet-cli").exists():
        return
    build = ["build"] if target is None else ["zigbuild", "--target", target]
    # Of the whole workspace, so that the library is compiled once for the program and the extension.
    command = ["cargo", *build, "--quiet", "--release", "--workspace", "--bin", "kernelet", "--message-format", "json"]
    built = subprocess.run(command, check=True, cwd=workspace, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in built.splitlines()]
    (path,) = [message["executable"] for message in messages if message.get("executable") and message["target"]["name"] == "kernelet"]
    shutil.copy2(path, scripts / NAME)


def get_requires_for_build_wheel(config_settings=None):
    check_rust()
    return maturin.get_requires_for_build_wheel(config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    check_rust()
    folder_of_scripts()
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_sdist(sdist_directory, config_settings=None):
    folder_of_scripts()
    return maturin.build_sdist(sdist_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    check_rust()
    put_program()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    check_rust()
    put_program()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


if __name__ == "__main__":
    put_program(*sys.argv[1:2])
