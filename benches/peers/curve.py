"""Error against vectors: machines trained with few vectors beside Nystroem features, the full support vector machine and gradient boosting.

    cargo build --release -p kernelet-cli
    python benches/peers/curve.py [--set digits|usps] [--data-dir DIR] [--sizes 10,30,100] [--output FILE.svg]

digits are the rows of `kernelet demo` and need no data; usps is DIR/usps/usps.npz. kernelet, Nystroem + LinearSVC and SVC have the same Gaussian kernel
and the same C, with the squared hinge where vectors are few; histogram gradient boosting has scikit-learn's defaults. One run each, seed 0.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))
import chart  # noqa: E402

PROGRAM = os.environ.get("KERNELET", str(ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "kernelet"))
SETTINGS = {"digits": (4e-4, 10), "usps": (1 / 128, 10)}


def kernelet(*words):
    ran = subprocess.run([PROGRAM, *map(str, words), "--quiet", "--json"], check=True, capture_output=True, text=True)
    return json.loads(ran.stdout)


def rows(name, directory, work):
    """Training and test rows, and files of them."""
    if name == "digits":
        kernelet("demo", "-o", work / "digits")
        files = [work / "digits" / f"{part}.svm" for part in ("train", "test")]
        parts = [load_svmlight_file(str(file), n_features=64) for file in files]
        return [(x.toarray(), y) for x, y in parts], files
    arrays = np.load(directory / name / f"{name}.npz")
    parts = [(arrays[f"X_{part}"].astype(float), arrays[f"y_{part}"]) for part in ("train", "test")]
    files = [work / f"{part}.npz" for part in ("train", "test")]
    for file, (x, y) in zip(files, parts):
        np.savez(file, X=x, y=y)
    return parts, files


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", default="digits", choices=SETTINGS)
    parser.add_argument("--data-dir", type=pathlib.Path)
    parser.add_argument("--sizes", default="10,20,30,60,100,200")
    parser.add_argument("--output", type=pathlib.Path)
    asked = parser.parse_args()
    sizes = [int(size) for size in asked.sizes.split(",")]
    gamma, c = SETTINGS[asked.set]
    ours, theirs, levels = "kernelet, vectors trained", "Nystroem + LinearSVC", {}
    series = {ours: [], theirs: []}
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        ((x, y), (x_test, y_test)), files = rows(asked.set, asked.data_dir, work)
        error = lambda model: 100 * float(np.mean(model.fit(x, y).predict(x_test) != y_test))
        for size in sizes:
            kernelet("train", files[0], "-o", work / "m", "--vectors", size, "--gamma", gamma, "--c", c)
            series[ours].append((size, 100 * kernelet("evaluate", work / "m", files[1])["error"]))
            features = Nystroem(gamma=gamma, n_components=size, random_state=0)
            series[theirs].append((size, error(make_pipeline(features, LinearSVC(C=c, max_iter=10_000)))))
        full = SVC(gamma=gamma, C=c)
        levels["full SVM"] = error(full)
        levels["gradient boosting"] = error(HistGradientBoostingClassifier(random_state=0))
    n = len(y_test)
    spread = lambda percent: math.sqrt(percent * (100 - percent) / n)
    print(f"{asked.set}: {len(y):,} training rows, {n:,} test rows of {x.shape[1]} features; gamma {gamma:g}, C {c}; error on the test rows in per cent, with its standard error.\n")
    print("| vectors | " + " | ".join(series) + " |\n|---" + "|---" * len(series) + "|")
    for place, size in enumerate(sizes):
        print(f"| {size} | " + " | ".join(f"{points[place][1]:.2f} +- {spread(points[place][1]):.2f}" for points in series.values()) + " |")
    print(f"\nFull SVM, {int(full.n_support_.sum()):,} vectors: {levels['full SVM']:.2f} %. Gradient boosting: {levels['gradient boosting']:.2f} %.")
    if asked.output:
        name = f"full SVM, {int(full.n_support_.sum()):,} vectors"
        drawn = {name: levels["full SVM"], "gradient boosting": levels["gradient boosting"]}
        asked.output.write_text(chart.lines(f"{asked.set}: error against vectors", "vectors", "test error, %", series, drawn))


if __name__ == "__main__":
    main()
