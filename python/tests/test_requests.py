"""One request has one answer: Python and the program give the same model, to the byte; the tests of the program compare it with the library."""

import json
import pathlib
import subprocess

import numpy as np
import pytest
from kernelet import RVC, SparseHuberRegressor, SparseKernelFisher, SparseKernelRidge, SparseLogistic, SparseSVC, _core
from kernelet.__main__ import program

REQUESTS = json.loads((pathlib.Path(__file__).parents[2] / "crates" / "kernelet-cli" / "tests" / "requests.json").read_text())
WITHOUT_TARGET = ("one-class", "pca")


def points():
    """Sixty rows of three classes in the plane."""
    i, j = np.arange(60)[:, None], np.arange(2)[None, :]
    return 2.0 * np.cos(i % 3 * 2.1 + j) + 1.3 * np.sin(i // 3 * (1.3 + 0.7 * j) + i % 3)


def rows(name):
    """The rows, and their target as the library takes it."""
    X = points()
    if name == "values":
        return X, {"values": (np.sin(X[:, 0]) + 0.3 * X[:, 1]).reshape(-1, 1)}
    codes = (np.arange(60) % 3).clip(max=1 if name == "two" else 2).astype(np.uint32)
    return X, {"labels": [str(code) for code in np.unique(codes)], "codes": codes}


def flags(request):
    """A request as flags."""
    for name, value in request.items():
        if value is True:
            yield f"--{name}"
        elif isinstance(value, dict):
            yield f"--{name}=" + ",".join(f"{label}={weight}" for label, weight in value.items())
        else:
            yield f"--{name}={value}"


def trained(request, name):
    X, target = rows(name)
    target = {} if request.get("learner") in WITHOUT_TARGET else target
    return _core.train(json.dumps(request), X, **target)[0]


def by_program(command, tmp_path, request):
    output = tmp_path / "a.model"
    subprocess.run([program(), *map(str, command), "-o", str(output), "--quiet", *flags(request)], check=True)
    return output.read_bytes()


def saved(name, tmp_path):
    X, target = rows(name)
    path = tmp_path / "rows.npz"
    np.savez(path, X=X, y=target["values"][:, 0] if name == "values" else target["codes"].astype(np.int64))
    return path


@pytest.mark.parametrize("entry", REQUESTS, ids=range(len(REQUESTS)))
def test_python_and_the_program_give_the_same_bytes(entry, tmp_path):
    request, file = entry["request"], saved(entry["data"], tmp_path)
    if "model" not in entry:
        assert trained(request, entry["data"]).to_bytes() == by_program(["train", file], tmp_path, request)
        return
    machine, full = trained(entry["model"], entry["data"]), tmp_path / "full.model"
    machine.save(full, "libsvm" if entry.get("libsvm") else "kernelet")
    machine = _core.Machine.load(full)
    X, target = rows(entry["data"])
    given, arguments = ["compress", full], {}
    if entry["rows"]:
        given += ["--data", file]
        target = {} if entry["model"].get("learner") in WITHOUT_TARGET else {name: value for name, value in target.items() if name != "labels"}
        arguments = {"rows": X, **target}
    small = _core.compress(json.dumps(request), machine, **arguments)[0]
    assert small.to_bytes() == by_program(given, tmp_path, request)


@pytest.mark.parametrize(
    ("estimator", "request_"),
    [
        (SparseSVC(random_state=0), {"vectors": 100}),
        (SparseSVC(n_vectors=None, C=2.5, random_state=0), {"c": 2.5}),
        (SparseSVC(n_vectors=5, class_weight="balanced", gamma="auto", random_state=3), {"vectors": 5, "class-weight": "balanced", "gamma": "auto", "seed": 3}),
        (SparseKernelRidge(n_vectors=4, alpha=0.2, random_state=0), {"learner": "ridge", "vectors": 4, "lambda": 0.2}),
        (SparseHuberRegressor(n_vectors=4, C=3.0, epsilon=0.2, random_state=0), {"learner": "huber", "vectors": 4, "c": 3.0, "epsilon": 0.2}),
        (SparseSVC(n_vectors=5, tune=True, random_state=0), {"vectors": 5, "tune": True}),
        (SparseSVC(n_vectors=None, C=3, tune=True, options={"folds": 3}, random_state=0), {"c": 3, "tune": True, "folds": 3}),
    ],
)
def test_an_estimator_asks_for_what_it_says(estimator, request_, tmp_path):
    name = "values" if "learner" in request_ else "classes"
    X, target = rows(name)
    estimator.fit(X, target["values"][:, 0] if name == "values" else target["codes"].astype(int))
    path = tmp_path / "estimator.model"
    estimator.save(path)
    ours, theirs = _core.Machine.load(path), by_program(["train", saved(name, tmp_path)], tmp_path, request_)
    assert ours.outputs(X).tobytes() == _core.Machine.from_bytes(theirs).outputs(X).tobytes()


@pytest.mark.parametrize(
    ("estimator", "searched"),
    [
        (SparseSVC(4, tune=True), {"C", "gamma"}),
        (SparseSVC(4, C=3, tune=True), {"C", "gamma"}),
        (SparseLogistic(4, kernel="linear", tune=True), {"C"}),
        (SparseKernelFisher(4, gamma=0.5, method="greedy-basis", tune=True), {"alpha", "gamma"}),
        (RVC(tune=True), {"gamma"}),
    ],
)
def test_tune_reports_what_it_tried_by_the_names_of_parameters(estimator, searched):
    X, target = rows("classes")
    estimator.set_params(random_state=0, options={"folds": 3}).fit(X, target["codes"])
    losses = [candidate["loss"] for candidate in estimator.tuning_]
    assert losses == sorted(losses)
    assert len(losses) > 1
    assert all(set(candidate) == searched | {"loss"} for candidate in estimator.tuning_)
    if "gamma" in searched:
        assert estimator.gamma_ == pytest.approx(estimator.tuning_[0]["gamma"])
    if estimator.get_params().get("C") == 3:
        assert {candidate["C"] for candidate in estimator.tuning_} == {3}


def test_without_tune_there_is_no_tuning():
    X, target = rows("classes")
    estimator = SparseSVC(4, tune=True, random_state=0).fit(X, target["codes"])
    assert estimator.set_params(tune=False).fit(X, target["codes"]).gamma_ == pytest.approx(1 / (2 * X.var()))
    assert not hasattr(estimator, "tuning_")
    with pytest.raises(ValueError, match="tune has nothing to choose: C and the width are given"):
        SparseSVC(4, C=2, gamma=0.5, tune=True).fit(X, target["codes"])
