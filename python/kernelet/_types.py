"""Types of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import Self
else:
    Self = Any

# The name of a kernel, or a function of two arrays of rows that gives all values between them.
KernelLike: TypeAlias = "str | Callable[[Any, Any], Any]"
RandomState: TypeAlias = "int | np.random.RandomState | None"

__all__ = ["KernelLike", "RandomState", "Self"]
