"""Metrics of rankings and of densities: NDCG, mean average precision, pair accuracy, held-out log-likelihood.

Each ranks the rows of one query by falling score; with `groups` (the query of each row) the mean over queries counts.
Rows with equal scores share their places: every order of them is equally likely, and the expected value is given.

>>> round(ndcg([3, 2, 0], [0.9, 0.2, 0.5]), 3)
0.939
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import DataError, ParameterError
from ..base.threads import thread_count
from ..models.linear.linear_rank import ordered_share


def ndcg(relevance: Any, scores: Any, groups: Any = None, k: int | None = None, gain: str = "linear") -> float:
    """Normalised discounted cumulative gain: sum of gain / log2(place + 1), over its greatest possible value.

    `k` cuts the list; `gain` is "linear" (the relevance itself) or "exponential" (2^relevance - 1). A query without
    any relevant row counts 0.

    >>> ndcg([3, 2, 0], [0.9, 0.5, 0.2])
    1.0
    """
    if gain not in ("linear", "exponential"):
        raise ParameterError("ndcg", "parameter 'gain'", "must be 'linear' or 'exponential'", f"got {gain!r}")
    if k is not None and k < 1:
        raise ParameterError("ndcg", "parameter 'k'", "must be at least 1", f"got {k}")

    def of_query(wanted: np.ndarray, score: np.ndarray) -> float:
        gains = wanted if gain == "linear" else np.exp2(wanted) - 1
        discount = 1 / np.log2(np.arange(2, wanted.size + 2))
        discount[wanted.size if k is None else k :] = 0
        best = float(np.sort(gains)[::-1] @ discount)
        # Rows of equal score each get the mean discount of their places.
        order = np.argsort(-score, kind="stable")
        starts = np.flatnonzero(np.append(True, score[order][1:] != score[order][:-1]))
        gained = np.add.reduceat(gains[order], starts)
        places = np.diff(np.append(starts, wanted.size))
        return float(gained @ (np.add.reduceat(discount, starts) / places) / best) if best > 0 else 0.0

    wanted, score, queries = _rows("ndcg", relevance, scores, groups)
    if (wanted < 0).any():
        raise DataError("ndcg", "relevance", "must not be negative", f"got {wanted.min():g}")
    return _mean(of_query, wanted, score, queries)


def mean_average_precision(relevant: Any, scores: Any, groups: Any = None) -> float:
    """The mean over queries of average precision, of the queries that have a relevant row.

    >>> mean_average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    0.8333333333333333
    """

    def of_query(wanted: np.ndarray, score: np.ndarray) -> float:
        order = np.argsort(-score, kind="stable")
        last = np.append(score[order][1:] != score[order][:-1], True)
        hits = np.cumsum(wanted[order])[last]
        total = np.flatnonzero(last) + 1
        return float(np.diff(hits, prepend=0.0) @ (hits / total) / hits[-1]) if hits[-1] > 0 else float("nan")

    wanted, score, queries = _rows("mean_average_precision", relevant, scores, groups)
    if not np.isin(wanted, (0, 1)).all():
        raise DataError("mean_average_precision", "relevant", "must be 0 or 1", way_out="use ndcg for graded relevance")
    return _mean(of_query, wanted, score, queries)


def pair_accuracy(relevance: Any, scores: Any, groups: Any = None, sample_weight: Any = None) -> float:
    """The share of pairs of rows of a query, of different relevance, that the scores put in the right order.

    Equal scores count half. All pairs of all queries count the same, or with the product of the weights of their rows.
    O(n log n).

    >>> pair_accuracy([2, 1, 0], [0.9, 0.1, 0.5])
    0.6666666666666666
    """
    wanted, score = paired_rows("pair_accuracy", relevance, scores)
    return ordered_share("pair_accuracy", wanted, score, groups, sample_weight, thread_count(None))


def held_out_log_likelihood(model_or_log_densities: Any, X: Any = None) -> float:
    """The mean log density of held-out rows: from a model with `score_samples`, or from the log densities themselves.

    A row to which the model gives no density makes it minus infinite.

    >>> held_out_log_likelihood([-1.0, -3.0])
    -2.0
    """
    given = model_or_log_densities
    values = np.asarray(given if X is None else given.score_samples(X), dtype=np.float64).ravel()
    if values.size == 0 or np.isnan(values).any():
        raise DataError("held_out_log_likelihood", "log densities", "must be numbers, at least one", "got NaN or none")
    return float(values.mean())


def paired_rows(who: str, first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays as numbers, of the same length, not empty, without NaN."""
    a, b = np.asarray(first, dtype=np.float64).ravel(), np.asarray(second, dtype=np.float64).ravel()
    if a.size != b.size:
        raise DataError(who, "the two arrays", "must have the same length", f"got {a.size} and {b.size}")
    if a.size == 0:
        raise DataError(who, "the arrays", "must hold at least one row")
    if np.isnan(a).any() or np.isnan(b).any():
        raise DataError(who, "the arrays", "must not hold NaN", way_out="drop those rows first")
    return a, b


def _rows(who: str, first: Any, second: Any, groups: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both arrays as numbers, sorted by query, with the query of each row."""
    wanted, score = paired_rows(who, first, second)
    if groups is None:
        return wanted, score, np.zeros(wanted.size, dtype=np.int64)
    queries = np.unique(np.asarray(groups).ravel(), return_inverse=True)[1]
    if queries.size != wanted.size:
        raise DataError(who, "groups", f"must have one entry for each of {wanted.size} rows", f"got {queries.size}")
    order = np.argsort(queries, kind="stable")
    return wanted[order], score[order], queries[order]


def _runs(queries: np.ndarray) -> list[tuple[int, int]]:
    ends = np.append(np.flatnonzero(np.diff(queries)) + 1, queries.size)
    return list(zip(np.append(0, ends[:-1]).tolist(), ends.tolist()))


def _mean(
    of_query: Callable[[np.ndarray, np.ndarray], float], wanted: np.ndarray, score: np.ndarray, queries: np.ndarray
) -> float:
    values = np.array([of_query(wanted[b:e], score[b:e]) for b, e in _runs(queries)])
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")
