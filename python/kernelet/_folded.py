"""Pipelines that end in a small machine, and machines with the scalers before them folded in."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arrays import rows_of
from ._base import KernelMachine
from ._path import Path


class SmallPipeline(Pipeline):
    """A pipeline whose last step is a machine of this package, with the fitted attributes of that step."""

    @property
    def path_(self) -> Any:
        """The size path; see :class:`kernelet.Path`."""
        return self[-1].path_

    @property
    def agreement_(self) -> Any:
        """The fraction of rows with the label of the original."""
        return self[-1].agreement_

    @property
    def report_(self) -> Any:
        """The report of the compression."""
        return self[-1].report_

    @property
    def n_vectors_(self) -> int:
        """The number of expansion vectors."""
        return self[-1].n_vectors_

    def at(self, n_vectors: int) -> SmallPipeline:
        """The pipeline with the machine of another size; see :meth:`kernelet.SparseSVC.at`."""
        return SmallPipeline([*self.steps[:-1], (self.steps[-1][0], self[-1].at(n_vectors))])

    def save(self, path: Any) -> None:
        """Writes scalers and machine as one model file that the program ``kernelet`` reads too."""
        self._whole().save(path)

    def to_onnx(self, path: Any, precision: str = "f64") -> None:
        """Writes scalers and machine as an ONNX graph of this precision, ``'f64'`` or ``'f32'``."""
        self._whole().save(path, "onnx", precision)

    def to_libsvm(self, path: Any) -> None:
        """Writes the machine as a LIBSVM model; an error where the format cannot express the scaling."""
        self._whole().save(path, "libsvm")

    def to_javascript(self, path: Any) -> None:
        """Writes scalers and machine as one module of JavaScript without dependencies."""
        self._whole().save(path, "javascript")

    def to_c(self, path: Any, precision: str = "f64", X: Any = None) -> None:
        """Writes scalers and machine as C source beside a header; see :meth:`kernelet.SparseSVC.to_c`. Rows of ``X`` are as the pipeline takes them."""
        self._whole().save_c(path, precision, None if X is None else rows_of(np.ascontiguousarray(X, dtype=np.float64)))

    def to_sklearn(self) -> Pipeline:
        """The pipeline with a machine of scikit-learn as its last step."""
        return Pipeline([*self.steps[:-1], (self.steps[-1][0], self[-1].to_sklearn())])

    def _whole(self) -> _core.Machine:
        return folded([step for _, step in self.steps[:-1]], self[-1]._to_file())


def fold(model: Any) -> Any:
    """A fitted pipeline of scalers and an estimator of this package as one estimator for rows that are not scaled.

    Parameters
    ----------
    model : fitted Pipeline, or a search for one
        It ends in an estimator of this package; before it are any of ``StandardScaler``, ``MinMaxScaler``, ``MaxAbsScaler``, ``RobustScaler``.

    Returns
    -------
    estimator : estimator of the class of the last step
        A copy with the scalers inside, whose ``predict``, ``save``, ``to_onnx``, ``to_c`` and ``to_javascript`` take rows as the pipeline does.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kernelet import SparseSVC, fold
    >>> X, y = load_wine(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), SparseSVC(6, random_state=0)).fit(X, y)
    >>> bool((fold(pipeline).predict(X) == pipeline.predict(X)).all())
    True
    """
    model = getattr(model, "best_estimator_", model)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not isinstance(last, KernelMachine):
        raise TypeError(f"fold takes fitted pipelines that end in an estimator of kernelet, not {type(last).__name__}; compress makes such pipelines")
    check_is_fitted(model)
    steps = [step for _, step in model.steps[:-1] if step is not None and step != "passthrough"] if isinstance(model, Pipeline) else []
    whole, path = copy.copy(last), last.path_
    whole._set_machine(folded(steps, last._to_file()))
    whole.path_ = Path(path.rows(), lambda n_vectors: folded(steps, path.at(n_vectors)))
    whole.__dict__.pop("feature_names_in_", None)
    if hasattr(model, "feature_names_in_"):
        whole.feature_names_in_ = model.feature_names_in_
    return whole


def folded(steps: list[Any], machine: _core.Machine) -> _core.Machine:
    """A machine for rows that the steps have not seen yet."""
    about = json.loads(machine.parts())
    scale = about["scale"] or {"shift": None, "factor": [1.0] * json.loads(machine.description())["dim"]}
    factor, shift = np.array(scale["factor"]), np.zeros(len(scale["factor"])) if scale["shift"] is None else np.array(scale["shift"])
    for step in reversed(steps):
        if step is None or step == "passthrough":
            continue
        first_factor, first_shift = _linear(step, len(factor))
        # ((x - s1) f1 - s2) f2 = (x - (s1 + s2 / f1)) f1 f2
        shift, factor = first_shift + shift / first_factor, first_factor * factor
    shifted = bool(np.any(shift != 0))
    about["scale"] = {**scale, "shift": shift.tolist() if shifted else None, "factor": factor.tolist()}
    return _core.Machine.of_parts(json.dumps(about), machine.vectors(), machine.stored(), machine.offsets())


def _linear(step: Any, features: int) -> tuple[Any, Any]:
    """A scaler as `(x - shift) * factor`."""
    ones, none = np.ones(features), np.zeros(features)
    name = type(step).__name__
    if name == "StandardScaler":
        return ones if step.scale_ is None else 1.0 / step.scale_, none if not step.with_mean else step.mean_
    if name == "MinMaxScaler" and not step.clip:
        return step.scale_, -step.min_ / step.scale_
    if name == "MaxAbsScaler":
        return 1.0 / step.scale_, none
    if name == "RobustScaler":
        return ones if not step.with_scaling else 1.0 / step.scale_, none if not step.with_centering else step.center_
    raise ValueError(f"{name} cannot be written with the machine; StandardScaler, MinMaxScaler, MaxAbsScaler and RobustScaler can. Save the last step alone: model[-1].save(..)")


