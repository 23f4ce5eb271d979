"""How far do eight vectors get on the diabetes table? Regression beside the full machine.

    python diabetes_regression.py -o FIGURE.png
"""

import argparse

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelet.svm import SVR

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", required=True, help="where the figure is saved")
output = arguments.parse_args().output

X, y = load_diabetes(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, random_state=0)
figure, axes = plt.subplots()
hollow = {"marker": "o", "s": 60, "facecolors": "none", "edgecolors": "tab:blue"}
for vectors, style in ((None, hollow), (8, {"marker": "o", "s": 12, "color": "tab:orange"})):
    model = make_pipeline(StandardScaler(), SVR(C=30, epsilon=10, gamma=0.02, n_vectors=vectors, random_state=0)).fit(train, y_train)
    print(f"{model[-1].n_vectors_:3d} vectors: R2 {model.score(test, y_test):.3f} on test rows")
    axes.scatter(y_test, model.predict(test), **style, label=f"{model[-1].n_vectors_} vectors, R2 {model.score(test, y_test):.2f}")
ends = [y_test.min(), y_test.max()]
axes.plot(ends, ends, linestyle=":", color="black", label="right")
axes.set_xlabel("progression after a year (score)")
axes.set_ylabel("predicted progression (score)")
axes.set_title("Diabetes: test rows")
axes.legend()
figure.savefig(output)
