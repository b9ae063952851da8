"""Tables that are read in blocks behind the interface of `tables`: what a solver asks for are sums over the blocks.

Every work below runs where its block lies, in this process or on another machine; it gets the block, the values of its
rows, and what all rows have in common.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ... import _kernels
from ...base.batches import BatchedTable, Passes, added
from ...base.errors import UsageError
from ...numeric.solves import reduce_rows
from .standardised import NO_ROWS, NO_WEIGHTS, GlmTerms, LogisticTerms, Some, centre_and_spread, or_empty

# Cells up to which a table is read whole where a method for few rows needs that.
_FEW_CELLS = 20_000


class BatchRows:
    """All rows of a table that is read in blocks."""

    by_column = False
    streamed = True
    most_square = 2**62

    def __init__(self, X: BatchedTable) -> None:
        self.X = X

    def __getattr__(self, name: str) -> Any:
        raise UsageError("fit_batches", f"'{name}' of a table in blocks", "is not there", way_out="fit rows in memory")

    def written(self, part: slice | np.ndarray) -> np.ndarray:
        """Some rows."""
        return self.X[part]

    def forms_square(self, n_unknowns: int, most: int) -> bool:
        """Whether the solver forms a square matrix over so many unknowns."""
        return True

    def small(self) -> Any:
        """The rows themselves where they are few."""
        n, p = self.X.shape
        return self.X[:] if n <= p or n * p <= _FEW_CELLS else self.X

    def require_finite(self, who: str, names: Any) -> None:
        """Nothing to do: the cells were looked at when they were read."""

    def means(self, weights: np.ndarray | None) -> np.ndarray:
        """Weighted mean of each column."""
        return self.X.moments(weights, 1)[0]

    def deviations(self, weights: np.ndarray | None) -> np.ndarray:
        """Weighted standard deviation of each column."""
        return np.sqrt(self.X.moments(weights, 1)[1])

    def around(self, weights: np.ndarray | None, centre: np.ndarray) -> tuple[np.ndarray, None]:
        """Fewer rows that have the same products of the columns around `centre`."""
        nothing = np.empty((self.X.shape[0], 0))
        return reduce_rows(self.X, nothing, weights, fit_intercept=False, centre=centre), None

    def centring(self, targets: np.ndarray, fit_intercept: bool = True) -> Callable[[], np.ndarray]:
        """() to a value near the mean of each column and target from about a thousand rows, exactly that of a constant
        one; to zeros without intercept."""
        return functools.partial(self._central_values, targets, fit_intercept)

    def _central_values(self, targets: np.ndarray, fit_intercept: bool) -> np.ndarray:
        if not fit_intercept:
            return np.zeros(self.X.shape[1] + targets.shape[1])
        step = max(1, self.X.shape[0] // 1024)
        samples = (self.X[::step], targets[::step])
        return np.concatenate([np.where(s.min(axis=0) == s.max(axis=0), s[0], s.mean(axis=0)) for s in samples])

    def nearer(self, offset: np.ndarray, far: np.ndarray) -> np.ndarray:
        """By how much to move values that were to be near the means and lie `offset` away from them."""
        return offset

    def gram_sums(self, targets: np.ndarray, weights: Some, part: Some) -> Callable[..., np.ndarray]:
        """(shift, threads) to the sum of w z z' over the rows, with z = [x - shift, y - shift, 1]."""
        return self.X.passes(_gram, targets, weights).sums

    def standardise(
        self, weights: np.ndarray | None, fit_intercept: bool, threads: int
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Centre and spread of each column (0 for a constant one), and the total weight; those of the sample where the
        first pass was made with them."""
        if self.X.first is not None:
            total = self.X.shape[0] if weights is None else weights.sum()
            return self.X.first.centre, self.X.first.spread, float(total)
        mean, variance, total = self.X.moments(weights, threads)
        low, high = self.X.facts.low, self.X.facts.high
        centre, spread, odd = centre_and_spread(mean, variance, fit_intercept)
        odd |= low == high  # the means of blocks of a constant column need not be equal to the last digit
        centre = np.where(odd, low if fit_intercept else 0.0, centre)
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.where(odd, np.maximum(np.abs(high - centre), np.abs(low - centre)), spread)
        return centre, spread, total

    def logistic_passes(self, terms: LogisticTerms) -> Any:
        """Sums of the log loss for any coefficients."""
        of_all = terms._replace(codes=NO_ROWS, weights=NO_WEIGHTS)
        works = (functools.partial(work, terms=of_all) for work in (logistic_block, _hessian_product))
        sums, product = (self.X.passes(work, terms.codes, _or_none(terms.weights)).sums for work in works)
        return SimpleNamespace(sums=sums, hessian_product=product)

    def glm_passes(self, levels: tuple[np.ndarray, np.ndarray], terms: GlmTerms, square: bool) -> Passes:
        """Sums of a deviance for any coefficients; `levels` are the codes and starts of nominal columns."""
        of_all = terms._replace(y=NO_WEIGHTS, weights=NO_WEIGHTS, offset=NO_WEIGHTS)
        work = functools.partial(_glm_sums, starts=levels[1], terms=of_all)
        of_rows = levels[0], terms.y, _or_none(terms.weights), _or_none(terms.offset)
        return self.X.passes(work, *of_rows, merge=_with_worst)

    def expect_columns(self) -> None:
        """Nothing to do: a step reads the rows."""

    def columns(self, chosen: np.ndarray) -> BatchedTable:
        """The table of some columns."""
        return self.X.columns(chosen)


def _or_none(values: np.ndarray) -> np.ndarray | None:
    return values if values.size else None


def _gram(
    block: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, shift: np.ndarray, threads: int
) -> np.ndarray:
    return _kernels.weighted_gram(block, np.ascontiguousarray(targets), shift, weights, None, threads)


def _passes(block: np.ndarray, codes: np.ndarray, weights: Some, terms: LogisticTerms) -> Any:
    return _kernels.LogisticPasses(block, NO_ROWS, *terms._replace(codes=codes, weights=or_empty(weights)))


def logistic_block(
    block: np.ndarray, codes: np.ndarray, weights: Some, *, terms: LogisticTerms, **asked: Any
) -> tuple[Any, ...]:
    """The sums of one block, and the probabilities of its rows in a list."""
    *sums, probabilities = _passes(block, codes, weights, terms).sums(**asked)
    return *sums, [probabilities]


def _hessian_product(
    block: np.ndarray,
    codes: np.ndarray,
    weights: Some,
    probabilities: np.ndarray,
    *,
    terms: LogisticTerms,
    direction: np.ndarray,
    threads: int,
) -> np.ndarray:
    return _passes(block, codes, weights, terms).hessian_product(
        np.ascontiguousarray(probabilities), np.ascontiguousarray(direction), threads
    )


def _glm_sums(
    block: np.ndarray,
    codes: np.ndarray,
    y: np.ndarray,
    weights: Some,
    offset: Some,
    *,
    starts: np.ndarray,
    terms: GlmTerms,
    **asked: Any,
) -> tuple[Any, ...]:
    of_block = terms._replace(y=y, weights=or_empty(weights), offset=or_empty(offset))
    return _kernels.GlmPasses(block, np.ascontiguousarray(codes), starts, NO_ROWS, *of_block).sums(**asked)


def _with_worst(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sums of two sets of rows; of the worst rows the worse one."""
    sums = added(first, second)
    return *sums[:2], max(first[2], second[2]), *sums[3:]
