"""One line from a fitted model to a small one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from . import _core
from ._arrays import ACCEPTED, array_of, on_few_rows, rows_of, sound
from ._base import KernelMachine
from ._cascade import Cascade
from ._convert import Converted, convert
from ._goals import GoalWarning
from ._labels import Labels
from ._path import Path
from ._request import options_of, request, watched
from ._tables import encoded
from ._tables import known as known_of
from ._warnings import warn
from ._wrappers import of_wrapper


def compress(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    n_vectors: int | None = None,
    fraction: float | None = None,
    max_residual: float | None = None,
    max_loss: float | str | None = None,
    min_agreement: float | None = None,
    max_bytes: int | None = None,
    confidence: float | None = None,
    rows: str | None = None,
    time: float | None = None,
    cascade: bool = False,
    max_disagreement: float | None = None,
    X_calibrate: Any = None,
    by_class: bool = False,
    abstain: bool = False,
    metric: str | None = None,
    method: str = "auto",
    refit: str | None = None,
    refine: str | bool | None = None,
    options: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> Any:
    """A fitted kernel machine with fewer expansion vectors and nearly the same predictions.

    Parameters
    ----------
    model : fitted estimator, path or Machine
        ``SVC``, ``NuSVC``, ``SVR``, ``NuSVR``, ``OneClassSVM``, ``KernelRidge``, ``GaussianProcessRegressor`` (its mean), ``GaussianProcessClassifier`` (the sign of
        its latent mean), ``KernelPCA``; an estimator of this package; a LIBSVM or kernelet model file, or a model of ``libsvm.svmutil``. Around one of them: a
        ``Pipeline`` with any steps before it; ``GridSearchCV`` and other searches (the best estimator); ``CalibratedClassifierCV``, whose probabilities for X
        are kept; ``OneVsRestClassifier``, ``OneVsOneClassifier``, ``MultiOutputClassifier``, ``MultiOutputRegressor``, ``TransformedTargetRegressor``, each of whose
        models becomes small by itself: sizes and goals are those of each. A model is read, never trained again.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows the model was trained on, or like them. Without them only the model is used.
    y : array-like of shape (n_samples,), default=None
        Their targets, for errors and for refits that use them.
    n_vectors, fraction, max_residual, max_loss, min_agreement, max_bytes : number, default=None
        How small, or how good: the flags of ``kernelet compress`` of these names. The result is the smallest machine that meets all
        requested quality bounds, within the bounds on its size; without bounds, the knee of the curve is used. ``max_loss="1%"`` is 1 % of the rows, of numbers
        1 % of their variance: R2 falls by 0.01 at most.
    confidence : float, default=None
        The probability with which ``max_loss`` and ``min_agreement`` hold on new rows; None is 0.95. They are certified on rows of X that the model was not
        trained on; with training rows alone the loss is only estimated. See ``validation_``.
    rows : {'auto', 'fresh', 'training'}, default=None
        Where the rows of X come from; None and 'auto' recognise the training rows of the model.
    time : float, default=None
        Seconds after which the best machine so far is the result, which then depends on the machine it runs on; None is no limit.
    cascade : bool, default=False
        Make a :class:`Cascade` instead: small machines before the full one, with the promise that at most ``max_disagreement`` of new rows are answered
        otherwise than by the full machine.
    max_disagreement : float, default=None
        The fraction of new rows whose class may differ, such as 0.001, with ``confidence``.
    X_calibrate : {array-like, sparse matrix} of shape (n_calibrate, n_features), default=None
        Rows that the model was not trained on and that are not in X, by which a cascade is calibrated; they need no targets.
    by_class, abstain : bool, default=False
        Promise the rows of each class; leave the full machine out and answer ``'?'`` where it would be needed.
    metric : str, default=None
        The metric whose increase ``max_loss`` bounds.
    method : str, default='auto'
        How vectors are found; 'auto' tries several strategies and keeps the best on validation rows of X. See ``kernelet compress --help``.
    refit : {'projection', 'outputs', 'margin', 'rsvm', 'rsvm-squared', 'none'}, default=None
        Coefficients of the vectors found.
    refine : bool or {'weights', 'outputs', 'margins'}, default=None
        Optimise all vectors jointly afterwards.
    options : dict, default=None
        Further flags of ``kernelet compress`` by name: ``{"effort": "quick"}``, ``{"labels": True}`` to learn from y too, ``{"ard": True}`` to learn feature scales too, ``{"path": True}`` for the
        size path, ``{"layout": "pairs"}`` to keep the pairs of a one-vs-one machine.
    n_jobs : int, default=None
        Threads; None is 1, -1 all.
    random_state : int, RandomState instance or None, default=0
        Seed of what is drawn.
    verbose : int, default=0
        Above 0 shows progress on standard error.

    Returns
    -------
    small : estimator
        An estimator of this package of the same kind, with ``path_``, ``agreement_``, ``report_``, ``validation_`` and :meth:`at`; the model
        with such estimators inside where it holds others. ``validation_`` is None, or a dict of what holds on new rows: ``loss`` with its bounds ``lower`` and ``upper``,
        ``rows``, ``kind`` ('fresh' rows give a promise, 'training' rows an estimate), ``confidence``. ``report_["goals_met"]`` is True, False or 'unknown'.

    Warns
    -----
    GoalWarning
        Where a goal is not met, or not known to be met.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> import kernelet
    >>> X, y = load_digits(return_X_y=True)
    >>> svc = SVC(C=10).fit(X[:1000], y[:1000])
    >>> small = kernelet.compress(svc, X[:1000], y[:1000], fraction=0.25)
    >>> small.n_vectors_ < 0.26 * len(svc.support_)
    True
    >>> bool(small.agreement_ > 0.97)
    True
    """
    asked: dict[str, Any] = {"vectors": n_vectors, "fraction": fraction, "max-residual": max_residual, "max-loss": max_loss, "min-agreement": min_agreement}
    asked |= {"max-bytes": max_bytes, "metric": metric, "refit": refit, "refine": refine, "method": method, "seed": _seed(random_state), "confidence": confidence, "rows": rows, "time": time}
    asked |= {"cascade": cascade, "max-disagreement": max_disagreement, "by-class": by_class, "abstain": abstain}
    # Methods by name have every size for little; auto would try several strategies at each.
    asked |= {"path": method != "auto"} | options_of(options)
    if X_calibrate is not None and not cascade:
        raise ValueError("X_calibrate is for cascade=True; rows that certify max_loss and min_agreement are given as X")
    if n_vectors is not None and (isinstance(n_vectors, bool) or not isinstance(n_vectors, (int, np.integer))):
        raise TypeError(f"n_vectors must be an integer or None, not {n_vectors!r}")
    if X is not None and y is not None:
        check_consistent_length(X, y)
    work = _Work(asked, effective_n_jobs(n_jobs), verbose, X_calibrate)
    return work.smaller(model, X, y)


class _Work:
    """What is asked for, to be done with a model or a model inside another."""

    def __init__(self, asked: dict[str, Any], threads: int, verbose: int, calibrate: Any = None) -> None:
        self.asked, self.threads, self.verbose, self.calibrate = asked, threads, verbose, calibrate

    def smaller(self, model: Any, X: Any, y: Any) -> Any:
        if isinstance(model, Pipeline) and self.calibrate is not None and len(model.steps) > 1:
            check_is_fitted(model)
            self.calibrate = model[:-1].transform(self.calibrate)
        around = of_wrapper(model, X, y, self.smaller)
        return self.one(convert(model), X, y) if around is None else around

    def cascade(self, found: Converted, about: dict[str, Any], rows: Any, codes: Any) -> Cascade:
        """Small machines before the model."""
        if rows is None or self.calibrate is None:
            raise ValueError("a cascade needs X, rows to make small machines from, and X_calibrate, rows that the model was not trained on")
        if "classes_" not in found.known:
            raise ValueError("a cascade is for classifiers")
        calibrate = rows_of(_rows(found, about, self.calibrate))
        arguments = (request(self.asked), found.machine, rows_of(rows), calibrate, codes, self.threads)
        made, notes = watched(_core.compress_cascade, *arguments, verbose=self.verbose, names={"data": "X", "calibrate": "X_calibrate"})
        for note in notes:
            warn(note)
        return Cascade()._keep(made, found.known["classes_"])

    def one(self, found: Converted, X: Any, y: Any) -> Any:
        about = json.loads(found.machine.description())
        rows = found.rows if X is None else _rows(found, about, X)
        codes, values = (None, None) if y is None else _target(found, about, rows, y)
        if found.note:
            warn(found.note)
        # Decisions of pairs need a machine that has them.
        pairs = found.params.get("decision_function_shape") == "ovo" and "layout" not in self.asked
        asked = self.asked | ({"layout": "pairs"} if pairs else {})
        if asked["cascade"]:
            return self.cascade(found, about, rows, codes)
        asked["max-loss"] = _loss(asked["max-loss"], values, asked["metric"])
        arguments = (request(asked), found.machine, None if rows is None else rows_of(rows), codes, values, self.threads)
        machine, path, report = watched(_core.compress, *arguments, verbose=self.verbose, names={"vectors": "n_vectors", "data": "X"})
        known = json.loads(report)
        if known.get("goals_met", True) is not True:
            warn(GoalWarning(known["goals_met"], known["missing"]))
        return _estimator(found, machine, path, known)


def _loss(goal: Any, values: Any, metric: str | None) -> Any:
    """The largest rise of the loss: a percentage is one of the rows, or of the variance of numbers."""
    if not isinstance(goal, str):
        return goal
    try:
        if not goal.endswith("%"):
            raise ValueError
        part = float(goal[:-1]) / 100
    except ValueError:
        raise ValueError(f"max_loss is {goal!r}, but must be a number or a percentage such as '1%'") from None
    if values is None:
        return part
    if metric not in (None, "mse"):
        raise ValueError(f"max_loss is {goal!r}, a percentage of the variance, which goes with metric='mse'; give a number with metric={metric!r}")
    variance = float(np.var(values, axis=0).mean())
    if variance == 0.0:
        raise ValueError("max_loss is a percentage of the variance of y, which is 0; give a number")
    return part * variance


def _rows(found: Converted, about: dict[str, Any], X: Any) -> Any:
    """The rows as the machine takes them."""
    if "_table" in found.known:
        X = encoded(found.known["_table"], X)
    names, given = found.known.get("feature_names_in_"), getattr(X, "columns", None)
    X = sound(check_array(X, **ACCEPTED))
    kept = found.known.get("_X_fit")
    dim = about["dim"] if kept is None else kept.shape[1]
    if X.shape[1] != dim:
        raise ValueError(f"X has {X.shape[1]} features, but the model was trained on {dim}: give the rows it was trained on, or like them")
    if names is not None and given is not None and list(names) != list(given):
        raise ValueError("the columns of X are not those that the model was trained on, in their order")
    if kept is None:
        return X
    if X.shape[0] != kept.shape[0] or abs(X - kept).max() > 0:
        raise ValueError(f"the kernel is a function, so that X must be the {kept.shape[0]} rows that the model holds, in their order; leave X and y out")
    return found.rows


def _estimator(found: Converted, machine: _core.Machine, path: _core.Path, report: dict[str, Any]) -> KernelMachine:
    """The estimator of ours that holds the smaller machine."""
    known_params = found.make._get_param_names()
    params = {name: value for name, value in found.params.items() if name in known_params}
    if "n_vectors" in known_params:
        params["n_vectors"] = report["vectors"]
    small = found.make(**params)
    about = json.loads(machine.description())
    for name, value in {**known_of(about), **found.known}.items():
        setattr(small, name, value)
    figures = report.pop("path")
    at: Callable[[int], _core.Machine] = path.at
    if "_X_fit" in found.known:
        kept = array_of(machine.vectors()).indices
        small._X_fit = found.known["_X_fit"][kept]
        machine = on_few_rows(machine, kept)
        at = lambda n_vectors: on_few_rows(path.at(n_vectors), kept)  # noqa: E731
    small._set_machine(machine)
    small.path_ = Path(figures, at, machine)
    small.agreement_, small.report_, small.validation_ = figures[-1].get("agreement"), report, report.get("validation")
    return small


def _target(found: Converted, about: dict[str, Any], rows: Any, y: Any) -> tuple[Any, Any]:
    """The target as places among the classes, or as numbers."""
    if rows is None:
        raise ValueError("y has the targets of rows; give their X too")
    check_consistent_length(rows, y)
    if issubclass(found.make, Labels):
        places = {label: place for place, label in enumerate(found.known["classes_"].tolist())}
        labels = column_or_1d(y, warn=True).tolist()
        strange = [label for label in labels if label not in places]
        if strange:
            raise ValueError(f"y has the class {strange[0]}, which the model does not know; it knows {list(places)}")
        return np.array([places[label] for label in labels], dtype=np.uint32), None
    if about["decision"]["rule"] != "values":
        return None, None
    values = check_array(y, dtype=np.float64, order="C", ensure_2d=False, input_name="y")
    values = values.reshape(len(values), -1)
    if values.shape[1] != about["outputs"]:
        raise ValueError(f"y has {values.shape[1]} targets, but the model predicts {about['outputs']}")
    return None, values


def _seed(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
