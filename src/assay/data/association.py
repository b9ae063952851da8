"""How strongly two columns go together: one measure for each pair of roles, and correlation matrices by Gram sums.

======================  =====================================================================================
numeric, numeric        Pearson's r, and Spearman's rho (Pearson's r of mid-ranks)
nominal, nominal        Cramér's V = sqrt(chi2 / (n (min(r, c) - 1))), in [0, 1]; bias-corrected on request
numeric, nominal        correlation ratio eta = sqrt(between-group / total sum of squares), in [0, 1]; same request
======================  =====================================================================================

Missing cells are left out pair by pair; the result is what a loop over pairs would give, from a few Gram matrices:
with M the 0/1 matrix of present cells and X centred with 0 for missing, n = M'M, sums = X'M, squares = (X^2)'M and
products = X'X hold all that the correlations need. Only the last is a product of full matrices: the others are sums
over the cells that are missing (or present, if these are fewer), taken off the totals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy.special import chdtrc

from .. import _kernels
from ..base.errors import DataError, ParameterError
from ..base.threads import thread_count
from ..numeric.moments import column_products
from .table import to_polars

_CHUNK = 16_384
_PART_CELLS = 1 << 18
Part = Callable[[int, int], np.ndarray]


def correlations(X: Any, method: str = "pearson", n_jobs: int | None = None) -> np.ndarray:
    """The correlation matrix of numeric columns; NaN (null) cells are left out pair by pair.

    A constant column has no correlation: its entries are NaN. The result is the same for every `n_jobs`.

    >>> import numpy as np
    >>> x = np.arange(1.0, 8.0)
    >>> correlations(np.column_stack([x, np.exp(x), x**2])).round(3)[0].tolist()
    [1.0, 0.81, 0.977]
    >>> correlations(np.column_stack([x, np.exp(x), x**2]), "spearman").round(3)[0].tolist()
    [1.0, 1.0, 1.0]
    """
    if method not in ("pearson", "spearman"):
        raise ParameterError("correlations", "parameter 'method'", "must be 'pearson' or 'spearman'", f"got {method!r}")
    cells = _matrix(X)
    if method == "pearson":
        found = _from_complete(cells, n_jobs)
        if found is not None:
            return found
    gaps = np.isnan(cells)
    holes = gaps.any(axis=0)
    if method == "spearman":
        if holes.any():
            return _spearman_with_gaps(cells, gaps, holes, n_jobs)
        ranked = _from_complete(_ranks(cells), n_jobs)
        assert ranked is not None
        return ranked
    return _from_gaps(cells, gaps, holes, n_jobs)


def _matrix(X: Any) -> np.ndarray:
    if isinstance(X, np.ndarray):
        cells = X
    else:
        frame = to_polars(X)
        if not all(kind.is_numeric() or kind == pl.Boolean for kind in frame.dtypes):
            raise DataError("correlations", "the table", "must hold numbers only", way_out="choose its numeric columns")
        cells = frame.cast(pl.Float64).to_numpy()
    if cells.ndim != 2 or cells.shape[0] < 2 or cells.shape[1] < 1:
        raise DataError("correlations", "the table", "must have two rows and one column", f"its shape is {cells.shape}")
    return np.ascontiguousarray(cells, dtype=np.float64)


def _scaled(covariance: np.ndarray, squares: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        found = covariance / np.sqrt(squares)
    return np.clip(found, -1.0, 1.0)


def _from_complete(cells: np.ndarray, n_jobs: int | None) -> np.ndarray | None:
    """Pearson's r of columns without missing cells, from one Gram matrix around values near their means.

    The table is read once: a missing or infinite cell shows in the sums, and then the answer is None.
    """
    columns, threads = cells.shape[1], thread_count(n_jobs)
    with np.errstate(all="ignore"):
        shift = cells[:: max(1, cells.shape[0] // 256)].mean(axis=0)
        if np.isnan(shift).any():
            return None
        gram = column_products(cells, shift, threads)
        if not np.isfinite(gram[-1]).all():
            return None
        offset = gram[:columns, -1] / gram[-1, -1]
        squares = np.diag(gram)[:columns] - gram[:columns, -1] * offset
        if (np.square(offset) * gram[-1, -1] > squares).any():  # a mean more than a standard deviation away
            shift = shift + offset
            gram = column_products(cells, shift, threads)
            offset = gram[:columns, -1] / gram[-1, -1]
        centred = gram[:columns, :columns] - np.outer(gram[:columns, -1], offset)
        squares = np.diag(centred).copy()
        # Only where a column hardly varies beside its mean can it be constant.
        for j in np.flatnonzero(~(squares > 1e-14 * gram[-1, -1] * np.square(shift + offset))).tolist():
            if cells[:, j].min() == cells[:, j].max():
                squares[j] = np.nan
        inverse = 1.0 / np.sqrt(squares)
        centred *= inverse
        centred *= inverse[:, None]
    found = np.clip(centred, -1.0, 1.0, out=centred)
    np.fill_diagonal(found, np.where(np.isnan(squares), np.nan, 1.0))
    return found


def _from_gaps(cells: np.ndarray, gaps: np.ndarray, holes: np.ndarray, n_jobs: int | None) -> np.ndarray:
    # Any shift is exact algebra; one near the means, here of the first rows, keeps the sums free of cancellation.
    some = max(256, min(_CHUNK, _PART_CELLS // cells.shape[1]))
    head, gone = cells[:some], gaps[:some]
    present = np.maximum(head.shape[0] - gone.sum(axis=0), 1)
    centre = np.where(gone, 0.0, head).sum(axis=0) / present
    scale = np.sqrt(np.where(gone, 0.0, np.square(head - centre)).sum(axis=0) / present)
    scale[scale == 0] = 1.0

    def part(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        gone = gaps[begin:end]
        centred = np.subtract(cells[begin:end], centre)
        centred /= scale
        np.copyto(centred, 0.0, where=gone)
        return centred, gone

    return _by_pairs(part, gaps.sum(axis=0), cells.shape[0], n_jobs)


def column_correlations(columns: Sequence[np.ndarray], n_jobs: int | None = None) -> np.ndarray:
    """Pearson's r of columns that stand apart, NaN cells left out pair by pair: `correlations` without a matrix.

    >>> import numpy as np
    >>> column_correlations([np.array([1.0, 2.0, 3.0, 9.0]), np.array([2.0, 4.0, 6.0, np.nan])]).round(3).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return part_correlations([partial(_slice, column) for column in columns], columns[0].size, n_jobs)


