"""A class that is an exclusive or of two signs, by a machine with nu.

    python exclusive_or.py
"""

import numpy as np
from sklearn.svm import NuSVC

rng = np.random.RandomState(0)
X = rng.normal(size=(300, 2))
y = np.logical_xor(X[:, 0] > 0, X[:, 1] > 0)
model = NuSVC(gamma="auto", nu=0.25, tol=1e-6).fit(X, y)
corners = np.array([[2.0, 2.0], [2.0, -2.0], [-2.0, -2.0], [-2.0, 2.0]])
print("accuracy", model.score(X, y), "corners", *model.predict(corners).astype(int), "vectors", len(model.support_) / len(X))
