"""Training on a Dask cluster of two processes."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_moons

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from kernelet import SparseSVC  # noqa: E402
from kernelet.dask import DaskSparseKernelRidge, DaskSparseLogistic, DaskSparseSVC  # noqa: E402


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as cluster:
        with distributed.Client(cluster) as client:
            yield client


def moons(n=800):
    X, y = make_moons(n, noise=0.2, random_state=0)
    return X, y


def settings(iterations=15):
    return {"C": 10, "gamma": 2.0, "random_state": 0, "options": {"iterations": iterations}}


def collections(X, y, size=200):
    return da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)


def same(one, other):
    return np.array_equal(one.vectors_, other.vectors_) and np.array_equal(one.coefficients_, other.coefficients_)


def test_a_cluster_gives_the_bits_of_one_process(client):
    X, y = moons()
    model = DaskSparseSVC(6, client=client, **settings()).fit(*collections(X, y))
    local = SparseSVC(6, **settings()).fit_blocks([(X[i : i + 200], y[i : i + 200]) for i in range(0, 800, 200)])
    assert same(model.to_local(), local) and model.train_error_ == local.train_error_


@pytest.mark.parametrize("metric", [{"ard": True}, {"projection": 2}])
def test_a_metric_is_learned_on_a_cluster_with_the_bits_of_one_process(client, metric):
    X, y = moons()
    noisy = np.c_[X, np.random.default_rng(0).normal(size=(800, 2))]
    parameters = {"C": 10, "random_state": 0, "options": {"iterations": 15}} | metric
    model = DaskSparseSVC(6, client=client, **parameters).fit(*collections(noisy, y)).to_local()
    local = SparseSVC(6, **parameters).fit_blocks([(noisy[i : i + 200], y[i : i + 200]) for i in range(0, 800, 200)])
    assert same(model, local) and np.array_equal(model.decision_function(noisy), local.decision_function(noisy))
    assert model.train_error_ < 0.1


def test_predictions_are_lazy(client):
    X, y = moons()
    A, b = collections(X, y)
    model = DaskSparseLogistic(6, client=client, **settings()).fit(A, b)
    for method in ("predict", "decision_function", "predict_proba"):
        lazy = getattr(model, method)(A)
        assert isinstance(lazy, da.Array)
        want = getattr(model.to_local(), method)(X)
        assert lazy.shape == want.shape and np.array_equal(lazy.compute(), want)
    ridge = DaskSparseKernelRidge(6, client=client, alpha=0.1, gamma=2.0, random_state=0, options={"iterations": 5}).fit(A, b.astype(float))
    assert np.array_equal(ridge.predict(A).compute(), ridge.to_local().predict(X))


def test_data_frames_work(client):
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X, y = moons()
    frame = frames.from_pandas(pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}), npartitions=3)
    model = DaskSparseSVC(6, client=client, **settings()).fit(frame[["a", "b"]], frame["y"])
    lazy = model.predict(frame[["a", "b"]])
    assert (np.asarray(lazy.compute()) == y).mean() > 0.9
    assert list(model.feature_names_in_) == ["a", "b"]


def kill_in_pass(client, model, when, how_many):
    """Kills workers once so many passes have begun."""
    from kernelet import dask as module

    pids, counts = list(client.run(os.getpid).values()), []
    once = module._Passes._once

    def counted(self, ask):
        counts.append(1)
        if len(counts) == when:
            threading.Thread(target=lambda: [os.kill(pid, signal.SIGKILL) for pid in pids[:how_many]]).start()
            time.sleep(0.05)
        return once(self, ask)

    return once, counted


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="workers are killed by a signal")
@pytest.mark.parametrize("how_many", [1, 2])
def test_workers_that_are_killed_change_no_bit(client, monkeypatch, how_many):
    X, y = moons()
    model = DaskSparseSVC(6, client=client, **settings())
    want = SparseSVC(6, **settings()).fit_blocks([(X[i : i + 200], y[i : i + 200]) for i in range(0, 800, 200)])
    _, counted = kill_in_pass(client, model, 6, how_many)
    monkeypatch.setattr("kernelet.dask._Passes._once", counted)
    assert same(model.fit(*collections(X, y)).to_local(), want)


def test_workers_in_this_process_do_not_wait_for_one_another():
    X, y = moons()
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, silence_logs=50) as cluster:
        with distributed.Client(cluster) as alone:
            model = DaskSparseSVC(6, client=alone, n_jobs=1, **settings()).fit(*collections(X, y))
    assert same(model.to_local(), SparseSVC(6, **settings()).fit_blocks([(X[i : i + 200], y[i : i + 200]) for i in range(0, 800, 200)]))


def test_a_cluster_without_workers_is_an_error_and_no_hang(monkeypatch):
    X, y = moons(100)
    monkeypatch.setattr("kernelet.dask.LOOK", 0.5)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50) as cluster:
        with distributed.Client(cluster) as alone, dask.config.set({"kernelet.patience": "2s"}):
            model, passes = DaskSparseSVC(4, client=alone, **settings()), []
            from kernelet import dask as module

            once = module._Passes._once

            def counted(self, ask):
                passes.append(1)
                if len(passes) == 4:
                    alone.sync(cluster.workers[0].close)
                return once(self, ask)

            monkeypatch.setattr("kernelet.dask._Passes._once", counted)
            with pytest.raises(RuntimeError, match="the cluster had no worker for 2s"):
                model.fit(*collections(X, y, 50))
            assert len(passes) == 4
            with pytest.raises(RuntimeError, match="the cluster had no worker for 2s"):
                model.fit(*collections(X, y, 50))


def test_errors_of_rows_are_raised_here(client):
    X, y = moons(100)
    bad = X.copy()
    bad[3, 0] = np.inf
    with pytest.raises(ValueError, match="row 4, column 1"):
        DaskSparseSVC(4, client=client).fit(*collections(bad, y, 50))
    with pytest.raises(ValueError, match="one class"):
        DaskSparseSVC(4, client=client).fit(*collections(X, np.zeros(100), 50))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="workers are killed by a signal")
def test_a_source_that_is_gone_is_an_error_after_which_the_same_call_continues(client, tmp_path, monkeypatch):
    from kernelet import dask as module

    X, y = moons()
    source, away, checkpoint = tmp_path / "source", tmp_path / "away", tmp_path / "checkpoint.model"
    source.mkdir()
    for i in range(4):
        np.savez(source / f"{i}.npz", X[200 * i : 200 * i + 200], y[200 * i : 200 * i + 200])

    def loaded(path, name):
        with np.load(path) as file:
            return file[name]

    def whole(name, shape):
        return da.concatenate([da.from_delayed(dask.delayed(loaded)(str(source / f"{i}.npz"), name), shape, float) for i in range(4)])

    def partitions():
        return whole("arr_0", (200, 2)), whole("arr_1", (200,))

    once, passes = module._Passes._once, []

    def counted(self, ask):
        passes.append(1)
        if len(passes) == 20:
            source.rename(away)
            for pid in client.run(os.getpid).values():
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.5)
        return once(self, ask)

    parameters = settings() | {"options": {"iterations": 15, "checkpoint": str(checkpoint)}}
    monkeypatch.setattr("kernelet.dask._Passes._once", counted)
    with pytest.raises(FileNotFoundError, match=r"\.npz"):
        DaskSparseSVC(6, client=client, **parameters).fit(*partitions())
    monkeypatch.undo()
    assert SparseSVC.load(checkpoint).vectors_.shape == (6, 2)
    away.rename(source)
    model = DaskSparseSVC(6, client=client, **parameters).fit(*partitions())
    assert (model.predict(X) == y).mean() > 0.9
    anew = SparseSVC(6, **settings()).fit_blocks([(X[i : i + 200], y[i : i + 200]) for i in range(0, 800, 200)])
    assert model.n_passes_ < anew.n_passes_
