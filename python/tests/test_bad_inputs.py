"""Whatever is given, the answer is finite numbers or an error of Python with a sentence; never a panic."""

import inspect
import re
import warnings

import numpy as np
import pytest
from bad_inputs import ROWS, SETTINGS, TARGETS, WEIGHTS
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import kernelet
from kernelet import _core

X, Y = (part[::5] for part in load_iris(return_X_y=True))
FEW = {"iterations": 5}
ESTIMATORS = [
    kernelet.SparseSVC(4, options=FEW, random_state=0),
    kernelet.SparseSVC(None),
    kernelet.SparseSVC(4, method="greedy-basis"),
    kernelet.SparseSVC(4, kernel=rbf_kernel),
    kernelet.SparseSVR(4, options=FEW, random_state=0),
    kernelet.SparseSVR(None),
    kernelet.SparseOneClassSVM(4, options=FEW, random_state=0),
    kernelet.SparseOneClassSVM(None),
    kernelet.SparseKernelRidge(4, options=FEW, random_state=0),
    kernelet.SparseKernelRidge(None),
    kernelet.SparseHuberRegressor(4, options=FEW, random_state=0),
    kernelet.SparseHuberRegressor(None),
    kernelet.SparseKernelPCA(4, n_components=2, options=FEW, random_state=0),
    kernelet.SparseKernelPCA(None, n_components=2),
    kernelet.SparseKernelFisher(4, options=FEW, random_state=0),
    kernelet.SparseKernelFisher(None),
    kernelet.SparseLogistic(4, options=FEW, random_state=0),
    kernelet.RVC(),
    kernelet.RVR(),
    kernelet.GreedyBasis(4),
]
PREDICTIONS = ("predict", "decision_function", "predict_proba", "transform", "score_samples")
MODELS = {
    "svc": SVC().fit(X, Y),
    "two classes": SVC().fit(X, Y > 0),
    "svr": SVR().fit(X, Y),
    "one-class": OneClassSVM().fit(X),
    "kernel ridge of two targets": KernelRidge(kernel="rbf").fit(X, np.c_[Y, -Y]),
    "kernel pca": KernelPCA(2, kernel="rbf").fit(X),
    "pipeline": make_pipeline(StandardScaler(), SVC()).fit(X, Y),
    "calibrated": CalibratedClassifierCV(SVC(), ensemble=False, cv=2).fit(X, Y),
    "function": SVC(kernel=rbf_kernel).fit(X, Y),
    "our own": kernelet.SparseLogistic(None).fit(X, Y),
}
# Without the address of a function, so that every process that shares the tests gives them the same names.
every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: re.sub(" at 0x[0-9a-f]+", "", str(estimator)))


# What Python and the library say among themselves, and flags of the program: no words for users of parameters.
RAW = re.compile("not supported between|invalid type|is not an instance of|has no attribute|is not callable|(^|[ `])--[a-z]")


def check(cases, never="internal error"):
    """Runs the work of each case, which must give finite numbers or an error that says what is wrong."""
    wrong = [f"{what}: {complaint}" for what, work in cases if (complaint := complaint_about(work, never))]
    assert not wrong, "\n".join(wrong)


def complaint_about(work, never):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = work()
    except (ValueError, TypeError, OSError) as error:
        return "" if str(error).strip() and not re.search(never, str(error)) else repr(error)
    except BaseException as error:  # a PanicException is no Exception
        return repr(error)
    return "" if all(np.asarray(numbers).dtype.kind not in "fc" or np.isfinite(numbers).all() for numbers in given) else "numbers that are not finite"


def predictions(model, rows):
    return [getattr(model, name)(rows) for name in PREDICTIONS if hasattr(model, name)]


def target(estimator):
    return Y.astype(float) if is_regressor(estimator) else Y


def test_there_are_enough_of_them():
    assert len(ROWS) + len(TARGETS) + len(WEIGHTS) + sum(map(len, SETTINGS.values())) >= 200


@every
def test_rows(estimator):
    y = target(estimator)
    fitted = clone(estimator).fit(X, y)
    check((f"fit, {name}", lambda: predictions(clone(estimator).fit(make(X), y), X)) for name, make in ROWS.items())
    check((f"predict, {name}", lambda: predictions(fitted, make(X))) for name, make in ROWS.items())


def test_blocks_of_rows():
    basis = kernelet.GreedyBasis()
    check((f"first, {name}", lambda: predictions(clone(basis).partial_fit(make(X)), X)) for name, make in ROWS.items())
    check((f"second, {name}", lambda: predictions(clone(basis).partial_fit(X).partial_fit(make(X)), X)) for name, make in ROWS.items())


@every
def test_targets_and_weights(estimator):
    check((f"target, {name}", lambda: predictions(clone(estimator).fit(X, make(Y)), X)) for name, make in TARGETS.items())
    if "sample_weight" in inspect.signature(estimator.fit).parameters:
        y, n = target(estimator), len(X)
        check((f"weights, {name}", lambda: predictions(clone(estimator).fit(X, y, sample_weight=make(n)), X)) for name, make in WEIGHTS.items())


