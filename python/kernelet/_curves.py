"""Calibration curves of a smaller machine: those of the model were fitted to the outputs of its own."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.special import rel_entr
from sklearn.base import clone
from sklearn.utils._response import _get_response_values

# Curves stay where the mean Kullback-Leibler divergence of the probabilities from those of the model is at most this. Between training rows that the
# model separates there are no outputs to fit a curve to, and only the model's own curve, fitted by cross-validation, is known there.
NEAR = 0.03


def calibrated_again(part: Any, estimator: Any, X: Any) -> Any:
    """A calibrated classifier of ``CalibratedClassifierCV`` around a smaller estimator.

    Where its probabilities for the rows X are no longer those of the model, because its outputs have another scale or one output for each class stands for the
    votes of pairs, new curves of the same kind are fitted to the probabilities of the model. Labels of training rows would make them too steep.
    """
    small = copy.copy(part)
    small.estimator = estimator
    if X is None:
        return small
    wanted = part.predict_proba(X)
    if rel_entr(wanted, np.maximum(small.predict_proba(X), 1e-15)).sum(axis=1).mean() <= NEAR:
        return small
    outputs, _ = _get_response_values(estimator, X, response_method=["decision_function", "predict_proba"])
    if part.method == "temperature":
        small.calibrators = [_fitted(part.calibrators[0], outputs, wanted)]
        return small
    columns = outputs.reshape(len(outputs), -1).T
    # Of two classes the second has the only output.
    places = np.searchsorted(part.classes, estimator.classes_)[-len(columns) :]
    sides = (np.c_[1 - wanted[:, place], wanted[:, place]] for place in places)
    small.calibrators = [_fitted(curve, column, side) for curve, column, side in zip(part.calibrators, columns, sides, strict=True)]
    return small


def _fitted(curve: Any, outputs: Any, wanted: Any) -> Any:
    """A curve like this one for rows with a probability of each target: each row counts for each target by that."""
    rows, targets = wanted.shape
    return clone(curve).fit(np.concatenate([outputs] * targets), np.repeat(np.arange(targets), rows), sample_weight=wanted.T.ravel())
