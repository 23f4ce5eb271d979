"""Sets kernel PCA beside scikit-learn's: the same rows, one thread, in turns, best of several runs.

    cargo build --release -p kernelet --examples
    python benches/peers/pca.py [--rows N] [--components K] [--repeat R] [--skip-dense]

Rows are drawn from five clouds in 20 features, so that the spectrum has a head and a long tail; the kernel is Gaussian, with a wide
(1/20) and a narrow (1/5) setting. scikit-learn runs with eigen_solver auto (dense for this many components; --skip-dense leaves it out),
arpack and randomized; all fit only. Eigenvalues are compared with those of arpack, which are exact to rounding, each relative to
itself. A solver is in the race when its eigenvalues agree to 1e-6. Seconds are processor time of the one working thread.
"""
import os

for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
    os.environ[name] = "1"

import argparse
import json
import pathlib
import subprocess
import time

import numpy as np
import sklearn
from sklearn.decomposition import KernelPCA

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
WORK = TARGET / "peers"
AGREE = 1e-6


def rows(count):
    draw = np.random.default_rng(1)
    centres = draw.normal(size=(5, 20))
    return centres[draw.integers(5, size=count)] + draw.normal(size=(count, 20)) * np.linspace(1.0, 0.2, 20)


def kernelet(file, gamma, components):
    command = [TARGET / "release" / "examples" / "timing", "pca", file, str(gamma), str(components)]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return answer["seconds"], np.array(answer["variances"])


def scikit_learn(x, gamma, components, solver):
    model = KernelPCA(components, kernel="rbf", gamma=gamma, eigen_solver=solver, random_state=0)
    start = time.thread_time()
    model.fit(x)
    return time.thread_time() - start, model.eigenvalues_ / len(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--skip-dense", action="store_true")
    flags = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    x, file = rows(flags.rows), WORK / "pca.npz"
    np.savez(file, X=x)
    solvers = ["arpack", "randomized"] + ([] if flags.skip_dense else ["auto"])
    print(f"{flags.rows} rows, {flags.components} components, scikit-learn {sklearn.__version__}, one thread each, best of {flags.repeat}")
    print(f"{'gamma':>6}  {'solver':24}{'seconds':>9}  {'eigenvalues apart':>18}  times kernelet")
    for gamma in [0.05, 0.2]:
        best = {}
        for turn in range(flags.repeat):
            runs = {"kernelet": lambda: kernelet(file, gamma, flags.components)}
            for solver in solvers:
                if turn == 0 or solver != "auto":
                    runs[f"scikit-learn {solver}"] = lambda solver=solver: scikit_learn(x, gamma, flags.components, solver)
            for name, run in runs.items():
                seconds, values = run()
                if name not in best or seconds < best[name][0]:
                    best[name] = (seconds, values)
        exact = best["scikit-learn arpack"][1]
        for name, (seconds, values) in best.items():
            apart = np.abs(values / exact - 1).max() if len(values) == len(exact) else float("nan")
            race = "" if apart <= AGREE else "  not equal to 1e-6"
            print(f"{gamma:6}  {name:24}{seconds:9.3f}  {apart:18.1e}  {seconds / best['kernelet'][0]:.2f}{race}")


if __name__ == "__main__":
    main()
