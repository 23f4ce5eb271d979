"""Parameters as flags of the program, and what the program says as sentences of Python."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def flag(name: str, value: Any) -> list[str]:
    """One flag; nothing for None and False."""
    if value is None or value is False:
        return []
    name = str(name).replace("_", "-")
    if value is True:
        return [f"--{name}"]
    if isinstance(value, (float, np.floating)):
        return [f"--{name}={float(value)!r}"]
    return [f"--{name}={value}"]


def flags(settings: dict[str, Any]) -> list[str]:
    """All flags."""
    return [text for name, value in settings.items() for text in flag(name, value)]


def in_python(sentence: str) -> str:
    """A sentence about flags as one about parameters."""
    # What follows is about the command line.
    sentence = sentence.removeprefix("error: ").split("\n\n")[0]
    return sentence.replace("--", "").strip()


class Progress:
    """Progress on standard error, one line that is written over."""

    def __init__(self) -> None:
        self.shown = False

    def __call__(self, stage: str, done: int, total: int | None, figure: float | None) -> None:
        text = f"{stage} {done}" + (f" of {total}" if total else "") + (f", {figure:.6g}" if figure is not None else "")
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
        self.shown = True

    def end(self) -> None:
        """Ends the line, where one was written."""
        if self.shown:
            sys.stderr.write("\n")


def watched(work: Any, *arguments: Any, verbose: Any) -> Any:
    """Calls the library with a report of progress last; its errors become errors about parameters."""
    report = Progress() if verbose else None
    try:
        return work(*arguments, report)
    except ValueError as error:
        raise ValueError(in_python(str(error))) from None
    finally:
        if report:
            report.end()
