"""New points like those of training, and others that are not, by a one-class machine.

    python novelty.py
"""

import numpy as np
from sklearn.svm import OneClassSVM

rng = np.random.RandomState(7)
shape = 0.3 * rng.randn(100, 2)
train, new = np.r_[shape + 2, shape - 2], 0.3 * rng.randn(40, 2)
new = np.r_[new[:20] + 2, new[20:] - 2]
strange = rng.uniform(-4, 4, size=(30, 2))
model = OneClassSVM(nu=0.1, kernel="rbf", gamma=0.1, tol=1e-8).fit(train)
for name, rows in (("train", train), ("new", new), ("strange", strange)):
    print(name, "outside", np.mean(model.predict(rows) == -1), "mean score", model.score_samples(rows).mean())
print("offset", model.offset_[0], "scores less the offset are decisions", np.abs(model.score_samples(new) - model.offset_ - model.decision_function(new)).max())
