"""The warning about goals that are not reached."""

from __future__ import annotations

from typing import Any


class GoalWarning(UserWarning):
    """A goal of :func:`compress` is not met, or it is not known whether it is met on new rows."""

    def __init__(self, met: Any, missing: list[str]) -> None:
        self.met, self.missing = met, missing
        state = "not known to be met" if met == "unknown" else "not met"
        super().__init__("; ".join([f"the goals are {state}", *missing]))

    def __reduce__(self) -> Any:
        return type(self), (self.met, self.missing)
