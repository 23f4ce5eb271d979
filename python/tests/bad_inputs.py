"""Arrays and settings that are wrong, or right and unusual, each under its name."""

import datetime

import numpy as np
import pandas
import scipy.sparse as sp


def changed(X, value, dtype=np.float64):
    X = X.astype(dtype)
    X[3, 1] = value
    return X


def unaligned(X):
    raw = np.frombuffer(b"\0" + np.ascontiguousarray(X).tobytes(), dtype=np.uint8)
    return raw[1:].view(X.dtype).reshape(X.shape)


def locked(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def broken(X, part, place, value):
    """A CSR matrix whose parts contradict one another."""
    X = sp.csr_matrix(X)
    getattr(X, part)[place] = value
    return X


def shuffled(X):
    """Columns of a row out of order."""
    X = sp.csr_matrix(X)
    return sp.csr_matrix((X.data[::-1].copy(), X.indices[::-1].copy(), X.indptr), shape=X.shape)


def twice(X):
    """Every number as the sum of two at the same place."""
    rows, columns = np.indices(X.shape).reshape(2, -1)
    return sp.coo_matrix((np.r_[X.ravel(), X.ravel()] / 2, (np.r_[rows, rows], np.r_[columns, columns])), shape=X.shape)


def wide_indices(X):
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


ROWS = {
    "None": lambda X: None,
    "number": lambda X: 3.0,
    "text": lambda X: "rows",
    "no dimension": lambda X: np.array(1.0),
    "one dimension": lambda X: X[0],
    "three dimensions": lambda X: X[None],
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "one row": lambda X: X[:1],
    "two rows": lambda X: X[:2],
    "one column": lambda X: X[:, :1],
    "twice the columns": lambda X: np.c_[X, X],
    "a row less": lambda X: X[:-1],
    "twice the rows": lambda X: np.r_[X, X],
    "NaN": lambda X: changed(X, np.nan),
    "infinity": lambda X: changed(X, np.inf),
    "minus infinity, single": lambda X: changed(X, -np.inf, np.float32),
    "NaN, single": lambda X: changed(X, np.nan, np.float32),
    "huge": lambda X: X * 1e300,
    "huge, single": lambda X: (X * 1e37).astype(np.float32),
    "one huge number": lambda X: changed(X, 1e200),
    "tiny": lambda X: X * 1e-300,
    "subnormal": lambda X: X * 1e-320,
    "zeros": lambda X: X * 0,
    "constant": lambda X: X * 0 + 7,
    "complex": lambda X: X.astype(complex),
    "bool": lambda X: X > X.mean(),
    "int8": lambda X: X.astype(np.int8),
    "uint64, largest": lambda X: np.full(X.shape, 2**64 - 1, dtype=np.uint64),
    "half": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "objects, numbers": lambda X: X.astype(object),
    "objects, text": lambda X: np.full(X.shape, "a", dtype=object),
    "objects, None": lambda X: np.full(X.shape, None, dtype=object),
    "objects, lists": lambda X: np.array([[[1], [2, 3]]] * len(X), dtype=object),
    "objects, large integers": lambda X: np.full(X.shape, 10**30, dtype=object),
    "strings": lambda X: np.full(X.shape, "a"),
    "strings of numbers": lambda X: X.astype(str),
    "bytes": lambda X: X.astype("S8"),
    "dates": lambda X: np.full(X.shape, "2020-01-01", dtype="datetime64[D]"),
    "spans of time": lambda X: np.full(X.shape, 5, dtype="timedelta64[s]"),
    "structured": lambda X: np.zeros(len(X), dtype=[("a", float), ("b", float)]),
    "list": lambda X: X.tolist(),
    "tuple": lambda X: tuple(map(tuple, X)),
    "ragged": lambda X: [row[: 1 + place % 3] for place, row in enumerate(X.tolist())],
    "generator": lambda X: (row for row in X),
    "dict": lambda X: {"rows": X},
    "set": lambda X: {1.0, 2.0},
    "matrix": lambda X: np.asmatrix(X),
    "masked": lambda X: np.ma.masked_less(X, 1.0),
    "locked": locked,
    "Fortran": np.asfortranarray,
    "negative strides": lambda X: X[::-1, ::-1],
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "stride 0": lambda X: np.broadcast_to(X[0], X.shape),
    "not aligned": unaligned,
    "not aligned, single": lambda X: unaligned(X.astype(np.float32)),
    "big endian": lambda X: X.astype(">f8"),
    "table": lambda X: pandas.DataFrame(X),
    "table with text": lambda X: pandas.DataFrame(X).assign(text="a"),
    "table with NA": lambda X: pandas.DataFrame(X).astype("Float64").where(X > 1.0),
    "series": lambda X: pandas.Series(X[:, 0]),
    "csr": sp.csr_matrix,
    "csr array": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_matrix,
    "bsr": lambda X: sp.bsr_matrix(X, blocksize=(1, 2)),
    "dia": sp.dia_matrix,
    "dok": sp.dok_matrix,
    "lil": sp.lil_matrix,
    "sparse, one dimension": lambda X: sp.coo_array(X[0]),
    "sparse, single": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "sparse, complex": lambda X: sp.csr_matrix(X.astype(complex)),
    "sparse, bool": lambda X: sp.csr_matrix(X > X.mean()),
    "sparse, no rows": lambda X: sp.csr_matrix((0, X.shape[1])),
    "sparse, zeros": lambda X: sp.csr_matrix(X.shape),
    "sparse, NaN": lambda X: sp.csr_matrix(changed(X, np.nan)),
    "sparse, infinity": lambda X: sp.csc_matrix(changed(X, np.inf)),
    "sparse, huge": lambda X: sp.csr_matrix(X * 1e300),
    "sparse, other columns": lambda X: sp.csr_matrix(np.c_[X, X]),
    "sparse, a row less": lambda X: sp.csr_matrix(X[:-1]),
    "sparse, shuffled": shuffled,
    "sparse, repeated": twice,
    "sparse, wide indices": wide_indices,
    "sparse, column too large": lambda X: broken(X, "indices", 0, 99),
    "sparse, column below 0": lambda X: broken(X, "indices", 0, -1),
    "sparse, falling row starts": lambda X: broken(X, "indptr", 2, 10**6),
    "sparse, last row start too large": lambda X: broken(X, "indptr", -1, 10**6),
}

TARGETS = {
    "None": lambda y: None,
    "number": lambda y: 1,
    "text": lambda y: "target",
    "empty": lambda y: y[:0],
    "one less": lambda y: y[:-1],
    "half": lambda y: y[: len(y) // 2],
    "one more": lambda y: np.r_[y, y[:1]],
    "twice as many": lambda y: np.r_[y, y],
    "a column": lambda y: y[:, None],
    "two columns": lambda y: np.c_[y, y],
    "no columns": lambda y: np.zeros((len(y), 0)),
    "three dimensions": lambda y: y[:, None, None],
    "NaN": lambda y: np.where(np.arange(len(y)) == 3, np.nan, y),
    "infinity": lambda y: np.where(np.arange(len(y)) == 3, np.inf, y),
    "huge": lambda y: y * 1e300,
    "large integers": lambda y: np.array([10**30 + int(v) for v in y], dtype=object),
    "uint64": lambda y: y.astype(np.uint64) + np.uint64(2**63),
    "constant": lambda y: y * 0,
    "fractions": lambda y: y + 0.25,
    "every one another": lambda y: np.arange(len(y)),
    "complex": lambda y: y.astype(complex),
    "bool": lambda y: y > 0,
    "strings": lambda y: np.array(["zero", "one", "two"])[y],
    "bytes": lambda y: y.astype("S1"),
    "objects": lambda y: y.astype(object),
    "objects, None": lambda y: np.where(np.arange(len(y)) == 3, None, y.astype(object)),
    "objects, mixed": lambda y: np.where(y == 0, "zero", y.astype(object)),
    "objects, lists": lambda y: [[v] * (1 + v) for v in y.tolist()],
    "dates": lambda y: np.array([datetime.date(2020, 1, 1 + v) for v in y.tolist()]),
    "structured": lambda y: np.zeros(len(y), dtype=[("a", int)]),
    "list": lambda y: y.tolist(),
    "dict": lambda y: dict(enumerate(y.tolist())),
    "generator": lambda y: (v for v in y),
    "series": lambda y: pandas.Series(y, index=np.arange(len(y))[::-1]),
    "categories": lambda y: pandas.Series(y).astype("category"),
    "table of two columns": lambda y: pandas.DataFrame({"a": y, "b": y}),
    "sparse column": lambda y: sp.csr_matrix(y[:, None]),
    "sparse, two columns": lambda y: sp.csr_matrix(np.c_[y, y]),
    "locked": locked,
    "backwards": lambda y: y[::-1],
    "big endian": lambda y: y.astype(">i8"),
    "masked": lambda y: np.ma.masked_equal(y, 0),
}

WEIGHTS = {
    "one less": lambda n: np.ones(n - 1),
    "one more": lambda n: np.ones(n + 1),
    "empty": lambda n: np.ones(0),
    "two columns": lambda n: np.ones((n, 2)),
    "negative": lambda n: -np.ones(n),
    "one negative": lambda n: np.r_[-1.0, np.ones(n - 1)],
    "NaN": lambda n: np.r_[np.nan, np.ones(n - 1)],
    "infinity": lambda n: np.r_[np.inf, np.ones(n - 1)],
    "zeros": lambda n: np.zeros(n),
    "one row counts": lambda n: np.r_[1.0, np.zeros(n - 1)],
    "large": lambda n: np.full(n, 1e6),
    "subnormal": lambda n: np.full(n, 1e-320),
    "number": lambda n: 2.0,
    "zero": lambda n: 0,
    "text": lambda n: "weights",
    "strings": lambda n: np.full(n, "a"),
    "objects": lambda n: np.full(n, None, dtype=object),
    "complex": lambda n: np.ones(n, dtype=complex),
    "bool": lambda n: np.arange(n) % 3 > 0,
    "sparse": lambda n: sp.csr_matrix(np.ones((n, 1))),
    "list": lambda n: [1.0] * n,
    "not aligned": lambda n: unaligned(np.ones(n)),
}

NOT_NUMBERS = [float("nan"), float("inf"), "a", [1.0], -1]
SETTINGS = {
    "n_vectors": [0, -1, 1.5, "a", True, float("nan"), 10**30, [5], 1, None],
    "gamma": [0, None, "x", 1e300, 1e-300, *NOT_NUMBERS],
    "C": [0, None, 1e6, 1e-300, *NOT_NUMBERS],
    "alpha": [0, None, 1e300, *NOT_NUMBERS],
    "nu": [0, 2, 1, *NOT_NUMBERS],
    "epsilon": [0, 1e300, *NOT_NUMBERS],
    "tol": [0, 1e300, *NOT_NUMBERS],
    "cache_size": [0, 10**30, *NOT_NUMBERS],
    "degree": [0, 2.5, 10**30, *NOT_NUMBERS],
    "coef0": [1e300, *NOT_NUMBERS],
    "max_error": [0, 1e300, *NOT_NUMBERS],
    "n_components": [0, 0.5, 1.5, 10**9, 1, *NOT_NUMBERS],
    "kernel": [
        "x",
        3,
        None,
        "",
        "linear",
        "sigmoid",
        lambda a, b: np.full((len(a), len(b)), np.nan),
        lambda a, b: np.ones((len(a), 2)),
        lambda a, b: np.ones(len(a)),
        lambda a, b: "values",
        lambda a, b: None,
        lambda a, b: -np.ones((len(a), len(b))),
        lambda a, b: np.zeros((len(a), len(b))),
        lambda a, b: sp.csr_matrix(np.eye(len(a), len(b))),
        lambda a, b: (a @ b.T).astype(complex),
        lambda a, b: np.asfortranarray((a @ b.T).astype(np.float32)),
        lambda a: a,
    ],
    "method": ["x", 3, None, "random", "kmeans", "rpcholesky", "fisher-pursuit"],
    "max_iter": [0, -5, 1.5, "a", True, None, 3],
    "shrinking": ["x", 3, None, False],
    "probability": ["x", 3, None, "isotonic"],
    "break_ties": ["x", 3, None, True],
    "fit_inverse_transform": [True, "x", 3],
    "class_weight": ["x", {}, {7: 1.0}, {0: -1.0}, {0: float("nan")}, {0: "a"}, 3, [1.0]],
    "decision_function_shape": ["x", None, 3],
    "multiclass": ["x", 3, "ecoc", "one-vs-rest"],
    "loss": ["x", 3],
    "penalty": ["x", 3],
    "bias": ["x", 3],
    "options": [{"no-such": 1}, {"seed": -1}, {"seed": "a"}, {3: 4}, "text", 3, {"iterations": -1}, {"vectors": 0}, {"scale": "minmax"}, [("seed", 1)]],
    "random_state": [-1, "a", 1.5, float("nan"), 2**70],
    "n_jobs": [0, "a", 1.5, [1], {}, object()],
    "device": ["x", "", True, False, 3, [1], {}],
    "ard": ["x", 3, [1], {"a": 1}],
    "projection": [0, "x", 10**9, *NOT_NUMBERS],
    "tune": ["x", 3, [1]],
    "whiten": ["x", 3, {}],
    "deviation": ["x", 3],
}
