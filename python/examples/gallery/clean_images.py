"""How is noise removed from images? Kernel components of clean digits and their pre-images.

    python clean_images.py -o FIGURE.png
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kernelet import SparseKernelPCA

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("-o", "--output", required=True, help="where the figure is saved")
output = arguments.parse_args().output

X, _ = load_digits(return_X_y=True)
train, clean = X[:1000] / 16, X[1000:1100] / 16
noisy = clean + np.random.default_rng(0).normal(scale=0.3, size=clean.shape)
model = SparseKernelPCA(80, n_components=25, gamma=0.02, fit_inverse_transform=True, options={"iterations": 20}, random_state=0).fit(train)
cleaned = model.inverse_transform(model.transform(noisy))
print(f"{model.n_vectors_} vectors: mean squared error {np.mean((noisy - clean) ** 2):.4f} of the noisy images, {np.mean((cleaned - clean) ** 2):.4f} after")

figure, axes = plt.subplots(3, 8, figsize=(8, 3.4))
for column in range(8):
    for row, (name, images) in enumerate((("clean", clean), ("noisy", noisy), ("cleaned", cleaned))):
        axes[row, column].imshow(images[column].reshape(8, 8), cmap="gray", vmin=0, vmax=1)
        axes[row, column].set_xticks([])
        axes[row, column].set_yticks([])
        if column == 0:
            axes[row, column].set_ylabel(name)
figure.suptitle("Noise removed from digits, 25 components on 80 vectors")
figure.savefig(output)
