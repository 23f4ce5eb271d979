"""What people see: reports, notebooks, plots with titles and units, and exports of whole pipelines."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelet
from kernelet import SparseKernelPCA, SparseOneClassSVM, SparseSVC, SparseSVR

X, Y = load_iris(return_X_y=True)
FEW = {"options": {"iterations": 5}, "random_state": 0}


def test_a_report_says_what_the_machine_is_and_how_good_it_is():
    model = SparseSVC(6, **FEW).fit(X[::2], Y[::2])
    page = kernelet.report(model, X[1::2], Y[1::2])
    assert page["vectors"] == 6 and page["rows"] == 75 and page["accuracy"] == model.score(X[1::2], Y[1::2])
    assert page["status"] == "completed" and page["microseconds for a row alone"] > 0
    assert set(page.keys()) == set(page.to_dict()) and "accuracy" in str(page) and "<table>" in page._repr_html_()
    with pytest.raises(ValueError, match="inconsistent numbers"):
        kernelet.report(model, X, Y[:100])
    # A column of targets is one target for each row.
    assert kernelet.report(model, X, Y[:, None])["accuracy"] == model.score(X, Y)
    search = GridSearchCV(model, {"C": [1, 10]}, cv=2).fit(X, Y)
    assert kernelet.report(search, X, Y)["accuracy"] == search.score(X, Y)
    with pytest.raises(KeyError):
        page["nothing"]
    with pytest.raises(TypeError, match="estimators of kernelet"):
        kernelet.report(SVC().fit(X, Y))


def test_reports_of_every_kind():
    rows, numbers = load_diabetes(return_X_y=True)
    svr = SparseSVR(8, **FEW).fit(rows, numbers)
    assert kernelet.report(svr, rows, numbers)["R2"] == pytest.approx(svr.score(rows, numbers))
    assert 0 <= kernelet.report(SparseOneClassSVM(8, **FEW).fit(X), X)["outside"] <= 1
    assert kernelet.report(SparseKernelPCA(8, n_components=2, **FEW).fit(X), X)["outputs"] == 2
    small = kernelet.compress(make_pipeline(StandardScaler(), SVC(C=10)).fit(X, Y), X, Y, n_vectors=8, options={"effort": "quick"})
    page = kernelet.report(small, X, Y)
    assert page.title == "StandardScaler -> SparseSVC" and page["vectors before"] > 8 and page["accuracy"] == small.score(X, Y)


def test_notebooks_show_what_was_learned():
    model = SparseSVC(6, **FEW)
    assert "fitted</h4>" not in model._repr_html_()
    shown = model.fit(X, Y)._repr_html_()
    assert "SparseSVC, fitted" in shown and "vectors" in shown
    assert model.path_._repr_html_().count("<tr>") == 2


def test_plots_have_titles_legends_and_units():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    model = SparseSVC(6, **FEW).fit(X[:, :2], np.array(["a", "b", "c"])[Y])
    drawn = kernelet.plot_boundary(model, X[:, :2], np.array(["a", "b", "c"])[Y], points=20)
    legend = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert drawn.get_title() and "units" in drawn.get_xlabel() and legend == ["class a", "class b", "class c", "expansion vectors"]
    numbers = SparseSVR(6, **FEW).fit(X[:, :2], Y)
    assert [text.get_text() for text in kernelet.plot_boundary(numbers, X[:, :2], Y, points=20).get_legend().get_texts()] == ["rows", "expansion vectors"]
    path = model.path_.plot()
    assert path.get_title() and "(" in path.get_ylabel() and path.get_legend()


def test_exports_take_a_precision(tmp_path):
    pipeline = kernelet.compress(make_pipeline(StandardScaler(), SVC(C=10)).fit(X, Y), X, Y, n_vectors=8, options={"effort": "quick"})
    for model in (pipeline, pipeline[-1]):
        for write, name in ((model.to_onnx, "a.onnx"), (model.to_c, "a.c")):
            write(tmp_path / name)
            double = (tmp_path / name).stat().st_size
            write(tmp_path / name, precision="f32")
            assert (tmp_path / name).stat().st_size < double
            with pytest.raises(ValueError, match="must be 'f64' or 'f32'"):
                write(tmp_path / name, precision="f16")