def _slice(column: np.ndarray, begin: int, end: int) -> np.ndarray:
    return column[begin:end]


def part_correlations(columns: Sequence[Part], rows: int, n_jobs: int | None = None) -> np.ndarray:
    """`column_correlations` of columns that are functions, which give the cells of some rows (begin, end).

    >>> import numpy as np
    >>> double = lambda begin, end: 2.0 * np.arange(begin, end)
    >>> part_correlations([double, lambda begin, end: -double(begin, end)], 4).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    firsts = [column(0, min(rows, _CHUNK)) for column in columns]
    heads = [first[~np.isnan(first)] for first in firsts]
    found = [_kernels.moments(head) if head.size else (0.0, 0.0, 0.0) for head in heads]
    centre = np.array([mean for mean, *_ in found])
    scale = np.sqrt([squares / max(head.size, 1) for (_, squares, _), head in zip(found, heads)])
    scale[(scale == 0) | np.isnan(scale)] = 1.0
    begins = range(0, rows, _CHUNK)
    missing = np.array(
        [sum(int(np.isnan(column(b, min(b + _CHUNK, rows))).sum()) for b in begins) for column in columns]
    )

    def part(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        cells = [column(begin, end) for column in columns]
        gone = np.zeros((end - begin, len(columns)), dtype=bool)
        for j in np.flatnonzero(missing).tolist():
            gone[:, j] = np.isnan(cells[j])
        return _kernels.standard_rows(cells, 0, end - begin, centre, scale, False), gone

    return _by_pairs(part, missing, rows, n_jobs)


def _by_pairs(
    part: Callable[[int, int], tuple[np.ndarray, np.ndarray]], missing: np.ndarray, rows: int, n_jobs: int | None
) -> np.ndarray:
    """Pearson's r from parts of the rows: (cells about 0 and of size 1 with 0 for missing, which are missing).

    Sums over the rows where both are present come from those over the rows a column marks: the missing ones, which are
    taken off the total, or the present ones where they are fewer.
    """
    width = missing.size
    few = missing > rows / 2
    gram = np.zeros((width + 1, width + 1))
    over_marks = np.zeros((3, width, width))
    # About two megabytes of cells at a time for each thread: near enough to stay in its cache, and no second table.
    step = min(_CHUNK, max(1024, _PART_CELLS // width))

    def sums_of(begin: int) -> tuple[np.ndarray, Any]:
        cells, gone = part(begin, min(begin + step, rows))
        marks = _kernels.gap_sums(cells, (gone != few).view(np.uint8), 1) if missing.any() else 0.0
        return column_products(cells), marks

    with ThreadPoolExecutor(thread_count(n_jobs)) as pool:
        for products, marks in pool.map(sums_of, range(0, rows, step)):
            gram += products
            over_marks += marks
    totals = np.diag(gram)[:width]
    marked = np.where(few, rows - missing, missing)
    sums, squares, both = over_marks
    sums = np.where(few[:, None], sums, gram[:width, -1] - sums).T
    squares = np.where(few[:, None], squares, totals - squares).T
    pair = few[:, None] & few
    counts = np.where(pair, both, np.where(few[:, None], marked[:, None] - both, np.where(
        few, marked - both, rows - marked[:, None] - marked + both)))  # fmt: skip
    with np.errstate(invalid="ignore", divide="ignore"):
        products = gram[:width, :width] - sums * sums.T / counts
        spread = squares - sums**2 / counts
    nothing = 1e-12 * np.maximum(squares, 1e-300) + 4e-16 * totals[:, None]
    spread[(counts < 2) | (spread <= nothing)] = np.nan
    found = _scaled(products, spread * spread.T)
    np.fill_diagonal(found, np.where(np.isnan(np.diag(spread)), np.nan, 1.0))
    return found


def _ranks(cells: np.ndarray) -> np.ndarray:
    """Mid-ranks of every column, NaN where the cell is missing."""
    columns = np.ascontiguousarray(cells.T)
    with ThreadPoolExecutor(thread_count(None)) as pool:
        return np.column_stack(list(pool.map(_kernels.mid_ranks, columns)))


def _spearman_with_gaps(cells: np.ndarray, gaps: np.ndarray, holes: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Ranks are taken anew among the rows where both cells of a pair are present."""
    columns = cells.shape[1]
    found = np.full((columns, columns), np.nan)
    whole = np.flatnonzero(~holes)
    ranks = _ranks(cells)
    if whole.size:
        found[np.ix_(whole, whole)] = _from_complete(np.ascontiguousarray(ranks[:, whole]), n_jobs)
    for j in np.flatnonzero(holes):
        rows = ~gaps[:, j]
        if rows.sum() < 2:
            continue
        # With j's rows fixed, partners without further gaps share one ranking; the others need their own rows.
        part = cells[rows]
        ranked = _ranks(part)
        further = gaps[rows].any(axis=0)
        simple = np.flatnonzero(~further)
        found[j, simple] = found[simple, j] = _against(ranked[:, j], ranked[:, simple])
        for k in np.flatnonzero(further):
            if found[j, k] == found[j, k]:
                continue
            both = ~np.isnan(part[:, k])
            if both.sum() >= 2:
                pair = _ranks(np.column_stack([part[both, j], part[both, k]]))
                found[j, k] = found[k, j] = _against(pair[:, 0], pair[:, 1:])[0]
    return found


