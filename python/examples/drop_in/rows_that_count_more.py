"""Rows that count more than others pull the boundary to their side.

    python rows_that_count_more.py
"""

import numpy as np
from sklearn.svm import SVC

rng = np.random.RandomState(3)
X = np.r_[rng.normal(1, 1, size=(20, 2)), rng.normal(-1, 1, size=(20, 2))]
y = np.r_[np.ones(20), -np.ones(20)]
heavy = np.abs(rng.normal(size=40))
heavy[15:] *= 5
probe = np.array([[0.0, 0.0], [0.5, -0.5], [-0.5, 0.5]])
for name, weights in (("equal", None), ("unequal", heavy)):
    model = SVC(gamma=1, tol=1e-6).fit(X, y, sample_weight=weights)
    print(name, "decisions", *model.decision_function(probe))
