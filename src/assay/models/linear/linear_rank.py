"""Learning to rank with a linear score: pairwise hinge, from graded rows in groups or from pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d
from threadpoolctl import threadpool_limits

from ... import _kernels
from ...base import (
    AssayWarning,
    Choice,
    Cost,
    DataError,
    Estimator,
    Integer,
    Real,
    Trace,
    check_weights,
    n_jobs_param,
    param,
    thread_count,
    trace_param,
)
from .ridge import coefficient_view
from .sparse import SparseInput, is_sparse

# Half the mean squared hinge (True) or the mean hinge (False) of all pairs, and its gradient in the scores.
Risk = Callable[[np.ndarray, bool], tuple[float, np.ndarray]]
# The second derivative of half the mean squared hinge at the first vector of scores, times the second.
Curve = Callable[[np.ndarray, np.ndarray], np.ndarray]
# Widths of the rounded corner of the hinge: each a quarter of the last, down to the smallest.
FIRST_WIDTH, LEAST_WIDTH = 0.5, 1e-6


class LinearRank(SparseInput, Estimator):
    """A score w . x that puts rows in order: linear, without intercept, fitted to pairs.

    Minimises the mean over pairs (u before v) of the hinge max(0, 1 - w . (x_u - x_v)) or half its square (smooth, the
    default) plus alpha |w|^2 / 2. Pairs are all rows of one group with different y, larger y first (`fit`), or are
    given (`fit_pairs`); a pair of weighted rows counts the product of their weights. The pairs of a group are never
    written down: a gradient costs n log n. The minimum is sought by L-BFGS on scaled columns and, for the square, last
    by Newton's steps; the corner of the hinge is rounded over a width that shrinks until the bound `gap_` is below
    `tol`, so that with the hinge results hold to `tol`. `predict` gives the scores, higher is better; `score` is the
    share of pairs in order.

    {parameters}

    Attributes
    ----------
    coef_ : array (n_features,)
    objective_ : float, mean loss of the pairs plus penalty
    gap_ : float, a bound on how far the objective is above its minimum (from strong convexity)
    pair_weight_ : float, total weight of the pairs
    n_iter_ : int, iterations
    trace_ : with `trace`, the objective of each iteration (with the corner as rounded at that time)

    Examples
    --------
    >>> from assay.models.linear import LinearRank
    >>> X, y = [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [1.0, 5.0], [0.0, 5.0]], [1, 2, 3, 2, 1]
    >>> model = LinearRank().fit(X, y, groups=["q1", "q1", "q1", "q2", "q2"])
    >>> model.score(X, y, groups=["q1", "q1", "q1", "q2", "q2"])
    1.0
    """

    loss: str = param(
        "squared_hinge",
        Choice("squared_hinge", "hinge"),
        "Loss of a pair in the difference d of its scores: max(0, 1 - d)^2 / 2, or max(0, 1 - d).",
    )
    alpha: float = param(1e-3, Real(0, closed="neither"), "Strength of the squared penalty, beside the mean loss.")
    tol: float = param(
        1e-4,
        Real(0, closed="neither"),
        "Stop when `gap_` is below this share of the objective (its square, for the smooth loss).",
    )
    max_iter: int = param(1000, Integer(1), "Most iterations.")
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    _way_out = "take a sample of the groups"

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> LinearRank:
        """Learn from grades y: within a group (all rows, without groups) larger y comes first."""
        self._check_parameters()
        grades = self._grades(y)
        rows = self._read(X, reset=True)
        who = type(self).__name__
        _require_length(who, "y", grades, rows.shape[0])
        self._check_table_cost(rows)
        weights = check_weights(who, sample_weight, rows.shape[0])
        kept = np.arange(rows.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        table = _Groups(who, grades, groups, weights, kept)
        threads = thread_count(self.n_jobs)
        total = table.count(np.zeros(table.order.shape[0]), threads)[2]
        if not total > 0:
            raise DataError(
                who,
                "y",
                "must differ somewhere within a group, so that there are pairs",
                f"got none in {rows.shape[0]} rows (n_samples={rows.shape[0]})",
                "check the target and the groups",
            )
        self.pair_weight_ = total
        weighted = table.weights if table.weights.size else None
        return self._minimise(
            rows[table.order],
            lambda scores, squared: table.loss(scores, squared, total, threads),
            lambda scores, direction: table.curve(scores, direction, total, threads),
            weighted,
        )

    def fit_pairs(self, X: Any, pairs: Any, sample_weight: Any = None) -> LinearRank:
        """Learn from pairs (row that comes first, row that comes after); weights are one per pair."""
        self._check_parameters()
        who = type(self).__name__
        rows = self._read(X, reset=True)
        self._check_table_cost(rows)
        listed = np.asarray(pairs)
        if listed.ndim != 2 or listed.shape[1] != 2 or listed.shape[0] == 0 or listed.dtype.kind not in "iu":
            raise DataError(who, "pairs", "must be an integer array (n_pairs, 2)", f"got shape {listed.shape}")
        if listed.min() < 0 or listed.max() >= rows.shape[0]:
            raise DataError(who, "pairs", f"must hold row numbers below {rows.shape[0]}", f"got {listed.max()}")
        weights = check_weights(who, sample_weight, listed.shape[0])
        share = np.ones(listed.shape[0]) if weights is None else weights
        self.pair_weight_ = float(share.sum())
        share = share / self.pair_weight_

        def risk(scores: np.ndarray, squared: bool) -> tuple[float, np.ndarray]:
            gap = np.maximum(1.0 - scores[listed[:, 0]] + scores[listed[:, 1]], 0.0)
            slope = share * (gap if squared else gap > 0)
            gradient = np.bincount(listed[:, 1], slope, minlength=scores.shape[0])
            gradient -= np.bincount(listed[:, 0], slope, minlength=scores.shape[0])
            return float(share @ (0.5 * gap**2 if squared else gap)), gradient

        def curve(scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
            first, second = listed[:, 0], listed[:, 1]
            bend = share * (scores[first] - scores[second] < 1.0) * (direction[first] - direction[second])
            product = np.bincount(first, bend, minlength=scores.shape[0])
            return product - np.bincount(second, bend, minlength=scores.shape[0])

        return self._minimise(rows, risk, curve, None)

    def _grades(self, y: Any) -> np.ndarray:
        who = type(self).__name__
        if y is None:
            raise ValueError(f"{who}: requires y to be passed, but the target y is None; give one grade per row.")
        try:
            grades = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(who, "y", "must be one grade per row, as numbers", str(error)) from None
        if not np.isfinite(grades).all():
            raise DataError(who, "y", "must be finite (Input y contains NaN or infinity)", way_out="drop those rows")
        return grades

    def _minimise(self, rows: Any, risk: Risk, curve: Curve, row_weights: np.ndarray | None) -> LinearRank:
        """The squared hinge at once; the hinge by rounded corners of shrinking width, each from the last minimum."""
        trace = self._new_trace()
        if is_sparse(rows):
            spread = np.sqrt(rows.moments(row_weights, 1)[1])
        else:
            spread = np.sqrt(np.average((rows - np.average(rows, 0, row_weights)) ** 2, 0, row_weights))
        scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 1.0)
        weights, width, self.n_iter_ = np.zeros(rows.shape[1]), FIRST_WIDTH, 0
        # A product shared between BLAS threads would depend on their number.
        with threadpool_limits(1, user_api="blas"):
            while True:
                corner = None if self.loss == "squared_hinge" else width
                weights, bound = self._descend(rows, risk, corner, weights, scale, trace)
                if corner is None:
                    weights, bound = self._newton(rows, risk, curve, weights, bound, scale)
                value = risk(rows @ weights, self.loss == "squared_hinge")[0]
                self.objective_ = value + 0.5 * self.alpha * float(weights @ weights)
                self.gap_ = max(self.objective_ - bound, 0.0)
                reached = self.gap_ <= self._least_gap() * self.objective_
                if reached or corner is None or width <= LEAST_WIDTH or self.n_iter_ >= self.max_iter:
                    break
                width /= 4.0
        self.coef_ = weights
        self._keep_trace(trace)
        if not reached and self.n_iter_ >= self.max_iter:
            text = (
                f"{type(self).__name__}: not converged after {self.n_iter_} iterations (gap {self.gap_:.2g}); raise "
                "max_iter, tol or alpha."
            )
            warnings.warn(AssayWarning("W201", text), stacklevel=3)
        return self

    def _least_gap(self) -> float:
        """The gap of a smooth loss falls with the square of its gradient, so that it is cheap to make small."""
        return float(self.tol) ** 2 if self.loss == "squared_hinge" else float(self.tol)

    def _descend(
        self, rows: np.ndarray, risk: Risk, width: float | None, start: np.ndarray, scale: np.ndarray, trace: Trace
    ) -> tuple[np.ndarray, float]:
        """The minimum for one shape of the loss, and a lower bound on every value of the objective.

        An objective of convexity alpha is nowhere below its value here less |gradient|^2 / (2 alpha); a rounded corner
        lies below the sharp one.
        """
        alpha = float(self.alpha)

        def objective(scaled: np.ndarray) -> tuple[float, np.ndarray]:
            weights = scaled * scale
            value, slope = _rounded(risk, rows @ weights, width)
            gradient = rows.T @ slope + alpha * weights
            found = value + 0.5 * alpha * float(weights @ weights)
            last.update(objective=found, bound=found - float(gradient @ gradient) / (2.0 * alpha))
            return found, scale * gradient

        def record(scaled: np.ndarray) -> None:
            trace.record("step", objective=last["objective"], width=0.0 if width is None else width)
            if last["objective"] - last["bound"] <= 0.1 * self._least_gap() * last["objective"]:
                raise StopIteration

        last: dict[str, float] = {}
        found = minimize(
            objective,
            start / scale,
            jac=True,
            method="L-BFGS-B",
            callback=record,
            options={"maxiter": max(1, int(self.max_iter) - self.n_iter_), "gtol": 0.0, "ftol": 0.0, "maxcor": 20},
        )
        if trace.on and not trace.records:
            trace.record("step", objective=float(found.fun), width=0.0 if width is None else width)
        self.n_iter_ += int(found.nit)
        objective(found.x)
        return found.x * scale, last["bound"]

    def _newton(
        self, rows: np.ndarray, risk: Risk, curve: Curve, weights: np.ndarray, bound: float, scale: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Last steps of the smooth loss, a quadratic in pieces: within the right piece one step is exact."""
        alpha, size = float(self.alpha), rows.shape[1]

        def slope(at: np.ndarray) -> np.ndarray:
            return rows.T @ risk(rows @ at, True)[1] + alpha * at

        gradient = slope(weights)
        for _ in range(20):
            scores = rows @ weights
            system = LinearOperator(
                (size, size),
                matvec=lambda v, scores=scores: (
                    scale * (rows.T @ curve(scores, rows @ (scale * v)) + alpha * scale * v)
                ),
                dtype=np.float64,
            )
            step, _ = cg(system, -scale * gradient, rtol=1e-12, maxiter=min(2 * size, 2000))
            following = slope(weights + scale * step)
            if not scale * following @ (scale * following) < 0.25 * (scale * gradient @ (scale * gradient)):
                break
            weights, gradient = weights + scale * step, following
        value = risk(rows @ weights, True)[0] + 0.5 * alpha * float(weights @ weights)
        return weights, max(bound, value - float(gradient @ gradient) / (2.0 * alpha))

    def predict(self, X: Any) -> np.ndarray:
        """The score of each row; higher comes first."""
        check_is_fitted(self)
        return self._read(X, reset=False) @ self.coef_

    def score(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """Share of the pairs within groups whose scores are in order; ties count half."""
        return ordered_share(type(self).__name__, y, self.predict(X), groups, sample_weight, thread_count(self.n_jobs))

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """About a hundred gradients: two products with X and a sort."""
        cells = float(n_rows) * n_features
        return Cost(
            seconds=1e-3 + 100 * (1e-9 * cells + 3e-8 * n_rows * np.log2(n_rows + 2.0)),
            bytes=16.0 * cells + 100.0 * n_rows,
        )

    def view(self) -> dict[str, Any]:
        """The coefficients, ready to draw."""
        check_is_fitted(self)
        return coefficient_view(self, self.coef_[None, :], np.zeros(1))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _rounded(risk: Risk, scores: np.ndarray, width: float | None) -> tuple[float, np.ndarray]:
    """Half the squared hinge (None), or the hinge with a parabola of this width in its corner.

    The parabola is the difference of two squared hinges with margins 1 and 1 - width, over the width; a squared hinge
    with another margin is the one with margin 1 at stretched scores.
    """
    value, slope = risk(scores, True)
    if width is None:
        return value, slope
    margin = 1.0 - width
    inner_value, inner_slope = risk(scores / margin, True)
    return (value - margin**2 * inner_value) / width, (slope - margin * inner_slope) / width


class _Groups:
    """Rows in group order, with their grades as levels: what the ranking kernels read."""

    def __init__(self, who: str, grades: np.ndarray, groups: Any, weights: np.ndarray | None, kept: np.ndarray):
        codes = np.zeros(grades.shape[0], dtype=np.int64)
        if groups is not None:
            _require_length(who, "groups", np.asarray(groups), grades.shape[0])
            codes = np.unique(np.asarray(groups), return_inverse=True)[1]
        self.order = kept[np.argsort(codes[kept], kind="stable")]
        _, counts = np.unique(codes[self.order], return_counts=True)
        self.begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.levels = np.unique(grades[self.order], return_inverse=True)[1].astype(np.int32)
        self.weights = np.zeros(0) if weights is None else weights[self.order]

    def loss(self, scores: np.ndarray, squared: bool, total: float, threads: int) -> tuple[float, np.ndarray]:
        value, gradient = _kernels.rank_loss(scores, self.levels, self.weights, self.begin, squared, threads)
        return value / total, gradient / total

    def curve(self, scores: np.ndarray, direction: np.ndarray, total: float, threads: int) -> np.ndarray:
        product = _kernels.rank_curvature_product(scores, self.levels, self.weights, self.begin, direction, threads)
        return product / total

    def count(self, scores: np.ndarray, threads: int) -> tuple[float, float, float]:
        return _kernels.count_pairs(scores, self.levels, self.weights, self.begin, threads)


def ordered_share(who: str, y: Any, scores: Any, groups: Any, sample_weight: Any, threads: int) -> float:
    """Share of the pairs within groups (different y) whose scores are in the same order; ties count half.

    A pair counts with the product of its weights.

    >>> ordered_share("fit", [3, 2, 1], [0.9, 0.1, 0.5], None, None, 1)
    0.6666666666666666
    """
    grades, values = np.asarray(y, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    _require_length(who, "scores", values, grades.shape[0])
    weights = check_weights(who, sample_weight, grades.shape[0])
    kept = np.arange(grades.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    table = _Groups(who, grades, groups, weights, kept)
    ordered, tied, total = table.count(np.ascontiguousarray(values[table.order]), threads)
    if not total > 0:
        raise DataError(who, "y", "must differ somewhere within a group", "got no pair")
    return (ordered + 0.5 * tied) / total


def _require_length(who: str, name: str, values: np.ndarray, n_rows: int) -> None:
    if values.ndim != 1 or values.shape[0] != n_rows:
        raise DataError(
            who,
            name,
            f"must have one value for each of {n_rows} rows",
            f"Found input variables with inconsistent numbers of samples: shape {values.shape}",
        )
