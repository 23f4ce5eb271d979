"""What regressors share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from ._arrays import aligned
from ._base import KernelMachine
from ._types import Self


class Numbers(KernelMachine):
    """Regressors for one target or, where a learner can, several."""

    _several_targets = False

    def _fit_numbers(self, X: Any, y: Any, sample_weight: Any) -> Self:
        several = self._several_targets
        X, y = self._begin(X, y, y_numeric=True, multi_output=several)
        y = np.asarray(y, dtype=np.float64) if several else column_or_1d(y, warn=True).astype(np.float64)
        self._one_target = y.ndim == 1
        values = aligned(np.ascontiguousarray(y.reshape(len(y), -1)))
        asked = self._request(**self._curves())
        self._keep(*self._learn(asked, X, values=values, weights=self._weights(sample_weight, X)))
        self._learned_support(X.shape)
        return self

    def _curves(self) -> dict[str, Any]:
        return {"probability": "normal"} if getattr(self, "deviation", False) else {}

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The predicted number of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        return_std : bool, default=False
            Also the standard deviations of the predictions, where the machine has them: ``RVR``, and estimators with ``deviation=True``.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The predictions.
        deviations : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Only with ``return_std``.
        """
        outputs = self._outputs(X)
        mean = outputs[:, 0] if self._one_target else outputs
        if not return_std:
            return mean
        deviations = self._fitted().deviations(self._checked(X))
        return mean, deviations[:, 0] if self._one_target else deviations

    def calibrate(self, X, y):
        """Calibrates the intervals of :meth:`predict_set`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that the estimator was not fitted to, drawn as those to be predicted.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their numbers.

        Returns
        -------
        self : estimator
            The same estimator, which predicts intervals now.
        """
        machine, y = self._fitted(), np.asarray(y, dtype=np.float64)
        values = aligned(np.ascontiguousarray(y.reshape(len(y), -1)))
        self._set_machine(machine.calibrated(self._checked(X), values=values))
        return self

    def predict_set(self, X, confidence=0.9):
        """Intervals that contain the true number with a chosen probability, where rows are like those of :meth:`calibrate`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        confidence : float, default=0.9
            The probability, above 0 and below 1.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            The lower and the upper end of each interval.
        """
        ends = self._fitted().prediction_sets(self._checked(X), float(confidence), self._threads())
        return ends if self._one_target else np.stack(np.split(ends, 2, axis=1), axis=2)

    def _loaded(self, about) -> None:
        if about["decision"]["rule"] != "values":
            raise ValueError(f"{type(self).__name__} holds machines that predict numbers, but this model does not")
        saved = about["facts"].get("estimator") or {}
        self._one_target = saved.get("one_target", about["outputs"] == 1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_targets
        return tags
