"""Kernels of scikit-learn as kernels of the library, as its JSON has them."""

from __future__ import annotations

from typing import Any

import numpy as np

PAIRWISE = {"rbf": "gaussian", "poly": "polynomial", "polynomial": "polynomial", "linear": "linear", "sigmoid": "sigmoid", "precomputed": "precomputed"}


def of_pairwise(name: Any, gamma: Any, degree: Any, coef0: Any, features: int = 1, params: Any = None) -> dict[str, Any]:
    """A kernel by scikit-learn's name; a gamma of None is one over the number of features."""
    if callable(name):
        raise TypeError("the kernel is a Python function, which this model does not keep the rows for; use kernel='precomputed' and give X")
    check_kernel_params(params)
    if name == "laplacian":
        raise ValueError("scikit-learn's laplacian kernel takes the L1 distance, which no kernel here does; train with 'rbf' or another of " + _known())
    if name not in PAIRWISE:
        raise ValueError(f"there is no kernel {name!r} here; there are {_known()}")
    kernel: dict[str, Any] = {"name": PAIRWISE[name]}
    if kernel["name"] in ("gaussian", "polynomial", "sigmoid"):
        kernel["gamma"] = 1.0 / features if gamma is None else float(gamma)
    if kernel["name"] == "polynomial":
        if int(degree) != degree:
            raise ValueError(f"the degree of the polynomial kernel is {degree}, but must be a whole number")
        kernel["degree"] = int(degree)
    if kernel["name"] in ("polynomial", "sigmoid"):
        kernel["coef0"] = float(coef0)
    return kernel


def check_kernel_params(params: Any) -> None:
    """Rejects what only a kernel function of scikit-learn would take."""
    if params:
        raise ValueError("kernel_params are for kernels that are functions; give gamma, degree and coef0, or a function that has them")


def of_gaussian_process(kernel: Any) -> tuple[dict[str, Any], float, Any]:
    """The kernel of a Gaussian process, what it is multiplied with, and its length scales where features have their own.

    Constants go into the factor, white noise is dropped: it has no part in the mean. Other sums and products are refused.
    """
    factor, parts = _factors(_without_noise(kernel))
    if len(parts) != 1:
        raise ValueError(f"{kernel} is a product or sum of kernels; there must be one of RBF, Matern or DotProduct, times constants, plus white noise")
    return _single(parts[0], factor)


def _without_noise(kernel: Any) -> Any:
    if type(kernel).__name__ != "Sum":
        return kernel
    sides = [_without_noise(side) for side in (kernel.k1, kernel.k2)]
    left = [side for side in sides if not _is_noise(side)]
    if len(left) != 1:
        raise ValueError(f"{kernel} is a sum of kernels, of which only white noise can be dropped; use one kernel, such as ConstantKernel() * RBF() + WhiteKernel()")
    return left[0]


def _is_noise(kernel: Any) -> bool:
    if type(kernel).__name__ == "Product":
        return _is_noise(kernel.k1) or _is_noise(kernel.k2)
    return type(kernel).__name__ == "WhiteKernel"


def _factors(kernel: Any) -> tuple[float, list[Any]]:
    """The constant in front of a product, and its other factors."""
    if type(kernel).__name__ == "Product":
        (a, left), (b, right) = _factors(kernel.k1), _factors(kernel.k2)
        return a * b, left + right
    if type(kernel).__name__ == "ConstantKernel":
        return float(kernel.constant_value), []
    return 1.0, [kernel]


def _single(kernel: Any, factor: float) -> tuple[dict[str, Any], float, Any]:
    name = type(kernel).__name__
    if name == "DotProduct":
        return {"name": "polynomial", "gamma": 1.0, "degree": 1, "coef0": float(kernel.sigma_0) ** 2}, factor, None
    if name == "RationalQuadratic":
        alpha = float(kernel.alpha)
        return {"name": "inverse-multiquadric", "gamma": 0.5 / (alpha * float(kernel.length_scale) ** 2), "exponent": -alpha}, factor, None
    matern = {0.5: ("exponential", 1.0), 1.5: ("matern32", np.sqrt(3.0)), 2.5: ("matern52", np.sqrt(5.0)), 3.5: ("matern72", np.sqrt(7.0))}
    if name == "Matern" and kernel.nu in matern:
        ours, per_length = matern[kernel.nu]
        power = 1
    elif name == "RBF" or (name == "Matern" and kernel.nu == np.inf):
        ours, per_length, power = "gaussian", 0.5, 2
    else:
        raise ValueError(f"{kernel} has no counterpart here; there are RBF, Matern with nu 0.5, 1.5, 2.5 or 3.5, DotProduct and RationalQuadratic")
    lengths = np.atleast_1d(np.asarray(kernel.length_scale, dtype=np.float64))
    if len(lengths) == 1:
        return {"name": ours, "gamma": float(per_length / lengths[0] ** power)}, factor, None
    return {"name": ours, "gamma": float(per_length)}, factor, lengths


def _known() -> str:
    return ", ".join(PAIRWISE)
