"""Classes with scikit-learn's names and signatures: the same parameters, the same machines, the same attributes."""

import inspect
import pathlib
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import decomposition, kernel_ridge, svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import kernelet
import kernelet.decomposition
import kernelet.kernel_ridge
import kernelet.svm

X, Y = load_iris(return_X_y=True)
# No two rows are the same: coefficients of equal rows may be shared between them in any way.
X = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)
NUMBERS = Y + np.sin(5 * X[:, 0])
PAIRS = [(getattr(kernelet.svm, name), getattr(svm, name)) for name in kernelet.svm.__all__]
PAIRS += [(kernelet.kernel_ridge.KernelRidge, kernel_ridge.KernelRidge), (kernelet.decomposition.KernelPCA, decomposition.KernelPCA)]
CLASSIFIERS = [{}, {"kernel": "linear", "gamma": 2.0}, {"kernel": "poly", "degree": 2, "coef0": 1.0}, {"class_weight": "balanced"}, {"decision_function_shape": "ovo"}]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda kind: kind.__module__ + "." + kind.__name__)
def test_signatures_are_those_of_scikit_learn(ours, theirs):
    mine, want = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    for name, parameter in want.items():
        assert mine[name].kind == parameter.kind, name
        # Newer versions of scikit-learn advise against probability.
        assert mine[name].default == parameter.default or name == "probability", name
    added = {"n_vectors", "method", "options", "n_jobs", "random_state", "verbose"}
    assert set(mine) - set(want) <= added and mine["n_vectors"].default is None
    assert ours().get_params().keys() == set(mine)


@pytest.mark.parametrize("rows", [Y, Y == 1, np.array(["3", "10", "2"])[Y]], ids=["three", "two", "digits as text"])
@pytest.mark.parametrize("settings", CLASSIFIERS, ids=str)
def test_classifiers_have_the_attributes_of_scikit_learn(settings, rows):
    if settings.get("class_weight") and rows.dtype.kind == "U":
        pytest.skip("scikit-learn takes labels of digits for numbers")
    a, b = kernelet.svm.SVC(tol=1e-8, C=3, **settings).fit(X, rows), svm.SVC(tol=1e-8, C=3, **settings).fit(X, rows)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-5)
    for name in ("support_", "n_support_", "support_vectors_", "classes_", "class_weight_", "shape_fit_", "fit_status_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in ("dual_coef_", "intercept_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), atol=1e-3, err_msg=name)
    assert a.n_iter_.shape == b.n_iter_.shape and hasattr(a, "coef_") == hasattr(b, "coef_")
    if hasattr(b, "coef_"):
        np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-4)


def test_the_other_machines_have_the_attributes_of_scikit_learn():
    for name, y in [("NuSVC", Y), ("SVR", NUMBERS), ("NuSVR", NUMBERS), ("OneClassSVM", None)]:
        # Not a whole number of rows in either class: else no coefficient is free, and offsets are not unique.
        settings = {"nu": 0.23} if name != "SVR" else {"C": 2.0}
        a, b = getattr(kernelet.svm, name)(tol=1e-9, **settings).fit(X, y), getattr(svm, name)(tol=1e-9, **settings).fit(X, y)
        np.testing.assert_array_equal(a.support_, b.support_, err_msg=name)
        np.testing.assert_array_equal(a.n_support_, b.n_support_, err_msg=name)
        predict = "predict" if y is NUMBERS else "decision_function"
        np.testing.assert_allclose(getattr(a, predict)(X), getattr(b, predict)(X), atol=1e-4, err_msg=name)
        np.testing.assert_allclose(a.intercept_, b.intercept_, atol=1e-4, err_msg=name)
        assert np.shape(a.n_iter_) == np.shape(b.n_iter_) and a.dual_coef_.shape == b.dual_coef_.shape
    np.testing.assert_allclose(a.offset_, b.offset_, atol=1e-6)


def test_rows_that_do_not_count_keep_their_places():
    weights = np.where(np.arange(len(X)) % 3 == 0, 0.0, 1.0)
    weights[Y == 2] = 0.0
    a, b = kernelet.svm.SVC(tol=1e-8).fit(X, Y, weights), svm.SVC(tol=1e-8).fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_array_equal(a.support_, np.flatnonzero(weights > 0)[b.support_])


