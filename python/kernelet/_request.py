"""Parameters as requests of the library, and its messages in terms of parameters."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import numpy as np
from joblib import effective_n_jobs


def request(settings: dict[str, Any], names: dict[str, str] | None = None) -> str:
    """The settings that are given, as the library reads them; messages have the names of parameters."""
    given = {name: value for name, value in settings.items() if value is not None and value is not False}
    return json.dumps({name: _plain((names or {}).get(name, str(name).replace("-", "_")), value) for name, value in given.items()})


def threads_of(n_jobs: Any) -> int:
    """How many threads."""
    if n_jobs is not None and not isinstance(n_jobs, (int, np.integer)):
        raise TypeError(f"n_jobs must be an integer or None, not {n_jobs!r}")
    return int(effective_n_jobs(n_jobs))


def options_of(options: Any) -> dict[str, Any]:
    """Further settings by name, of which there may be none."""
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"options must be a dict of settings by name, not {options!r}")
    return options or {}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (bool, int, float, str, list)) and not (isinstance(value, dict) and name == "class_weight"):
        raise TypeError(f"{name} must be a number, a text or a bool, not {value!r}")
    if isinstance(value, float) and not np.isfinite(value):
        raise ValueError(f"{name} is {value}, but must be a finite number")
    return value


def spelled(sentence: str, names: dict[str, str]) -> str:
    """A message with settings by the names of parameters: those in backticks, and the one whose value is wrong."""

    def name(match: re.Match[str]) -> str:
        return names.get(match[1], match[1].replace("-", "_"))

    return re.sub("`([a-z0-9-]+)`", name, re.sub("^([a-z0-9-]+)(?= is .*, but must be )", name, sentence, flags=re.DOTALL))


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


def watched(work: Any, *arguments: Any, verbose: Any, names: dict[str, str] | None = None) -> Any:
    """Calls the library with a report of progress last; settings in its messages become parameters."""
    report = Progress() if verbose else None
    try:
        return work(*arguments, report)
    except ValueError as error:
        raise ValueError(spelled(str(error), names or {})) from None
    finally:
        if report:
            report.end()
