"""Noise taken out of images of digits by kernel components and their pre-images.

    python clean_digits.py
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA

X, _ = load_digits(return_X_y=True)
X = X[:600] / 16
rng = np.random.RandomState(0)
train, clean = X[:500], X[500:560]
noisy = clean + rng.normal(scale=0.25, size=clean.shape)
model = KernelPCA(n_components=60, kernel="rbf", gamma=0.02, fit_inverse_transform=True, alpha=5e-3, random_state=42).fit(train)
cleaned = model.inverse_transform(model.transform(noisy))
print("less noise than before", float(np.mean((cleaned - clean) ** 2) < 0.75 * np.mean((noisy - clean) ** 2)))
