"""Kernel Fisher discriminants with few vectors."""

from __future__ import annotations

from sklearn.base import ClassifierMixin

from ._base import KernelMachine
from ._docs import described
from ._labels import Labels, Probabilities


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
        n_vectors=100,
        *,
        alpha=None,
        kernel="gaussian",
        gamma="scale",
        degree=3,
        coef0=0.0,
        method="auto",
        penalty=None,
        bias=None,
        class_weight=None,
        ard=False,
        projection=None,
        tune=False,
        options=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
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

    def fit(self, X, y, sample_weight=None):
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
