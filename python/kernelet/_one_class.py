"""One-class support vector machines with few vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from . import _core
from ._base import KernelMachine
from ._docs import described
from ._support import Support
from ._types import KernelLike, RandomState, Self


@described()
class SparseOneClassSVM(OutlierMixin, Support, KernelMachine):
    """What is like the training rows and what is not, with a chosen number of expansion vectors.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the fraction of training rows outside, above 0 and at most 1.
    {kernel}
    {budget}
    tol : float, default=1e-3
        Training stops when the optimality conditions hold up to this.
    {solver}
    cache_size : int, default=200
        Megabytes for kernel values.
    {metric}
    {common}

    Attributes
    ----------
    offset_ : float
        ``decision_function = score_samples - offset_``.
    {support}
    {learned}
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from kernelet import SparseOneClassSVM
    >>> rows = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = SparseOneClassSVM(n_vectors=20, nu=0.1, random_state=0).fit(rows)
    >>> model.predict([[1.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    _learner = "one-class"

    def __init__(
        self,
        n_vectors: int | None = 100,
        *,
        nu: float = 0.5,
        kernel: KernelLike = "gaussian",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        method: str = "auto",
        tol: float = 1e-3,
        shrinking: bool = True,
        max_iter: int = -1,
        cache_size: float = 200,
        ard: bool = False,
        projection: int | None = None,
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_vectors = n_vectors
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.tol = tol
        self.shrinking = shrinking
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.ard = ard
        self.projection = projection
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _settings = {"nu": "nu", "tol": "tolerance", "cache_size": "cache"}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Trains the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            How much the rows count.

        Returns
        -------
        self : SparseOneClassSVM
            The fitted estimator.
        """
        X, _ = self._begin(X)
        self._keep(*self._learn(self._request(), X, weights=self._weights(sample_weight, X)))
        self._learned_support(X.shape)
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Above 0 for rows that are like the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            The signed distance from the border.
        """
        return self._outputs(X)[:, 0]

    def score_samples(self, X: Any) -> NDArray[Any]:
        """The decision without its offset.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores.
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> NDArray[Any]:
        """1 for rows that are like the training rows, -1 for others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            1 or -1.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _loaded(self, about) -> None:
        if about["decision"]["rule"] != "novelty":
            raise ValueError("SparseOneClassSVM holds one-class machines, but this model is another")

    def _set_machine(self, machine: _core.Machine) -> None:
        super()._set_machine(machine)
        self.offset_: Any = -float(machine.offsets()[0])
