"""Training on rows as they come: a reservoir for classes, exact sums for ridge."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d, validate_data

from . import _core
from ._arrays import ACCEPTED, aligned, rows_of, sound
from ._labels import Labels, label
from ._numbers import Numbers
from ._request import watched


def _with_budget(estimator: Any) -> bool:
    if estimator.n_vectors is None:
        raise AttributeError("partial_fit needs a number of vectors: n_vectors is None")
    return True


def _searches(estimator: Any) -> bool:
    if estimator.method not in ("auto", "margin", "logistic"):
        raise AttributeError(f"partial_fit moves the vectors, which a basis by {estimator.method!r} keeps; leave method at 'auto'")
    return _with_budget(estimator)


class Reservoir:
    """A random sample of all rows so far, in which recent rows may be more likely."""

    def __init__(self, rows: int, recency: float | None, seed: int) -> None:
        if rows < 2:
            raise ValueError(f"reservoir_rows is {rows}, but must be at least 2")
        if recency is not None and not recency > 0:
            raise ValueError(f"recency is {recency}, but must be a number of rows above 0")
        self.rows, self.recency, self.seen = rows, recency, 0
        self.draw = np.random.default_rng(seed)
        self.X: Any = None
        self.y: Any = None
        self.weights: Any = None
        self.keys = np.empty(0)

    def copy(self) -> Reservoir:
        """The same sample, to which rows may be added: arrays are replaced by that, never changed."""
        other = copy.copy(self)
        other.draw = copy.deepcopy(self.draw)
        return other

    def add(self, X, y, weights) -> None:
        """Takes rows in; the smallest keys stay (weighted sampling of Efraimidis and Spirakis, in logarithms)."""
        count = X.shape[0]
        keys = np.log(-np.log(self.draw.uniform(np.finfo(float).tiny, 1.0, count)))
        if self.recency is not None:
            keys -= np.arange(self.seen, self.seen + count) / self.recency
        weights = np.ones(count) if weights is None else weights
        if self.X is not None:
            stack = sp.vstack if sp.issparse(X) or sp.issparse(self.X) else np.concatenate
            X, y = stack([self.X, X]), np.concatenate([self.y, y])
            X = X.tocsr() if sp.issparse(X) else X
            weights, keys = np.concatenate([self.weights, weights]), np.concatenate([self.keys, keys])
        kept = np.sort(np.argsort(keys, kind="stable")[: self.rows])
        self.X, self.y, self.weights, self.keys = X[kept], y[kept], weights[kept], keys[kept]
        self.seen += count


class StreamedClasses(Labels):
    """Classifiers that learn from rows as they come."""

    @available_if(_searches)
    def partial_fit(self, X, y, classes=None, sample_weight=None, *, reservoir_rows=20_000, recency=None, steps=20):
        """Takes in rows and improves the machine by a few steps of the ordinary search on a sample of all rows so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (n_classes,), default=None
            All classes, in the first call; None where it has rows of each.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for the rows.
        reservoir_rows : int, default=20000
            Rows of the sample, of which C is the cost; it is set by the first call.
        recency : float, default=None
            A row that is so many rows older is 2.7 times less likely to be in the sample; None for all rows alike.
        steps : int, default=20
            Steps of the vectors; 0 takes the rows in and trains nothing.

        Returns
        -------
        self : estimator
            The estimator; it predicts once it has seen rows of two classes.
        """
        first = not hasattr(self, "_reservoir")
        X, y = validate_data(self, X, y, reset=first, **ACCEPTED)
        X, y, weights = sound(X), column_or_1d(y), self._weights(sample_weight, X)
        if first:
            self.classes_ = np.unique(y if classes is None else classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes is {np.unique(classes).tolist()}, but was {self.classes_.tolist()} in the first call")
        unknown = np.setdiff1d(y, self.classes_).tolist()
        if unknown:
            raise ValueError(f"y has the class {unknown[0]!r}, which is none of the classes of the first call; give all classes there")
        sample = Reservoir(reservoir_rows, recency, self._seed()) if first else self._reservoir.copy()
        sample.add(X, y, weights)
        # Rows that cannot be trained on are not taken in.
        fitted = self._taken(sample, steps)
        self._reservoir = sample
        return fitted

    def _taken(self, sample: Reservoir, steps: int):
        if steps == 0 or len(np.unique(sample.y[sample.weights > 0])) < 2:
            return self
        return self._improve(sample, steps)

    def _improve(self, sample: Reservoir, steps: int):
        if self._curves().get("probability") is not None:
            raise ValueError("partial_fit has no probability; use SparseLogistic, whose probabilities need no cross-validation")
        codes = np.searchsorted(self.classes_, sample.y).astype(np.uint32)
        labels = [label(c) for c in self.classes_.tolist()]
        start = getattr(self, "machine_", None)
        # The width of the kernel is that of the first rows.
        width: dict[str, Any] = {} if start is None or self.gamma_ is None else {"gamma": self.gamma_}
        asked = self._request(iterations=int(steps), **width, **self._class_weights(labels, codes))
        work = functools.partial(_core.train, start=start)
        weights = None if np.all(sample.weights == 1) else sample.weights
        arguments = (asked, rows_of(sample.X), labels, codes, None, weights, self._threads())
        machine, _, figures, _ = watched(work, *arguments, verbose=self._verbose(), names=self._spelling())
        return self._keep([machine])


class StreamedNumbers(Numbers):
    """Ridge regression that learns from rows as they come."""

    alpha: Any

    @available_if(_with_budget)
    def partial_fit(self, X, y, sample_weight=None):
        """Takes in rows. The first call finds the vectors, as ``fit`` does; after every call the machine is exactly that of all rows so far on these vectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            How much the rows count.

        Returns
        -------
        self : estimator
            The estimator.
        """
        first = not hasattr(self, "_sums")
        if first:
            self._fit_numbers(X, y, sample_weight)
        X, y = validate_data(self, X, y, reset=False, y_numeric=True, multi_output=True, **ACCEPTED)
        weights = self._weights(sample_weight, X)
        values = aligned(np.ascontiguousarray(np.asarray(y, dtype=np.float64).reshape(len(y), -1)))
        if values.shape[1] != self.machine_.coefficients().shape[1]:
            raise ValueError(f"y has {values.shape[1]} targets, but the first call had {self.machine_.coefficients().shape[1]}")
        sums = None if first else self._sums
        given = None if weights is None else weights.tolist()
        self._sums, machine = _core.ridge_sums(self.machine_, float(self.alpha), rows_of(sound(X)), values, given, sums, self._threads())
        return self._keep([machine])
