"""A noisy curve by three kernels of support vector regression, and which points lie outside the tube.

    python curve_with_noise.py
"""

import numpy as np
from sklearn.svm import SVR

rng = np.random.RandomState(0)
X = np.sort(5 * rng.rand(80, 1), axis=0)
y = np.sin(X).ravel()
y[::5] += 3 * (0.5 - rng.rand(16))
for model in (
    SVR(kernel="rbf", C=100, gamma=0.1, epsilon=0.1, tol=1e-6),
    SVR(kernel="linear", C=10, gamma="auto", tol=1e-6),
    SVR(kernel="poly", C=1, gamma="auto", degree=3, epsilon=0.1, coef0=1, tol=1e-5),
):
    model.fit(X, y)
    inside = np.setdiff1d(np.arange(len(X)), model.support_)
    print(model.kernel, "R2", model.score(X, y), "vectors", len(model.support_), "inside the tube", len(inside) / len(X))
