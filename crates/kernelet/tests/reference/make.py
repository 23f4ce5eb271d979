"""Makes the reference values in this folder with scikit-learn and LIBSVM.

    pip install numpy scipy scikit-learn libsvm-official
    python crates/kernelet/tests/reference/make.py

The rows come from the library itself, through the example `dump`, so that both sides train on the same numbers. Each file holds
one case: its settings, and what the peers found at the tolerances 1e-3 (`loose`) and 1e-6 (`tight`). Objectives are recomputed
from the dual variables in double precision, 1/2 a'Qa - sum a, one for each two-class problem: the peers cache kernel values in
single precision, and print an objective that carries its rounding. `family/` holds the same for the other support vector learners.
"""
import importlib.metadata
import io
import json
import pathlib
import subprocess

import numpy as np
from libsvm import svm, svmutil
from sklearn.datasets import load_svmlight_file
from sklearn.gaussian_process.kernels import Matern
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import NuSVC, NuSVR, OneClassSVM, SVC, SVR

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
VERSIONS = {name: importlib.metadata.version(name) for name in ["scikit-learn", "libsvm-official", "numpy"]}
TEST_ROWS = 20

GAUSSIAN = {"name": "gaussian"}
CASES = [
    {"case": "plain", "set": "banana", "rows": 400, "kernel": GAUSSIAN | {"gamma": 1.0}, "c": 10.0},
    {"case": "class-weights", "set": "ripley", "rows": 250, "kernel": GAUSSIAN | {"gamma": 2.0}, "c": 1.0,
     "class_weights": [["-1", 0.5], ["1", 3.0]]},
    {"case": "sample-weights", "set": "ringnorm", "rows": 300, "kernel": GAUSSIAN | {"gamma": 0.05}, "c": 1.0,
     "sample_weights": True},
    {"case": "linear", "set": "twonorm", "rows": 400, "kernel": {"name": "linear"}, "c": 0.5},
    {"case": "polynomial", "set": "noisy", "rows": 400, "c": 1.0,
     "kernel": {"name": "polynomial", "gamma": 0.05, "degree": 3, "coef0": 1.0}},
    {"case": "sigmoid", "set": "twonorm", "rows": 300, "c": 2.0,
     "kernel": {"name": "sigmoid", "gamma": 0.02, "coef0": -0.2}},
    {"case": "bounded", "set": "noisy", "rows": 600, "kernel": GAUSSIAN | {"gamma": 0.05}, "c": 100.0},
    {"case": "one-vs-one", "set": "waveform3", "rows": 450, "kernel": GAUSSIAN | {"gamma": 0.02}, "c": 2.0},
    {"case": "one-vs-rest", "set": "waveform3", "rows": 450, "kernel": GAUSSIAN | {"gamma": 0.02}, "c": 2.0,
     "multiclass": "one-vs-rest"},
    {"case": "gram", "set": "waveform3", "rows": 300, "kernel": GAUSSIAN | {"gamma": 0.05}, "c": 1.0,
     "storage": "gram"},
    {"case": "sparse", "set": "digits", "rows": 600, "kernel": GAUSSIAN | {"gamma": 0.002}, "c": 10.0,
     "storage": "sparse", "classes": 5},
]
RIDGES = [
    {"case": "ridge-gaussian", "kernel": GAUSSIAN | {"gamma": 0.5}},
    {"case": "ridge-polynomial", "kernel": {"name": "polynomial", "gamma": 0.1, "degree": 3, "coef0": 1.0}},
    {"case": "ridge-linear", "kernel": {"name": "linear"}},
    {"case": "ridge-matern32", "kernel": {"name": "matern32", "gamma": 0.8}},
    {"case": "ridge-matern52", "kernel": {"name": "matern52", "gamma": 0.8}},
]
SINC = {"set": "sinc", "rows": 200, "kernel": GAUSSIAN | {"gamma": 0.5}}
FAMILY = [
    SINC | {"case": "svr", "learner": "svr", "c": 2.0, "epsilon": 0.05},
    SINC | {"case": "svr-no-tube", "learner": "svr", "c": 0.3, "epsilon": 0.0},
    SINC | {"case": "svr-weights", "learner": "svr", "c": 1.0, "epsilon": 0.1, "sample_weights": True},
    SINC | {"case": "svr-gram", "learner": "svr", "c": 1.0, "epsilon": 0.1, "storage": "gram"},
    SINC | {"case": "svr-polynomial", "learner": "svr", "c": 1.0, "epsilon": 0.1,
            "kernel": {"name": "polynomial", "gamma": 0.1, "degree": 3, "coef0": 1.0}},
    SINC | {"case": "nu-svr", "learner": "nu-svr", "c": 2.0, "nu": 0.3},
    SINC | {"case": "nu-svr-weights", "learner": "nu-svr", "c": 1.0, "nu": 0.6, "sample_weights": True},
    SINC | {"case": "nu-svr-gram", "learner": "nu-svr", "c": 5.0, "nu": 0.1, "storage": "gram"},
    {"case": "one-class", "learner": "one-class", "set": "banana", "rows": 400, "kernel": GAUSSIAN | {"gamma": 1.0}, "nu": 0.1},
    {"case": "one-class-weights", "learner": "one-class", "set": "ripley", "rows": 250, "kernel": GAUSSIAN | {"gamma": 2.0}, "nu": 0.4,
     "sample_weights": True},
    {"case": "one-class-gram", "learner": "one-class", "set": "ringnorm", "rows": 200, "kernel": GAUSSIAN | {"gamma": 0.05}, "nu": 0.7,
     "storage": "gram"},
    # Where nu n / 2 is a whole number a class may be left without a free variable, and its margin is any of an interval: avoid that.
    {"case": "nu-svc", "learner": "nu-svc", "set": "ripley", "rows": 250, "kernel": GAUSSIAN | {"gamma": 2.0}, "nu": 0.41},
    {"case": "nu-svc-one-vs-one", "learner": "nu-svc", "set": "waveform3", "rows": 450, "kernel": GAUSSIAN | {"gamma": 0.02},
     "nu": 0.31},
    {"case": "nu-svc-weights", "learner": "nu-svc", "set": "ripley", "rows": 250, "kernel": GAUSSIAN | {"gamma": 2.0}, "nu": 0.5,
     "sample_weights": True},
    {"case": "nu-svc-gram", "learner": "nu-svc", "set": "twonorm", "rows": 200, "kernel": GAUSSIAN | {"gamma": 0.05}, "nu": 0.235,
     "storage": "gram"},
]
SEED, TEST_SEED = 1, 2


