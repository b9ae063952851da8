"""The form in which a kernel runs in compiled code, in float32 or float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _kernels
from ...numeric.kernels import Gaussian, Kernel, Laplacian, Linear, Mahalanobis, Polynomial, Sigmoid

# Cells beyond these leave float32, or have products that do.
LARGEST = 1e9
_CODES = {Linear: 0, Polynomial: 1, Sigmoid: 2, Gaussian: 3, Laplacian: 4}


@dataclass(frozen=True)
class FastForm:
    """A kernel as the compiled rows have it: a function of products or distances of rows that were placed for it."""

    code: int
    gamma: float
    coef0: float
    degree: int
    whitening: np.ndarray | None = None

    def place(self, rows: np.ndarray) -> np.ndarray:
        """The rows whose products or distances count."""
        return rows if self.whitening is None else np.ascontiguousarray(rows @ self.whitening)

    def rows(self, X: np.ndarray, single: bool = True) -> Any:
        """The compiled rows."""
        return _kernels.KernelRows(self.place(X), self.code, self.gamma, self.coef0, self.degree, single)


def fast_form(kernel: Kernel, rows: np.ndarray) -> FastForm | None:
    """How a kernel runs in compiled code on these rows; None where it does not, or where float32 is too narrow.

    >>> fast_form(Gaussian(gamma=0.5), np.zeros((1, 1))).gamma
    0.5
    >>> fast_form(Gaussian() + Linear(), np.zeros((1, 1))) is None
    True
    """
    if largest_cell(rows) > LARGEST:
        return None
    if isinstance(kernel, Mahalanobis):
        return FastForm(_CODES[Gaussian], float(kernel.gamma), 0.0, 0, kernel.whitening)
    code = _CODES.get(type(kernel))
    if code is None:
        return None
    degree = getattr(kernel, "degree", 0)
    if degree != int(degree) or not 0 <= degree <= 16:
        return None
    form = FastForm(code, float(getattr(kernel, "gamma", 1.0)), float(getattr(kernel, "coef0", 0.0)), int(degree))
    own = kernel.diagonal(rows[:: max(1, rows.shape[0] // 1000)])
    return form if np.abs(own).max(initial=0.0) < 1e30 else None


def largest_cell(rows: np.ndarray) -> float:
    """The largest cell by size, without a table of sizes.

    >>> largest_cell(np.array([[1.0, -3.0]]))
    3.0
    """
    return float(max(rows.max(initial=0.0), -rows.min(initial=0.0)))