@every
def test_settings(estimator):
    y = target(estimator)
    cases = [(name, value) for name in SETTINGS.keys() & estimator.get_params().keys() for value in SETTINGS[name]]
    trials = ((f"{name}={value!r}", lambda: predictions(clone(estimator).set_params(**{name: value}).fit(X, y), X)) for name, value in cases)
    check(trials, never=f"internal error|{RAW.pattern}")
    fitted = clone(estimator).fit(X, y)
    check((f"at({size!r})", lambda: predictions(fitted.at(size), X)) for size in (-1, 0, 1, 10**30, 1.5, "a", None, np.nan, np.inf))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"C": -1}, "^C is -1, but must be"),
        ({"C": [1.0]}, "^C is "),
        ({"tol": "x", "n_vectors": None}, "^tol is x, but must be"),
        ({"cache_size": "", "n_vectors": None}, "^cache_size is "),
        ({"C": {"a": 1}}, "^C must be a number"),
        ({"n_jobs": "a"}, "^n_jobs must be an integer or None"),
        ({"device": False}, "^device must be 'cpu'"),
        ({"gamma": None}, "^gamma must be 'scale'"),
        ({"options": {"max-iterations": -1}, "n_vectors": None}, "max_iter"),
    ],
    ids=str,
)
def test_messages_name_the_parameter(settings, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        kernelet.SparseSVC(4).set_params(**settings).fit(X, Y)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("settings", [{"method": "pursuit"}, {"options": {"effort": "quick"}}], ids=["pursuit", "auto"])
def test_rows_and_targets_of_compression(name, settings):
    model = MODELS[name]
    good = {"svr": Y * 1.0, "kernel ridge of two targets": np.c_[Y, -Y], "two classes": Y > 0}.get(name, Y)

    def small(X, y):
        return kernelet.compress(model, X, y, n_vectors=3, **settings)

    check((f"X, {what}", lambda: predictions(small(make(X), good), X)) for what, make in ROWS.items())
    check((f"y, {what}", lambda: predictions(small(X, make(Y)), X)) for what, make in TARGETS.items())
    for length in (0, 1, len(X) - 1, len(X) + 1, 3 * len(X)):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            small(X, np.resize(good, (length, *good.shape[1:])))
    if name != "function":
        with pytest.raises(ValueError, match="give their X too"):
            small(None, good)


@pytest.mark.parametrize("name", ["n_vectors", "fraction", "max_residual", "max_loss", "min_agreement", "max_bytes"])
def test_goals_of_compression(name):
    values = (0, -1, 1.5, 10**30, float("nan"), float("inf"), "a", [1], True, 1)
    settings = {"options": {"effort": "quick"}}
    check((f"{value!r}", lambda: predictions(kernelet.compress(MODELS["svc"], X, Y, **settings, **{name: value}), X)) for value in values)


def test_other_settings_of_compression():
    cases = [{"metric": "x"}, {"metric": 3}, {"method": "x"}, {"method": 3}, {"method": None}, {"refit": "x"}, {"refit": 3}, {"refine": "x"}, {"refine": 3}]
    cases += [{name: value} for name in ("options", "n_jobs", "random_state") for value in SETTINGS[name]]
    check((f"{case}", lambda: predictions(kernelet.compress(MODELS["svc"], X, Y, **{"n_vectors": 3, **case}), X)) for case in cases)
    models = (None, 3, "no such file", b"bytes", [], SVC, SVC(), kernelet.SparseSVC(), kernelet.SparseSVC, make_pipeline(SVC()), object())
    check((f"{model!r}", lambda: predictions(kernelet.compress(model, X, Y, n_vectors=3), X)) for model in models)


def test_machines_themselves(tmp_path):
    machine = MODELS["our own"].machine_
    # What is not finite gives what it gives; estimators look before.
    check((f"outputs, {name}", lambda: [machine.outputs(make(X)).shape]) for name, make in ROWS.items())
    check((f"classes, {name}", lambda: [machine.classes(make(X))]) for name, make in ROWS.items())
    whole = machine.to_bytes()
    contents = [b"", b"kernelet", bytes(1000), *(whole[:length] for length in range(0, len(whole), 97))]
    check((f"{content[:9]!r} of {len(content)} bytes", lambda: [_core.Machine.from_bytes(content).offsets()]) for content in contents)
    for load in (kernelet.SparseSVC.load, kernelet.Machine.load):
        with pytest.raises(OSError):
            load(tmp_path / "no such file")


@pytest.mark.skipif(not hasattr(_core, "_panicking"), reason="built for release")
@pytest.mark.parametrize("own_thread", [False, True])
def test_a_panic_is_an_error_with_a_sentence(own_thread):
    with pytest.raises(RuntimeError, match=r"internal error of kernelet .*index out of bounds.*; please report it"):
        _core._panicking(own_thread, [1.0, 2.0])
