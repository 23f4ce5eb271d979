"""Sets kernelet beside LIBSVM and scikit-learn: the same work, one thread, in turns, best of several runs.

    cargo build --release -p kernelet --examples
    python benches/peers/peers.py [--data-dir DIR] [--repeat K] [--only NAME,...]

Without --data-dir only made-up sets run. DIR holds usps/usps.npz, letter/letter.npz, ijcnn1/ijcnn1.npz, a9a/a9a.npz and
kin40k/kin40k.npz with the arrays X_train and y_train, or X and y, of which the first 10,000 rows are taken. Seconds are processor time of the one working thread, so that a busy machine does little harm;
contenders take turns, and the best of all turns counts. A peer that is not installed is left out with a sentence.
"""
import os

for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
    os.environ[name] = "1"

import argparse
import io
import json
import math
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
WORK = TARGET / "peers"
CACHE_MEGABYTES = 200
TOLERANCE = 1e-3

try:
    import numpy as np
except ImportError:
    print("numpy is not installed, and nothing can be compared without it.", file=sys.stderr)
    sys.exit(0)
try:
    import sklearn
    from sklearn.datasets import load_svmlight_file
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.svm import OneClassSVM, SVC, SVR
except ImportError:
    sklearn = None
    print("scikit-learn is not installed: all peers are left out, as objectives are compared with its help.", file=sys.stderr)
try:
    import importlib.metadata
    import scipy.sparse
    from libsvm import svm, svmutil
except ImportError:
    svm = None
    print("libsvm-official is not installed: its rows are left out.", file=sys.stderr)


class Case:
    """One training problem, and where its rows are for each contender."""

    def __init__(self, name, gamma, x, y, learner="svc", repeat=None, sparse=False, **settings):
        self.name, self.gamma, self.learner, self.settings, self.repeat = name, gamma, learner, settings, repeat
        self.x, self.y = np.ascontiguousarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        file = WORK / name.replace(" ", "-").replace("=", "")
        self.problem = None
        if sparse:
            self.file = file.with_suffix(".svm")
            self.file.write_bytes(as_text(self.x, self.y, "%.17g"))
            self.x = scipy.sparse.csr_matrix(self.x)
        else:
            self.file = file.with_suffix(".npz")
            np.savez(self.file, X=self.x, y=self.y if learner == "svr" else self.y.astype(np.int64))


