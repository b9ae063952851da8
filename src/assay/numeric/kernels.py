"""Kernel functions as small objects: `kernel(X, Y)` is the Gram matrix, and kernels add and multiply.

A sum or product of kernels, or a kernel times a positive number, is a kernel again. Kernels of distances are computed
by the panels of the neighbour search, each distance directly, so that near rows keep their digits and `kernel(X)` is
symmetric to the last bit.

>>> X = np.array([[0.0], [1.0]])
>>> (2.0 * Linear() + Gaussian(gamma=0.5))(X).round(4)
array([[1.    , 0.6065],
       [0.6065, 3.    ]])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _kernels
from ..base.errors import DataError, ParameterError
from ..base.threads import thread_count
from .distances import Euclidean, Manhattan
from .distances import get as get_distance
from .moments import PrincipalAxes

_NO_FLAGS = np.zeros(0, dtype=np.uint8)


class Kernel:
    """A kernel function: `kernel(X, Y)` holds k(x, y) for every row x of X and y of Y (of X itself without Y)."""

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        rows = _matrix(self, X)
        return self.gram(rows, rows if Y is None else _matrix(self, Y))

    def gram(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """The same for tables of float64 that need no look; X is Y for one table with itself."""
        raise NotImplementedError  # pragma: no cover

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) for every row, without the matrix where that is possible."""
        rows = _matrix(self, X)
        return np.array([self.gram(row[None], row[None])[0, 0] for row in rows])

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, _as_kernel(other, "added to"))

    __radd__ = __add__

    def __mul__(self, other: Any) -> Kernel:
        return Product(self, _as_kernel(other, "multiplied with"))

    __rmul__ = __mul__


@dataclass(frozen=True, eq=False)
class Constant(Kernel):
    """The same value for every pair of rows."""

    value: float = 1.0

    def gram(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """The value, for every pair of rows."""
        return np.full((X.shape[0], Y.shape[0]), self.value)

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) for every row."""
        return np.full(_matrix(self, X).shape[0], self.value)


@dataclass(frozen=True, eq=False)
class Sum(Kernel):
    """k(x, y) + l(x, y)."""

    first: Kernel
    second: Kernel

    def gram(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """The sum of both matrices."""
        return self.first.gram(X, Y) + self.second.gram(X, Y)

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) for every row."""
        return self.first.diagonal(X) + self.second.diagonal(X)


@dataclass(frozen=True, eq=False)
class Product(Kernel):
    """k(x, y) l(x, y)."""

    first: Kernel
    second: Kernel

    def gram(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """The product of both matrices, cell by cell."""
        return self.first.gram(X, Y) * self.second.gram(X, Y)

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) for every row."""
        return self.first.diagonal(X) * self.second.diagonal(X)


class _OfProducts(Kernel):
    """A kernel that is a function of the inner product."""

    def _shape(self, products: np.ndarray) -> np.ndarray:
        """The function of each product, in their place."""
        raise NotImplementedError  # pragma: no cover

    def gram(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """The function of all inner products; symmetric to the last bit if X is Y."""
        # Of one table in one piece NumPy makes one triangle, and the other is its mirror.
        whole = np.ascontiguousarray(X)
        return self._shape(whole @ (whole if X is Y else Y).T)

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) for every row."""
        rows = _matrix(self, X)
        return self._shape(np.einsum("ij,ij->i", rows, rows))


@dataclass(frozen=True, eq=False)
class Linear(_OfProducts):
    """The inner product <x, y>."""

    def _shape(self, products: np.ndarray) -> np.ndarray:
        return products


@dataclass(frozen=True, eq=False)
class Polynomial(_OfProducts):
    """(gamma <x, y> + coef0)^degree."""

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0

    def _shape(self, products: np.ndarray) -> np.ndarray:
        products *= self.gamma
        products += self.coef0
        return _whole_power(products, self.degree)


