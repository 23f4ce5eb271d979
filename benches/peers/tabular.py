"""Machines of 30 and 100 vectors with a learned metric beside what people use for tables, each with the same number of tuning trials.

    make bench-tabular DATA=DIR [SETS=splice,image] [SPLITS=10] [TRIALS=12] [OUTPUT=FILE]

For every split: up to 3,000 rows to train, of which a fifth validates; settings are chosen on those validation rows alone, then the
chosen model is trained on all training rows and scored on the test rows: the error as a fraction, or the mean squared error as a fraction of the
variance. Features and targets are standardised by the training rows. A trial is one model trained and scored on validation rows. Ours are three requests:
one width with its cost and gamma tuned, learned scales, and a learned map. Of the last two the lower loss on the same validation rows is "best", which is what
the request with both (`--ard --projection K`) takes; each of them falls back on one width where that validates better.
Test parts are cut at 20,000 rows. Times are processor time, which other programs on the machine disturb little. With --output every finished split is
kept, and a second call goes on with the others. xrfm, which learns a metric for full kernel machines, takes part where it is installed.
"""
import argparse
import itertools
import json
import pathlib
import pickle
import time
import warnings

import numpy as np
from scipy.stats import loguniform
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

from kernelet import SparseKernelRidge, SparseSVC

try:
    import torch
    from xrfm import xRFM
except ImportError:
    xRFM = None

warnings.filterwarnings("ignore")
SETS = "splice,image,ijcnn1,cod-rna,a9a,covtype,kin8nm,pumadyn32nm,kin40k,abalone,letter,usps,german,waveform,ringnorm,diabetis"

# LIBSVM's solver takes minutes with some settings that are drawn, and is ended after so many steps.
MOST_STEPS = 1_000_000


def load(directory, name):
    """All rows, their targets, and whether these are numbers."""
    arrays = np.load(directory / name / f"{name}.npz")
    if "X_train" in arrays:
        X, y = np.concatenate([arrays["X_train"], arrays["X_test"]]), np.concatenate([arrays["y_train"], arrays["y_test"]])
    else:
        X, y = arrays["X"], arrays["y"]
    # Abalone's target is the number of rings, a whole number to be predicted.
    numbers = name == "abalone" or (np.issubdtype(y.dtype, np.floating) and len(np.unique(y)) > 30)
    return X.reshape(len(X), -1).astype(np.float64), y, numbers


def split(X, y, numbers, seed, rows):
    """Rows to train and to test, standardised."""
    order = np.random.default_rng(seed).permutation(len(X))
    count = min(rows, int(0.7 * len(X)))
    train, test = order[:count], order[count : count + 20_000]
    mean, spread = X[train].mean(0), X[train].std(0)
    kept = spread > 1e-12
    scale = lambda part: (X[part][:, kept] - mean[kept]) / spread[kept]
    if numbers:
        mean_y, spread_y = y[train].mean(), y[train].std()
        y = (y - mean_y) / spread_y
    return scale(train), y[train], scale(test), y[test]


def loss(model, X, y, numbers):
    predicted = model.predict(X)
    return float(np.mean((predicted - y) ** 2)) if numbers else float(np.mean(predicted != y))


def draws(trials, **ranges):
    """So many settings, drawn from ranges or lists."""
    random = np.random.RandomState(0)
    pick = lambda values: values.rvs(random_state=random) if hasattr(values, "rvs") else values[random.randint(len(values))]
    return [{name: pick(values) for name, values in ranges.items()} for _ in range(trials)]


