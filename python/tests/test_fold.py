"""A pipeline of scalers and an estimator is one estimator, and one file."""

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC

from kernelet import SparseKernelPCA, SparseLogistic, SparseOneClassSVM, SparseSVC, SparseSVR, fold

X, Y = load_wine(return_X_y=True)
NAMES = np.array(["barolo", "grignolino", "barbera"])[Y]
ROWS, NUMBERS = load_diabetes(return_X_y=True)
SCALERS = [[StandardScaler()], [RobustScaler()], [MinMaxScaler((-1, 1)), StandardScaler(with_std=False)], [MaxAbsScaler(), RobustScaler(with_centering=False)]]


@pytest.mark.parametrize("steps", SCALERS, ids=lambda steps: "-".join(type(step).__name__ for step in steps))
def test_the_estimator_answers_as_the_pipeline_does(steps, tmp_path):
    for model, rows, target, method in [
        (SparseSVC(8, random_state=0), X, NAMES, "decision_function"),
        (SparseSVC(None, C=10), X, NAMES, "decision_function"),
        (SparseLogistic(8, random_state=0), X, NAMES, "predict_proba"),
        (SparseSVR(8, C=100, random_state=0), ROWS, NUMBERS, "predict"),
        (SparseOneClassSVM(8, nu=0.2, random_state=0), X, None, "score_samples"),
        (SparseKernelPCA(8, n_components=2, random_state=0), X, None, "transform"),
    ]:
        pipeline = make_pipeline(*steps, model).fit(rows, target)
        want = getattr(pipeline, method)(rows)
        whole = fold(pipeline)
        assert type(whole) is type(model) and whole.n_features_in_ == rows.shape[1]
        close = dict(rtol=1e-9, atol=1e-9 * np.abs(want).max())
        np.testing.assert_allclose(getattr(whole, method)(rows), want, **close)
        np.testing.assert_allclose(getattr(type(model).load(saved(whole, tmp_path)), method)(rows), want, **close)
        # The pipeline is as it was.
        np.testing.assert_array_equal(getattr(pipeline, method)(rows), want)


def saved(model, folder):
    model.save(folder / "whole.model")
    return folder / "whole.model"


def test_every_format_takes_rows_that_are_not_scaled(tmp_path):
    pipeline = make_pipeline(StandardScaler(), SparseSVC(8, random_state=0)).fit(X, NAMES)
    whole = fold(pipeline)
    for precision in ("f64", "f32"):
        whole.to_onnx(tmp_path / f"{precision}.onnx", precision=precision)
        whole.to_c(tmp_path / f"{precision}.c", precision=precision)
    whole.to_c(tmp_path / "i8.c", precision="i8", X=X)
    whole.to_javascript(tmp_path / "whole.js")
    assert (tmp_path / "f32.onnx").stat().st_size < (tmp_path / "f64.onnx").stat().st_size
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(tmp_path / "f64.onnx")
    (row,) = session.get_inputs()
    labels = session.run(None, {row.name: X})[0]
    assert [str(label) for label in labels.ravel()] == [str(name) for name in pipeline.predict(X)]


def test_sizes_names_and_searches():
    table = pandas.DataFrame(X, columns=[f"feature {place}" for place in range(X.shape[1])])
    search = GridSearchCV(make_pipeline(StandardScaler(), SparseSVC(8, options={"path": True}, random_state=0)), {"sparsesvc__C": [1, 10]}, cv=2).fit(table, NAMES)
    whole, inside = fold(search), search.best_estimator_[-1]
    assert list(whole.feature_names_in_) == list(table.columns)
    for size in whole.path_.sizes[:3]:
        np.testing.assert_allclose(whole.at(int(size)).decision_function(table), inside.at(int(size)).decision_function(search.best_estimator_[0].transform(table)), atol=1e-9)
    assert [list(whole.path_[name]) for name in whole.path_.columns] == [list(inside.path_[name]) for name in inside.path_.columns]
    assert fold(inside).predict(search.best_estimator_[0].transform(table)).tolist() == search.predict(table).tolist()


def test_sparse_rows_and_steps_that_do_nothing():
    rows = sp.csr_matrix(np.where(X > np.median(X, axis=0), X, 0.0))
    pipeline = Pipeline([("nothing", "passthrough"), ("scale", MaxAbsScaler()), ("svc", SparseSVC(8, random_state=0))]).fit(rows, NAMES)
    np.testing.assert_allclose(fold(pipeline).decision_function(rows), pipeline.decision_function(rows), atol=1e-9)


def test_what_is_no_such_pipeline_is_rejected_with_an_error():
    for model, error, words in [
        (make_pipeline(PCA(3), SparseSVC(4, random_state=0)).fit(X, Y), ValueError, "PCA cannot be written"),
        (make_pipeline(StandardScaler(), SVC()).fit(X, Y), TypeError, "compress makes such pipelines"),
        (make_pipeline(StandardScaler(), SparseSVC(4)), ValueError, "not fitted"),
        (make_pipeline(StandardScaler(), SparseSVC(None, kernel=lambda a, b: a @ b.T)).fit(X, Y), ValueError, "a Python function"),
        (StandardScaler().fit(X), TypeError, "not StandardScaler"),
    ]:
        with pytest.raises(error, match=words):
            fold(model)
