"""Models of others made small: what is read is what they predict, and all vectors keep it."""

import json
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.decomposition import PCA, KernelPCA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, ExpSineSquared, Matern, RationalQuadratic, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.validation import check_is_fitted

import kernelet
from kernelet import SparseKernelPCA, SparseKernelRidge, SparseOneClassSVM, SparseSVC, SparseSVR, _core
from kernelet._convert import convert
from kernelet._folded import folded

X, Y = load_iris(return_X_y=True)
TWO = Y < 2
NUMBERS = Y + np.sin(5 * X[:, 0])
DIGITS = load_digits(return_X_y=True)


def named(y):
    return np.array(["setosa", "versicolor", "virginica"])[y]


def gp(kernel, **settings):
    return GaussianProcessRegressor(kernel, optimizer=None, **settings).fit(X, NUMBERS)


def outputs(model, rows=X):
    return next(getattr(model, name)(rows) for name in ("decision_function", "transform", "predict") if hasattr(model, name))


MODELS = {
    "svc of two classes": lambda: SVC(C=10).fit(X[TWO], named(Y[TWO])),
    "svc of three classes": lambda: SVC(C=10, decision_function_shape="ovo").fit(X, named(Y)),
    "svc, votes": lambda: SVC(kernel="poly", degree=2, coef0=1).fit(X, Y),
    "svc, linear": lambda: SVC(kernel="linear").fit(X, Y),
    "svc, sparse": lambda: SVC().fit(sp.csr_matrix(X), Y),
    "nu-svc": lambda: NuSVC(nu=0.2).fit(X, Y),
    "svr": lambda: SVR(C=10).fit(X, NUMBERS),
    "nu-svr": lambda: NuSVR(nu=0.4).fit(X, NUMBERS),
    "one-class": lambda: OneClassSVM(nu=0.2).fit(X),
    "kernel ridge": lambda: KernelRidge(kernel="rbf", alpha=0.1).fit(X, NUMBERS),
    "kernel ridge, two targets": lambda: KernelRidge(kernel="polynomial", alpha=0.1, gamma=0.1).fit(X, np.c_[NUMBERS, Y]),
    "gaussian process": lambda: gp(ConstantKernel(2.0) * RBF(1.5) + WhiteKernel(0.1), normalize_y=True),
    "gaussian process, lengths": lambda: gp(RBF([1.0, 2.0, 0.5, 3.0]) + WhiteKernel(0.1)),
    "gaussian process, matern": lambda: gp(2.0 * Matern([1.0, 2.0, 0.5, 3.0], nu=1.5) + WhiteKernel(0.1)),
    "gaussian process, matern 5/2": lambda: gp(Matern(1.2, nu=2.5) * ConstantKernel(3.0) + WhiteKernel(0.1)),
    "gaussian process, matern 7/2": lambda: gp(Matern(1.2, nu=3.5) + WhiteKernel(0.1)),
    "gaussian process, exponential": lambda: gp(Matern(1.2, nu=0.5), alpha=0.1),
    "gaussian process, rational quadratic": lambda: gp(RationalQuadratic(1.2, alpha=1.5) + WhiteKernel(0.1)),
    "gaussian process, dot product": lambda: gp(DotProduct(2.0) + WhiteKernel(0.1)),
    "kernel pca": lambda: KernelPCA(3, kernel="rbf", gamma=0.1).fit(X),
    "kernel pca, polynomial": lambda: KernelPCA(2, kernel="poly", degree=2).fit(X),
    "our own": lambda: SparseSVC(None, C=10).fit(X, named(Y)),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_what_is_read_is_what_the_model_predicts_and_all_vectors_keep_it(name):
    model = MODELS[name]()
    found = convert(model)
    want = outputs(model)
    scale = max(1.0, np.abs(want).max())
    # A machine as it is read, in an estimator of ours.
    same = kernelet.compress(model, fraction=1.0, method="independent", options={"tolerance": 1e-14}) if "dot" not in name else None
    if same is not None:
        check_is_fitted(same)
        assert type(same) is found.make and same.n_features_in_ == 4
        np.testing.assert_allclose(outputs(same), want, rtol=0, atol=1e-6 * scale)
    reading = found.machine.outputs(np.ascontiguousarray(X))
    if reading.shape[1] == 1:
        np.testing.assert_allclose(reading[:, 0], want if np.ndim(want) == 1 else want[:, 0], rtol=0, atol=1e-9 * scale)


def test_a_tenth_of_the_digits_machine_is_within_a_point():
    rows, labels = DIGITS
    svc = SVC(C=10).fit(rows[:1000], labels[:1000])
    small = kernelet.compress(svc, rows[:1000], labels[:1000], fraction=0.1)
    # The machine fits its training rows near-perfectly, so that imitation of its weights is a warm start, not a candidate.
    assert small.report_["goals_met"] and [one["way"] for one in small.report_["tried"]] == ["distil"] and small.report_["held_out_rows"] == 250
    assert isinstance(small, SparseSVC) and small.n_vectors_ <= 0.1 * len(svc.support_) + 1
    assert small.score(rows[1000:], labels[1000:]) >= svc.score(rows[1000:], labels[1000:]) - 0.01


def test_fresh_rows_certify_goals():
    rows, labels = DIGITS
    svc = SVC(C=10).fit(rows[:600], labels[:600])
    with warnings.catch_warnings():
        warnings.simplefilter("error", kernelet.GoalWarning)
        small = kernelet.compress(svc, rows[600:], labels[600:], min_agreement=0.9, confidence=0.9, options={"effort": "quick"})
    validation = small.validation_
    assert small.report_["goals_met"] is True and validation["kind"] == "fresh" and validation["rows"] == (len(rows) - 600 + 1) // 2
    assert validation["agreement_lower"] >= 0.9 and validation["lower"] <= validation["loss"] <= validation["upper"]
    assert small.n_vectors_ < len(svc.support_) and not small.report_["trained_further"]
    with pytest.warns(kernelet.GoalWarning, match="fresh rows") as caught:
        few = kernelet.compress(svc, rows[600:700], labels[600:700], max_loss=0.01, options={"effort": "quick"})
    assert few.report_["goals_met"] == "unknown"
    again = pickle.loads(pickle.dumps(caught[0].message))
    assert str(again) == str(caught[0].message)


def test_paths_agreement_and_other_sizes():
    svc = SVC(C=10).fit(X, named(Y))
    small = kernelet.compress(svc, X, named(Y), n_vectors=12, method="pursuit")
    path = small.path_
    assert path.sizes.tolist() == list(range(1, 13))
    assert {"residual", "relative_residual", "agreement", "train_error"} <= set(path.columns)
    assert (np.diff(path["residual"]) <= 1e-9).all()
    assert small.agreement_ == np.mean(small.predict(X) == svc.predict(X)) == path["agreement"][-1]
    assert path["train_error"][-1] == pytest.approx(1 - small.score(X, named(Y)))
    assert small.report_["method"] == "pursuit" and small.report_["vectors_before"] == len(svc.support_)
    six = small.at(6)
    assert six.n_vectors_ == 6 and 1 - six.score(X, named(Y)) == pytest.approx(path["train_error"][5])
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(again.decision_function(X), small.decision_function(X))
    alone = kernelet.compress(svc, max_residual=0.2)
    assert alone.agreement_ is None and alone.path_["relative_residual"][-1] <= 0.2


def test_goals_of_quality_find_the_size(tmp_path):
    svc = SVC(C=10).fit(X, Y)
    with pytest.warns(kernelet.GoalWarning, match="no promise"):
        small = kernelet.compress(svc, X, Y, max_loss=0.02, options={"effort": "quick"})
    assert small.report_["goals_met"] in (False, "unknown") and small.n_vectors_ < len(svc.support_)
    assert small.validation_["kind"] == "training" and small.validation_["confidence"] == 0.95
    with pytest.warns(kernelet.GoalWarning):
        alike = kernelet.compress(svc, X, min_agreement=0.95, options={"effort": "quick"})
    assert alike.report_["held_out_agreement"] >= 0.95
    knee = kernelet.compress(svc, X, Y, options={"effort": "quick"})
    assert "knee" in knee.report_["why"] and len(knee.path_.sizes) > 1
    knee.path_.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>") and f"of {len(svc.support_)} vectors" in page
    with pytest.raises(OSError, match="could not be written"):
        knee.path_.report(tmp_path / "nowhere" / "report.html")
    pairs = kernelet.compress(SVC(C=10, decision_function_shape="ovo").fit(*DIGITS), *DIGITS, n_vectors=40, options={"effort": "quick"})
    assert pairs.decision_function(DIGITS[0][:3]).shape == (3, 45)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_new_vectors_refits_and_every_kind():
    kinds = [
        (SVR(C=10).fit(X, NUMBERS), SparseSVR, NUMBERS),
        (OneClassSVM(nu=0.2).fit(X), SparseOneClassSVM, None),
        (KernelRidge(kernel="rbf", alpha=0.1).fit(X, NUMBERS), SparseKernelRidge, NUMBERS),
        (gp(2.0 * RBF(1.5) + WhiteKernel(0.1)), SparseKernelRidge, NUMBERS),
        (KernelPCA(2, kernel="rbf", gamma=0.1).fit(X), SparseKernelPCA, None),
    ]
    for model, kind, y in kinds:
        small = kernelet.compress(model, X, y, n_vectors=20, method="fixed-point", refine=True)
        assert type(small) is kind and small.n_vectors_ <= 20
        want = outputs(model)
        assert np.abs(outputs(small) - want).max() < 0.2 * np.abs(want).max()


def test_pipelines_keep_their_other_steps_and_fold_scalers_into_files(tmp_path):
    rows, numbers = load_diabetes(return_X_y=True)
    for steps in ([StandardScaler()], [MinMaxScaler(), StandardScaler()]):
        model = make_pipeline(*steps, SVR(C=100)).fit(rows, numbers)
        small = kernelet.compress(model, rows, numbers, n_vectors=40, method="pursuit")
        assert [type(step) for _, step in small.steps[:-1]] == [type(step) for step in steps]
        assert small[0] is model[0] and small.path_.sizes[-1] == small.n_vectors_ == 40 and small.at(9).n_vectors_ == 9
        small.save(tmp_path / "whole.model")
        np.testing.assert_allclose(SparseSVR.load(tmp_path / "whole.model").predict(rows), small.predict(rows), atol=1e-8)
        small.to_onnx(tmp_path / "whole.onnx")
        small.to_c(tmp_path / "whole.c")
        small.to_c(tmp_path / "whole.c", precision="i16", X=rows)
        small.to_javascript(tmp_path / "whole.js")
        np.testing.assert_allclose(small.to_sklearn().predict(rows), small.predict(rows), atol=1e-8)
    other = kernelet.compress(make_pipeline(PCA(3), SVR()).fit(rows, numbers), n_vectors=5)
    with pytest.raises(ValueError, match="PCA cannot be written"):
        other.save(tmp_path / "other.model")


def test_a_linear_map_stays_behind_the_scalers_that_are_folded_in(tmp_path):
    rows = load_diabetes(return_X_y=True)[0]
    rng = np.random.default_rng(0)
    linear, vectors, coefficients = rng.normal(size=(3, rows.shape[1])), rng.normal(size=(7, 3)), rng.normal(size=(7, 1))
    scale = {"shift": None, "factor": np.full(rows.shape[1], 0.5).tolist(), "map": linear.tolist()}
    about = {"kernel": {"name": "gaussian", "gamma": 0.1}, "decision": {"rule": "values"}, "scale": scale}
    machine = _core.Machine.of_parts(json.dumps(about), vectors, coefficients, [0.5])
    assert json.loads(machine.parts())["scale"] == scale and json.loads(machine.description())["dim"] == rows.shape[1]
    step = StandardScaler().fit(rows)
    whole = folded([step], machine)
    want = rbf_kernel(0.5 * step.transform(rows) @ linear.T, vectors, gamma=0.1) @ coefficients + 0.5
    np.testing.assert_allclose(machine.outputs(step.transform(rows)), want, atol=1e-12)
    np.testing.assert_allclose(whole.outputs(rows), want, atol=1e-12)
    whole.save(tmp_path / "whole.model")
    np.testing.assert_array_equal(_core.Machine.load(tmp_path / "whole.model").outputs(rows), whole.outputs(rows))
    np.testing.assert_allclose(SparseSVR.load(tmp_path / "whole.model").predict(rows), want.ravel(), atol=1e-12)


def test_calibration_stays_around_smaller_machines():
    model = CalibratedClassifierCV(SVC(C=10), ensemble=False, cv=3).fit(X, Y)
    small = kernelet.compress(model, X, Y, n_vectors=20)
    assert isinstance(small.calibrated_classifiers_[0].estimator, SparseSVC)
    assert isinstance(model.calibrated_classifiers_[0].estimator, SVC)
    assert np.abs(small.predict_proba(X) - model.predict_proba(X)).max() < 0.2


def test_models_of_libsvm(tmp_path):
    svc = SVC(C=10).fit(X, Y)
    ours = SparseSVC(None, C=10).fit(X, Y)
    ours.to_libsvm(tmp_path / "iris.libsvm")
    small = kernelet.compress(tmp_path / "iris.libsvm", X, Y, n_vectors=15)
    assert (small.predict(X) == svc.predict(X)).mean() > 0.95
    svmutil = pytest.importorskip("libsvm.svmutil")
    model = svmutil.svm_train(Y.tolist(), X.tolist(), "-q -g 0.5 -c 10")
    small = kernelet.compress(model, X, Y, fraction=1.0)
    said = [int(label) for label in svmutil.svm_predict(Y.tolist(), X.tolist(), model, "-q")[0]]
    assert small.predict(X).tolist() == said


def test_real_machines_of_scikit_learn_come_back():
    for y in (Y, named(Y), np.where(TWO, 3, 7)):
        small = kernelet.compress(SVC(C=10, decision_function_shape="ovo").fit(X, y), X, y, n_vectors=10)
        theirs = small.to_sklearn()
        assert type(theirs) is SVC and (theirs.predict(X) == small.predict(X)).all()
        np.testing.assert_allclose(theirs.decision_function(X), small.decision_function(X), atol=1e-9)
    alone = kernelet.compress(OneClassSVM(nu=0.2).fit(X), n_vectors=10)
    np.testing.assert_allclose(alone.to_sklearn().decision_function(X), alone.decision_function(X), atol=1e-9)
    with pytest.raises(ValueError, match="pairs of classes"):
        SparseSVC(10, random_state=0).fit(X, Y).to_sklearn()


def test_given_kernels_choose_among_their_rows():
    gram = rbf_kernel(X, X, 0.5)
    for model, rows in [(SVC(kernel="precomputed").fit(gram, Y), gram), (SVC(kernel=rbf_kernel).fit(X, Y), X)]:
        small = kernelet.compress(model, rows, Y, n_vectors=15)
        assert small.n_vectors_ == 15 and (small.predict(rows) == model.predict(rows)).mean() > 0.95
        with pytest.raises(ValueError, match="choose among"):
            kernelet.compress(model, rows, Y, n_vectors=15, method="fixed-point")
    with pytest.raises(ValueError, match="data are needed"):
        kernelet.compress(SVC(kernel="precomputed").fit(gram, Y), n_vectors=15)


def test_invalid_settings_are_rejected_with_an_error():
    class Own(SVC):
        pass

    svc = SVC().fit(X, Y)
    cases = [
        (SVC(), {}, "not fitted"),
        (LogisticRegression(max_iter=1000).fit(X, Y), {}, "compress takes SVC"),
        (Own().fit(X, Y), {}, "class of its own above SVC"),
        (KernelRidge(kernel="laplacian").fit(X, Y), {}, "L1 distance"),
        (gp(RBF() + Matern()), {}, "is a sum of kernels"),
        (GaussianProcessRegressor(ExpSineSquared(), alpha=1.0, optimizer=None).fit(X[:, :1], Y), {}, "has no counterpart"),
        (gp(RBF() * Matern()), {}, "product or sum"),
        (svc, {"X": X[:, :2]}, "2 features, but the model was trained on 4"),
        (svc, {"X": X, "y": Y + 1}, "class 3, which the model does not know"),
        (svc, {"refit": "margin"}, "needs rows"),
        (svc, {"n_vectors": 0}, "vectors"),
        (svc, {"method": "nothing"}, "method is nothing, but must be one of auto, pursuit"),
    ]
    for model, settings, words in cases:
        with pytest.raises((ValueError, TypeError), match=words):
            kernelet.compress(model, **{"n_vectors": 5, **settings})
    with pytest.raises(ValueError, match="say how small"):
        kernelet.compress(svc, method="pursuit")
    with pytest.raises(ValueError, match="measured on rows"):
        kernelet.compress(svc, max_loss=0.01)
    with pytest.raises(ValueError, match="compares with the targets of the rows, which have none"):
        kernelet.compress(svc, X, max_loss=0.01)
    with pytest.warns(UserWarning, match="mean of the process"):
        kernelet.compress(gp(RBF()), n_vectors=5)


def test_the_original_is_not_touched_and_the_small_one_can_be_trained_anew():
    svc = SVC(C=3, gamma=0.2).fit(X, Y)
    before = pickle.dumps(svc)
    small = kernelet.compress(svc, X, Y, n_vectors=10)
    assert pickle.dumps(svc) == before
    assert (small.C, small.gamma, small.kernel, small.n_vectors) == (3, 0.2, "gaussian", 10)
    assert clone(small).fit(X, Y).n_vectors_ == 10
