"""Kernels that are functions or matrices: full machines, and vectors chosen among the rows."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import chi2_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score

from kernelet import (
    GreedyBasis,
    SparseHuberRegressor,
    SparseKernelFisher,
    SparseKernelPCA,
    SparseKernelRidge,
    SparseLogistic,
    SparseOneClassSVM,
    SparseSVC,
    SparseSVR,
    compress,
)

X, Y = load_iris(return_X_y=True)
UNSUPERVISED = (SparseOneClassSVM, SparseKernelPCA, GreedyBasis)


def half(a, b):
    return rbf_kernel(a, b, 0.5)


def cubic(a, b):
    """No two rows have the same k(x, x), so that the first vector of a basis is the same with computed and with given kernel values."""
    return polynomial_kernel(a, b, degree=3, gamma=0.1, coef0=1)


def results(model, rows):
    return next(getattr(model, name)(rows) for name in ("decision_function", "transform", "predict") if hasattr(model, name))


@pytest.mark.parametrize("n_vectors", [None, 12])
@pytest.mark.parametrize("make", [SparseSVC, SparseSVR, SparseOneClassSVM, SparseKernelRidge, SparseHuberRegressor, SparseKernelFisher, SparseLogistic, SparseKernelPCA, GreedyBasis])
def test_a_given_kernel_is_the_kernel_itself(make, n_vectors):
    if make is GreedyBasis and n_vectors is None:
        pytest.skip("a basis always has a number of vectors")
    if make is SparseHuberRegressor and n_vectors is None:
        with pytest.raises(ValueError, match="huber does not work with a precomputed kernel"):
            make(None, kernel="precomputed").fit(cubic(X, X), Y)
        return
    # The machines of the hinge and of the tube on a basis are solved exactly.
    settings = {"tol": 1e-8} if "tol" in make().get_params() and not (make in (SparseSVC, SparseSVR) and n_vectors) else {}
    settings["random_state"] = 0
    settings |= {"n_components": 3} if make is SparseKernelPCA else {}
    settings |= {"method": "greedy-basis"} if n_vectors else {}
    y = None if make in UNSUPERVISED else Y
    want = results(make(n_vectors, kernel="polynomial", degree=3, gamma=0.1, coef0=1, **settings).fit(X, y), X)
    given = make(n_vectors, kernel="precomputed", **settings).fit(cubic(X, X), y)
    called = make(n_vectors, kernel=cubic, **settings).fit(X, y)
    np.testing.assert_allclose(results(given, cubic(X, X)), want, atol=1e-3)
    np.testing.assert_allclose(results(called, X), want, atol=1e-3)
    if n_vectors:
        assert given.n_vectors_ == called.n_vectors_ == n_vectors
        # Prediction calls the function with the vectors alone.
        assert called._X_fit.shape == called.vectors_.shape == (12, 4)
    for copied in (pickle.loads(pickle.dumps(called)), clone(called).fit(X, y)):
        np.testing.assert_array_equal(results(copied, X), results(called, X))


def test_auto_chooses_among_the_rows_where_new_vectors_have_no_values():
    model = SparseSVC(10, kernel=chi2_kernel).fit(X, Y)
    assert model.n_vectors_ == 10 and model.score(X, Y) > 0.9
    assert all((row == X).all(axis=1).any() for row in model.vectors_)
    with pytest.raises(ValueError, match="file"):
        model.save("nowhere")
    with pytest.raises(ValueError, match="greedy-basis"):
        SparseSVC(10, kernel="precomputed", method="kmeans").fit(half(X, X), Y)
    with pytest.raises(ValueError, match="not positive definite"):
        SparseSVC(10, kernel="precomputed").fit(-half(X, X), Y)
    with pytest.raises(ValueError, match="square"):
        SparseSVC(10, kernel="precomputed").fit(X, Y)
    with pytest.raises(ValueError, match="by name"):
        GreedyBasis(kernel=half).partial_fit(X)


def test_sparse_rows_and_searches():
    model = SparseSVC(10, kernel=lambda a, b: (a @ b.T).toarray() + 1.0).fit(sp.csr_matrix(X), Y)
    assert model.score(sp.csr_matrix(X), Y) > 0.9 and sp.issparse(model.vectors_)
    search = GridSearchCV(SparseSVC(10, kernel="precomputed"), {"C": [1, 10]}, cv=3).fit(half(X, X), Y)
    assert search.best_score_ > 0.9
    assert cross_val_score(SparseSVC(10, kernel=half), X, Y, cv=3).mean() > 0.9


def test_smaller_sizes_of_a_function_keep_their_vectors():
    model = SparseSVC(12, kernel=cubic, options={"path": True}, random_state=0).fit(X, Y)
    four = model.at(4)
    assert four.n_vectors_ == 4 and four.vectors_.shape == (4, 4)
    np.testing.assert_allclose(four.decision_function(X), SparseSVC(4, kernel="poly", gamma=0.1, coef0=1, method="greedy-basis", random_state=0).fit(X, Y).decision_function(X), atol=1e-2)


@pytest.mark.parametrize("n_vectors", [None, 12])
def test_a_fitted_machine_keeps_its_kernel_function_whatever_is_set_afterwards(n_vectors):
    model = SparseSVC(n_vectors, kernel=cubic, random_state=0).fit(X, Y)
    want = model.decision_function(X)
    for kernel in ("rbf", "precomputed", half, None):
        np.testing.assert_array_equal(model.set_params(kernel=kernel).decision_function(X), want)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), want)
    small = compress(model, n_vectors=4)
    assert small.n_vectors_ <= 4 and small.score(X, Y) > 0.9
    other = SparseSVC(n_vectors, kernel="poly", gamma=0.1, coef0=1, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(other.decision_function(X), other.set_params(kernel=cubic).decision_function(X))
