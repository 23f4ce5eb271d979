"""A Gaussian process of 4,000 points, whose pickle holds a factor of 4,000 x 4,000, made into 200 vectors.

    python compress_a_gaussian_process.py [--rows N]
"""

import argparse
import pickle
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import kernelet

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("--rows", type=int, default=4000)
rows = arguments.parse_args().rows

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(rows, 3))
y = np.sin(X).sum(axis=1) + 0.5 * X[:, 0] * np.cos(X[:, 1]) + 0.1 * rng.normal(size=rows)
test = rng.uniform(-3, 3, size=(1000, 3))
truth = np.sin(test).sum(axis=1) + 0.5 * test[:, 0] * np.cos(test[:, 1])

kernel = ConstantKernel(4.0) * RBF(1.5) + WhiteKernel(0.01)
model = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(X, y)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    small = kernelet.compress(model, X, y, n_vectors=200, n_jobs=-1)
mean, few = model.predict(test), small.predict(test)
print(f"process: {rows} vectors, pickle {len(pickle.dumps(model)) / 2**20:.1f} MiB, root mean squared error {np.sqrt(np.mean((mean - truth) ** 2)):.4f}")
print(f"small:   {small.n_vectors_} vectors, pickle {len(pickle.dumps(small)) / 2**20:.3f} MiB, root mean squared error {np.sqrt(np.mean((few - truth) ** 2)):.4f}")
print(f"largest difference {np.abs(mean - few).max():.4f} of outputs between {mean.min():.2f} and {mean.max():.2f}")
