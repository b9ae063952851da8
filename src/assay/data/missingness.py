"""Little's joint test: do the rows with the same gaps have the means that chance alone would give them?

Rows that miss the same columns are a pattern. If cells are missing completely at random, the means of every pattern are
those of all rows, up to chance. With mu and Sigma the maximum likelihood estimates from all present cells (Gaussian,
by EM), n_j rows of pattern j and y_j the means of their present columns,

    d^2 = sum_j n_j (y_j - mu_j)' Sigma_jj^-1 (y_j - mu_j)

is chi-square with sum_j p_j - p degrees of freedom (Little 1988, JASA 83). The rows are read once, for the sums and
products of each pattern; an EM step costs O(patterns p^3), whatever the number of rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import chdtrc

from ..base import Stream
from ..base.errors import DataError, plain
from ..base.record import Record
from ..numeric.em import expectation_maximisation
from .table import to_polars

_ROWS, _BATCH = 65_536, 512


@dataclass(frozen=True)
class McarTest(Record):
    """Little's test: `statistic`, `df`, `p_value`, the number of `patterns`, and the `effect`.

    The effect is the root mean square shift of a pattern's means beyond what chance gives, in standard deviations; with
    many rows a trifling effect has a small p-value.
    """

    statistic: float
    df: int
    p_value: float
    patterns: int
    effect: float

    @property
    def sentence(self) -> str:  # type: ignore[override]
        """The test in one sentence."""
        return (
            f"Little's test: chi-square {self.statistic:.4g} with {self.df} degrees of freedom, p {self.p_value:.3g}, "
            f"{self.patterns} patterns of missing cells, effect {self.effect:.2f}"
        )


def little_mcar(X: Any, *, max_iter: int = 1000, tol: float = 1e-8) -> McarTest:
    """Test whether the missing cells of columns of numbers are missing completely at random.

    A small p-value says that rows with different gaps differ in their other cells: the gaps depend on something. A
    large one does not prove chance, since gaps that depend on the missing value itself may leave no mark. Columns that
    are constant or empty and rows without any cell say nothing and are left out. EM stops when no mean or covariance of
    the standardised columns moves by more than `tol`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> X[rng.random(500) < 0.3, 0] = np.nan
    >>> little_mcar(X).p_value > 0.05
    True
    >>> X[X[:, 1] > 0.5, 2] = np.nan
    >>> little_mcar(X).p_value < 0.001
    True
    """
    mask, counts, sums, products = _patterns(_numbers(X))
    mask, counts, sums, products = _standardised(mask, counts, sums, products)
    df = int(mask.sum()) - mask.shape[1]
    if mask.shape[0] < 2:
        return McarTest(0.0, max(df, 0), 1.0, int(mask.shape[0]), 0.0)
    mean, covariance = _em(mask, counts, sums, products, max_iter, tol)
    statistic = 0.0
    for part in _batches(mask.shape[0]):
        offset = sums[part] / counts[part, None] - mean * mask[part]
        inverse = _inverses(covariance, mask[part])
        statistic += float(np.einsum("j,ja,jab,jb->", counts[part], offset, inverse, offset))
    effect = float(np.sqrt(max(statistic - df, 0.0) / counts.sum()))
    return McarTest(statistic, df, float(chdtrc(df, statistic)), int(mask.shape[0]), effect)


def _numbers(X: Any) -> np.ndarray:
    """The table as float64 with NaN for missing."""
    if not isinstance(X, np.ndarray):
        frame = to_polars(X)
        for series in frame.get_columns():
            if not series.dtype.is_numeric() and series.dtype != pl.Boolean:
                raise DataError(
                    "little_mcar",
                    f"column '{plain(series.name)}'",
                    "must hold numbers",
                    f"its type is {series.dtype}",
                    "choose the numeric columns",
                )
        X = frame.cast(pl.Float64).to_numpy()
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise DataError("little_mcar", "X", "must be a table of numbers", f"got {X.ndim} dimensions of type {X.dtype}")
    return np.asarray(X, dtype=np.float64)


def _patterns(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Present columns (patterns, p), rows, sums and products of each pattern, about the means of the first rows."""
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        shift = np.nan_to_num(np.nanmean(cells[:_ROWS], axis=0), posinf=0.0, neginf=0.0)
    found: dict[bytes, list[Any]] = {}
    for start in range(0, cells.shape[0], _ROWS):
        rows = cells[start : start + _ROWS] - shift
        present = np.isfinite(rows)
        rows[~present] = 0.0
        place = _codes(present)
        order = np.argsort(place, kind="stable")
        rows, ends = rows[order], np.cumsum(np.bincount(place))
        for low, high in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
            here, block = present[order[low]], rows[low:high]
            held = found.setdefault(np.packbits(here).tobytes(), [here, 0.0, 0.0, 0.0])
            held[1] += float(high - low)
            held[2] = held[2] + block.sum(axis=0)
            held[3] = held[3] + block.T @ block
    kept = [held for _, held in sorted(found.items())]
    mask = np.array([held[0] for held in kept], dtype=np.float64)
    return mask, np.array([h[1] for h in kept]), np.array([h[2] for h in kept]), np.array([h[3] for h in kept])


