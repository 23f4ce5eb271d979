"""What all estimators share: how parameters reach the library, and the attributes of a fitted estimator."""

from __future__ import annotations

import copy
import inspect
import json
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, _check_n_features, _check_sample_weight, check_is_fitted, validate_data

from . import _core
from ._arrays import ACCEPTED, array_of, on_few_rows, rows_of, sound, unscaled, values_of
from ._device import check_device, lies_on_card, outputs_there, placed
from ._files import parameters, with_estimator
from ._path import path_of
from ._request import options_of, request, threads_of, watched
from ._tables import encoded, known, learned, needs_encoding
from ._warnings import warn_of_training
from ._types import Self


class KernelMachine(BaseEstimator):
    """Base of all estimators: training by a request to the library, and prediction without copies."""

    _learner = ""
    # The parameters that are settings of the learner, and the names of those settings.
    _settings: dict[str, str] = {}

    # Training ----------------------------------------------------------------------------------------------------------

    def _begin(self, X, y="no_validation", **checks):
        """Checks X and y; forgets what was learned before, so that an interrupted fit leaves nothing."""
        for name in ("machine_", "path_", "tuning_", "_X_fit", "_kernel_fit", "_table", "_support", "_reservoir", "_sums", "_placed"):
            self.__dict__.pop(name, None)
        frame = X if needs_encoding(X) and len(X) and not self._is_precomputed() else None
        if frame is not None:
            X = self._learn_table(frame)
        X = validate_data(self, X, y, **ACCEPTED, **checks)
        X, rest = (sound(X[0]), X[1]) if isinstance(X, tuple) else (sound(X), None)
        if frame is not None:
            _check_feature_names(self, frame, reset=True)
            _check_n_features(self, frame, reset=True)
        kernel = getattr(self, "kernel", "gaussian")
        if callable(kernel):
            self._X_fit, self._kernel_fit = X, kernel
            X = values_of(kernel, X, X)
        if self._values_are_given() and X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix.")
        return X, rest

    def _learn_table(self, frame):
        """The features of a frame with text or missing values; what is learned from it is kept."""
        table = learned(frame)
        if table is None:
            return frame.to_numpy(dtype=np.float64)
        self._table = table
        return encoded(table, frame)

    def _is_precomputed(self) -> bool:
        kernel = getattr(self, "kernel", "gaussian")
        return isinstance(kernel, str) and kernel == "precomputed"

    def _values_are_given(self) -> bool:
        """True when kernel values come from the caller: as X, or from a function."""
        return callable(getattr(self, "kernel", "gaussian")) or self._is_precomputed()

    def _request(self, learner: str | None = None, **more: Any) -> str:
        """What these parameters ask for. Parameters at their defaults are left to the library."""
        kernel = "precomputed" if callable(self.kernel) else self.kernel
        if not isinstance(kernel, str):
            raise TypeError(f"kernel must be the name of a kernel or a callable, not {kernel!r}")
        settings: dict[str, Any] = {"learner": learner or self._learner, "seed": self._seed(), "kernel": kernel, "vectors": self._count()}
        defaults = self._defaults()
        for name, setting in self._names().items():
            value, default = getattr(self, name, None), defaults.get(name)
            if name == "gamma" and value is None:
                value = self._usual_gamma()
            if value is not default and not (np.isscalar(value) and value == default):
                settings[setting] = value
        check_device(getattr(self, "device", None))
        return request(settings | more | options_of(getattr(self, "options", None)), self._spelling())

    def _defaults(self) -> dict[str, Any]:
        """The values of the parameters that need not be asked for."""
        return {name: parameter.default for name, parameter in inspect.signature(type(self).__init__).parameters.items()}

    def _names(self) -> dict[str, str]:
        """The parameters that are settings of a request, and the names of those settings."""
        common = {name: name for name in ("gamma", "degree", "coef0", "method", "ard", "projection", "tune", "device")}
        return common | self._settings

    def _usual_gamma(self) -> str:
        """The width where gamma is None."""
        raise TypeError("gamma must be 'scale', 'auto', 'learned' or a number above 0, not None")

    def _count(self) -> int | None:
        """How many vectors."""
        n_vectors = getattr(self, "n_vectors", None)
        if n_vectors is None:
            return None
        if isinstance(n_vectors, bool) or not isinstance(n_vectors, (int, np.integer)):
            raise TypeError(f"n_vectors must be an integer or None, not {n_vectors!r}")
        if n_vectors < 1:
            raise ValueError(f"n_vectors is {n_vectors}, but must be at least 1, or None for the full machine")
        return int(n_vectors)

    def _spelling(self) -> dict[str, str]:
        """The parameters by the names of their settings, for messages."""
        return {"vectors": "n_vectors"} | {setting: name for name, setting in self._names().items()}

    def _seed(self) -> int:
        state = getattr(self, "random_state", 0)
        if isinstance(state, (int, np.integer)) and state >= 0:
            return int(state)
        return int(check_random_state(state).randint(2**31 - 1))

    def _threads(self) -> int:
        return threads_of(getattr(self, "n_jobs", None))

    def _verbose(self):
        return getattr(self, "verbose", 0)

    def _weights(self, sample_weight, X):
        if sample_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("all sample weights are 0; at least one row must count")
        return weights

    def _learn(self, request, X, *, labels=None, codes=None, values=None, weights=None):
        """The machines of all sizes on the size path, the largest last, and their metrics."""
        arguments = (request, rows_of(X), labels, codes, values, weights, self._threads())
        machine, smaller, figures, tried = watched(_core.train, *arguments, verbose=self._verbose(), names=self._spelling())
        if tried is not None:
            names = self._spelling()
            self.tuning_ = [{names.get(name, name): value for name, value in candidate.items()} for candidate in json.loads(tried)]
        return [*smaller, machine], json.loads(figures)

    def _keep(self, machines: list[_core.Machine], figures: list[dict[str, Any]] | None = None):
        """Makes the last of these the machine of the estimator, and the others its path."""
        self.report_ = json.loads(machines[-1].description())["report"] or {}
        if hasattr(self, "_X_fit"):
            # A basis grows, so that smaller machines have some of the same vectors.
            kept = array_of(machines[-1].vectors()).indices
            self._X_fit, machines = self._X_fit[kept], [on_few_rows(machine, kept) for machine in machines]
        elif hasattr(self, "_table"):
            machines = [machine.with_table(self._table) for machine in machines]
        machine = machines[-1]
        about = json.loads(machine.description())
        support = self.report_.pop("support", None)
        if support is not None and len(support["rows"]) == about["vectors"]:
            self._support = support
        warn_of_training(self.report_)
        self.path_ = path_of(machines, figures or [{"vectors": about["vectors"]}])
        self._set_machine(machine)
        return self

    def _learned_support(self, shape: tuple[int, int], rows: Any = None, codes: Any = None) -> None:
        """Which training rows are the vectors, for the support vector family."""

    def _set_machine(self, machine: _core.Machine) -> None:
        self.machine_ = machine

    def at(self, n_vectors: int) -> Self:
        """This estimator with the largest machine of ``path_`` that has at most so many vectors; nothing is trained.

        Parameters
        ----------
        n_vectors : int
            The most vectors.

        Returns
        -------
        smaller : estimator of the same class
            A copy; this one stays as it is.
        """
        self._fitted()
        smaller = copy.copy(self)
        smaller._set_machine(self.path_.at(n_vectors))
        return smaller

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
        as_fitted = plain and len(X) and X.shape[1] == self.n_features_in_ and not hasattr(self, "feature_names_in_")
        if hasattr(self, "_table"):
            X = encoded(self._table, X)
        elif not (as_fitted and _core.all_finite(X)):
            X = sound(validate_data(self, X, reset=False, **ACCEPTED))
        if hasattr(self, "_X_fit"):
            X = values_of(self._kernel_fit, X, self._X_fit)
        return rows_of(X)

    def _outputs(self, X):
        machine = placed(self, self._fitted())
        if lies_on_card(X):
            return outputs_there(machine, X, len(machine.offsets()))
        return machine.outputs(self._checked(X), self._threads())

    # Fitted state ------------------------------------------------------------------------------------------------------

    @property
    def vectors_(self) -> Any:
        """The expansion vectors, (m, n_features); a CSR array where the training rows are sparse."""
        vectors = array_of(self._fitted().vectors())
        return self._X_fit[vectors.indices] if hasattr(self, "_X_fit") else unscaled(vectors, self._about()["scale"])

    @property
    def coefficients_(self) -> NDArray[Any]:
        """The coefficients of the vectors, (m, outputs)."""
        return self._fitted().coefficients()

    @property
    def intercept_(self) -> NDArray[Any]:
        """The offset of each output."""
        return self._fitted().offsets()

    @property
    def gamma_(self) -> float | None:
        """The width of the kernel; None for kernels that have none."""
        return self._about()["gamma"]

    @property
    def feature_scales_(self) -> NDArray[Any]:
        """The learned factor of each feature, after standardisation; of a map the length of the feature's column."""
        metric = self._about()["facts"].get("metric")
        if metric is None:
            raise AttributeError("feature_scales_ are learned with ard=True, projection=K or gamma='learned'")
        scales = metric.get("feature_scales") or [1.0] * self.n_features_in_
        return np.array(scales)

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """The squared scales, which add up to 1."""
        squares = self.feature_scales_**2
        return squares / squares.sum()

    @property
    def projection_(self) -> NDArray[Any]:
        """The learned map of standardised features, (projection, n_features)."""
        scale = self._about()["scale"]
        if not scale or scale.get("map") is None:
            raise AttributeError("projection_ is learned with projection=K, where validation rows prefer it to one width")
        return np.array(scale["map"])

    @property
    def n_vectors_(self) -> int:
        """The number of expansion vectors."""
        return self._about()["vectors"]

    def _about(self) -> dict[str, Any]:
        return json.loads(self._fitted().description())

    # Files -------------------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the machine as a model file that the program ``kernelet`` reads too."""
        with_estimator(self._to_file(), self).save(path)

    def to_onnx(self, path: str | PathLike[str], precision: str = "f64") -> None:
        """Writes the machine as an ONNX graph that takes and returns numbers of this precision, ``'f64'`` or ``'f32'``."""
        self._to_file().save(path, "onnx", precision)

    def to_libsvm(self, path: str | PathLike[str]) -> None:
        """Writes the machine as a LIBSVM model, where LIBSVM has such a machine."""
        self._to_file().save(path, "libsvm")

    def to_javascript(self, path: str | PathLike[str]) -> None:
        """Writes the machine as one module of JavaScript without dependencies, for browsers and Node."""
        self._to_file().save(path, "javascript")

    def to_c(self, path: str | PathLike[str], precision: str = "f64", X: Any = None) -> None:
        """Writes the machine as C source beside a header.

        Parameters
        ----------
        path : path
            The name of the source; it ends in ``.c``.
        precision : {"f64", "f32", "i16", "i8"}, default="f64"
            The numbers: floating point, or whole numbers of 16 or 8 bits for devices without it.
        X : array-like, default=None
            With whole numbers: rows from which the ranges of the features are taken. Without them they are guessed from the vectors.
        """
        self._to_file().save_c(path, precision, None if X is None else self._checked(X))

    def to_sklearn(self) -> Any:
        """A fitted ``SVC``, ``SVR`` or ``OneClassSVM`` with this machine's vectors, where scikit-learn has such a machine."""
        from ._to_sklearn import to_sklearn

        return to_sklearn(self)

    def _to_file(self) -> _core.Machine:
        machine = self._fitted()
        if hasattr(self, "_X_fit"):
            raise ValueError("a kernel that is a Python function has no place in a file; pickle the estimator instead")
        return machine

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """An estimator with the machine of a model file.

        Its parameters are those it was saved with; of a model of the program those of its request, of other models what the machine says.
        """
        machine = _core.Machine.load(path)
        about = json.loads(machine.description())
        estimator = cls()
        estimator._loaded(about)
        estimator.set_params(**parameters(about, estimator._names(), estimator._get_param_names()))
        for name, value in known(about).items():
            setattr(estimator, name, value)
        return estimator._keep([machine])

    def _loaded(self, about) -> None:
        """Refuses a machine of another kind, and takes what else is known of it."""

    # Notebooks ---------------------------------------------------------------------------------------------------------

    def _repr_html_inner(self) -> str:
        """The parameters as scikit-learn shows them, and what was learned."""
        shown: str = super()._repr_html_inner()
        if not hasattr(self, "machine_"):
            return shown
        from ._report import summary

        return shown + summary(self)

    # Tags --------------------------------------------------------------------------------------------------------------

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(getattr(self, "kernel", None), str) and self.kernel == "precomputed"
        return tags
