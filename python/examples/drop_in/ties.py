"""Ties between votes of pairs, and how decision values break them.

    python ties.py
"""

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

X, y = make_blobs(random_state=27)
model = SVC(kernel="linear", C=1, break_ties=False, decision_function_shape="ovr", tol=1e-6).fit(X, y)
grid = np.stack(np.meshgrid(np.linspace(-8, 8, 60), np.linspace(-8, 8, 60)), axis=-1).reshape(-1, 2)
votes = model.predict(grid)
broken = model.set_params(break_ties=True).predict(grid)
print("part of the square where votes and decisions differ", np.mean(votes != broken))
print("the largest decision wins", np.mean(broken == model.decision_function(grid).argmax(axis=1)))
