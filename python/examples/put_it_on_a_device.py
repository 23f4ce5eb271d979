"""A small machine as C source that needs nothing but exp(): its size, and the same answers from the compiled code.

    python put_it_on_a_device.py [-o FOLDER] [--compiler gcc]

For a processor without double precision write the model with `small.save("digits.model")` and run
`kernelet export digits.model -o digits.c --to c --precision f32`.
"""

import argparse
import pathlib
import shutil
import subprocess
import tempfile

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelet

ASK = """
#include <stdio.h>
#include "digits.h"
int main(void) {
    double row[DIGITS_FEATURES];
    for (;;) {
        for (int i = 0; i < DIGITS_FEATURES; i++)
            if (scanf("%lf", &row[i]) != 1) return 0;
        printf("%ld\\n", digits_predict(row));
    }
}
"""

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", help="a folder for the source")
arguments.add_argument("--compiler", default="gcc")
given = arguments.parse_args()

X, y = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(StandardScaler(), SVC(C=10)).fit(train, y_train)
small = kernelet.compress(model, train, y_train, n_vectors=30, n_jobs=-1)
print(f"{len(model[-1].support_)} vectors, test error {1 - model.score(test, y_test):.4f}; {small.n_vectors_} vectors, {1 - small.score(test, y_test):.4f}")

with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(given.output or temporary)
    folder.mkdir(parents=True, exist_ok=True)
    small.to_c(folder / "digits.c")
    print((folder / "digits.h").read_text().splitlines()[1].strip(" *"))
    if shutil.which(given.compiler):
        (folder / "ask.c").write_text(ASK)
        subprocess.run([given.compiler, "-O2", "-o", folder / "ask", folder / "ask.c", folder / "digits.c", "-lm"], check=True)
        rows = "\n".join(" ".join(repr(float(value)) for value in row) for row in test)
        answers = subprocess.run([folder / "ask"], input=rows, capture_output=True, text=True, check=True).stdout.split()
        same = sum(int(answer) == label for answer, label in zip(answers, small.predict(test), strict=True))
        print(f"the compiled code gives the same label for {same} of {len(test)} rows")
    else:
        print(f"{given.compiler} is not here; the code was not compiled")
