"""What the estimators share: how arrays and parameters reach the library, and what a fitted estimator tells."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from . import _core

ACCEPTED = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "order": "C"}

# Methods that choose a basis before training; all others find the vectors with the machine.
BASES = ("greedy-basis", "rpcholesky", "kmeans", "random", "fisher-pursuit")


class KernelMachine(BaseEstimator):
    """Base of all estimators: training by the flags of ``kernelet train``, and prediction without copies."""

    _learner = ""
    # The parameters that are flags of the learner, and the names of those flags.
    _settings: dict[str, str] = {}

    # Training ----------------------------------------------------------------------------------------------------------

    def _begin(self, X, y="no_validation", **checks):
        """Checks X and y; forgets what was learned before, so that an interrupted fit leaves nothing."""
        for name in ("machine_", "_X_fit"):
            self.__dict__.pop(name, None)
        X = validate_data(self, X, y, **ACCEPTED, **checks)
        X, rest = (X[0], X[1]) if isinstance(X, tuple) else (X, None)
        kernel = getattr(self, "kernel", "gaussian")
        if callable(kernel):
            self._X_fit = X
            X = np.ascontiguousarray(kernel(X, X), dtype=np.float64)
        if kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix.")
        return X, rest

    def _flags(self, X, learner: str | None = None) -> list[str]:
        """The flags of ``kernelet train`` that these parameters stand for."""
        learner = learner or self._learner
        flags = {"learner": learner, "seed": self._seed(), **self._kernel_flags(X)}
        flags.update({flag: getattr(self, name) for name, flag in self._settings.items()})
        flags.update(self._budget(learner, X.shape[0]))
        flags.update(getattr(self, "options", None) or {})
        return [text for name, value in flags.items() for text in _flag(name, value)]

    def _kernel_flags(self, X) -> dict[str, Any]:
        kernel = "precomputed" if callable(self.kernel) else self.kernel
        if not isinstance(kernel, str):
            raise TypeError(f"kernel must be the name of a kernel or a callable, not {kernel!r}")
        if kernel in ("precomputed", "linear"):
            return {"kernel": kernel}
        self.gamma_ = _gamma(self.gamma, X)
        return {"kernel": kernel, "gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}

    def _budget(self, learner: str, rows: int) -> dict[str, Any]:
        """How many vectors, and how they are found."""
        n_vectors, method = getattr(self, "n_vectors", None), getattr(self, "method", "auto")
        if n_vectors is None:
            return {}
        if isinstance(n_vectors, bool) or not isinstance(n_vectors, (int, np.integer)):
            raise TypeError(f"n_vectors must be an integer or None, not {n_vectors!r}")
        if n_vectors < 1:
            raise ValueError(f"n_vectors is {n_vectors}, but must be at least 1, or None for the full machine")
        vectors = {"vectors": min(int(n_vectors), rows)}
        if method == "auto":
            return vectors if _core.has_direct(learner) else {**vectors, "method": "greedy-basis"}
        return {**vectors, "method": method}

    def _is_direct(self) -> bool:
        """True when the vectors are found with the machine, by methods that have no tolerance and no cache."""
        method = getattr(self, "method", "auto")
        if getattr(self, "n_vectors", None) is None or method in BASES:
            return False
        return method != "auto" or _core.has_direct(self._learner)

    def _seed(self) -> int:
        state = getattr(self, "random_state", 0)
        if isinstance(state, (int, np.integer)) and state >= 0:
            return int(state)
        return int(check_random_state(state).randint(2**31 - 1))

    def _threads(self) -> int:
        return effective_n_jobs(getattr(self, "n_jobs", None))

    def _report(self):
        return _Progress() if getattr(self, "verbose", 0) else None

    def _weights(self, sample_weight, X):
        if sample_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("all sample weights are 0; at least one row must count")
        return weights

    def _learn(self, flags, X, *, codes=None, values=None, weights=None):
        report = self._report()
        try:
            machine = _core.train(flags, _rows(X), codes, values, weights, self._threads(), report)
        except ValueError as error:
            raise ValueError(_in_python(str(error))) from None
        finally:
            if report:
                report.end()
        return machine

    def _keep(self, machine: _core.Machine):
        """Makes this the machine of the estimator."""
        about = json.loads(machine.description())
        self.report_ = about["report"] or {}
        self.machine_ = machine
        return self

    # Prediction --------------------------------------------------------------------------------------------------------

    def _fitted(self) -> _core.Machine:
        try:
            return self.machine_
        except AttributeError:
            check_is_fitted(self, "machine_")
            raise

    def _checked(self, X):
        """X as the machine wants it; plain arrays that are as they should be are not looked at twice."""
        plain = type(X) is np.ndarray and X.ndim == 2 and X.flags.c_contiguous and X.dtype in (np.float64, np.float32)
        known = plain and len(X) and X.shape[1] == self.n_features_in_ and not hasattr(self, "feature_names_in_")
        if not (known and _core.all_finite(X)):
            X = validate_data(self, X, reset=False, **ACCEPTED)
        if hasattr(self, "_X_fit"):
            X = np.ascontiguousarray(self.kernel(X, self._X_fit), dtype=np.float64)
        return _rows(X)

    def _outputs(self, X):
        machine = self._fitted()
        return machine.outputs(self._checked(X), self._threads())

    # Fitted state ------------------------------------------------------------------------------------------------------

    @property
    def vectors_(self):
        """The expansion vectors, (m, n_features); a CSR array where the training rows are sparse."""
        vectors = self._fitted().vectors()
        if isinstance(vectors, tuple):
            starts, columns, values, dim = vectors
            return sp.csr_array((values, columns, starts), shape=(len(starts) - 1, dim))
        return vectors

    @property
    def coefficients_(self):
        """The coefficients of the vectors, (m, outputs)."""
        return self._fitted().coefficients()

    @property
    def intercept_(self):
        """The offset of each output."""
        return self._fitted().offsets()

    @property
    def n_vectors_(self):
        """The number of expansion vectors."""
        return json.loads(self._fitted().description())["vectors"]

    # Files -------------------------------------------------------------------------------------------------------------

    def save(self, path) -> None:
        """Writes the machine as a model file that the program ``kernelet`` reads too."""
        self._fitted().save(path)

    def to_onnx(self, path) -> None:
        """Writes the machine as an ONNX graph."""
        self._fitted().save(path, "onnx")

    def to_libsvm(self, path) -> None:
        """Writes the machine as a LIBSVM model, where LIBSVM has such a machine."""
        self._fitted().save(path, "libsvm")

    def to_c(self, path) -> None:
        """Writes the machine as C source beside a header."""
        self._fitted().save(path, "c")

    @classmethod
    def load(cls, path):
        """An estimator with the machine of a model file; its parameters are the defaults."""
        machine = _core.Machine.load(path)
        about = json.loads(machine.description())
        estimator = cls()
        estimator._loaded(about)
        estimator.n_features_in_ = about["dim"]
        return estimator._keep(machine)

    def _loaded(self, about) -> None:
        """Refuses a machine of another kind, and takes what else is known of it."""

    # Tags --------------------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(getattr(self, "kernel", None), str) and self.kernel == "precomputed"
        return tags


class Labels(KernelMachine):
    """What classifiers share: labels of any kind, weights of classes, decisions in scikit-learn's shape."""

    class_weight: Any

    def _class_codes(self, y):
        check_classification_targets(y)
        self.classes_, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 classes; the number of classes is {len(self.classes_)}: one class")
        return codes.astype(np.uint32)

    def _class_weight_flags(self, codes) -> dict[str, str]:
        """The weights of the classes under the numbers that the library knows the classes by."""
        if getattr(self, "class_weight", None) is None:
            return {}
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])
        return {"class-weight": ",".join(f"{code}={float(weight)!r}" for code, weight in enumerate(weights))}

    def _fit_classes(self, X, y, sample_weight):
        X, y = self._begin(X, y)
        codes = self._class_codes(y)
        weights = self._weights(sample_weight, X)
        if weights is not None and len(np.unique(codes[weights > 0])) < len(self.classes_):
            # Classes whose rows do not count are not there.
            counting = weights > 0
            X, codes, weights = X[counting], self._class_codes(self.classes_[codes[counting]]), weights[counting]
        flags = self._flags(X) + [text for flag in self._class_weight_flags(codes).items() for text in _flag(*flag)]
        machine = self._learn(flags, X, codes=codes, weights=weights)
        return self._keep(machine.relabelled([_label(c) for c in self.classes_.tolist()]))

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
        decision = json.loads(self._fitted().description())["decision"]
        if decision["rule"] == "votes":
            return _votes(outputs, len(self.classes_))
        if decision["rule"] == "codes":
            words = np.array(decision["words"], dtype=np.float64)
            return np.minimum(words * outputs[:, None, :] - 1, 0).sum(axis=2)
        return outputs

    def _loaded(self, about) -> None:
        if not about["labels"] or about["decision"]["rule"] == "novelty":
            raise ValueError(f"{type(self).__name__} holds classifiers, but this model predicts no classes")
        self.classes_ = _classes(about["labels"])


