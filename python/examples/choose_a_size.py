"""How many vectors are enough? One training run with a growing number of vectors, its size path, and a smaller machine from that path.

    python choose_a_size.py [-o PICTURE.png]
"""

import argparse

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from kernelet import SparseSVC

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", help="where to save the plot of the size path; needs matplotlib")
output = arguments.parse_args().output

X, y = load_digits(return_X_y=True)
rest, test, y_rest, y_test = train_test_split(X, y, random_state=0)
train, validation, y_train, y_validation = train_test_split(rest, y_rest, random_state=1)

model = SparseSVC(n_vectors=128, C=10, options={"growth": "doubling"}, random_state=0, n_jobs=-1).fit(train, y_train)
print("vectors  train error  validation error")
errors = {}
for size, train_error in zip(model.path_.sizes, model.path_["train_error"], strict=True):
    errors[int(size)] = 1 - model.at(size).score(validation, y_validation)
    print(f"{int(size):7d}  {train_error:11.4f}  {errors[int(size)]:16.4f}")

# The smallest size within half a percentage point of the best on the validation rows; the test rows are used once.
enough = min(size for size, error in errors.items() if error <= min(errors.values()) + 0.005)
small = model.at(enough)
print(f"{enough} vectors are enough: test error {1 - small.score(test, y_test):.4f}, with all 128 {1 - model.score(test, y_test):.4f}")

if output:
    axes = model.path_.plot("train_error")
    axes.plot(list(errors), list(errors.values()), marker="x", label="validation")
    axes.axvline(enough, linestyle=":")
    axes.figure.savefig(output)
    print(f"picture: {output}")
