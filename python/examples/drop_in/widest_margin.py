"""The line with the widest margin between two clouds, and the points that hold it.

    python widest_margin.py
"""

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

X, y = make_blobs(n_samples=40, centers=2, random_state=6)
model = SVC(kernel="linear", C=1000, tol=1e-6).fit(X, y)
slope = -model.coef_[0, 0] / model.coef_[0, 1]
print("slope", slope, "at zero", -model.intercept_[0] / model.coef_[0, 1])
print("margin", 2 / np.linalg.norm(model.coef_), "held by", len(model.support_vectors_), "points")
print("their distances from the line", np.abs(model.decision_function(model.support_vectors_)).mean())
