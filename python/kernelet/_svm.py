"""Support vector machines with few vectors."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from ._base import KernelMachine
from ._docs import described
from ._labels import Decisions, ProbabilitiesOnRequest
from ._numbers import Numbers
from ._passes import Blocks
from ._stream import StreamedClasses
from ._support import Support
from ._types import KernelLike, RandomState, Self


@described("``'margin'``, where vectors and machine are found together")
class SparseSVC(ClassifierMixin, StreamedClasses, Blocks, Support, ProbabilitiesOnRequest, Decisions, KernelMachine):
    """Support vector classification with a chosen number of expansion vectors.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error.
    {kernel}
    {budget}
    loss : {'squared-hinge', 'hinge'} or None, default=None
        What an error costs in direct training; None is the squared hinge.
    multiclass : {'one-vs-one', 'one-vs-rest', 'ecoc', 'shared'} or None, default=None
        How several classes become two-class problems; None is one-vs-one for the full machine, shared with a budget.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Whether one-vs-one machines return one decision value for each class or one for each pair.
    break_ties : bool, default=False
        Predict the class of the largest decision value, not that of the most votes; the same where there are no votes.
    probability : bool, 'sigmoid' or 'isotonic', default=False
        Fit curves for :meth:`predict_proba` by cross-validation; True is a sigmoid. It takes ``options={'folds': 5}`` more fits.
    class_weight : dict, 'balanced' or None, default=None
        Factors of C for the classes.
    tol : float, default=1e-3
        The full machine stops when the optimality conditions hold up to this.
    {solver}
    cache_size : int, default=200
        Megabytes for kernel values of the full machine.
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
    class_weight_ : ndarray of shape (n_classes,)
        Their factors of C.
    {support}
    {learned}
    {fitted}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelet import SparseSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> small = SparseSVC(n_vectors=20, C=10, random_state=0).fit(X[:1000], y[:1000])
    >>> small.vectors_.shape
    (20, 64)
    >>> small.score(X[1000:], y[1000:]) > 0.85
    True
    """

    _learner = "svc"

    def __init__(
        self,
        n_vectors: int | None = 100,
        *,
        C: float = 1.0,
        kernel: KernelLike = "gaussian",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        method: str = "auto",
        loss: str | None = None,
        multiclass: str | None = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        probability: bool | str = False,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-3,
        shrinking: bool = True,
        max_iter: int = -1,
        cache_size: float = 200,
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
        self.loss = loss
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.probability = probability
        self.class_weight = class_weight
        self.tol = tol
        self.shrinking = shrinking
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.ard = ard
        self.projection = projection
        self.tune = tune
        self.device = device
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _settings = {"C": "c", "multiclass": "multiclass", "loss": "loss", "tol": "tolerance", "cache_size": "cache"}

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
        self : SparseSVC
            The fitted estimator.
        """
        return self._fit_classes(X, y, sample_weight)


@described()
class SparseSVR(RegressorMixin, Support, Numbers, KernelMachine):
    """Support vector regression with a chosen number of expansion vectors.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error.
    epsilon : float, default=0.1
        Errors up to this cost nothing.
    {kernel}
    {budget}
    tol : float, default=1e-3
        Training stops when the optimality conditions hold up to this.
    {solver}
    cache_size : int, default=200
        Megabytes for kernel values.
    deviation : bool, default=False
        Also learn the standard deviations that ``predict(X, return_std=True)`` returns, by cross-validation, which takes five more fits.
    {metric}
    {tune}
    {common}

    Attributes
    ----------
    {tuning}
    {support}
    {learned}
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from kernelet import SparseSVR
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = SparseSVR(n_vectors=15, C=100, epsilon=0.01, random_state=0).fit(X, np.sinc(X[:, 0]))
    >>> model.score(X, np.sinc(X[:, 0])) > 0.95
    True
    """

    _learner = "svr"

    def __init__(
        self,
        n_vectors: int | None = 100,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: KernelLike = "gaussian",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        method: str = "auto",
        tol: float = 1e-3,
        shrinking: bool = True,
        max_iter: int = -1,
        cache_size: float = 200,
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
        self.tol = tol
        self.shrinking = shrinking
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.deviation = deviation
        self.ard = ard
        self.projection = projection
        self.tune = tune
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _settings = {"C": "c", "epsilon": "epsilon", "tol": "tolerance", "cache_size": "cache"}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Trains the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for the rows.

        Returns
        -------
        self : SparseSVR
            The fitted estimator.
        """
        return self._fit_numbers(X, y, sample_weight)
