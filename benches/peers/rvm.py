"""Sets relevance vector classification beside fastrvm: one thread each, in turns, best of several runs.

    cargo build --release -p kernelet --examples
    python benches/peers/rvm.py [--repeat K]

Both maximise the same evidence (Gaussian kernel, no offset: the two programs have different priors for it). The evidence has many local
maxima, so the column `evidence` matters as much as the seconds: higher is better. Seconds are processor time of the working thread.
fastrvm runs once where it takes longer than ten seconds.
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
WORK = TARGET / "peers"
# rows, features, gamma
CASES = [(500, 2, 0.5), (1000, 2, 0.5), (2000, 2, 0.5), (1000, 20, 0.05)]


def rows(n, dim, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, dim))
    return x, (np.sin(2 * x[:, 0]) + 0.7 * x[:, 1] + 0.4 * rng.normal(size=n) > 0).astype(int)


def ours(x, y, gamma):
    path = WORK / "rvm.csv"
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", fmt=["%.17g"] * x.shape[1] + ["%d"])
    command = [TARGET / "release" / "examples" / "timing", "rvm", path, str(gamma), "false"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def theirs(x, y, gamma):
    from fastrvm import RVC

    start = time.thread_time()
    machine = RVC(gamma=gamma, n_jobs=1).fit(x, y)
    seconds = time.thread_time() - start
    return {"seconds": seconds, "evidence": float(machine.scores_[-1]), "vectors": int(machine.n_relevance_[0])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        import fastrvm  # noqa: F401
    except ImportError:
        raise SystemExit("fastrvm is not installed, so there is nothing to compare with: pip install fastrvm")
    print(f"{'rows':>12} {'program':9} {'seconds':>8} {'ratio':>6} {'evidence':>10} {'vectors':>8}")
    for seed, (n, dim, gamma) in enumerate(CASES):
        x, y = rows(n, dim, seed)
        best = {}
        for turn in range(repeat):
            for name, fit in [("kernelet", ours), ("fastrvm", theirs)]:
                if turn and best[name]["seconds"] > 10:
                    continue
                found = fit(x, y, gamma)
                if name not in best or found["seconds"] < best[name]["seconds"]:
                    best[name] = found
        for name, found in best.items():
            ratio = found["seconds"] / best["kernelet"]["seconds"]
            figures = f"{found['seconds']:8.3f} {ratio:6.1f} {found['evidence']:10.2f} {found['vectors']:8}"
            print(f"{f'{n} x {dim}':>12} {name:9} {figures}", flush=True)


main()
