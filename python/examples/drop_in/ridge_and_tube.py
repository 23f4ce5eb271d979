"""Kernel ridge and support vector regression side by side, both tuned.

    python ridge_and_tube.py
"""

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

rng = np.random.RandomState(42)
X = 5 * rng.rand(400, 1)
y = np.sin(X).ravel()
y[::5] += 3 * (0.5 - rng.rand(80))
grid = np.linspace(0, 5, 200)[:, None]
ridge = GridSearchCV(KernelRidge(kernel="rbf", gamma=0.1), {"alpha": [1.0, 0.1, 0.01], "gamma": [0.1, 1.0]}, cv=4).fit(X, y)
tube = GridSearchCV(SVR(kernel="rbf", gamma=0.1), {"C": [1.0, 10.0], "gamma": [0.1, 1.0]}, cv=4).fit(X, y)
for name, search in (("ridge", ridge), ("tube", tube)):
    error = np.sqrt(np.mean((search.predict(grid) - np.sin(grid).ravel()) ** 2))
    print(name, "R2 in cross-validation", search.best_score_, "error against the curve", error)