def peers(numbers, d, trials, slow):
    """Name, and a model for each of its settings; with `slow` those too that take minutes."""
    gammas, costs = loguniform(0.03 / d, 10 / d), loguniform(0.3, 1000)
    svm = draws(trials, C=costs, gamma=gammas, **({"epsilon": loguniform(0.003, 0.3)} if numbers else {}))
    yield "SVM", [(SVR if numbers else SVC)(cache_size=500, max_iter=MOST_STEPS, **settings) for settings in svm]
    boosting = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
    ranges = {"learning_rate": loguniform(0.02, 0.3), "max_iter": [100, 200, 400], "max_leaf_nodes": [7, 15, 31, 63], "l2_regularization": loguniform(1e-3, 10)}
    yield "boosting", [boosting(random_state=0, **settings) for settings in draws(trials, **ranges)]
    network = MLPRegressor if numbers else MLPClassifier
    ranges = {"hidden_layer_sizes": [(50,), (100,), (200,), (100, 100)], "alpha": loguniform(1e-5, 1), "learning_rate_init": loguniform(3e-4, 1e-2)}
    yield "MLP", [network(early_stopping=True, max_iter=300, random_state=0, **settings) for settings in draws(trials, **ranges)]
    for count in (30, 300):
        linear = lambda cost: Ridge(1 / cost) if numbers else LogisticRegression(C=cost, max_iter=1000)
        settings = draws(trials, gamma=gammas, cost=costs)
        yield f"Nystroem {count}", [make_pipeline(Nystroem(gamma=s["gamma"], n_components=count, random_state=0), linear(s["cost"])) for s in settings]
    if xRFM and slow:
        ranges = {"kernel": ["l2", "l1"], "exponent": [0.7, 1.0, 1.2], "bandwidth": loguniform(1, 100), "diag": [True, False], "reg": loguniform(1e-5, 10)}
        yield "xrfm", [Rfm(numbers, **settings) for settings in draws(trials, **ranges)]


class Rfm:
    """A recursive feature machine; a fifth of the rows it is given chooses its iteration."""

    def __init__(self, numbers, **settings):
        self.numbers, self.settings = numbers, settings

    def fit(self, X, y):
        self.classes, codes = (None, y.astype(np.float32)) if self.numbers else np.unique(y, return_inverse=True)
        shape = {name: self.settings[name] for name in ("kernel", "exponent", "bandwidth", "diag")}
        parameters = {"model": {**shape, "bandwidth_mode": "constant"}, "fit": {"reg": self.settings["reg"], "iters": 4, "verbose": False}}
        self.model = xRFM(parameters, device="cpu", tuning_metric="mse" if self.numbers else "accuracy", n_threads=1, random_state=0, verbose=False)
        X, codes, cut = torch.tensor(X, dtype=torch.float32), torch.tensor(codes), int(0.8 * len(X))
        self.model.fit(X[:cut], codes[:cut], X[cut:], codes[cut:])
        return self

    def predict(self, X):
        found = np.asarray(self.model.predict(torch.tensor(X, dtype=torch.float32))).reshape(len(X))
        return found if self.numbers else self.classes[found.astype(int)]


def best_of(models, data, numbers):
    """The model with the least loss on a fifth of the training rows, trained on all of them; its validation loss and the seconds of both."""
    X, y = data
    cut = int(0.8 * len(X))
    begun = time.process_time()
    losses = [loss(model.fit(X[:cut], y[:cut]), X[cut:], y[cut:], numbers) for model in models]
    tuned = time.process_time() - begun
    begun = time.process_time()
    model = models[int(np.argmin(losses))].fit(X, y)
    return model, min(losses), tuned, time.process_time() - begun


def ours(numbers, d, count, data, trials):
    """One width, scales and a map: names, models, the losses of the library's own validation rows, and seconds."""
    X, y = data
    make = (lambda **s: SparseKernelRidge(count, random_state=0, n_jobs=-1, **s)) if numbers else (lambda **s: SparseSVC(count, random_state=0, n_jobs=-1, **s))
    cost = (lambda c: {"alpha": 0.5 / c}) if numbers else (lambda c: {"C": c})
    grid = list(itertools.product((0.1, 0.3, 1, 3), (1, 10, 100)))
    one, _, tuned, seconds = best_of([make(gamma=g / d, **cost(c)) for g, c in grid], data, numbers)
    found = {"one width": (one, np.inf, seconds)}
    for name, settings in (("scales", {"ard": True}), ("map", {"projection": min(d, 16)})):
        begun = time.process_time()
        model = make(gamma=one.gamma, **settings).fit(X, y)
        metric = json.loads(model.machine_.description())["facts"]["metric"]
        chosen = min([metric["one_width"], *metric["tried"]], key=lambda tried: tried["loss"])
        found[name] = (model, chosen["loss"], time.process_time() - begun)
    return found


def latency(model, X):
    """Seconds for one of a thousand rows."""
    block = np.ascontiguousarray(X[:1000])
    times = []
    for _ in range(5):
        begun = time.process_time()
        model.predict(block)
        times.append(time.process_time() - begun)
    return min(times) / len(block)


def size(model):
    return len(model.machine_.to_bytes()) if hasattr(model, "machine_") else len(pickle.dumps(model))


