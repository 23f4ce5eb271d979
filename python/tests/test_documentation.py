"""Examples in docstrings and in the guide run as they are printed; the stub declares what the compiled part has."""

import ast
import doctest
import importlib
import pathlib
import pkgutil
import runpy

import pytest

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


def test_the_stub_names_what_is_there():
    tree = ast.parse((ROOT / "_core.pyi").read_text())
    said = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    said |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign) and not node.target.id.startswith("_")}
    there = {name for name in dir(_core) if not name.startswith("_")}
    assert said == there
    machine = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    methods = {node.name for node in machine.body if isinstance(node, ast.FunctionDef)}
    assert methods == {name for name in dir(_core.Machine) if not name.startswith("_")}
