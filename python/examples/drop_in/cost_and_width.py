"""Cost and width by a grid search with stratified splits, in a pipeline with a scaler.

    python cost_and_width.py
"""

from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_wine(return_X_y=True)
grid = {"svc__C": [0.1, 10.0], "svc__gamma": [0.001, 0.05, 1.0]}
splits = StratifiedShuffleSplit(n_splits=3, test_size=0.3, random_state=42)
search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=splits).fit(X, y)
print("best", search.best_params_["svc__C"], search.best_params_["svc__gamma"], "accuracy", search.best_score_)
print("all", *search.cv_results_["mean_test_score"])
