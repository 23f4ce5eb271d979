"""scikit-learn's ``KernelRidge`` by the same name and with the same signature; see ``docs/replace-svc.md``."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ._drop_in import DropIn, described_as_there
from ._kernels import check_kernel_params
from ._ridge import SparseKernelRidge
from ._types import KernelLike, RandomState, Self

__all__ = ["KernelRidge"]


@described_as_there
class KernelRidge(DropIn, SparseKernelRidge):
    """Kernel ridge regression; in place of ``sklearn.kernel_ridge.KernelRidge``; it has no offset either."""

    def __init__(
        self,
        alpha: float = 1,
        *,
        kernel: KernelLike = "linear",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_vectors: int | None = None,
        method: str = "auto",
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_vectors = n_vectors
        self.method = method
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trains the machine; see :meth:`kernelet.SparseKernelRidge.fit`."""
        check_kernel_params(self.kernel_params)
        return super().fit(X, y, sample_weight)

    @property
    def dual_coef_(self) -> NDArray[Any]:
        """The coefficients of the vectors, (m,) or (m, n_targets)."""
        return self.coefficients_[:, 0] if self._one_target else self.coefficients_

    @property
    def X_fit_(self) -> Any:
        """The expansion vectors; the training rows with ``n_vectors=None``."""
        return self.vectors_
