"""A saved estimator comes back as it was: labels of their own type, and parameters."""

import subprocess
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import kernelet
from kernelet.__main__ import program
from kernelet.svm import SVC, NuSVR

X, Y = load_iris(return_X_y=True)
LABELS = {
    "bool": Y == 1,
    "text": np.array(["setosa", "versicolor", "virginica"])[Y],
    "digits as text": np.array(["3", "10", "2"])[Y],
    "numbers as text, decimal": np.array(["1.0", "1.50", "2"])[Y],
    "integers": np.array([20, 3, -100])[Y],
    "small integers": Y.astype(np.int8),
    "floats": np.array([-1.0, 1.0, 2.0])[Y],
    "whole floats": Y.astype(np.float32),
    "objects": np.array(["a", "b", "c"], dtype=object)[Y],
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_keep_their_type(name, tmp_path):
    y = LABELS[name]
    for model in (kernelet.SparseSVC(5, options={"iterations": 5}, random_state=0), SVC(), kernelet.RVC()):
        fitted = clone(model).fit(X, y)
        fitted.save(tmp_path / "a.model")
        loaded = type(model).load(tmp_path / "a.model")
        assert loaded.classes_.dtype == fitted.classes_.dtype and loaded.classes_.tolist() == fitted.classes_.tolist()
        have, want = loaded.predict(X), fitted.predict(X)
        assert have.dtype == want.dtype and (have == want).all()
        assert [type(label) for label in have.tolist()] == [type(label) for label in want.tolist()]


@pytest.mark.parametrize(
    "model",
    [
        kernelet.SparseSVC(7, C=3.5, gamma=0.25, class_weight={0: 2.0, 1: 1.0, 2: 0.5}, options={"iterations": 5}, random_state=3, n_jobs=2),
        SVC(C=np.float64(2.0), kernel="poly", degree=2, coef0=1.0, decision_function_shape="ovo", tol=1e-4),
        kernelet.SparseKernelRidge(4, alpha=0.2, gamma="auto", random_state=0),
        kernelet.SparseHuberRegressor(4, C=2.0, epsilon=0.3, random_state=0),
        NuSVR(nu=0.3, C=2.0),
        kernelet.SparseKernelPCA(None, n_components=2, whiten=True),
        kernelet.GreedyBasis(5),
        kernelet.RVR(),
    ],
    ids=str,
)
def test_parameters_come_back(model, tmp_path):
    fitted = clone(model).fit(X, Y)
    fitted.save(tmp_path / "a.model")
    loaded = type(model).load(tmp_path / "a.model")
    assert loaded.get_params() == model.get_params()
    # What comes back can be trained again, with the same result.
    name = next(name for name in ("decision_function", "transform", "predict") if hasattr(fitted, name))
    if model.get_params().get("random_state") is not None or model.get_params().get("n_vectors", None) is None:
        np.testing.assert_array_equal(getattr(clone(loaded).fit(X, Y), name)(X), getattr(fitted, name)(X))


def test_one_column_of_targets_stays_a_column(tmp_path):
    for y in (Y.astype(float), Y[:, None].astype(float)):
        fitted = kernelet.SparseKernelRidge(None).fit(X, y)
        fitted.save(tmp_path / "a.model")
        assert kernelet.SparseKernelRidge.load(tmp_path / "a.model").predict(X).shape == y.shape


def test_models_of_the_program_bring_their_request(tmp_path):
    np.savez(tmp_path / "rows.npz", X=X, y=Y)
    flags = ["--vectors", "7", "--c", "3.5", "--gamma", "0.2", "--iterations", "5", "--quiet"]
    subprocess.run([program(), "train", str(tmp_path / "rows.npz"), "-o", str(tmp_path / "a.model"), *flags], check=True, capture_output=True)
    loaded = kernelet.SparseSVC.load(tmp_path / "a.model")
    assert (loaded.n_vectors, loaded.C, loaded.gamma, loaded.kernel) == (7, 3.5, 0.2, "gaussian")


def test_models_of_others_bring_what_the_machine_has(tmp_path):
    kernelet.SparseSVC(None, C=4, gamma=0.3).fit(X, Y).to_libsvm(tmp_path / "a.libsvm")
    loaded = kernelet.SparseSVC.load(tmp_path / "a.libsvm")
    assert (loaded.n_vectors, loaded.gamma, loaded.kernel) == (None, 0.3, "gaussian")


def test_what_no_file_can_hold_is_left_at_its_default(tmp_path):
    fitted = kernelet.SparseSVC(5, random_state=np.random.RandomState(0), options={"iterations": 5}).fit(X, Y)
    fitted.save(tmp_path / "a.model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernelet.SparseSVC.load(tmp_path / "a.model").random_state is None
