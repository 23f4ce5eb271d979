"""Small, fast kernel machines as scikit-learn estimators.

Every estimator trains the full machine with ``n_vectors=None`` and a machine with few expansion vectors otherwise.
"""

from ._basis import GreedyBasis
from ._core import Machine, __version__
from ._fisher import SparseKernelFisher
from ._pca import SparseKernelPCA
from ._relevance import RVC, RVR
from ._ridge import SparseKernelRidge
from ._svm import SparseOneClassSVM, SparseSVC, SparseSVR

__all__ = [
    "GreedyBasis",
    "Machine",
    "RVC",
    "RVR",
    "SparseKernelFisher",
    "SparseKernelPCA",
    "SparseKernelRidge",
    "SparseOneClassSVM",
    "SparseSVC",
    "SparseSVR",
    "__version__",
]
