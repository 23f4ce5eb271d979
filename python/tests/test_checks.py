"""scikit-learn's own checks, on every estimator: the full machine, the usual budget, and each way to a basis."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelet

DRAWN = "vectors are drawn or started from rows, and a row repeated is not a row that counts twice in that draw"


def estimators():
    budgets = [
        kernelet.SparseSVC,
        kernelet.SparseSVR,
        kernelet.SparseOneClassSVM,
        kernelet.SparseKernelRidge,
        kernelet.SparseKernelPCA,
        kernelet.SparseKernelFisher,
    ]
    yield from (make() for make in budgets)
    yield from (make(n_vectors=None) for make in budgets)
    yield from (kernelet.SparseSVC(n_vectors=20, method=method) for method in ("rpcholesky", "kmeans", "random"))
    yield from (kernelet.RVC(), kernelet.RVR(), kernelet.GreedyBasis(), kernelet.GreedyBasis(method="kmeans", n_vectors=5))


def expected_failures(estimator):
    return {}


@parametrize_with_checks(list(estimators()), expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_all_estimators_are_checked():
    checked = {type(estimator).__name__ for estimator in estimators()}
    assert checked == {name for name in kernelet.__all__ if name not in ("Machine", "__version__")}


if __name__ == "__main__":
    pytest.main([__file__])
