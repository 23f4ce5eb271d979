"""Small, fast kernel machines as scikit-learn estimators.

Every estimator trains the full machine with ``n_vectors=None`` and a machine with few expansion vectors otherwise; ``compress`` makes a machine small
that somebody already has.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._core import Machine, __version__

if TYPE_CHECKING:
    from . import decomposition as decomposition, kernel_ridge as kernel_ridge, svm as svm
    from ._basis import GreedyBasis
    from ._cascade import Cascade
    from ._compress import compress
    from ._fisher import SparseKernelFisher
    from ._folded import fold
    from ._goals import GoalWarning
    from ._huber import SparseHuberRegressor
    from ._logistic import SparseLogistic
    from ._one_class import SparseOneClassSVM
    from ._path import Path
    from ._pca import SparseKernelPCA
    from ._plots import plot_boundary, plot_scales, plot_vectors
    from ._relevance import RVC, RVR
    from ._report import report
    from ._ridge import SparseKernelRidge
    from ._svm import SparseSVC, SparseSVR

__all__ = [
    "Cascade",
    "GreedyBasis",
    "GoalWarning",
    "Machine",
    "Path",
    "RVC",
    "RVR",
    "SparseHuberRegressor",
    "SparseKernelFisher",
    "SparseKernelPCA",
    "SparseKernelRidge",
    "SparseLogistic",
    "SparseOneClassSVM",
    "SparseSVC",
    "SparseSVR",
    "__version__",
    "compress",
    "fold",
    "plot_boundary",
    "plot_scales",
    "plot_vectors",
    "report",
]

# Estimators and modules are imported when they are first asked for, so that the command `kernelet` starts without scikit-learn.
_MODULES = ("decomposition", "kernel_ridge", "svm")
_HOMES = {
    "Cascade": "_cascade",
    "GoalWarning": "_goals",
    "GreedyBasis": "_basis",
    "Path": "_path",
    "RVC": "_relevance",
    "RVR": "_relevance",
    "SparseHuberRegressor": "_huber",
    "SparseKernelFisher": "_fisher",
    "SparseKernelPCA": "_pca",
    "SparseKernelRidge": "_ridge",
    "SparseLogistic": "_logistic",
    "SparseOneClassSVM": "_one_class",
    "SparseSVC": "_svm",
    "SparseSVR": "_svm",
    "compress": "_compress",
    "fold": "_folded",
    "plot_boundary": "_plots",
    "plot_scales": "_plots",
    "plot_vectors": "_plots",
    "report": "_report",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'kernelet' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
