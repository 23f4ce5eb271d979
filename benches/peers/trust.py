"""Are goals kept on new rows, how sharp are they, and what do cascades cost?

    make bench-trust [DATA=DIR] [SETS=usps,letter] [PARTS=splits,validity,sharp,cascades] [DRAWS=400]

`splits`: max-loss 0.005 on five splits of each of scikit-learn's wine, breast cancer and digits, with training rows and with few fresh rows given: a miss
counts where `goals_met` is true and the error on the other rows rises by more. `sharp`: generated rows, 5,000 of them fresh, max-loss 0.01: the size that is
certified beside the smallest that keeps the loss on a large pool, from a native model and from LIBSVM text; on rows with little and with much noise.
`validity` (DATA=DIR): machines of fixed sizes on the sets of the papers, rows drawn with replacement from all that were not trained on; how often the promise
of a loss is false on that pool, by the library's bounds (the example program `trust`). `cascades` (DATA=DIR): the example program makes the stages once, as
`compress --cascade` makes them, then draws calibration and test rows again and again, and measures the processor time of one cascade beside that of the full
machine, part by part, in a batch of all test rows and in one of 30,000. Also whether labels of a cascade are the same on 1, 2 and 3 threads and from C.
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
DRAWN = pathlib.Path(os.environ.get("KERNELET_TRUST", PROGRAM.parent / "examples" / "trust"))


def drawn(*arguments):
    return subprocess.run([DRAWN, *map(str, arguments)], capture_output=True, text=True, check=True).stdout.strip()


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


def validity(folder, data, draws):
    print("| set | full vectors | sizes | draws | found |\n|---|---|---|---|---|")
    for name, (gamma, c) in VALIDITY.items():
        held = np.load(pathlib.Path(data) / name / f"{name}.npz")
        rows = held["train_idx"][0]
        rest = np.setdiff1d(np.arange(len(held["X"])), rows)
        train, pool = save(folder / "t.npz", held["X"][rows], held["y"][rows]), save(folder / "p.npz", held["X"][rest], held["y"][rest])
        full = kernelet("train", train, "-o", folder / "m", "--gamma", gamma, "--c", c)["vectors"]
        sizes = [size for size in (32, 23, 16, 11, 8, 6, 4, 3) if 2 * size < full]
        for size in sizes:
            kernelet("compress", folder / "m", "-o", folder / f"s{size}", "--data", train, "--vectors", size, "--effort", "quick")
        found = drawn("losses", draws, pool, folder / "m", *(folder / f"s{size}" for size in sizes))
        print(f"| {name} | {full} | {sizes[-1]} to {sizes[0]} | {draws} | {found} |", flush=True)


def two_moons(n, seed, noise=0.3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    t = np.pi * rng.random(n)
    X = np.c_[np.cos(t) + y, np.sin(t) * (1 - 2 * y) + 0.35 * y] + noise * rng.normal(size=(n, 2))
    return X, y


def sharp(folder, runs):
    print("| noise | model | smallest size that keeps 0.01 | median size certified | unknown | runs | violations |\n|---|---|---|---|---|---|---|")
    for noise in (0.3, 0.45):
        train = save(folder / "train.npz", *two_moons(400, 0, noise))
        pool = save(folder / "pool.npz", *two_moons(60_000, 1, noise))
        kernelet("train", train, "-o", folder / "m", "--gamma", 1, "--c", 10)
        kernelet("export", folder / "m", "-o", folder / "m.libsvm", "--to", "libsvm")
        before = kernelet("evaluate", folder / "m", pool)["error"]
        made_from = save(folder / "choose.npz", *two_moons(2500, 2, noise))
        smallest = next(
            size
            for size in range(2, 60)
            if kernelet("compress", folder / "m", "-o", folder / "s", "--data", made_from, "--vectors", size, "--effort", "quick") and kernelet("evaluate", folder / "s", pool)["error"] - before <= 0.01
        )
        for model in ("m", "m.libsvm"):
            sizes, unknown, wrong = [], 0, 0
            for seed in range(runs):
                fresh = save(folder / "fresh.npz", *two_moons(5000, 100 + seed, noise))
                made = kernelet("compress", folder / model, "-o", folder / "s", "--data", fresh, "--max-loss", 0.01, "--effort", "quick")
                if made["goals_met"] is not True:
                    unknown += 1
                    continue
                sizes.append(made["vectors"])
                wrong += kernelet("evaluate", folder / "s", pool)["error"] - before > 0.01
            name = "native" if model == "m" else "LIBSVM text"
            print(f"| {noise} | {name} | {smallest} | {statistics.median(sizes) if sizes else ''} | {unknown} | {runs} | {wrong} |", flush=True)


# Training rows, gamma, C, scaling of the rows, rows to calibrate with, of which a quarter is for design, all rows that are not trained on.
SETS = {
    "usps": (4298, 1 / 128, 10, lambda X: X, 4000, 5000),
    "mnist": (10000, 0.02, 10, lambda X: X / 255, 10700, 21000),
    "ijcnn1": (49990, 2, 32, lambda X: X, 13400, 33000),
    "letter": (10000, 2, 16, lambda X: X / 7.5 - 1, 8700, 10000),
}


def parts_of(folder, data, name):
    """Files of training and other rows."""
    n, _, _, scaled, _, n_held = SETS[name]
    arrays = np.load(pathlib.Path(data) / name / f"{name}.npz")
    X, y = np.concatenate([arrays["X_train"], arrays["X_test"]]), np.concatenate([arrays["y_train"], arrays["y_test"]])
    rng = np.random.default_rng(0)
    order = np.r_[np.arange(n), n + rng.permutation(len(X) - n)] if name == "ijcnn1" else rng.permutation(len(X))
    train, held = order[:n], order[n : n + n_held]
    return save(folder / "t.npz", scaled(X[train].astype(float)), y[train]), save(folder / "h.npz", scaled(X[held].astype(float)), y[held])


def from_c(folder, model, rows):
    """Whether the labels of C source are those of the program."""
    kernelet("export", model, "-o", folder / "k.c", "--to", "c")
    X = np.load(rows)["X"][:500]
    text = ",\n".join("{" + ",".join(map(repr, row.tolist())) + "}" for row in X)
    (folder / "main.c").write_text(
        f'#include <stdio.h>\n#include "k.h"\nstatic const double rows[{len(X)}][{X.shape[1]}] = {{ {text} }};\n'
        f'int main(void) {{ for (int i = 0; i < {len(X)}; i++) printf("%ld\\n", k_predict(rows[i])); return 0; }}\n'
    )
    subprocess.run(["cc", "-O2", "-o", folder / "k", folder / "main.c", folder / "k.c", "-lm"], check=True)
    answered = subprocess.run([folder / "k"], capture_output=True, text=True, check=True).stdout.split()
    few = save(folder / "few.npz", X, np.zeros(len(X)))
    return answered == [str(label) for label in kernelet("predict", model, few)["predictions"]]


def times(folder, test, made):
    """The processor time of cascades, by parts: of the test rows in one batch, and of 30,000 rows, the test rows again and again."""
    arrays = np.load(test)
    again = -(-30_000 // len(arrays["X"]))
    many = save(folder / "many.npz", np.tile(arrays["X"], (again, 1)), np.tile(arrays["y"], again))
    for rows in (test, many):
        print("\n" + drawn("time", rows, *made), flush=True)


def cascades(folder, data, names, allowed, draws):
    for name in names:
        _, gamma, c, _, n_calibrate, _ = SETS[name]
        train, held = parts_of(folder, data, name)
        kernelet("train", train, "-o", folder / "m", "--gamma", gamma, "--c", c, "--multiclass", "one-vs-one")
        print(f"\n{name}, {allowed}\n\n" + drawn("cascades", draws, train, held, folder / "m", n_calibrate, *allowed), flush=True)
        arrays = np.load(held)
        calibrate, test = (save(folder / f"{part}.npz", arrays["X"][rows], arrays["y"][rows]) for part, rows in [("c", slice(0, n_calibrate)), ("e", slice(n_calibrate, None))])
        times(folder, test, [folder / f"m.{part}.cascade" for part in allowed])
        made = kernelet("compress", folder / "m", "-o", folder / "k.model", "--cascade", "--max-disagreement", allowed[-1], "--data", train, "--calibrate", calibrate, "--test", test)
        labels = [kernelet("predict", folder / "k.model", test, "--threads", threads)["predictions"] for threads in (1, 2, 3)]
        same = labels[0] == labels[1] == labels[2]
        print(f"\n{name}: cost {100 * made['test_cost']:.2f} %; same labels on 1, 2, 3 threads: {same}, from C: {from_c(folder, folder / 'k.model', test)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--parts", default="splits,validity,sharp,cascades")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--allowed", default="0.001,0.005")
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
            cascades(folder, asked.data_dir, asked.sets.split(","), [float(text) for text in asked.allowed.split(",")], asked.draws)


if __name__ == "__main__":
    main()
