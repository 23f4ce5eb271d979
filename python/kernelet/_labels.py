"""What classifiers share: labels of any kind, weights of classes, decisions in scikit-learn's shape, probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ._base import KernelMachine


class Labels(KernelMachine):
    """Classifiers."""

    class_weight: Any

    def _class_codes(self, y):
        check_classification_targets(y)
        self.classes_, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 classes; the number of classes is {len(self.classes_)}: one class")
        return codes.astype(np.uint32)

    def _class_weights(self, labels: list[str], codes) -> dict[str, Any]:
        """The weights of the classes by their labels."""
        given = getattr(self, "class_weight", None)
        if given is None or (isinstance(given, str) and given == "balanced"):
            return {"class-weight": given}
        weights = compute_class_weight(given, classes=self.classes_, y=self.classes_[codes])
        return {"class-weight": {text: float(weight) for text, weight in zip(labels, weights, strict=True)}}

    def _fit_classes(self, X, y, sample_weight):
        X, y = self._begin(X, y)
        codes = self._class_codes(y)
        weights = self._weights(sample_weight, X)
        if weights is not None and len(np.unique(codes[weights > 0])) < len(self.classes_):
            # Classes whose rows do not count are not there.
            counting = weights > 0
            X, codes, weights = X[counting], self._class_codes(self.classes_[codes[counting]]), weights[counting]
        labels = [label(c) for c in self.classes_.tolist()]
        asked = self._request(**self._class_weights(labels, codes))
        return self._keep(*self._learn(asked, X, labels=labels, codes=codes, weights=weights))

    def predict(self, X):
        """The class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Their classes.
        """
        machine = self._fitted()
        return self.classes_[machine.classes(self._checked(X), self._threads())]

    def decision_function(self, X):
        """How far each row is on the side of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Above 0 for the second of two classes; of several classes the largest wins.
        """
        outputs = self._outputs(X)
        if outputs.shape[1] == 1:
            return outputs[:, 0]
        decision = self._about()["decision"]
        pairs = getattr(self, "decision_function_shape", "ovr") == "ovo"
        if pairs and decision["rule"] != "votes":
            raise ValueError("decisions of pairs of classes (ovo) need a machine that has them: multiclass='one-vs-one'")
        if decision["rule"] == "votes" and not pairs:
            return votes(outputs, len(self.classes_))
        if decision["rule"] == "codes":
            words = np.array(decision["words"], dtype=np.float64)
            return -np.maximum(0, 1 - outputs[:, None, :] * words[None]).sum(axis=2)
        return outputs

    def calibrate(self, X, y):
        """Calibrates the prediction sets of :meth:`predict_set`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that the estimator was not fitted to, drawn as those to be predicted.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : estimator
            The same estimator, which predicts sets now.
        """
        machine, y = self._fitted(), column_or_1d(y, warn=True)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the class {unknown[0]!r}, which was not there in fit")
        codes = np.searchsorted(self.classes_, y).astype(np.uint32)
        self._set_machine(machine.calibrated(self._checked(X), codes=codes))
        return self

    def predict_set(self, X, confidence=0.9):
        """Sets of classes that contain the true class with a chosen probability, where rows are like those of :meth:`calibrate`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        confidence : float, default=0.9
            The probability, above 0 and below 1.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether each of ``classes_`` is in the set of a row. A row with exactly one can be answered; the others are better left to somebody else.
        """
        machine = self._fitted()
        return machine.prediction_sets(self._checked(X), float(confidence), self._threads()).astype(bool)

    def _loaded(self, about) -> None:
        if about["decision"]["rule"] not in ("sign", "votes", "largest", "codes"):
            raise ValueError(f"{type(self).__name__} holds machines that predict classes, but this model does not")
        self.classes_ = classes_of(about["labels"])


class Probabilities(KernelMachine):
    """Classifiers that predict probabilities."""

    def predict_proba(self, X):
        """The probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column for each of ``classes_``.
        """
        machine = self._fitted()
        return machine.probabilities(self._checked(X), self._threads())

    def predict_log_proba(self, X):
        """The logarithms of :meth:`predict_proba`."""
        return np.log(self.predict_proba(X))


def label(value) -> str:
    """A label as text: 3.0 is 3."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def classes_of(labels: list[str]):
    """Labels of a model file as numbers where all are numbers."""
    for kind in (np.int64, np.float64):
        try:
            return np.array([kind(text) for text in labels])
        except ValueError:
            continue
    return np.array(labels)


def votes(outputs, classes: int):
    """Decisions of pairs as one for each class: its votes, and less than half a vote for how sure they are."""
    counts, sureness = np.zeros((2, len(outputs), classes))
    pairs = [(a, b) for a in range(classes) for b in range(a + 1, classes)]
    for k, (a, b) in enumerate(pairs):
        first = outputs[:, k] > 0
        counts[first, a] += 1
        counts[~first, b] += 1
        sureness[:, a] += outputs[:, k]
        sureness[:, b] -= outputs[:, k]
    return counts + sureness / (3 * (np.abs(sureness) + 1))
