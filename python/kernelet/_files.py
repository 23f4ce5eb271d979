"""What model files keep of an estimator beside its machine: its parameters, and classes of their own type."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _core


def with_estimator(machine: _core.Machine, estimator: Any) -> _core.Machine:
    """The machine with what :func:`restored` needs to make the estimator again."""
    about = json.loads(machine.parts())
    params = {name: packed(value) for name, value in estimator.get_params(deep=False).items() if can_be_packed(value)}
    kept: dict[str, Any] = {"class": type(estimator).__name__, "params": params}
    classes = getattr(estimator, "classes_", None)
    if classes is not None and can_be_packed(classes.tolist()):
        kept["classes"] = {"dtype": classes.dtype.str, "values": classes.tolist()}
    if hasattr(estimator, "_one_target"):
        kept["one_target"] = estimator._one_target
    about["facts"]["estimator"] = kept
    return _core.Machine.of_parts(json.dumps(about), machine.vectors(), machine.stored(), machine.offsets())


def can_be_packed(value: Any) -> bool:
    """True for what JSON can hold: numbers that are finite, text, and lists and dicts of them."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return all(can_be_packed(part) for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple)):
        return all(can_be_packed(part) for part in value)
    return value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and bool(np.isfinite(value)))


def packed(value: Any) -> Any:
    """A value for JSON; dicts become pairs, whose keys keep their type."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {"pairs": [[packed(key), packed(part)] for key, part in value.items()]}
    return [packed(part) for part in value] if isinstance(value, (list, tuple)) else value


def unpacked(value: Any) -> Any:
    """A value as it was."""
    if isinstance(value, dict):
        return {unpacked(key): unpacked(part) for key, part in value["pairs"]}
    return [unpacked(part) for part in value] if isinstance(value, list) else value


def parameters(about: dict[str, Any], names: dict[str, str], known: list[str]) -> dict[str, Any]:
    """The parameters of an estimator from the description of its machine.

    They are those that were saved with it, else the settings of the request that the machine came from; of a machine of unknown origin, such as a LIBSVM
    model, what the machine itself has.
    """
    facts = about["facts"]
    if (saved := facts.get("estimator")) is not None:
        found = {name: unpacked(value) for name, value in saved["params"].items()}
    elif (asked := facts.get("request")) is not None:
        parameter = {setting: name for name, setting in names.items()}
        found = {parameter.get(setting, setting): value for setting, value in asked.items()} | {"n_vectors": asked.get("vectors")}
    else:
        kernel = {("kernel" if name == "name" else name): value for name, value in about["kernel"].items()}
        settings = {name: facts.get(setting) for name, setting in names.items() if facts.get(setting) is not None}
        found = kernel | settings | {"n_vectors": None}
    return {name: value for name, value in found.items() if name in known}


def saved_classes(about: dict[str, Any]) -> Any:
    """The classes of a saved estimator, of the type that they had; None where they are not in the file."""
    saved = (about["facts"].get("estimator") or {}).get("classes")
    labels = about["labels"]
    if saved is None or len(saved["values"]) != len(labels):
        return None
    return np.array(saved["values"], dtype=np.dtype(saved["dtype"]))
