"""Arrays as the library takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from . import _core

ACCEPTED: dict[str, Any] = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "order": "C"}


def sound(X: Any) -> Any:
    """X itself; a ValueError where the parts of a sparse matrix contradict one another, because SciPy reads memory as they say."""
    if sp.issparse(X):
        X.check_format(full_check=True)
    return X


def aligned(array: Any) -> Any:
    """An array whose numbers lie where the processor expects them: those of other processes and of buffers may not, and those of an empty array may begin anywhere."""
    return array if array.flags.aligned and array.size else array.copy()


def rows_of(X: Any) -> _core.Rows:
    """An array as it is, or the parts of a CSR matrix."""
    if not sp.issparse(X):
        return aligned(X)
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.astype(np.float64), X.shape[1]


def array_of(rows: _core.Rows) -> Any:
    """Rows of the library as an array, a CSR array where they are sparse."""
    if not isinstance(rows, tuple):
        return rows
    starts, columns, values, dim = rows
    return sp.csr_array((values, columns, starts), shape=(len(starts) - 1, dim))


def values_of(kernel: Any, A: Any, B: Any) -> Any:
    """The values of a kernel function between all rows of two arrays."""
    values = check_array(kernel(A, B), dtype=np.float64, order="C", input_name="the result of the kernel function")
    if values.shape != (A.shape[0], B.shape[0]):
        raise ValueError(f"the kernel function returned {values.shape[0]}x{values.shape[1]} values for {A.shape[0]} and {B.shape[0]} rows")
    return values


def unit_rows(places: Any, dim: int) -> _core.Rows:
    """Rows with a single 1 each: the vectors of machines whose kernel values are given."""
    places = np.asarray(places, dtype=np.int64)
    return np.arange(len(places) + 1, dtype=np.int64), places, np.ones(len(places)), dim


def on_few_rows(machine: _core.Machine, kept: Any) -> _core.Machine:
    """A machine with given kernel values for values with the kept training rows alone: others need not be computed to predict."""
    place = {row: i for i, row in enumerate(kept.tolist())}
    vectors = unit_rows([place[row] for row in array_of(machine.vectors()).indices.tolist()], len(kept))
    return _core.Machine.of_parts(machine.parts(), vectors, machine.stored(), machine.offsets())


def unscaled(vectors, scale):
    """Vectors in the units of the rows; of a map as it takes them."""
    if not scale or scale.get("map") is not None:
        return vectors
    factor = np.array(scale["factor"])
    inverse = np.divide(1.0, factor, out=np.zeros_like(factor), where=factor != 0)
    if sp.issparse(vectors):
        return sp.csr_array(vectors.multiply(inverse)) if scale["shift"] is None else vectors.toarray() * inverse + scale["shift"]
    return vectors * inverse + (0.0 if scale["shift"] is None else np.array(scale["shift"]))
