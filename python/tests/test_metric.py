"""Metrics that are learned with the vectors."""

import json

import numpy as np
import pytest
from kernelet import SparseKernelPCA, SparseKernelRidge, SparseLogistic, SparseOneClassSVM, SparseSVC, plot_scales


def rows(n=300):
    """Six features of different size, of which two count."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 6)) * [1, 10, 1, 1, 5, 1]
    return X, (np.sin(1.5 * X[:, 0]) + X[:, 1] / 10 > 0).astype(int)


def test_scales_rank_the_features_that_count():
    X, y = rows()
    model = SparseSVC(12, C=10, ard=True, random_state=0).fit(X, y)
    assert set(np.argsort(-model.feature_scales_)[:2]) == {0, 1}
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_[:2].sum() > 0.8
    assert model.vectors_.shape == (12, 6)
    assert model.vectors_[:, 1].std() > 3  # In the units of X.
    with pytest.raises(AttributeError, match="projection_ is learned"):
        model.projection_  # noqa: B018


def test_a_projection_has_vectors_of_its_dimensions():
    X, y = rows()
    model = SparseSVC(12, C=10, projection=2, options={"metric-penalty": 0.01}, random_state=0).fit(X, y)
    assert model.projection_.shape == (2, 6)
    assert model.vectors_.shape == (12, 2)
    assert model.n_features_in_ == 6
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    distances = ((standard @ model.projection_.T)[:, None] - model.vectors_[None]) ** 2
    outputs = np.exp(-model.gamma_ * distances.sum(axis=2)) @ model.coefficients_ + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), outputs[:, 0], rtol=1e-8, atol=1e-8)


def test_vectors_predict_as_scales_say():
    X, _ = rows()
    y = np.sin(X[:, 0])
    model = SparseKernelRidge(10, alpha=0.1, ard=True, options={"metric-penalty": 0.01}, random_state=0).fit(X, y)
    weights = model.feature_scales_ / X.std(axis=0)
    distances = ((X[:, None] - model.vectors_[None]) * weights) ** 2
    outputs = np.exp(-model.gamma_ * distances.sum(axis=2)) @ model.coefficients_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), outputs[:, 0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("estimator", [SparseLogistic(8), SparseOneClassSVM(8), SparseKernelPCA(8, n_components=2), SparseSVC(None)])
def test_every_estimator_learns_scales(estimator, tmp_path):
    X, y = rows(120)
    estimator.set_params(ard=True, random_state=0, options={"metric-penalty": 0.1}).fit(X, y)
    assert estimator.feature_scales_.shape == (6,)
    assert np.ptp(estimator.feature_scales_) > 0
    estimator.save(tmp_path / "a.model")
    loaded = type(estimator).load(tmp_path / "a.model")
    np.testing.assert_array_equal(loaded.feature_scales_, estimator.feature_scales_)


def test_without_a_learned_metric_there_are_no_scales():
    X, y = rows(60)
    with pytest.raises(AttributeError, match="learned with ard=True"):
        SparseSVC(4).fit(X, y).feature_scales_  # noqa: B018
    with pytest.raises(ValueError, match="gamma learned contradicts ard and projection"):
        SparseSVC(4, ard=True, gamma="learned").fit(X, y)


def test_scales_and_a_map_may_be_asked_for_together():
    X, y = rows(120)
    model = SparseSVC(4, ard=True, projection=2, random_state=0).fit(X, y)
    metric = json.loads(model.machine_.description())["facts"]["metric"]
    assert {tried.get("dimensions") for tried in metric["tried"]} == {None, 2}
    assert metric["learned"] in ("scales", "map", "scales or map")


def test_scales_are_drawn_with_names():
    pytest.importorskip("matplotlib").use("agg")
    X, y = rows(120)
    model = SparseSVC(6, ard=True, options={"metric-penalty": 0.1}, random_state=0).fit(X, y)
    ax = plot_scales(model, names=list("abcdef"), most=3)
    assert len(ax.patches) == 3
    assert len(ax.get_yticklabels()) == 3
