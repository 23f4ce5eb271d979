"""What scikit-learn's support vector machines know of themselves: which rows support them, and how the solver went."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._base import KernelMachine


class Support(KernelMachine):
    """Estimators of the support vector family, with the parameters of their solver."""

    def _request(self, learner: str | None = None, **more: Any) -> str:
        if not getattr(self, "shrinking", True):
            more["no-shrinking"] = True
        max_iter = getattr(self, "max_iter", -1)
        if isinstance(max_iter, bool) or not isinstance(max_iter, (int, np.integer)):
            raise TypeError(f"max_iter must be an integer, or -1 for no limit, not {max_iter!r}")
        if max_iter != -1:
            if max_iter < 1:
                raise ValueError(f"max_iter is {max_iter}, but must be at least 1, or -1 for no limit")
            more |= self._limit(int(max_iter))
        return super()._request(learner, **more)

    def _limit(self, max_iter: int) -> dict[str, int]:
        """The setting that limits the work: steps of the solver, or in direct training of the vectors."""
        if self._count() is None:
            return {"max-iterations": max_iter}
        direct = self.method in ("auto", "margin", self._learner) and self._learner not in ("nu-svc", "nu-svr") and not self._values_are_given()
        if direct:
            return {"iterations": max_iter}
        # The large-margin machine on a basis is solved exactly.
        return {} if self._learner == "svc" else {"max-iterations": max_iter}

    def _spelling(self) -> dict[str, str]:
        return super()._spelling() | {"no-shrinking": "shrinking=False", "max-iterations": "max_iter"}

    def _support_rows(self) -> Any:
        found = getattr(self, "_support", None)
        if found is None or "rows" not in found:
            self._fitted()
            raise AttributeError(
                "only a full machine (n_vectors=None) that was fitted here has training rows as vectors; the expansion vectors of every machine are vectors_"
            )
        return found

    @property
    def support_(self) -> NDArray[Any]:
        """The training rows that are support vectors, class by class."""
        return self._support_rows()["rows"]

    @property
    def n_support_(self) -> NDArray[Any]:
        """The number of support vectors of each class; of one class and of numbers a single one."""
        return self._support_rows()["counts"]

    @property
    def support_vectors_(self) -> Any:
        """The support vectors in the order of ``support_``; the vectors of a machine with a budget. Empty where kernel values are given."""
        vectors = self.vectors_
        if self._values_are_given():
            return np.empty((0, 0))
        return vectors[self._order()]

    @property
    def dual_coef_(self) -> NDArray[Any]:
        """The coefficients of the support vectors, (n_outputs, m); of several classes one-vs-one in LIBSVM's layout, (n_classes - 1, m)."""
        return self._fitted().stored()[self._order()].T

    @property
    def coef_(self) -> NDArray[Any]:
        """The weights of the features, (n_outputs, n_features), for the linear kernel."""
        if self._about()["kernel"]["name"] != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        weights = self.coefficients_.T @ self.vectors_
        return weights if isinstance(weights, np.ndarray) else weights.toarray()

    def _order(self):
        """The vectors class by class, as scikit-learn has them."""
        found = getattr(self, "_support", None)
        return slice(None) if found is None or "order" not in found else found["order"]

    @property
    def n_iter_(self) -> Any:
        """Steps of the solver: one number for each two-class problem of a full classifier, else all together."""
        self._fitted()
        found = getattr(self, "_support", None)
        return self.report_.get("iterations") if found is None else found["iterations"]

    @property
    def fit_status_(self) -> int:
        """0 where training reached its end, 1 where it stopped before."""
        self._fitted()
        return int(self.report_.get("status") in ("iteration-limit", "cancelled"))

    def _learned_support(self, shape: tuple[int, int], rows: Any = None, codes: Any = None) -> None:
        """Keeps which rows are the vectors: `rows` of the caller's where some were left out, by classes where there are any."""
        self.shape_fit_ = shape
        support = self.__dict__.pop("_support", None)
        if support is None:
            return
        found = np.array(support["rows"], dtype=np.int32)
        order = np.arange(len(found)) if codes is None else np.argsort(codes[found], kind="stable")
        counts = [len(found)] if codes is None else np.bincount(codes[found], minlength=len(self.classes_))
        iterations = np.array(support["iterations"], dtype=np.int32)
        taken = found[order] if rows is None else np.asarray(rows, dtype=np.int32)[found[order]]
        self._support = {"rows": taken, "order": order, "counts": np.array(counts, dtype=np.int32)}
        self._support["iterations"] = int(iterations.sum()) if codes is None else iterations
