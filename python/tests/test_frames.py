"""The recipes of docs/frames.md run as they are printed, each where its engine is installed."""

import pathlib
import re
import shutil
import sys

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "frames.md"


def recipes():
    """The code of each part of the page; the first part comes before all others."""
    parts = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    return {part.split("\n", 1)[0]: "\n".join(re.findall(r"^```python\n(.*?)^```", part, flags=re.MULTILINE | re.DOTALL)) for part in parts}


@pytest.fixture
def run(tmp_path, monkeypatch):
    if not PAGE.exists():
        pytest.skip("the documentation is not installed")
    monkeypatch.chdir(tmp_path)
    code = recipes()
    first = next(iter(code.values()))

    def run(*parts):
        # One module, so that functions see the names that are defined later.
        names = {"__name__": "__main__"}
        for part in (first, *(code[part] for part in parts)):
            assert "assert" in part or part is first
            exec(compile(part, str(PAGE), "exec"), names)

    return run


def test_polars(run):
    pytest.importorskip("polars")
    run("Polars")


def test_dask(run):
    pytest.importorskip("dask.array")
    run("Dask")


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_spark(run, monkeypatch):
    pytest.importorskip("pyspark")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    pytest.importorskip("polars")
    run("Polars", "Spark")
