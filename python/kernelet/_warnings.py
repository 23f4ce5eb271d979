"""Warnings of this package."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning


class GoalWarning(UserWarning):
    """The machine does not meet a goal that was asked for, or there are too few rows to decide."""


def warn_of_training(report: dict[str, Any]) -> None:
    """Warns where training ended before its tolerance was reached."""
    if report.get("status") == "iteration-limit":
        sentence = "training ended at the limit of iterations, before its tolerance was reached; scale the data, or raise the limit or the tolerance"
        warnings.warn(sentence, ConvergenceWarning, stacklevel=5)


def warn_of_goals(report: dict[str, Any], goals: dict[str, Any], of_classes: bool) -> None:
    """Warns where goals are not met, or the validation rows are too few for them."""
    if report.get("goals_met") is False:
        missing = "; ".join(report.get("missing") or ["see report_"])
        warnings.warn(f"the goals were not met: {missing}; the machine is the nearest to them", GoalWarning, stacklevel=5)
    rows, share = report.get("held_out_rows"), goals.get("max-loss")
    if isinstance(agreement := goals.get("min-agreement"), float):
        share = 1 - agreement
    if rows and isinstance(share, (int, float)) and 0 < share * rows < 1 and of_classes:
        sentence = f"{rows} validation rows cannot show a difference of {share:g}: one row counts {1 / rows:.2g}; give more rows"
        warnings.warn(sentence, GoalWarning, stacklevel=5)
