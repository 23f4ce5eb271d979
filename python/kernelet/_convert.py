"""Fitted models of others as machines of the library. Only fitted attributes are read; nothing is trained."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._arrays import rows_of, unit_rows, values_of
from ._base import KernelMachine
from ._kernels import of_gaussian_process, of_pairwise
from ._labels import classes_of, label
from ._one_class import SparseOneClassSVM
from ._pca import SparseKernelPCA
from ._ridge import SparseKernelRidge
from ._svm import SparseSVC, SparseSVR
from ._tables import known as known_of


@dataclass
class Converted:
    """A machine, and the estimator of ours that holds such machines."""

    machine: _core.Machine
    make: type[KernelMachine]
    params: dict[str, Any] = field(default_factory=dict)
    # Fitted attributes that the machine does not have.
    known: dict[str, Any] = field(default_factory=dict)
    # Rows of kernel values with the training rows, where the kernel is a function.
    rows: Any = None
    # What is lost, in a sentence.
    note: str | None = None


def convert(model: Any) -> Converted:
    """The machine of a fitted model; a TypeError with a remedy where it has none."""
    if isinstance(model, (str, os.PathLike)):
        return of_machine(_core.Machine.load(model))
    if isinstance(model, _core.Machine):
        return of_machine(model)
    if isinstance(model, KernelMachine):
        return of_our_own(model)
    if type(model).__module__.startswith("libsvm") and type(model).__name__ == "svm_model":
        return of_libsvm(model)
    named = [kind.__name__ for kind in type(model).__mro__ if kind.__name__ in READERS and kind.__module__.startswith("sklearn.")]
    name = type(model).__name__
    if named and named[0] != name:
        raise TypeError(f"{name} is a class of its own above {named[0]} and may predict otherwise; give its parts as a {named[0]}")
    if not named:
        raise TypeError(
            f"compress takes {', '.join(name for name in READERS if not name.startswith('_'))}, GaussianProcessClassifier, pipelines that end in one, searches for one, "
            f"CalibratedClassifierCV, OneVsRest, OneVsOne, MultiOutput and TransformedTargetRegressor around one, kernelet's estimators and LIBSVM models, not {name}"
        )
    check_is_fitted(model)
    found = READERS[name](model)
    found.known = {**_names(model), **found.known}
    return found


def of_machine(machine: _core.Machine) -> Converted:
    """A machine as the estimator that holds such machines."""
    about = json.loads(machine.description())
    makes: dict[str, type[KernelMachine]] = {"novelty": SparseOneClassSVM, "features": SparseKernelPCA}
    makes |= dict.fromkeys(("sign", "votes", "largest", "codes"), SparseSVC)
    rule = about["decision"]["rule"]
    several = about["outputs"] > 1 or about["facts"].get("learner") in ("ridge", "rvm")
    if rule == "values":
        makes[rule] = SparseKernelRidge if several else SparseSVR
    if rule not in makes:
        raise ValueError(f"a model whose prediction is by the rule {rule!r} cannot be an estimator; use the command kernelet compress")
    known: dict[str, Any] = known_of(about)
    if makes[rule] is SparseSVC:
        known["classes_"] = classes_of(about["labels"])
    return Converted(machine, makes[rule], _kernel_params(about["kernel"]), known)


def of_our_own(model: KernelMachine) -> Converted:
    """An estimator of ours; its class and parameters are kept."""
    machine = model._fitted()
    known = {name: value for name, value in vars(model).items() if name in ("classes_", "_one_target", "chosen_", "n_features_in_", "feature_names_in_", "_table")}
    if "chosen_" in known:
        known["chosen_"] = []
    rows = None
    if hasattr(model, "_X_fit"):
        known |= {"_X_fit": model._X_fit, "_kernel_fit": model._kernel_fit}
        rows = values_of(model._kernel_fit, model._X_fit, model._X_fit)
    return Converted(machine, type(model), model.get_params(deep=False), known, rows)


def of_libsvm(model: Any) -> Converted:
    """A model of LIBSVM's own Python package, through LIBSVM's file."""
    from libsvm.svmutil import svm_save_model

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        svm_save_model(path, model)
        return of_machine(_core.Machine.load(path))


def _svm_parts(model: Any) -> tuple[dict[str, Any], Any, Any]:
    """The kernel, the vectors and the coefficients of LIBSVM inside scikit-learn."""
    coefficients = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    coefficients = np.ascontiguousarray(coefficients.T, dtype=np.float64)
    if callable(model.kernel) or model.kernel == "precomputed":
        return {"name": "precomputed"}, unit_rows(model.support_, model.shape_fit_[0]), coefficients
    kernel = of_pairwise(model.kernel, model._gamma, model.degree, model.coef0)
    vectors = model.support_vectors_
    return kernel, rows_of(sp.csr_matrix(vectors) if sp.issparse(vectors) else np.ascontiguousarray(vectors, dtype=np.float64)), coefficients


def _svm(model: Any, make: type[KernelMachine], decision: dict[str, Any], facts: dict[str, Any], **params: Any) -> Converted:
    kernel, vectors, coefficients = _svm_parts(model)
    about: dict[str, Any] = {"kernel": kernel, "decision": decision, "facts": facts}
    if decision["rule"] == "votes":
        about["starts"] = [0, *np.cumsum(model.n_support_).tolist()]
    machine = _core.Machine.of_parts(json.dumps(about), vectors, coefficients, model.intercept_.astype(np.float64).tolist())
    params = {**_kernel_params(kernel), **params}
    known: dict[str, Any] = {}
    rows = None
    if callable(model.kernel):
        fitted = getattr(model, "_BaseLibSVM__Xfit", None)
        if fitted is None:
            raise ValueError("the rows this model was trained on are not in it, so that its kernel function cannot be called; train it again")
        params["kernel"] = model.kernel
        known |= {"_X_fit": fitted, "_kernel_fit": model.kernel, "n_features_in_": fitted.shape[1]}
        rows = values_of(model.kernel, fitted, fitted)
    return Converted(machine, make, params, known, rows)


def of_svc(model: Any) -> Converted:
    """``SVC`` and ``NuSVC``."""
    labels = [label(c) for c in model.classes_.tolist()]
    two = len(labels) == 2
    decision = {"rule": "sign", "negative": labels[0], "positive": labels[1]} if two else {"rule": "votes", "labels": labels}
    cost = getattr(model, "C", None) if type(model).__name__ != "NuSVC" else None
    facts = {"learner": "svc" if cost else "nu-svc", "c": cost, "nu": getattr(model, "nu", None) if cost is None else None}
    params = {"decision_function_shape": model.decision_function_shape, **({"C": cost} if cost else {})}
    found = _svm(model, SparseSVC, decision, facts, **params)
    found.known["classes_"] = model.classes_
    if getattr(model, "probability", False) is True:
        found.note = "the probabilities of the model belong to its own outputs and are left out; use CalibratedClassifierCV around the smaller machine"
    return found


def of_svr(model: Any) -> Converted:
    """``SVR`` and ``NuSVR``."""
    facts = {"learner": "svr", "c": float(model.C), "epsilon": getattr(model, "epsilon", None)}
    found = _svm(model, SparseSVR, {"rule": "values"}, facts, C=model.C)
    found.known["_one_target"] = True
    return found


def of_one_class(model: Any) -> Converted:
    """``OneClassSVM``."""
    return _svm(model, SparseOneClassSVM, {"rule": "novelty"}, {"learner": "one-class", "nu": float(model.nu)}, nu=model.nu)


def _on_rows(model: Any, X: Any, kernel: dict[str, Any], coefficients: Any, offsets: Any, make: Any, decision: dict[str, Any], scale: Any = None) -> Converted:
    """A machine on all training rows."""
    given = kernel["name"] == "precomputed"
    vectors = unit_rows(np.arange(X.shape[0]), X.shape[0]) if given else rows_of(X if sp.issparse(X) else np.ascontiguousarray(X, dtype=np.float64))
    about = {"kernel": kernel, "decision": decision, "scale": scale}
    machine = _core.Machine.of_parts(json.dumps(about), vectors, np.ascontiguousarray(coefficients, dtype=np.float64), np.asarray(offsets, dtype=np.float64).tolist())
    return Converted(machine, make, _kernel_params(kernel))


def of_kernel_ridge(model: Any) -> Converted:
    """``KernelRidge``."""
    X, dual = model.X_fit_, np.asarray(model.dual_coef_)
    kernel = of_pairwise(model.kernel, model.gamma, model.degree, model.coef0, X.shape[1], model.kernel_params)
    coefficients = dual.reshape(len(dual), -1)
    found = _on_rows(model, X, kernel, coefficients, np.zeros(coefficients.shape[1]), SparseKernelRidge, {"rule": "values"})
    found.known["_one_target"] = dual.ndim == 1
    found.params["alpha"] = model.alpha if np.ndim(model.alpha) == 0 else 1.0
    return found


def _process(model: Any, coefficients: Any, offsets: Any, make: Any, decision: dict[str, Any]) -> Converted:
    """The mean of a Gaussian process with these coefficients of its training rows."""
    kernel, factor, lengths = of_gaussian_process(model.kernel_)
    X = np.asarray(model.X_train_, dtype=np.float64)
    scale = None
    if lengths is not None:
        scale = {"shift": None, "factor": (1.0 / np.broadcast_to(lengths, X.shape[1])).tolist()}
        X = X / lengths
    return _on_rows(model, X, kernel, factor * coefficients, offsets, make, decision, scale)


def of_binary_process(model: Any) -> Converted:
    """The latent mean of a Gaussian process classifier of two classes, in Laplace's approximation; its sign is what the model predicts."""
    labels = [label(c) for c in model.classes_.tolist()]
    decision = {"rule": "sign", "negative": labels[0], "positive": labels[1]}
    found = _process(model, (model.y_train_ - model.pi_).reshape(-1, 1), [0.0], SparseSVC, decision)
    found.known["classes_"] = model.classes_
    found.note = "the latent mean of the process is kept, whose sign are the labels; probabilities need its variance and are left out"
    return found