class Probabilities(KernelMachine):
    """Classifiers that tell probabilities."""

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


class Numbers(KernelMachine):
    """What regressors share."""

    def _fit_numbers(self, X, y, sample_weight, *, several=False):
        X, y = self._begin(X, y, y_numeric=True, multi_output=several)
        y = np.asarray(y, dtype=np.float64) if several else column_or_1d(y, warn=True).astype(np.float64)
        self._one_target = y.ndim == 1
        values = np.ascontiguousarray(y.reshape(len(y), -1))
        return self._keep(self._learn(self._flags(X), X, values=values, weights=self._weights(sample_weight, X)))

    def predict(self, X):
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
        self._one_target = about["outputs"] == 1


class _Progress:
    """Progress on standard error, one line that is written over."""

    def __init__(self) -> None:
        self.shown = False

    def __call__(self, stage: str, done: int, total: int | None, figure: float | None) -> None:
        text = f"{stage} {done}" + (f" of {total}" if total else "") + (f", {figure:.6g}" if figure is not None else "")
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
        self.shown = True

    def end(self) -> None:
        if self.shown:
            sys.stderr.write("\n")


def _rows(X) -> _core.Rows:
    """An array as it is, or the parts of a CSR matrix."""
    if not sp.issparse(X):
        return X
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.astype(np.float64), X.shape[1]


