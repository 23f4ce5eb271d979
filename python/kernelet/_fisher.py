"""Kernel Fisher discriminants with few vectors."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin

from ._base import KernelMachine
from ._docs import described
from ._labels import Labels, Probabilities
from ._types import KernelLike, RandomState, Self


@described("the learner's own by its name, ``'fisher-pursuit'`` greedily by the classes")
class SparseKernelFisher(ClassifierMixin, Probabilities, Labels, KernelMachine):
    """Kernel Fisher discriminant with a chosen number of expansion vectors, with probabilities.

    Parameters
    ----------
    alpha : float or None, default=None
        Penalty; None is 1e-3 for a full machine or a basis, and the best in cross-validation where vectors and machine are found together.
    {kernel}
    {budget}
    penalty : {'weight', 'coefficients', 'none'} or None, default=None
        What ``alpha`` penalises; None is the weight.
    bias : {'midpoint', 'equal-mahalanobis', 'least-error', 'svm'} or None, default=None
        How the threshold is chosen; None is least-error.
    class_weight : dict, 'balanced' or None, default=None
        Factors of the scatter of the classes.
    {metric}
    {tune}
    {common}

    Attributes
    ----------
    {tuning}
    classes_ : ndarray of shape (n_classes,)
        The classes.
    {learned}
    {fitted}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelet import SparseKernelFisher
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseKernelFisher(n_vectors=10, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _learner = "fisher"

    def __init__(
        self,
        n_vectors: int | None = 100,
        *,
        alpha: float | None = None,
        kernel: KernelLike = "gaussian",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        method: str = "auto",
        penalty: str | None = None,
        bias: str | None = None,
        class_weight: dict[Any, float] | str | None = None,
        ard: bool = False,
        projection: int | None = None,
        tune: bool = False,
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
        self.penalty = penalty
        self.bias = bias
        self.class_weight = class_weight
        self.ard = ard
        self.projection = projection
        self.tune = tune
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _settings = {"alpha": "lambda", "penalty": "penalty", "bias": "bias"}

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
        self : SparseKernelFisher
            The fitted estimator.
        """
        return self._fit_classes(X, y, sample_weight)
