"""Two rings that no line separates, in the first components of a Gaussian kernel.

    python circles_unrolled.py
"""

from sklearn.datasets import make_circles
from sklearn.decomposition import PCA, KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

X, y = make_circles(n_samples=400, factor=0.3, noise=0.05, random_state=0)
train, test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
kernel = KernelPCA(n_components=None, kernel="rbf", gamma=10, fit_inverse_transform=True, alpha=0.1).fit(train)
plain = PCA(n_components=2).fit(train)
for name, first in (("plain", plain.transform), ("kernel", lambda rows: kernel.transform(rows)[:, :2])):
    line = LogisticRegression().fit(first(train), y_train)
    print(name, "a line in two components is right for", line.score(first(test), y_test))
back = kernel.inverse_transform(kernel.transform(test))
print("rows that come back within 0.2 of where they were", float(((back - test) ** 2).sum(axis=1).max() < 0.04))