def dump(*arguments, dim=None):
    command = ["cargo", "run", "--quiet", "--release", "-p", "kernelet", "--example", "dump", "--", *map(str, arguments)]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    x, y = load_svmlight_file(io.BytesIO(text), n_features=dim)
    return x.toarray(), y


def rows_of(case):
    """The training rows, their labels and the test rows."""
    if case["set"] == "digits":
        (x, y), (test, test_y) = dump("digits-train", dim=64), dump("digits-test", dim=64)
        keep = y < case["classes"]
        x, y, test = x[keep][: case["rows"]], y[keep][: case["rows"]], test[test_y < case["classes"]]
        assert len(x) == case["rows"]
        return x, y, test[:TEST_ROWS]
    x, y = dump(case["set"], case["rows"], SEED)
    return x, y, dump(case["set"], TEST_ROWS, TEST_SEED)[0]


def gram(kernel, x, z):
    name = kernel["name"]
    if name == "linear":
        return linear_kernel(x, z)
    if name == "polynomial":
        return polynomial_kernel(x, z, degree=kernel["degree"], gamma=kernel["gamma"], coef0=kernel["coef0"])
    if name == "sigmoid":
        return sigmoid_kernel(x, z, gamma=kernel["gamma"], coef0=kernel["coef0"])
    if name.startswith("matern"):
        nu = {"matern32": 1.5, "matern52": 2.5}[name]
        return Matern(length_scale=np.sqrt(2 * nu) / kernel["gamma"], nu=nu)(x, z)
    return rbf_kernel(x, z, gamma=kernel["gamma"])


