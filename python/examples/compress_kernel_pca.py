"""Kernel principal components of 10,000 rows on 100 vectors.

    python compress_kernel_pca.py [--rows N]
"""

import argparse
import pickle

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.decomposition import KernelPCA

import kernelet

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("--rows", type=int, default=10_000)
rows = arguments.parse_args().rows

X, _ = make_blobs(rows + 1000, n_features=10, centers=8, cluster_std=2.0, random_state=0)
train, test = X[:rows], X[rows:]
model = KernelPCA(5, kernel="rbf", gamma=0.002, eigen_solver="randomized", random_state=0).fit(train)
small = kernelet.compress(model, n_vectors=100, n_jobs=-1)
want, have = model.transform(test), small.transform(test)
kept = 1 - ((want - have) ** 2).sum(axis=0) / (want**2).sum(axis=0)
print(f"components: {rows} vectors, pickle {len(pickle.dumps(model)) / 2**20:.1f} MiB; {small.n_vectors_} vectors, {len(pickle.dumps(small)) / 2**20:.3f} MiB")
print("part of each component that is kept on new rows: " + ", ".join(f"{part:.4f}" for part in kept))
