"""Kernel principal components with few vectors."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from . import _core
from ._base import KernelMachine, _flag, _in_python, _rows
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
    {common}

    Attributes
    ----------
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
        flags = self._flags(X)
        if self.n_vectors is None or self._is_direct():
            flags += [*_flag(*self._how_many()), *_flag("whiten", self.whiten)]
            return self._keep(self._learn(flags, X))
        return self._keep(self._on_basis(flags, X))

    def _how_many(self):
        """The flag of the number of components or of their part of the variance."""
        part = isinstance(self.n_components, (float, np.floating)) and self.n_components < 1
        return ("explained", self.n_components) if part else ("components", self.n_components)

    def _on_basis(self, flags, X):
        """The components of the rows' coordinates in a basis."""
        report = self._report()
        try:
            basis, _ = _core.basis(flags, _rows(X), self._threads(), report)
        except ValueError as error:
            raise ValueError(_in_python(str(error))) from None
        finally:
            if report:
                report.end()
        features = basis.outputs(_rows(X), self._threads())
        mean = features.mean(axis=0)
        variances, directions = np.linalg.eigh((features - mean).T @ (features - mean) / len(features))
        variances, directions = np.maximum(variances[::-1], 0), directions[:, ::-1]
        count = min(self._count(variances), max(1, int((variances > 1e-12 * variances[0]).sum())))
        # The sign is that of the largest entry, so that it does not depend on the library underneath.
        directions = directions[:, :count]
        largest = np.abs(directions).argmax(axis=0)
        directions = directions * np.where(directions[largest, np.arange(count)] < 0, -1.0, 1.0)
        if self.whiten:
            directions = directions / np.sqrt(np.maximum(variances[:count], 1e-300))
        return basis.combined(np.ascontiguousarray(directions), list(-mean @ directions))

    def _count(self, variances) -> int:
        flag, wanted = self._how_many()
        if flag == "components":
            if wanted < 1:
                raise ValueError(f"n_components is {wanted}, but must be at least 1, or a part of the variance below 1")
            return int(wanted)
        if not 0 < wanted < 1:
            raise ValueError(f"n_components is {wanted}, but must be at least 1, or a part of the variance between 0 and 1")
        parts = np.cumsum(variances) / max(variances.sum(), 1e-300)
        return int(np.searchsorted(parts, wanted) + 1)

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
