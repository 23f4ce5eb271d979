"""Kernel regression with Huber's loss and few vectors."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin

from ._base import KernelMachine
from ._docs import described
from ._numbers import Numbers
from ._types import KernelLike, RandomState, Self


@described()
class SparseHuberRegressor(RegressorMixin, Numbers, KernelMachine):
    """Kernel regression with Huber's loss and a chosen number of expansion vectors, for one target or several.

    Residuals up to ``epsilon`` are squared and larger ones count linearly, so that outliers among the targets hardly move the machine. It is to
    ``SparseKernelRidge`` what scikit-learn's ``HuberRegressor`` is to ``Ridge``, but ``epsilon`` is in the unit of the target: no scale of the residuals is estimated.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error.
    epsilon : float, default=1.0
        Residuals up to this are squared, larger ones count linearly; in the unit of the target.
    {kernel}
    {budget}
    deviation : bool, default=False
        Also learn the standard deviations that ``predict(X, return_std=True)`` returns, by cross-validation, which takes five more fits.
    {metric}
    {tune}
    {common}

    Attributes
    ----------
    {tuning}
    {learned}
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from kernelet import SparseHuberRegressor, SparseKernelRidge
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> y = np.sinc(X[:, 0])
    >>> spoiled = y + 20.0 * (np.arange(200) % 10 == 0)
    >>> huber = SparseHuberRegressor(n_vectors=15, C=100, epsilon=0.05, gamma=1.0, random_state=0).fit(X, spoiled)
    >>> ridge = SparseKernelRidge(n_vectors=15, alpha=0.01, gamma=1.0, random_state=0).fit(X, spoiled)
    >>> huber.score(X, y) > 0.9 > ridge.score(X, y)
    True
    """

    _learner = "huber"
    _settings = {"C": "c", "epsilon": "epsilon"}
    _several_targets = True

    def __init__(
        self,
        n_vectors: int | None = 100,
        *,
        C: float = 1.0,
        epsilon: float = 1.0,
        kernel: KernelLike = "gaussian",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        method: str = "auto",
        deviation: bool = False,
        ard: bool = False,
        projection: int | None = None,
        tune: bool = False,
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_vectors = n_vectors
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.deviation = deviation
        self.ard = ard
        self.projection = projection
        self.tune = tune
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
            Factors of C for the rows.

        Returns
        -------
        self : SparseHuberRegressor
            The fitted estimator.
        """
        return self._fit_numbers(X, y, sample_weight)
