"""Sets machines trained directly with few vectors beside Nystroem + LinearSVC of scikit-learn.

    cargo build --release
    python benches/peers/direct.py --data-dir DIR [--sets usps,letter,covtype,mnist] [--ours-only]

Both have a Gaussian kernel, the same number of kernel evaluations for a row and the same C; the squared hinge is the loss of both. Seconds
are those of training on all cores, processor seconds those of training and testing together, which waiting for other programs does not
change. One run each, seed 0. Peak memory is that of the program.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
WORK = TARGET / "peers"
# set: gamma, C, steps, sizes of ours, sizes of theirs
CASES = {
    "usps": (1 / 128, 10, 150, [30, 60, 100], [30, 100, 300, 1000]),
    "letter": (2.0, 10, 60, [100, 200], [100, 200, 1000]),
    "covtype": (0.1, 10, 200, [100], [100, 1000]),
    "mnist": (0.02, 10, 200, [100, 300], [100, 300, 1000]),
}


def load(directory, name, rows):
    arrays = np.load(directory / name / f"{name}.npz")
    if name == "covtype":
        order = np.random.default_rng(0).permutation(len(arrays["y"]))
        x, y = arrays["X"][order].astype(np.float64), (arrays["y"][order] == 2).astype(int)
        train, test = slice(0, rows), slice(rows, min(rows + 50_000, len(y)))
        mean, spread = x[train].mean(0), x[train].std(0)
        x = (x - mean) / np.where(spread > 0, spread, 1)
        return x[train], y[train], x[test], y[test]
    scale = {"letter": lambda x: x / 7.5 - 1, "mnist": lambda x: x / 255}.get(name, lambda x: x)
    x = [scale(arrays[part].astype(np.float64)) for part in ("X_train", "X_test")]
    return x[0], arrays["y_train"].astype(int), x[1], arrays["y_test"].astype(int)


def ours(data, gamma, c, steps, vectors):
    x, y, x_test, y_test = data
    files = [WORK / "direct-train.npz", WORK / "direct-test.npz"]
    for file, rows, labels in [(files[0], x, y), (files[1], x_test, y_test)]:
        np.savez(file, X=rows, y=labels)
    kernelet, model = TARGET / "release" / "kernelet", WORK / "direct.model"
    flags = ["--gamma", gamma, "--c", c, "--vectors", vectors, "--iterations", steps, "--json", "--quiet"]
    run = lambda *command: json.loads(subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout)
    trained = run(kernelet, "train", files[0], "-o", model, *flags)
    return trained["seconds"], run(kernelet, "evaluate", model, files[1], "--json")["error"]


def theirs(data, gamma, c, vectors):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.svm import LinearSVC

    x, y, x_test, y_test = data
    start = time.perf_counter()
    features = Nystroem(gamma=gamma, n_components=vectors, random_state=0).fit(x)
    machine = LinearSVC(C=c, dual=False, max_iter=2000).fit(features.transform(x), y)
    seconds = time.perf_counter() - start
    return seconds, 1 - machine.score(features.transform(x_test), y_test)


def processor_seconds():
    times = os.times()
    return times.user + times.children_user


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=pathlib.Path, required=True)
    parser.add_argument("--sets", default=",".join(CASES))
    parser.add_argument("--rows", type=int, default=100_000, help="rows of covtype to train on")
    parser.add_argument("--ours-only", action="store_true")
    given = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    print(f"{'set':8} {'method':20} {'vectors':>8} {'error %':>8} {'seconds':>8} {'processor s':>11} {'peak MB':>8}", flush=True)
    for name in given.sets.split(","):
        gamma, c, steps, our_sizes, their_sizes = CASES[name]
        data = load(given.data_dir, name, given.rows)
        runs = [("kernelet", m, lambda m=m: ours(data, gamma, c, steps, m)) for m in our_sizes]
        if not given.ours_only:
            runs += [("Nystroem + LinearSVC", m, lambda m=m: theirs(data, gamma, c, m)) for m in their_sizes]
        for method, vectors, run in runs:
            before, (seconds, error) = processor_seconds(), run()
            spent = processor_seconds() - before
            who = resource.RUSAGE_CHILDREN if method == "kernelet" else resource.RUSAGE_SELF
            peak = resource.getrusage(who).ru_maxrss / 1024
            print(f"{name:8} {method:20} {vectors:8} {100 * error:8.2f} {seconds:8.1f} {spent:11.1f} {peak:8.0f}", flush=True)


main()
