"""Monomials of columns: which there are up to a degree, in scikit-learn's order, and their cells in one pass."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .. import _kernels


def monomial_powers(n_features: int, degree: int, interaction_only: bool = False) -> np.ndarray:
    """Exponents of all monomials of degree 1 to `degree`, by degree.

    >>> monomial_powers(2, 2).tolist()
    [[1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    powers = [np.eye(n_features, dtype=np.int64)]
    for last, counts in _levels(n_features, degree, interaction_only):
        longer = np.repeat(powers[-1], counts, axis=0)
        longer[np.arange(last.shape[0]), last] += 1
        powers.append(longer)
    return np.concatenate(powers)


def _levels(n_features: int, degree: int, interaction_only: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each degree from 2: the last factor of each monomial, and how many of them continue each one before."""
    levels: list[tuple[np.ndarray, np.ndarray]] = []
    last = np.arange(n_features)
    for _ in range(2, degree + 1):
        first = last + int(interaction_only)
        counts = n_features - first
        ends = np.cumsum(counts)
        total = int(ends[-1]) if ends.size else 0
        last = np.arange(total) + np.repeat(first - ends + counts, counts)
        levels.append((last, counts))
        if not total:
            break
    return levels


def monomial_runs(powers: np.ndarray) -> np.ndarray:
    """(parent, first column, count) of the monomials that continue each one, for exponents as `monomial_powers` has.

    >>> monomial_runs(monomial_powers(2, 2)).tolist()
    [[-1, 0, 2], [0, 0, 2], [1, 1, 1]]
    """
    n_features = powers.shape[1]
    degree = int(powers.sum(axis=1).max(initial=1))
    interaction_only = int(powers.max(initial=0)) < 2
    runs = [np.array([[-1, 0, n_features]], dtype=np.int64)]
    before, last = 0, np.arange(n_features)
    for longer, counts in _levels(n_features, degree, interaction_only):
        parents = before + np.arange(counts.shape[0])
        runs.append(np.column_stack([parents, last + int(interaction_only), counts]))
        before, last = before + counts.shape[0], longer
    return np.ascontiguousarray(np.concatenate(runs), dtype=np.int64)


def monomial_cells(
    rows: np.ndarray,
    powers: np.ndarray,
    *,
    ones: bool = False,
    finite: bool = False,
    out: np.ndarray | None = None,
    threads: int = 1,
) -> np.ndarray:
    """The cells of the monomials, each one of lower degree times a column; with `finite`, NaN for what is infinite.

    They are written to `out` where it is given.

    >>> monomial_cells(np.array([[2.0, 3.0]]), monomial_powers(2, 2))
    array([[2., 3., 4., 6., 9.]])
    """
    cells = np.empty((rows.shape[0], powers.shape[0] + int(ones))) if out is None else out
    _kernels.monomials(np.ascontiguousarray(rows), monomial_runs(powers), ones, finite, cells, threads)
    return cells


def monomial_names(columns: Sequence[str], powers: np.ndarray) -> list[str]:
    """Names such as 'age^2 height'; '1' without a factor.

    >>> monomial_names(["a", "b"], monomial_powers(2, 2))
    ['a', 'b', 'a^2', 'a b', 'b^2']
    """
    factors: list[list[str]] = [[] for _ in range(powers.shape[0])]
    monomials, used = np.nonzero(powers)
    for m, j, power in zip(monomials.tolist(), used.tolist(), powers[monomials, used].tolist()):
        factors[m].append(columns[j] if power == 1 else f"{columns[j]}^{power}")
    return [" ".join(names) or "1" for names in factors]


def count_monomials(n_features: int, degree: int, interaction_only: bool = False) -> float:
    """How many monomials there are, without making them.

    >>> count_monomials(2, 2)
    5.0
    """
    if interaction_only:
        return float(sum(math.comb(n_features, total) for total in range(1, min(degree, n_features) + 1)))
    try:
        return float(math.comb(n_features + degree, degree) - 1)
    except OverflowError:
        return math.inf