def test_kernel_values_that_are_given_have_support_too():
    gram = rbf_kernel(X, X, 0.5)
    for a, b in [
        (kernelet.svm.SVC(kernel="precomputed").fit(gram, Y), svm.SVC(kernel="precomputed").fit(gram, Y)),
        (kernelet.svm.SVC(kernel=lambda a, b: rbf_kernel(a, b, 0.5)).fit(X, Y), svm.SVC(kernel=lambda a, b: rbf_kernel(a, b, 0.5)).fit(X, Y)),
    ]:
        np.testing.assert_array_equal(a.support_, b.support_)
        assert a.support_vectors_.shape == b.support_vectors_.shape == (0, 0)
    sparse = kernelet.svm.SVC(kernel="linear").fit(sp.csr_matrix(X), Y)
    np.testing.assert_allclose(sparse.coef_, kernelet.svm.SVC(kernel="linear").fit(X, Y).coef_, atol=1e-3)


def test_votes_or_the_largest_decision():
    rows, y = make_classification(300, 4, n_informative=4, n_redundant=0, n_classes=4, n_clusters_per_class=1, class_sep=0.4, random_state=3)
    a, b = kernelet.svm.SVC(gamma=1e-6).fit(rows, y), svm.SVC(gamma=1e-6).fit(rows, y)
    for ties in (False, True):
        want = b.set_params(break_ties=ties).predict(rows)
        np.testing.assert_array_equal(a.set_params(break_ties=ties).predict(rows), want)
    largest = a.decision_function(rows).argmax(axis=1)
    assert (a.predict(rows) == largest).all()
    with pytest.raises(ValueError, match="break_ties must be False"):
        kernelet.svm.SVC(break_ties=True, decision_function_shape="ovo").fit(rows, y)


def test_weights_of_classes_count_in_nu_machines():
    rows = np.random.default_rng(0).normal(size=(120, 2))
    y = (rows[:, 0] + 0.8 * rows[:, 1] ** 2 > 0.5).astype(int)
    by_class = kernelet.svm.NuSVC(nu=0.3, class_weight={0: 2.0, 1: 1.0}, tol=1e-9).fit(rows, y)
    by_row = kernelet.svm.NuSVC(nu=0.3, tol=1e-9).fit(rows, y, np.where(y == 0, 2.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(rows), by_row.decision_function(rows), atol=1e-6)


def test_probabilities_are_there_when_they_are_asked_for():
    for make in (kernelet.svm.SVC, kernelet.svm.NuSVC, lambda **settings: kernelet.SparseSVC(10, random_state=0, options={"iterations": 20}, **settings)):
        assert not hasattr(make(), "predict_proba") and not hasattr(make().fit(X, Y), "predict_proba")
        for shape in (True, "isotonic"):
            model = make(probability=shape).fit(X, Y)
            probabilities = model.predict_proba(X)
            np.testing.assert_allclose(probabilities.sum(axis=1), 1)
            assert (model.classes_[probabilities.argmax(axis=1)] == Y).mean() > 0.9
            np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), probabilities)
    assert model.probA_.shape == (0,) and kernelet.svm.SVC(probability=True).fit(X, Y).probA_.shape == (3,)
    with pytest.raises(ValueError, match="'sigmoid' or 'isotonic'"):
        kernelet.svm.SVC(probability="curve").fit(X, Y)


def test_a_budget_makes_the_same_class_small():
    small = kernelet.svm.SVC(n_vectors=6, random_state=0, C=10).fit(X, Y)
    assert small.support_vectors_.shape == (6, 4) and small.dual_coef_.shape == (3, 6) and small.score(X, Y) > 0.9
    with pytest.raises(AttributeError, match="vectors_"):
        small.support_
    assert not hasattr(small, "n_support_") and small.n_iter_ > 0 and small.fit_status_ == 0
    for name in ("NuSVC", "NuSVR", "SVR", "OneClassSVM"):
        model = getattr(kernelet.svm, name)(n_vectors=6, random_state=0, **({"nu": 0.2} if "Nu" in name else {})).fit(X, Y)
        assert model.n_vectors_ <= 6 and not hasattr(model, "support_")


