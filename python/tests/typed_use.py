"""How users write typed programs; `mypy --strict` must accept this file (test_types.py), and find the mistakes that are marked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelet import SparseKernelPCA, SparseKernelRidge, SparseLogistic, SparseOneClassSVM, SparseSVC, compress, fold, plot_boundary, report
from kernelet.decomposition import KernelPCA
from kernelet.kernel_ridge import KernelRidge
from kernelet.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

Rows = NDArray[np.float64]


def train(X: Rows, y: NDArray[np.int64]) -> SparseSVC:
    model = SparseSVC(n_vectors=20, C=10.0, gamma=0.1, class_weight={0: 2.0}, random_state=0, probability=True)
    return model.fit(X, y)


def use(X: Rows, y: NDArray[np.int64]) -> float:
    model = train(X, y)
    predicted: NDArray[np.int64] = model.predict(X)
    vectors: int = model.at(10).n_vectors_ + len(model.support_vectors_)
    model.save("a.model")
    loaded: SparseSVC = SparseSVC.load("a.model")
    loaded.to_onnx("a.onnx", precision="f32")
    small = compress(model, X, y, max_loss="1%", verbose=1)
    print(report(small, X, y), model.path_.sizes, model.coefficients_.shape, model.intercept_, model.predict_proba(X), vectors)
    plot_boundary(model, X, y)
    fold(small).to_onnx("whole.onnx", precision="f32")
    return float(np.mean(predicted == y))


def drop_in(X: Rows, y: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    machines = SVC(C=1, kernel="rbf").fit(X, y), NuSVC(nu=0.2).fit(X, y), SVR(epsilon=0.2).fit(X, y), NuSVR(n_vectors=10).fit(X, y), OneClassSVM().fit(X)
    components = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X)
    others = SparseKernelPCA(10, n_components=2).fit(X).transform(X), SparseOneClassSVM(5).fit(X).score_samples(X)
    rest = [KernelRidge(alpha=0.1).fit(X, y).predict(X), SparseKernelRidge(5).fit(X, y).predict(X), SparseLogistic(5).fit(X, y).predict_proba(X)]
    return [*(machine.predict(X) for machine in machines), components.inverse_transform(components.transform(X)), *others, *rest]


def mistakes() -> None:
    SparseSVC(n_vectors="20")  # type: ignore[arg-type]
    SVC(C="1")  # type: ignore[arg-type]
    SVC(n_vectors=None, n_vectros=5)  # type: ignore[call-arg]
