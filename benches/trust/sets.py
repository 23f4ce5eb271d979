"""How honest are prediction sets, probabilities and deviations on rows that nothing was fitted on?

Sets: cover over draws of calibration and test rows. Probabilities: USPS with 100 vectors, trained and compressed; compressed: several sets. Deviations: kin40k with 100 vectors.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np


def run(program, *arguments):
    """The program's answer."""
    return json.loads(subprocess.run([program, *arguments, "--json", "--quiet"], check=True, capture_output=True, text=True).stdout)


def write(folder, name, X, y):
    """A file of rows."""
    path = str(Path(folder) / f"{name}.npz")
    np.savez(path, X=X, y=y)
    return path


def pool(directory, name):
    """All rows of a set, training rows first where there are any."""
    with np.load(Path(directory) / name / f"{name}.npz") as arrays:
        if "X" in arrays:
            return arrays["X"], arrays["y"]
        return np.r_[arrays["X_train"], arrays["X_test"]], np.r_[arrays["y_train"], arrays["y_test"]]


SETS = {
    "banana": (400, ["--gamma", "1", "--c", "10"]),
    "waveform": (400, ["--gamma", "0.05"]),
    "letter": (1000, ["--scale", "standard", "--gamma", "0.1", "--c", "10", "--multiclass", "one-vs-rest"]),
    "abalone": (500, ["--learner", "ridge", "--scale", "standard", "--gamma", "0.05"]),
    "kin8nm": (500, ["--learner", "ridge", "--gamma", "0.1", "--lambda", "0.1"]),
}


def cover(program, directory, draws, rows):
    """Mean cover over draws of training, calibration and test rows."""
    print(f"\nprediction sets: mean cover of {draws} draws, {rows} calibration rows")
    print("| set | confidence | cover | standard error | labels or width |\n|---|---|---|---|---|")
    for name, (training, flags) in SETS.items():
        X, y = pool(directory, name)
        found = {0.8: [], 0.9: [], 0.95: []}
        for draw in range(draws):
            order = np.random.default_rng(draw).permutation(len(X))
            parts = np.split(order[: training + rows + 2000], [training, training + rows])
            with tempfile.TemporaryDirectory() as folder:
                files = [write(folder, part, X[chosen], y[chosen]) for part, chosen in zip(("train", "fresh", "test"), parts, strict=True)]
                model = str(Path(folder) / "m.model")
                run(program, "train", files[0], "-o", model, *flags, "--calibrate", files[1])
                for confidence, list_of in found.items():
                    list_of.append(run(program, "evaluate", model, files[2], "--confidence", str(confidence))["sets"])
        for confidence, list_of in found.items():
            covers = np.array([one["cover"] for one in list_of])
            size = np.mean([one["size"] for one in list_of])
            print(f"| {name} | {confidence} | {covers.mean():.4f} | {covers.std() / np.sqrt(draws):.4f} | {size:.3g} |", flush=True)


def probabilities(program, directory):
    """USPS: log loss and calibration error on rows like those of training, and on the official test rows, which are harder."""
    print("\nUSPS, 100 vectors\n| rows | machine | error | log loss | calibration error |\n|---|---|---|---|---|")
    with np.load(Path(directory) / "usps" / "usps.npz") as arrays:
        X, y = (np.concatenate([arrays[f"{part}_train"], arrays[f"{part}_test"]]) for part in "Xy")
        official = len(arrays["y_train"])
    mixed = np.random.default_rng(0).permutation(len(X))
    splits = {"random split": np.split(mixed, [4298]), "official split": np.split(np.arange(len(X)), [official])}
    for protocol, (train, new) in splits.items():
        with tempfile.TemporaryDirectory() as folder:
            data, test = write(folder, "train", X[train], y[train]), write(folder, "test", X[new], y[new])
            flags = ["--gamma", "0.0078125", "--c", "10"]
            models = []
            for shape in ("sigmoid", "softmax"):
                model = str(Path(folder) / shape)
                run(program, "train", data, "-o", model, *flags, "--vectors", "100", "--probability", shape)
                models.append((f"trained, {shape}", model))
            full, small = (str(Path(folder) / name) for name in ("full", "small"))
            run(program, "train", data, "-o", full, *flags, "--probability", "sigmoid")
            run(program, "compress", full, "-o", small, "--data", data, "--vectors", "100")
            for name, model in [*models, ("full, sigmoid", full), ("compressed", small)]:
                scores = run(program, "evaluate", model, test)
                print(f"| {protocol} | {name} | {100 * scores['error']:.2f} % | {scores['log_loss']:.4f} | {scores['calibration_error']:.4f} |", flush=True)


