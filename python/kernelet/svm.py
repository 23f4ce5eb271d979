"""scikit-learn's support vector machines by the same names and with the same signatures; see ``docs/replace-svc.md``.

``from kernelet.svm import SVC`` in place of ``from sklearn.svm import SVC`` trains the same machine, and ``n_vectors`` limits its size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from . import _core
from ._base import KernelMachine
from ._drop_in import DropIn, described_as_there
from ._labels import Decisions, ProbabilitiesOnRequest
from ._numbers import Numbers
from ._one_class import SparseOneClassSVM
from ._support import Support
from ._svm import SparseSVC, SparseSVR
from ._types import KernelLike, RandomState, Self

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]


@described_as_there
class SVC(DropIn, SparseSVC):
    """Support vector classification; in place of ``sklearn.svm.SVC``."""

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | str = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: RandomState = None,
        n_vectors: int | None = None,
        method: str = "auto",
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.n_vectors = n_vectors
        self.method = method
        self.options = options
        self.n_jobs = n_jobs


@described_as_there
class NuSVC(ClassifierMixin, DropIn, Support, ProbabilitiesOnRequest, Decisions, KernelMachine):
    """Support vector classification with nu in place of C; in place of ``sklearn.svm.NuSVC``.

    ``class_weight`` multiplies the weights of the rows; scikit-learn's ``NuSVC`` takes it and does not use it.
    """

    _learner = "nu-svc"
    _settings = {"nu": "nu", "tol": "tolerance", "cache_size": "cache"}
    _weights_by_row = True

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | str = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: RandomState = None,
        n_vectors: int | None = None,
        method: str = "auto",
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.n_vectors = n_vectors
        self.method = method
        self.options = options
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trains the machine; see :meth:`kernelet.SparseSVC.fit`."""
        return self._fit_classes(X, y, sample_weight)


@described_as_there
class SVR(DropIn, SparseSVR):
    """Support vector regression; in place of ``sklearn.svm.SVR``."""

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: int = False,
        max_iter: int = -1,
        n_vectors: int | None = None,
        method: str = "auto",
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_vectors = n_vectors
        self.method = method
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state


@described_as_there
class NuSVR(RegressorMixin, DropIn, Support, Numbers, KernelMachine):
    """Support vector regression with nu in place of epsilon; in place of ``sklearn.svm.NuSVR``."""

    _learner = "nu-svr"
    _settings = {"C": "c", "nu": "nu", "tol": "tolerance", "cache_size": "cache"}

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: int = False,
        max_iter: int = -1,
        n_vectors: int | None = None,
        method: str = "auto",
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_vectors = n_vectors
        self.method = method
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trains the machine; see :meth:`kernelet.SparseSVR.fit`."""
        return self._fit_numbers(X, y, sample_weight)


@described_as_there
class OneClassSVM(DropIn, SparseOneClassSVM):
    """Novelty detection; in place of ``sklearn.svm.OneClassSVM``."""

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: int = False,
        max_iter: int = -1,
        n_vectors: int | None = None,
        method: str = "auto",
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_vectors = n_vectors
        self.method = method
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _set_machine(self, machine: _core.Machine) -> None:
        super()._set_machine(machine)
        self.offset_ = np.array([self.offset_])