def given_gram(kernel, x, z):
    """A kernel no peer has by name: the case's kernel plus a tenth of the linear one."""
    return gram(kernel, x, z) + 0.1 * linear_kernel(x, z)


def sample_weights(case, rows):
    """0, 1/2, 1, 3/2 and 2 in turns; rows of weight 0 must not count."""
    return np.arange(rows) * 3 % 5 / 2 if case.get("sample_weights") else None


def pair_columns(starts, coefficients):
    """Unfolds LIBSVM's layout of one-vs-one coefficients, one array over all support vectors for each pair."""
    classes = len(starts) - 1
    for a in range(classes):
        for b in range(a + 1, classes):
            beta = np.zeros(starts[-1])
            beta[starts[a]:starts[a + 1]] = coefficients[b - 1, starts[a]:starts[a + 1]]
            beta[starts[b]:starts[b + 1]] = coefficients[a, starts[b]:starts[b + 1]]
            yield beta


def objective(beta, k):
    return 0.5 * beta @ k @ beta - np.abs(beta).sum()


def by_scikit_learn(case, x, y, test, tolerance):
    kernel = case["kernel"]
    names = {"gaussian": "rbf", "polynomial": "poly"}
    settings = {name: kernel[name] for name in ["gamma", "degree", "coef0"] if name in kernel}
    model = SVC(C=case["c"], kernel=names.get(kernel["name"], kernel["name"]), tol=tolerance, decision_function_shape="ovo",
                class_weight={float(label): w for label, w in case["class_weights"]} if "class_weights" in case else None,
                cache_size=500, **settings)
    train, full = x, gram(kernel, x, x)
    if case.get("storage") == "gram":
        full = given_gram(kernel, x, x)
        train, test = full, given_gram(kernel, test, x)
        model = SVC(C=case["c"], kernel="precomputed", tol=tolerance, decision_function_shape="ovo", cache_size=500)
    if case.get("multiclass") == "one-vs-rest":
        model = OneVsRestClassifier(model).fit(train, y)
        parts = model.estimators_
        objectives = [objective(m.dual_coef_[0], full[np.ix_(m.support_, m.support_)]) for m in parts]
        vectors = len(set(np.concatenate([m.support_ for m in parts])))
    else:
        model.fit(train, y, sample_weight=sample_weights(case, len(x)))
        # support_ miscounts where rows of weight 0 were left out (scikit-learn 1.9); the vectors themselves are right.
        vectors = model.support_vectors_
        k = full[np.ix_(model.support_, model.support_)] if case.get("storage") == "gram" else gram(kernel, vectors, vectors)
        starts = np.concatenate([[0], np.cumsum(model.n_support_)])
        objectives = [objective(beta, k) for beta in pair_columns(starts, model.dual_coef_)]
        vectors = int(model.n_support_.sum())
    decisions = model.decision_function(test).reshape(len(test), -1)
    return {"objectives": objectives, "vectors": vectors, "decisions": np.round(decisions, 8).tolist()}