def one_split(X, y, numbers, seed, arguments):
    """For every model: test loss, seconds of the last fit, microseconds a row, bytes."""
    train_X, train_y, test_X, test_y = split(X, y, numbers, seed, arguments.rows)
    data, d, out = (train_X, train_y), train_X.shape[1], {}
    keep = lambda name, model, seconds: out.update({name: [loss(model, test_X, test_y, numbers), seconds, 1e6 * latency(model, test_X), size(model)]})
    for count in (30, 100):
        found = ours(numbers, d, count, data, arguments.trials)
        for name, (model, _, seconds) in found.items():
            keep(f"{count}, {name}", model, seconds)
        best = min(found, key=lambda name: found[name][1])
        keep(f"{count}, best", found[best][0], found[best][2])
    if not arguments.ours_only:
        for name, models in peers(numbers, d, arguments.trials, seed < arguments.slow_splits):
            model, _, _, seconds = best_of(models, data, numbers)
            keep(name, model, seconds)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=pathlib.Path)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--splits", type=int, help="default: 10 where the test part has fewer than 5,000 rows, else 5")
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--slow-splits", type=int, default=1000, help="xrfm, by far the slowest, takes part in so many splits alone")
    parser.add_argument("--ours-only", action="store_true")
    parser.add_argument("--output", type=pathlib.Path, help="one JSON object a split is appended; splits that are there are not run again")
    parser.add_argument("--markdown", action="store_true", help="the table of the splits that OUTPUT has, as in docs/metric.md; nothing is run")
    arguments = parser.parse_args()
    if arguments.markdown:
        return markdown(arguments.output)
    done = {}
    if arguments.output and arguments.output.exists():
        done = {(entry["set"], entry["split"]): entry["results"] for entry in map(json.loads, arguments.output.read_text().splitlines())}
    splits = {}
    for name in arguments.sets.split(","):
        X, y, _ = load(arguments.data_dir, name)
        test = len(X) - min(arguments.rows, int(0.7 * len(X)))
        splits[name] = arguments.splits or (10 if test < 5000 else 5)
    for seed, name in itertools.product(range(max(splits.values())), splits):
        if seed < splits[name] and (name, seed) not in done:
            done[name, seed] = one_split(*load(arguments.data_dir, name), seed, arguments)
            if arguments.output:
                with arguments.output.open("a") as file:
                    file.write(json.dumps({"set": name, "split": seed, "results": done[name, seed]}) + "\n")
    for name, count in splits.items():
        tell(name, load(arguments.data_dir, name), [done[name, seed] for seed in range(count)])


def tell(name, data, results):
    """The table of one set."""
    X, _, numbers = data
    unit = "mean squared error / variance" if numbers else "error"
    print(f"\n{name}: {X.shape[1]} features, {len(results)} splits, {unit}\n{'model':16s} {'loss':>9s} {'s.e.':>8s} {'fit s':>8s} {'us a row':>9s} {'bytes':>10s}")
    for model in results[0]:
        values = np.array([result[model] for result in results if model in result])
        error = values[:, 0].std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
        name = model if len(values) == len(results) else f"{model} ({len(values)})"
        print(f"{name:16s} {values[:, 0].mean():9.4f} {error:8.4f} {values[:, 1].mean():8.2f} {values[:, 2].mean():9.2f} {values[:, 3].mean():10.0f}", flush=True)


COLUMNS = ("30, one width", "30, best", "100, best", "SVM", "boosting", "MLP", "Nystroem 300", "xrfm")


def markdown(file):
    """Mean losses in per cent with their standard errors, a line for each set; the time of a row is that of the machine beside the SVM's."""
    found = {}
    for entry in map(json.loads, file.read_text().splitlines()):
        found.setdefault(entry["set"], []).append(entry["results"])
    print(f"| set | splits | {' | '.join(COLUMNS)} | us a row: 30, 100, SVM |\n|{'---|' * (len(COLUMNS) + 3)}")
    for name, results in found.items():
        values = lambda model, index: np.array([result[model][index] for result in results if model in result])
        cells = []
        for model in COLUMNS:
            losses = 100 * values(model, 0)
            error = f" ± {losses.std(ddof=1) / np.sqrt(len(losses)):.2f}" if len(losses) > 1 else ""
            cells.append(f"{losses.mean():.2f}{error}" if len(losses) else "")
        times = ", ".join(f"{values(model, 2).mean():.2f}" for model in ("30, best", "100, best", "SVM"))
        print(f"| {name} | {len(results)} | {' | '.join(cells)} | {times} |")


if __name__ == "__main__":
    main()
