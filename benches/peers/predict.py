"""Sets prediction beside scikit-learn, scikit-learn-intelex and onnxruntime: one thread, in turns, best of several runs.

    cargo build --release -p kernelet --examples
    python benches/peers/predict.py [--rows N] [--repeat K]

Each case trains a scikit-learn SVC on made-up rows with heavy label noise, so that nearly every row becomes a vector, writes it as LIBSVM
text, and times the decision values of N rows in processor time. Ours comes from the example `time_predict`. A peer that is not
installed is left out with a sentence.
"""
import os

for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "DAAL_NUM_THREADS"]:
    os.environ[name] = "1"

import argparse
import pathlib
import subprocess
import sys
import time

import numpy as np
from sklearn.svm import SVC

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
WORK = TARGET / "peers"
PROGRAM = TARGET / "release" / "examples" / "time_predict"


def libsvm_text(svc):
    """The fitted machine as LIBSVM writes it."""
    classes = len(svc.classes_)
    # Two classes: scikit-learn's positive decision is the second class, LIBSVM's the first of the label line.
    order = [1, 0] if classes == 2 else list(range(classes))
    ends = np.cumsum(svc.n_support_)
    rows = np.concatenate([np.arange(ends[c] - svc.n_support_[c], ends[c]) for c in order])
    rho = -svc.intercept_
    head = ["svm_type c_svc", "kernel_type rbf", f"gamma {svc._gamma!r}", f"nr_class {classes}", f"total_sv {len(rows)}"]
    head += ["rho " + " ".join(repr(float(r)) for r in rho), "label " + " ".join(str(svc.classes_[c]) for c in order)]
    head += ["nr_sv " + " ".join(str(svc.n_support_[c]) for c in order), "SV"]
    body = []
    for i in rows:
        coefficients = " ".join(repr(float(c)) for c in svc.dual_coef_[:, i])
        body.append(coefficients + " " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(svc.support_vectors_[i].tolist())))
    return "\n".join(head + body) + "\n"


def case(dim, rows, classes):
    """A machine with about as many vectors as rows, and the rows and labels it was trained on."""
    rng = np.random.default_rng(dim + rows + classes)
    x = rng.normal(size=(rows, dim))
    y = rng.integers(classes, size=rows)
    return SVC(C=1.0, gamma=1.0 / dim, decision_function_shape="ovo").fit(x, y), x, y


def once(work):
    start = time.thread_time()
    work()
    return time.thread_time() - start


def ours(model, data):
    """Seconds of prediction alone."""
    return float(subprocess.run([PROGRAM, model, data], capture_output=True, text=True, check=True).stdout)


def contenders(svc, training, labels, x):
    found = {"scikit-learn": lambda: svc.decision_function(x)}
    try:
        from sklearnex.svm import SVC as FastSVC

        fast = FastSVC(C=svc.C, gamma=svc.gamma, decision_function_shape="ovo").fit(training, labels)
        found["scikit-learn-intelex"] = lambda: fast.decision_function(x)
    except ImportError:
        print("scikit-learn-intelex is not installed: left out.", file=sys.stderr)
    try:
        import onnxruntime
        from skl2onnx import to_onnx

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        single = x.astype(np.float32)
        model = to_onnx(svc, single[:1], options={"zipmap": False, "raw_scores": True}).SerializeToString()
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        found["onnxruntime"] = lambda: session.run(None, {session.get_inputs()[0].name: single})
    except ImportError:
        print("onnxruntime or skl2onnx is not installed: left out.", file=sys.stderr)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    print("| features | vectors | classes | program | seconds | times kernelet's |\n|---|---|---|---|---|---|")
    for dim, rows, classes in [(16, 520, 2), (20, 520, 2), (256, 510, 2), (16, 2600, 2), (256, 2550, 2), (16, 520, 10), (256, 510, 10)]:
        svc, training, labels = case(dim, rows, classes)
        x = np.random.default_rng(7).normal(size=(options.rows, dim))
        model, data = WORK / "predict.libsvm", WORK / "predict.npy"
        model.write_text(libsvm_text(svc))
        np.save(data, x)
        others = contenders(svc, training, labels, x)
        best = {"kernelet": np.inf, **{name: np.inf for name in others}}
        for _ in range(options.repeat):
            best["kernelet"] = min(best["kernelet"], ours(model, data))
            for name, work in others.items():
                best[name] = min(best[name], once(work))
        for name, seconds in best.items():
            print(f"| {dim} | {len(svc.support_)} | {classes} | {name} | {seconds:.4f} | {seconds / best['kernelet']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
