"""Writes docs/reference/python.md from the docstrings of the Python package.

    python docs/python_reference.py > docs/reference/python.md

The package must be installed. A test of the package (test_documentation.py) fails where the page is stale.
"""

import importlib
import inspect
import re

HEAD = """# Python: classes and functions

Which classes and functions does the package have, with which parameters, attributes and methods? This page is made from their docstrings by
`python docs/python_reference.py > docs/reference/python.md`. [Python by task](../python.md) explains what they are for. Every estimator is one of scikit-learn's kind: `fit`, `get_params`,
`set_params`, `clone`, pipelines and searches work as for scikit-learn's own.
"""
MODULES = ("kernelet", "kernelet.svm", "kernelet.kernel_ridge", "kernelet.decomposition", "kernelet.dask")


def escaped(text: str) -> str:
    """Prose of a docstring as Markdown: double backticks become single ones, and marks outside of them stay marks."""
    text = re.sub(r":(?:class|func|meth|mod):`~?([^`]*)`", r"``\1``", text)
    text = re.sub(r"\[`(?:PyMachine::)?([^`]*)`\]", r"``\1``", text)
    parts = re.split(r"(``[^`]*``)", text)
    return "".join(f"`{part[2:-2]}`" if part.startswith("``") else part.replace("<", "&lt;").replace("*", r"\*").replace("|", r"\|") for part in parts)


def sections(text: str) -> list[tuple[str, str]]:
    """The sections of a docstring in the style of numpydoc; the first has no title."""
    found = [("", [])]
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if re.fullmatch(r"-{3,}", line.strip()) and at and len(lines[at - 1].strip()) == len(line.strip()):
            title = found[-1][1].pop().strip()
            found.append((title, []))
        else:
            found[-1][1].append(line)
    return [(title, "\n".join(body).strip("\n")) for title, body in found]


def entries(body: str) -> str:
    """Parameters, attributes: a name with its type, then indented lines."""
    text = ""
    for line in body.split("\n"):
        if line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            text += f"\n- `{name}`" + (f" ({escaped(kind)})" if kind else "") + ":"
        elif line.strip():
            text += " " + escaped(line.strip())
    return text.strip("\n") + "\n"


def prose(body: str) -> str:
    """Paragraphs; examples of the interpreter become blocks of code."""
    text = ""
    for paragraph in body.split("\n\n"):
        if paragraph.lstrip().startswith(">>>"):
            text += f"```python\n{inspect.cleandoc(paragraph)}\n```\n\n"
        elif paragraph.strip():
            text += escaped(" ".join(line.strip() for line in paragraph.split("\n"))) + "\n\n"
    return text


def described(thing) -> str:
    text = ""
    for title, body in sections(inspect.getdoc(thing) or ""):
        if title:
            text += f"**{title}**\n\n"
        text += prose(body) if title in ("", "Examples", "Notes", "References") else entries(body) + "\n"
    return text


def signature(thing) -> str:
    try:
        found = inspect.signature(thing)
    except ValueError:
        return "(..)"
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values() if parameter.name != "self"]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty)).replace("Ellipsis", "..")


def methods(kind: type) -> str:
    text = ""
    for name in dir(kind):
        thing = getattr(kind, name)
        # What scikit-learn gives to every estimator is described there.
        ours = (getattr(thing, "__module__", None) or "kernelet").startswith("kernelet")
        if name.startswith("_") or not callable(thing) or not ours:
            continue
        summary = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
        text += f"- `{name}{signature(thing)}`: {escaped(summary)}\n"
    return text


def public(module) -> list[str]:
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    return [name for name in names if not name.startswith("_") and callable(getattr(module, name))]


def page() -> str:
    text = HEAD
    for place in MODULES:
        module = importlib.import_module(place)
        text += f"\n## {place}\n\n"
        if place != "kernelet":
            text += prose(inspect.getdoc(module) or "")
        for name in public(module):
            thing = getattr(module, name)
            if place != "kernelet" and not getattr(thing, "__module__", "").startswith(place):
                continue
            text += f"\n### {place}.{name}\n\n```text\n{name}{signature(thing)}\n```\n\n{described(thing)}"
            found = methods(thing) if isinstance(thing, type) and not issubclass(thing, Warning) else ""
            text += f"**Methods**\n\n{found}\n" if found else ""
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")
