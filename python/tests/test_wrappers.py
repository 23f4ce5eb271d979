"""Models that hold other models become small inside; goals that are not met warn."""

import pathlib
import warnings

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, PowerTransformer, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

import kernelet
import kernelet.svm
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


def test_tables_lists_and_sparse_rows_go_to_the_machines_inside():
    table = pandas.DataFrame(X, columns=list("abcd"))
    for rows in (table, X.tolist(), sp.csr_matrix(X)):
        model = OneVsOneClassifier(SVC(C=10)).fit(rows, NAMES)
        small = kernelet.compress(model, rows, NAMES.tolist(), n_vectors=15, **QUICK)
        assert np.mean(small.predict(rows) == model.predict(rows)) >= 0.97
    model = CalibratedClassifierCV(SVC(C=10), cv=3, ensemble=False).fit(table, NAMES)
    assert np.abs(kernelet.compress(model, table, NAMES, n_vectors=20, **QUICK).predict_proba(table) - model.predict_proba(table)).max() < 0.2


@pytest.mark.parametrize("name", [name for name in MODELS if name != "process"])
def test_targets_of_another_length_are_rejected_by_every_wrapper(name):
    make, y = MODELS[name]
    model = make()
    for rows, target in [(X, y[:100]), (X[:100], y), (X, np.concatenate([y, y[:1]]))]:
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            kernelet.compress(model, rows, target, n_vectors=5, **QUICK)


def test_one_column_for_each_target_is_asked_for():
    model = MultiOutputRegressor(SVR()).fit(X, np.c_[NUMBERS, Y])
    for y in (NUMBERS, np.c_[NUMBERS, Y, Y]):
        with pytest.raises(ValueError, match="one column for each of the 2 targets"):
            kernelet.compress(model, X, y, n_vectors=5, **QUICK)


def test_frozen_models_stay_frozen():
    svc = SVC(C=10).fit(X, NAMES)
    small = kernelet.compress(FrozenEstimator(svc), X, NAMES, n_vectors=15, **QUICK)
    assert type(small) is FrozenEstimator and small.estimator.n_vectors_ <= 15 and np.mean(small.predict(X) == svc.predict(X)) >= 0.97
    calibrated = CalibratedClassifierCV(FrozenEstimator(svc)).fit(X, NAMES)
    small = kernelet.compress(calibrated, X, NAMES, n_vectors=20, **QUICK)
    assert np.mean(small.predict(X) == calibrated.predict(X)) >= 0.97 and np.abs(small.predict_proba(X) - calibrated.predict_proba(X)).mean() < 0.1


def test_warnings_point_at_the_line_that_called():
    def here(work):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work()
        return caught and {pathlib.Path(each.filename).name for each in caught} == {pathlib.Path(__file__).name}

    for svr in (SVR(C=100, gamma=5), make_pipeline(StandardScaler(), SVR(C=100, gamma=5)), GridSearchCV(SVR(gamma=5), {"C": [100]}, cv=2)):
        svr.fit(X, NUMBERS)
        assert here(lambda svr=svr: kernelet.compress(svr, X, NUMBERS, max_loss=0.0, n_vectors=1, **QUICK))
    assert here(lambda: kernelet.compress(MODELS["process"][0](), n_vectors=5))
    for model in (SparseSVC(None, max_iter=1), SparseSVR(None, max_iter=1), kernelet.svm.NuSVC(max_iter=1), kernelet.SparseOneClassSVM(None, max_iter=1)):
        assert here(lambda: model.fit(X, NAMES if isinstance(model, ClassifierMixin) else NUMBERS))
        assert here(lambda: make_pipeline(StandardScaler(), model).fit(X, NAMES if isinstance(model, ClassifierMixin) else NUMBERS))
    table = pandas.DataFrame({"a": X[:, 0], "text": NAMES, "empty": [None] * len(X)})
    assert here(lambda: SparseSVC(4, options={"iterations": 5}).fit(table, NAMES))
