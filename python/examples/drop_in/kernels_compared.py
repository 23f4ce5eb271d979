"""Which kernel separates two clouds of points? Linear, polynomial and Gaussian machines with the same width.

    python kernels_compared.py
"""

import numpy as np
from sklearn.svm import SVC

rng = np.random.RandomState(2)
X = np.r_[rng.normal(-1.0, 0.9, size=(40, 2)), rng.normal(1.0, 0.9, size=(40, 2))]
y = np.repeat([0, 1], 40)
for kernel in ("linear", "poly", "rbf"):
    model = SVC(kernel=kernel, gamma=2, tol=1e-6).fit(X, y)
    grid = np.stack(np.meshgrid(np.linspace(-3, 3, 30), np.linspace(-3, 3, 30)), axis=-1).reshape(-1, 2)
    print(kernel, "accuracy", model.score(X, y), "part of the square in the second class", np.mean(model.decision_function(grid) > 0), "vectors", model.n_support_.sum())
