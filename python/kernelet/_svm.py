"""Support vector machines with few vectors."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin

from ._base import KernelMachine, Labels, Numbers
from ._docs import described


@described("``'margin'``, where vectors and machine are found together")
class SparseSVC(ClassifierMixin, Labels, KernelMachine):
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
    class_weight : dict, 'balanced' or None, default=None
        Factors of C for the classes.
    tol : float, default=1e-3
        The full machine stops when the optimality conditions hold up to this.
    cache_size : int, default=200
        Megabytes for kernel values of the full machine.
    {common}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
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
        n_vectors=100,
        *,
        C=1.0,
        kernel="gaussian",
        gamma="scale",
        degree=3,
        coef0=0.0,
        method="auto",
        loss=None,
        multiclass=None,
        class_weight=None,
        tol=1e-3,
        cache_size=200,
        options=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_vectors = n_vectors
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.loss = loss
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _settings(self):
        settings = {"C": "c", "multiclass": "multiclass", "loss": "loss"}
        return settings if self._is_direct() else {**settings, "tol": "tolerance", "cache_size": "cache"}

    def fit(self, X, y, sample_weight=None):
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
class SparseSVR(RegressorMixin, Numbers, KernelMachine):
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
    cache_size : int, default=200
        Megabytes for kernel values.
    {common}

    Attributes
    ----------
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
        n_vectors=100,
        *,
        C=1.0,
        epsilon=0.1,
        kernel="gaussian",
        gamma="scale",
        degree=3,
        coef0=0.0,
        method="auto",
        tol=1e-3,
        cache_size=200,
        options=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_vectors = n_vectors
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.tol = tol
        self.cache_size = cache_size
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _settings(self):
        settings = {"C": "c", "epsilon": "epsilon"}
        return settings if self._is_direct() else {**settings, "tol": "tolerance", "cache_size": "cache"}

    def fit(self, X, y, sample_weight=None):
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


@described()
class SparseOneClassSVM(OutlierMixin, KernelMachine):
    """What is like the training rows and what is not, with a chosen number of expansion vectors.

    Parameters
    ----------
    nu : float, default=0.5
        Part of the rows that may lie outside, above 0 and at most 1.
    {kernel}
    {budget}
    tol : float, default=1e-3
        Training stops when the optimality conditions hold up to this.
    cache_size : int, default=200
        Megabytes for kernel values.
    {common}

    Attributes
    ----------
    offset_ : float
        ``decision_function = score_samples - offset_``.
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
        n_vectors=100,
        *,
        nu=0.5,
        kernel="gaussian",
        gamma="scale",
        degree=3,
        coef0=0.0,
        method="auto",
        tol=1e-3,
        cache_size=200,
        options=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_vectors = n_vectors
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.tol = tol
        self.cache_size = cache_size
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _settings(self):
        return {"nu": "nu"} if self._is_direct() else {"nu": "nu", "tol": "tolerance", "cache_size": "cache"}

    def fit(self, X, y=None, sample_weight=None):
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
        return self._keep(self._learn(self._flags(X), X, weights=self._weights(sample_weight, X)))

    def decision_function(self, X):
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

    def score_samples(self, X):
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

    def predict(self, X):
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

    def _keep(self, machine):
        super()._keep(machine)
        self.offset_ = -float(machine.offsets()[0])
        return self
