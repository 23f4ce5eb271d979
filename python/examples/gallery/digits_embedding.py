"""What do digits look like in two components of a kernel? An embedding on 30 vectors, for new rows, too.

    python digits_embedding.py -o FIGURE.png
"""

import argparse

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from kernelet import SparseKernelPCA

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", required=True, help="where the figure is saved")
output = arguments.parse_args().output

X, y = load_digits(n_class=5, return_X_y=True)
train, test, y_train, y_test = X[:600], X[600:], y[:600], y[600:]
model = SparseKernelPCA(30, n_components=2, gamma=5e-4, options={"iterations": 30}, random_state=0).fit(train)
seen, new = model.transform(train), model.transform(test)
print(f"{model.n_vectors_} vectors: the nearest neighbours in two components are right for {KNeighborsClassifier(9).fit(seen, y_train).score(new, y_test):.3f} of new rows")

figure, axes = plt.subplots()
for digit in range(5):
    axes.scatter(*new[y_test == digit].T, s=10, label=f"digit {digit}")
axes.set_xlabel("first component (length in feature space)")
axes.set_ylabel("second component (length in feature space)")
axes.set_title("New digits in two kernel components, 30 vectors")
axes.legend()
figure.savefig(output)
