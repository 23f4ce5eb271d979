"""Which features count? Scales learned together with the vectors, breast cancer.

    python features_that_count.py -o FIGURE.png
"""

import argparse

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from kernelet import SparseSVC, plot_scales

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", required=True, help="where the figure is saved")
output = arguments.parse_args().output

data = load_breast_cancer()
train, test, y_train, y_test = train_test_split(data.data, data.target, random_state=0)
model = SparseSVC(8, ard=True, options={"iterations": 20, "metric-penalty": 0.01}, random_state=0).fit(train, y_train)
largest = sorted(zip(model.feature_scales_, data.feature_names, strict=True), reverse=True)[:3]
print(f"{model.n_vectors_} vectors: test error {1 - model.score(test, y_test):.4f}; the largest scales: " + ", ".join(f"{name} {scale:.2f}" for scale, name in largest))

axes = plot_scales(model, names=data.feature_names, most=12)
axes.figure.tight_layout()
axes.figure.savefig(output)
plt.close(axes.figure)
