"""How many features does a machine need? A test of each feature before it, in a pipeline.

    python few_features.py
"""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectPercentile, f_classif
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_iris(return_X_y=True)
X = np.hstack((X, 2 * np.random.RandomState(0).random((X.shape[0], 36))))
model = Pipeline([("select", SelectPercentile(f_classif)), ("scale", StandardScaler()), ("svc", SVC(gamma="auto"))])
for percentile in (3, 10, 30, 100):
    model.set_params(select__percentile=percentile)
    print(percentile, "% of the features: accuracy", cross_val_score(model, X, y).mean())
