"""Examples in docstrings and in the guide run as they are printed; the stub declares what the compiled part has."""

import ast
import doctest
import importlib
import json
import pathlib
import pkgutil
import re
import runpy
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from sklearn.datasets import load_iris

import kernelet
from kernelet import _core

ROOT = pathlib.Path(kernelet.__file__).parent
MODULES = [f"kernelet.{module.name}" for module in pkgutil.iter_modules([str(ROOT)]) if module.name != "_core"]
PAGES = [pathlib.Path(__file__).parents[2] / "docs" / name for name in ("python.md", "replace-svc.md", "tutorials/python.md")]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_estimator_has_an_example_and_describes_its_parameters():
    for name in kernelet.__all__:
        made = getattr(kernelet, name)
        if not hasattr(made, "get_params"):
            continue
        assert ">>> from kernelet import" in made.__doc__, name
        for parameter in made().get_params():
            assert f"\n    {parameter} : " in made.__doc__, f"{name}: {parameter}"


def test_the_reference_page_is_made_of_the_docstrings():
    docs = pathlib.Path(__file__).parents[2] / "docs"
    if not docs.exists():
        pytest.skip("the documentation is not installed")
    script = runpy.run_path(str(docs / "python_reference.py"))
    stale = "docs/reference/python.md is stale: python docs/python_reference.py > docs/reference/python.md"
    assert script["page"]() == (docs / "reference" / "python.md").read_text(), stale


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pages(page):
    if not page.exists():
        pytest.skip("the documentation is not installed")
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        return taken.getsockname()[1]


def asked(port: int, rows) -> list:
    """The answer of a service that may still be starting."""
    until = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"http://localhost:{port}", json.dumps(rows).encode(), timeout=60) as answer:
                return json.load(answer)
        except urllib.error.URLError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


@pytest.mark.parametrize("needs", ["kernelet", "onnxruntime"])
def test_the_services_of_the_page_on_production_answer_what_the_machine_predicts(needs, tmp_path):
    page = pathlib.Path(__file__).parents[2] / "docs" / "production.md"
    if not page.exists():
        pytest.skip("the documentation is not installed")
    pytest.importorskip(needs)
    source = next(block for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S) if f"{needs} import" in block or f"import {needs}" in block)
    X, y = load_iris(return_X_y=True)
    model = kernelet.SparseSVC(5, random_state=0, options={"iterations": 10}).fit(X, y)
    model.save(tmp_path / "small.model")
    model.to_onnx(tmp_path / "small.onnx")
    port = free_port()
    (tmp_path / "service.py").write_text(source.replace("8000", str(port)))
    with subprocess.Popen([sys.executable, "service.py"], cwd=tmp_path, stderr=subprocess.PIPE) as service:
        try:
            assert asked(port, X[::7].tolist()) == model.predict(X[::7]).tolist()
        finally:
            service.kill()


def test_the_stub_names_what_is_there():
    tree = ast.parse((ROOT / "_core.pyi").read_text())
    said = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    said |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_")}
    there = {name for name in dir(_core) if not name.startswith("_")}
    assert said == there
    machine = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    methods = {node.name for node in machine.body if isinstance(node, ast.FunctionDef)}
    assert methods == {name for name in dir(_core.Machine) if not name.startswith("_")}