def by_libsvm(case, x, y, tolerance):
    """The objective summed over pairs, and the number of support vectors; nothing where LIBSVM cannot do the case."""
    if case.get("sample_weights") or case.get("multiclass") == "one-vs-rest":
        return None
    kernel = case["kernel"]
    kinds = {"linear": 0, "polynomial": 1, "gaussian": 2, "sigmoid": 3}
    precomputed = case.get("storage") == "gram"
    full = given_gram(kernel, x, x) if precomputed else gram(kernel, x, x)
    train = np.hstack([np.arange(1, len(x) + 1)[:, None], full]) if precomputed else x
    options = f"-q -s 0 -t {4 if precomputed else kinds[kernel['name']]} -c {case['c']} -e {tolerance} -m 500"
    for flag, name in [("-g", "gamma"), ("-d", "degree"), ("-r", "coef0")]:
        if name in kernel:
            options += f" {flag} {kernel[name]}"
    for label, weight in case.get("class_weights", []):
        options += f" -w{label} {weight}"
    problem = svm.svm_problem(y, [dict(enumerate(row, 0 if precomputed else 1)) for row in train], isKernel=precomputed)
    model = svmutil.svm_train(problem, svm.svm_parameter(options))
    places = np.array(model.get_sv_indices()) - 1
    starts = np.concatenate([[0], np.cumsum(model.nSV[: model.nr_class])])
    coefficients = np.array([[model.sv_coef[i][j] for j in range(model.l)] for i in range(model.nr_class - 1)])
    k = full[np.ix_(places, places)]
    return {"objective": sum(objective(beta, k) for beta in pair_columns(starts, coefficients)), "vectors": model.l}


def classification(case):
    x, y, test = rows_of(case)
    result = dict(case, seed=SEED, test_seed=TEST_SEED, made_with=VERSIONS)
    for name, tolerance in [("loose", 1e-3), ("tight", 1e-6)]:
        result[name] = by_scikit_learn(case, x, y, test, tolerance) | {"tolerance": tolerance}
        result[name]["libsvm"] = by_libsvm(case, x, y, tolerance)
    report(result)
    return result


def report(result):
    loose, tight = result["loose"], result["tight"]
    apart = np.abs(np.array(loose["decisions"]) - np.array(tight["decisions"])).max()
    ours = sum(tight["objectives"])
    libsvm = tight["libsvm"]["objective"] / ours - 1 if tight["libsvm"] else float("nan")
    print(f"{result['case']:15} objective {ours:.6f}, loose {sum(loose['objectives']) / ours - 1:.1e}, LIBSVM {libsvm:.1e}; "
          f"{loose['vectors']}, {tight['vectors']} vectors; decisions {apart:.1e} apart")


def ridge(case):
    """Two targets on sinc: as drawn, and their squares; every second row counts three times as much."""
    (x, y), (test, _) = dump("sinc", 60, SEED), dump("sinc", TEST_ROWS, TEST_SEED)
    targets = np.column_stack([y, y * y])
    result = dict(case, set="sinc", rows=60, seed=SEED, test_seed=TEST_SEED, made_with=VERSIONS)
    k, test_k = gram(case["kernel"], x, x), gram(case["kernel"], test, x)
    for name, weights in [("plain", None), ("weighted", 1.0 + 2.0 * (np.arange(60) % 2))]:
        model = KernelRidge(alpha=0.1, kernel="precomputed").fit(k, targets, sample_weight=weights)
        result[name] = {"lambda": 0.1, "coefficients": model.dual_coef_.tolist(), "predictions": model.predict(test_k).tolist()}
    return result


def family_weights(case, rows):
    """1/2, 1 and 3/2 in turns."""
    return (1 + np.arange(rows) % 3) / 2 if case.get("sample_weights") else None


def family_estimator(case, tolerance):
    kernel = case["kernel"]
    settings = {name: kernel[name] for name in ["gamma", "degree", "coef0"] if name in kernel}
    settings["kernel"] = {"gaussian": "rbf", "polynomial": "poly"}[kernel["name"]]
    if case.get("storage") == "gram":
        settings = {"kernel": "precomputed"}
    settings |= {"tol": tolerance, "cache_size": 500}
    match case["learner"]:
        case "svr":
            return SVR(C=case["c"], epsilon=case["epsilon"], **settings)
        case "nu-svr":
            return NuSVR(C=case["c"], nu=case["nu"], **settings)
        case "one-class":
            return OneClassSVM(nu=case["nu"], **settings)
        case "nu-svc":
            return NuSVC(nu=case["nu"], decision_function_shape="ovo", **settings)