def of_gaussian_process_regressor(model: Any) -> Converted:
    """The mean of a ``GaussianProcessRegressor``."""
    alpha = np.asarray(model.alpha_)
    several = alpha.reshape(len(alpha), -1)
    std, mean = (np.broadcast_to(np.atleast_1d(v), several.shape[1]) for v in (model._y_train_std, model._y_train_mean))
    found = _process(model, several * std, mean, SparseKernelRidge, {"rule": "values"})
    found.known["_one_target"] = alpha.ndim == 1
    found.note = "the mean of the process is kept; its standard deviations are left out"
    return found


def of_kernel_pca(model: Any) -> Converted:
    """``KernelPCA``: centring is a part of the coefficients and offsets."""
    X, gamma = model.X_fit_, getattr(model, "gamma_", model.gamma)
    kernel = of_pairwise(model.kernel, gamma, model.degree, model.coef0, X.shape[1], model.kernel_params)
    values, vectors = np.asarray(model.eigenvalues_), np.asarray(model.eigenvectors_)
    axes = np.zeros_like(vectors)
    axes[:, values > 0] = vectors[:, values > 0] / np.sqrt(values[values > 0])
    sums, centring = axes.sum(axis=0), model._centerer
    offsets = centring.K_fit_all_ * sums - centring.K_fit_rows_ @ axes
    found = _on_rows(model, X, kernel, axes - sums / len(axes), offsets, SparseKernelPCA, {"rule": "features"})
    found.params["n_components"] = vectors.shape[1]
    return found


READERS = {
    "SVC": of_svc,
    "NuSVC": of_svc,
    "SVR": of_svr,
    "NuSVR": of_svr,
    "OneClassSVM": of_one_class,
    "KernelRidge": of_kernel_ridge,
    "GaussianProcessRegressor": of_gaussian_process_regressor,
    "KernelPCA": of_kernel_pca,
    "_BinaryGaussianProcessClassifierLaplace": of_binary_process,
}


def _kernel_params(kernel: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator that stand for a kernel."""
    params = {"kernel": kernel["name"]}
    # The exponent of an inverse multiquadric is no parameter of an estimator, but a setting of training.
    options = {"options": {"exponent": kernel["exponent"]}} if kernel.get("exponent", -0.5) != -0.5 else {}
    return params | {name: kernel[name] for name in ("gamma", "degree", "coef0") if name in kernel} | options


def _names(model: Any) -> dict[str, Any]:
    names = ("n_features_in_", "feature_names_in_")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}
