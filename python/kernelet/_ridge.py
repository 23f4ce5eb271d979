"""Kernel ridge regression with few vectors."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin

from ._base import KernelMachine
from ._docs import described
from ._numbers import Numbers
from ._passes import Blocks
from ._stream import StreamedNumbers
from ._types import KernelLike, RandomState, Self


@described()
class SparseKernelRidge(RegressorMixin, StreamedNumbers, Blocks, Numbers, KernelMachine):
    """Kernel ridge regression with a chosen number of expansion vectors, for one target or several.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty of large coefficients; ``--lambda`` of the command line.
    {kernel}
    {budget}
    deviation : bool, default=False
        Also learn the standard deviations that ``predict(X, return_std=True)`` returns, by cross-validation, which takes five more fits.
    {metric}
    {tune}
    device : str or None, default=None
        Where sums over rows are computed: ``'cpu'``, ``'cuda'`` or ``'cuda:N'``, an NVIDIA card, for direct training with the gaussian kernel and for prediction, then in
        single precision. None is the processor. Arrays that lie on the card are predicted there.
    {common}

    Attributes
    ----------
    {tuning}
    {learned}
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from kernelet import SparseKernelRidge
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> Y = np.c_[np.sin(X[:, 0]), np.cos(X[:, 0])]
    >>> model = SparseKernelRidge(n_vectors=10, alpha=1e-3, random_state=0).fit(X, Y)
    >>> model.predict(X[:3]).shape
    (3, 2)
    """

    _learner = "ridge"
    _settings = {"alpha": "lambda"}
    _several_targets = True

    def _usual_gamma(self) -> str:
        return "auto"

    def __init__(
        self,
        n_vectors: int | None = 100,
        *,
        alpha: float = 1.0,
        kernel: KernelLike = "gaussian",
        gamma: float | str | None = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        method: str = "auto",
        deviation: bool = False,
        ard: bool = False,
        projection: int | None = None,
        tune: bool = False,
        device: str | None = None,
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_vectors = n_vectors
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.deviation = deviation
        self.ard = ard
        self.projection = projection
        self.tune = tune
        self.device = device
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trains the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            How much the rows count.

        Returns
        -------
        self : SparseKernelRidge
            The fitted estimator.
        """
        return self._fit_numbers(X, y, sample_weight)
