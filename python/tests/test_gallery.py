"""The worked examples run and draw their figures."""

import pathlib
import runpy
import sys
import warnings

import pytest

GALLERY = sorted((pathlib.Path(__file__).parents[1] / "examples" / "gallery").glob("*.py"))


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_worked_examples_draw_their_figures(path, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.setattr(sys, "argv", [path.name, "-o", str(tmp_path / "figure.png")])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        runpy.run_path(str(path), run_name="__main__")
    assert "vectors" in capsys.readouterr().out
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG") and (tmp_path / "figure.png").stat().st_size > 5000


def test_there_are_enough_of_them():
    assert len(GALLERY) >= 8
    for path in GALLERY:
        assert f"python {path.name} -o FIGURE.png" in path.read_text(), path.name
