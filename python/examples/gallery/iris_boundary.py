"""What does a machine of six vectors predict? Two features of the iris table.

    python iris_boundary.py -o FIGURE.png
"""

import argparse

from sklearn.datasets import load_iris

from kernelet import SparseSVC, plot_boundary, report

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", required=True, help="where the figure is saved")
output = arguments.parse_args().output

data = load_iris(as_frame=True)
X, y = data.data[["petal length (cm)", "petal width (cm)"]], data.target_names[data.target]
model = SparseSVC(6, C=10, gamma=1.0, random_state=0).fit(X, y)
print(report(model, X, y))
plot_boundary(model, X, y).figure.savefig(output)
