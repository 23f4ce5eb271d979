"""The boundary of a machine with ten vectors in the plane, and where the vectors went.

    python boundary.py -o PICTURE.png
"""

import argparse

from sklearn.datasets import make_moons
from sklearn.svm import SVC

from kernelet import SparseSVC, plot_boundary

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", required=True)
output = arguments.parse_args().output

X, y = make_moons(1000, noise=0.2, random_state=0)
test, y_test = make_moons(1000, noise=0.2, random_state=1)
small, full = SparseSVC(n_vectors=10, C=10, gamma=2.0, random_state=0).fit(X, y), SVC(C=10, gamma=2.0).fit(X, y)
print(f"test error: {1 - small.score(test, y_test):.3f} with {small.n_vectors_} vectors, {1 - full.score(test, y_test):.3f} with {len(full.support_)}")
plot_boundary(small, X, y).figure.savefig(output)
print(f"picture: {output}")
