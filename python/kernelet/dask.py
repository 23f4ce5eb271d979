"""Training on a Dask cluster, and prediction on Dask collections. Needs ``dask`` and ``distributed``.

The search for vectors runs in this process. What it asks of the rows are small sums, which tasks compute where the partitions are and add up in a fixed
tree: the same partitions give the same bits, whatever the number of workers. Partitions are loaded by tasks, so that the scheduler loads those of a
lost worker again; workers may die or join at any time.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np

try:
    import dask
    import dask.array as da
    from dask.utils import parse_timedelta
    from distributed import CancelledError, default_client
    from distributed import TimeoutError as NotYet
    from distributed.comm import CommClosedError
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker
except ImportError as missing:
    raise ImportError("kernelet.dask needs dask and distributed; install them with `pip install dask distributed`") from missing

from . import _core
from ._labels import Labels
from ._logistic import SparseLogistic
from ._passes import combined, fit_by_passes, grouped, outline_of, plain_block, sums_of
from ._ridge import SparseKernelRidge
from ._svm import SparseSVC

__all__ = ["DaskSparseKernelRidge", "DaskSparseLogistic", "DaskSparseSVC"]

# How often a pass is tried again when workers die in it.
RETRIES = 3

# How often it is looked after workers while a result is waited for, and for how long nothing may be done.
LOOK = 5.0
PATIENCE = "2 minutes"

_numbers = itertools.count()


def _waited(client, future):
    """The result of a future. Dask would wait forever for one that no worker works on."""
    given = dask.config.get("kernelet.patience", PATIENCE)
    patience, seen = parse_timedelta(given), time.monotonic()
    while True:
        try:
            return future.result(timeout=min(LOOK, patience))
        except NotYet:
            if future.status == "error":
                raise
        try:
            work = client.sync(client.scheduler.processing, callback_timeout=LOOK)
        except (NotYet, CommClosedError, OSError, AttributeError):
            work = {}  # The scheduler does not answer.
        if any(work.values()):
            seen = time.monotonic()
        elif time.monotonic() - seen > patience:
            if work:
                raise Forgotten
            raise RuntimeError(
                f"the cluster had no worker for {given}; workers must be running and have kernelet and what loads the partitions installed "
                "(dask.config.set({'kernelet.patience': TIME}) waits longer)"
            )


class Forgotten(Exception):
    """Workers are there, but none is asked for what is waited for."""


LOST = (KilledWorker, CancelledError, FutureCancelledError, Forgotten)


def _load(X, y, weights=None):
    table = hasattr(X, "to_numpy")
    return plain_block(X.to_numpy() if table else X, y.to_numpy() if hasattr(y, "to_numpy") else y, weights)


def _same(value):
    return value


def _sums(block, first, ask, classes):
    return sums_of(block, first, ask, classes)


def _added(*parts):
    return _core.add_sums(parts)


class _Passes:
    """Passes over partitions that are on the cluster."""

    def __init__(self, client, blocks, starts, classes) -> None:
        self.client, self.blocks, self.starts, self.classes = client, blocks, starts, classes
        self.count = 0

    def __call__(self, ask: bytes) -> bytes:
        self.count += 1
        for attempt in range(RETRIES + 1):
            try:
                return self._once(ask)
            except LOST as error:
                if attempt == RETRIES:
                    raise RuntimeError(f"workers died {attempt + 1} times in one pass over the rows; the work was given up") from error
        raise AssertionError("a pass ends in its loop")

    def _once(self, ask: bytes) -> bytes:
        client, name = self.client, f"kernelet-{id(self)}-{next(_numbers)}"
        # Parameters are the result of a task: what is scattered would be lost with its worker.
        asked = client.submit(_same, ask, key=f"{name}-ask")
        keys = [f"{name}-sums-{i}" for i in range(len(self.blocks))]
        level = client.map(_sums, self.blocks, self.starts[:-1], ask=asked, classes=self.classes, key=keys)
        number = itertools.count()
        return _waited(client, grouped(level, lambda some: client.submit(_added, *some, key=f"{name}-added-{next(number)}")))


class _DaskEstimator:
    """An estimator that is trained on a cluster.

    Parameters
    ----------
    n_vectors : int, default=100
        The number of expansion vectors.
    client : distributed.Client, default=None
        The cluster; None for the current client.
    **parameters
        Those of the estimator without Dask. ``options={"checkpoint": FILE}`` writes the machine so far, from which the same call continues.
    """

    _local: Any = None

    def __init__(self, n_vectors=100, *, client=None, **parameters) -> None:
        self.client = client
        self.estimator = self._local(n_vectors=n_vectors, **parameters)

    def get_params(self, deep=True):
        """The parameters."""
        return {"client": self.client} | self.estimator.get_params(deep)

    def set_params(self, **parameters):
        """Sets parameters."""
        if "client" in parameters:
            self.client = parameters.pop("client")
        self.estimator.set_params(**parameters)
        return self

    def fit(self, X, y, sample_weight=None):
        """Trains on a Dask array or data frame with its targets; partitions stay where they are and are released afterwards.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), or dask data frame
            The rows, in partitions that fit the memory of a worker.
        y : dask array or series
            Their classes or numbers, in the partitions of X.
        sample_weight : dask array or series, default=None
            How much the rows count.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        client = default_client() if self.client is None else self.client
        estimator, classes = self.estimator, isinstance(self.estimator, Labels)
        blocks = client.compute([dask.delayed(_load)(*parts) for parts in _partitions(X, y, sample_weight)])
        outlines = _waited(client, client.submit(_same, client.map(outline_of, blocks, classes=classes, pure=False), pure=False))
        full = [i for i, outline in enumerate(outlines) if outline[0]]
        blocks, outlines = [blocks[i] for i in full], [outlines[i] for i in full]
        starts, dim, target = combined(outlines, classes)
        passes = _Passes(client, blocks, starts, target if classes else None)
        names = list(X.columns) if hasattr(X, "columns") else None
        fit_by_passes(estimator, passes, starts[-1], dim, target)
        if names and all(isinstance(name, str) for name in names):
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return self

    def to_local(self):
        """The fitted estimator without Dask."""
        self.estimator._fitted()
        return self.estimator

    def predict(self, X):
        """The predictions: lazy for Dask collections, an array for arrays."""
        return self._lazily("predict", X)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("estimator", "client"):
            raise AttributeError(name)
        return getattr(self.estimator, name)

    def _lazily(self, method: str, X):
        estimator = self.to_local()
        few = np.zeros((1, estimator.n_features_in_))
        if hasattr(X, "map_partitions") and not isinstance(X, da.Array):
            return X.map_partitions(_called, estimator, method, meta=_called(X._meta_nonempty, estimator, method)[:0])
        if not isinstance(X, da.Array):
            return getattr(estimator, method)(X)
        sample = _called(few, estimator, method)
        X = X.rechunk({1: -1})
        if sample.ndim == 1:
            return X.map_blocks(_called, estimator, method, drop_axis=1, dtype=sample.dtype, meta=sample[:0])
        return X.map_blocks(_called, estimator, method, chunks=(X.chunks[0], (sample.shape[1],)), dtype=sample.dtype, meta=sample[:0])


