"""A rare class: what weights of classes do to the line between it and the others.

    python rare_class.py
"""

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.svm import SVC

rng = np.random.RandomState(0)
X = np.r_[rng.normal(0.0, 1.5, size=(500, 2)), rng.normal(2.0, 0.7, size=(50, 2))]
y = np.repeat([0, 1], [500, 50])
for weights in (None, {1: 10}, "balanced"):
    model = SVC(kernel="linear", class_weight=weights, tol=1e-6).fit(X, y)
    print("weights", weights, "line", *model.coef_[0], "balanced accuracy", balanced_accuracy_score(y, model.predict(X)), "factors", *model.class_weight_)
