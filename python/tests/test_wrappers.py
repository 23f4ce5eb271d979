"""Models that hold other models become small inside; goals that are not met warn."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, PowerTransformer, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

import kernelet
from kernelet import GoalWarning, SparseSVC, SparseSVR

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
NUMBERS = Y + np.sin(5 * X[:, 0])
QUICK = {"options": {"effort": "quick"}}
PROCESS = pytest.mark.filterwarnings("ignore:the latent mean")

MODELS = {
    "grid search": (lambda: GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1, 10]}, cv=3).fit(X, NAMES), NAMES),
    "random search": (lambda: RandomizedSearchCV(SVC(), {"C": [1, 10]}, n_iter=2, cv=3, random_state=0).fit(X, NAMES), NAMES),
    "one-vs-rest": (lambda: OneVsRestClassifier(SVC(C=10)).fit(X, NAMES), NAMES),
    "one-vs-one": (lambda: OneVsOneClassifier(make_pipeline(StandardScaler(), SVC(C=10))).fit(X, NAMES), NAMES),
    "labels": (lambda: MultiOutputClassifier(SVC()).fit(X, np.c_[Y, Y > 0]), np.c_[Y, Y > 0]),
    "processes of several classes": (lambda: GaussianProcessClassifier(2.0 * RBF(1.0), optimizer=None).fit(X, NAMES), NAMES),
    "processes of pairs": (lambda: GaussianProcessClassifier(RBF(1.0), optimizer=None, multi_class="one_vs_one").fit(X, NAMES), NAMES),
    "process": (lambda: GaussianProcessClassifier(RBF([1.0, 2.0, 1.0, 0.5]), optimizer=None).fit(X, Y > 0), Y > 0),
    "any steps": (lambda: make_pipeline(FeatureUnion([("a", PCA(2)), ("b", PolynomialFeatures(2))]), PowerTransformer(), SVC(C=10)).fit(X, NAMES), NAMES),
    "columns": (lambda: make_pipeline(ColumnTransformer([("a", StandardScaler(), [0, 1])], remainder="passthrough"), SVC()).fit(X, NAMES), NAMES),
}


@PROCESS
@pytest.mark.parametrize("name", MODELS)
def test_classes_stay_those_of_the_model(name):
    make, y = MODELS[name]
    model = make()
    small = kernelet.compress(model, X, y, n_vectors=15, **QUICK)
    assert np.mean(small.predict(X) == model.predict(X)) >= 0.97
    for without in (None, y):
        assert kernelet.compress(model, X if without is not None else None, without, n_vectors=15, method="pursuit") is not None
    # The model itself is as it was.
    assert type(model) is type(make()) and np.mean(model.predict(X) == make().predict(X)) == 1


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MultiOutputRegressor(SVR(C=10)), np.c_[NUMBERS, Y]),
        (TransformedTargetRegressor(SVR(C=10), func=np.exp, inverse_func=np.log), NUMBERS),
        (TransformedTargetRegressor(make_pipeline(StandardScaler(), SVR()), transformer=StandardScaler()), NUMBERS),
    ],
    ids=["targets", "function", "transformer"],
)
def test_numbers_stay_those_of_the_model(model, y):
    model.fit(X, y)
    small = kernelet.compress(model, X, y, n_vectors=40, **QUICK)
    assert type(small) is type(model)
    assert np.abs(small.predict(X) - model.predict(X)).max() < 0.1 * np.ptp(y) and small.score(X, y) > model.score(X, y) - 0.02


def test_the_machine_of_a_process_is_its_latent_mean():
    model = GaussianProcessClassifier(2.0 * RBF(1.3), optimizer=None).fit(X, Y > 0)
    with pytest.warns(UserWarning, match="probabilities need its variance"):
        same = kernelet.compress(model, fraction=1.0, method="independent", options={"tolerance": 1e-14})
    inner = model.base_estimator_
    want = inner.kernel_(X, inner.X_train_) @ (inner.y_train_ - inner.pi_)
    np.testing.assert_allclose(same.decision_function(X), want, atol=1e-6 * np.abs(want).max())
    assert type(same) is SparseSVC and same.predict(X).dtype == bool


def test_models_that_cannot_be_read_are_rejected_with_an_error():
    cases = [
        (GridSearchCV(SVC(), {"C": [1]}, cv=2, refit=False).fit(X, Y), "refit=True"),
        (GridSearchCV(SVC(), {"C": [1]}, cv=2), "not fitted"),
        (OneVsRestClassifier(LinearSVC()).fit(X, Y), "compress takes SVC"),
        (OneVsOneClassifier(SVC(kernel="precomputed")).fit(X @ X.T, Y), "precomputed"),
    ]
    for model, words in cases:
        with pytest.raises((ValueError, TypeError), match=words):
            kernelet.compress(model, X, Y, n_vectors=5)


@pytest.mark.filterwarnings("ignore::kernelet.GoalWarning")
def test_a_percentage_of_loss_is_one_of_rows_or_of_the_variance():
    svr = SVR(C=10).fit(X, NUMBERS)
    relative = kernelet.compress(svr, X, NUMBERS, max_loss="1%", **QUICK)
    absolute = kernelet.compress(svr, X, NUMBERS, max_loss=0.01 * NUMBERS.var(), **QUICK)
    assert type(relative) is SparseSVR and relative.n_vectors_ == absolute.n_vectors_
    svc = SVC(C=10).fit(X, Y)
    assert kernelet.compress(svc, X, Y, max_loss="5%", **QUICK).n_vectors_ == kernelet.compress(svc, X, Y, max_loss=0.05, **QUICK).n_vectors_
    for goal, settings, words in [("a bit", {}, "a percentage such as"), ("%", {}, "a percentage such as"), ("1%", {"metric": "mae"}, "metric='mse'")]:
        with pytest.raises(ValueError, match=words):
            kernelet.compress(svr, X, NUMBERS, max_loss=goal, **settings, **QUICK)


def test_goals_that_are_not_met_warn():
    svr = SVR(C=100, gamma=5).fit(X, NUMBERS)
    with pytest.warns(GoalWarning, match="the goals are not"):
        small = kernelet.compress(svr, X, NUMBERS, max_loss=0.0, n_vectors=1, **QUICK)
    assert small.report_["goals_met"] is not True
    assert kernelet.compress(SVC(C=10).fit(X, Y), n_vectors=5, method="pursuit").validation_ is None
