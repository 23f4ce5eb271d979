"""Few vectors found with the machine, beside as many rows chosen before: SparseSVC(100) and Nystroem(100) + LinearSVC.

    python compare_with_nystroem.py [--data-dir DIR]

The digits come with scikit-learn; with --data-dir also usps, from DIR/usps/usps.npz with arrays X_train, y_train, X_test, y_test.
"""

import argparse
import pathlib

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from kernelet import SparseSVC


def digits():
    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    return train, y_train, test, y_test, 1 / (train.shape[1] * train.var())


def usps(folder):
    arrays = np.load(pathlib.Path(folder) / "usps" / "usps.npz")
    train, test = (arrays[name].astype(np.float64) for name in ("X_train", "X_test"))
    return train, arrays["y_train"], test, arrays["y_test"], 1 / 128


def compare(name, train, y_train, test, y_test, gamma):
    models = {
        "SparseSVC(100)": SparseSVC(n_vectors=100, C=10, gamma=gamma, random_state=0, n_jobs=-1),
        "Nystroem(100) + LinearSVC": make_pipeline(Nystroem(gamma=gamma, n_components=100, random_state=0), LinearSVC(C=10)),
        "SVC": SVC(C=10, gamma=gamma),
    }
    for title, model in models.items():
        model.fit(train, y_train)
        vectors = len(model.support_) if title == "SVC" else 100
        print(f"{name:7s} {title:26s} {vectors:5d} vectors  test error {1 - model.score(test, y_test):.4f}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data-dir")
    folder = arguments.parse_args().data_dir
    compare("digits", *digits())
    if folder:
        compare("usps", *usps(folder))
