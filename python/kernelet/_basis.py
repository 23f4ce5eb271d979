"""A basis of few rows: kernel features for linear models."""

from __future__ import annotations

from typing import Any

import json

from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from . import _core
from ._arrays import ACCEPTED, rows_of, sound
from ._base import KernelMachine
from ._docs import described
from ._path import Path
from ._request import watched
from ._types import KernelLike, RandomState, Self


@described()
class GreedyBasis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMachine):
    """Coordinates of rows in feature space along few well-chosen training rows: a replacement for ``Nystroem``.

    The dot product of two transformed rows is the kernel of their projections on the span of the vectors.

    Parameters
    ----------
    n_vectors : int, default=100
        The most vectors; fewer where the rows span no more.
    method : {'greedy-basis', 'rpcholesky', 'kmeans', 'random'}, default='greedy-basis'
        How they are chosen.
    max_error : float or None, default=None
        Stop once no row is farther than this from the span, in squared distance in feature space (greedy-basis, rpcholesky).
        In :meth:`partial_fit` rows at least this far join, where None is 1e-3 and ``n_vectors`` is not used.
    {kernel}
    {common}

    Attributes
    ----------
    chosen_ : list of int
        Which training rows the vectors are; empty for kmeans and after partial_fit.
    {fitted}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from kernelet import GreedyBasis
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(GreedyBasis(100, method="rpcholesky", random_state=0), LinearSVC())
    >>> model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.9
    True
    """

    def __init__(
        self,
        n_vectors: int | None = 100,
        *,
        method: str = "greedy-basis",
        max_error: float | None = None,
        kernel: KernelLike = "gaussian",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        options: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_vectors = n_vectors
        self.method = method
        self.max_error = max_error
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _learner = "svc"
    _settings = {"max_error": "max-error"}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Chooses the vectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Not used.

        Returns
        -------
        self : GreedyBasis
            The fitted estimator.
        """
        X, _ = self._begin(X)
        found = watched(_core.basis, self._request(), rows_of(X), self._threads(), verbose=self._verbose(), names=self._spelling())
        machine, self.chosen_, figures = found
        self._keep([machine])
        # The other vectors have no part in the first coordinates.
        self.path_ = Path(json.loads(figures), self.machine_.leading)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Looks at a block of rows, of which those far from the span join the basis; the rows are not kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : Ignored
            Not used.

        Returns
        -------
        self : GreedyBasis
            The fitted estimator.
        """
        if self._values_are_given():
            raise ValueError("partial_fit compares rows with vectors it has seen; it needs a kernel by name")
        earlier = getattr(self, "machine_", None)
        X = sound(validate_data(self, X, reset=earlier is None, **ACCEPTED))
        asked = self._request() if earlier is None else self._request(gamma=self.gamma_)
        vectors = None if earlier is None else earlier.vectors()
        arguments = (asked, rows_of(X), self.max_error or 1e-3, vectors, self._threads())
        machine = watched(_core.online_basis, *arguments, verbose=0, names=self._spelling())
        self.chosen_ = []
        return self._keep([machine])

    def transform(self, X: Any) -> NDArray[Any]:
        """The coordinates of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        coordinates : ndarray of shape (n_samples, m)
            One column for each vector.
        """
        return self._outputs(X)

    def at(self, n_vectors: int) -> Self:
        """The first vectors alone; see ``path_`` for how far the rows are from their span.

        Parameters
        ----------
        n_vectors : int
            The most vectors.

        Returns
        -------
        smaller : GreedyBasis
            A copy; this one stays as it is.
        """
        smaller = super().at(n_vectors)
        smaller.chosen_ = self.chosen_[: smaller.n_vectors_]
        return smaller

    @property
    def _n_features_out(self) -> int:
        return len(self.intercept_)

    def _loaded(self, about) -> None:
        if about["decision"]["rule"] != "features":
            raise ValueError("GreedyBasis holds machines that give features, but this model does not")
        self.chosen_ = []
