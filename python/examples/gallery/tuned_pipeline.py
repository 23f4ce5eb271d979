"""How small may a tuned pipeline be? A grid search of scikit-learn made small, size by size.

    python tuned_pipeline.py -o FIGURE.png
"""

import argparse

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelet

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", required=True, help="where the figure is saved")
output = arguments.parse_args().output

X, y = load_breast_cancer(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1, 10], "svc__gamma": [0.003, 0.03]}, cv=3).fit(train, y_train)
vectors = len(search.best_estimator_[-1].support_)
sizes = [1, 2, 4, 8, 16]
small = [kernelet.compress(search, train, y_train, n_vectors=size, options={"effort": "quick"}) for size in sizes]
errors = [1 - pipeline.score(test, y_test) for pipeline in small]
for pipeline, error in zip(small, errors, strict=True):
    print(f"{pipeline.n_vectors_:3d} vectors: test error {error:.4f}, the same label as the original for {pipeline.agreement_:.1%} of training rows")
print(f"{vectors:3d} vectors: test error {1 - search.score(test, y_test):.4f}, the original")

figure, axes = plt.subplots()
axes.plot(sizes, errors, marker="o", label="compressed")
axes.axhline(1 - search.score(test, y_test), linestyle="--", color="black", label=f"original, {vectors} vectors")
axes.set_xscale("log", base=2)
axes.set_xlabel("expansion vectors (number)")
axes.set_ylabel("test error (fraction of rows)")
axes.set_title("Breast cancer: a tuned pipeline made small")
axes.legend()
figure.savefig(output)
