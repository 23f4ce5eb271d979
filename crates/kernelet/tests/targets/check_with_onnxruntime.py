"""Asks onnxruntime what the graphs mean that `cargo test -p kernelet --test targets` left, and compares with what kernelet says.

    cargo test -p kernelet --test targets
    python crates/kernelet/tests/targets/check_with_onnxruntime.py [FOLDER]

FOLDER is target/tmp/targets by default. Numbers must agree to 1e-10 in double and to 1e-5 in single precision, relative to the largest of
their kind where that is above 1; labels must all agree, but for rows whose outputs lie within that tolerance of a tie.
"""
import json
import os
import pathlib
import sys

try:
    import numpy as np
    import onnxruntime
except ImportError as why:
    print(f"{why.name} is not installed: what onnxruntime makes of the ONNX files is not tested")
    sys.exit(0)

ROOT = pathlib.Path(__file__).resolve().parents[4]
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def largest_error(have, want):
    have, want = np.asarray(have, float), np.asarray(want, float)
    if have.shape != want.shape:
        raise SystemExit(f"shapes differ: {have.shape} for {want.shape}")
    return np.max(np.abs(have - want), initial=0) / max(1.0, np.max(np.abs(want), initial=0))


def check(folder, case):
    """The largest error of each output; the labels that differ count as `label`."""
    kind = np.float64 if case["kind"] == "f64" else np.float32
    session = onnxruntime.InferenceSession(str(folder / case["file"]), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    rows = np.array(case["rows"], kind)
    have = dict(zip(names, session.run(None, {"row": rows})))
    # The number of rows is free.
    for name, value in zip(names, session.run(None, {"row": rows[:1]})):
        assert len(value) == 1, (case["file"], name)
    reported = {name for name in case["want"] if case["kind"] != "svm" or name not in ("probability", "deviation")}
    assert set(names) == reported, (case["file"], names)
    errors = {}
    for name in reported:
        if name == "label":
            want = [str(int(float(text))) if have[name].dtype == np.int64 else text for text in case["want"][name]]
            errors[name] = float(sum(str(a) != b for a, b in zip(have[name].tolist(), want)))
        else:
            errors[name] = largest_error(have[name], case["want"][name])
    return errors


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET / "tmp" / "targets"
    cases = json.loads((folder / "cases.json").read_text())
    allowed = {"f64": 1e-10, "f32": 1e-5, "svm": 1e-5}
    worst, failed = dict.fromkeys(allowed, 0.0), 0
    for case in cases:
        for name, error in check(folder, case).items():
            limit = 0 if name == "label" else allowed[case["kind"]]
            if name != "label":
                worst[case["kind"]] = max(worst[case["kind"]], error)
            if not error <= limit:
                failed += 1
                print(f"{case['file']}: {name} is off by {error:g}")
    print(f"{len(cases)} graphs, onnxruntime {onnxruntime.__version__}; largest errors " + ", ".join(f"{k} {v:.1e}" for k, v in worst.items()))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
