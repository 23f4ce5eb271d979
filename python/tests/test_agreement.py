"""Full machines have the decision values of scikit-learn's, strictly: to 1e-3 at tolerance 1e-3, to 1e-6 at 1e-8."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, SVR, OneClassSVM

from kernelet import RVR, SparseKernelFisher, SparseLogistic, SparseOneClassSVM, SparseSVC, SparseSVR

DIGITS, IRIS = load_digits(return_X_y=True), load_iris(return_X_y=True)
WITHIN = pytest.mark.parametrize(("tol", "far"), [(1e-3, 1e-3), (1e-8, 1e-6)])


@WITHIN
def test_two_classes(tol, far):
    X, y = make_classification(600, 20, n_informative=10, flip_y=0.1, random_state=0)
    ours, theirs = SparseSVC(None, tol=tol).fit(X, y), SVC(tol=tol).fit(X, y)
    assert ours.decision_function(X).shape == theirs.decision_function(X).shape == (600,)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=far)


@WITHIN
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_several_classes(tol, far, shape):
    X, y = IRIS
    settings = {"C": 10, "gamma": 0.5, "tol": tol, "decision_function_shape": shape}
    ours, theirs = SparseSVC(None, **settings).fit(X, y), SVC(**settings).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=far)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_ten_classes_have_45_pairs_and_ten_decisions():
    X, y = DIGITS
    for shape, columns in [("ovr", 10), ("ovo", 45)]:
        settings = {"C": 10, "tol": 1e-8, "decision_function_shape": shape}
        ours, theirs = SparseSVC(None, **settings).fit(X[:500], y[:500]), SVC(**settings).fit(X[:500], y[:500])
        assert ours.decision_function(X).shape == (len(X), columns)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="one-vs-one"):
        SparseSVC(10, decision_function_shape="ovo").fit(X[:200], y[:200]).decision_function(X)
    with pytest.raises(ValueError, match="'ovr' or 'ovo'"):
        SparseSVC(10, decision_function_shape="none").fit(X[:200], y[:200])


@WITHIN
def test_numbers(tol, far):
    X, y = load_diabetes(return_X_y=True)
    y = (y - y.mean()) / y.std()
    noisy = IRIS[1] + np.sin(5 * IRIS[0][:, 0])
    for rows, numbers, C in [(X, y, 1), (IRIS[0], noisy, 10)]:
        ours, theirs = SparseSVR(None, C=C, tol=tol).fit(rows, numbers), SVR(C=C, tol=tol).fit(rows, numbers)
        np.testing.assert_allclose(ours.predict(rows), theirs.predict(rows), rtol=0, atol=far)


@WITHIN
def test_one_class(tol, far):
    for X, nu in [(IRIS[0], 0.2), (DIGITS[0][:500] / 16, 0.1)]:
        ours, theirs = SparseOneClassSVM(None, nu=nu, tol=tol).fit(X), OneClassSVM(nu=nu, tol=tol).fit(X)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=far)
        assert abs(ours.offset_ - theirs.offset_[0]) <= far


def test_logistic_probabilities_are_those_of_a_linear_model_with_the_linear_kernel():
    X, y = IRIS
    X, y = X[y < 2][:, :2], np.array(["no", "yes"])[y[y < 2]]
    ours = SparseLogistic(None, C=1.0, kernel="linear").fit(X, y)
    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X).sum(axis=1), 1)
    assert list(ours.classes_) == ["no", "yes"]


def test_the_default_cost_is_the_library_s_however_logistic_regression_is_trained():
    X, y = IRIS
    asked = {"c": 10}
    np.testing.assert_array_equal(SparseLogistic(None).fit(X, y).predict_proba(X), SparseLogistic(None, options=asked).fit(X, y).predict_proba(X))
    blocks = [(X[::2], y[::2]), (X[1::2], y[1::2])]
    few = {"iterations": 5}
    default, given = (SparseLogistic(5, random_state=0, options=few | more).fit_blocks(blocks) for more in ({}, asked))
    np.testing.assert_array_equal(default.predict_proba(X), given.predict_proba(X))
    assert SparseLogistic(None, C=1.0).fit(X, y).predict_proba(X).max() < SparseLogistic(None).fit(X, y).predict_proba(X).max()


def test_probabilities_of_several_classes_sum_to_one():
    X, y = IRIS
    for model in (SparseLogistic(10, C=10, random_state=0), SparseLogistic(10, method="greedy-basis"), SparseKernelFisher(10)):
        probabilities = model.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        assert (model.classes_[probabilities.argmax(axis=1)] == y).mean() > 0.9


def test_each_target_of_relevance_regression_has_a_machine_of_its_own():
    X = np.linspace(-3, 3, 80)[:, None]
    Y = np.c_[np.sinc(X[:, 0]), np.cos(X[:, 0])] + 0.05 * np.random.default_rng(0).normal(size=(80, 2))
    both = RVR(gamma=1.0).fit(X, Y)
    mean, deviation = both.predict(X, return_std=True)
    assert mean.shape == deviation.shape == (80, 2)
    for k in range(2):
        alone, its_deviation = RVR(gamma=1.0).fit(X, Y[:, k]).predict(X, return_std=True)
        np.testing.assert_allclose(mean[:, k], alone, atol=1e-10)
        np.testing.assert_allclose(deviation[:, k], its_deviation, atol=1e-10)
