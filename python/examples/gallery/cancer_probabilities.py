"""Are the probabilities of a small machine right? Breast cancer, ten vectors, predicted against observed.

    python cancer_probabilities.py -o FIGURE.png
"""

import argparse

import matplotlib.pyplot as plt
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelet import SparseLogistic, SparseSVC

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", required=True, help="where the figure is saved")
output = arguments.parse_args().output

X, y = load_breast_cancer(return_X_y=True)
few = {"options": {"iterations": 30}, "random_state": 0}
models = {"SparseLogistic": SparseLogistic(10, C=10, **few), "SparseSVC(probability=True)": SparseSVC(10, C=10, probability=True, **few)}
figure, axes = plt.subplots()
axes.plot([0, 1], [0, 1], linestyle=":", color="black", label="right")
for name, model in models.items():
    probability = cross_val_predict(make_pipeline(StandardScaler(), model), X, y, cv=3, method="predict_proba")[:, 1]
    observed, predicted = calibration_curve(y, probability, n_bins=5, strategy="quantile")
    print(f"{name}, 10 vectors: Brier score {brier_score_loss(y, probability):.4f}, error {((probability > 0.5) != y).mean():.4f}")
    axes.plot(predicted, observed, marker="o", label=name)
axes.set_xlabel("predicted probability of benign")
axes.set_ylabel("observed fraction of benign")
axes.set_title("Breast cancer, 10 vectors: calibration")
axes.legend()
figure.savefig(output)