def test_a_parameter_is_honoured_or_rejected():
    with pytest.warns(ConvergenceWarning, match="limit of iterations"):
        short = kernelet.svm.SVC(max_iter=2).fit(X, Y)
    assert short.fit_status_ == 1 and (short.n_iter_ == 2).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = kernelet.svm.SVC(shrinking=False, tol=1e-9).fit(X, Y)
        assert kernelet.svm.SVC(n_vectors=5, max_iter=9, random_state=0).fit(X, Y).n_iter_ == 9
        # Direct training that makes its planned number of steps has come to its end.
        assert kernelet.SparseSVC(5, options={"iterations": 20}, random_state=0).fit(X, Y).report_["status"] == "completed"
    np.testing.assert_allclose(same.decision_function(X), kernelet.svm.SVC(tol=1e-9).fit(X, Y).decision_function(X), atol=1e-6)
    for settings, words in [
        ({"max_iter": 0}, "max_iter is 0"),
        ({"max_iter": 1.5}, "max_iter must be an integer"),
        ({"n_vectors": 5, "shrinking": False}, "shrinking=False is not used by direct training"),
        ({"n_vectors": 5, "decision_function_shape": "ovo"}, "needs machines for pairs"),
        ({"gamma": None}, "gamma must be 'scale'"),
        ({"class_weight": {7: 2.0}}, "class_weight has the class 7"),
        ({"class_weight": "even"}, "must be a dict, 'balanced' or None"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            kernelet.svm.SVC(**settings).fit(X, Y)
    with pytest.raises(ValueError, match="kernel_params"):
        kernelet.kernel_ridge.KernelRidge(kernel_params={"a": 1}).fit(X, NUMBERS)


def test_another_estimator_of_the_library_through_options():
    nu = kernelet.SparseSVC(None, options={"learner": "nu-svc", "nu": 0.2}, tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(nu.decision_function(X), kernelet.svm.NuSVC(nu=0.2, tol=1e-9).fit(X, Y).decision_function(X), atol=1e-9)


def test_ridge_and_components_by_scikit_learns_names():
    centred = NUMBERS - NUMBERS.mean()
    for settings in ({"kernel": "rbf"}, {"kernel": "poly", "degree": 2, "alpha": 0.1}, {"kernel": "rbf", "gamma": 0.3, "alpha": 1e-3}):
        a, b = kernelet.kernel_ridge.KernelRidge(**settings).fit(X, centred), kernel_ridge.KernelRidge(**settings).fit(X, centred)
        # The offset, which scikit-learn's machine does not have, makes the difference.
        assert np.abs(a.predict(X) - b.predict(X)).max() < 0.15 and a.dual_coef_.shape == b.dual_coef_.shape
    for settings in ({"kernel": "rbf", "gamma": 0.1}, {"kernel": "poly", "gamma": 0.01}, {"kernel": "linear"}):
        a, b = kernelet.decomposition.KernelPCA(3, **settings).fit(X), decomposition.KernelPCA(3, **settings).fit(X)
        np.testing.assert_allclose(np.abs(a.transform(X)), np.abs(b.transform(X)), atol=1e-5)
        np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=1e-6)
    every = kernelet.decomposition.KernelPCA(kernel="linear").fit(X)
    assert every.transform(X).shape == (150, 4)


def test_clones_and_pickles_of_classes_in_modules():
    import pickle

    model = kernelet.svm.SVC(C=3).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.support_, model.support_)
    assert clone(again).get_params() == model.get_params()


@pytest.mark.parametrize("kind", [kernelet.svm.SVC, kernelet.svm.NuSVC])
def test_ties_of_pairs_are_rejected_when_they_are_set_after_fit(kind):
    model = kind(break_ties=True).fit(X, Y)
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.set_params(decision_function_shape="ovo").predict(X)
    assert model.set_params(break_ties=False).predict(X).shape == (len(X),)


PAGE = pathlib.Path(__file__).parents[2] / "docs" / "replace-svc.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not here")
@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda kind: kind.__module__ + "." + kind.__name__)
def test_the_page_names_every_parameter_and_attribute(ours, theirs):
    text, model = PAGE.read_text(), theirs()
    model.fit(X, Y if hasattr(model, "class_weight") else NUMBERS)
    attributes = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    missing = [name for name in [*model.get_params(), *attributes] if not re.search(rf"`{name}[`=]", text)]
    assert not missing
