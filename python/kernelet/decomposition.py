"""scikit-learn's ``KernelPCA`` by the same name and with the same signature; see ``docs/replace-svc.md``."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ._drop_in import DropIn, described_as_there
from ._kernels import check_kernel_params
from ._pca import SparseKernelPCA
from ._types import KernelLike, RandomState, Self

__all__ = ["KernelPCA"]


@described_as_there
class KernelPCA(DropIn, SparseKernelPCA):
    """Kernel principal components; in place of ``sklearn.decomposition.KernelPCA``.

    ``n_components=None`` keeps all components that have variance. ``eigen_solver``, ``max_iter``, ``iterated_power``, ``remove_zero_eig`` and ``copy_X`` choose
    how scikit-learn computes; here they have no effect on the result. ``alpha`` is the ridge of scikit-learn's inverse; here pre-images are fixed points
    and need none.
    """

    def __init__(
        self,
        n_components: float | None = None,
        *,
        kernel: KernelLike = "linear",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool = False,
        random_state: RandomState = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        n_vectors: int | None = None,
        method: str = "auto",
        options: dict[str, Any] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.n_vectors = n_vectors
        self.method = method
        self.options = options
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Finds the components; see :meth:`kernelet.SparseKernelPCA.fit`."""
        check_kernel_params(self.kernel_params)
        if self.tol not in (0, None):
            raise ValueError(f"tol is {self.tol!r}, but must be 0; options={{'tolerance': ..}} is the tolerance of the solver here")
        return super().fit(X, y)

    def _components(self, rows: int):
        return {"components": rows if self.n_components is None else self.n_components}

    @property
    def eigenvalues_(self) -> NDArray[Any]:
        """The eigenvalues of the centred kernel matrix: the variances times the number of rows, largest first."""
        return self.explained_variance_ * self._n_rows

    @property
    def X_fit_(self) -> Any:
        """The expansion vectors; the training rows with ``n_vectors=None``."""
        return self.vectors_
