"""Asks LIBSVM itself what the model text written by the tests means.

    pip install libsvm-official
    cargo test -p kernelet --test model_files
    python crates/kernelet/tests/models/check_with_libsvm.py [FOLDER]

FOLDER is target/tmp/written-for-libsvm by default. For every `NAME.model` the decision values that LIBSVM computes must be those of `NAME.expected.json`.
"""

import json
import os
import pathlib
import sys

try:
    from libsvm.svm import c_double, gen_svm_nodearray, libsvm
    from libsvm.svmutil import svm_load_model
except ImportError as why:
    print(f"{why.name} is not installed: what LIBSVM makes of models written for it is not tested")
    sys.exit(0)

TARGET = pathlib.Path(__file__).resolve().parents[4] / os.environ.get("CARGO_TARGET_DIR", "target")
folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET / "tmp" / "written-for-libsvm"
paths = sorted(folder.glob("*.model"))
worst = 0.0
for path in paths:
    model = svm_load_model(str(path))
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    pairs = model.get_nr_class() * (model.get_nr_class() - 1) // 2
    for row, decisions, prediction in zip(expected["rows"], expected["decisions"], expected["predictions"]):
        values = (c_double * pairs)()
        nodes, _ = gen_svm_nodearray({j + 1: v for j, v in enumerate(row)})
        predicted = libsvm.svm_predict_values(model, nodes, values)
        assert len(decisions) == pairs, path
        for have, want in zip([*values, predicted], [*decisions, prediction]):
            error = abs(have - want) / max(1.0, abs(want))
            assert error <= 1e-9, f"{path}: {have} {want}"
            worst = max(worst, error)
assert paths, "there are no model files in this folder"
print(f"{len(paths)} models agree; the largest relative difference is {worst:.1e}")
