"""Kernel principal components with few vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_array

from ._arrays import rows_of, unscaled
from ._base import KernelMachine
from ._docs import described
from ._types import KernelLike, RandomState, Self


@described()
class SparseKernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """Kernel principal components with a chosen number of expansion vectors.

    Parameters
    ----------
    n_components : int or float, default=10
        Components to keep, at most as many as there are; a number below 1 keeps as many as have this part of the variance.
    whiten : bool, default=False
        Divide the features by their standard deviations.
    fit_inverse_transform : bool, default=False
        Keep what :meth:`inverse_transform` needs: the mean of the training rows in feature space, as coefficients of the vectors.
    {kernel}
    {budget}
    {metric}
    {common}

    Attributes
    ----------
    explained_variance_ : ndarray of shape (n_components,)
        The variance of the training rows along each component, largest first.
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
        n_vectors: int | None = 100,
        *,
        n_components: float | None = 10,
        whiten: bool = False,
        fit_inverse_transform: bool = False,
        kernel: KernelLike = "gaussian",
        gamma: float | str | None = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        method: str = "auto",
        ard: bool = False,
        projection: int | None = None,
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_vectors = n_vectors
        self.n_components = n_components
        self.whiten = whiten
        self.fit_inverse_transform = fit_inverse_transform
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

    def fit(self, X: Any, y: Any = None) -> Self:
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
        self._keep(*self._learn(self._request(**self._components(X.shape[0])), X))
        self._n_rows = X.shape[0]
        self._mean: list[float] | None = None
        if self.fit_inverse_transform:
            if self._values_are_given():
                raise ValueError("inverse_transform needs a kernel by name; of a function or of given values no point can be found")
            mean = self.machine_.mean_on_vectors(rows_of(X))
            # A kernel without pre-images is rejected here, not at the first use.
            self.machine_.pre_images(np.zeros((0, self._n_features_out)), mean)
            self._mean = mean
        return self

    def _components(self, rows: int) -> dict[str, Any]:
        """How many components are asked for, as settings of the library."""
        part = isinstance(self.n_components, (float, np.floating)) and self.n_components < 1
        return {"explained" if part else "components": self.n_components, "whiten": self.whiten}

    def _usual_gamma(self) -> str:
        return "auto"

    def transform(self, X: Any) -> NDArray[Any]:
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

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """The rows whose components are nearest to these: pre-images, found by fixed points.

        With fewer components than the data have directions this removes what the others hold, such as noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Components.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
            One row for each row of components.
        """
        machine, mean = self._fitted(), getattr(self, "_mean", None)
        if mean is None:
            raise NotFittedError("inverse_transform needs an estimator that was fitted here with fit_inverse_transform=True; model files do not keep the mean")
        scale = self._about()["scale"]
        if scale and scale.get("map") is not None:
            raise ValueError("a learned map of the features has no inverse; fit without projection")
        features = check_array(X, dtype=np.float64, order="C")
        if features.shape[1] != self._n_features_out:
            raise ValueError(f"X has {features.shape[1]} components, but the estimator has {self._n_features_out}")
        return unscaled(machine.pre_images(features, mean, self._threads()), scale)

    @property
    def explained_variance_(self) -> NDArray[Any]:
        """The variance of the training rows along each component, largest first."""
        features = self._about()["facts"].get("features")
        if features is None:
            raise AttributeError("a machine that was compressed does not know the variances of its components")
        return np.array(features["variances"])

    @property
    def _n_features_out(self) -> int:
        return len(self.intercept_)

    def _loaded(self, about) -> None:
        if about["decision"]["rule"] != "features":
            raise ValueError("SparseKernelPCA holds machines that give features, but this model does not")