def family_objective(case, model, k, y):
    """The dual objective as LIBSVM has it, by the definition."""
    if case["learner"] == "nu-svc":
        starts = np.concatenate([[0], np.cumsum(model.n_support_)])
        return sum(0.5 * beta @ k @ beta for beta in pair_columns(starts, model.dual_coef_))
    beta = model.dual_coef_[0]
    quadratic = 0.5 * beta @ k @ beta
    if case["learner"] == "one-class":
        return quadratic
    return quadratic - y[model.support_] @ beta + case.get("epsilon", 0.0) * np.abs(beta).sum()


def by_libsvm_family(case, train, y, test, tolerance):
    """LIBSVM's own outputs: scikit-learn's copy of its code is older. None where LIBSVM has no weights, and for several classes, where
    libsvm-official 3.37 crashes with nu."""
    if case.get("sample_weights") or case["set"] == "waveform3":
        return None
    kernel = case["kernel"]
    precomputed = case.get("storage") == "gram"
    kinds = {"nu-svc": 1, "one-class": 2, "svr": 3, "nu-svr": 4}
    options = f"-q -s {kinds[case['learner']]} -t {4 if precomputed else {'polynomial': 1, 'gaussian': 2}[kernel['name']]} -e {tolerance} -m 500"
    for flag, name in [("-g", "gamma"), ("-d", "degree"), ("-r", "coef0")]:
        options += f" {flag} {kernel[name]}" if name in kernel else ""
    for flag, name in [("-c", "c"), ("-n", "nu"), ("-p", "epsilon")]:
        options += f" {flag} {case[name]}" if name in case else ""
    first = 0 if precomputed else 1
    with_index = lambda rows: np.hstack([np.arange(1, len(rows) + 1)[:, None], rows]) if precomputed else rows
    problem = svm.svm_problem(y, [dict(enumerate(row, first)) for row in with_index(train)], isKernel=precomputed)
    model = svmutil.svm_train(problem, svm.svm_parameter(options))
    rows = [dict(enumerate(row, first)) for row in with_index(test)]
    _, _, values = svmutil.svm_predict([], rows, model, "-q")
    return {"vectors": model.l, "decisions": np.round(values, 8).tolist(), "labels": model.get_labels()}


def family(case):
    x, y, test = rows_of(case)
    result = dict(case, seed=SEED, test_seed=TEST_SEED, made_with=VERSIONS)
    full = gram(case["kernel"], x, x)
    train = x
    if case.get("storage") == "gram":
        full = train = given_gram(case["kernel"], x, x)
        test = given_gram(case["kernel"], test, x)
    for name, tolerance in [("loose", 1e-3), ("tight", 1e-6)]:
        model = family_estimator(case, tolerance)
        model.fit(train, y, sample_weight=family_weights(case, len(x)))
        k = full[np.ix_(model.support_, model.support_)]
        outputs = model.decision_function(test) if case["learner"] in ["nu-svc", "one-class"] else model.predict(test)
        result[name] = {"tolerance": tolerance, "objective": family_objective(case, model, k, y), "vectors": len(model.support_),
                        "decisions": np.round(outputs, 8).reshape(len(test), -1).tolist(),
                        "libsvm": by_libsvm_family(case, train, y, test, tolerance)}
    loose, tight = result["loose"], result["tight"]
    apart = np.abs(np.array(loose["decisions"]) - np.array(tight["decisions"])).max()
    print(f"{result['case']:18} objective {tight['objective']:.6f}, loose {loose['objective'] / tight['objective'] - 1:.1e}; "
          f"{loose['vectors']}, {tight['vectors']} vectors; decisions {apart:.1e} apart")
    return result


def write(result, folder=HERE):
    path = folder / f"{result['case']}.json"
    text = json.dumps(result, separators=(",", ":"))
    path.write_text(text.replace('},"', '},\n"').replace('"decisions":', '\n"decisions":').replace("],[", "],\n[") + "\n")


if __name__ == "__main__":
    for case in CASES:
        write(classification(case))
    for case in RIDGES:
        write(ridge(case))
    (HERE / "family").mkdir(exist_ok=True)
    for case in FAMILY:
        write(family(case), HERE / "family")
