"""Compression of a noisy machine with thousands of vectors, beside random vectors with a least-squares refit of the outputs.

    make bench-compress [DATA=DIR]

The rows are scikit-learn's make_classification with three labels in ten drawn at random, so that most rows are vectors of the machine. With DATA=DIR the
machines of the papers' sets are compressed too: auto beside pursuit, fixed-point with refinement, and direct training on the labels, at two sizes.
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
from sklearn.datasets import make_classification

PROGRAM = pathlib.Path(os.environ.get("KERNELET", "target/release/kernelet"))


def kernelet(*flags):
    ran = subprocess.run([PROGRAM, *map(str, flags), "--quiet", "--json"], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise SystemExit(f"kernelet {' '.join(map(str, flags))}\n{ran.stderr}")
    return json.loads(ran.stdout)


def peak_megabytes(*flags):
    """The largest memory of a run, as the system counts it: started by a small process, because a new one is counted from what its parent had."""
    program = [str(PROGRAM), *map(str, flags), "--quiet"]
    watch = f"import resource, subprocess; subprocess.run({program!r}, stdout=subprocess.DEVNULL, check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    return int(subprocess.run([sys.executable, "-c", watch], capture_output=True, text=True, check=True).stdout) / 1024


def save(path, rows, labels):
    np.savez(path, X=rows.astype(float), y=labels)
    return path


def gaussian(rows, vectors, gamma):
    squares = (rows**2).sum(1)[:, None] + (vectors**2).sum(1)[None] - 2 * rows @ vectors.T
    return np.exp(-gamma * np.maximum(squares, 0))


def noisy(folder):
    rows, labels = make_classification(
        n_samples=20000, n_features=20, n_informative=10, n_redundant=4, n_clusters_per_class=8, flip_y=0.3, class_sep=0.8, random_state=0
    )
    rows = (rows - rows.mean(0)) / rows.std(0)
    train, test = save(folder / "train.npz", rows[:16000], labels[:16000]), save(folder / "test.npz", rows[16000:], labels[16000:])
    native, model = folder / "native.model", folder / "full.model"
    kernelet("train", train, "-o", native, "--gamma", 0.05, "--c", 1)
    kernelet("export", native, "-o", model, "--to", "libsvm")
    full = kernelet("evaluate", model, test)
    inner = kernelet("inspect", model)
    print(f"LIBSVM model: {inner['vectors']} vectors of 20 features, test error {100 * full['error']:.2f} %\n")
    kernelet("export", native, "-o", folder / "full.json", "--to", "json")
    described = json.loads((folder / "full.json").read_text())
    vectors = np.array(described["vectors"])
    beta = np.array(described["coefficients"]["values"] if isinstance(described["coefficients"], dict) else described["coefficients"])
    beta = beta.reshape(len(vectors), -1)[:, 0]
    outputs = gaussian(rows, vectors, 0.05) @ beta
    offset = described["offsets"][0]
    draw = np.random.default_rng(0)
    print("| vectors | random + least squares | quick | time | normal | time | without rows | time |\n|---|---|---|---|---|---|---|---|")
    for size in (100, 200, 500, 1000):
        chosen = vectors[draw.permutation(len(vectors))[:size]]
        values = gaussian(rows, chosen, 0.05)
        refit = np.linalg.lstsq(values[:16000], outputs[:16000], rcond=None)[0]
        floor = np.mean((values[16000:] @ refit + offset > 0) == (outputs[16000:] + offset > 0))
        cells = [f"{100 * floor:.1f} %"]
        for flags in (["--data", train, "--effort", "quick"], ["--data", train], []):
            small = kernelet("compress", model, "-o", folder / "small.model", "--vectors", size, "--test", test, *flags)
            cells += [f"{100 * small['agreement']:.1f} %", f"{small['seconds']:.1f} s"]
        print(f"| {size} | " + " | ".join(cells) + " |", flush=True)
    for size in (200, 1000):
        peak = peak_megabytes("compress", model, "-o", folder / "small.model", "--vectors", size, "--data", train, "--effort", "quick")
        print(f"peak memory to {size} vectors, quick: {peak:.0f} MB")


IDA = {"banana": (1.0, 316.2), "image": (1 / 30, 500), "waveform": (1 / 20, 1), "german": (1 / 55, 3.162)}


def set_of(folder, data, name, split):
    """Training rows, test rows, gamma, C and further flags of the full machine."""
    arrays = np.load(data / name / f"{name}.npz")
    if name in IDA:
        train, test = arrays["train_idx"][split], arrays["test_idx"][split]
        pairs = [(arrays["X"][rows], arrays["y"][rows].astype(int)) for rows in (train, test)]
        settings = (*IDA[name], [])
    else:
        pairs = [(arrays[f"X_{part}"].astype(float), arrays[f"y_{part}"]) for part in ("train", "test")]
        settings = (1 / 128, 10, ["--multiclass", "one-vs-rest"]) if name == "usps" else (2, 10, [])
        if name == "letter":
            pairs = [(rows / 7.5 - 1, labels) for rows, labels in pairs]
    paths = [save(folder / f"{name}-{part}.npz", *pair) for part, pair in zip(("train", "test"), pairs)]
    return (*paths, *settings)


def errors_of(folder, name, chosen, wanted):
    """Vectors, rows and, for each machine, its error on the test rows and the seconds it took: those of auto, of its rivals, and the full one."""
    train, test, gamma, c, more = chosen
    model, small = folder / "full.model", folder / "small.model"
    full = kernelet("train", train, "-o", model, "--gamma", gamma, "--c", c, *more)
    size = wanted if wanted >= 1 else max(2, round(wanted * full["vectors"]))
    third = ["--method", "pursuit", "--refine", "--refine-steps", "50"] if name == "letter" else ["--method", "fixed-point", "--refine"]
    found = []
    for flags in ([], ["--labels"], ["--method", "pursuit"], third):
        begun = time.time()
        answer = kernelet("compress", model, "-o", small, "--vectors", size, "--data", train, "--test", test, *flags)
        found.append((answer["test_error"], time.time() - begun))
    begun = time.time()
    kernelet("train", train, "-o", small, "--gamma", gamma, "--c", c, "--vectors", size)
    seconds = time.time() - begun
    found.append((kernelet("evaluate", small, test)["error"], seconds))
    before = kernelet("evaluate", model, test)
    return size, before["rows"], [*found, (before["error"], 0.0)]


def papers(folder, data, names, splits):
    titles = ["set", "vectors", "auto", "with labels", "pursuit", "fixed-point + refine", "margin", "full", "standard error", "of the mean"]
    print("\n| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for name in names:
        count = splits if name in IDA else 1
        for wanted in [0.1, 0.02, *([100, 30] if name == "usps" else [])]:
            runs = [errors_of(folder, name, set_of(folder, data, name, split), wanted) for split in range(count)]
            sizes, rows = [size for size, _, _ in runs], runs[0][1]
            figures = np.array([found for _, _, found in runs])
            errors, seconds = figures[:, :, 0].mean(0), figures[:, :, 1].mean(0)
            best = 2 + int(errors[2:5].argmin())
            # How far the best rival's error may be off by chance: on the rows of one test set, and as a mean over splits.
            by_rows = (errors[best] * (1 - errors[best]) / rows) ** 0.5
            by_splits = f"{100 * figures[:, best, 0].std(ddof=1) / count**0.5:.2f}" if count > 1 else ""
            named = f"{min(sizes)}-{max(sizes)}" if min(sizes) < max(sizes) else f"{sizes[0]}"
            cells = [name, named, *(f"{100 * error:.2f} ({took:.1f} s)" for error, took in zip(errors[:5], seconds[:5]))]
            print("| " + " | ".join([*cells, f"{100 * errors[5]:.2f}", f"{100 * by_rows:.2f}", by_splits]) + " |", flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data-dir", type=pathlib.Path)
    arguments.add_argument("--sets", nargs="*", default=[*IDA, "usps", "letter"])
    arguments.add_argument("--splits", type=int, default=10, help="of the sets that have many")
    arguments.add_argument("--skip-noisy", action="store_true")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if not given.skip_noisy:
            noisy(pathlib.Path(name))
        if given.data_dir:
            papers(pathlib.Path(name), given.data_dir, given.sets, given.splits)
