"""Machines as fitted estimators of scikit-learn, where it has such machines."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _core
from ._arrays import array_of

NAMES = {"gaussian": "rbf", "polynomial": "poly", "linear": "linear", "sigmoid": "sigmoid"}


def to_sklearn(estimator: Any) -> Any:
    """A fitted ``SVC``, ``SVR`` or ``OneClassSVM`` with the vectors and coefficients of a machine."""
    from sklearn.svm import SVC, SVR, OneClassSVM

    machine = estimator._to_file()
    about, rule = json.loads(machine.parts()), json.loads(machine.parts())["decision"]["rule"]
    makes = {"sign": SVC, "votes": SVC, "values": SVR, "novelty": OneClassSVM}
    if rule not in makes or machine.stored().shape[1] > 1 and rule == "values":
        raise ValueError("scikit-learn has no such machine with vectors of its own: SVC has pairs of classes, SVR one target; use to_onnx or to_c")
    if about["kernel"]["name"] not in NAMES or about["scale"]:
        raise ValueError(f"scikit-learn's SVMs have the kernels {', '.join(NAMES.values())} and no scaling of their own; use to_onnx or to_c")
    if hasattr(estimator, "_table"):
        raise ValueError("scikit-learn's SVMs take numbers, but the estimator takes a table with text or missing values; use save, to_onnx or to_c")
    if rule == "votes":
        machine = _in_libsvm_layout(machine)
    return _filled(makes[rule], estimator, machine, about, rule)


def _in_libsvm_layout(machine: _core.Machine) -> _core.Machine:
    """One-vs-one machines as LIBSVM keeps them: every vector belongs to a class."""
    places = [str(place) for place in range(len(json.loads(machine.description())["labels"]))]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        # Its labels are whole numbers.
        machine.relabelled(places).save(path, "libsvm")
        return _core.Machine.load(path)


def _filled(make: Any, estimator: Any, machine: _core.Machine, about: dict[str, Any], rule: str) -> Any:
    kernel = about["kernel"]
    params = {"kernel": NAMES[kernel["name"]], **{name: kernel[name] for name in ("gamma", "degree", "coef0") if name in kernel}}
    params |= {name: getattr(estimator, name) for name in ("C", "nu", "epsilon", "decision_function_shape") if hasattr(estimator, name)}
    model = make(**{name: value for name, value in params.items() if name in make._get_param_names()})
    vectors, coefficients = array_of(machine.vectors()), machine.stored()
    vectors = vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors, dtype=np.float64)
    if vectors.shape[1] < estimator.n_features_in_:
        # LIBSVM's files end with the last feature that is not zero.
        vectors = np.pad(vectors, ((0, 0), (0, estimator.n_features_in_ - vectors.shape[1])))
    count = len(vectors)
    # Of machines with one output LIBSVM wants to know that there are two classes, not whose the vectors are.
    starts = json.loads(machine.parts())["starts"] or [0, count, count]
    dual, offsets = np.ascontiguousarray(coefficients.T), machine.offsets()
    # LIBSVM's own decision of two classes is above 0 for the first.
    sign = -1.0 if rule == "sign" else 1.0
    model.support_, model.support_vectors_ = np.arange(count, dtype=np.int32), np.ascontiguousarray(vectors)
    model._n_support = np.diff(starts).astype(np.int32)
    model.dual_coef_, model._dual_coef_ = dual, sign * dual
    model.intercept_, model._intercept_ = offsets, sign * offsets
    model._sparse, model.shape_fit_, model.fit_status_ = False, vectors.shape, 0
    model._probA, model._probB, model._num_iter = np.empty(0), np.empty(0), np.zeros(1, dtype=np.int32)
    model._gamma = kernel.get("gamma", 1.0)
    model.n_features_in_ = estimator.n_features_in_
    if hasattr(estimator, "feature_names_in_"):
        model.feature_names_in_ = estimator.feature_names_in_
    if rule in ("sign", "votes"):
        model.classes_, model.class_weight_ = estimator.classes_, np.ones(len(estimator.classes_))
    if rule == "novelty":
        model.offset_ = -model.intercept_
    return model
