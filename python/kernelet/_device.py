"""Prediction on an NVIDIA card: of rows in memory, and of arrays that lie on the card (torch, CuPy), which are neither copied nor brought to the processor."""

from __future__ import annotations

import importlib
import sys
from typing import Any, NamedTuple

from . import _core


class Lying(NamedTuple):
    """An array on a card, as ``outputs_on_card`` takes it, its library and the card's number."""

    array: Any
    library: Any
    parts: tuple[int, bool, int, int]
    stream: int


def check_device(device: Any) -> None:
    """Rejects what cannot be the name of a device; the library looks whether there is one."""
    if device is not None and not isinstance(device, str):
        raise TypeError(f"device must be 'cpu', 'cuda', 'cuda:N' or None, not {device!r}")


def placed(estimator: Any, machine: _core.Machine) -> _core.Machine:
    """The machine of an estimator on its device; put there once."""
    device: Any = getattr(estimator, "device", None)
    check_device(device)
    if device is None or device == "cpu":
        return machine
    kept = estimator.__dict__.get("_placed")
    if kept is None or kept[0] is not machine or kept[1] != device:
        kept = estimator._placed = (machine, device, machine.on(device))
    return kept[2]


def lies_on_card(X: Any) -> bool:
    """Whether an array lies on a card; arrays of libraries that were never imported do not."""
    return hasattr(X, "__cuda_array_interface__") or (hasattr(X, "__dlpack_device__") and X.__dlpack_device__()[0] == 2)


def _library(X: Any) -> Any:
    """torch for its own tensors, else CuPy."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(X, torch.Tensor) else importlib.import_module("cupy")


def _lying(X: Any) -> Lying:
    library = _library(X)
    if library.__name__ == "torch":
        X = X.detach()
        if X.dtype not in (library.float32, library.float64):
            X = X.float()
        X, size, stream = X.contiguous(), X.element_size(), library.cuda.current_stream(X.device).cuda_stream
        address = X.data_ptr()
    else:
        X = library.from_dlpack(X) if not isinstance(X, library.ndarray) else X
        X = library.ascontiguousarray(X, dtype=X.dtype if X.dtype in (library.float32, library.float64) else library.float32)
        size, stream, address = X.dtype.itemsize, library.cuda.get_current_stream().ptr, X.data.ptr
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: rows of features")
    return Lying(X, library, (address, size == 8, *X.shape), stream)


def outputs_there(machine: _core.Machine, X: Any, n_outputs: int) -> Any:
    """The outputs of rows that lie on a card, in single precision, as an array of the same library on the same card."""
    if machine.device == "cpu":
        raise ValueError("X lies on a GPU, but device is 'cpu'; set device='cuda', or bring X to the processor")
    lying = _lying(X)
    library, (_, _, rows, _) = lying.library, lying.parts
    if library.__name__ == "torch":
        number = lying.array.device.index or 0
        out = library.empty((rows, n_outputs), dtype=library.float32, device=lying.array.device)
        address = out.data_ptr()
    else:
        number = lying.array.device.id
        with lying.array.device:
            out = library.empty((rows, n_outputs), dtype=library.float32)
        address = out.data.ptr
    if machine.device != f"gpu:{number}":
        raise ValueError(f"X lies on gpu:{number}, but the machine is on {machine.device}; set device='cuda:{number}'")
    machine.outputs_on_card(lying.parts, (address, False, rows, n_outputs), lying.stream)
    return out
