"""Cascades: small machines before a large one, with a promise."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelet


def rows(n, seed, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    angle = 2 * np.pi * y / classes
    return np.c_[np.cos(angle), np.sin(angle)] + 0.45 * rng.normal(size=(n, 2)), np.array(["a", "b", "c"])[y]


def made(model, X, y, max_disagreement=0.02, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return kernelet.compress(model, X, y, cascade=True, max_disagreement=max_disagreement, options={"effort": "quick"}, **settings)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_cascade_answers_as_the_model_and_says_how_sure_it_is(classes, tmp_path):
    X, y = rows(300, 0, classes)
    # A narrow kernel and a high cost: a boundary that two or three vectors do not have.
    svc = SVC(C=100, gamma=5).fit(X, y)
    fast = made(svc, X, y, max_disagreement=0.01, X_calibrate=rows(3000, 1, classes)[0], confidence=0.9)
    assert isinstance(fast, kernelet.Cascade) and fast.cost_ < 1 and fast.guarantee_["bound"] <= 0.01
    assert fast.guarantee_["confidence"] == 0.9 and {"vectors", "threshold", "exits"} <= set(fast.stages_[0])
    new, truth = rows(3000, 2, classes)
    assert np.mean(fast.predict(new) != svc.predict(new)) <= 0.03
    assert abs(fast.score(new, truth) - svc.score(new, truth)) < 0.03
    stages = fast.predict_stage(new)
    assert set(stages) <= set(range(len(fast.stages_) + 1)) and len(set(stages)) > 1
    one_by_one = np.concatenate([fast.predict(row[None]) for row in new[:50]])
    np.testing.assert_array_equal(one_by_one, fast.predict(new[:50]))
    assert not fast.monitor(new)["alarm"] and fast.monitor(0.3 * new)["alarm"]
    fast.save(tmp_path / "fast.model")
    for again in (kernelet.Cascade.load(tmp_path / "fast.model"), pickle.loads(pickle.dumps(fast))):
        np.testing.assert_array_equal(again.predict(new), fast.predict(new))


def test_it_may_abstain_and_works_behind_a_scaler():
    X, y = rows(300, 0)
    pipeline = make_pipeline(StandardScaler(), SVC(C=10, gamma=1)).fit(X, y)
    fast = made(pipeline, X, y, X_calibrate=rows(2000, 1)[0], abstain=True)
    new = rows(1000, 2)[0]
    answers = fast.predict(new)
    answered = answers != "?"
    assert 0 < answered.sum() < 1000
    assert np.mean(answers[answered] != pipeline.predict(new)[answered]) < 0.05


def test_what_cannot_be_promised_is_refused():
    X, y = rows(300, 0)
    svc = SVC(C=10, gamma=1).fit(X, y)
    with pytest.raises(ValueError, match="trained on"):
        made(svc, X, y, X_calibrate=X)
    with pytest.raises(ValueError, match="at least 149 calibration rows"):
        made(svc, X, y, X_calibrate=rows(100, 1)[0])
    with pytest.raises(ValueError, match="X_calibrate"):
        made(svc, X, y)
    with pytest.raises(ValueError, match="X_calibrate is for cascade=True"):
        kernelet.compress(svc, X, y, n_vectors=5, X_calibrate=X)
