"""A tube whose width follows from nu, on the diabetes table.

    python tube_by_nu.py
"""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import NuSVR

X, y = load_diabetes(return_X_y=True)
for nu in (0.1, 0.5, 0.9):
    model = make_pipeline(StandardScaler(), NuSVR(nu=nu, C=50.0, gamma=0.02))
    print("nu", nu, "R2 in cross-validation", cross_val_score(model, X, y, cv=4).mean(), "vectors", len(model.fit(X, y)[-1].support_) / len(X))
