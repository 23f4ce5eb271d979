"""Probabilities stay good when the machines under them become small."""

import copy

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, NuSVC

import kernelet

X, TEST, Y, TRUTH = train_test_split(*load_digits(return_X_y=True), test_size=0.4, random_state=0)
QUICK = {"options": {"effort": "quick"}}


def calibrated(classes=10, model=None, **settings):
    """A calibrated model, and the labels of the training and the test rows."""
    y, truth = (Y, TRUTH) if classes == 10 else (Y % 2, TRUTH % 2)
    return CalibratedClassifierCV(model or make_pipeline(StandardScaler(with_std=False), SVC(C=10)), **{"cv": 2, "ensemble": False, **settings}).fit(X, y), y, truth


def check(small, full, truth):
    p, q = small.predict_proba(TEST), full.predict_proba(TEST)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    accuracy, before = (np.mean(full.classes_[each.argmax(axis=1)] == truth) for each in (p, q))
    assert accuracy >= before - 0.02 and log_loss(truth, p) <= 1.5 * log_loss(truth, q)


@pytest.mark.parametrize("with_labels", [True, False], ids=["labels", "rows alone"])
@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("ensemble", [False, True], ids=["one", "ensemble"])
def test_curves_fit_the_small_machines(ensemble, method, classes, with_labels):
    full, y, truth = calibrated(classes, SVC(C=10), ensemble=ensemble, method=method)
    before = copy.deepcopy(full)
    small = kernelet.compress(full, X, y if with_labels else None, n_vectors=60, **QUICK)
    assert all(part.estimator.n_vectors_ <= 60 for part in small.calibrated_classifiers_)
    check(small, full, truth)
    np.testing.assert_array_equal(full.predict_proba(TEST), before.predict_proba(TEST))


@pytest.mark.parametrize("classes", [2, 10])
def test_pipelines_inside_and_outside(classes):
    inside, y, truth = calibrated(classes)
    check(kernelet.compress(inside, X, y, n_vectors=60, **QUICK), inside, truth)
    outside = make_pipeline(StandardScaler(with_std=False), calibrated(classes, SVC(C=10))[0]).fit(X, y)
    check(kernelet.compress(outside, X, y, n_vectors=60, **QUICK), outside, truth)


def test_other_methods_layouts_and_models():
    full, y, truth = calibrated(10, NuSVC(nu=0.05))
    check(kernelet.compress(full, X, y, n_vectors=80, **QUICK), full, truth)
    full, y, truth = calibrated(10, SVC(C=10))
    check(kernelet.compress(full, X, y, n_vectors=120, method="pursuit"), full, truth)
    check(kernelet.compress(full, X, y, n_vectors=120, options={"effort": "quick", "layout": "pairs"}), full, truth)
    check(kernelet.compress(full, n_vectors=120), full, truth)


def test_temperature():
    try:
        full, y, truth = calibrated(10, SVC(C=10), method="temperature")
    except ValueError:
        pytest.skip("this scikit-learn has no temperature scaling")
    check(kernelet.compress(full, X, y, n_vectors=60, **QUICK), full, truth)
    check(kernelet.compress(full, X, n_vectors=60, **QUICK), full, truth)


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("model", [kernelet.SparseSVC(None, C=10, multiclass="one-vs-rest"), kernelet.SparseLogistic(None, C=10), kernelet.RVC()], ids=str)
def test_estimators_of_this_package_inside(model, classes):
    full, y, truth = calibrated(classes, model)
    check(kernelet.compress(full, X, y, n_vectors=60, **QUICK), full, truth)
