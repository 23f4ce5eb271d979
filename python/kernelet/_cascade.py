"""Small machines before a large one, with a promise."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_array, check_is_fitted

from . import _core
from ._arrays import ACCEPTED, rows_of, sound
from ._labels import classes_of


class Cascade(ClassifierMixin, BaseEstimator):
    """A classifier that answers most rows by small machines and the rest by the full one; :func:`compress` makes it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; a cascade that abstains also answers ``'?'``, which is not among them.
    stages_ : list of dict
        For each small machine ``vectors``, ``threshold`` and ``exits``, the fraction of the calibration rows that it answered.
    cost_ : float
        Kernel evaluations of a row as a fraction of the full machine's, on the calibration rows.
    guarantee_ : dict
        ``max_disagreement`` and ``confidence``: at most this fraction of new rows is answered otherwise than by the full machine, with this confidence; ``bound``
        is the upper bound from ``calibration_rows``, of which ``disagreements`` differed.
    n_features_in_ : int
        Features of a row.

    Examples
    --------
    >>> from kernelet import compress
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(300, noise=0.3, random_state=0)
    >>> new = make_moons(2000, noise=0.3, random_state=1)[0]
    >>> svc = SVC().fit(X, y)
    >>> fast = compress(svc, X, y, cascade=True, max_disagreement=0.02, X_calibrate=new, options={"effort": "quick"})
    >>> fast.cost_ < 1
    True
    >>> fast.guarantee_["confidence"]
    0.95
    """

    def fit(self, X: Any, y: Any = None) -> Any:
        """Cascades are not fitted: ``compress`` makes them from a model. Pipelines ask for this method."""
        raise NotImplementedError("a cascade is made by kernelet.compress(model, X, cascade=True, max_disagreement=.., X_calibrate=..)")

    def _keep(self, cascade: _core.Cascade, classes: Any) -> Cascade:
        about = json.loads(cascade.description())
        self._cascade, self.classes_, self.n_features_in_ = cascade, classes, about["dim"]
        self.stages_, self.guarantee_, self.cost_ = about["stages"], about["promise"], about["promise"]["cost"]
        self._abstains = about["abstain"]
        return self

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        X = sound(check_array(X, **ACCEPTED))
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input")
        return rows_of(X)

    def predict(self, X: Any) -> Any:
        """The class of each row; ``'?'`` where the cascade abstains."""
        codes = self._cascade.answers(self._rows(X))[0]
        if not self._abstains:
            return self.classes_[codes]
        return np.append(self.classes_.astype(object), "?")[codes]

    def predict_stage(self, X: Any) -> Any:
        """For each row the stage that answers it, counted from 0; the number of stages for the full machine, or no answer."""
        return self._cascade.answers(self._rows(X))[1]

    def monitor(self, X: Any) -> dict[str, Any]:
        """Whether rows are like those of calibration, by the fraction that leaves early.

        Returns
        -------
        rate : dict
            ``rows``, ``exits``, the fraction that the stages answered, ``expected``, the same on the calibration rows, and ``alarm``: True when they differ by
            more than chance, so that the promise is about other rows. An alarm without a cause has a probability of at most 1 %.
        """
        rate: dict[str, Any] = json.loads(self._cascade.monitor(self._rows(X)))
        return rate

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a file that the program ``kernelet`` reads."""
        check_is_fitted(self, "classes_")
        self._cascade.save(path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Cascade:
        """The cascade in a file; classes that are numbers are numbers."""
        cascade = _core.Cascade.from_bytes(Path(path).read_bytes())
        about = json.loads(cascade.description())
        labels = about["labels"][:-1] if about["abstain"] else about["labels"]
        return cls()._keep(cascade, classes_of(labels))
