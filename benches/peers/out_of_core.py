"""Training on a file that is larger than the memory given, beside Nystroem + SGDClassifier with partial_fit over the same file.

    cargo build --release -p kernelet-cli
    python benches/peers/out_of_core.py [--rows N] [--memory MB] [--vectors M] [--iterations K]

Rows are drawn from ten overlapping clouds of two classes in 20 features and written as an .npy file, the label last. Errors are those of 20,000 other rows;
seconds and peak memory are those of the whole process, reading included.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KERNELET", str(ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "kernelet"))
CENTRES = np.random.default_rng(1).normal(size=(10, 20)) * 1.2
PEER = """
import sys, numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
file, gamma, vectors, passes, test = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
rows, block = np.load(file, mmap_mode="r"), 20_000
features = Nystroem(gamma=gamma, n_components=vectors, random_state=0).fit(rows[:block, :-1])
model = SGDClassifier(random_state=0)
for _ in range(passes):
    for start in range(0, len(rows), block):
        part = np.asarray(rows[start:start + block])
        model.partial_fit(features.transform(part[:, :-1]), part[:, -1], classes=[0, 1])
test = np.load(test)
print(float(np.mean(model.predict(features.transform(test[:, :-1])) != test[:, -1])))
"""
# Runs a command in a process of its own and says how long it took and how much memory it had.
MEASURED = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
out = subprocess.run(sys.argv[1:], check=True, stdout=subprocess.PIPE, text=True).stdout
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"out": out, "seconds": time.perf_counter() - start, "processor": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024}))
"""


def measured(*words):
    ran = subprocess.run([sys.executable, "-c", MEASURED, *map(str, words)], check=True, capture_output=True, text=True)
    return json.loads(ran.stdout)


def write(path, count, seed):
    draw = np.random.default_rng(seed)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(count, 21))
    for start in range(0, count, 50_000):
        size = min(50_000, count - start)
        cloud = draw.integers(10, size=size)
        rows[start:start + size, :-1] = CENTRES[cloud] + draw.normal(size=(size, 20))
        rows[start:start + size, -1] = cloud % 2
    rows.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--memory", type=int, default=64)
    parser.add_argument("--vectors", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=40)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as work:
        train, test, model = (str(pathlib.Path(work) / name) for name in ("train.npy", "test.npy", "m.model"))
        write(train, asked.rows, 1)
        write(test, 20_000, 2)
        megabytes = os.path.getsize(train) / 1e6
        flags = ["--vectors", asked.vectors, "--gamma", 0.02, "--c", 1, "--iterations", asked.iterations, "--blocks", "always", "--memory", asked.memory]
        ours = measured(PROGRAM, "train", train, "-o", model, *flags, "--quiet", "--json")
        error = json.loads(measured(PROGRAM, "evaluate", model, test, "--quiet", "--json")["out"])["error"]
        peer = measured(sys.executable, "-c", PEER, train, 0.02, asked.vectors, 5, test)
    print(f"{asked.rows:,} rows of 20 features, {megabytes:,.0f} MB on disk; kernelet with --memory {asked.memory}.\n")
    print("| program | test error, % | seconds | processor seconds | peak memory, MB |\n|---|---|---|---|---|")
    for name, wrong, used in [
        (f"kernelet, {asked.vectors} vectors, {asked.iterations} steps", error, ours),
        (f"Nystroem({asked.vectors}) + SGDClassifier, 5 passes", float(peer["out"]), peer),
    ]:
        print(f"| {name} | {100 * wrong:.2f} | {used['seconds']:.1f} | {used['processor']:.1f} | {used['megabytes']:.0f} |")


if __name__ == "__main__":
    main()
