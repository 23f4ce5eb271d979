"""Sets ridge regression with vectors found with it beside ridge regression on bases chosen before, at the same cost for a row.

    cargo build --release
    python benches/peers/direct_ridge.py --data-dir DIR [--sets kin40k,kin8nm,abalone] [--sizes 10,25,50,100] [--steps 200]

All have a Gaussian kernel, standardised inputs and targets, the same lambda and seed 0; one run each. Nystroem + Ridge is that of scikit-learn
(left out where it is missing); direct, greedy-basis and full are kernelet. Full ridge regression sees the first rows only (--full-rows) and has
as many vectors as rows. Seconds are processor seconds of training, all threads together.
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
# set: gamma, lambda, part of the rows to train on
CASES = {"kin40k": (0.1, 0.01, 0.75), "kin8nm": (0.1, 0.1, 0.75), "abalone": (0.1, 1.0, 0.75)}


def load(directory, name, part):
    arrays = np.load(directory / name / f"{name}.npz")
    x, y = arrays["X"].astype(np.float64), arrays["y"].astype(np.float64)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [int(part * len(y))])
    standard = lambda v: (v - v[train].mean(0)) / np.where(v[train].std(0) > 0, v[train].std(0), 1)
    x, y = standard(x), standard(y)
    return x[train], y[train], x[test], y[test]


def ours(data, flags):
    x, y, x_test, y_test = data
    files = [WORK / "ridge-train.npz", WORK / "ridge-test.npz"]
    for file, rows, values in [(files[0], x, y), (files[1], x_test, y_test)]:
        np.savez(file, X=rows, y=values)
    kernelet, model = TARGET / "release" / "kernelet", WORK / "ridge.model"
    run = lambda *command: json.loads(subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run(kernelet, "train", files[0], "-o", model, "--learner", "ridge", *flags, "--json", "--quiet")
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return run(kernelet, "evaluate", model, files[1], "--json")["mse"], seconds


def theirs(data, gamma, penalty, vectors):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge

    x, y, x_test, y_test = data
    start = time.process_time()
    features = Nystroem(gamma=gamma, n_components=vectors, random_state=0).fit(x)
    machine = Ridge(alpha=penalty, fit_intercept=False).fit(features.transform(x), y)
    seconds = time.process_time() - start
    return np.mean((machine.predict(features.transform(x_test)) - y_test) ** 2), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=pathlib.Path, required=True)
    parser.add_argument("--sets", default=",".join(CASES))
    parser.add_argument("--sizes", default="10,25,50,100")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--full-rows", type=int, default=3000, help="rows of full ridge regression")
    given = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    print(f"{'set':8} {'method':18} {'vectors':>8} {'test mse':>9} {'seconds':>8}", flush=True)
    for name in given.sets.split(","):
        gamma, penalty, part = CASES[name]
        data = load(given.data_dir, name, part)
        shared = ["--gamma", gamma, "--lambda", penalty]
        sizes = [int(size) for size in given.sizes.split(",")]
        runs = [("direct", m, lambda m=m: ours(data, [*shared, "--vectors", m, "--iterations", given.steps])) for m in sizes]
        runs += [("greedy-basis", m, lambda m=m: ours(data, [*shared, "--vectors", m, "--method", "greedy-basis"])) for m in sizes]
        runs += [("Nystroem + Ridge", m, lambda m=m: theirs(data, gamma, penalty, m)) for m in [*sizes, 1000]]
        few = (data[0][: given.full_rows], data[1][: given.full_rows], *data[2:])
        runs += [("full, fewer rows", len(few[0]), lambda: ours(few, shared))]
        for method, vectors, run in runs:
            try:
                error, seconds = run()
            except ImportError as missing:
                print(f"{name:8} {method:18} left out: {missing}", flush=True)
                continue
            print(f"{name:8} {method:18} {vectors:8} {error:9.4f} {seconds:8.1f}", flush=True)


main()
