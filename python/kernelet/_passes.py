"""Training by passes over blocks of rows: what the estimators, files and clusters share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _core
from ._arrays import aligned, rows_of
from ._labels import Labels, classes_of, label
from ._request import threads_of, watched
from ._tables import known

Block = tuple[Any, Any, Any]


def plain_block(X, y, weights=None) -> Block:
    """Rows as the library takes them, with their targets as they are."""
    X = X.tocsr() if sp.issparse(X) else np.ascontiguousarray(X)
    if np.iscomplexobj(X):
        raise ValueError("complex numbers are not supported; give their real parts, or both as features")
    if not sp.issparse(X) and X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return X, np.asarray(y), None if weights is None else np.asarray(weights, dtype=np.float64)


def outline_of(block: Block, classes: bool) -> tuple[int, int, Any]:
    """Rows, features, and the labels or the number of targets of a block."""
    X, y, _ = block
    if X.ndim != 2 or y.ndim not in ((1,) if classes else (1, 2)):
        wanted = "labels of one dimension" if classes else "targets of one or two dimensions"
        raise ValueError(f"a block has X of {X.ndim} and y of {y.ndim} dimensions, but needs rows of two and {wanted}")
    if len(y) != X.shape[0]:
        raise ValueError(f"a block has {X.shape[0]} rows but {len(y)} targets")
    return X.shape[0], X.shape[1], np.unique(y) if classes else (1 if y.ndim == 1 else y.shape[1])


def sums_of(block: Block, first: int, ask: bytes, classes=None, threads=1) -> bytes:
    """The sums of one block, of which `first` rows come before."""
    X, y, weights = block
    targets = np.asarray(y, dtype=np.float64) if classes is None else np.searchsorted(classes, y).astype(np.float64)
    targets = aligned(np.ascontiguousarray(targets.reshape(len(y), y.shape[1] if y.ndim == 2 else 1)))
    return _core.block_sums(ask, rows_of(X), targets, None if weights is None else weights.tolist(), first, threads)


def grouped(items: Sequence[Any], merge: Callable[[Sequence[Any]], Any]) -> Any:
    """All items merged in the library's tree, whose shape depends on their number alone."""
    level = list(items)
    while len(level) > 1:
        level = [merge(level[i : i + _core.SUMS_ARITY]) for i in range(0, len(level), _core.SUMS_ARITY)]
    return level[0]


def combined(outlines: Sequence[tuple[int, int, Any]], classes: bool) -> tuple[list[int], int, Any]:
    """Where each block begins and all rows end, the features, and the labels or the number of targets of all."""
    if not outlines:
        raise ValueError("there are no blocks of rows")
    dims, targets = {dim for _, dim, _ in outlines}, [target for _, _, target in outlines]
    if len(dims) > 1:
        raise ValueError(f"blocks have different numbers of features: {', '.join(map(str, sorted(dims)))}")
    if not classes and len(set(targets)) > 1:
        raise ValueError("blocks have different numbers of targets")
    starts = np.concatenate([[0], np.cumsum([rows for rows, _, _ in outlines])]).tolist()
    return starts, dims.pop(), np.unique(np.concatenate(targets)) if classes else targets[0]


def fit_by_passes(estimator: Any, passes: Callable[[bytes], bytes] | _core.FileBlocks, n_rows: int, dim: int, target: Any):
    """Trains an estimator by a function that asks all rows, or on the rows of a file; `target` has the labels, or the number of targets."""
    labels: list[str] = []
    more: dict[str, Any] = {}
    if isinstance(estimator, Labels):
        estimator.classes_ = target
        if len(target) < 2:
            raise ValueError(f"{type(estimator).__name__} needs at least 2 classes; the number of classes is {len(target)}: one class")
        labels = [label(c) for c in target.tolist()]
        more = estimator._class_weights(labels, np.arange(len(labels)))
    else:
        estimator._one_target = target == 1
    n_targets = 1 if labels else target
    arguments = (estimator._request(**estimator._curves(), **more), passes, n_rows, dim, labels, n_targets, None, estimator._threads())
    machine, error, count = watched(_core.train_blocks, *arguments, verbose=estimator._verbose(), names=estimator._spelling())
    estimator.n_features_in_ = dim
    estimator.train_error_, estimator.n_passes_ = error, count
    return estimator._keep([machine])


