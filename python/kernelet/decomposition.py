"""scikit-learn's ``KernelPCA`` by the same name and with the same signature; see ``docs/replace-svc.md``."""

from __future__ import annotations

from ._drop_in import DropIn, described_as_there
from ._kernels import check_kernel_params
from ._pca import SparseKernelPCA

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
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        tol=0,
        max_iter=None,
        iterated_power="auto",
        remove_zero_eig=False,
        random_state=None,
        copy_X=True,
        n_jobs=None,
        n_vectors=None,
        method="auto",
        options=None,
        verbose=0,
    ):
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

    def fit(self, X, y=None):
        """Finds the components; see :meth:`kernelet.SparseKernelPCA.fit`."""
        check_kernel_params(self.kernel_params)
        if self.tol not in (0, None):
            raise ValueError(f"tol is {self.tol!r}, but must be 0; options={{'tolerance': ..}} is the tolerance of the solver here")
        return super().fit(X, y)

    def _components(self, rows: int):
        return {"components": rows if self.n_components is None else self.n_components}

    @property
    def eigenvalues_(self):
        """The eigenvalues of the centred kernel matrix: the variances times the number of rows, largest first."""
        return self.explained_variance_ * self._n_rows

    @property
    def X_fit_(self):
        """The expansion vectors; the training rows with ``n_vectors=None``."""
        return self.vectors_
