"""Programs of users with type hints pass mypy --strict, and mistakes are found: an ignore that is not needed is an error there."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


def test_mypy_strict_accepts_typed_programs(tmp_path):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path), str(HERE / "typed_use.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