def _codes(present: np.ndarray) -> np.ndarray:
    """A number 0, 1, ... for the pattern of each row."""
    place = np.zeros(present.shape[0], dtype=np.int64)
    for j in np.flatnonzero(~present.all(axis=0)):
        place = 2 * place + present[:, j]
        if place.max() > 2**61:
            place = np.unique(place, return_inverse=True)[1]
    return np.unique(place, return_inverse=True)[1]


def _standardised(
    mask: np.ndarray, counts: np.ndarray, sums: np.ndarray, products: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The sums of columns with mean 0 and deviation 1; without columns that do not vary and patterns without any."""
    held = np.maximum(counts @ mask, 1.0)
    centre = sums.sum(axis=0) / held
    squares = np.einsum("jaa->a", products)
    variance = squares / held - centre**2
    used = np.flatnonzero(variance > 1e-12 * squares / held)
    if used.size < 2:
        raise DataError(
            "little_mcar", "X", "must have 2 columns of numbers that vary", f"got {used.size}", "choose other columns"
        )
    live = mask[:, used].any(axis=1)
    keys, place = np.unique(mask[live][:, used], axis=0, return_inverse=True)
    rows = np.zeros(keys.shape[0])
    np.add.at(rows, place.ravel(), counts[live])
    scale = np.sqrt(variance[used])
    total, square = np.zeros(keys.shape), np.zeros((keys.shape[0], used.size, used.size))
    np.add.at(total, place.ravel(), sums[live][:, used])
    np.add.at(square, place.ravel(), products[live][:, used][:, :, used])
    about = centre[used] * keys
    crossed = total[:, :, None] * about[:, None, :]
    square -= crossed + crossed.transpose(0, 2, 1) - rows[:, None, None] * about[:, :, None] * about[:, None, :]
    return keys, rows, (total - rows[:, None] * about) / scale, square / (scale[:, None] * scale)


def _batches(count: int) -> list[slice]:
    return [slice(start, start + _BATCH) for start in range(0, count, _BATCH)]


def _padded(covariance: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The covariance of the present columns of each pattern, those of the identity for the others."""
    padded = covariance * (mask[:, :, None] * mask[:, None, :])
    diagonal = np.arange(mask.shape[1])
    padded[:, diagonal, diagonal] += 1 - mask
    return padded


def _inverses(covariance: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The inverse covariance of the present columns of each pattern, with zeros for the others."""
    return np.linalg.inv(_padded(covariance, mask)) * (mask[:, :, None] * mask[:, None, :])


Normal = tuple[np.ndarray, np.ndarray]
"""Mean and covariance."""


def _em(
    mask: np.ndarray, counts: np.ndarray, sums: np.ndarray, products: np.ndarray, max_iter: int, tol: float
) -> Normal:
    """Maximum likelihood mean and covariance from the sums of the patterns."""
    size = mask.shape[1]

    def moved_little(before: Normal, after: Normal) -> bool:
        return all(float(np.abs(new - old).max()) <= tol for old, new in zip(before, after, strict=True))

    return expectation_maximisation(
        "little_mcar",
        lambda stream: (np.zeros(size), np.eye(size)),
        lambda normal: _em_step(*normal, mask, counts, sums, products),
        Stream.of(0),
        max_iter=max_iter,
        settled=moved_little,
    ).parameters


def _em_step(
    mean: np.ndarray,
    covariance: np.ndarray,
    mask: np.ndarray,
    counts: np.ndarray,
    sums: np.ndarray,
    products: np.ndarray,
) -> tuple[Normal, float]:
    """The mean and covariance after one step, and the log likelihood before it, up to a constant."""
    total, size = float(counts.sum()), mask.shape[1]
    step, spread, log_likelihood = np.zeros(size), np.zeros((size, size)), 0.0
    for part in _batches(mask.shape[0]):
        here, count = mask[part], counts[part]
        inverse = _inverses(covariance, here)
        # What the present cells of a row say about all its cells: the cell itself, or its regression on them.
        fill = covariance @ inverse
        centre = mean * here
        offset = sums[part] - count[:, None] * centre
        crossed = sums[part, :, None] * centre[:, None, :]
        about = products[part] - crossed - crossed.transpose(0, 2, 1)
        about += count[:, None, None] * centre[:, :, None] * centre[:, None, :]
        step += np.einsum("jab,jb->a", fill, offset)
        spread += (fill @ about @ fill.transpose(0, 2, 1)).sum(axis=0)
        spread += count.sum() * covariance - np.einsum("j,jab->ab", count, fill) @ covariance
        log_likelihood -= 0.5 * float(count @ np.linalg.slogdet(_padded(covariance, here))[1])
        log_likelihood -= 0.5 * float(np.einsum("jab,jab->", inverse, about))
    step /= total
    fresh = spread / total - np.outer(step, step)
    fresh = (fresh + fresh.T) / 2
    if np.linalg.eigvalsh(fresh)[0] < 1e-9:
        raise DataError(
            "little_mcar",
            "X",
            "has columns that are linear functions of others",
            way_out="leave out copies, sums and other dependent columns",
        )
    return (mean + step, fresh), log_likelihood
