"""Learning to rank with a linear score: pairwise hinge, from graded rows in groups or from pairs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ...base.cost import Cost
from ...base.errors import AssayWarning, DataError
from ...base.estimator import Estimator, check_weights
from ...base.parameters import Choice, Integer, Real, param
from ...base.threads import one_blas_thread, thread_count
from ...base.usual_parameters import n_jobs_param, trace_param
from ...base.views import Coefficients, coefficients_of
from ...numeric.newton import damped_newton
from .rank_pairs import GroupPairs, ListedPairs, Pairs, require_length
from .rank_problem import HALVINGS, NEWTON_STEPS, RankProblem, RoundedCorner
from .sparse import SparseInput
from .tables import table_of

# Widths of the rounded corner of the hinge: each a quarter of the last, down to the smallest.
FIRST_WIDTH, LEAST_WIDTH = 0.5, 1e-6


class LinearRank(SparseInput, Estimator):
    """A score w . x that puts rows in order: linear, without intercept, fitted to pairs.

    Minimises the mean over pairs (u before v) of the hinge max(0, 1 - w . (x_u - x_v)), or half its square, plus
    alpha |w|^2 / 2. Pairs are all rows of one group with different y, larger y first (`fit`), or are given
    (`fit_pairs`); a pair of weighted rows counts the product of their weights. The pairs of a group are never written
    down: a gradient costs n log n. L-BFGS on scaled columns, with the corner of the hinge rounded over a width that
    shrinks, brings the gap below `tol`; Newton's steps and the few pairs that end on the corner then give the minimum
    to rounding, up to 150 columns. `predict` gives the scores, higher is better; `score` is the share of pairs in
    order.

    Attributes
    ----------
    coef_ : array (n_features,)
    objective_ : float, mean loss of the pairs plus penalty
    dual_gap_ : float, a bound on how far the objective is above its minimum (from duality or strong convexity)
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
        "hinge",
        Choice("hinge", "squared_hinge"),
        "Loss of a pair in the difference d of its scores: max(0, 1 - d), or max(0, 1 - d)^2 / 2.",
    )
    alpha: float = param(1e-3, Real(0, closed="neither"), "Strength of the squared penalty, beside the mean loss.")
    tol: float = param(
        1e-4,
        Real(0, closed="neither"),
        "Stop when `dual_gap_` is below this share of the objective (its square, for the smooth loss).",
    )
    max_iter: int = param(1000, Integer(1), "Most iterations.")
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    _way_out = "take a sample of the groups"

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> LinearRank:
        """Learn from grades y: within a group (all rows, without groups) larger y comes first."""
        self._check_parameters()
        grades = grades_of(type(self).__name__, y)
        rows = self._read(X, reset=True)
        who = type(self).__name__
        require_length(who, "y", grades, rows.shape[0])
        self._check_table_cost(rows)
        weights = check_weights(who, sample_weight, rows.shape[0])
        kept = np.arange(rows.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        pairs = GroupPairs(who, grades, groups, weights, kept, thread_count(self.n_jobs))
        if not pairs.total > 0:
            raise DataError(
                who,
                "y",
                "must differ somewhere within a group, so that there are pairs",
                f"got none in {rows.shape[0]} rows (n_samples={rows.shape[0]})",
                "check the target and the groups",
            )
        self.pair_weight_ = pairs.total
        return self._minimise(rows[pairs.order], pairs, pairs.weights if pairs.weights.size else None)

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
        return self._minimise(rows, ListedPairs(listed, share / self.pair_weight_), None)

    def _minimise(self, rows: Any, pairs: Pairs, row_weights: np.ndarray | None) -> LinearRank:
        """The squared hinge at once; the hinge by rounded corners of shrinking width, each from the last minimum.

        An objective of convexity alpha is nowhere below its value at w less |gradient|^2 / (2 alpha); a rounded corner
        lies below the sharp one.
        """
        trace, alpha, squared = self._new_trace(), float(self.alpha), self.loss == "squared_hinge"
        spread = table_of(rows).deviations(row_weights)
        if not spread.max(initial=0.0) < 1e140:
            raise DataError(
                type(self).__name__, "X", "must be small enough to be squared in float64", way_out="scale the columns"
            )
        scale = 1.0 / np.sqrt(spread**2 + self.alpha)
        weights, self.n_iter_ = np.zeros(rows.shape[1]), 0
        width = None if squared else FIRST_WIDTH
        problem = RankProblem(rows, pairs, alpha, scale)
        last: dict[str, float] = {}

        def objective(scaled: np.ndarray) -> tuple[float, np.ndarray]:
            point = problem.at(scaled * scale, width)
            gradient = point.gradient
            last.update(objective=point.value, bound=point.value - float(gradient @ gradient) / (2.0 * alpha))
            return point.value, scale * gradient

        def record(scaled: np.ndarray) -> None:
            trace.record("step", objective=last["objective"], width=0.0 if width is None else width)
            if last["objective"] - last["bound"] <= 0.1 * self._least_gap() * last["objective"]:
                raise StopIteration

        from scipy.optimize import minimize  # which no prediction needs

        # A product shared between BLAS threads would depend on their number.
        with one_blas_thread():
            while True:
                left = max(1, int(self.max_iter) - self.n_iter_)
                options = {"maxiter": left, "gtol": 0.0, "ftol": 0.0, "maxcor": 20}
                ended = minimize(
                    objective, weights / scale, jac=True, method="L-BFGS-B", callback=record, options=options
                )
                if trace.on and not trace.records:
                    trace.record("step", objective=float(ended.fun), width=0.0 if width is None else width)
                self.n_iter_ += int(ended.nit)
                objective(ended.x)
                weights, bound, found = ended.x * scale, last["bound"], None
                if squared:
                    weights, bound = problem.last_steps(weights, bound)
                self.objective_ = problem.sharp(weights, squared)
                self.dual_gap_ = max(self.objective_ - bound, 0.0)
                if width is not None and problem.is_near(weights, width):
                    near, corner = weights, width
                    while True:
                        search = RoundedCorner(problem, corner)
                        end = damped_newton(search, search.at(near), NEWTON_STEPS, halvings=HALVINGS)
                        near = end.point.coefficients
                        if not problem.is_crowded(near, corner):
                            break
                        corner *= 0.25
                    found = problem.finish(near, width, corner)
                if found is not None and found[2] < self.dual_gap_ and found[1] <= self.objective_ * (1 + 1e-12):
                    weights, self.objective_, self.dual_gap_ = found
                reached = self.dual_gap_ <= self._least_gap() * self.objective_
                if reached or width is None or width <= LEAST_WIDTH or self.n_iter_ >= self.max_iter:
                    break
                width /= 4.0
        self.coef_ = weights
        self._keep_trace(trace)
        if not reached and (self.n_iter_ >= self.max_iter or not self.dual_gap_ <= self.tol * self.objective_):
            text = (
                f"{type(self).__name__}: not converged after {self.n_iter_} iterations (gap {self.dual_gap_:.2g}); "
                "standardise the columns, or raise max_iter, tol or alpha."
            )
            warnings.warn(AssayWarning("W201", text), stacklevel=4)
        return self

    def _least_gap(self) -> float:
        """The gap of a smooth loss falls with the square of its gradient, so that it is cheap to make small."""
        return float(self.tol) ** 2 if self.loss == "squared_hinge" else float(self.tol)

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

    def view(self) -> Coefficients:
        """The coefficients."""
        check_is_fitted(self)
        return coefficients_of(self, self.coef_[None], 0.0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def grades_of(who: str, y: Any) -> np.ndarray:
    """Grades as finite numbers, one per row.

    >>> grades_of("fit", [1, 0, 2])
    array([1., 0., 2.])
    """
    if y is None:
        raise ValueError(f"{who}: requires y to be passed, but the target y is None; give one grade per row.")
    try:
        grades = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(who, "y", "must be one grade per row, as numbers", str(error)) from None
    if not np.isfinite(grades).all():
        raise DataError(who, "y", "must be finite (Input y contains NaN or infinity)", way_out="drop those rows")
    return grades


def ordered_share(who: str, y: Any, scores: Any, groups: Any, sample_weight: Any, threads: int) -> float:
    """Share of the pairs within groups (different y) whose scores are in the same order; ties count half.

    A pair counts with the product of its weights.

    >>> ordered_share("fit", [3, 2, 1], [0.9, 0.1, 0.5], None, None, 1)
    0.6666666666666666
    """
    grades, values = column_or_1d(np.asarray(y, dtype=np.float64)), np.asarray(scores, dtype=np.float64)
    require_length(who, "scores", values, grades.shape[0])
    weights = check_weights(who, sample_weight, grades.shape[0])
    kept = np.arange(grades.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    pairs = GroupPairs(who, grades, groups, weights, kept, threads)
    ordered, tied, total = pairs.count(np.ascontiguousarray(values[pairs.order]))
    if not total > 0:
        raise DataError(who, "y", "must differ somewhere within a group", "got no pair")
    return (ordered + 0.5 * tied) / total
