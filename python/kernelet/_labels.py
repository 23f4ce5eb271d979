"""What classifiers share: labels of any kind, weights of classes, decisions in scikit-learn's shape, probabilities."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ._base import KernelMachine
from ._device import lies_on_card, placed
from ._files import saved_classes
from ._request import options_of
from ._types import Self


class Labels(KernelMachine):
    """Classifiers."""

    class_weight: Any
    # Where the library has no weights of classes, they are factors of the weights of rows.
    _weights_by_row = False

    def _class_codes(self, y):
        check_classification_targets(y)
        self.classes_, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 classes; the number of classes is {len(self.classes_)}: one class")
        return codes.astype(np.uint32)

    def _class_weights(self, labels: list[str], codes) -> dict[str, Any]:
        """The weights of the classes by their labels, as a setting of the library."""
        given = getattr(self, "class_weight", None)
        if given is None or isinstance(given, str):
            return {"class-weight": given}
        return {"class-weight": {text: float(weight) for text, weight in zip(labels, self.class_weight_, strict=True)}}

    def _class_factors(self, codes: Any) -> Any:
        """The weight of each class; classes keep their type, so that labels of digits are not numbers."""
        given = getattr(self, "class_weight", None)
        if given is None:
            return np.ones(len(self.classes_))
        if isinstance(given, str):
            if given != "balanced":
                raise ValueError(f"class_weight is {given!r}, but must be a dict, 'balanced' or None")
            return len(codes) / (len(self.classes_) * np.bincount(codes, minlength=len(self.classes_)))
        if not isinstance(given, dict):
            raise TypeError(f"class_weight must be a dict, 'balanced' or None, not {given!r}")
        classes = self.classes_.tolist()
        unknown, unweighted = [c for c in given if c not in classes], [c for c in classes if c not in given]
        if unknown and unweighted:
            raise ValueError(f"class_weight has the class {unknown[0]!r}, which y does not have, and none for {unweighted[0]!r}")
        return np.array([float(given.get(c, 1.0)) for c in classes])

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> Self:
        X, y = self._begin(X, y)
        codes = self._class_codes(y)
        weights, counting = self._weights(sample_weight, X), None
        if weights is not None and len(np.unique(codes[weights > 0])) < len(self.classes_):
            # Classes whose rows do not count are not there.
            counting = np.flatnonzero(weights > 0)
            X, codes, weights = X[counting], self._class_codes(self.classes_[codes[counting]]), weights[counting]
        labels = [label(c) for c in self.classes_.tolist()]
        self._check_classes()
        self.class_weight_ = self._class_factors(codes)
        if self._weights_by_row and getattr(self, "class_weight", None) is not None:
            weights = self.class_weight_[codes] * (1.0 if weights is None else weights)
            asked = self._request(**self._curves())
        else:
            asked = self._request(**self._curves(), **self._class_weights(labels, codes))
        self._keep(*self._learn(asked, X, labels=labels, codes=codes, weights=weights))
        self._learned_support(X.shape, counting, codes)
        return self

    def _check_classes(self) -> None:
        """Rejects parameters that do not go with these classes."""

    def _curves(self) -> dict[str, Any]:
        """The curves for probabilities that are fitted too."""
        return {}

    def predict(self, X: Any) -> NDArray[Any]:
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
        if getattr(self, "break_ties", False) and len(self.classes_) > 2:
            _check_ties(self)
            return self.classes_[self.decision_function(X).argmax(axis=1)]
        if lies_on_card(X):
            return self._classes_there(X)
        return self.classes_[placed(self, machine).classes(self._checked(X), self._threads())]

    def _classes_there(self, X: Any) -> Any:
        """Classes of rows that lie on a card: there where classes are numbers, else in memory. The largest output wins; of one output its sign."""
        outputs = self._outputs(X)
        decision = json.loads(self._fitted().description())["decision"]
        turned = decision["rule"] == "sign" and decision["positive"] != label(self.classes_.tolist()[1])
        if turned or decision["rule"] not in ("sign", "largest"):
            raise ValueError("classes of this machine are not those of the largest output; bring X to the processor, or use decision_function")
        codes = (outputs[:, 0] > 0) * 1 if outputs.shape[1] == 1 else outputs.argmax(1)
        if self.classes_.dtype.kind not in "biuf":
            return self.classes_[np.asarray(codes.cpu() if hasattr(codes, "cpu") else codes.get())]
        module = type(outputs).__module__.split(".")[0]
        library = __import__(module)
        known = library.as_tensor(self.classes_, device=outputs.device) if module == "torch" else library.asarray(self.classes_)
        return known[codes]

    def decision_function(self, X: Any) -> NDArray[Any]:
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
        saved = saved_classes(about)
        self.classes_ = classes_of(about["labels"]) if saved is None else saved


class Probabilities(KernelMachine):
    """Classifiers that predict probabilities."""

    def predict_proba(self, X: Any) -> NDArray[Any]:
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
        try:
            return machine.probabilities(self._checked(X), self._threads())
        except ValueError:
            if json.loads(machine.description())["probabilities"]:
                raise
            raise ValueError("this machine has no probabilities: its model was trained without them, or its outputs are the same for all rows; scale the data, or change gamma") from None

    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """The logarithms of :meth:`predict_proba`."""
        return np.log(self.predict_proba(X))


def _has_probabilities(estimator: Any) -> bool:
    """True where probabilities are asked for, or the machine has them."""
    machine = getattr(estimator, "machine_", None)
    if estimator.probability or (machine is not None and json.loads(machine.description())["probabilities"]):
        return True
    raise AttributeError("predict_proba is there with probability=True; or use SparseLogistic, whose probabilities need no cross-validation")


class ProbabilitiesOnRequest(Probabilities):
    """Classifiers whose probabilities are curves fitted by cross-validation, where they are asked for."""

    probability: Any

    def _curves(self) -> dict[str, Any]:
        """The setting of the library."""
        if isinstance(self.probability, (bool, np.bool_)):
            return {"probability": "sigmoid" if self.probability else None}
        if self.probability not in ("sigmoid", "isotonic"):
            raise ValueError(f"probability is {self.probability!r}, but must be True, False, 'sigmoid' or 'isotonic'")
        return {"probability": self.probability}

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The probability of each class; see :meth:`SparseLogistic.predict_proba`."""
        return super().predict_proba(X)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """The logarithms of :meth:`predict_proba`."""
        return super().predict_log_proba(X)

    def _curve_numbers(self, name: str) -> Any:
        curves = json.loads(self._fitted().parts())["calibration"] or {}
        return np.array(curves.get(name, []))

    @property
    def probA_(self) -> NDArray[Any]:
        """The slopes of the sigmoids ``1 / (1 + exp(a f + b))``, one for each output; empty without ``probability``."""
        return self._curve_numbers("a")

    @property
    def probB_(self) -> NDArray[Any]:
        """The offsets of the sigmoids; empty without ``probability``."""
        return self._curve_numbers("b")


class Decisions(Labels):
    """Classifiers with scikit-learn's choice between decisions of classes and of pairs."""

    decision_function_shape: Any
    break_ties: Any

    def _check_classes(self) -> None:
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(f"decision_function_shape is {self.decision_function_shape!r}, but must be 'ovr' or 'ovo'")
        if self.decision_function_shape == "ovr" or len(self.classes_) < 3:
            return
        _check_ties(self)
        usual = "one-vs-one" if self._count() is None or self._learner == "nu-svc" else "shared"
        options = options_of(getattr(self, "options", None))
        how = options.get("multiclass") or getattr(self, "multiclass", None) or usual
        if how != "one-vs-one":
            raise ValueError(
                "decision_function_shape='ovo' needs machines for pairs of classes: multiclass='one-vs-one' with n_vectors=None or a method that chooses a basis"
            )


def _check_ties(estimator: Any) -> None:
    """Ties between classes are broken by decisions of classes; parameters may have been set after fit."""
    if estimator.break_ties and estimator.decision_function_shape == "ovo":
        raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")


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
