"""The dual problem of the support vector machines, solved by the compiled blocks on a Gram matrix or on kernel rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _kernels
from ...base.cost import Cost
from ...base.errors import AssayWarning, DataError
from ...base.parameters import Boolean, Integer, Nothing, Real, param
from ...base.threads import one_blas_thread

# A problem of no more than so many variables is solved on from `tol` towards this violation, in so many steps a
# variable, which is over before it is noticed.
_FINE, _EXTRA_STEPS, TINY = 1e-10, 400, 640
# To which violation kernel rows in float32 are good for.
_SINGLE = 1e-4
_SMALL_BLOCK, _BLOCK, _LARGE_BLOCK, _LARGE = 2048, 256, 512, 12_000
# A hard margin narrower than this share of the spread of the rows is not looked for, and how fast C grows towards it.
_NARROWEST, _GROWTH = 1e-3, 10.0


def tol_param() -> Any:
    """Declare `tol` with the wording used by every support vector machine."""
    return param(
        1e-3,
        Real(0, None, "neither"),
        "Largest violation of the conditions of optimality at the end; a few hundred rows are solved further.",
    )


def max_iter_param() -> Any:
    """Declare `max_iter` with the wording used by every support vector machine."""
    return param(
        None, Integer(1) | Nothing(), "Most steps on pairs of rows; None is ten million, or 100 a row if that is more."
    )


def cache_param() -> Any:
    """Declare `cache_bytes` with the wording used by every support vector machine."""
    return param(5e8, Real(0, None, "neither"), "Memory for kernel rows that are kept, where the matrix is not held.")


def shrinking_param() -> Any:
    """Declare `shrinking` with the wording used by every support vector machine."""
    return param(
        True,
        Boolean(),
        "Whether rows whose alpha is at a bound and will stay there are left out until the others are solved; the "
        "conditions of optimality are checked for all rows at the end either way.",
    )


@dataclass(frozen=True)
class DualSolution:
    """What was found: beta, f = K beta of every row, the constant of the decision value f + offset."""

    beta: np.ndarray
    f: np.ndarray
    offset: float
    objective: float
    violation: float
    n_iter: int
    status: str
    shrunk: int = 0
    coef: np.ndarray | None = None
    """Coefficients of the columns, of a linear machine."""


@dataclass(frozen=True)
class Dual:
    """The dual of a support vector machine: minimise 1/2 beta' K beta - target' beta between bounds, its sum kept.

    `row` is the row of each variable. The kernel is a Gram matrix, or compiled rows with a cache.
    """

    kernel: Any
    row: np.ndarray
    target: np.ndarray
    low: np.ndarray
    high: np.ndarray
    cache_bytes: float = 5e8
    shrinking: bool = True

    def solve(
        self,
        tol: float,
        max_iter: int | None,
        threads: int,
        start: tuple[np.ndarray, np.ndarray] | None = None,
        scale: float = 1.0,
        largest: float = 0.0,
    ) -> DualSolution:
        """The minimum to a violation of `tol` times `scale`, from (beta, K beta) or from zero.

        On kernel rows in float64 many variables are solved on rows in float32 first, which take half the memory; what
        rounding left to do is done in float64.
        """
        n, dense = self.row.shape[0], isinstance(self.kernel, np.ndarray)
        beta, f = (np.zeros(n), np.zeros(self.size)) if start is None else start
        exact = self.kernel.dtype == np.float64 if dense else not self.kernel.single
        lost = 0.0 if start is None else self.rounding(beta)
        given: dict[str, Any] = {
            "row": self.row.astype(np.int32, copy=False),
            "target": np.ascontiguousarray(self.target),
            "low": np.ascontiguousarray(self.low),
            "high": np.ascontiguousarray(self.high),
            "fine": max(_FINE * scale, min(tol * scale, lost)) if exact and n <= TINY else 0.0,
            "extra": _EXTRA_STEPS * n + 10_000,
            "block": _SMALL_BLOCK if n <= _SMALL_BLOCK else _BLOCK if n <= _LARGE else _LARGE_BLOCK,
            "largest": largest,
            "threads": threads,
            "shrinking": self.shrinking,
        }
        most = int(max_iter) if max_iter is not None else max(10_000_000, 100 * n)
        goals, steps, shrunk = [tol * scale], 0, 0
        if exact and not dense and n > TINY:
            goals.insert(0, max(tol, _SINGLE) * scale)
        for left, goal in zip(range(len(goals))[::-1], goals, strict=True):
            given |= {"beta": np.ascontiguousarray(beta), "f": np.ascontiguousarray(f), "tol": goal}
            given["max_steps"] = most - steps
            if dense:
                found = _kernels.smo_gram(self.kernel, **given)
            else:
                rows = self.kernel.in_single() if left else self.kernel
                found = _kernels.smo_rows(rows, self.cache_bytes, **given)
                del rows  # those in float32 are not held beside those in float64
            beta, f, offset, objective, violation, made, _, times, status = found
            steps, shrunk = steps + made, shrunk + times
            if left:
                f = self.times(beta, threads)
        name = ("max_iter", "converged", "unbounded")[status]
        # Steps beyond `tol` that only rounding makes can end further away than they began.
        if name == "converged" and violation > goal:
            name = "stalled"
        return DualSolution(beta, f, offset, objective, violation, steps, name, shrunk)

    @property
    def size(self) -> int:
        """How many rows the kernel has."""
        return int(self.kernel.shape[0] if isinstance(self.kernel, np.ndarray) else self.kernel.size)

    def times(self, beta: np.ndarray, threads: int) -> np.ndarray:
        """K beta, a number for each row."""
        of_row = np.bincount(self.row, beta, minlength=self.size)
        if not isinstance(self.kernel, np.ndarray):
            return self.kernel.times(of_row, threads)
        with one_blas_thread():
            return self.kernel @ of_row

    def start_from(self, found: DualSolution | None, growth: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Where to begin after the solution for bounds smaller by a factor of `growth`: on the line from zero through
        it, at the minimum there (where no alpha was at its bound, that is the solution)."""
        if found is None:
            return None
        curve = float(found.beta @ found.f[self.row])
        best = float(self.target @ found.beta) / curve if curve > 0.0 else 1.0
        factor = min(max(1.0, best), growth)
        # The bounds stretch by at least this factor up to rounding, which the clip takes care of.
        return np.clip(factor * found.beta, self.low, self.high), factor * found.f

    def rounding(self, beta: np.ndarray) -> float:
        """About how far rounding takes the entries of K beta in float64."""
        dense = isinstance(self.kernel, np.ndarray)
        largest = float(np.abs(np.diagonal(self.kernel)).max(initial=0.0)) if dense else self.kernel.largest
        return float(np.finfo(np.float64).eps * largest * np.linalg.norm(beta))


