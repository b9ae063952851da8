"""The kernel of a kernel machine: its parameters, what it learns from the rows, its matrix and sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from ...base.errors import DataError
from ...base.estimator import Estimator, Fold
from ...base.folds import copy_columns
from ...base.parameters import Choice, Instance, Integer, Nothing, Real, param
from ...base.threads import one_blas_thread
from ...numeric.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Mahalanobis,
    Polynomial,
    Precomputed,
    Sigmoid,
    check_gram,
)
from .fast_form import LARGEST, fast_form, largest_cell
from .training import KernelSource

# Rows up to which a dual is solved in float64.
SMALL = 2048
# Products of a block of new rows with the support vectors.
_BLOCK = 2**18
_KNOWN = (Linear, Polynomial, Sigmoid, Gaussian, Laplacian, Mahalanobis)


class KernelMethod(Estimator):
    """Base of methods with a kernel: by name with its parameters, or as an object of `assay.numeric.kernels`."""

    _squares = True
    _of_folds: tuple[Any, np.ndarray] | None = None
    """While a fold is fitted: what folds share, and the numbers of its rows in that."""
    _learned = {"gamma_": "float, the gamma of the kernel (1 where it has none)"}

    kernel: Any = param(
        "gaussian",
        Choice("gaussian", "linear", "polynomial", "laplacian", "sigmoid", "mahalanobis", "precomputed")
        | Instance(Kernel),
        "The kernel, by name or as an object of `assay.numeric.kernels`; 'precomputed' takes Gram matrices as X.",
    )
    gamma: Any = param(
        "scale",
        Choice("scale") | Real(0, None, "neither"),
        "Width of a kernel by name, larger is narrower; 'scale' is one over the number of columns times the variance "
        "of all cells ('mahalanobis': one over the number of columns).",
    )
    degree: int = param(3, Integer(1, 16), "Degree of the polynomial kernel.")
    coef0: float | None = param(
        None, Real() | Nothing(), "Constant in the polynomial (None: 1) or sigmoid (None: 0) kernel."
    )

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _needs_squares(self) -> bool:
        return not self._precomputed

    def _learn_kernel(self, rows: np.ndarray, weights: np.ndarray | None) -> Kernel:
        """The kernel with what it takes from the training rows, which is kept."""
        self.gamma_ = 1.0
        if not isinstance(self.kernel, str):
            self.gamma_ = float(getattr(self.kernel, "gamma", 1.0))
        elif self.kernel == "mahalanobis":
            centred = rows - np.average(rows, axis=0, weights=weights)
            share = np.full(rows.shape[0], 1.0) if weights is None else weights
            with one_blas_thread():
                self.covariance_ = (centred * share[:, None]).T @ centred / share.sum()
            self.gamma_ = 1.0 / rows.shape[1] if isinstance(self.gamma, str) else float(self.gamma)
        elif not isinstance(self.gamma, str):
            self.gamma_ = float(self.gamma)
        elif self.kernel not in ("linear", "precomputed"):
            means = np.average(rows, axis=0, weights=weights)
            with np.errstate(over="ignore"):
                spread = float(np.average((rows - means.mean()) ** 2, axis=0, weights=weights).mean())
            self.gamma_ = 1.0 / (rows.shape[1] * spread) if 0.0 < spread < np.inf else 1.0
        return self._kernel()

    def _kernel(self) -> Kernel:
        """The kernel of a fitted model."""
        if not isinstance(self.kernel, str):
            return self.kernel
        constant = (1.0 if self.kernel == "polynomial" else 0.0) if self.coef0 is None else float(self.coef0)
        if self.kernel == "mahalanobis":
            return Mahalanobis(self.covariance_, gamma=self.gamma_)
        made = {
            "linear": lambda: Linear(),
            "polynomial": lambda: Polynomial(int(self.degree), self.gamma_, constant),
            "sigmoid": lambda: Sigmoid(self.gamma_, constant),
            "gaussian": lambda: Gaussian(self.gamma_),
            "laplacian": lambda: Laplacian(self.gamma_),
            "precomputed": lambda: Precomputed(),
        }
        return made[self.kernel]()

    def _in_common(self) -> str:
        """What folds of one table have in common: 'gram' if the kernel takes nothing from the rows, 'distances' if it
        is a function of them and of a gamma from the rows, or ''."""
        learns = isinstance(self.kernel, str) and self.kernel not in ("linear", "precomputed")
        if not learns or (not isinstance(self.gamma, str) and self.kernel != "mahalanobis"):
            return "gram"
        return "distances" if self.kernel in ("gaussian", "laplacian") else ""

    def _common_matrix(self, rows: np.ndarray) -> tuple[str, np.ndarray] | None:
        """The matrix that folds of these rows have in common, in float64, with what it is; None if there is none."""
        kind = self._in_common()
        if kind == "distances":
            with one_blas_thread():
                return kind, {"gaussian": Gaussian, "laplacian": Laplacian}[self.kernel]().distances(rows)
        if kind == "gram":
            return kind, self._source(clone(self)._learn_kernel(rows, None), rows, exact=True).of(None)[0]
        return None

    def _each_fold(
        self, template: Any, rows: Any, y: Any, folds: list[Fold], weights: np.ndarray | None, shared: Any
    ) -> Iterator[Any]:
        """One clone fitted to the training rows of each fold, with what all folds share."""
        target = np.asarray(y)
        for train, _ in folds:
            model = clone(self)
            part = rows[np.ix_(train, train)] if self._precomputed else rows[train]
            extra = None if weights is None else weights[train]
            model._of_folds = shared, np.asarray(train)
            model.fit(part, target[train], extra)
            del model._of_folds
            if not self._precomputed:
                copy_columns(template, model)
            yield model

    def _source(self, kernel: Kernel, rows: np.ndarray, exact: bool = False) -> KernelSource:
        """The kernel of the training rows: compiled rows, in float64 if they are few; its matrix if that is needed
        `exact` or there is no such form; one that is given or a user's own is checked."""
        placed = np.ascontiguousarray(self._about_zero(rows), dtype=np.float64)
        form = None if exact or self._precomputed else fast_form(kernel, placed)
        if form is not None:
            return KernelSource(rows, None, form=form, placed=placed, single=rows.shape[0] > SMALL)
        if self._precomputed and rows.shape[0] != rows.shape[1]:
            raise DataError(
                type(self).__name__,
                "X",
                "must be a square Gram matrix for kernel='precomputed'",
                f"got shape {rows.shape}",
                "give k of every pair of training rows",
            )
        with one_blas_thread():
            gram = np.ascontiguousarray(kernel.gram(placed, placed), dtype=np.float64)
            if not isinstance(kernel, _KNOWN):
                check_gram(type(self).__name__, gram)
        if not np.isfinite(gram).all():
            raise DataError(
                type(self).__name__,
                "the Gram matrix",
                "must be finite",
                "the kernel of some rows is beyond the range of float64",
                "scale the columns first (`assay.prepare.Scale`) or take a smaller degree",
            )
        return KernelSource(rows, gram)

    def _about_zero(self, rows: np.ndarray) -> np.ndarray:
        """The rows as the kernel matrix takes them."""
        return rows

    def _kernel_sums(
        self, rows: np.ndarray, centres: np.ndarray, coefficients: np.ndarray, single: bool, threads: int
    ) -> np.ndarray:
        """Sums over `centres` (rows, or for a Gram matrix its columns) of k(row, centre) times coefficients."""
        if self._precomputed:
            with one_blas_thread():
                return rows[:, centres] @ coefficients
        if centres.shape[0] == 0:
            return np.zeros((rows.shape[0], coefficients.shape[1]))
        kernel = self._kernel()
        form = fast_form(kernel, centres)
        if form is not None and largest_cell(rows) <= LARGEST:
            compiled = form.rows(centres, single)
            return compiled.sums(form.place(rows), np.ascontiguousarray(coefficients), threads)
        out = np.empty((rows.shape[0], coefficients.shape[1]))
        step = max(1, _BLOCK // max(1, centres.shape[0]))
        with one_blas_thread():
            for begin in range(0, rows.shape[0], step):
                values = kernel.gram(rows[begin : begin + step], centres)
                # Row by row: a product of BLAS may round a row differently among other rows.
                out[begin : begin + step] = np.einsum("ij,jk->ik", values, coefficients)
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags
