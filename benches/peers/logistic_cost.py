"""Which cost gives kernel logistic regression good probabilities without tuning? Log loss on test rows, beside scikit-learn without tuning.

Run it with the package installed: python benches/peers/logistic_cost.py --data-dir DIR
"""

import argparse
import pathlib

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernelet import SparseLogistic

COSTS = (1, 10, 100)
BUNDLED = {"digits": load_digits, "breast cancer, scikit-learn": load_breast_cancer, "wine": load_wine}
BENCHMARKS = ("banana", "breast-cancer", "diabetis", "flare-solar", "german", "heart", "image", "splice", "titanic", "twonorm")


def splits(name, folder, count):
    """Training rows, their classes, test rows and their classes."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        for seed in range(count):
            X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=0.6, random_state=seed, stratify=y)
            yield X_train, y_train, X_test, y_test
    else:
        with np.load(folder / name / f"{name}.npz") as arrays:
            X, y = arrays["X"].astype(np.float64), arrays["y"]
            for train, test in zip(arrays["train_idx"][:count], arrays["test_idx"][:count]):
                yield X[train], y[train], X[test], y[test]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=pathlib.Path, help="folder of the benchmark sets; without it only the sets that scikit-learn has")
    parser.add_argument("--splits", type=int, default=3)
    arguments = parser.parse_args()
    models = {f"C {cost}": SparseLogistic(None, C=cost) for cost in COSTS} | {f"C {cost}, 30 vectors": SparseLogistic(30, C=cost, random_state=0) for cost in COSTS}
    models |= {"LogisticRegression": LogisticRegression(max_iter=1000), "SVC, sigmoid": CalibratedClassifierCV(SVC(), ensemble=False)}
    print("|", " | ".join(["log loss", *models]), "|\n|" + "---|" * (len(models) + 1))
    for name in [*BUNDLED, *(BENCHMARKS if arguments.data_dir else ())]:
        losses = {model: [] for model in models}
        for X, y, X_test, y_test in splits(name, arguments.data_dir, arguments.splits):
            for model, estimator in models.items():
                fitted = make_pipeline(StandardScaler(), estimator).fit(X, y)
                losses[model].append(log_loss(y_test, fitted.predict_proba(X_test)))
        print("|", " | ".join([name, *(f"{np.mean(values):.3f}" for values in losses.values())]), "|", flush=True)


if __name__ == "__main__":
    main()
