"""What the estimators promise beyond scikit-learn's checks."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.kernel_approximation import Nystroem

from kernelet import (
    RVC,
    RVR,
    GreedyBasis,
    SparseHuberRegressor,
    SparseKernelFisher,
    SparseKernelPCA,
    SparseKernelRidge,
    SparseLogistic,
    SparseOneClassSVM,
    SparseSVC,
    SparseSVR,
)

DIGITS = load_digits(return_X_y=True)
IRIS = load_iris(return_X_y=True)


def target(estimator, y):
    return None if isinstance(estimator, (SparseOneClassSVM, SparseKernelPCA, GreedyBasis)) else y


def results(estimator, X):
    for name in ("decision_function", "predict", "predict_proba", "transform"):
        if hasattr(estimator, name):
            yield getattr(estimator, name)(X)


EVERY = [
    SparseSVC(10, random_state=0),
    SparseSVC(None),
    SparseSVR(10, random_state=0),
    SparseOneClassSVM(10, random_state=0),
    SparseKernelRidge(10, random_state=0),
    SparseHuberRegressor(10, random_state=0),
    SparseKernelPCA(10, n_components=3, random_state=0),
    SparseKernelPCA(None, n_components=3, random_state=0),
    SparseKernelFisher(10, random_state=0),
    SparseLogistic(10, random_state=0),
    RVC(),
    RVR(),
    GreedyBasis(10, random_state=0),
]
every = pytest.mark.parametrize("estimator", EVERY, ids=str)


def test_ridge_is_kernel_ridge_where_the_data_are_centred():
    X, y = IRIS
    Y = np.c_[y - y.mean(), np.sin(X[:, 0])]
    ours = SparseKernelRidge(None, alpha=0.1, gamma=0.5).fit(X, Y)
    assert ours.predict(X).shape == Y.shape
    theirs = KernelRidge(alpha=0.1, gamma=0.5, kernel="rbf").fit(X, Y)
    assert np.abs(ours.predict(X) - theirs.predict(X)).max() < 0.1


def test_huber_is_least_squares_without_large_residuals_and_hardly_moves_with_outliers():
    X, y = IRIS
    Y = np.c_[y - y.mean(), np.sin(X[:, 0])]
    few = {"method": "greedy-basis", "gamma": 0.5, "random_state": 0}
    ridge, huber = SparseKernelRidge(20, alpha=0.1, **few), SparseHuberRegressor(20, C=10.0, epsilon=100.0, **few).fit(X, Y)
    # Where no residual reaches epsilon: C sum r^2 / 2 + |w|^2 / 2, with an offset that is not penalised.
    K, own = (rbf_kernel(rows, huber.vectors_, gamma=0.5) for rows in (X, huber.vectors_))
    columns = np.c_[K, np.ones(len(X))]
    penalty = np.pad(own, (0, 1))
    solution = np.linalg.lstsq(10.0 * columns.T @ columns + penalty, 10.0 * columns.T @ Y, rcond=None)[0]
    np.testing.assert_allclose(huber.predict(X), columns @ solution, atol=1e-6)
    spoiled = Y + 50.0 * (np.arange(len(X)) % 15 == 0)[:, None]
    ridge.fit(X, spoiled)
    huber.set_params(epsilon=0.1).fit(X, spoiled)
    assert np.abs(huber.predict(X) - Y).mean() < 0.2 * np.abs(ridge.predict(X) - Y).mean()


@every
def test_copies_know_the_same(estimator):
    X, y = IRIS
    fitted = clone(estimator).fit(X, target(estimator, y))
    for copied in (pickle.loads(pickle.dumps(fitted)), clone(estimator).fit(X, target(estimator, y))):
        for have, want in zip(results(copied, X), results(fitted, X), strict=True):
            np.testing.assert_array_equal(have, want)


@every
def test_model_files_come_back(estimator, tmp_path):
    X, y = IRIS
    fitted = clone(estimator).fit(X, target(estimator, y))
    fitted.save(tmp_path / "a.model")
    loaded = type(estimator).load(tmp_path / "a.model")
    for have, want in zip(results(loaded, X), results(fitted, X), strict=True):
        np.testing.assert_array_equal(have, want)
    other = SparseKernelRidge if not isinstance(estimator, (SparseKernelRidge, SparseHuberRegressor, SparseSVR, RVR)) else SparseSVC
    with pytest.raises(ValueError, match="holds"):
        other.load(tmp_path / "a.model")
    with pytest.raises(OSError, match="no such file"):
        type(estimator).load(tmp_path / "none.model")


@every
def test_storage_and_threads_do_not_change_the_result(estimator):
    X, y = IRIS
    X = X.astype(np.float32).astype(np.float64)
    want = list(results(clone(estimator).fit(X, target(estimator, y)), X))
    direct = getattr(estimator, "n_vectors", None) is not None and not isinstance(estimator, GreedyBasis)
    forms = [np.asfortranarray(X), sp.csr_matrix(X), X.astype(np.float32), X[:, :]]
    for form in forms:
        fitted = clone(estimator).set_params(n_jobs=2, gamma=estimator.gamma).fit(form, target(estimator, y))
        for have, expected in zip(results(fitted, form), want, strict=True):
            if direct:
                # A search without one best answer: the last digits of the kernel values lead it elsewhere.
                assert np.mean(np.isclose(have, expected, atol=0.5)) > 0.95
            else:
                np.testing.assert_allclose(have, expected, rtol=1e-5, atol=1e-6)


@every
def test_bad_input_is_rejected_with_an_error(estimator):
    X, y = IRIS
    y = target(estimator, y)
    with pytest.raises(NotFittedError):
        next(results(clone(estimator), X))
    bad = X.copy()
    bad[3, 1] = np.nan
    cases = [(bad, "NaN"), (X.astype(complex), "Complex"), (X[0], "Expected 2D"), (X[:0], "0 sample"), (np.full((150, 4), "a", dtype=object), "could not convert")]
    for rows, words in cases:
        with pytest.raises((ValueError, TypeError), match=words):
            clone(estimator).fit(rows, None if y is None else y[: len(rows)])
    fitted = clone(estimator).fit(X, y)
    for rows, words in [(bad, "NaN"), (X[:, :2], "features"), (X[0], "Expected 2D")]:
        with pytest.raises(ValueError, match=words):
            list(results(fitted, rows))
    locked = X.copy()
    locked.flags.writeable = False
    list(results(clone(estimator).fit(locked, y), locked))
    with pytest.raises((ValueError, TypeError)):
        clone(estimator).set_params(gamma=-1.0).fit(X, y)
    with pytest.raises((ValueError, TypeError)):
        clone(estimator).set_params(kernel="no such kernel").fit(X, y)
    if hasattr(estimator, "n_vectors") and estimator.n_vectors:
        with pytest.raises(ValueError, match="method|possible values"):
            clone(estimator).set_params(method="nothing").fit(X, y)
        with pytest.raises(ValueError, match="at least 1"):
            clone(estimator).set_params(n_vectors=0).fit(X, y)
        assert clone(estimator).set_params(n_vectors=7).fit(X, y).n_vectors_ <= 7


def test_labels_of_any_kind_are_kept(tmp_path):
    X, y = IRIS
    for names in (np.array(["one", "two", "10"]), np.array([3.0, -1.0, 7.0]), np.array([20, 3, 100])):
        for model in (SparseSVC(10, random_state=0), SparseSVC(None), SparseKernelFisher(10), RVC()):
            fitted = model.fit(X, names[y])
            assert fitted.score(X, names[y]) > 0.9
            fitted.save(tmp_path / "labels.model")
            loaded = type(model).load(tmp_path / "labels.model")
            assert (loaded.predict(X) == fitted.predict(X)).all()
    yes = SparseSVC(5, random_state=0).fit(X, y == 0)
    assert yes.predict(X).dtype == bool


def test_weights_of_classes_are_weights_of_rows():
    X, y = make_blobs(150, centers=3, cluster_std=4, random_state=0)
    by_class = SparseSVC(None, gamma=0.1, class_weight={0: 3.0, 1: 1.0, 2: 0.5}, tol=1e-9).fit(X, y)
    by_row = SparseSVC(None, gamma=0.1, tol=1e-9).fit(X, y, sample_weight=np.array([3.0, 1.0, 0.5])[y])
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match="eights"):
        SparseSVC(None).fit(X, y, sample_weight=np.zeros(150))


def test_searches_pipelines_and_calibration():
    X, y = IRIS
    search = GridSearchCV(SparseSVC(10, random_state=0), {"C": [1, 10], "n_vectors": [5, None]}, n_jobs=2, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    calibrated = CalibratedClassifierCV(SparseSVC(10, random_state=0), ensemble=False, cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)
    assert make_pipeline(StandardScaler(), GreedyBasis(20), LinearSVC()).fit(X, y).score(X, y) > 0.9


def test_tables_in_and_out():
    pandas = pytest.importorskip("pandas")
    X, y = IRIS
    table = pandas.DataFrame(X, columns=list("abcd"))
    features = GreedyBasis(3).set_output(transform="pandas").fit(table).transform(table)
    assert list(features.columns) == ["greedybasis0", "greedybasis1", "greedybasis2"]
    model = SparseSVC(5, random_state=0).fit(table, y)
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["b", "a", "c", "d"]])


def test_blocks_of_rows_give_a_basis_that_all_are_near():
    X = DIGITS[0][:400]
    basis = GreedyBasis(gamma=1e-3, max_error=0.2)
    for block in np.array_split(X, 4):
        basis.partial_fit(block)
    gaps = 1 - (basis.transform(X) ** 2).sum(axis=1)
    assert 10 < basis.n_vectors_ < len(X)
    assert gaps.max() < 0.2 + 1e-6
    again = GreedyBasis(gamma=1e-3, max_error=0.2).partial_fit(X)
    np.testing.assert_array_equal(again.vectors_, basis.vectors_)


def test_few_components_on_all_rows_are_those_of_the_full_machine():
    X, _ = IRIS
    full = SparseKernelPCA(None, n_components=3, gamma=0.1).fit_transform(X)
    on_basis = SparseKernelPCA(150, n_components=3, gamma=0.1, method="greedy-basis").fit_transform(X)
    np.testing.assert_allclose(np.abs(full), np.abs(on_basis), atol=1e-5)
    part = SparseKernelPCA(150, n_components=0.9, gamma=0.1, method="greedy-basis").fit(X)
    assert 1 <= part.transform(X).shape[1] < 20
    with pytest.raises(ValueError, match="explained is not used by direct training of pca"):
        SparseKernelPCA(20, n_components=0.9, gamma=0.1).fit(X)


def test_few_vectors_found_with_the_machine_beat_those_chosen_before():
    X, y = DIGITS
    train, test = slice(0, 1000), slice(1000, None)
    ours = SparseSVC(30, C=10, random_state=0).fit(X[train], y[train]).score(X[test], y[test])
    gamma = 1 / (64 * X[train].var())
    theirs = make_pipeline(Nystroem(gamma=gamma, n_components=30, random_state=0), LinearSVC(C=10))
    assert ours > theirs.fit(X[train], y[train]).score(X[test], y[test]) + 0.02


def test_options_of_the_command_line_are_reachable():
    X, y = IRIS
    model = SparseSVC(8, options={"init": "random", "starts": 2, "iterations": 20}, random_state=1).fit(X, y)
    assert model.score(X, y) > 0.8
    greedy = SparseKernelFisher(6, method="fisher-pursuit", options={"criterion": "optimal", "deflation": "schur"}).fit(X, y)
    assert greedy.n_vectors_ == 6
    with pytest.raises(ValueError, match="there is no setting no_such"):
        SparseSVC(8, options={"no_such": 1}).fit(X, y)


def test_dense_rows_are_read_where_they_are():
    X, y = IRIS
    model = SparseSVC(10, random_state=0).fit(X, y)
    for dtype in (np.float64, np.float32):
        rows = np.ascontiguousarray(X, dtype=dtype)
        assert model._checked(rows) is rows


def test_exports_are_written(tmp_path):
    X, y = IRIS
    model = SparseSVC(None).fit(X, y)
    model.to_onnx(tmp_path / "a.onnx")
    model.to_libsvm(tmp_path / "a.libsvm")
    model.to_c(tmp_path / "a.c")
    model.to_javascript(tmp_path / "a.js")
    assert {path.name for path in tmp_path.iterdir()} == {"a.onnx", "a.libsvm", "a.c", "a.h", "a.js"}


def test_c_source_has_the_numbers_that_are_asked_for(tmp_path):
    X, y = IRIS
    model = SparseSVC(10, random_state=0).fit(X, y)
    for precision, kind in {"f64": "double", "f32": "float", "i16": "int16_t", "i8": "int8_t"}.items():
        model.to_c(tmp_path / "a.c", precision=precision)
        assert f"typedef {kind} a_" in (tmp_path / "a.h").read_text()
    model.to_c(tmp_path / "a.c", precision="i8", X=X)
    # The measured range of the rows, in steps for whole numbers.
    assert "x[i] - " in (tmp_path / "a.h").read_text()
    with pytest.raises(ValueError, match="or 'i16' or 'i8'"):
        model.to_c(tmp_path / "a.c", precision="i4")
    with pytest.raises(ValueError, match='X goes with precision="i16"'):
        model.to_c(tmp_path / "a.c", X=X)
    with pytest.raises(ValueError, match="features"):
        model.to_c(tmp_path / "a.c", precision="i8", X=X[:, :2])
