"""Warnings of this package."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning


def warn_of_training(report: dict[str, Any]) -> None:
    """Warns where training ended before its tolerance was reached."""
    if report.get("status") == "iteration-limit":
        sentence = "training ended at the limit of iterations, before its tolerance was reached; scale the data, or raise the limit or the tolerance"
        warnings.warn(sentence, ConvergenceWarning, stacklevel=5)
