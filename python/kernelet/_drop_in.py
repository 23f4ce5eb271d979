"""What the classes that take the place of scikit-learn's have in common: parameters that a kernel does not use are taken and have no effect, as there."""

from __future__ import annotations

from typing import Any

from ._base import KernelMachine

DROP_IN = """

    The parameters are those of scikit-learn's class of this name, and these:

    Parameters
    ----------
    n_vectors : int or None, default=None
        The number of expansion vectors in the whole model; None trains the full machine.
    method : str, default='auto'
        How few vectors are found; see :class:`kernelet.SparseSVC`.
    options : dict, default=None
        Further settings of ``kernelet train`` by name.
    n_jobs : int, default=None
        Threads; None is 1, -1 all. The result is the same for any number.
    """

# The kernels that use a parameter; those of scikit-learn's names are written as here, too.
USED_BY = {
    "gamma": ("gaussian", "rbf", "polynomial", "poly", "sigmoid", "exponential", "matern32", "matern52", "matern72", "inverse-multiquadric"),
    "degree": ("polynomial", "poly"),
    "coef0": ("polynomial", "poly", "sigmoid"),
}


class DropIn(KernelMachine):
    """A class that takes the place of one of scikit-learn."""

    def _names(self) -> dict[str, str]:
        used = super()._names()
        return {name: setting for name, setting in used.items() if name not in USED_BY or self.kernel in USED_BY[name]}

    def _defaults(self) -> dict[str, Any]:
        # Scikit-learn's defaults of the kernel differ from class to class; what differs from the library's is asked for.
        return super()._defaults() | {"gamma": "scale", "degree": 3, "coef0": 0.0}


def described_as_there(estimator):
    """Adds the parameters that scikit-learn's class does not have to the description of a class."""
    estimator.__doc__ = (estimator.__doc__ or "").rstrip() + DROP_IN
    return estimator
