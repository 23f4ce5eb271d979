"""The Python package beside scikit-learn, one thread each: decisions of the full machine, calls with one row, machines with few vectors.

Run it with the package installed: make bench-python
"""

import time

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from kernelet import SparseSVC


def best(work, repeat):
    """The least processor time of this thread over several turns; our work on other threads is counted too."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def full_machine():
    X, y = make_classification(6000, 20, n_informative=10, flip_y=0.1, random_state=0)
    ours, theirs = SparseSVC(n_vectors=None).fit(X[:3000], y[:3000]), SVC(cache_size=500).fit(X[:3000], y[:3000])
    rows = X[3000:]
    far = np.abs(ours.decision_function(rows) - theirs.decision_function(rows)).max()
    a, b = best(lambda: ours.decision_function(rows), 7), best(lambda: theirs.decision_function(rows), 3)
    print(f"decision_function, {theirs.n_support_.sum()} vectors, 20 features: {b / a:.1f} times SVC's speed, largest difference {far:.1e}")
    one = rows[:1]
    small = SparseSVC(n_vectors=10, random_state=0).fit(X[:500], y[:500])
    many = lambda model: lambda: [model.decision_function(one) for _ in range(1000)]  # noqa: E731
    a, b = best(many(small), 7), best(many(SVC().fit(X[:50], y[:50])), 3)
    print(f"one row, a call: {1e3 * a:.1f} us; SVC of 50 rows {1e3 * b:.1f} us")


def few_vectors():
    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    gamma = 1 / (train.shape[1] * train.var())
    for m in (20, 50, 100):
        ours = [SparseSVC(m, C=10, random_state=seed).fit(train, y_train).score(test, y_test) for seed in range(3)]
        theirs = [
            make_pipeline(Nystroem(gamma=gamma, n_components=m, random_state=seed), LinearSVC(C=10)).fit(train, y_train).score(test, y_test)
            for seed in range(3)
        ]
        print(f"digits, {m} vectors: error {1 - np.mean(ours):.4f}; Nystroem + LinearSVC {1 - np.mean(theirs):.4f} (mean of 3 seeds)")
    print(f"digits, full machine: error {1 - SparseSVC(None, C=10).fit(train, y_train).score(test, y_test):.4f}")


full_machine()
few_vectors()
