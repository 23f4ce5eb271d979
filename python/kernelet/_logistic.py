"""Kernel logistic regression with few vectors."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin

from ._base import KernelMachine
from ._docs import described
from ._labels import Labels, Probabilities
from ._passes import Blocks
from ._stream import StreamedClasses
from ._types import KernelLike, RandomState, Self


@described()
class SparseLogistic(ClassifierMixin, StreamedClasses, Blocks, Probabilities, Labels, KernelMachine):
    """Kernel logistic regression with a chosen number of expansion vectors: classes with probabilities.

    Parameters
    ----------
    C : float, default=10.0
        Cost of an error; small values pull the probabilities to the middle.
    {kernel}
    {budget}
    class_weight : dict, 'balanced' or None, default=None
        Factors of C for the classes.
    {metric}
    {tune}
    device : str or None, default=None
        Where sums over rows are computed: ``'cpu'``, ``'cuda'`` or ``'cuda:N'``, an NVIDIA card, for direct training with the gaussian kernel and for prediction, then in
        single precision. None is the processor. Arrays that lie on the card are predicted there.
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
    >>> from kernelet import SparseLogistic
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseLogistic(n_vectors=10, C=10, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _learner = "logistic"
    _settings = {"C": "c"}

    def __init__(
        self,
        n_vectors: int | None = 100,
        *,
        C: float = 10.0,
        kernel: KernelLike = "gaussian",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        method: str = "auto",
        class_weight: dict[Any, float] | str | None = None,
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
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.class_weight = class_weight
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
        y : array-like of shape (n_samples,)
            Their classes: numbers or text.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for the rows.

        Returns
        -------
        self : SparseLogistic
            The fitted estimator.
        """
        return self._fit_classes(X, y, sample_weight)
