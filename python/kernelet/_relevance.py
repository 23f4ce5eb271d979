"""Relevance vector machines: the evidence chooses the vectors."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from ._base import KernelMachine
from ._docs import described
from ._labels import Labels, Probabilities
from ._numbers import Numbers
from ._types import KernelLike, RandomState, Self


@described()
class RVC(ClassifierMixin, Probabilities, Labels, KernelMachine):
    """Relevance vector classification with probabilities; the evidence chooses how many vectors there are.

    Parameters
    ----------
    {kernel}
    tol : float, default=1e-3
        Training stops when the evidence rises by less.
    cache_size : int, default=1024
        Megabytes for kernel values.
    {tune}
    {common}

    Attributes
    ----------
    {tuning}
    classes_ : ndarray of shape (n_classes,)
        The classes.
    {fitted}

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from kernelet import RVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = RVC(gamma=1.0).fit(X, y)
    >>> model.n_vectors_ < 50
    True
    """

    _learner = "rvm"
    _settings = {"tol": "tolerance", "cache_size": "cache"}

    def __init__(
        self,
        *,
        kernel: KernelLike = "gaussian",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 1024,
        tune: bool = False,
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
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
        y : array-like of shape (n_samples,)
            Their classes: numbers or text.
        sample_weight : array-like of shape (n_samples,), default=None
            How much the rows count.

        Returns
        -------
        self : RVC
            The fitted estimator.
        """
        return self._fit_classes(X, y, sample_weight)


@described()
class RVR(RegressorMixin, Numbers, KernelMachine):
    """Relevance vector regression with deviations; the evidence chooses how many vectors there are.

    Parameters
    ----------
    {kernel}
    tol : float, default=1e-3
        Training stops when the evidence rises by less.
    cache_size : int, default=1024
        Megabytes for kernel values.
    {tune}
    {common}

    Attributes
    ----------
    {tuning}
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from kernelet import RVR
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> mean, deviation = RVR(gamma=1.0).fit(X, np.sinc(X[:, 0])).predict(X, return_std=True)
    >>> mean.shape, deviation.shape
    ((100,), (100,))
    """

    _learner = "rvm"
    _settings = {"tol": "tolerance", "cache_size": "cache"}
    _several_targets = True

    def __init__(
        self,
        *,
        kernel: KernelLike = "gaussian",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 1024,
        tune: bool = False,
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
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
            Their numbers; each target has a machine of its own.
        sample_weight : array-like of shape (n_samples,), default=None
            How much the rows count.

        Returns
        -------
        self : RVR
            The fitted estimator.
        """
        return self._fit_numbers(X, y, sample_weight)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The predicted number of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        return_std : bool, default=False
            Also the standard deviations of the predictions.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The predictions.
        deviations : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Only with ``return_std``.
        """
        mean = super().predict(X)
        if not return_std:
            return mean
        deviations = self._fitted().deviations(self._checked(X))
        return mean, deviations[:, 0] if self._one_target else deviations
