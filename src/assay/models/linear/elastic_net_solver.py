"""The problems behind lasso and elastic net: moments where rows are many, columns where columns are many.

A source of problems holds one or more weightings of one table (all rows, or the training part of each fold) and solves
a path of penalties for all of them at once with the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ... import _kernels
from ...base import DataError
from ...numeric.solves import ridge_coefficients, ridge_of_products
from .gram import Centred, GramStatistics
from .sparse import MOST_DENSE, SparseTable
from .sparse_ridge import solve_by_products
from .tables import table_of

# Tables up to this many columns are reduced to a Gram matrix whatever the number of rows; wider ones if rows are many.
ALWAYS_MOMENTS = 1000
MOST_MOMENTS = 8000
ROWS_PER_COLUMN = 5
# One penalty on full rows: beyond this many columns a Gram matrix costs more than the sweeps it saves, as long as a
# copy of the cells by column is not too large.
SINGLE_MOMENTS = 200
SINGLE_CELLS = 125_000_000
# Sparse tables: beyond this many columns, sweeps over the Gram matrix cost more than working sets of sparse columns.
SPARSE_MOMENTS = 2000


@dataclass(frozen=True)
class Penalties:
    """A path of penalties and how to solve for it; `weights` multiply the penalty of each column (inf: leave out)."""

    alphas: np.ndarray
    l1_ratio: float
    weights: np.ndarray
    positive: bool
    tol: float
    max_iter: int
    refine: bool = False
    trace: bool = False
    who: str = "ElasticNet"

    def too_large(self) -> DataError:
        """What to say of numbers whose products are not finite."""
        rule = "must be small enough for their products to be finite"
        return DataError(self.who, "X and y", rule, way_out="scale the columns")

    def for_kernel(self) -> _kernels.ElasticNetPath:
        """The same for the kernel."""
        return _kernels.ElasticNetPath(
            np.ascontiguousarray(self.alphas),
            self.l1_ratio,
            np.ascontiguousarray(self.weights),
            self.positive,
            self.tol,
            self.max_iter,
            self.refine,
            self.trace,
        )


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of one problem that are not zero: those of penalty k are `values` of the columns `places` from
    `starts[k]` to `starts[k + 1]`, of `n_features` in all."""

    n_features: int
    starts: np.ndarray
    places: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, written: np.ndarray, columns: np.ndarray, n_features: int) -> Coefficients:
        """From those (n_alphas, n_columns) of some columns."""
        point, place = np.nonzero(written)
        starts = np.searchsorted(point, np.arange(written.shape[0] + 1))
        return cls(n_features, starts, columns[place], written[point, place])

    def point(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Columns and coefficients of one penalty."""
        of_it = slice(self.starts[k], self.starts[k + 1])
        return self.places[of_it], self.values[of_it]

    def written_out(self) -> np.ndarray:
        """All coefficients, (n_alphas, n_features)."""
        written = np.zeros((self.starts.shape[0] - 1, self.n_features))
        written[self._points(), self.places] = self.values
        return written

    def in_use(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns that have a coefficient for some penalty, ascending, and theirs (n_alphas, n_used)."""
        columns = np.unique(self.places)
        written = np.zeros((columns.shape[0], self.starts.shape[0] - 1))
        written[np.searchsorted(columns, self.places), self._points()] = self.values
        return columns, written.T

    def _points(self) -> np.ndarray:
        return np.repeat(np.arange(self.starts.shape[0] - 1), np.diff(self.starts))


@dataclass(frozen=True)
class Paths:
    """Solutions: the coefficients of each problem; the other arrays are (n_problems, n_alphas)."""

    coefficients: list[Coefficients]
    intercept: np.ndarray
    gaps: np.ndarray
    sweeps: np.ndarray
    converged: np.ndarray
    objective: np.ndarray
    traced: np.ndarray

    def coef(self, problem: int) -> np.ndarray:
        """Coefficients of one problem, (n_alphas, n_features)."""
        return self.coefficients[problem].written_out()


@dataclass(frozen=True)
class MomentSource:
    """Problems given by their averaged moments around the mean."""

    problems: Sequence[Centred]
    fit_intercept: bool
    threads: int

    def cross(self, problem: int) -> np.ndarray:
        """Minus the gradient at zero, per unit of weight."""
        return self.problems[problem].cross[:, 0]

    def ridge(self, problem: int) -> np.ndarray:
        """Ridge coefficients with a penalty of (mean variance) x columns / weight: least squares when rows are many."""
        moments = self.problems[problem]
        penalty = _start_penalty(np.diag(moments.gram), moments.weight)
        return ridge_of_products(moments.gram, moments.cross[:, 0], penalty)

    def solve(self, penalties: Penalties, start: np.ndarray | None = None) -> Paths:
        """The paths of all problems."""
        grams, crossed, squared, x_means, y_means = [], [], [], [], []
        for moments in self.problems:  # each is asked for once, as it may be made when it is asked for
            grams.append(moments.gram)
            crossed.append(moments.cross[:, 0])
            squared.append(float(moments.y_squares[0]))
            x_means.append(moments.x_mean)
            y_means.append(moments.y_mean[0])
            del moments
        cross, squares = np.array(crossed), np.array(squared)
        if not all(np.isfinite([each.min(), each.max()]).all() for each in (*grams, cross, squares)):
            raise penalties.too_large()
        found = _kernels.elastic_net_from_moments(grams, cross, squares, start, penalties.for_kernel(), self.threads)
        del grams
        return _paths(found, np.array(x_means), np.array(y_means), squares, penalties.tol, self.fit_intercept)


def _padded(values: np.ndarray, count: int) -> np.ndarray:
    """With `count` zeros more at the end of the last axis; without a copy if there are none."""
    return np.concatenate([values, np.zeros((*values.shape[:-1], count))], axis=-1) if count else values


@dataclass(frozen=True)
class _Columns:
    """Problems given by the columns of one table and the weights (n_problems, rows) of its rows in each."""

    columns: Any
    target: np.ndarray
    weights: np.ndarray
    shift: np.ndarray
    fit_intercept: bool
    threads: int

    def some(self, problems: list[int]) -> Any:
        """The source of some of the problems."""
        return replace(self, weights=self.weights[problems])

    def _centred_target(self, problem: int) -> tuple[np.ndarray, float]:
        weights = self.weights[problem]
        mean = np.average(self.target, weights=weights) if self.fit_intercept else 0.0
        return (self.target - mean) * (weights > 0), float(weights.sum())

    def squares(self) -> np.ndarray:
        """Mean square of each problem's centred target."""
        squares = np.empty(self.weights.shape[0])
        for k in range(squares.shape[0]):
            target, total = self._centred_target(k)
            np.square(target, out=target)
            target *= self.weights[k]
            squares[k] = target.sum() / total
        return squares


@dataclass(frozen=True)
class ColumnSource(_Columns):
    """The columns are those of an array less a central value, padded with zeros."""

    @classmethod
    def of(
        cls, rows: np.ndarray, target: np.ndarray, weights: np.ndarray, fit_intercept: bool, threads: int
    ) -> ColumnSource:
        """Rows and target less a central value of each column; `weights` (n_problems, n_rows)."""
        shift = table_of(rows).centring(target[:, None], fit_intercept)()
        columns = _kernels.shifted_columns(rows, shift[:-1], threads)
        padding = columns.shape[1] - rows.shape[0]
        target, weights = _padded(target - shift[-1], padding), _padded(weights, padding)
        return cls(columns, target, weights, shift, fit_intercept, threads)

    def only(self, problem: int, weights: np.ndarray | None = None) -> ColumnSource:
        """The source of one of the problems, or of the table under other row weights."""
        chosen = self.weights[[problem]] if weights is None else _padded(weights[None], self._padding(weights))
        return ColumnSource(self.columns, self.target, chosen, self.shift, self.fit_intercept, self.threads)

    def written_out(self) -> ColumnSource:
        """The same problems by full columns."""
        return self

    def _padding(self, weights: np.ndarray) -> int:
        return self.columns.shape[1] - weights.shape[0]

    def cross(self, problem: int) -> np.ndarray:
        """Minus the gradient at zero, per unit of weight."""
        target, total = self._centred_target(problem)
        return self.columns @ (self.weights[problem] * target) / total

    def ridge(self, problem: int) -> np.ndarray:
        """As for moments, from the rows."""
        target, total = self._centred_target(problem)
        kept = self.weights[problem] > 0
        root = np.sqrt(self.weights[problem][kept] / total)
        block = self.columns[:, kept].T
        if self.fit_intercept:
            block = block - np.average(block, axis=0, weights=self.weights[problem][kept])
        block = block * root[:, None]
        penalty = _start_penalty((block**2).sum(axis=0), total)
        return ridge_coefficients(block, root * target[kept], penalty)

    def solve(self, penalties: Penalties, start: np.ndarray | None = None) -> Paths:
        """The paths of all problems."""
        return _from_columns(partial(_kernels.elastic_net_from_columns, self.columns), self, penalties, start)


@dataclass(frozen=True)
class RowSource(_Columns):
    """The columns are those of an array less a central value, gathered from its rows where they are read: half the
    memory of `ColumnSource`, and the same numbers."""

    @classmethod
    def of(
        cls, rows: np.ndarray, target: np.ndarray, weights: np.ndarray, fit_intercept: bool, threads: int
    ) -> RowSource:
        """Target less a central value, padded with zeros; `weights` (n_problems, n_rows)."""
        shift = table_of(rows).centring(target[:, None], fit_intercept)()
        padding = -rows.shape[0] % 8
        target, weights = _padded(target - shift[-1], padding), _padded(weights, padding)
        return cls(rows, target, weights, shift, fit_intercept, threads)

    def only(self, problem: int) -> RowSource:
        """The source of one of the problems."""
        return replace(self, weights=self.weights[[problem]])

    def written_out(self) -> ColumnSource:
        """The same problems by full columns."""
        columns = _kernels.shifted_columns(self.columns, self.shift[:-1], self.threads)
        return ColumnSource(columns, self.target, self.weights, self.shift, self.fit_intercept, self.threads)

    def cross(self, problem: int) -> np.ndarray:
        """Minus the gradient at zero, per unit of weight."""
        return self.written_out().cross(problem)

    def ridge(self, problem: int) -> np.ndarray:
        """As for moments, from the rows."""
        return self.written_out().ridge(problem)

    def solve(self, penalties: Penalties, start: np.ndarray | None = None) -> Paths:
        """The paths of all problems."""
        kernel = partial(_kernels.elastic_net_from_rows, self.columns, np.ascontiguousarray(self.shift[:-1]))
        return _from_columns(kernel, self, penalties, start)


@dataclass(frozen=True)
class SparseColumnSource(_Columns):
    """The columns are those of a sparse table."""

    @classmethod
    def of(
        cls, rows: SparseTable, target: np.ndarray, weights: np.ndarray, fit_intercept: bool, threads: int
    ) -> SparseColumnSource:
        """Target less its mean, and the columns as they are but for those far from zero."""
        shift = table_of(rows).centring(target[:, None], fit_intercept)()
        return cls(rows.shifted(shift[:-1]), target - shift[-1], weights, shift, fit_intercept, threads)

    def only(self, problem: int, weights: np.ndarray | None = None) -> SparseColumnSource:
        """The source of one of the problems, or of the table under other row weights."""
        return replace(self, weights=self.weights[[problem]] if weights is None else weights[None])

    def written_out(self) -> ColumnSource:
        """The same problems by full columns: what free columns explain has a value in every cell."""
        n_rows, n_columns = self.columns.shape
        if n_rows * n_columns > MOST_DENSE:
            raise DataError(
                "ElasticNet",
                "X as a sparse matrix",
                f"must have at most {MOST_DENSE} cells, or at most {SPARSE_MOMENTS} columns and no more than rows, "
                "where some penalty_weights are 0",
                f"got {n_rows} x {n_columns}",
                "give free columns a small weight such as 1e-6",
            )
        columns = _kernels.shifted_columns(self.columns.toarray(), np.zeros(n_columns), self.threads)
        padding = columns.shape[1] - n_rows
        target, weights = _padded(self.target, padding), _padded(self.weights, padding)
        return ColumnSource(columns, target, weights, self.shift, self.fit_intercept, self.threads)

    def cross(self, problem: int) -> np.ndarray:
        """Minus the gradient at zero, per unit of weight."""
        target, total = self._centred_target(problem)
        return (
            self.columns.by_row.transposed_product((self.weights[problem] * target)[:, None], self.threads)[:, 0]
            / total
        )

    def ridge(self, problem: int) -> np.ndarray:
        """As for moments, solved by the products."""
        target, total = self._centred_target(problem)
        weights = self.weights[problem]
        mean, variance, _ = self.columns.moments(weights, self.threads)
        if not self.fit_intercept:
            mean, variance = np.zeros_like(mean), variance + mean**2
        penalty = total * _start_penalty(variance, total)
        return solve_by_products(
            self.columns, target[:, None], weights, np.array([penalty]), self.fit_intercept, self.threads
        )[0][:, 0]

    def solve(self, penalties: Penalties, start: np.ndarray | None = None) -> Paths:
        """The paths of all problems."""
        products = (self.cross(k) for k in range(self.weights.shape[0]))
        if not all(np.isfinite(product).all() for product in products):
            raise penalties.too_large()
        kernel = partial(_kernels.elastic_net_from_sparse_columns, self.columns.by_column)
        return _from_columns(kernel, self, penalties, start)


def _from_columns(
    kernel: Callable[..., dict[str, Any]], source: _Columns, penalties: Penalties, start: np.ndarray | None
) -> Paths:
    """The paths of all problems of a table by column, by a kernel that has the table."""
    squares = source.squares()
    if not np.isfinite(squares).all():  # where these and the squares of the columns are finite, their products are
        raise penalties.too_large()
    target, weights = np.ascontiguousarray(source.target), np.ascontiguousarray(source.weights)
    found = kernel(target, weights, source.fit_intercept, start, penalties.for_kernel(), source.threads)
    if not found["finite"]:
        raise penalties.too_large()
    x_mean, y_mean = source.shift[:-1] + found["x_mean"], source.shift[-1] + found["y_mean"]
    return _paths(found, x_mean, y_mean, squares, penalties.tol, source.fit_intercept)


Source = MomentSource | ColumnSource | RowSource | SparseColumnSource


def table_prefers_moments(rows: np.ndarray | SparseTable, n_rows: int | None = None, *, single: bool = False) -> bool:
    """Whether a Gram matrix is the cheaper way in, for all rows or for `n_rows` of them, `single` for one penalty
    alone; that of a sparse table costs the pairs of cells in a row."""
    chosen = rows.shape[0] if n_rows is None else n_rows
    if table_of(rows).streamed:
        return True
    if table_of(rows).by_column:
        return rows.shape[1] <= min(SPARSE_MOMENTS, chosen)
    return prefers_moments(chosen, rows.shape[1]) and not (single and sweeps_columns(chosen, rows.shape[1]))


def column_source(rows: Any) -> Any:
    """The class that holds the problems of a table by its columns."""
    return SparseColumnSource if table_of(rows).by_column else ColumnSource


def prefers_moments(n_rows: int, n_columns: int) -> bool:
    """Whether a Gram matrix is the cheaper way in."""
    return n_columns <= ALWAYS_MOMENTS or (n_columns <= MOST_MOMENTS and n_rows >= ROWS_PER_COLUMN * n_columns)


def sweeps_columns(n_rows: int, n_columns: int) -> bool:
    """Whether sweeps over the columns themselves are cheaper than a Gram matrix, for one penalty on full rows."""
    return n_columns > SINGLE_MOMENTS and n_rows * n_columns <= SINGLE_CELLS


def whole_source(
    rows: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    fit_intercept: bool,
    threads: int,
    require_finite: Callable[[Any], None],
    *,
    single: bool = False,
) -> Source:
    """The source of one problem: all rows; `single` where it will be solved for one penalty alone.

    Cells are looked at by `require_finite`: before they are used, or where their products are not finite.
    """
    if table_prefers_moments(rows, single=single):
        statistics = GramStatistics.of(rows, target[:, None], weights, fit_intercept=fit_intercept, threads=threads)
        if not np.isfinite(statistics.sums).all():
            require_finite(rows)
        return MomentSource([statistics.centred(averaged=True)], fit_intercept, threads)
    require_finite(rows)
    row_weights = np.ones(rows.shape[0]) if weights is None else weights
    # Many columns and one penalty: a copy of them in single precision is enough.
    few_rows = single and not table_of(rows).by_column and rows.shape[0] < rows.shape[1]
    return (RowSource if few_rows else column_source(rows)).of(rows, target, row_weights[None], fit_intercept, threads)


def _start_penalty(variances: np.ndarray, weight: float) -> float:
    level = float(variances.sum()) / weight
    return level if level > 0 else 1.0


def _paths(
    found: Any, x_mean: np.ndarray, y_mean: np.ndarray, squares: np.ndarray, tol: float, fit_intercept: bool
) -> Paths:
    gaps, starts, n_alphas = found["gaps"], found["starts"], found["gaps"].shape[1]
    coefficients, intercept = [], np.zeros(gaps.shape)
    for problem in range(gaps.shape[0]):
        of_it = starts[problem * n_alphas : (problem + 1) * n_alphas + 1]
        cells = slice(of_it[0], of_it[-1])
        own = Coefficients(x_mean.shape[1], of_it - of_it[0], found["places"][cells], found["values"][cells])
        coefficients.append(own)
        if fit_intercept:  # over its own columns: the bits do not depend on who is solved beside it
            columns, path = own.in_use()
            intercept[problem] = y_mean[problem] - np.einsum("ap,p->a", path, x_mean[problem, columns])
    # The gap itself is a difference of numbers as large as y'y: below a few units of rounding it says zero.
    converged = gaps <= np.maximum(tol, 1e-14) * squares[:, None]
    sweeps, objective, traced = (found[name] for name in ("sweeps", "objective", "traced"))
    return Paths(coefficients, intercept, gaps, sweeps, converged, objective, traced)