def _against(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    centred = one - one.mean()
    rest = others - others.mean(axis=0)
    return _scaled(centred @ rest, (centred @ centred) * np.square(rest).sum(axis=0))


def chi_square(table: np.ndarray) -> tuple[float, int, float]:
    """Pearson's chi-square of a table of counts: statistic, degrees of freedom, p-value (empty lines are left out).

    >>> import numpy as np
    >>> statistic, freedom, p = chi_square(np.array([[20, 30], [30, 20]]))
    >>> round(statistic, 6), freedom, round(p, 4)
    (4.0, 1, 0.0455)
    """
    counts = np.asarray(table, dtype=np.float64)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if freedom <= 0:
        return 0.0, 0, 1.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    statistic = float((np.square(counts - expected) / expected).sum())
    return statistic, freedom, float(chdtrc(freedom, statistic))


def cramer_v(table: np.ndarray, corrected: bool = False) -> float:
    """Cramér's V of a table of counts; `corrected` takes off the bias of small tables (Bergsma 2013).

    >>> import numpy as np
    >>> round(cramer_v(np.array([[20, 30], [30, 20]])), 3)
    0.2
    >>> round(cramer_v(np.array([[20, 30], [30, 20]]), corrected=True), 3)
    0.174
    """
    counts = np.asarray(table, dtype=np.float64)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    rows, columns = counts.shape
    total = counts.sum()
    if min(rows, columns) < 2:
        return float("nan")
    phi2 = chi_square(counts)[0] / total
    if not corrected:
        return float(min(1.0, np.sqrt(phi2 / (min(rows, columns) - 1))))
    phi2 = max(0.0, phi2 - (rows - 1) * (columns - 1) / (total - 1))
    rows = rows - (rows - 1) ** 2 / (total - 1)
    columns = columns - (columns - 1) ** 2 / (total - 1)
    narrow = min(rows, columns) - 1
    return float(min(1.0, np.sqrt(phi2 / narrow))) if narrow > 0 else 0.0


def less_chance(share: float, rows: int, groups: int) -> float:
    """The share of variance that groups explain, less what as many groups explain by chance (Kelley's epsilon squared).

    >>> round(less_chance(0.1, 500, 50), 4), round(less_chance(0.9, 500, 3), 4)
    (0.002, 0.8996)
    """
    return max(0.0, 1.0 - (1.0 - share) * (rows - 1) / (rows - groups)) if rows > groups else 0.0


def correlation_ratio(groups: np.ndarray, values: np.ndarray, corrected: bool = False) -> float:
    """The correlation ratio eta of numbers in groups (group numbers from 0; negative ones and NaN are left out).

    `corrected` takes off what as many groups explain by chance.

    >>> import numpy as np
    >>> round(correlation_ratio(np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 3.0, 4.0])), 4)
    0.8944
    """
    keep = (groups >= 0) & ~np.isnan(values)
    groups, values = groups[keep], values[keep]
    if values.size < 2:
        return float("nan")
    centred = values - values.mean()
    counts = np.bincount(groups)
    sums = np.bincount(groups, weights=centred)
    total = float(centred @ centred)
    if total <= 0 or np.count_nonzero(counts) < 2:
        return float("nan")
    between = float((sums[counts > 0] ** 2 / counts[counts > 0]).sum())
    share = min(1.0, between / total)
    return float(np.sqrt(less_chance(share, values.size, int(np.count_nonzero(counts))) if corrected else share))


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Holm's adjusted p-values (Holm 1979).

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * (p.size - np.arange(p.size))))
    return adjusted
