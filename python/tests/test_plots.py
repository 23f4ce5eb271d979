"""Pictures are drawn on axes without a screen."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons

from kernelet import SparseSVC, plot_boundary, plot_vectors

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


def test_vectors_are_drawn_as_images():
    X, y = load_digits(return_X_y=True)
    model = SparseSVC(12, random_state=0, options={"iterations": 5}).fit(X[:200], y[:200])
    sheet = plot_vectors(model, shape=(8, 8), columns=5).images[0].get_array()
    assert sheet.shape == (3 * 9 - 1, 5 * 9 - 1)
    np.testing.assert_array_equal(sheet[9:17, 9:17], model.vectors_[6].reshape(8, 8))
    with pytest.raises(ValueError, match="pixels"):
        plot_vectors(model, shape=(16, 16))


def test_boundaries_are_drawn_in_two_dimensions():
    X, y = make_moons(100, noise=0.1, random_state=0)
    names = np.array(["up", "down"])[y]
    model = SparseSVC(8, gamma=2.0, C=10, random_state=0).fit(X, names)
    drawn = plot_boundary(model, X, names, points=40)
    assert len(drawn.collections) >= 2
    with pytest.raises(ValueError, match="2 features"):
        plot_boundary(model, X[:, :1])
