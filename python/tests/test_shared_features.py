"""The wheel and the Rust tests share what is compiled: every crate below the extension and the program has the features that it has for the tests."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def features(*which):
    """The sets of features of each crate of a build; a crate for macros and the same one for the program may differ."""
    command = ["cargo", "tree", "--offline", "--locked", "--prefix", "none", "--format", "{p} [{f}]", *which]
    found = {}
    for line in subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        crate, _, listed = line.removesuffix(" (*)").rpartition(" [")
        found.setdefault(crate, set()).add(listed)
    return found


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
@pytest.mark.parametrize("build", [("--package", "kernelet-python"), ("--workspace",)], ids=["extension", "program"])
def test_no_crate_is_compiled_twice(build):
    tests = features("--workspace", "--edges", "normal,build,dev")
    alone = features(*build, "--edges", "normal,build")
    assert len(alone) > 50
    differing = {name: (sets, tests.get(name)) for name, sets in alone.items() if not sets <= tests.get(name, set())}
    assert not differing, f"ask for the features that the tests ask for, in the Cargo.toml of the extension or of the program: {differing}"
