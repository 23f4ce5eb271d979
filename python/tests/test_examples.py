"""The examples run. Those that take longer are only read; their output in the guide was made by the commands beside it."""

import ast
import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
SHORT = {"boundary.py": ["-o", "boundary.png"], "put_it_on_a_device.py": ["-o", "device"], "compress_a_gaussian_process.py": ["--rows", "300"]}


@pytest.mark.parametrize("name", SHORT)
def test_short_examples_run(name, tmp_path):
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(EXAMPLES / name), *SHORT[name]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env={**os.environ, "MPLBACKEND": "agg"})
    assert done.returncode == 0, done.stderr
    assert "vectors" in done.stdout


def test_every_example_says_how_it_is_run():
    for path in EXAMPLES.glob("*.py"):
        assert f"python {path.name}" in ast.get_docstring(ast.parse(path.read_text())), path.name