def example(name, *arguments):
    command = [TARGET / "release" / "examples" / name, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def kernelet(case):
    settings = {"learner": case.learner, "gamma": case.gamma, "cache": CACHE_MEGABYTES} | case.settings
    return json.loads(example("timing", "fit", case.file, *(f"{name}={value}" for name, value in settings.items())))


def scikit_learn(case):
    common = {"gamma": case.gamma, "tol": TOLERANCE, "cache_size": CACHE_MEGABYTES}
    renamed = {("C" if name == "c" else name): value for name, value in case.settings.items()}
    model = {"svc": SVC, "svr": SVR, "one-class": OneClassSVM}[case.learner](**common, **renamed)
    start = time.thread_time()
    model.fit(case.x, case.y)
    seconds = time.thread_time() - start
    coefficients = model.dual_coef_.toarray() if scipy.sparse.issparse(model.dual_coef_) else model.dual_coef_
    counts = model.n_support_ if case.learner == "svc" else None
    return {"seconds": seconds, "vectors": len(model.support_),
            "objective": lambda: objective(case, model.support_, counts, coefficients)}


def libsvm(case):
    if case.problem is None:
        case.problem = svm.svm_problem(case.y, scipy.sparse.csr_matrix(case.x))
    kind = {"svc": 0, "one-class": 2, "svr": 3}[case.learner]
    flags = {"c": "-c", "nu": "-n", "epsilon": "-p"}
    settings = " ".join(f"{flags[name]} {value}" for name, value in case.settings.items())
    parameter = svm.svm_parameter(f"-q -s {kind} -t 2 -g {case.gamma} {settings} -e {TOLERANCE} -m {CACHE_MEGABYTES}")
    start = time.thread_time()
    model = svmutil.svm_train(case.problem, parameter)
    seconds = time.thread_time() - start
    places = np.array(model.get_sv_indices()) - 1
    counts = model.nSV[: model.nr_class] if case.learner == "svc" else None
    coefficients = np.array([[model.sv_coef[i][j] for j in range(model.l)] for i in range(model.nr_class - 1)])
    return {"seconds": seconds, "vectors": model.l, "objective": lambda: objective(case, places, counts, coefficients)}


def squared_norm(case, rows, beta):
    total = 0.0
    for first in range(0, len(rows), 1000):
        k = rbf_kernel(case.x[rows[first:first + 1000]], case.x[rows], gamma=case.gamma)
        total += beta[first:first + 1000] @ (k @ beta)
    return total


def objective(case, places, counts, coefficients):
    """The dual objective in double precision; for classifiers summed over the pairs of LIBSVM's layout."""
    if case.learner != "svc":
        beta = coefficients[0]
        half = 0.5 * squared_norm(case, places, beta)
        return half - case.y[places] @ beta + case.settings["epsilon"] * np.abs(beta).sum() if case.learner == "svr" else half
    starts = np.concatenate([[0], np.cumsum(counts)])
    total = 0.0
    for a in range(len(counts)):
        for b in range(a + 1, len(counts)):
            of_a, of_b = slice(starts[a], starts[a + 1]), slice(starts[b], starts[b + 1])
            beta = np.concatenate([coefficients[b - 1, of_a], coefficients[a, of_b]])
            rows = np.concatenate([places[of_a], places[of_b]])[beta != 0]
            beta = beta[beta != 0]
            total += 0.5 * squared_norm(case, rows, beta) - np.abs(beta).sum()
    return total


def best_in_turns(case, repeat):
    """The fastest run of each contender."""
    contenders = [("kernelet", kernelet)]
    if svm and sklearn:
        contenders.append(("LIBSVM", libsvm))
    if sklearn:
        contenders.append(("scikit-learn", scikit_learn))
    best = {}
    for turn in range(case.repeat or repeat):
        for name, run in contenders:
            result = run(case)
            print(f"{case.name}, turn {turn + 1}: {name} {result['seconds']:.3f} s", file=sys.stderr)
            if name not in best or result["seconds"] < best[name]["seconds"]:
                best[name] = result
    return best


def show_fits(cases, repeat):
    print("\n| case | program | seconds | times kernelet's | objective, relative difference | vectors |\n|---|---|---|---|---|---|")
    notes = []
    for case in cases:
        best = best_in_turns(case, repeat)
        ours = best["kernelet"]
        for name, result in best.items():
            difference = "" if name == "kernelet" else f"{result['objective']() / ours['objective'] - 1:.1e}"
            ratio = "1" if name == "kernelet" else f"{result['seconds'] / ours['seconds']:.2f}"
            print(f"| {case.name} | {name} | {result['seconds']:.3f} | {ratio} | {difference} | {result['vectors']} |", flush=True)
        if ours["megabytes"]:
            n, d = case.x.shape
            notes.append(f"| {case.name} | {n} x {d} | {n * d * 8 / 1e6:.1f} | {ours['megabytes_before']:.1f} | {ours['megabytes']:.1f} | "
                         f"{CACHE_MEGABYTES * 1.048576:.1f} | {ours['evaluations'] / n / n:.2f} |")
    print("\n| case | rows | data in double precision, MB | peak before training, MB | peak, MB | cache limit, MB | kernel evaluations / n^2 |")
    print("|---|---|---|---|---|---|---|")
    print("\n".join(notes), flush=True)


def show_reading(texts, repeat):
    print("\n| LIBSVM text | size, MB | kernelet, MB/s | scikit-learn, MB/s | ratio |\n|---|---|---|---|---|")
    for name, text in texts:
        file = WORK / f"{name.replace(' ', '-')}.svm"
        file.write_bytes(text)
        ours, theirs = 0.0, 0.0
        for _ in range(repeat):
            # Some 400 MB a measurement: our clock is exact to a few milliseconds only.
            times = math.ceil(4e8 / len(text))
            ours = max(ours, json.loads(example("timing", "read", file, times))["megabytes_a_second"])
            start = time.thread_time()
            load_svmlight_file(io.BytesIO(text))
            theirs = max(theirs, len(text) / 1e6 / (time.thread_time() - start))
        print(f"| {name} | {len(text) / 1e6:.1f} | {ours:.0f} | {theirs:.0f} | {ours / theirs:.1f} |", flush=True)


def dense(text):
    """Rows and labels of LIBSVM text, read without any peer."""
    lines = [line.split() for line in text.decode().splitlines()]
    dim = max(int(field.split(":")[0]) for line in lines for field in line[1:])
    x = np.zeros((len(lines), dim))
    for i, line in enumerate(lines):
        for field in line[1:]:
            index, value = field.split(":")
            x[i, int(index) - 1] = float(value)
    return x, np.array([float(line[0]) for line in lines])


def made_up():
    x, y = dense(example("dump", "noisy", 5000, 1))
    yield Case("noisy C=1", 0.05, x, y, c=1.0)
    yield Case("noisy C=100", 0.05, x, y, c=100.0)
    # Friedman's first function of ten uniform numbers, with noise of variance 1.
    random = np.random.default_rng(1)
    x = random.random((10000, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4] + random.normal(size=10000)
    yield Case("svr friedman", 0.5, x, y, learner="svr", c=10.0, epsilon=0.5)
    yield Case("svr friedman 5000", 0.5, x[:5000], y[:5000], learner="svr", c=10.0, epsilon=0.5)
    x, y = dense(example("dump", "twonorm", 20000, 1))
    yield Case("one-class twonorm", 0.02, x, y, learner="one-class", nu=0.1, repeat=3)
    yield Case("one-class twonorm 5000", 0.02, x[:5000], y[:5000], learner="one-class", nu=0.1)


def real(folder):
    def load(name):
        arrays = np.load(folder / name / f"{name}.npz")
        if "X" in arrays:
            return arrays["X"][:10000].astype(np.float64), arrays["y"][:10000]
        return arrays["X_train"].astype(np.float64), arrays["y_train"]

    x, y = load("usps")
    yield Case("usps", 1 / 128, x, y, c=10.0)
    x, y = load("letter")
    yield Case("letter", 2.0, 2 * (x - x.min(0)) / (x.max(0) - x.min(0)) - 1, y, repeat=2, c=10.0)
    x, y = load("ijcnn1")
    yield Case("ijcnn1", 2.0, x, y, repeat=2, c=32.0)
    yield Case("one-class ijcnn1", 2.0, x[:20000], y[:20000], learner="one-class", nu=0.05, repeat=2)
    x, y = load("a9a")
    yield Case("a9a", 1 / 32, x, y, repeat=1, sparse=True, c=1.0)
    x, y = load("kin40k")
    yield Case("svr kin40k", 0.1, x, y, learner="svr", repeat=2, c=10.0, epsilon=0.1)


def texts(folder):
    yield "noisy", example("dump", "noisy", 40000, 1)
    x, y = dense(example("dump", "noisy", 40000, 1))
    yield "noisy six digits", as_text(x, y, "%.6f")
    if folder:
        arrays = np.load(folder / "a9a" / "a9a.npz")
        yield "a9a", as_text(arrays["X_train"], arrays["y_train"], "%d")


def as_text(x, y, form):
    rows = ([f"{j + 1}:{form % row[j]}" for j in np.flatnonzero(row)] for row in x)
    return "".join(f"{int(label):+d} {' '.join(row)}\n" for label, row in zip(y, rows)).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=pathlib.Path, help="folder with the real sets; without it only made-up sets run")
    parser.add_argument("--repeat", type=int, default=5, help="turns of each contender")
    parser.add_argument("--only", help="names of cases between commas, or: reading")
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    wanted = options.only.split(",") if options.only else None
    versions = [f"Python {sys.version.split()[0]}", f"numpy {np.__version__}"]
    versions += [f"scikit-learn {sklearn.__version__}"] if sklearn else []
    versions += [f"libsvm-official {importlib.metadata.version('libsvm-official')}"] if svm else []
    print(", ".join(versions))
    cases = [*made_up(), *(real(options.data_dir) if options.data_dir else [])]
    if not options.data_dir:
        print("No --data-dir: usps, letter, ijcnn1, a9a and kin40k are left out.", file=sys.stderr)
    cases = [case for case in cases if wanted is None or case.name in wanted]
    if cases:
        show_fits(cases, options.repeat)
    if sklearn and (wanted is None or "reading" in wanted):
        show_reading(texts(options.data_dir), options.repeat)


if __name__ == "__main__":
    main()
