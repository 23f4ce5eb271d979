"""Many fits in one process: what they take is given back."""

import os
from pathlib import Path

import numpy as np
import pytest

from kernelet import SparseKernelRidge, SparseOneClassSVM, SparseSVC

HARD = "KERNELET_HARD" in os.environ
X = np.random.default_rng(0).normal(size=(60, 3))
LABELS, NUMBERS = (X[:, 0] > 0).astype(int), np.sin(X[:, 0])


def resident():
    """Megabytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def fit(turn):
    """One of a few machines that are trained, used and thrown away."""
    few = {"options": {"iterations": 3}, "random_state": turn}
    models = [
        lambda: SparseSVC(None).fit(X, LABELS).predict(X),
        lambda: SparseSVC(4, **few).fit(X, LABELS).predict(X),
        lambda: SparseKernelRidge(4, **few).fit(X, NUMBERS).predict(X),
        lambda: SparseOneClassSVM(None).fit(X).predict(X),
    ]
    models[turn % len(models)]()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux has /proc/self/statm")
def test_many_fits_take_no_more_memory_than_a_few():
    # The first hundred fill pools of threads and caches. 10,000 with KERNELET_HARD=1.
    fits, allowed = (10_000, 20.0) if HARD else (300, 10.0)
    for turn in range(100):
        fit(turn)
    before = resident()
    for turn in range(fits):
        fit(turn)
    after = resident()
    print(f"{fits} fits: {before:.1f} MB before, {after:.1f} MB after")
    assert after - before < allowed