class _DaskClassifier(_DaskEstimator):
    def decision_function(self, X):
        """How far each row is on the side of each class; lazy for Dask collections."""
        return self._lazily("decision_function", X)


class DaskSparseSVC(_DaskClassifier):
    """:class:`kernelet.SparseSVC`, trained on a Dask cluster."""

    _local = SparseSVC


class DaskSparseLogistic(_DaskClassifier):
    """:class:`kernelet.SparseLogistic`, trained on a Dask cluster."""

    _local = SparseLogistic

    def predict_proba(self, X):
        """The probability of each class; lazy for Dask collections."""
        return self._lazily("predict_proba", X)


class DaskSparseKernelRidge(_DaskEstimator):
    """:class:`kernelet.SparseKernelRidge`, trained on a Dask cluster."""

    _local = SparseKernelRidge


def _called(X, estimator, method):
    return getattr(estimator, method)(X)


def _partitions(X, y, weights) -> list[tuple[Any, ...]]:
    """The delayed partitions of rows, targets and weights."""
    if isinstance(X, da.Array):
        if any(np.isnan(size) for size in X.chunks[0]):
            raise ValueError("the partitions of X have unknown sizes; call X.compute_chunk_sizes() first")
        X = X.rechunk({1: -1})
        like = lambda a: a.rechunk({0: X.chunks[0]} | {axis: -1 for axis in range(1, a.ndim)})  # noqa: E731
        y, weights = like(y), None if weights is None else like(weights)
    parts = [[part for part in np.ravel(a.to_delayed())] for a in (X, y, weights) if a is not None]
    if len({len(part) for part in parts}) > 1:
        raise ValueError("X, y and sample_weight have different numbers of partitions")
    return list(zip(*parts, strict=True))