def fit_file(estimator: Any, path: str, target: str | None):
    """Trains an estimator on the rows of a file, which the library reads."""
    asked = estimator._request(blocks="always", **estimator._curves())
    rows = watched(lambda _: _core.FileBlocks(path, asked, target), verbose=0, names=estimator._spelling())
    if estimator._verbose():
        print("\n".join(rows.notes), file=sys.stderr)
    n_rows, dim, n_targets = rows.sizes
    fit_by_passes(estimator, rows, n_rows, dim, classes_of(rows.labels) if isinstance(estimator, Labels) else n_targets)
    about = json.loads(estimator.machine_.description())
    estimator._loaded(about)
    for name, value in known(about).items():
        setattr(estimator, name, value)
    return estimator


def checked(block: Any, index: int) -> Block:
    """One block as the library takes it."""
    if not isinstance(block, (tuple, list)) or len(block) not in (2, 3):
        raise TypeError(f"block {index} is of type {type(block).__name__}, but must be a tuple (X, y) or (X, y, sample_weight)")
    return plain_block(*block)


class Blocks:
    """Estimators that can be trained on blocks of rows."""

    def fit_blocks(self, blocks, *, target=None):
        """Trains on blocks of rows that need not be in memory together.

        Parameters
        ----------
        blocks : sequence of tuples (X, y) or (X, y, sample_weight), function that returns an iterator of them, or path
            The rows. Every pass over them takes each item once, in order, so that a sequence may load its items as they are asked for; parts of a
            ``np.memmap`` are read as they are needed. A function is called for every pass and must give the same blocks each time.
            A path names a file that the program ``kernelet train`` can read (NumPy, LIBSVM, CSV, and Parquet where the package was built with it), which is read block by
            block; ``options={"cache": FILE, "memory": MB}`` are those of the program.
        target : str, default=None
            The column of a file that has the targets, by name or by its number from 1; None for the last, and for the labels of LIBSVM rows.

        Returns
        -------
        self : estimator
            The fitted estimator, with ``train_error_`` on all rows and the number of passes, ``n_passes_``.
        """
        if isinstance(blocks, (str, PathLike)):
            return fit_file(self, fspath(blocks), target)
        if target is not None:
            raise TypeError("target names the column of a file, but blocks is no path")
        if callable(blocks):
            each = lambda: (checked(block, index) for index, block in enumerate(blocks()))  # noqa: E731
        elif isinstance(blocks, (bytes, dict)) or not (hasattr(blocks, "__len__") and hasattr(blocks, "__getitem__")):
            raise TypeError(f"blocks is of type {type(blocks).__name__}, but must be a sequence, such as a list, a function that returns an iterator, or a path: it is passed over several times")
        else:
            each = lambda: (checked(blocks[index], index) for index in range(len(blocks)))  # noqa: E731
        classes = isinstance(self, Labels)
        outlines = [outline_of(block, classes) for block in each()]
        starts, dim, target = combined(outlines, classes)
        known = target if classes else None

        def passes(ask: bytes) -> bytes:
            sums: list[bytes] = []
            for index, (block, outline, first) in enumerate(zip(each(), outlines, starts, strict=False)):
                rows, features, found = outline_of(block, classes)
                if (rows, features) != outline[:2] or not np.array_equal(found, outline[2]):
                    raise ValueError(f"block {index} has changed since the first pass over the rows; every pass needs the same rows")
                sums.append(sums_of(block, first, ask, known, threads_of(getattr(self, "n_jobs", None))))
            if len(sums) != len(outlines):
                raise ValueError(f"there are {len(sums)} blocks, but there were {len(outlines)} before; every pass needs the same blocks")
            return grouped(sums, _core.add_sums)

        return fit_by_passes(self, passes, starts[-1], dim, target)
