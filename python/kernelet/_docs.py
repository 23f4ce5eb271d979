"""Descriptions of parameters that several estimators have."""

from __future__ import annotations

KERNEL = """kernel : str or callable, default='gaussian'
        ``'gaussian'`` (or ``'rbf'``), ``'exponential'``, ``'matern32'``, ``'matern52'``, ``'matern72'``, ``'polynomial'`` (or ``'poly'``), ``'linear'``,
        ``'sigmoid'``, ``'inverse-multiquadric'`` (``options={'exponent': -1}`` for another exponent than -1/2). Or ``'precomputed'``, where X holds kernel values with all training
        rows, or a function of two arrays of rows that gives such values; vectors are then chosen among the rows.
    gamma : {'scale', 'auto', 'learned'} or float, default='scale'
        Width of the kernel: ``exp(-gamma |x - z|^2)``; ``'scale'`` is ``1 / (n_features * X.var())``, ``'auto'`` is ``1 / n_features``;
        ``'learned'`` begins at ``'scale'`` and is learned with the vectors.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels."""

COMMON = """options : dict, default=None
        Further settings of ``kernelet train`` by name, such as ``{'starts': 4}``.
    n_jobs : int, default=None
        Threads; None is 1, -1 all. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn.
    verbose : int, default=0
        Above 0 shows progress on standard error."""

METRIC = """ard : bool, default=False
        Learn a scale for each feature together with the vectors (automatic relevance determination). Features are standardised first. One width
        is used where validation rows do not prefer learned scales.
    projection : int or None, default=None
        Learn a linear map of the features to so many dimensions together with the vectors, in the same manner.
        With ``ard`` too, validation rows choose between scales and map."""

LEARNED = """feature_scales_ : ndarray of shape (n_features,)
        With ``ard`` or ``projection``: the factor of each standardised feature, or the length of its column of the map.
    feature_importances_ : ndarray of shape (n_features,)
        Their squares, which add up to 1.
    projection_ : ndarray of shape (projection, n_features)
        With ``projection``: the map of standardised features."""

SOLVER = """shrinking : bool, default=True
        Leave out variables of the full machine that look settled; False is slower and gives the same machine up to ``tol``.
    max_iter : int, default=-1
        Steps of the solver for each two-class problem; a fit that ends there warns. In direct training the number of steps of the vectors, 200 with -1.
        Without effect for classification on a basis, which is solved exactly."""

SUPPORT = """support_ : ndarray of shape (m,)
        With ``n_vectors=None``: the training rows that are vectors, class by class; ``n_support_`` counts them.
    support_vectors_, dual_coef_ : ndarray
        The vectors and their coefficients in scikit-learn's order and layout.
    coef_ : ndarray of shape (n_outputs, n_features)
        The weights of the features, for the linear kernel.
    n_iter_ : int or ndarray
        Steps of the solver.
    fit_status_ : int
        0 where training reached its end."""

TUNE = """tune : bool, default=False
        Choose the cost and ``gamma`` by cross-validation; those that differ from their defaults are kept. ``options={'folds': 10}`` sets
        the number of folds."""

TUNING = """tuning_ : list of dict
        With ``tune``: the settings tried and their mean loss over the folds, the best first."""

FITTED = """vectors_ : ndarray or csr_array of shape (m, n_features)
        The expansion vectors, in the units of X; of a learned map where it takes them.
    coefficients_ : ndarray of shape (m, n_outputs)
        Their coefficients.
    intercept_ : ndarray of shape (n_outputs,)
        The offsets.
    path_ : Path
        The size path: the sizes that direct training grows through, or the first vectors of a basis with ``options={'path': True}``.
    machine_ : Machine
        The machine itself.
    report_ : dict
        How training went: ``objective``, ``iterations``, ``status``, ``evaluations``.
    n_features_in_ : int
        Features seen during fit."""

BUDGET = """n_vectors : int or None, default=100
        The number of expansion vectors in the whole model; at most the rows there are. None trains the full machine.
    method : str, default='auto'
        How few vectors are found: {direct}, or ``'greedy-basis'``, ``'online-basis'``, ``'rpcholesky'``, ``'matching-pursuit'``, ``'kmeans'``, ``'random'`` for training on a
        basis chosen before. ``'auto'`` is the direct method of the estimator where it has one, else ``'greedy-basis'``."""


def described(direct: str = "the learner's own by its name"):
    """Puts the shared descriptions into the docstring of a class."""

    def fill(estimator):
        text = estimator.__doc__ or ""
        parts = {"{kernel}": KERNEL, "{metric}": METRIC, "{learned}": LEARNED, "{tune}": TUNE, "{solver}": SOLVER, "{support}": SUPPORT, "{tuning}": TUNING, "{common}": COMMON, "{fitted}": FITTED, "{budget}": BUDGET.replace("{direct}", direct)}
        for mark, part in parts.items():
            text = text.replace(mark, part)
        estimator.__doc__ = text
        return estimator

    return fill

