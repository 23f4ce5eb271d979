"""What fits a small device? Bytes of C source constants in two precisions against the error of digits.

    python bytes_on_a_device.py -o FIGURE.png
"""

import argparse

import pathlib
import re
import tempfile

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from kernelet import SparseSVC

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", required=True, help="where the figure is saved")
output = arguments.parse_args().output

X, y = load_digits(return_X_y=True)
train, test, y_train, y_test = X[:900], X[900:], y[:900], y[900:]
model = SparseSVC(32, C=10, options={"growth": "doubling", "iterations": 30}, random_state=0).fit(train, y_train)
sizes = [int(size) for size in model.path_.sizes]
errors = [1 - model.at(size).score(test, y_test) for size in sizes]
figure, axes = plt.subplots()
with tempfile.TemporaryDirectory() as folder:
    for precision in ("f64", "f32"):
        kilobytes = []
        for size in sizes:
            model.at(size).to_c(pathlib.Path(folder) / "digits.c", precision=precision)
            said = re.search(r"(\d+) bytes of constants", (pathlib.Path(folder) / "digits.h").read_text())
            kilobytes.append(int(said[1]) / 1024)
        print(f"{precision}: " + ", ".join(f"{size} vectors {bytes_:.1f} KiB, error {error:.3f}" for size, bytes_, error in zip(sizes, kilobytes, errors, strict=True)))
        axes.plot(kilobytes, errors, marker="o", label=precision)
axes.set_xscale("log", base=2)
axes.set_xlabel("constants (KiB)")
axes.set_ylabel("test error (fraction of rows)")
axes.set_title("Digits as C source")
axes.legend(title="precision")
figure.savefig(output)
