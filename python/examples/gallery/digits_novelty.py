"""Which digits are not threes? Novelty detection that has seen threes alone.

    python digits_novelty.py -o FIGURE.png
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from kernelet import SparseOneClassSVM

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", required=True, help="where the figure is saved")
output = arguments.parse_args().output

X, y = load_digits(return_X_y=True)
threes = X[y == 3]
train, new, others = threes[:120], threes[120:], X[y != 3]
model = SparseOneClassSVM(15, nu=0.1, gamma=1e-3, options={"iterations": 40}, random_state=0).fit(train)
scores = model.decision_function(np.r_[new, others])
truth = np.r_[np.ones(len(new)), np.zeros(len(others))]
print(f"{model.n_vectors_} vectors: area under the curve {roc_auc_score(truth, scores):.3f}; new threes inside {np.mean(model.predict(new) == 1):.2f}, other digits outside {np.mean(model.predict(others) == -1):.2f}")

figure, axes = plt.subplots()
axes.hist([scores[truth == 1], scores[truth == 0]], bins=40, density=True, label=["new threes", "other digits"])
axes.axvline(0, linestyle=":", color="black", label="border")
axes.set_xlabel("decision value (distance from the border in feature space)")
axes.set_ylabel("density of rows")
axes.set_title("One class of digits, 15 vectors")
axes.legend()
figure.savefig(output)
