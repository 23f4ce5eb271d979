"""What a machine is and how good it is, on one page for people."""

from __future__ import annotations

import html
import json
import time
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.metrics import accuracy_score, balanced_accuracy_score, mean_absolute_error, mean_squared_error, r2_score
from sklearn.pipeline import Pipeline

from ._base import KernelMachine

# Rows that single-row latency is measured on, one after another.
TIMED = 50


class Report:
    """Facts about a machine in groups; shown as text by ``print`` and as tables in notebooks."""

    def __init__(self, title: str, groups: dict[str, dict[str, Any]]) -> None:
        self.title, self.groups = title, groups

    def __getitem__(self, name: str) -> Any:
        for facts in self.groups.values():
            if name in facts:
                return facts[name]
        raise KeyError(name)

    def keys(self) -> list[str]:
        """The names of all facts."""
        return [name for facts in self.groups.values() for name in facts]

    def to_dict(self) -> dict[str, Any]:
        """All facts by their names."""
        return {name: value for facts in self.groups.values() for name, value in facts.items()}

    def __str__(self) -> str:
        lines = [self.title]
        width = max(map(len, self.keys()), default=0)
        for group, facts in self.groups.items():
            lines += ["", group, *(f"  {name:{width}}  {_shown(value)}" for name, value in facts.items())]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [f"<h4>{html.escape(self.title)}</h4>"]
        for group, facts in self.groups.items():
            rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(_shown(value))}</td></tr>" for name, value in facts.items())
            parts.append(f"<table><caption>{html.escape(group)}</caption><tbody>{rows}</tbody></table>")
        return "<div>" + "".join(parts) + "</div>"


def report(model: Any, X: Any = None, y: Any = None) -> Report:
    """What a fitted estimator of this package is: its machine, how it was trained, and with rows how good and how fast it is.

    Parameters
    ----------
    model : fitted estimator
        An estimator of this package, a pipeline that ends in one, or a search for either.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows that were not used for training.
    y : array-like of shape (n_samples,), default=None
        Their targets.

    Returns
    -------
    report : Report
        Shown as text by ``print``, as tables in notebooks; ``report["accuracy"]`` is one fact.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelet import SparseSVC, report
    >>> X, y = load_iris(return_X_y=True)
    >>> page = report(SparseSVC(6, random_state=0).fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> page["vectors"]
    6
    >>> page["accuracy"] > 0.9
    True
    """
    model = getattr(model, "best_estimator_", model)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not isinstance(last, KernelMachine):
        raise TypeError(f"report takes estimators of kernelet and pipelines that end in one, not {type(last).__name__}")
    groups = {"Machine": _machine(last), "Training": _training(last)}
    if X is not None:
        groups["Rows"] = _quality(model, X, y) | _speed(model, X)
    return Report(" -> ".join(type(step).__name__ for _, step in model.steps) if isinstance(model, Pipeline) else type(last).__name__, groups)


def summary(estimator: KernelMachine) -> str:
    """The facts of a fitted estimator as HTML, for notebooks."""
    return Report(f"{type(estimator).__name__}, fitted", {"Machine": _machine(estimator), "Training": _training(estimator)})._repr_html_()


def _machine(estimator: KernelMachine) -> dict[str, Any]:
    machine, about = estimator._fitted(), estimator._about()
    facts = {"vectors": about["vectors"], "features": about["dim"], "outputs": about["outputs"], "kernel": about["kernel"]["name"]}
    if about["gamma"] is not None:
        facts["gamma"] = about["gamma"]
    if hasattr(estimator, "classes_"):
        facts["classes"] = len(estimator.classes_)
    return facts | {"bytes of the model file": len(machine.to_bytes())}


def _training(estimator: KernelMachine) -> dict[str, Any]:
    about = dict(getattr(estimator, "report_", {}))
    names = ("method", "status", "iterations", "objective", "vectors_before", "why", "goals_met")
    facts = {name.replace("_", " "): about[name] for name in names if about.get(name) is not None}
    validation = getattr(estimator, "validation_", None) or {}
    facts |= {f"validation {name}": value for name, value in validation.items() if value is not None}
    if notes := about.get("notes"):
        facts["notes"] = "; ".join(notes)
    return facts


def _quality(model: Any, X: Any, y: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"rows": X.shape[0] if hasattr(X, "shape") else len(X)}
    if is_outlier_detector(model):
        return facts | {"outside": float(np.mean(model.predict(X) == -1))}
    if y is None:
        return facts
    if is_classifier(model):
        predicted = model.predict(X)
        return facts | {"accuracy": float(accuracy_score(y, predicted)), "balanced accuracy": float(balanced_accuracy_score(y, predicted))}
    if is_regressor(model):
        predicted = model.predict(X)
        errors = {"R2": r2_score(y, predicted), "root mean squared error": mean_squared_error(y, predicted) ** 0.5, "mean absolute error": mean_absolute_error(y, predicted)}
        return facts | {name: float(value) for name, value in errors.items()}
    return facts


def _speed(model: Any, X: Any) -> dict[str, Any]:
    work = model.predict if hasattr(model, "predict") else model.transform
    begin = time.perf_counter()
    work(X)
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    facts = {"microseconds for a row of all": round(1e6 * (time.perf_counter() - begin) / max(rows, 1), 2)}
    take = X.iloc if hasattr(X, "iloc") else X
    begin, count = time.perf_counter(), min(TIMED, rows)
    for row in range(count):
        work(take[row : row + 1])
    return facts | {"microseconds for a row alone": round(1e6 * (time.perf_counter() - begin) / max(count, 1), 1)}


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value)