def warn_unless_converged(who: str, solutions: list[DualSolution]) -> None:
    """Warning W201 if some problem ran out of steps, or ended above `tol`."""
    left = [one for one in solutions if one.status in ("max_iter", "stalled")]
    if left:
        worst = max(one.violation for one in left)
        text = (
            f"{who}: not converged after {left[0].n_iter} steps (the conditions of optimality are violated by "
            f"{worst:.3g}); raise max_iter or tol, scale the columns, or take a smaller C."
        )
        warnings.warn(AssayWarning("W201", text), stacklevel=4)


def hard_margin(
    who: str, gram: np.ndarray, sign: np.ndarray, tol: float, max_iter: int | None, threads: int, shrinking: bool
) -> DualSolution:
    """The machine without slack: C grows until no alpha is at it.

    The dual objective bounds 2 / margin^2 from below for every C; once it is beyond that of the narrowest margin looked
    for, the classes cannot be separated by a wider one, and this is refused.
    """
    spread = float(np.trace(gram) / gram.shape[0] - gram.mean())
    if spread <= 0.0:
        spread = float(np.abs(gram).max(initial=1.0)) or 1.0
    n, start, price = gram.shape[0], None, 1.0 / spread
    while True:
        bound = sign * price
        dual = Dual(gram, np.arange(n), sign, np.minimum(bound, 0.0), np.maximum(bound, 0.0), shrinking=shrinking)
        found = dual.solve(tol, max_iter, threads, start)
        if found.status in ("converged", "stalled") and float(np.abs(found.beta).max()) < price:
            return found
        if -found.objective > 2.0 / (_NARROWEST**2 * spread) or found.status == "max_iter":
            slack = 1.0 - sign * (found.f + found.offset)
            raise DataError(
                who,
                "the classes",
                "must be separable by the kernel for C=inf",
                f"{int((slack > tol).sum())} rows keep slack at a margin of {_NARROWEST * np.sqrt(spread):.2g}",
                "give a finite C, or a more flexible kernel",
            )
        start, price = (found.beta, found.f), price * _GROWTH


def svm_cost(n_rows: int, n_features: int, cache_bytes: float) -> Cost:
    """Kernel rows of the support vectors, made more than once where the cache cannot hold them."""
    pairs = float(n_rows) ** 2
    again = 1.0 + 2.0 * pairs / max(cache_bytes, 1.0)
    held = min(8.0 * pairs, max(cache_bytes, 2.5e3 * n_rows))
    return Cost(seconds=1e-4 + 3e-11 * pairs * (n_features + 30.0) * again, bytes=held + 24.0 * n_rows * n_features)
