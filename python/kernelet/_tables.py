"""Data frames with text, categories and missing values as arrays, by the rules that the library has for tables."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _core
from ._warnings import warn


def is_frame(X: Any) -> bool:
    """True for a pandas DataFrame. pandas is not imported for this."""
    return type(X).__module__.split(".")[0] == "pandas" and hasattr(X, "columns") and hasattr(X, "dtypes")


def needs_encoding(X: Any) -> bool:
    """True for a frame that is not an array of complete numbers."""
    return is_frame(X) and (bool(X.isna().to_numpy().any()) or any(not _is_numeric(dtype) for dtype in X.dtypes))


def _is_numeric(dtype: Any) -> bool:
    import pandas

    types = pandas.api.types
    return types.is_bool_dtype(dtype) or (types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype))


def _numbers(column: Any) -> Any:
    return np.ascontiguousarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _cells(column: Any) -> list[Any]:
    """Every value as text or a number, None where it is missing."""
    missing = column.isna().to_numpy()
    numbers = (bool, int, float, np.bool_, np.integer, np.floating)
    values = column.astype(object).to_numpy()
    return [None if gone else float(value) if isinstance(value, numbers) else str(value) for value, gone in zip(values, missing, strict=True)]


def _column(name: str, column: Any) -> Any:
    """The values of a column to learn from: an array where they are numbers, else a list."""
    import pandas

    types = pandas.api.types
    if types.is_datetime64_any_dtype(column.dtype) or types.is_timedelta64_dtype(column.dtype) or types.is_complex_dtype(column.dtype):
        raise ValueError(f"column {name!r} has the type {column.dtype}; convert it to numbers or text, or leave it out")
    return _numbers(column) if _is_numeric(column.dtype) else _cells(column)


def learned(X: Any) -> str | None:
    """What is learned from the columns of a frame, as JSON text; None where they are complete numbers after all."""
    names = [str(name) for name in X.columns]
    # A category is a category, whatever it is called.
    text = {name for name, dtype in zip(names, X.dtypes, strict=True) if str(dtype) == "category"}
    table = _core.learn_table(names, [_column(name, X.iloc[:, j]) for j, name in enumerate(names)], text)
    columns = json.loads(table)["columns"]
    for column in columns:
        if column["kind"] == "ignored":
            warn(f"column {column['name']!r} has no values and is ignored")
    plain = all(column["kind"] == "number" and not column["flagged"] for column in columns)
    return None if plain else table


def encoded(table: str, X: Any) -> Any:
    """The features of a frame. Columns are matched by name, in any order; those of a file without a header by their places."""
    about = json.loads(table)
    if not is_frame(X):
        raise ValueError("the estimator was fitted on a table with text or missing values; give a pandas DataFrame with its columns")
    places = _places(about, [str(name) for name in X.columns])
    columns = []
    for column, place in zip(used(about), places, strict=True):
        series = X.iloc[:, place]
        # False and True are categories where the column is of text, and 0 and 1 where it is of numbers.
        if column["kind"] == "text" and series.dtype == bool:
            series = series.astype(str)
        columns.append(_numbers(series) if _is_numeric(series.dtype) else _cells(series))
    rows, notes = _core.encode_table(table, columns)
    for note in notes:
        warn(note)
    return rows


def used(about: dict[str, Any]) -> list[dict[str, Any]]:
    """The columns that make features."""
    return [column for column in about["columns"] if column["kind"] != "ignored"]


def _places(about: dict[str, Any], names: list[str]) -> list[int]:
    if not about["named"]:
        if len(names) != len(about["columns"]):
            raise ValueError(f"X has {len(names)} columns, but the table of the model has {len(about['columns'])}")
        return [j for j, column in enumerate(about["columns"]) if column["kind"] != "ignored"]
    for column in used(about):
        if column["name"] not in names:
            raise ValueError(f"X has no column {column['name']!r}, which the model needs; its columns are {', '.join(names)}")
    return [names.index(column["name"]) for column in used(about)]


def known(about: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an estimator that follow from the description of its machine: the table, and which columns X has."""
    table = about["facts"].get("table")
    if table is None:
        return {"n_features_in_": about["dim"]}
    names = [column["name"] for column in used(table)]
    if not table["named"]:
        return {"_table": json.dumps(table), "n_features_in_": len(table["columns"])}
    return {"_table": json.dumps(table), "n_features_in_": len(names), "feature_names_in_": np.array(names, dtype=object)}
