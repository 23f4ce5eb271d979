"""Kernel principal components with few vectors."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ._base import KernelMachine
from ._docs import described


@described()
class SparseKernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """Kernel principal components with a chosen number of expansion vectors.

    Parameters
    ----------
    n_components : int or float, default=10
        Components to keep, at most as many as there are; a number below 1 keeps as many as have this part of the variance.
    whiten : bool, default=False
        Divide the features by their standard deviations.
    {kernel}
    {budget}
    {metric}
    {common}

    Attributes
    ----------
    {learned}
    {fitted}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelet import SparseKernelPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> SparseKernelPCA(n_components=2, n_vectors=20).fit_transform(X).shape
    (150, 2)
    """

    _learner = "pca"

    def __init__(
        self,
        n_vectors=100,
        *,
        n_components=10,
        whiten=False,
        kernel="gaussian",
        gamma="scale",
        degree=3,
        coef0=0.0,
        method="auto",
        ard=False,
        projection=None,
        options=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_vectors = n_vectors
        self.n_components = n_components
        self.whiten = whiten
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.method = method
        self.ard = ard
        self.projection = projection
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None):
        """Finds the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Not used.

        Returns
        -------
        self : SparseKernelPCA
            The fitted estimator.
        """
        X, _ = self._begin(X, ensure_min_samples=2)
        part = isinstance(self.n_components, (float, np.floating)) and self.n_components < 1
        how_many = {"explained" if part else "components": self.n_components, "whiten": self.whiten}
        return self._keep(*self._learn(self._request(**how_many), X))

    def transform(self, X):
        """The components of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        components : ndarray of shape (n_samples, n_components)
            One column for each component.
        """
        return self._outputs(X)

    @property
    def _n_features_out(self):
        return len(self.intercept_)

    def _loaded(self, about) -> None:
        if about["decision"]["rule"] != "features":
            raise ValueError("SparseKernelPCA holds machines that give features, but this model does not")
