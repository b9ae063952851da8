"""Ordinary and weighted least squares with inference, to the last digit that the data hold."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from ...base import (
    AssayWarning,
    Boolean,
    Choice,
    Cost,
    Fold,
    ParameterError,
    Regressor,
    check_weights,
    n_jobs_param,
    param,
    plain,
    take_rows,
    thread_count,
)
from .gram import Centred, FiniteByGram, GramStatistics
from .ridge import coefficient_view, copy_columns, rest_of
from .solve import (
    CHUNK,
    REDUCED_TOLERANCE,
    Cholesky,
    Solution,
    cholesky,
    column_norms,
    exact_solve,
    reduce_rows,
    with_intercept,
)
from .sparse import SparseInput, column_means, dense_rows, is_sparse, require_narrow, written_out
from .summary import CoefficientRow, RegressionSummary

# Work (rows x columns^2) up to which extended precision is always used, and up to which it is used when the
# condition number asks for it.
EXACT_WORK = 1e6
EXACT_WORK_IF_ILL = 3e8
ILL_CONDITION = 1e6
# Reciprocal condition numbers of the scaled normal equations that are safe with one step of refinement, enough for
# folds to equal their separate fits to ten digits, and so good that refinement would only confirm the solution.
SAFE_WITH_REFINEMENT = 1e-10
SAFE_ALONE = 1e-6
NEEDS_NO_REFINEMENT = 1e-3
# The residual sum of squares by subtraction needs at least this share of the total to hold its digits.
LEAST_RESIDUAL = 1e-4


class LeastSquares(SparseInput, FiniteByGram, Regressor):
    """Linear regression by least squares, with standard errors, tests and intervals for its coefficients.

    Small problems are solved in double-double arithmetic, which gives every digit that float64 columns hold; large ones
    from the Gram matrix when that is safe (with a step of refinement where it helps), and by QR otherwise; `solver_`
    says which. A column that is a linear combination of those before it (or constant) gets coefficient 0, standard
    error infinity and a warning W101 that names it. Weights count as repetition: n is the sum of the weights in every
    formula.

    {parameters}

    Attributes
    ----------
    coef_, coef_se_, t_values_, p_values_ : arrays (n_features,): estimate, standard error, t = estimate / error, its p
    intercept_, intercept_se_, intercept_t_value_, intercept_p_value_ : the same for the intercept
    sigma_ : residual standard deviation, sqrt(residual sum of squares / degrees of freedom)
    df_residual_ : sum of weights less the number of fitted coefficients
    r2_, adjusted_r2_ : share of variance explained (around zero without intercept)
    f_statistic_, f_p_value_ : test of all slopes at once
    condition_number_ : of the design with columns scaled to length 1, intercept included
    rank_ : number of fitted coefficients, intercept included
    dropped_ : array of the numbers of the columns left out
    solver_ : "exact", "gram" or "qr"

    With no degrees of freedom left, `sigma_` and the standard errors are infinite and `adjusted_r2_` is 0.

    Examples
    --------
    >>> from assay.models.linear import LeastSquares
    >>> model = LeastSquares().fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 4.0, 5.0])
    >>> model.coef_, round(model.intercept_, 12)
    (array([1.4]), -0.5)
    >>> model.confidence_intervals(level=0.9).round(2)
    array([[-1.63,  0.63],
           [ 0.99,  1.81]])
    """

    _way_out = "take a sample of the rows or select columns"

    fit_intercept: bool = param(True, Boolean(), "Whether to fit an intercept.")
    method: str = param(
        "auto",
        Choice("auto", "qr", "gram"),
        "How to solve: by orthogonal reduction ('qr'), from the Gram matrix where that is safe ('gram'), or 'auto': "
        "extended precision for small problems, then as 'gram'.",
    )
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LeastSquares:
        """Solve the least-squares problem and compute what follows from it."""
        rows, target, weights = self._begin(X, y, sample_weight)
        require_narrow(type(self).__name__, rows, "use Ridge or Lasso, which need no such matrix")
        rows = written_out(rows)
        work = rows.shape[0] * (rows.shape[1] + self.fit_intercept) ** 2.0
        quick = None
        if self.method == "gram" or (self.method == "auto" and work > EXACT_WORK):
            quick = self._solve_gram(rows, target, weights)
        if quick is not None:
            solution, moments = quick
            self._infer(solution, moments.weight, moments.x_mean, _norms(moments))
        else:
            self._require_finite(rows)
            solution = self._solve_orthogonal(rows, target, weights, work)
            total = float(rows.shape[0]) if weights is None else float(weights.sum())
            centre = column_means(rows, weights) if self.fit_intercept else np.zeros(rows.shape[1])
            self._infer(solution, total, centre, column_norms(rows, weights))
        self._warn_dropped()
        return self

    # -- solvers -----------------------------------------------------------------------------------------------
    def _solve_gram(
        self, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None
    ) -> tuple[Solution, Centred] | None:
        """From the Gram matrix with one step of iterative refinement; None where that would not be accurate."""
        if rows.shape[0] <= rows.shape[1]:
            return None
        threads = thread_count(self.n_jobs)
        statistics = GramStatistics.of(
            rows, target[:, None], weights, fit_intercept=self.fit_intercept, threads=threads
        )
        if not np.isfinite(statistics.sums).all():
            return None
        moments = statistics.centred()
        factor = cholesky(moments.gram)
        if factor is None or not factor.reciprocal_condition > SAFE_WITH_REFINEMENT:
            return None
        self.solver_ = "gram"
        slopes = factor.solve(moments.cross)[:, 0]
        squares = float(moments.y_squares[0] - moments.cross[:, 0] @ slopes)
        if factor.reciprocal_condition > NEEDS_NO_REFINEMENT and squares > LEAST_RESIDUAL * moments.y_squares[0]:
            intercept = float(moments.y_mean[0] - moments.x_mean @ slopes)
            return self._from_moments(moments, factor, slopes, intercept, squares), moments
        gradient, residual_sum, squares = _residual_moments(rows, target, weights, moments, slopes)
        step = factor.solve(gradient[:, None])[:, 0]
        if self.fit_intercept:
            squares -= residual_sum**2 / moments.weight
        intercept = moments.y_mean[0] + residual_sum / moments.weight - moments.x_mean @ (slopes + step)
        return self._from_moments(moments, factor, slopes + step, intercept, squares - step @ gradient), moments

    def _from_moments(
        self, moments: Centred, factor: Cholesky, slopes: np.ndarray, intercept: float, squares: float
    ) -> Solution:
        inverse = factor.inverse_factor()
        spread = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
        if self.fit_intercept:
            link = moments.x_mean @ inverse
            full = np.zeros((slopes.shape[0] + 1, slopes.shape[0] + 1))
            full[0, 0], full[0, 1:], full[1:, 1:] = 1.0 / np.sqrt(moments.weight), -link, inverse
            slopes, inverse = np.append(intercept, slopes), full
            spread = np.append(np.sqrt(1.0 / moments.weight + link @ link), spread)
        kept = np.ones(slopes.shape[0], dtype=bool)
        return Solution(slopes, inverse, spread, kept, max(float(squares), 0.0), float(moments.y_squares[0]))

    def _solve_orthogonal(
        self, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, work: float
    ) -> Solution:
        """In extended precision if that is quick or needed, else by QR of the rows in chunks."""
        threads, ones = thread_count(self.n_jobs), self.fit_intercept
        self.solver_ = "exact"
        if (work > EXACT_WORK or is_sparse(rows)) and rows.shape[0] > rows.shape[1] + 2:
            factor = reduce_rows(rows, target[:, None], weights, fit_intercept=ones)
            solution = exact_solve(
                factor[:, :-1],
                np.ascontiguousarray(factor[:, -1]),
                None,
                intercept=ones,
                tolerance=REDUCED_TOLERANCE,
            )
            norms = np.sqrt(np.einsum("ij,ij->j", factor[:, :-1], factor[:, :-1]))
            if is_sparse(rows) or work > EXACT_WORK_IF_ILL or _condition(solution, norms) < ILL_CONDITION:
                self.solver_ = "qr"
                return solution
        return exact_solve(with_intercept(rows, ones), target, weights, intercept=ones, threads=threads)

    # -- what follows from the solution ------------------------------------------------------------------------
    def _infer(self, solution: Solution, total: float, centre: np.ndarray, norms: np.ndarray) -> None:
        first = int(self.fit_intercept)
        self.coef_ = solution.coefficients[first:].copy()
        self.intercept_ = float(solution.coefficients[0]) if first else 0.0
        self.rank_ = int(solution.kept.sum())
        self.dropped_ = np.flatnonzero(~solution.kept[first:])
        self.n_observations_ = total
        self.df_residual_ = total - self.rank_
        free = self.df_residual_ > 0
        self.sigma_ = float(np.sqrt(solution.residual_squares / self.df_residual_)) if free else np.inf
        errors = self.sigma_ * solution.spread if free else np.full(solution.spread.shape, np.inf)
        errors = np.where(solution.kept, errors, np.inf)
        t_values = _ratio(solution.coefficients, errors)
        p_values = 2.0 * stats.t.sf(np.abs(t_values), self.df_residual_) if free else np.ones_like(t_values)
        self.coef_se_, self.t_values_, self.p_values_ = errors[first:], t_values[first:], p_values[first:]
        self.intercept_se_ = float(errors[0]) if first else 0.0
        self.intercept_t_value_ = float(t_values[0]) if first else 0.0
        self.intercept_p_value_ = float(p_values[0]) if first else 1.0
        self._infer_fit(solution, free, first)
        self.condition_number_ = _condition(solution, np.append(np.sqrt(total), norms) if first else norms)
        self.centre_ = centre
        self.unscaled_factor_ = np.ascontiguousarray(solution.inverse[first:, first:])

    def _infer_fit(self, solution: Solution, free: bool, first: int) -> None:
        residual, total = solution.residual_squares, solution.total_squares
        self.r2_ = 1.0 - residual / total if total > 0 else 1.0
        slopes = self.rank_ - first
        explained = max(total - residual, 0.0) / slopes if slopes > 0 else 0.0
        if free:
            self.adjusted_r2_ = 1.0 - (1.0 - self.r2_) * (self.n_observations_ - first) / self.df_residual_
            self.f_statistic_ = float(_ratio(np.array([explained]), np.array([self.sigma_**2]))[0])
            self.f_p_value_ = float(stats.f.sf(self.f_statistic_, slopes, self.df_residual_)) if slopes > 0 else 1.0
        else:
            self.adjusted_r2_, self.f_statistic_, self.f_p_value_ = 0.0, 0.0, 1.0

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.coef_.shape[0])] if names is None else [str(name) for name in names]

    def _warn_dropped(self) -> None:
        if self.dropped_.shape[0] == 0:
            return
        names = self._names()
        listed = ", ".join(f"'{plain(names[j])}'" for j in self.dropped_[:5])
        more = f" and {self.dropped_.shape[0] - 5} more" if self.dropped_.shape[0] > 5 else ""
        text = (
            f"{type(self).__name__}: column{'s' if self.dropped_.shape[0] > 1 else ''} {listed}{more} "
            "cannot be told from a linear combination of the columns before (or a constant) on these rows "
            "and got coefficient 0; leave out the columns that repeat others, or use Ridge."
        )
        warnings.warn(AssayWarning("W101", text), stacklevel=3)

    def predict(self, X: Any) -> np.ndarray:
        """The linear prediction of each row."""
        check_is_fitted(self)
        return self._read(X, reset=False) @ self.coef_ + self.intercept_

    def confidence_intervals(self, level: float = 0.95) -> np.ndarray:
        """Intervals of the coefficients, one row each (low, high): the intercept first if fitted, then the columns."""
        check_is_fitted(self)
        estimates, errors = self._estimates()
        half = self._quantile(level) * errors
        return np.column_stack([estimates - half, estimates + half])

    def predict_interval(self, X: Any, level: float = 0.95, kind: str = "mean") -> np.ndarray:
        """Intervals (low, high) for each row: of the mean response, or of a new observation (`kind="prediction"`)."""
        check_is_fitted(self)
        if kind not in ("mean", "prediction"):
            raise ParameterError(
                type(self).__name__,
                "parameter 'kind'",
                "must be 'mean' or 'prediction'",
                f"got {plain(repr(kind))}",
            )
        rows = self._read(X, reset=False)
        estimate = rows @ self.coef_ + self.intercept_
        variance = np.empty(rows.shape[0])
        for begin in range(0, rows.shape[0], CHUNK):
            part = slice(begin, begin + CHUNK)
            directions = (dense_rows(rows, part) - self.centre_) @ self.unscaled_factor_
            variance[part] = np.einsum("ij,ij->i", directions, directions)
        variance += 1.0 / self.n_observations_ if self.fit_intercept else 0.0
        variance += 1.0 if kind == "prediction" else 0.0
        known = variance > 0
        half = np.zeros_like(estimate)
        half[known] = self._quantile(level) * self.sigma_ * np.sqrt(variance[known])
        return np.column_stack([estimate - half, estimate + half])

    def _estimates(self) -> tuple[np.ndarray, np.ndarray]:
        if not self.fit_intercept:
            return self.coef_, self.coef_se_
        return np.append(self.intercept_, self.coef_), np.append(self.intercept_se_, self.coef_se_)

    def _quantile(self, level: float) -> float:
        if not 0 < level < 1:
            raise ParameterError(
                type(self).__name__, "parameter 'level'", "must be between 0 and 1", f"got {plain(repr(level))}"
            )
        return float(stats.t.ppf(0.5 + level / 2, self.df_residual_)) if self.df_residual_ > 0 else np.inf

    def summary(self, level: float = 0.95) -> RegressionSummary:
        """The coefficient table and the quality of the fit, to print or to show in a notebook."""
        check_is_fitted(self)
        estimates, errors = self._estimates()
        first = int(self.fit_intercept)
        t_values = np.append(self.intercept_t_value_, self.t_values_) if first else self.t_values_
        p_values = np.append(self.intercept_p_value_, self.p_values_) if first else self.p_values_
        names = ["(intercept)", *self._names()] if first else self._names()
        intervals = self.confidence_intervals(level)
        return RegressionSummary(
            rows=tuple(
                CoefficientRow(name, *(float(v) for v in values))
                for name, *values in zip(names, estimates, errors, t_values, p_values, *intervals.T, strict=True)
            ),
            level=level,
            sigma=self.sigma_,
            df_residual=self.df_residual_,
            r2=self.r2_,
            adjusted_r2=self.adjusted_r2_,
            f_statistic=self.f_statistic_,
            f_p_value=self.f_p_value_,
            n_observations=self.n_observations_,
            condition_number=self.condition_number_,
        )

    def fit_folds(self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None) -> Iterator[LeastSquares]:
        """One fitted clone per fold, from one Gram matrix less that of the rows left out where that is accurate."""
        template = clone(self)
        rows, target, _ = template._begin(X, y)
        template._require_finite(rows)
        require_narrow(type(self).__name__, rows, "use Ridge or Lasso, which need no such matrix")
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        threads = thread_count(self.n_jobs)
        work = rows.shape[0] * (rows.shape[1] + self.fit_intercept) ** 2.0
        whole: GramStatistics | None = None
        if self.method != "qr" and (self.method == "gram" or work > 2 * EXACT_WORK):
            whole = GramStatistics.of(rows, target[:, None], weights, fit_intercept=self.fit_intercept, threads=threads)
        for train, test in folds:
            model = clone(template)
            shared = whole is not None and model._fit_rest(
                rest_of(whole, rows, target[:, None], weights, train, test, threads)
            )
            if shared:
                copy_columns(template, model)
                yield model
            else:
                yield model.fit(take_rows(X, train), target[train], None if weights is None else weights[train])

    def _fit_rest(self, statistics: GramStatistics | None) -> bool:
        """Fit from the statistics alone; False where they would not give the digits of a fit on the rows."""
        if statistics is None:
            return False
        moments = statistics.centred()
        factor = cholesky(moments.gram)
        if factor is None or not factor.reciprocal_condition > SAFE_ALONE:
            return False
        slopes = factor.solve(moments.cross)[:, 0]
        squares = float(moments.y_squares[0] - moments.cross[:, 0] @ slopes)
        if not squares > LEAST_RESIDUAL * moments.y_squares[0]:
            return False
        self.solver_ = "gram"
        intercept = float(moments.y_mean[0] - moments.x_mean @ slopes)
        solution = self._from_moments(moments, factor, slopes, intercept, squares)
        self._infer(solution, moments.weight, moments.x_mean, _norms(moments))
        return True

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One Gram matrix and a pass of refinement; QR, if it comes to that, is about ten times as much."""
        width = n_features + 2.0
        return Cost(
            seconds=1e-3 + n_rows * width * (5e-9 + 1e-10 * width) + 1e-9 * width**3,
            bytes=16.0 * n_rows * width + 48.0 * width**2,
        )

    def view(self) -> dict[str, Any]:
        """The coefficients, ready to draw."""
        check_is_fitted(self)
        return coefficient_view(self, self.coef_[None, :], np.array([self.intercept_]))


