"""How many vectors does the wine table need? The test error of small machines beside the full one.

    python wine_sizes.py -o FIGURE.png
"""

import argparse

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelet.svm import SVC

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", required=True, help="where the figure is saved")
output = arguments.parse_args().output

X, y = load_wine(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
scaler = StandardScaler().fit(train)
train, test = scaler.transform(train), scaler.transform(test)
full = SVC(C=10).fit(train, y_train)
sizes = [2, 3, 4, 6, 8, 12, 16]
errors = [1 - SVC(C=10, n_vectors=size, max_iter=50, random_state=0).fit(train, y_train).score(test, y_test) for size in sizes]
for size, error in zip(sizes, errors, strict=True):
    print(f"{size:3d} vectors: test error {error:.4f}")
print(f"{len(full.support_):3d} vectors: test error {1 - full.score(test, y_test):.4f}, the full machine")

figure, axes = plt.subplots()
axes.plot(sizes, errors, marker="o", label="SVC(n_vectors=..)")
axes.axhline(1 - full.score(test, y_test), linestyle="--", color="black", label=f"SVC, {len(full.support_)} vectors")
axes.set_xlabel("expansion vectors (number)")
axes.set_ylabel("test error (fraction of rows)")
axes.set_title("Wine: size against error")
axes.legend()
figure.savefig(output)