@dataclass(frozen=True, eq=False)
class Sigmoid(_OfProducts):
    """tanh(gamma <x, y> + coef0); not positive semi-definite for every gamma and coef0."""

    gamma: float = 1.0
    coef0: float = 0.0

    def _shape(self, products: np.ndarray) -> np.ndarray:
        products *= self.gamma
        products += self.coef0
        return np.tanh(products, out=products)


class _OfDistances(Kernel):
    """exp(-gamma r) of a reduced distance r."""

    metric: type[Euclidean] | type[Manhattan] = Euclidean
    gamma: float

    def gram(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """exp(-gamma r) for every pair of rows."""
        return _kernels.kernel_gram(self.metric.code, self.metric.power, Y, X, self.gamma, thread_count(None))

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) = 1 for every row."""
        return np.ones(_matrix(self, X).shape[0])

    def distances(self, X: Any) -> np.ndarray:
        """The reduced distances r of all pairs of rows, from which kernels of any gamma are made.

        >>> Gaussian().distances([[0.0], [3.0]])
        array([[0., 9.],
               [9., 0.]])
        """
        rows = _matrix(self, X)
        return _kernels.kernel_gram(self.metric.code, self.metric.power, rows, rows, -1.0, thread_count(None))

    def sums(self, X: Any, rows: Any, weights: np.ndarray | None = None) -> np.ndarray:
        """The sum over `rows` of weight times k(x, row), for every row x of X, without the matrix (Parzen windows).

        >>> Gaussian(gamma=1.0).sums([[0.0]], [[0.0], [1.0]]).round(4)
        array([1.3679])
        """
        distance, threads = self.metric(), thread_count(None)
        points = _matrix(self, rows)
        panels = _kernels.metric_panels(points, threads)
        queries = _matrix(self, X)
        return _kernels.kernel_sums(
            distance.code, 2.0, _NO_FLAGS, panels, points.shape[0], queries, self.gamma, weights, threads
        )


@dataclass(frozen=True, eq=False)
class Gaussian(_OfDistances):
    """exp(-gamma |x - y|^2)."""

    gamma: float = 1.0


@dataclass(frozen=True, eq=False)
class Laplacian(_OfDistances):
    """exp(-gamma sum |x_j - y_j|)."""

    gamma: float = 1.0
    metric = Manhattan


class Mahalanobis(Kernel):
    """exp(-gamma (x - y)' S^-1 (x - y)) with S the covariance; directions without spread are left out.

    >>> rows = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0]])
    >>> Mahalanobis(np.cov(rows, rowvar=False))(rows).round(3)[0]
    array([1.   , 0.223, 0.223, 0.05 ])
    """

    def __init__(self, covariance: Any, gamma: float = 0.5):
        matrix = np.atleast_2d(np.asarray(covariance, dtype=np.float64))
        self.gamma = gamma
        self.whitening = PrincipalAxes.of(matrix, matrix.shape[0] * np.finfo(float).eps).whitening

    def gram(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """exp(-gamma r) for every pair of rows, r measured by the covariance."""
        placed = X @ self.whitening
        others = placed if X is Y else Y @ self.whitening
        return _kernels.kernel_gram(Euclidean.code, Euclidean.power, others, placed, self.gamma, thread_count(None))


class Distance(Kernel):
    """exp(-gamma d(x, y)) with any metric of `assay.numeric.distances` that learns nothing from rows.

    Positive semi-definite for Euclidean and Manhattan distances; `check_gram` tells for others.

    >>> Distance("chebyshev", gamma=1.0)([[0.0, 0.0], [1.0, 0.5]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    def __init__(self, metric: str, gamma: float = 1.0, p: float = 2.0):
        self.distance, self.gamma = get_distance(metric, p), gamma
        if self.distance.learns:
            raise ParameterError(
                "Distance", "parameter 'metric'", "must not learn from rows", f"got '{metric}'", "use Mahalanobis"
            )

    def gram(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """exp(-gamma d) for every pair of rows."""
        X, Y = self.distance.place(X, {}), self.distance.place(Y, {})
        reduced = _kernels.kernel_gram(self.distance.code, self.distance.power, Y, X, -1.0, thread_count(None))
        return np.exp(-self.gamma * self.distance.finish(reduced))


@dataclass(frozen=True, eq=False)
class Function(Kernel):
    """A user's function of two matrices that gives the matrix of k, or (`by_row`) of two rows that gives a number.

    >>> Function(lambda x, y: float(min(x[0], y[0])), by_row=True)([[1.0], [3.0]])
    array([[1., 1.],
           [1., 3.]])
    """

    function: Callable[[Any, Any], Any]
    by_row: bool = False

    def gram(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """What the function gives."""
        if self.by_row:
            return np.array([[float(self.function(x, y)) for y in Y] for x in X]).reshape(X.shape[0], Y.shape[0])
        gram = np.asarray(self.function(X, Y), dtype=np.float64)
        if gram.shape != (X.shape[0], Y.shape[0]):
            raise DataError(
                "Function", "the kernel", f"must give a matrix of shape {(X.shape[0], Y.shape[0])}", f"got {gram.shape}"
            )
        return gram


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """What is given is the Gram matrix already: rows to predict by training rows."""

    def gram(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """What was given."""
        return X


def check_gram(who: str, gram: np.ndarray, tolerance: float = 1e-10) -> None:
    """Refuse a Gram matrix that is not symmetric or has a negative eigenvalue, which the error names.

    >>> check_gram("demo", np.array([[1.0, 2.0], [2.0, 1.0]]))
    Traceback (most recent call last):
    ...
    assay.base.errors.DataError: demo: the Gram matrix must be positive semi-definite; its smallest eigenvalue is -1 \
(the largest is 3); choose another kernel or other parameters.
    """
    size = float(np.abs(gram).max(initial=0.0))
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not np.isfinite(size):
        raise DataError(who, "the Gram matrix", "must be square and finite", f"got shape {gram.shape}")
    gap = float(np.abs(gram - gram.T).max(initial=0.0))
    if gap > tolerance * size:
        row, column = np.unravel_index(np.argmax(np.abs(gram - gram.T)), gram.shape)
        raise DataError(
            who,
            "the Gram matrix",
            "must be symmetric",
            f"cells ({row}, {column}) and ({column}, {row}) differ by {gap:.3g}",
            "check the kernel function",
        )
    values = np.linalg.eigvalsh((gram + gram.T) / 2)
    if values.size and values[0] < -tolerance * max(float(values[-1]), size) * gram.shape[0]:
        raise DataError(
            who,
            "the Gram matrix",
            "must be positive semi-definite",
            f"its smallest eigenvalue is {values[0]:.6g} (the largest is {values[-1]:.6g})",
            "choose another kernel or other parameters",
        )


def _whole_power(values: np.ndarray, degree: int) -> np.ndarray:
    """Powers in the place of the values, by products: pow of single numbers takes ten times as long."""
    if degree % 1 != 0 or degree < 1:
        return np.power(values, degree, out=values)
    power, left = values, int(degree) - 1
    square = values.copy() if left > 1 else values
    while left:
        if left % 2:
            power *= square
        left //= 2
        if left:
            square *= square
    return power


def _matrix(kernel: Kernel, X: Any) -> np.ndarray:
    rows = np.ascontiguousarray(X, dtype=np.float64)
    if rows.ndim != 2:
        raise DataError(type(kernel).__name__, "X", "must have two dimensions", f"got shape {rows.shape}")
    return rows


def _as_kernel(other: Any, verb: str) -> Kernel:
    if isinstance(other, Kernel):
        return other
    if isinstance(other, (int, float)) and other >= 0:
        return Constant(float(other))
    raise ParameterError("Kernel", "a kernel", f"can be {verb} a kernel or a number >= 0", f"got {other!r}")
