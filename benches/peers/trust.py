"""Are goals kept on new rows, how sharp are they, and what do cascades cost?

    make bench-trust [DATA=DIR] [SETS=usps,letter] [PARTS=splits,validity,sharp,cascades]

`splits`: max-loss 0.005 on five splits of each of scikit-learn's wine, breast cancer and digits, with training rows and with few fresh rows given: a miss
counts where `goals_met` is true and the error on the other rows rises by more. `sharp`: generated rows, 5,000 of them fresh, max-loss 0.01: the size that is
certified beside the smallest that keeps the loss on a large pool, from a native model and from LIBSVM text. `cascades` (DATA=DIR): cost and disagreement of
cascades on held-out rows, at 0.1 and 0.5 % with 95 % confidence. `validity` (DATA=DIR): machines of fixed sizes on the sets of the papers, rows drawn with
replacement from all that were not trained on; how often the promise of a loss is false on that pool, with the bounds of scipy in place of the library's.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np

PROGRAM = pathlib.Path(os.environ.get("KERNELET", "target/release/kernelet"))


def kernelet(*flags):
    ran = subprocess.run([PROGRAM, *map(str, flags), "--quiet", "--json"], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise SystemExit(f"kernelet {' '.join(map(str, flags))}\n{ran.stderr}")
    return json.loads(ran.stdout)


def save(path, rows, labels):
    np.savez(path, X=np.asarray(rows, dtype=float), y=labels)
    return path


def splits(folder):
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    print("| set | rows given | runs | met | unknown | not met | met, but the error rises by more |\n|---|---|---|---|---|---|---|")
    for name, load in [("wine", load_wine), ("breast cancer", load_breast_cancer), ("digits", load_digits)]:
        X, y = load(return_X_y=True)
        X = (X - X.mean(0)) / np.maximum(X.std(0), 1e-9)
        for kind in ("training", "fresh"):
            counts = {True: 0, False: 0, "unknown": 0}
            missed = 0
            for seed in range(5):
                order = np.random.default_rng(seed).permutation(len(X))
                train, fresh, test = np.split(order, [len(X) // 2, len(X) * 7 // 10])
                files = {part: save(folder / f"{part}.npz", X[rows], y[rows]) for part, rows in [("train", train), ("fresh", fresh), ("test", test)]}
                kernelet("train", files["train"], "-o", folder / "m", "--c", 10)
                made = kernelet("compress", folder / "m", "-o", folder / "s", "--data", files["train" if kind == "training" else "fresh"], "--max-loss", 0.005, "--test", files["test"], "--effort", "quick")
                counts[made["goals_met"]] += 1
                missed += made["goals_met"] is True and made["test_error"] - made["test_error_before"] > 0.005
            print(f"| {name} | {kind} | 5 | {counts[True]} | {counts['unknown']} | {counts[False]} | {missed} |", flush=True)


VALIDITY = {"banana": (1, 316), "german": (1 / 55, 3), "image": (1 / 30, 500), "ringnorm": (0.1, 10), "splice": (1 / 70, 1000), "titanic": (0.5, 10), "twonorm": (1 / 40, 3), "waveform": (0.05, 1)}


def rise(wrong_before, wrong_after, level):
    """The upper bound of the rise of the error."""
    from scipy.stats import beta

    n, up, down = len(wrong_before), np.sum(wrong_after & ~wrong_before), np.sum(wrong_before & ~wrong_after)
    upper = 1.0 if up == n else beta.ppf(1 - level / 2, up + 1, n - up)
    return upper - (0.0 if down == 0 else beta.ppf(level / 2, down, n - down + 1))


def validity(folder, data, draws, n=1500, allowed=0.02, level=0.05):
    print("| set | full vectors | sizes | draws | promised | violations |\n|---|---|---|---|---|---|")
    for name, (gamma, c) in VALIDITY.items():
        held = np.load(pathlib.Path(data) / name / f"{name}.npz")
        rows = held["train_idx"][0]
        rest = np.setdiff1d(np.arange(len(held["X"])), rows)
        train, pool = save(folder / "t.npz", held["X"][rows], held["y"][rows]), save(folder / "p.npz", held["X"][rest], held["y"][rest])
        full = kernelet("train", train, "-o", folder / "m", "--gamma", gamma, "--c", c)["vectors"]
        sizes = [size for size in (32, 23, 16, 11, 8, 6, 4, 3) if 2 * size < full]
        wrong = []
        for size in [None, *sizes]:
            if size:
                kernelet("compress", folder / "m", "-o", folder / "s", "--data", train, "--vectors", size, "--effort", "quick")
            labels = kernelet("predict", folder / ("s" if size else "m"), pool)["predictions"]
            wrong.append(np.array([float(label) for label in labels]) != held["y"][rest])
        truth = [np.mean(after) - np.mean(wrong[0]) for after in wrong[1:]]
        promised = violations = 0
        for seed in range(draws):
            drawn = np.random.default_rng(seed).integers(0, len(rest), n)
            taken = None
            for place, after in enumerate(wrong[1:]):
                if rise(wrong[0][drawn], after[drawn], level) > allowed:
                    break
                taken = place
            promised += taken is not None
            violations += taken is not None and truth[taken] > allowed
        print(f"| {name} | {full} | {sizes[-1]} to {sizes[0]} | {draws} | {promised} | {violations} |", flush=True)


def two_moons(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    t = np.pi * rng.random(n)
    X = np.c_[np.cos(t) + y, np.sin(t) * (1 - 2 * y) + 0.35 * y] + 0.3 * rng.normal(size=(n, 2))
    return X, y


def sharp(folder, runs):
    X, y = two_moons(400, 0)
    train = save(folder / "train.npz", X, y)
    pool = save(folder / "pool.npz", *two_moons(60_000, 1))
    kernelet("train", train, "-o", folder / "m", "--gamma", 1, "--c", 10)
    kernelet("export", folder / "m", "-o", folder / "m.libsvm", "--to", "libsvm")
    before = kernelet("evaluate", folder / "m", pool)["error"]
    print("| model | smallest size that keeps 0.01 | median size certified | unknown | runs | violations |\n|---|---|---|---|---|---|")
    made_from = save(folder / "choose.npz", *two_moons(2500, 2))
    smallest = next(
        size
        for size in range(2, 60)
        if kernelet("compress", folder / "m", "-o", folder / "s", "--data", made_from, "--vectors", size, "--effort", "quick") and kernelet("evaluate", folder / "s", pool)["error"] - before <= 0.01
    )
    for model in ("m", "m.libsvm"):
        sizes, unknown, wrong = [], 0, 0
        for seed in range(runs):
            fresh = save(folder / "fresh.npz", *two_moons(5000, 100 + seed))
            made = kernelet("compress", folder / model, "-o", folder / "s", "--data", fresh, "--max-loss", 0.01, "--effort", "quick")
            if made["goals_met"] is not True:
                unknown += 1
                continue
            sizes.append(made["vectors"])
            wrong += kernelet("evaluate", folder / "s", pool)["error"] - before > 0.01
        print(f"| {'native' if model == 'm' else 'LIBSVM text'} | {smallest} | {statistics.median(sizes) if sizes else ''} | {unknown} | {runs} | {wrong} |", flush=True)


# Training rows, gamma, C, scaling of the rows, calibration rows.
SETS = {
    "usps": (4298, 1 / 128, 10, lambda X: X, 4000),
    "mnist": (10000, 0.02, 10, lambda X: X / 255, 20000),
    "ijcnn1": (49990, 2, 32, lambda X: X, 13000),
    "letter": (10000, 2, 16, lambda X: X / 7.5 - 1, 8000),
}


def cascades(folder, data, names, allowed, effort):
    print("| set | full vectors | disagreement allowed | stages | calibration rows | cost | disagreement seen | error, cascade | error, full |\n|---|---|---|---|---|---|---|---|---|")
    for name in names:
        n, gamma, c, scaled, n_calibrate = SETS[name]
        held = np.load(pathlib.Path(data) / name / f"{name}.npz")
        X, y = np.concatenate([held["X_train"], held["X_test"]]), np.concatenate([held["y_train"], held["y_test"]])
        order = np.arange(len(X)) if name == "ijcnn1" else np.random.default_rng(0).permutation(len(X))
        X, y = scaled(X[order].astype(float)), y[order]
        train, calibrate, test = (save(folder / f"{part}.npz", X[a:b], y[a:b]) for part, a, b in [("t", 0, n), ("c", n, n + n_calibrate), ("e", n + n_calibrate, n + n_calibrate + 20000)])
        full = kernelet("train", train, "-o", folder / "m", "--gamma", gamma, "--c", c, "--multiclass", "one-vs-one")
        for epsilon in allowed:
            made = kernelet("compress", folder / "m", "-o", folder / "k", "--cascade", "--max-disagreement", epsilon, "--data", train, "--calibrate", calibrate, "--test", test, "--effort", effort)
            sizes = " + ".join(str(stage["vectors"]) for stage in made["stages"])
            numbers = [f"{100 * made[key]:.2f} %" for key in ("test_cost", "test_error", "test_error_before")]
            print(f"| {name} | {full['vectors']} | {100 * epsilon} % | {sizes} | {made['calibration_rows']} | {numbers[0]} | {100 * (1 - made['agreement']):.3f} % | {numbers[1]} | {numbers[2]} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--parts", default="splits,validity,sharp,cascades")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--allowed", default="0.001,0.005")
    parser.add_argument("--effort", default="normal", help="of the stages of cascades")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, parts = pathlib.Path(name), asked.parts.split(",")
        if "splits" in parts:
            splits(folder)
        if "validity" in parts and asked.data_dir:
            validity(folder, asked.data_dir, asked.draws)
        if "sharp" in parts:
            sharp(folder, asked.runs)
        if "cascades" in parts and asked.data_dir:
            cascades(folder, asked.data_dir, asked.sets.split(","), [float(text) for text in asked.allowed.split(",")], asked.effort)


if __name__ == "__main__":
    main()
