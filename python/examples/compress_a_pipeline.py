"""An SVC in a pipeline made small, with the scaler folded into one model file, ONNX graph and C source.

    python compress_a_pipeline.py [-o FOLDER]
"""

import argparse
import pathlib
import pickle

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelet

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", help="a folder for the files")
output = arguments.parse_args().output

X, y = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(StandardScaler(), SVC(C=10)).fit(train, y_train)
small = kernelet.compress(model, train, y_train, fraction=0.1, options={"path": True}, n_jobs=-1)

for title, pipeline, vectors in [("SVC", model, len(model[-1].support_)), ("small", small, small.n_vectors_)]:
    print(f"{title:6s} {vectors:5d} vectors  test error {1 - pipeline.score(test, y_test):.4f}  pickle {len(pickle.dumps(pipeline)) / 1024:6.0f} KiB")
print(f"the same label for {small.agreement_:.1%} of the training rows")
print(small.path_.frame().to_string(index=False, float_format="{:.4f}".format))

if output:
    folder = pathlib.Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    small.save(folder / "digits.model")
    small.to_onnx(folder / "digits.onnx")
    small.to_c(folder / "digits.c")
    print(", ".join(f"{path.name} {path.stat().st_size / 1024:.0f} KiB" for path in sorted(folder.iterdir())))
