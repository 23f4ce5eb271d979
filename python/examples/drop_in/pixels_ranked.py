"""Which pixels tell digits apart? Features are left out one after another, by the weights of a linear machine.

    python pixels_ranked.py
"""

from sklearn.datasets import load_digits
from sklearn.feature_selection import RFE
from sklearn.svm import SVC

digits = load_digits(n_class=3)
X, y = digits.images[:200].reshape(200, -1), digits.target[:200]
ranking = RFE(SVC(kernel="linear", C=1, tol=1e-6), n_features_to_select=12, step=4).fit(X, y)
print("accuracy with 12 pixels", ranking.score(X, y), "kept of the middle columns", ranking.support_.reshape(8, 8)[:, 2:6].sum() / 12)
