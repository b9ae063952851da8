"""Ordinary and weighted least squares with inference, to the last digit that the data hold."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.columns import column_name, column_names
from ...base.cost import Cost
from ...base.errors import AssayWarning, DataError, ParameterError, plain
from ...base.estimator import Fold, check_weights
from ...base.folds import Transforms, copy_columns, prepared, through_folds
from ...base.parameters import Boolean, Choice, param
from ...base.threads import one_blas_thread, thread_count
from ...base.usual_parameters import n_jobs_param
from ...base.words import first_names
from ...numeric.solves import (
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
from .gram import Centred, FiniteByGram, GramStatistics
from .on_demand import Inferring, OnDemand
from .predictions import LinearNumbers
from .ridge import rest_of
from .sparse import SparseInput
from .summary import CoefficientRow, RegressionSummary, SummaryOfTargets
from .tables import require_narrow, table_of

# Work (rows x columns^2) up to which extended precision is always used, and up to which it is used when the
# condition number asks for it.
EXACT_WORK = 2e4
EXACT_WORK_IF_ILL = 3e8
ILL_CONDITION = 1e6
# Reciprocal condition numbers of the scaled normal equations that are safe with one step of refinement, enough for
# folds to equal their separate fits to ten digits, and so good that refinement would only confirm the solution.
SAFE_WITH_REFINEMENT = 1e-10
SAFE_ALONE = 1e-6
NEEDS_NO_REFINEMENT = 1e-3
# The residual sum of squares by subtraction needs at least this share of the total to hold its digits.
LEAST_RESIDUAL = 1e-4
# What is known of each target by itself: at the fit, and where it is asked for.
FITTED = ("coef_", "intercept_", "sigma_", "r2_", "adjusted_r2_")
INFERRED = (
    "coef_se_", "t_values_", "p_values_", "intercept_se_", "intercept_t_value_", "intercept_p_value_",
    "f_statistic_", "f_p_value_",
)  # fmt: skip


@dataclass(frozen=True)
class GramSolution:
    """As `Solution`, from the Cholesky factor of the Gram matrix; its errors are worked out when asked for."""

    coefficients: np.ndarray
    residual_squares: float
    total_squares: float
    factor: Cholesky
    x_mean: np.ndarray | None
    weight: float

    @property
    def kept(self) -> np.ndarray:
        """All columns."""
        return np.ones(self.coefficients.shape[0], dtype=bool)

    def whole(self) -> Solution:
        """With the inverse and the spread."""
        inverse = self.factor.inverse_factor()
        spread = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
        if self.x_mean is not None:
            link = self.x_mean @ inverse
            full = np.zeros((inverse.shape[0] + 1, inverse.shape[0] + 1))
            full[0, 0], full[0, 1:], full[1:, 1:] = 1.0 / np.sqrt(self.weight), -link, inverse
            spread, inverse = np.append(np.sqrt(1.0 / self.weight + link @ link), spread), full
        return Solution(self.coefficients, inverse, spread, self.kept, self.residual_squares, self.total_squares)


@dataclass(frozen=True)
class Inference:
    """What errors, tests and condition number are worked out from: a solution for each target, the dimensions of the
    target, lengths of the columns as they stand and around their mean, and which take part in making up others."""

    solutions: Sequence[Solution | GramSolution]
    target_ndim: int
    norms: np.ndarray
    lengths: np.ndarray
    combining: np.ndarray | None = None


class LeastSquares(SparseInput, FiniteByGram, Inferring, LinearNumbers):
    """Linear regression by least squares, with standard errors, tests and intervals for its coefficients.

    Small problems are solved in double-double arithmetic, which gives every digit that float64 columns hold; large ones
    from the Gram matrix when that is safe (with a step of refinement where it helps), and by QR otherwise; `solver_`
    says which. A column that is a linear combination of those before it (or constant) gets coefficient 0, standard
    error infinity and a warning W101 that names it. Weights count as repetition: n is the sum of the weights in every
    formula.

    Attributes
    ----------
    coef_, coef_se_, t_values_, p_values_ : arrays (n_features,): estimate, standard error, t = estimate / error, its p
    vif_ : array (n_features,), variance inflation factors: the variance of a coefficient over what it would be if the
        column were uncorrelated with the others; infinite for columns that make up another one exactly, and for that
    intercept_, intercept_se_, intercept_t_value_, intercept_p_value_ : the same for the intercept
    sigma_ : residual standard deviation, sqrt(residual sum of squares / degrees of freedom)
    df_residual_ : sum of weights less the number of fitted coefficients
    r2_, adjusted_r2_ : share of variance explained (around zero without intercept)
    f_statistic_, f_p_value_ : test of all slopes at once
    condition_number_ : of the design with columns scaled to length 1, intercept included
    rank_ : number of fitted coefficients, intercept included
    dropped_ : array of the numbers of the columns left out
    solver_ : "exact", "gram" or "qr"

    With several targets `coef_` and what goes with it are arrays (n_targets, n_features), what is said of the intercept
    and of the fit (`sigma_`, `r2_`, `f_statistic_`, ...) arrays (n_targets,), as in scikit-learn; what depends on X
    alone stays as it is. With no degrees of freedom left, `sigma_` and the standard errors are infinite and
    `adjusted_r2_` is 0.

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

    _folds_in_one_pass = True

    _multi_output = True
    _by_batches = True
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
        rows = table_of(rows).small()
        targets = target.reshape(rows.shape[0], -1)
        work = rows.shape[0] * (rows.shape[1] + self.fit_intercept) ** 2.0
        quick = None
        if self.method == "gram" or (self.method == "auto" and work > EXACT_WORK):
            quick = self._solve_gram(rows, targets, weights)
        if quick is not None:
            solutions, moments = quick
            self._keep_all(_from_gram(solutions, target.ndim, moments), moments.weight, moments.x_mean)
        else:
            self._require_finite(rows)
            found = self._solve_orthogonal(rows, targets, weights, work)
            self._require_numbers(found)
            total = float(rows.shape[0]) if weights is None else float(weights.sum())
            centre = table_of(rows).means(weights) if self.fit_intercept else np.zeros(rows.shape[1])
            centred, of_rows = table_of(rows).around(weights, centre)
            lengths, kept = column_norms(centred, of_rows), found[0].kept[int(self.fit_intercept) :]
            combining = None if kept.all() else _combining(centred, of_rows, kept)
            inference = Inference(found, target.ndim, column_norms(rows, weights), lengths, combining)
            self._keep_all(inference, total, centre)
        self._warn_dropped()
        return self

    # -- solvers -----------------------------------------------------------------------------------------------
    def _solve_gram(
        self, rows: np.ndarray, targets: np.ndarray, weights: np.ndarray | None
    ) -> tuple[list[GramSolution], Centred] | None:
        """From the Gram matrix with one step of iterative refinement; None where that would not be accurate."""
        if rows.shape[0] <= rows.shape[1]:
            return None
        threads = thread_count(self.n_jobs)
        statistics = GramStatistics.of(rows, targets, weights, fit_intercept=self.fit_intercept, threads=threads)
        if not _kernels.all_finite(statistics.sums):
            return None
        whole = statistics.centred()
        factor = cholesky(whole.gram)
        if factor is None or not factor.reciprocal_condition > SAFE_WITH_REFINEMENT:
            return None
        self.solver_ = "gram"
        found = [
            self._solve_moments(rows, targets[:, k], weights, _one_target(whole, k), factor)
            for k in range(targets.shape[1])
        ]
        return found, whole

    def _solve_moments(
        self, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, moments: Centred, factor: Cholesky
    ) -> GramSolution:
        """The solution for one target, refined where that adds digits."""
        slopes = factor.solve(moments.cross)[:, 0]
        squares = float(moments.y_squares[0] - moments.cross[:, 0] @ slopes)
        if factor.reciprocal_condition > NEEDS_NO_REFINEMENT and squares > LEAST_RESIDUAL * moments.y_squares[0]:
            intercept = float(moments.y_mean[0] - moments.x_mean @ slopes)
            return self._from_moments(moments, factor, slopes, intercept, squares)
        gradient, residual_sum, squares = _residual_moments(rows, target, weights, moments, slopes)
        step = factor.solve(gradient[:, None])[:, 0]
        if self.fit_intercept:
            squares -= residual_sum**2 / moments.weight
        intercept = moments.y_mean[0] + residual_sum / moments.weight - moments.x_mean @ (slopes + step)
        return self._from_moments(moments, factor, slopes + step, intercept, squares - step @ gradient)

    def _from_moments(
        self, moments: Centred, factor: Cholesky, slopes: np.ndarray, intercept: float, squares: float
    ) -> GramSolution:
        found = np.concatenate([[intercept], slopes]) if self.fit_intercept else slopes
        x_mean = moments.x_mean if self.fit_intercept else None
        return GramSolution(
            found, max(float(squares), 0.0), float(moments.y_squares[0]), factor, x_mean, moments.weight
        )

    def _solve_orthogonal(
        self, rows: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, work: float
    ) -> list[Solution]:
        """In extended precision if that is quick or needed, else by QR of the rows in chunks; one for each target."""
        threads, ones = thread_count(self.n_jobs), self.fit_intercept
        count = targets.shape[1]
        self.solver_ = "exact"
        table = table_of(rows)
        reduced = table.by_column or table.streamed  # rows that are not there to be solved as they are
        if reduced or (work > EXACT_WORK and rows.shape[0] > rows.shape[1] + 1 + count):
            factor = reduce_rows(rows, targets, weights, fit_intercept=ones)
            design = np.ascontiguousarray(factor[:, :-count])
            found = [
                exact_solve(design, np.ascontiguousarray(column), None, intercept=ones, tolerance=REDUCED_TOLERANCE)
                for column in factor[:, -count:].T
            ]
            norms = np.sqrt(np.einsum("ij,ij->j", design, design))
            if reduced or work > EXACT_WORK_IF_ILL or _condition(found[0], norms) < ILL_CONDITION:
                self.solver_ = "qr"
                return found
        design = with_intercept(rows, ones)
        return [
            exact_solve(design, np.ascontiguousarray(column), weights, intercept=ones, threads=threads)
            for column in targets.T
        ]

    def _require_numbers(self, solutions: list[Solution]) -> None:
        """Refuse columns so small beside the target that their coefficients leave the range of float64."""
        for solution in solutions:
            beyond = np.flatnonzero(~(np.isfinite(solution.coefficients) & np.isfinite(solution.spread)))
            if beyond.size:
                j = max(int(beyond[0]) - int(self.fit_intercept), 0)
                names = getattr(self, "feature_names_in_", None)
                raise DataError(
                    type(self).__name__,
                    f"column '{plain(column_name(names, j))}'",
                    "must not be so small beside y that its coefficient leaves the range of float64",
                    way_out="rescale the column",
                )

    # -- what follows from the solution ------------------------------------------------------------------------
    coef_se_, t_values_, p_values_, vif_ = OnDemand(), OnDemand(), OnDemand(), OnDemand()
    intercept_se_, intercept_t_value_, intercept_p_value_ = OnDemand(), OnDemand(), OnDemand()
    f_statistic_, f_p_value_ = OnDemand(), OnDemand()
    condition_number_, unscaled_factor_ = OnDemand(), OnDemand()

    def _keep_all(self, inference: Inference, total: float, centre: np.ndarray) -> None:
        """The fit, stacked where the target has two dimensions; the rest is worked out where it is asked for."""
        self._forget()
        self.n_observations_, self.center_ = total, centre
        self._inference = inference
        self._for_each(inference, FITTED, self._keep)

    def _for_each(self, inference: Inference, names: Sequence[str], of_target: Callable[[Any], None]) -> None:
        """What is set for each target, stacked where the target has two dimensions."""
        if inference.target_ndim == 1:
            return of_target(inference.solutions[0])
        each: dict[str, list[Any]] = {name: [] for name in names}
        for solution in inference.solutions:
            of_target(solution)
            for name, values in each.items():
                values.append(getattr(self, name))
        for name, values in each.items():
            setattr(self, name, np.array(values))

    def _by_target(self) -> list[LeastSquares]:
        """One model for each target."""
        self._infer()
        models = []
        for k in range(self.coef_.shape[0]):
            model = clone(self)
            for name, value in vars(self).items():
                if name.endswith("_"):
                    setattr(model, name, value[k] if name in FITTED or name in INFERRED else value)
            models.append(model)
        return models

    def _keep(self, solution: Solution | GramSolution) -> None:
        first, total = int(self.fit_intercept), self.n_observations_
        self.coef_ = solution.coefficients[first:].copy()
        self.intercept_ = float(solution.coefficients[0]) if first else 0.0
        kept = solution.kept
        self.rank_ = int(np.count_nonzero(kept))
        self.dropped_ = np.flatnonzero(~kept[first:])
        self.df_residual_ = total - self.rank_
        free = self.df_residual_ > 0
        self.sigma_ = math.sqrt(solution.residual_squares / self.df_residual_) if free else math.inf
        self.r2_ = 1.0 - solution.residual_squares / solution.total_squares if solution.total_squares > 0 else 1.0
        self.adjusted_r2_ = 1.0 - (1.0 - self.r2_) * (total - first) / self.df_residual_ if free else 0.0

    def _infer(self) -> None:
        """Errors, tests, inflation and condition number, unless they are there."""
        inference: Inference | None = vars(self).get("_inference")
        if inference is None:
            return
        first = int(self.fit_intercept)
        whole = [one.whole() if isinstance(one, GramSolution) else one for one in inference.solutions]
        self._for_each(replace(inference, solutions=whole), INFERRED, self._infer_target)
        solution = whole[0]
        self.vif_ = _inflation(solution, self.fit_intercept, inference.lengths)
        if inference.combining is not None:
            self.vif_[inference.combining] = np.inf
        norms = np.append(np.sqrt(self.n_observations_), inference.norms) if first else inference.norms
        self.condition_number_ = _condition(solution, norms)
        self.unscaled_factor_ = np.ascontiguousarray(solution.inverse[first:, first:])
        self.__dict__.pop("_inference", None)

    def _infer_target(self, solution: Solution) -> None:
        first, free = int(self.fit_intercept), self.df_residual_ > 0
        sigma = math.sqrt(solution.residual_squares / self.df_residual_) if free else math.inf
        errors = sigma * solution.spread if free else np.full(solution.spread.shape, np.inf)
        errors = np.where(solution.kept, errors, np.inf)
        t_values = _ratio(solution.coefficients, errors)
        p_values = 2.0 * special.stdtr(self.df_residual_, -np.abs(t_values)) if free else np.ones_like(t_values)
        self.coef_se_, self.t_values_, self.p_values_ = errors[first:], t_values[first:], p_values[first:]
        self.intercept_se_ = float(errors[0]) if first else 0.0
        self.intercept_t_value_ = float(t_values[0]) if first else 0.0
        self.intercept_p_value_ = float(p_values[0]) if first else 1.0
        slopes = self.rank_ - first
        explained = max(solution.total_squares - solution.residual_squares, 0.0) / slopes if slopes > 0 else 0.0
        self.f_statistic_, self.f_p_value_ = 0.0, 1.0
        if free:
            self.f_statistic_ = float(_ratio(np.array([explained]), np.array([sigma**2]))[0])
            self.f_p_value_ = float(special.fdtrc(slopes, self.df_residual_, self.f_statistic_)) if slopes > 0 else 1.0

    def _names(self) -> list[str]:
        return column_names(self, self.coef_.shape[-1])

    def _warn_dropped(self) -> None:
        if self.dropped_.shape[0] == 0:
            return
        listed = first_names([self._names()[j] for j in self.dropped_])
        text = (
            f"{type(self).__name__}: column{'s' if self.dropped_.shape[0] > 1 else ''} {listed} "
            "cannot be told from a linear combination of the columns before (or a constant) on these rows "
            "and got coefficient 0; leave out the columns that repeat others, or use Ridge."
        )
        warnings.warn(AssayWarning("W101", text), stacklevel=4)

    def confidence_intervals(self, level: float = 0.95) -> np.ndarray:
        """Intervals of the coefficients, one row each (low, high): the intercept first if fitted, then the columns.

        With several targets the first axis is the target.
        """
        check_is_fitted(self)
        if self.coef_.ndim == 2:
            return np.array([model.confidence_intervals(level) for model in self._by_target()])
        estimates, errors = self._estimates()
        half = self._quantile(level) * errors
        return np.column_stack([estimates - half, estimates + half])

    def predict_interval(self, X: Any, level: float = 0.95, kind: str = "mean") -> np.ndarray:
        """Intervals (low, high) for each row: of the mean response, or of a new observation (`kind="prediction"`).

        With several targets the second axis is the target.
        """
        check_is_fitted(self)
        if self.coef_.ndim == 2:
            return np.stack([model.predict_interval(X, level, kind) for model in self._by_target()], axis=1)
        if kind not in ("mean", "prediction"):
            came = f"got {plain(repr(kind))}"
            raise ParameterError(type(self).__name__, "parameter 'kind'", "must be 'mean' or 'prediction'", came)
        rows = self._read(X, reset=False)
        estimate = rows @ self.coef_ + self.intercept_
        variance = np.empty(rows.shape[0])
        for begin in range(0, rows.shape[0], CHUNK):
            part = slice(begin, begin + CHUNK)
            directions = (table_of(rows).written(part) - self.center_) @ self.unscaled_factor_
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
        return float(special.stdtrit(self.df_residual_, 0.5 + level / 2)) if self.df_residual_ > 0 else np.inf

    def summary(self, level: float = 0.95) -> RegressionSummary | SummaryOfTargets:
        """The coefficient table and the quality of the fit, to print or to show in a notebook; one for each target."""
        check_is_fitted(self)
        if self.coef_.ndim == 2:
            return SummaryOfTargets(tuple(model._summary(level) for model in self._by_target()))
        return self._summary(level)

    def _summary(self, level: float) -> RegressionSummary:
        estimates, errors = self._estimates()
        first = int(self.fit_intercept)
        t_values = np.append(self.intercept_t_value_, self.t_values_) if first else self.t_values_
        p_values = np.append(self.intercept_p_value_, self.p_values_) if first else self.p_values_
        names = ["(intercept)", *self._names()] if first else self._names()
        intervals = self.confidence_intervals(level)
        inflation = [*([None] if first else []), *self.vif_.tolist()]
        return RegressionSummary(
            rows=tuple(
                replace(CoefficientRow(name, *(float(v) for v in values)), vif=factor)
                for name, factor, *values in zip(
                    names, inflation, estimates, errors, t_values, p_values, *intervals.T, strict=True
                )
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

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[LeastSquares]:
        """One fitted clone per fold, from one Gram matrix less that of the rows left out where that is accurate."""
        template = clone(self)
        rows, target, _ = template._begin(X, y)
        template._require_finite(rows)
        require_narrow(type(self).__name__, rows, "use Ridge or Lasso, which need no such matrix")
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        threads = thread_count(self.n_jobs)
        work = rows.shape[0] * (rows.shape[1] + self.fit_intercept) ** 2.0
        targets = target.reshape(rows.shape[0], -1)
        whole: GramStatistics | None = None
        if self.method != "qr" and (self.method == "gram" or work > 2 * EXACT_WORK):
            whole = GramStatistics.of(rows, targets, weights, fit_intercept=self.fit_intercept, threads=threads)
        for train, test, through in through_folds(folds, transforms):
            model = clone(template)
            shared = whole is not None and model._fit_rest(
                rest_of(whole, rows, targets, weights, train, test, threads, through), target.ndim
            )
            if shared:
                copy_columns(template, model, through)
                yield model
            else:
                part = prepared(X, train, through)
                yield model.fit(part, target[train], None if weights is None else weights[train])

    def _fit_rest(self, statistics: GramStatistics | None, target_ndim: int, safe: float = SAFE_ALONE) -> bool:
        """Fit from the statistics alone; False where they would not give the digits of a fit on the rows, as they do
        above a reciprocal condition number of `safe`."""
        if statistics is None:
            return False
        whole = statistics.centred()
        factor = cholesky(whole.gram)
        if factor is None or not factor.reciprocal_condition > safe:
            return False
        solutions = []
        for k in range(statistics.n_targets):
            moments = _one_target(whole, k)
            slopes = factor.solve(moments.cross)[:, 0]
            squares = float(moments.y_squares[0] - moments.cross[:, 0] @ slopes)
            if not squares > LEAST_RESIDUAL * moments.y_squares[0]:
                return False
            intercept = float(moments.y_mean[0] - moments.x_mean @ slopes)
            solutions.append(self._from_moments(moments, factor, slopes, intercept, squares))
        self.solver_ = "gram"
        self._keep_all(_from_gram(solutions, target_ndim, whole), whole.weight, whole.x_mean)
        return True

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One Gram matrix and a pass of refinement; QR, if it comes to that, is about ten times as much."""
        width = n_features + n_outputs + 1.0
        return Cost(
            seconds=1e-3 + n_rows * width * (5e-9 + 1e-10 * width) + 1e-9 * width**3,
            bytes=16.0 * n_rows * width + 48.0 * width**2,
        )


def _residual_moments(
    rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, moments: Centred, slopes: np.ndarray
) -> tuple[np.ndarray, float, float]:
    """X'W r (centred), sum of w r and sum of w r^2 for the residuals r of `slopes`, in fixed chunks of rows."""
    gradient, total, squares = np.zeros_like(slopes), 0.0, 0.0
    with one_blas_thread():
        for begin in range(0, rows.shape[0], CHUNK):
            part = slice(begin, begin + CHUNK)
            centred = table_of(rows).written(part) - moments.x_mean
            residual = target[part] - moments.y_mean[0] - centred @ slopes
            weighted = residual if weights is None else weights[part] * residual
            gradient += weighted @ centred
            total += float(weighted.sum())
            squares += float(weighted @ residual)
    return gradient, total, squares


def _from_gram(solutions: Sequence[GramSolution], target_ndim: int, moments: Centred) -> Inference:
    squares = np.maximum(moments.gram.diagonal(), 0.0)
    norms = np.sqrt(squares + moments.weight * moments.x_mean**2)
    return Inference(solutions, target_ndim, norms, np.sqrt(squares))


def _one_target(moments: Centred, k: int) -> Centred:
    if moments.y_mean.shape[0] == 1:
        return moments
    return replace(moments, y_mean=moments.y_mean[[k]], cross=moments.cross[:, [k]], y_squares=moments.y_squares[[k]])


def _inflation(solution: Solution, fit_intercept: bool, lengths: np.ndarray) -> np.ndarray:
    """Variance of a coefficient times the squared length of its column around the mean; infinite where left out."""
    first = int(fit_intercept)
    found = np.maximum((solution.spread[first:] * lengths) ** 2, 1.0)
    return np.where(solution.kept[first:], found, np.inf)


def _combining(centred: np.ndarray, weights: np.ndarray | None, kept: np.ndarray) -> np.ndarray:
    """Numbers of the kept columns that take part in making up one of those left out."""
    if not kept.any():
        return np.empty(0, dtype=np.int64)
    if weights is not None:
        centred = centred * np.sqrt(weights)[:, None]
    lengths = column_norms(centred, None)
    scaled = centred / np.where(lengths > 0, lengths, 1.0)
    parts = np.linalg.lstsq(scaled[:, kept], scaled[:, ~kept & (lengths > 0)], rcond=None)[0]
    return np.flatnonzero(kept)[(np.abs(parts) > 1e-6).any(axis=1)]


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
