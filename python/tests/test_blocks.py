"""Training on blocks of rows and on rows as they come."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics.pairwise import rbf_kernel

from kernelet import SparseKernelRidge, SparseLogistic, SparseSVC


def moons(n, seed=0):
    return make_moons(n, noise=0.2, random_state=seed)


def cut(X, y, size):
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(y), size)]


@pytest.mark.parametrize("estimator", [SparseSVC(8, C=10, gamma=2.0, random_state=0), SparseLogistic(8, C=10, gamma=2.0, random_state=0)])
def test_blocks_give_the_machine_of_all_rows(estimator):
    X, y = moons(900)
    names = np.array(["low", "high"])[y]
    whole = estimator.fit(X, names).score(X, names)
    blocks = estimator.fit_blocks(cut(X, names, 250))
    assert blocks.score(X, names) > whole - 0.02
    assert abs(1 - blocks.score(X, names) - blocks.train_error_) < 1e-12
    assert list(blocks.classes_) == ["high", "low"] and blocks.vectors_.shape == (8, 2)
    again = estimator.fit_blocks(cut(X, names, 250))
    assert np.array_equal(again.coefficients_, blocks.coefficients_)


def test_sparse_blocks_and_memory_maps_work(tmp_path):
    X, y = load_digits(return_X_y=True)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = SparseSVC(20, C=10, random_state=0, options={"iterations": 20})
    dense = model.fit_blocks(cut(mapped, y, 600)).score(X, y)
    sparse = model.fit_blocks([(sp.csr_matrix(X[i : i + 600]), y[i : i + 600]) for i in range(0, len(y), 600)]).score(X, y)
    assert dense > 0.9 and sparse > 0.9


def test_a_function_gives_the_blocks_of_every_pass(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    X, y = moons(900)
    parquet.write_table(arrow.table({"a": X[:, 0], "b": X[:, 1], "y": y}), tmp_path / "rows.parquet", row_group_size=250)

    def blocks():
        for batch in parquet.ParquetFile(tmp_path / "rows.parquet").iter_batches(250):
            rows = batch.to_pandas()
            yield rows[["a", "b"]].to_numpy(), rows["y"].to_numpy()

    model = SparseSVC(8, C=10, gamma=2.0, random_state=0, options={"iterations": 15})
    want = model.fit_blocks(cut(X, y, 250)).coefficients_
    assert np.array_equal(model.fit_blocks(blocks).coefficients_, want)
    with pytest.raises(TypeError, match="a function that returns an iterator"):
        model.fit_blocks(blocks())
    calls = []

    def fewer():
        calls.append(1)
        return cut(X, y, 250)[: 4 if len(calls) < 3 else 3]

    with pytest.raises(ValueError, match="there are 3 blocks, but there were 4 before"):
        model.fit_blocks(fewer)
    with pytest.raises(ValueError, match="block 1 has changed since the first pass"):
        calls.clear()
        model.fit_blocks(lambda: calls.append(1) or (cut(X, y, 250) if len(calls) < 3 else cut(X[:350], y[:350], 250)))


def test_blocks_may_be_made_by_another_machine_and_any_number_of_threads_gives_the_same_bits():
    X, y = moons(900)
    teacher = SparseSVC(8, C=10, gamma=2.0, random_state=0, n_jobs=1).fit(X, y)
    model = SparseSVC(6, C=10, gamma=2.0, random_state=0, n_jobs=1, options={"iterations": 10})
    one = model.fit_blocks(lambda: ((X[i : i + 300], teacher.predict(X[i : i + 300])) for i in range(0, 900, 300))).coefficients_
    two = model.set_params(n_jobs=2).fit_blocks(cut(X, teacher.predict(X), 300)).coefficients_
    assert np.array_equal(one, two)


def test_a_path_is_read_by_the_library(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = moons(900)
    frame = pandas.DataFrame({"a": X[:, 0], "side": np.where(X[:, 1] > 0, "up", "down"), "class": np.array(["low", "high"])[y], "b": X[:, 1]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    np.save(tmp_path / "rows.npy", np.c_[X, y])
    model = SparseSVC(8, C=10, gamma=2.0, random_state=0, options={"iterations": 15, "cache": str(tmp_path / "rows.cache")})
    table = model.fit_blocks(str(tmp_path / "rows.csv"), target="class")
    assert list(table.classes_) == ["high", "low"] and list(table.feature_names_in_) == ["a", "side", "b"]
    assert abs((table.predict(frame.drop(columns="class")) != frame["class"]).mean() - table.train_error_) < 1e-12
    assert (tmp_path / "rows.cache").exists()
    numbers = SparseSVC(8, C=10, gamma=2.0, random_state=0, options={"iterations": 15}).fit_blocks(tmp_path / "rows.npy")
    assert numbers.classes_.tolist() == [0, 1]
    assert np.array_equal(numbers.coefficients_, SparseSVC(8, C=10, gamma=2.0, random_state=0, options={"iterations": 15}).fit_blocks([(X, y)]).coefficients_)
    ridge = SparseKernelRidge(8, gamma=2.0, random_state=0, options={"iterations": 5}).fit_blocks(tmp_path / "rows.npy")
    assert ridge.predict(X).shape == (900,)
    with pytest.raises(ValueError, match="nothing"):
        model.fit_blocks(str(tmp_path / "rows.csv"), target="nothing")


def test_ridge_by_blocks_has_several_targets():
    X = np.linspace(-3, 3, 400)[:, None]
    Y = np.c_[np.sin(X[:, 0]), np.cos(X[:, 0])]
    model = SparseKernelRidge(10, alpha=1e-3, random_state=0).fit_blocks(cut(X, Y, 150))
    assert model.predict(X).shape == (400, 2) and model.score(X, Y) > 0.99


def test_settings_and_scales_are_chosen_on_a_sample_of_the_blocks():
    X, y = moons(600)
    draw = np.random.default_rng(0)
    noisy = np.c_[X, draw.normal(size=(600, 2))]
    tuned = SparseSVC(8, tune=True, random_state=0, options={"iterations": 10}).fit_blocks(cut(X, y, 200))
    assert tuned.score(X, y) > 0.9
    learned = SparseSVC(8, C=10, ard=True, random_state=0, options={"iterations": 30}).fit_blocks(cut(noisy, y, 200))
    assert learned.score(noisy, y) > 0.9
    assert abs(1 - learned.score(noisy, y) - learned.train_error_) < 1e-12
    assert learned.feature_scales_[2:].max() < learned.feature_scales_[:2].min()


def test_what_blocks_cannot_do_is_an_error_that_says_what_to_do():
    X, y = moons(60)
    with pytest.raises(ValueError, match="training by blocks has no `?probability.*logistic"):
        SparseSVC(4, gamma=1.0, probability=True).fit_blocks([(X, y)])
    with pytest.raises(ValueError, match="partial_fit has no probability; use SparseLogistic"):
        SparseSVC(4, gamma=1.0, probability=True).partial_fit(X, y)
    with pytest.raises(ValueError, match="training by blocks has no `?probability`?; train in memory"):
        SparseKernelRidge(4, gamma=1.0, deviation=True).fit_blocks([(X, y.astype(float))])
    with pytest.raises(ValueError, match="makes a machine of one size; leave `?path`? out"):
        SparseSVC(4, gamma=1.0, options={"path": True}).fit_blocks([(X, y)])


def test_bad_blocks_are_rejected_in_a_sentence():
    X, y = moons(60)
    model = SparseSVC(5, random_state=0)
    with pytest.raises(ValueError, match="there are no blocks"):
        model.fit_blocks([])
    with pytest.raises(ValueError, match="different numbers of features"):
        model.fit_blocks([(X, y), (X[:, :1], y)])
    with pytest.raises(ValueError, match="one class"):
        model.fit_blocks([(X, np.zeros(60))])
    bad = X.copy()
    bad[7, 1] = np.nan
    with pytest.raises(ValueError, match="row 68, column 2 is NaN"):
        model.fit_blocks([(X, y), (bad, y)])
    with pytest.raises(OSError, match=r"rows\.svm"):
        model.fit_blocks("rows.svm")
    with pytest.raises(TypeError, match="blocks is no path"):
        model.fit_blocks([(X, y)], target="y")
    for wrong in (3, {0: (X, y)}, ((X, y) for _ in range(2))):
        with pytest.raises(TypeError, match="must be a sequence"):
            model.fit_blocks(wrong)
    for wrong in (None, X, (X,), "ab"):
        with pytest.raises(TypeError, match="block 1 is of type"):
            model.fit_blocks([(X, y), wrong])
    for wrong in ((X[0], y), (X, np.c_[y, y]), (X, 1.0)):
        with pytest.raises(ValueError, match="dimensions"):
            model.fit_blocks([wrong])
    with pytest.raises(ValueError, match="complex"):
        model.fit_blocks([(X + 1j, y)])
    assert model.fit_blocks([(X, y), (X[:0], y[:0])]).score(X, y) > 0.8


@pytest.mark.parametrize("later", [lambda X, y: (X[:30], y[:30]), lambda X, y: (X, y + 1)])
def test_blocks_that_change_between_passes_are_an_error(later):
    X, y = moons(60)

    class Changing(list):
        loaded = 0

        def __getitem__(self, index):
            self.loaded += 1
            return (X, y) if self.loaded < 6 else later(X, y)

    with pytest.raises(ValueError, match="has changed since the first pass"):
        SparseSVC(5, random_state=0).fit_blocks(Changing([0, 1]))


@pytest.mark.parametrize("kind", [SparseSVC, SparseLogistic])
def test_rows_as_they_come_end_near_all_rows_at_once(kind):
    X, y = moons(3000)
    test = moons(2000, 1)
    whole = kind(10, C=10, gamma=2.0, random_state=0).fit(X, y).score(*test)
    stream = kind(10, C=10, gamma=2.0, random_state=0)
    for block in cut(X, y, 300):
        stream.partial_fit(*block, reservoir_rows=1000)
    assert stream.score(*test) > whole - 0.02
    assert stream._reservoir.seen == 3000 and len(stream._reservoir.y) == 1000
    twin = pickle.loads(pickle.dumps(stream))
    assert np.array_equal(twin.partial_fit(X[:50], y[:50]).coefficients_, stream.partial_fit(X[:50], y[:50]).coefficients_)


def test_a_reservoir_is_a_fair_sample_and_prefers_recent_rows_where_asked():
    X = np.arange(4000.0)[:, None]
    y = (np.arange(4000) % 2).astype(int)
    means = {}
    for recency in (None, 200.0):
        model = SparseSVC(3, random_state=0)
        for block in cut(X, y, 500):
            model.partial_fit(*block, reservoir_rows=400, recency=recency, steps=0)
        means[recency] = model._reservoir.X.mean()
    # The mean of 400 of 4000 numbers has a standard deviation of about 55.
    assert abs(means[None] - 2000) < 250 and means[200.0] > 3300


def test_classes_may_come_later_and_unknown_ones_are_rejected():
    X, y = moons(100)
    model = SparseSVC(4, random_state=0)
    model.partial_fit(X[y == 0], y[y == 0], classes=[0, 1, 2])
    assert not hasattr(model, "machine_")
    model.partial_fit(X, y)
    assert set(model.predict(X)) <= {0, 1, 2}
    with pytest.raises(ValueError, match="none of the classes of the first call"):
        model.partial_fit(X, y + 5)
    with pytest.raises(ValueError, match=r"classes is \[0, 1\], but was \[0, 1, 2\] in the first call"):
        model.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(SparseSVC(None), "partial_fit") and not hasattr(SparseSVC(4, method="kmeans"), "partial_fit")
    # A fit begins anew.
    assert not hasattr(model.fit(X, y), "_reservoir")


def test_rows_that_cannot_be_trained_on_are_not_taken_in():
    X, y = moons(100)
    good, model = SparseSVC(4, random_state=0), SparseSVC(4, random_state=0)
    with pytest.raises(ValueError, match="too large to compute with"):
        model.partial_fit(X * 1e300, y)
    for rows in (slice(0, 60), slice(60, 100)):
        good.partial_fit(X[rows], y[rows])
        model.partial_fit(X[rows], y[rows])
        with pytest.raises(ValueError, match="too large to compute with"):
            model.partial_fit(X * 1e300, y)
    np.testing.assert_array_equal(model.decision_function(X), good.decision_function(X))


def test_ridge_as_rows_come_is_ridge_of_all_rows_on_the_vectors_of_the_first():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(600, 2))
    y = np.sin(X[:, 0]) + 0.1 * draw.normal(size=600)
    weights = draw.uniform(0.5, 2, 600)
    parts = SparseKernelRidge(15, alpha=0.1, gamma=0.5, random_state=0)
    for i in range(0, 600, 200):
        parts.partial_fit(X[i : i + 200], y[i : i + 200], weights[i : i + 200])
    K = np.exp(-0.5 * ((X[:, None] - parts.vectors_[None]) ** 2).sum(-1))
    Kz = np.exp(-0.5 * ((parts.vectors_[:, None] - parts.vectors_[None]) ** 2).sum(-1))
    want = K @ np.linalg.solve(K.T @ (weights[:, None] * K) + 0.1 * (Kz + 1e-10 * np.eye(15)), K.T @ (weights * y))
    assert np.abs(parts.predict(X) - want).max() < 1e-6
    with pytest.raises(ValueError, match="targets"):
        parts.partial_fit(X, np.c_[y, y])


def ridge_by_definition(vectors, X, y, offset):
    """Predictions of the minimum of sum (y - offset - f)^2 + 0.1 |w|^2 over the span of the vectors."""
    K, own = rbf_kernel(X, vectors, gamma=0.5), rbf_kernel(vectors, gamma=0.5)
    return K @ np.linalg.lstsq(K.T @ K + 0.1 * own, K.T @ (y - offset), rcond=None)[0] + offset


def test_centred_ridge_and_bases_by_blocks():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(600, 2))
    y = 1000 + np.sin(X[:, 0])
    model = SparseKernelRidge(15, alpha=0.1, gamma=0.5, random_state=0, options={"centre": True, "iterations": 10})
    blocks = [(X[i : i + 200], y[i : i + 200]) for i in range(0, 600, 200)]
    whole, parts = clone(model).fit(X, y), clone(model).fit_blocks(blocks)
    # The searches start at centres of rows in different orders; on its own vectors each is the machine of the normal equations, with the mean as offset.
    for fitted in (whole, parts):
        assert np.square(fitted.predict(X) - y).mean() < 1e-2
        np.testing.assert_allclose(fitted.intercept_, y.mean(), rtol=1e-12)
        np.testing.assert_allclose(fitted.predict(X), ridge_by_definition(fitted.vectors_, X, y, y.mean()), atol=1e-6)
    # The offset of the first rows stays with the vectors.
    streamed = clone(model)
    for block in blocks:
        streamed.partial_fit(*block)
    assert np.square(streamed.predict(X) - y).mean() < 1e-2
    np.testing.assert_allclose(streamed.predict(X), ridge_by_definition(streamed.vectors_, X, y, y[:200].mean()), atol=1e-6)
    on_basis = SparseKernelRidge(15, alpha=0.1, gamma=0.5, random_state=0, method="matching-pursuit", options={"centre": True})
    np.testing.assert_allclose(clone(on_basis).fit_blocks(blocks).predict(X), on_basis.fit(X, y).predict(X), atol=1e-6)


def test_numbers_may_lie_anywhere_in_memory():
    X, y = moons(100)
    off = np.frombuffer(b"x" + y.astype(np.float64).tobytes(), dtype=np.float64, offset=1)
    assert not off.flags.aligned
    want, got = (SparseKernelRidge(4, random_state=0).fit(X, target) for target in (y.astype(float), off))
    np.testing.assert_array_equal(got.predict(X), want.predict(X))
    got = SparseKernelRidge(4, random_state=0).fit_blocks([(X, off)])
    assert np.isfinite(got.predict(X)).all()
