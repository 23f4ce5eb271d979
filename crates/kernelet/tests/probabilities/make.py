"""Makes reference.json beside this file: sigmoids and isotonic curves that scikit-learn fits to made-up outputs.

    pip install scikit-learn numpy
    python make.py
"""
import json
import pathlib

import numpy as np
import sklearn
from sklearn.calibration import _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression

HERE = pathlib.Path(__file__).resolve().parent


def case(seed, rows, ties):
    rng = np.random.default_rng(seed)
    outputs = np.round(rng.normal(size=rows) * 2, 1 if ties else 6)
    positive = outputs + rng.normal(size=rows) * 1.5 > 0.4
    weights = rng.integers(1, 4, size=rows).astype(float)
    at = np.linspace(outputs.min() - 1, outputs.max() + 1, 25)
    isotonic = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(outputs, positive, sample_weight=weights)
    a, b = _sigmoid_calibration(outputs, positive.astype(float))
    return {
        "outputs": outputs.tolist(),
        "positive": positive.tolist(),
        "weights": weights.tolist(),
        "at": at.tolist(),
        "isotonic": isotonic.predict(at).tolist(),
        "a": float(a),
        "b": float(b),
    }


cases = [case(1, 60, False), case(2, 120, True), case(3, 15, False)]
(HERE / "reference.json").write_text(json.dumps({"scikit-learn": sklearn.__version__, "cases": cases}) + "\n")
