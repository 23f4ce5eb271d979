"""Builds the wheel: the program `kernelet`, which is shipped as a binary of its own, then the extension module by maturin."""

import os
import pathlib
import shutil
import subprocess

import maturin
from maturin import build_sdist, get_requires_for_build_sdist, get_requires_for_build_wheel, prepare_metadata_for_build_wheel  # noqa: F401

HERE = pathlib.Path(__file__).resolve().parent
NAME = "kernelet.exe" if os.name == "nt" else "kernelet"


def put_program() -> None:
    """Compiles the program and puts it where maturin takes scripts from; a source distribution has none."""
    manifest = HERE.parent / "crates" / "kernelet-cli" / "Cargo.toml"
    if not manifest.exists():
        return
    command = ["cargo", "build", "--quiet", "--release", "--manifest-path", str(manifest), "--message-format", "json"]
    built = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    (path,) = [line.split('"executable":"')[1].split('"')[0] for line in built.splitlines() if '"executable":"' in line and '"name":"kernelet"' in line]
    scripts = HERE / "kernelet.data" / "scripts"
    scripts.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, scripts / NAME)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    put_program()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    put_program()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