def _gamma(gamma, X) -> float:
    """The width as a number; scikit-learn's meaning of ``scale`` and ``auto``."""
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / X.shape[1]
        if gamma != "scale":
            raise ValueError(f"gamma is {gamma!r}, but must be a number above 0, 'scale' or 'auto'")
        if sp.issparse(X):
            variance = (X.multiply(X)).mean() - X.mean() ** 2
        else:
            variance = X.var(dtype=np.float64)
        return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0
    return float(gamma)


def _flag(name: str, value) -> list[str]:
    """One flag; nothing for None and False."""
    if value is None or value is False:
        return []
    name = name.replace("_", "-")
    if value is True:
        return [f"--{name}"]
    if isinstance(value, (float, np.floating)):
        return [f"--{name}={float(value)!r}"]
    return [f"--{name}={value}"]


def _in_python(sentence: str) -> str:
    """A sentence about flags as one about parameters."""
    sentence = sentence.removeprefix("error: ").split("\n\nFor more information")[0]
    return sentence.replace("--", "").strip()


def _label(value) -> str:
    """A label as text: 3.0 is 3."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _classes(labels: list[str]):
    """Labels of a model file as numbers where all are numbers."""
    for kind in (np.int64, np.float64):
        try:
            return np.array([kind(label) for label in labels])
        except ValueError:
            continue
    return np.array(labels)


def _votes(outputs, classes: int):
    """Decisions of pairs as one for each class: its votes, and less than half a vote for how sure they are."""
    votes, sureness = np.zeros((2, len(outputs), classes))
    pairs = [(a, b) for a in range(classes) for b in range(a + 1, classes)]
    for k, (a, b) in enumerate(pairs):
        first = outputs[:, k] > 0
        votes[first, a] += 1
        votes[~first, b] += 1
        sureness[:, a] += outputs[:, k]
        sureness[:, b] -= outputs[:, k]
    return votes + sureness / (3 * (np.abs(sureness) + 1))
