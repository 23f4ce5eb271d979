"""Makes the LIBSVM golden files of this folder: `NAME.model` as LIBSVM writes it and `NAME.expected.json` beside it.

Run with `pip install libsvm-official` (the committed files come from 3.37): `python make.py`. The decision values are those of the
model as loaded back from its file, because LIBSVM writes only eight digits of the support vectors.
"""

import json
import pathlib
import random

from libsvm.svm import c_double, gen_svm_nodearray, libsvm
from libsvm.svmutil import svm_load_model, svm_predict, svm_save_model, svm_train

HERE = pathlib.Path(__file__).parent

# name: (options, classes or "values" or "one", features, share of features that are not zero)
MODELS = {
    "c_svc-rbf": ("-s 0 -t 2 -g 0.5 -c 2", 2, 3, 1.0),
    "c_svc-linear-sparse": ("-s 0 -t 0 -c 1", 2, 40, 0.1),
    "c_svc-polynomial-3class-probability": ("-s 0 -t 1 -d 2 -g 0.3 -r 1 -b 1", 3, 3, 1.0),
    "c_svc-sigmoid": ("-s 0 -t 3 -g 0.05 -r -0.5", 2, 3, 1.0),
    "c_svc-rbf-5class-sparse": ("-s 0 -t 2 -g 0.2 -c 4", 5, 30, 0.15),
    "nu_svc-rbf-probability": ("-s 1 -t 2 -g 0.4 -n 0.3 -b 1", 2, 3, 1.0),
    "nu_svc-polynomial-4class": ("-s 1 -t 1 -d 3 -g 0.5 -r 0.25 -n 0.2", 4, 3, 1.0),
    "one_class-rbf": ("-s 2 -t 2 -g 0.5 -n 0.2", "one", 3, 1.0),
    "one_class-linear-marks": ("-s 2 -t 0 -n 0.3 -b 1", "one", 3, 1.0),
    "epsilon_svr-rbf-probability": ("-s 3 -t 2 -g 0.5 -c 5 -p 0.3 -b 1", "values", 3, 1.0),
    "epsilon_svr-linear": ("-s 3 -t 0 -c 1 -p 0.4", "values", 3, 1.0),
    "nu_svr-polynomial": ("-s 4 -t 1 -d 2 -g 0.5 -r 1 -n 0.3", "values", 3, 1.0),
    "nu_svr-sigmoid": ("-s 4 -t 3 -g 0.1 -r 0.1 -n 0.4", "values", 3, 1.0),
}


def rows(rng, count, features, share, centres):
    made = []
    for i in range(count):
        centre = centres[i % len(centres)]
        made.append([round(centre[j] + rng.gauss(0, 1), 4) if rng.random() < share else 0.0 for j in range(features)])
    return made


def nodes(row):
    return {j + 1: v for j, v in enumerate(row) if v != 0.0}


def decide(model, row):
    """Prediction and decision values. (`svm_predict` of 3.37 allocates one value only for a nu_svc, whatever its classes.)"""
    classes = model.get_nr_class()
    values = (c_double * (classes * (classes - 1) // 2))()
    return libsvm.svm_predict_values(model, gen_svm_nodearray(nodes(row))[0], values), list(values)


def make(name, options, kind, features, share):
    rng = random.Random(name)
    groups = kind if isinstance(kind, int) else 1
    centres = [[rng.gauss(0, 1) for _ in range(features)] for _ in range(groups)]
    count = 60 if kind == "one" else 12 * max(groups, 2)
    x = rows(rng, count, features, share, centres)
    if kind == "values":
        y = [round(r[0] - 0.5 * r[1] * r[2] + rng.gauss(0, 0.3), 4) for r in x]
    elif kind == "one":
        y = [1] * count
    else:
        y = [(3, -1, 10, 4, 7)[i % groups] for i in range(count)]
    path = str(HERE / f"{name}.model")
    trained = svm_train(y, [nodes(r) for r in x], options + " -q")
    svm_save_model(path, trained)
    model = svm_load_model(path)
    tests = rows(rng, 6, features, share, centres)
    labels, decisions = zip(*(decide(model, r) for r in tests))
    expected = {"libsvm": "3.37", "options": options, "rows": tests, "decisions": decisions, "predictions": labels}
    if "-b 1" in options and kind != "values":
        expected["probabilities"] = svm_predict([], [nodes(r) for r in tests], model, "-b 1 -q")[2]
    (HERE / f"{name}.expected.json").write_text(json.dumps(expected, indent=1) + "\n")


for name, settings in MODELS.items():
    make(name, *settings)
