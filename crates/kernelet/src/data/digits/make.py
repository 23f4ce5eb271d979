"""Packs scikit-learn's digits into digits.bin: 1,797 labels, then 1,797 rows of 64 grey values, one byte each, deflated."""
import zlib
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

data = load_digits()
assert data.data.shape == (1797, 64) and set(np.unique(data.data)) == set(range(17))
plain = data.target.astype(np.uint8).tobytes() + data.data.astype(np.uint8).tobytes()
deflate = zlib.compressobj(level=9, wbits=-15, memLevel=9)
Path(__file__).with_name("digits.bin").write_bytes(deflate.compress(plain) + deflate.flush())
