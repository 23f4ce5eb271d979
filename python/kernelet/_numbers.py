"""What regressors share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

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
        values = np.ascontiguousarray(y.reshape(len(y), -1))
        self._keep(*self._learn(self._request(), X, values=values, weights=self._weights(sample_weight, X)))
        self._learned_support(X.shape)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted number of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The predictions.
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if self._one_target else outputs

    def _loaded(self, about) -> None:
        if about["decision"]["rule"] != "values":
            raise ValueError(f"{type(self).__name__} holds machines that predict numbers, but this model does not")
        saved = about["facts"].get("estimator") or {}
        self._one_target = saved.get("one_target", about["outputs"] == 1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_targets
        return tags
