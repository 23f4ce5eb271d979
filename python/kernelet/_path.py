"""The size path of a machine, with metrics of every size."""

from __future__ import annotations

import html
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from .__main__ import program


# What the columns are measured in.
UNITS = {"train_error": "fraction of rows, or mean square", "agreement": "fraction of rows", "relative_residual": "fraction", "objective": "training objective"}


class Path:
    """Machines of several sizes, smallest first: how many vectors each has, and how good it is.

    ``path["train_error"]`` is a column, ``path.columns`` names them: ``vectors`` and, as far as they are known, ``objective`` and ``train_error`` (training),
    ``largest_error`` and ``mean_error`` (squared distances of the rows from the span of a basis), ``residual``, ``relative_residual`` and ``agreement``
    (compression).
    """

    def __init__(
        self, figures: list[dict[str, Any]], at: Callable[[int], _core.Machine] | None = None, machine: _core.Machine | None = None
    ) -> None:
        names = dict.fromkeys(["vectors", *(name for size in figures for name, value in size.items() if value is not None)])
        self._columns = {name: np.array([np.nan if (v := size.get(name)) is None else v for size in figures]) for name in names}
        self._at, self._machine = at, machine

    @property
    def sizes(self) -> NDArray[Any]:
        """The numbers of vectors, smallest first."""
        return self._columns["vectors"]

    @property
    def columns(self) -> list[str]:
        """The names of the metrics."""
        return list(self._columns)

    def rows(self) -> list[dict[str, Any]]:
        """The metrics of each size."""
        return [dict(zip(self._columns, values, strict=True)) for values in zip(*self._columns.values(), strict=True)]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __len__(self) -> int:
        return len(self.sizes)

    def __repr__(self) -> str:
        return f"Path({len(self)} sizes from {self.sizes[0]} to {self.sizes[-1]} vectors: {', '.join(self.columns)})"

    def at(self, n_vectors: int) -> _core.Machine:
        """The largest machine of at most so many vectors."""
        if self._at is None:
            raise ValueError("the other machines of the size path are not stored in pickles and model files; fit or compress again, or save the sizes you want")
        if not isinstance(n_vectors, Integral):
            raise TypeError(f"n_vectors must be an integer, not {n_vectors!r}")
        return self._at(int(min(max(n_vectors, 0), self.sizes[-1])))

    def frame(self) -> Any:
        """The metrics as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise ImportError("a DataFrame needs pandas: pip install pandas") from None
        return pandas.DataFrame(self._columns)

    def plot(self, column: str | None = None, ax: Any = None) -> Any:
        """Plots a metric against the number of vectors: the error where it is known, else the first available; returns the axes. Needs matplotlib."""
        from ._plots import _axes

        known = [name for name in ("train_error", "agreement", "relative_residual", "mean_error", "objective") if name in self._columns]
        column = column or (known[0] if known else "vectors")
        if column not in self._columns:
            raise ValueError(f"there is no column {column!r}; there are {', '.join(self.columns)}")
        ax = _axes(ax)
        ax.plot(self.sizes, self[column], marker="o", markersize=3, label=column.replace("_", " "))
        if len(self) > 1:
            ax.set_xscale("log", base=2)
        ax.set_xlabel("expansion vectors (number)")
        ax.set_ylabel(f"{column.replace('_', ' ')} ({UNITS.get(column, 'number')})")
        ax.set_title("Size path")
        ax.legend()
        return ax

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in self.columns)
        rows = (f"<td>{'' if np.isnan(value) else f'{value:.6g}'}</td>" for values in zip(*self._columns.values(), strict=True) for value in values)
        cells = list(rows)
        lines = "".join(f"<tr>{''.join(cells[i : i + len(self.columns)])}</tr>" for i in range(0, len(cells), len(self.columns)))
        return f"<table><caption>Size path</caption><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes one HTML file with the curves of these sizes, to be opened in any browser. ``kernelet report MODEL --data DATA`` shows more."""
        if self._machine is None:
            raise ValueError("only machines from compress store their size path; save the model and use: kernelet report MODEL --data DATA -o FILE")
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "small.model"
            self._machine.save(model, "kernelet")
            done = subprocess.run([program(), "report", str(model), "-o", os.fspath(path), "--quiet"], check=False, capture_output=True, text=True)
            if done.returncode != 0:
                raise OSError(f"the report {os.fspath(path)} could not be written: {done.stderr.strip()}")

    def __getstate__(self) -> dict[str, Any]:
        # The machines of all sizes would be several times the one that is kept.
        return {**self.__dict__, "_at": None}


def path_of(machines: list[_core.Machine], figures: list[dict[str, Any]]) -> Path:
    """The path of machines in memory, smallest first."""

    def at(n_vectors: int) -> _core.Machine:
        fitting = [machine for machine, size in zip(machines, figures, strict=True) if size["vectors"] <= n_vectors]
        if not fitting:
            raise ValueError(f"every size has more than {n_vectors} vectors; the smallest has {figures[0]['vectors']}")
        return fitting[-1]

    return Path(figures, at)
