"""Warnings of this package."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning


# Calls inside these packages are not where the user is.
INSIDE = ("kernelet", "sklearn", "joblib")


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warns at the line of the user's that led here, however deep the call is."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_of_training(report: dict[str, Any]) -> None:
    """Warns where training ended before its tolerance was reached."""
    if report.get("status") == "iteration-limit":
        sentence = "training ended at the limit of iterations, before its tolerance was reached; scale the data, or raise the limit or the tolerance"
        warn(sentence, ConvergenceWarning)
