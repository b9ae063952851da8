"""Rows placed for a radial kernel, in a tree that sums it; constants and draws of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from ... import _kernels
from ...base.errors import DataError
from ...numeric.distances import Mahalanobis
from ...numeric.moments import PrincipalAxes, varies, weighted_mean

KERNELS = ("gaussian", "epanechnikov", "box")
_TREE = ("order", "column", "right", "low", "high")


def log_ball(d: int) -> float:
    """Log of the volume of the unit ball in d dimensions.

    >>> round(float(np.exp(log_ball(2))), 6)
    3.141593
    """
    return 0.5 * d * np.log(np.pi) - float(gammaln(0.5 * d + 1.0))


def log_constant(kernel: str, d: int) -> float:
    """Log of the integral of a kernel with bandwidth 1: exp(-r^2/2), max(0, 1 - r^2) or [r <= 1].

    >>> round(float(np.exp(log_constant("epanechnikov", 1))), 6)
    1.333333
    """
    if kernel == "gaussian":
        return 0.5 * d * float(np.log(2.0 * np.pi))
    return log_ball(d) + (np.log(2.0 / (d + 2.0)) if kernel == "epanechnikov" else 0.0)


def deviation_of(kernel: str, d: int) -> float:
    """The standard deviation along one column of a kernel with bandwidth 1.

    >>> deviation_of("gaussian", 3), round(deviation_of("box", 1), 4)
    (1.0, 0.5774)
    """
    return {"gaussian": 1.0, "epanechnikov": (d + 4.0) ** -0.5, "box": (d + 2.0) ** -0.5}[kernel]


def draw(kernel: str, count: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draws from a kernel with bandwidth 1, (count, d)."""
    steps = rng.normal(size=(count, d))
    if kernel == "gaussian":
        return steps
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    return steps * np.sqrt(rng.beta(0.5 * d, 2.0 if kernel == "epanechnikov" else 1.0, size=(count, 1)))


class Placement:
    """Where a metric puts rows: as they are ("euclidean"), or in units of their principal axes ("mahalanobis").

    `arrays` is what the placement is made of, `spread` the deviation along a column there, and `log_volume` the log of
    how much volume shrinks.
    """

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.arrays = arrays

    @classmethod
    def of(
        cls,
        who: str,
        rows: np.ndarray,
        weights: np.ndarray | None,
        metric: str,
        needed: bool = True,
        way_out: str = "give more rows or a bandwidth",
    ) -> Placement:
        """The placement for these training rows, which must vary if their spread is `needed`."""
        if metric == "euclidean" and not needed:
            return cls({"spread": np.array(1.0)})
        weight = float(rows.shape[0] if weights is None else weights.sum())
        mean = weighted_mean(rows, weights)
        centred = rows - mean
        scaled = centred if weights is None else centred * weights[:, None]
        covariance = scaled.T @ centred / (weight - 1.0 if weight > 1.0 else weight)
        variance = np.diag(covariance)
        if metric == "euclidean":
            spread = np.sqrt(variance.mean())
            if not varies(spread, np.abs(mean).max()):
                came = "got n_samples=1" if rows.shape[0] == 1 else "all rows are equal"
                raise DataError(who, "X", "must vary", came, way_out)
            return cls({"spread": np.array(spread)})
        scale = np.sqrt(variance)
        fixed = ~varies(scale, mean)
        if fixed.any():
            raise DataError(
                who,
                f"column {int(np.argmax(fixed))}",
                "must vary for the metric 'mahalanobis'",
                "it holds one value",
                "leave it out or use metric='euclidean'",
            )
        axes = PrincipalAxes.of(covariance / scale[:, None] / scale, rows.shape[1] * 1e-13)
        if axes.variances.shape[0] < rows.shape[1]:
            raise DataError(
                who,
                "X",
                "must not have columns that depend on each other for the metric 'mahalanobis'",
                f"got {rows.shape[1]} columns of rank {axes.variances.shape[0]}",
                "leave some out or use metric='euclidean'",
            )
        back = (axes.directions * np.sqrt(axes.variances)).T * scale
        return cls({"mean": mean, "whitening": axes.whitening / scale[:, None], "back": back})

    @property
    def spread(self) -> float:
        """The deviation along a column where the rows are placed."""
        return float(self.arrays["spread"]) if "spread" in self.arrays else 1.0

    @property
    def log_volume(self) -> float:
        """Log of the volume of a unit cube after placing."""
        if "back" not in self.arrays:
            return 0.0
        return -float(np.linalg.slogdet(self.arrays["back"])[1])

    def place(self, rows: np.ndarray) -> np.ndarray:
        """Rows as the kernel compares them."""
        if "back" not in self.arrays:
            return np.ascontiguousarray(rows)
        return np.ascontiguousarray(Mahalanobis().place(rows, self.arrays))

    def unplace(self, steps: np.ndarray) -> np.ndarray:
        """Differences of placed rows as differences of rows."""
        return steps @ self.arrays["back"] if "back" in self.arrays else steps


def build(placed: np.ndarray, threads: int) -> dict[str, np.ndarray]:
    """The tree of placed rows, as arrays."""
    return {"rows": placed, **dict(zip(_TREE, _kernels.kd_tree(placed, threads), strict=True))}


def log_sums(
    tree: dict[str, np.ndarray],
    kernel: str,
    weights: np.ndarray | None,
    queries: np.ndarray,
    bandwidth: Any,
    *,
    rtol: float = 0.0,
    left_out: np.ndarray | None = None,
    threads: int = 1,
) -> np.ndarray:
    """Log of the sum of w K((q - x) / h) over the rows, for each placed query; h may differ by query.

    >>> tree = build(np.array([[0.0], [1.0]]), 1)
    >>> np.exp(log_sums(tree, "box", None, np.array([[0.2]]), 0.5))
    array([1.])
    """
    bandwidths = np.atleast_1d(np.ascontiguousarray(bandwidth, dtype=np.float64))
    return _kernels.log_kernel_sums(
        **tree,
        kernel=KERNELS.index(kernel),
        weights=weights,
        queries=queries,
        bandwidths=bandwidths,
        left_out=left_out,
        tolerance=rtol,
        threads=threads,
    )
