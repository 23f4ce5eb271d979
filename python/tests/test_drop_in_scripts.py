"""Scripts for scikit-learn's machines run with only the import changed, and come to the same results."""

import contextlib
import io
import pathlib
import re
import warnings

import numpy as np
import pytest

SCRIPTS = sorted((pathlib.Path(__file__).parents[1] / "examples" / "drop_in").glob("*.py"))
IMPORTS = [
    ("from sklearn.svm import", "from kernelet.svm import"),
    ("from sklearn.kernel_ridge import", "from kernelet.kernel_ridge import"),
    ("from sklearn.decomposition import KernelPCA", "from kernelet.decomposition import KernelPCA"),
    ("from sklearn.decomposition import PCA, KernelPCA", "from sklearn.decomposition import PCA\nfrom kernelet.decomposition import KernelPCA"),
]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?|nan")


def changed(text):
    for theirs, ours in IMPORTS:
        text = text.replace(theirs, ours)
    return text


def output(text, name):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
    return said.getvalue()


def both(path):
    """The numbers that a script prints with our import and with theirs; the words between them are the same."""
    text = path.read_text()
    ours, theirs = output(changed(text), path.name), output(text, path.name)
    assert NUMBER.sub("", ours) == NUMBER.sub("", theirs)
    return [np.array([float(number) for number in NUMBER.findall(said)]) for said in (ours, theirs)]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_only_the_import_is_changed(path):
    text = path.read_text()
    assert changed(text) != text
    have, want = both(path)
    assert len(want) > 0
    np.testing.assert_allclose(have, want, rtol=0.02, atol=0.01)


def test_there_are_scripts_for_every_class():
    texts = " ".join(path.read_text() for path in SCRIPTS)
    assert len(SCRIPTS) >= 10
    assert all(f"{name}(" in texts for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "KernelRidge", "KernelPCA"))


if __name__ == "__main__":
    # The table of docs/replace-svc.md: of each script the numbers it prints, and the largest difference between the two libraries.
    for path in SCRIPTS:
        have, want = both(path)
        print(f"{path.name}: {len(want)} numbers, largest difference {np.abs(have - want).max():.1e}")