# Set, training rows, vectors, seed of the split, flags of the training.
COMPRESSED = [
    ("usps", 4298, 100, 0, ["--gamma", "0.0078125", "--c", "10"]),
    ("usps", 4298, 100, 1, ["--gamma", "0.0078125", "--c", "10"]),
    ("usps", 4298, 100, 3, ["--gamma", "0.0078125", "--c", "10"]),
    ("usps", 4298, 100, 11, ["--gamma", "0.0078125", "--c", "10"]),
    ("usps", 4298, 100, 12, ["--gamma", "0.0078125", "--c", "10"]),
    ("usps", 2000, 50, 2, ["--gamma", "0.0078125", "--c", "10"]),
    ("letter", 4000, 150, 0, ["--scale", "standard", "--gamma", "0.1", "--c", "10"]),
    ("letter", 2000, 60, 1, ["--scale", "standard", "--gamma", "0.1", "--c", "10"]),
    ("waveform", 400, 15, 0, ["--gamma", "0.05"]),
    ("banana", 400, 15, 0, ["--gamma", "1", "--c", "10"]),
    ("ringnorm", 400, 15, 0, ["--gamma", "0.1", "--c", "10"]),
]


def compressed(program, directory):
    """Probabilities after compress, on random splits."""
    print("\nprobabilities after compress\n| set | rows | vectors | split | error | log loss | calibration error |\n|---|---|---|---|---|---|---|")
    for name, rows, vectors, seed, flags in COMPRESSED:
        X, y = pool(directory, name)
        order = np.random.default_rng(seed).permutation(len(X))
        train, new = order[:rows], order[rows:]
        with tempfile.TemporaryDirectory() as folder:
            data, test = write(folder, "train", X[train], y[train]), write(folder, "test", X[new], y[new])
            full, small = (str(Path(folder) / part) for part in ("full", "small"))
            run(program, "train", data, "-o", full, *flags, "--probability", "sigmoid")
            run(program, "compress", full, "-o", small, "--data", data, "--vectors", str(vectors))
            scores = run(program, "evaluate", small, test)
        print(f"| {name} | {rows} | {vectors} | {seed} | {100 * scores['error']:.2f} % | {scores['log_loss']:.4f} | {scores['calibration_error']:.4f} |", flush=True)


def deviations(program, directory, rows):
    """kin40k: density and cover of the deviations on rows not trained on."""
    print(f"\nkin40k, {rows} rows, 100 vectors\n| machine | r2 | NLPD | cover of 95 % |\n|---|---|---|---|")
    X, y = pool(directory, "kin40k")
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:rows], order[rows : rows + 10000]
    with tempfile.TemporaryDirectory() as folder:
        data, new = write(folder, "train", X[train], y[train]), write(folder, "test", X[test], y[test])
        model = str(Path(folder) / "m.model")
        flags = ["--learner", "ridge", "--gamma", "0.1", "--lambda", "0.01", "--vectors", "100", "--probability", "normal"]
        run(program, "train", data, "-o", model, *flags)
        scores = run(program, "evaluate", model, new)
        print(f"| ridge | {scores['r2']:.3f} | {scores['nlpd']:.3f} | {scores['cover']:.3f} |")


def main():
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--program", default="target/release/kernelet")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--calibration-rows", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=10000, help="training rows of kin40k")
    parser.add_argument("--parts", default="sets,probabilities,compressed,deviations")
    asked = parser.parse_args()
    parts = asked.parts.split(",")
    if "sets" in parts:
        cover(asked.program, asked.data_dir, asked.draws, asked.calibration_rows)
    if "probabilities" in parts:
        probabilities(asked.program, asked.data_dir)
    if "compressed" in parts:
        compressed(asked.program, asked.data_dir)
    if "deviations" in parts:
        deviations(asked.program, asked.data_dir, asked.rows)


if __name__ == "__main__":
    main()
