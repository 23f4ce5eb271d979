"""Prediction sets and deviations."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons

from kernelet import SparseKernelRidge, SparseSVC, SparseSVR


def test_sets_of_classes_cover_the_truth_and_survive_a_file(tmp_path):
    X, y = make_moons(1700, noise=0.3, random_state=0)
    model = SparseSVC(n_vectors=10, gamma=1.0, random_state=0).fit(X[:200], y[:200]).calibrate(X[200:700], y[200:700])
    for confidence in (0.8, 0.95):
        sets = model.predict_set(X[700:], confidence=confidence)
        assert sets.dtype == bool and sets.shape == (1000, 2)
        assert abs(sets[np.arange(1000), y[700:]].mean() - confidence) < 0.05
    path = tmp_path / "m.model"
    model.save(path)
    assert np.array_equal(SparseSVC.load(path).predict_set(X[700:], 0.8), model.predict_set(X[700:], 0.8))


def test_sets_of_several_classes_follow_the_order_of_classes():
    X, y = load_digits(return_X_y=True)
    names = np.array(list("zyxwvutsrq"))[y]
    model = SparseSVC(n_vectors=30, C=10, random_state=0).fit(X[:800], names[:800]).calibrate(X[800:1300], names[800:1300])
    sets = model.predict_set(X[1300:], 0.95)
    covered = sets[np.arange(len(sets)), np.searchsorted(model.classes_, names[1300:])].mean()
    assert 0.9 < covered <= 1.0
    with pytest.raises(ValueError, match="was not there in fit"):
        model.calibrate(X[800:802], ["a", "b"])


def test_errors_are_value_errors_with_what_to_do():
    X, y = make_moons(100, random_state=0)
    model = SparseSVC(n_vectors=5, random_state=0).fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="prediction sets"):
        model.predict_set(X)
    model.calibrate(X[50:], y[50:])
    with pytest.raises(ValueError, match="needs at least 99 calibration rows, but the model has 50"):
        model.predict_set(X, 0.99)


def noisy(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sinc(X[:, 0]) + np.where(X[:, 0] < 0, 0.05, 0.4) * rng.normal(size=n)


@pytest.mark.parametrize("estimator", [SparseKernelRidge(n_vectors=15, alpha=0.1), SparseSVR(n_vectors=15, C=10, epsilon=0.05)])
def test_deviations_follow_the_noise_and_intervals_follow_them(estimator):
    (X, y), (new, truth) = noisy(800, 1), noisy(4000, 2)
    model = estimator.set_params(deviation=True, random_state=0, gamma=1.0).fit(X, y)
    mean, deviation = model.predict(new, return_std=True)
    left = new[:, 0] < -0.5
    assert np.median(deviation[left]) < 0.15 < 0.3 < np.median(deviation[new[:, 0] > 0.5])
    assert 0.9 < (np.abs(truth - mean) < 1.96 * deviation).mean() < 0.99
    model.calibrate(*noisy(500, 3))
    intervals = model.predict_set(new, 0.9)
    assert intervals.shape == (4000, 2)
    covered = (intervals[:, 0] <= truth) & (truth <= intervals[:, 1])
    assert abs(covered.mean() - 0.9) < 0.05 and abs(covered[left].mean() - 0.9) < 0.08


def test_several_targets_have_an_interval_each_and_no_deviations_unless_asked():
    X = np.linspace(-3, 3, 300)[:, None]
    Y = np.c_[np.sin(X[:, 0]), np.cos(X[:, 0])] + 0.1 * np.random.default_rng(0).normal(size=(300, 2))
    model = SparseKernelRidge(n_vectors=10, alpha=1e-3, random_state=0).fit(X[::2], Y[::2])
    with pytest.raises(ValueError, match="probability normal"):
        model.predict(X, return_std=True)
    assert model.calibrate(X[1::2], Y[1::2]).predict_set(X, 0.9).shape == (300, 2, 2)