def _residual_moments(
    rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, moments: Centred, slopes: np.ndarray
) -> tuple[np.ndarray, float, float]:
    """X'W r (centred), sum of w r and sum of w r^2 for the residuals r of `slopes`, in fixed chunks of rows."""
    gradient, total, squares = np.zeros_like(slopes), 0.0, 0.0
    with threadpool_limits(1, user_api="blas"):
        for begin in range(0, rows.shape[0], CHUNK):
            part = slice(begin, begin + CHUNK)
            centred = dense_rows(rows, part) - moments.x_mean
            residual = target[part] - moments.y_mean[0] - centred @ slopes
            weighted = residual if weights is None else weights[part] * residual
            gradient += weighted @ centred
            total += float(weighted.sum())
            squares += float(weighted @ residual)
    return gradient, total, squares


def _norms(moments: Centred) -> np.ndarray:
    """Lengths of the columns as they stand."""
    return np.sqrt(np.maximum(np.diag(moments.gram), 0.0) + moments.weight * moments.x_mean**2)


def _condition(solution: Solution, norms: np.ndarray) -> float:
    """Condition number of the kept columns scaled to length 1, from the inverse of R."""
    kept = solution.kept
    if not kept.any():
        return 1.0
    inverse = solution.inverse[np.ix_(kept, kept)] * norms[kept, None]
    singular = np.linalg.svd(inverse, compute_uv=False)
    return float(singular[0] / singular[-1]) if singular[-1] > 0 and np.isfinite(singular[0]) else float("inf")


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """top / bottom with 0 for 0 / 0 and for a finite number over infinity."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = top / bottom
    return np.where((top == 0) & (bottom == 0), 0.0, quotient)
