"""The size path."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from kernelet import GreedyBasis, SparseKernelFisher, SparseKernelPCA, SparseKernelRidge, SparseSVC

X, Y = load_iris(return_X_y=True)


def test_growing_vectors_have_a_size_path():
    model = SparseSVC(8, C=10, options={"growth": "doubling"}, random_state=0).fit(X, Y)
    path = model.path_
    assert path.sizes.tolist() == [4, 8] and path.columns == ["vectors", "objective", "train_error"]
    assert path["train_error"][-1] == pytest.approx(1 - model.score(X, Y))
    assert path["objective"][0] > path["objective"][-1]
    four = model.at(7)
    assert four.n_vectors_ == 4 and model.n_vectors_ == 8
    assert 1 - four.score(X, Y) == pytest.approx(path["train_error"][0])
    with pytest.raises(ValueError, match="the smallest has 4"):
        path.at(0)


@pytest.mark.parametrize("model", [SparseSVC(8), SparseKernelFisher(8, method="fisher-pursuit"), SparseKernelRidge(8), SparseKernelPCA(8, n_components=2)])
def test_the_first_vectors_of_a_basis_are_smaller_machines(model):
    method = model.method if model.method != "auto" else "greedy-basis"
    model.set_params(method=method, options={"path": True}).fit(X, Y)
    assert model.path_.sizes.tolist() == [1, 2, 4, 8]
    assert model.at(2).n_vectors_ == 2


def test_full_machines_have_one_size():
    model = SparseSVC(None).fit(X, Y)
    assert len(model.path_) == 1 and model.path_.sizes[0] == model.n_vectors_
    assert repr(model.path_).startswith("Path(1 sizes")


def test_errors_of_a_basis_fall_and_its_first_vectors_are_a_basis():
    digits = load_digits().data[:300] / 16
    model = GreedyBasis(40, gamma=0.05).fit(digits)
    path = model.path_
    assert path.sizes.tolist() == list(range(1, 41))
    assert (np.diff(path["largest_error"]) <= 1e-12).all() and (np.diff(path["mean_error"]) < 0).all()
    gaps = 1 - (model.transform(digits) ** 2).sum(axis=1)
    assert path["largest_error"][-1] == pytest.approx(gaps.max()) and path["mean_error"][-1] == pytest.approx(gaps.mean())
    ten = model.at(10).transform(digits)
    np.testing.assert_array_equal(digits[model.at(10).chosen_], model.at(10).vectors_)
    np.testing.assert_allclose(ten, model.transform(digits)[:, :10], atol=1e-12)
    assert path["mean_error"][9] == pytest.approx((1 - (ten**2).sum(axis=1)).mean())
    assert len(GreedyBasis(5, method="kmeans").fit(digits).path_) == 1


def test_pickles_keep_the_figures_and_the_machine_alone():
    model = SparseSVC(8, options={"growth": "one-by-one"}, random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.path_["objective"], model.path_["objective"])
    with pytest.raises(ValueError, match="not stored in pickles"):
        again.at(4)


def test_frames_and_plots():
    path = SparseSVC(8, options={"growth": "doubling"}, random_state=0).fit(X, Y).path_
    pandas = pytest.importorskip("pandas")
    frame = path.frame()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == path.columns and len(frame) == 2
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    drawn = path.plot().lines[0]
    np.testing.assert_array_equal(drawn.get_xdata(), path.sizes)
    np.testing.assert_array_equal(drawn.get_ydata(), path["train_error"])
    assert path.plot("objective").get_ylabel() == "objective (training objective)"
    with pytest.raises(ValueError, match="there are vectors, objective"):
        path.plot("nothing")
