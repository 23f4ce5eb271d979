"""A support vector machine of scikit-learn with thousands of vectors made small from Python: time, agreement and memory.

    make bench-python
    target/python-venv/bin/python benches/peers/python_compress.py

The rows are those of benches/peers/compress.py: three labels in ten are drawn at random, so that most rows are vectors.
"""
import resource
import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC

import kernelet


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


rows, labels = make_classification(
    n_samples=20000, n_features=20, n_informative=10, n_redundant=4, n_clusters_per_class=8, flip_y=0.3, class_sep=0.8, random_state=0
)
rows = (rows - rows.mean(0)) / rows.std(0)
svc = SVC(gamma=0.05, C=1.0).fit(rows[:16000], labels[:16000])
before, begun = peak(), time.perf_counter()
small = kernelet.compress(svc, rows[:16000], labels[:16000], n_vectors=200, n_jobs=-1)
seconds = time.perf_counter() - begun
test, truth = rows[16000:], labels[16000:]
print(f"{len(svc.support_)} vectors to {small.n_vectors_} in {seconds:.1f} s; peak memory {before:.0f} MB before, {peak():.0f} MB after")
print(f"the same label for {np.mean(small.predict(test) == svc.predict(test)):.1%} of {len(test)} new rows; test error {1 - svc.score(test, truth):.4f} and {1 - small.score(test, truth):.4f}")
