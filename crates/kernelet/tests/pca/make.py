"""Makes the reference values of kernel PCA in this folder with scikit-learn.

    pip install numpy scipy scikit-learn
    python crates/kernelet/tests/pca/make.py

The rows come from the library itself, through the example `dump`. Each file holds one case: its settings, the eigenvalues of the
centred kernel matrix, and the features of test rows by the dense solver. Signs are scikit-learn's and mean nothing.
"""
import importlib.metadata
import io
import json
import pathlib
import subprocess

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.decomposition import KernelPCA

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
VERSIONS = {name: importlib.metadata.version(name) for name in ["scikit-learn", "numpy"]}
SEED, TEST_SEED, TEST_ROWS = 1, 2, 10

CASES = [
    {"case": "gaussian", "set": "waveform3", "rows": 120, "components": 5, "kernel": {"name": "gaussian", "gamma": 0.05}},
    # Enough rows for the iterative solver.
    {"case": "iterative", "set": "banana", "rows": 700, "components": 12, "kernel": {"name": "gaussian", "gamma": 1.0}},
    {"case": "polynomial", "set": "ripley", "rows": 80, "components": 4,
     "kernel": {"name": "polynomial", "gamma": 0.5, "degree": 3, "coef0": 1.0}},
    # Twenty features: no more than twenty components.
    {"case": "linear", "set": "twonorm", "rows": 60, "components": 20, "kernel": {"name": "linear"}},
]
NAMES = {"gaussian": "rbf", "polynomial": "poly", "linear": "linear"}


def dump(name, rows, seed):
    command = ["cargo", "run", "--quiet", "--release", "-p", "kernelet", "--example", "dump", name, str(rows), str(seed)]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    return load_svmlight_file(io.BytesIO(text))[0].toarray()


def solve(case):
    x, test = dump(case["set"], case["rows"], SEED), dump(case["set"], TEST_ROWS, TEST_SEED)
    kernel = {name: value for name, value in case["kernel"].items() if name != "name"}
    model = KernelPCA(case["components"], kernel=NAMES[case["kernel"]["name"]], eigen_solver="dense", **kernel).fit(x)
    print(f"{case['case']:15} largest {model.eigenvalues_[0]:.6f}, smallest {model.eigenvalues_[-1]:.6f}")
    return dict(case, seed=SEED, test_seed=TEST_SEED, made_with=VERSIONS, eigenvalues=model.eigenvalues_.tolist(),
                features=model.transform(test).tolist())


if __name__ == "__main__":
    for case in CASES:
        text = json.dumps(solve(case), separators=(",", ":"))
        (HERE / f"{case['case']}.json").write_text(text.replace('"features":', '\n"features":').replace("],[", "],\n[") + "\n")
