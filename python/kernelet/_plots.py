"""Pictures of machines; matplotlib is asked for only here."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def plot_vectors(estimator: Any, shape: tuple[int, int], columns: int = 10, ax: Any = None) -> Any:
    """The expansion vectors as images of so many rows and columns of pixels, beside and below one another; returns the axes."""
    vectors = estimator.vectors_
    vectors = vectors.toarray() if sp.issparse(vectors) else vectors
    height, width = shape
    if height * width != vectors.shape[1]:
        raise ValueError(f"shape has {height * width} pixels, but a vector has {vectors.shape[1]} numbers")
    columns = min(columns, len(vectors))
    lines = -(-len(vectors) // columns)
    sheet = np.full((lines * (height + 1) - 1, columns * (width + 1) - 1), np.nan)
    for place, vector in enumerate(vectors):
        top, left = place // columns * (height + 1), place % columns * (width + 1)
        sheet[top : top + height, left : left + width] = vector.reshape(height, width)
    ax = _axes(ax)
    ax.imshow(sheet, cmap="gray", interpolation="nearest")
    ax.set_axis_off()
    ax.set_title(f"{len(vectors)} expansion vectors")
    return ax


def plot_boundary(estimator: Any, X: Any, y: Any = None, ax: Any = None, points: int = 200) -> Any:
    """What a machine of two features predicts around the rows X, which are drawn with their classes; returns the axes."""
    table = X if hasattr(X, "columns") else None
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError("a boundary is drawn for rows of 2 features")
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.1 * np.maximum(high - low, 1e-9)
    across, up = (np.linspace(a, b, points) for a, b in zip(low - margin, high + margin, strict=True))
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    said = estimator.predict(grid if table is None else type(table)(grid, columns=table.columns))
    if hasattr(estimator, "classes_"):
        said = np.searchsorted(estimator.classes_, said)
    ax = _axes(ax)
    filled = ax.contourf(across, up, said.reshape(points, points), alpha=0.3)
    classes = [None] if y is None or not hasattr(estimator, "classes_") else np.unique(y)
    for label in classes:
        rows = X if label is None else X[np.asarray(y) == label]
        colour = None if label is None or not hasattr(estimator, "classes_") else filled.cmap(filled.norm(np.searchsorted(estimator.classes_, label)))
        ax.scatter(rows[:, 0], rows[:, 1], s=8, color=colour, edgecolors="black", linewidths=0.2, label="rows" if label is None else f"class {label}")
    ax.scatter(*estimator.vectors_.T, s=40, marker="x", color="black", label="expansion vectors")
    names = getattr(estimator, "feature_names_in_", ["feature 0 (units of X)", "feature 1 (units of X)"])
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    ax.set_title(f"{type(estimator).__name__}, {estimator.n_vectors_} expansion vectors")
    ax.legend(fontsize="small")
    return ax


def plot_scales(estimator: Any, names: Any = None, most: int = 20, ax: Any = None) -> Any:
    """The learned scales of the features as bars, the largest first; returns the axes."""
    scales = estimator.feature_scales_
    order = np.argsort(-scales, kind="stable")[:most]
    names = getattr(estimator, "feature_names_in_", None) if names is None else names
    labels = [str(place) if names is None else str(names[place]) for place in order]
    ax = _axes(ax)
    ax.barh(range(len(order)), scales[order])
    ax.set_yticks(range(len(order)), labels)
    ax.invert_yaxis()
    ax.set_xlabel("learned scale (factor of the standardised feature)")
    ax.set_ylabel("feature")
    ax.set_title("Scales of the features")
    return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from None
    return plt.subplots()[1]
