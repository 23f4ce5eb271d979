"""How many vectors are enough? One run with growing vectors, its path, and a smaller machine taken from it.

    python choose_a_size.py [-o PICTURE.png]
"""

import argparse

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from kernelet import SparseSVC

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", help="where the picture of the path goes; needs matplotlib")
output = arguments.parse_args().output

X, y = load_digits(return_X_y=True)
rest, test, y_rest, y_test = train_test_split(X, y, random_state=0)
train, held, y_train, y_held = train_test_split(rest, y_rest, random_state=1)

model = SparseSVC(n_vectors=128, C=10, options={"growth": "doubling"}, random_state=0, n_jobs=-1).fit(train, y_train)
print("vectors  train error  held-out error")
errors = {}
for size, train_error in zip(model.path_.sizes, model.path_["train_error"], strict=True):
    errors[int(size)] = 1 - model.at(size).score(held, y_held)
    print(f"{int(size):7d}  {train_error:11.4f}  {errors[int(size)]:14.4f}")

# The smallest size within half a point of the best on rows that were held out; the test rows are looked at once.
enough = min(size for size, error in errors.items() if error <= min(errors.values()) + 0.005)
small = model.at(enough)
print(f"{enough} vectors are enough: test error {1 - small.score(test, y_test):.4f}, with all 128 {1 - model.score(test, y_test):.4f}")

if output:
    axes = model.path_.plot("train_error")
    axes.plot(list(errors), list(errors.values()), marker="x", label="held out")
    axes.axvline(enough, linestyle=":")
    axes.figure.savefig(output)
    print(f"picture: {output}")
