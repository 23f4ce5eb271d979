"""Models of scikit-learn that hold other models: the models inside become small, the rest stays as it is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.model_selection._search import BaseSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from ._curves import calibrated_again
from ._folded import SmallPipeline

Smaller = Callable[[Any, Any, Any], Any]


def of_pipeline(model: Any, X: Any, y: Any, smaller: Smaller) -> Any:
    """The same steps before a smaller last one."""
    last = smaller(model.steps[-1][1], X if X is None or len(model.steps) == 1 else model[:-1].transform(X), y)
    return SmallPipeline([*model.steps[:-1], (model.steps[-1][0], last)])


def of_calibrated(model: Any, X: Any, y: Any, smaller: Smaller) -> Any:
    """Smaller machines, with curves of their own where their outputs are others."""
    small = copy.copy(model)
    small.calibrated_classifiers_ = [calibrated_again(part, smaller(part.estimator, X, y), X) for part in model.calibrated_classifiers_]
    return small


def of_search(model: Any, X: Any, y: Any, smaller: Smaller) -> Any:
    """The best estimator of a search."""
    if not hasattr(model, "best_estimator_"):
        raise ValueError(f"{type(model).__name__} has no best estimator; search with refit=True")
    return smaller(model.best_estimator_, X, y)


def of_one_vs_rest(model: Any, X: Any, y: Any, smaller: Smaller) -> Any:
    """A smaller machine for each class."""
    sides: Any = None if y is None else model.label_binarizer_.transform(y)
    sides = sides.toarray() if hasattr(sides, "toarray") else sides
    return _with_parts(model, [smaller(part, X, None if sides is None else sides[:, k]) for k, part in enumerate(_real(model.estimators_))])


def of_one_vs_one(model: Any, X: Any, y: Any, smaller: Smaller) -> Any:
    """A smaller machine for each pair of classes, on the rows of these."""
    if getattr(model, "pairwise_indices_", None) is not None:
        raise ValueError("one-vs-one machines with a precomputed kernel hold kernel values of some rows only; compress an SVC, which is one-vs-one by itself")
    pairs = [(a, b) for a in range(len(model.classes_)) for b in range(a + 1, len(model.classes_))]
    parts = []
    for (first, second), part in zip(pairs, _real(model.estimators_), strict=True):
        rows, sides = X, None
        if y is not None:
            mine = np.flatnonzero(np.isin(y, model.classes_[[first, second]]))
            rows, sides = None if X is None else _safe_indexing(X, mine), (np.asarray(y)[mine] == model.classes_[second]).astype(int)
        parts.append(smaller(part, rows, sides))
    return _with_parts(model, parts)


def of_targets(model: Any, X: Any, y: Any, smaller: Smaller) -> Any:
    """A smaller machine for each target."""
    targets = None if y is None else np.asarray(y)
    if targets is not None and (targets.ndim != 2 or targets.shape[1] != len(model.estimators_)):
        raise ValueError(f"y must have one column for each of the {len(model.estimators_)} targets of the model; its shape is {targets.shape}")
    return _with_parts(model, [smaller(part, X, None if targets is None else targets[:, k]) for k, part in enumerate(_real(model.estimators_))])


def of_transformed_target(model: Any, X: Any, y: Any, smaller: Smaller) -> Any:
    """The same transformation of the target around a smaller regressor; errors are those of the transformed target."""
    target = y
    if y is not None:
        target = np.asarray(y, dtype=np.float64)
        target = model.transformer_.transform(target.reshape(len(target), -1))
        target = target[:, 0] if model._training_dim == 1 and target.shape[1] == 1 else target
    small = copy.copy(model)
    small.regressor_ = smaller(model.regressor_, X, target)
    return small


def of_frozen(model: Any, X: Any, y: Any, smaller: Smaller) -> Any:
    """The estimator inside, still protected from being fitted again."""
    return FrozenEstimator(smaller(model.estimator, X, y))


def of_gaussian_process_classifier(model: Any, X: Any, y: Any, smaller: Smaller) -> Any:
    """The machine of two classes, or a smaller machine for each class or pair of several."""
    return smaller(model.base_estimator_, X, y)


def _real(parts: list[Any]) -> list[Any]:
    if any(type(part).__name__ == "_ConstantPredictor" for part in parts):
        raise ValueError("a class of the model has no rows of its own, or all of them; it is a constant and no kernel machine")
    return parts


def _with_parts(model: Any, parts: list[Any]) -> Any:
    small = copy.copy(model)
    small.estimators_ = parts
    return small


WRAPPERS: dict[type, Callable[[Any, Any, Any, Smaller], Any]] = {
    Pipeline: of_pipeline,
    CalibratedClassifierCV: of_calibrated,
    BaseSearchCV: of_search,
    OneVsRestClassifier: of_one_vs_rest,
    OneVsOneClassifier: of_one_vs_one,
    MultiOutputClassifier: of_targets,
    MultiOutputRegressor: of_targets,
    TransformedTargetRegressor: of_transformed_target,
    GaussianProcessClassifier: of_gaussian_process_classifier,
    FrozenEstimator: of_frozen,
}


def of_wrapper(model: Any, X: Any, y: Any, smaller: Smaller) -> Any:
    """The model with smaller machines inside; None where it holds no other models."""
    for kind, make in WRAPPERS.items():
        if isinstance(model, kind):
            check_is_fitted(model)
            return make(model, X, y, smaller)
    return None
