"""Generalised linear models: seven families, their usual links, L2 and L1 penalties, offsets, inference."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from ...base.batches import BatchedTable
from ...base.cells import require_finite, require_squares, require_table
from ...base.cost import Cost
from ...base.errors import AssayWarning, DataError, ParameterError, plain
from ...base.estimator import Fold, Regressor, check_weights
from ...base.folds import Transforms, copy_columns
from ...base.parameters import ArrayLike, Boolean, Choice, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.trace import Trace
from ...base.usual_parameters import categorical_features_param, n_jobs_param, trace_param
from ...base.views import Coefficients
from ...data.columns import ColumnSchema, MixedInput
from ...numeric.newton import damped_newton
from .glm_families import FAMILIES, LINKS, TWEEDIE_NAMES, best_theta
from .glm_solver import (
    NO_LEVELS,
    OutOfRange,
    Problem,
    Solution,
    Task,
    WorkingSet,
    needs_working_sets,
    sample_start,
)
from .sparse import MOST_SQUARE, SparseInput, SparseTable
from .summary import CoefficientRow, GlmSummary, combination_text
from .tables import require_narrow

_THETA_ROUNDS = 100


@dataclass(frozen=True)
class _Kind:
    """The family that is fitted: its name (a Tweedie power may make it another one), link and parameter."""

    family: str
    link: str
    parameter: float


class GLM(SparseInput, MixedInput, Regressor):
    """Generalised linear model: link(mean) = intercept + X coef + offset, fitted by maximum likelihood with a penalty.

    Minimises half the mean unit deviance plus alpha * [(1 - l1_ratio) / 2 ||coef||^2 + l1_ratio ||coef||_1], the
    objective of scikit-learn's PoissonRegressor, GammaRegressor and TweedieRegressor. Nominal columns are used as
    codes, never expanded: one coefficient per level, the first level being the reference (0) when there is no penalty.
    Without a penalty there are standard errors and tests (`summary()`), columns that are combinations of others get
    coefficient 0 (warning W203), and a likelihood that has no maximum is reported (warning W202). Weights count as
    repetition. The classes of a nominal target are fitted by LogisticRegression.

    {parameters}

    Attributes
    ----------
    coef_, intercept_ : array with one value per term, and the constant; `term_names_` names the terms
    link_ : name of the link
    deviance_, null_deviance_ : of the model and of the constant model (offset included)
    dispersion_ : 1, the value given, or an estimate
    log_likelihood_, aic_, bic_ : with an estimated dispersion, at the deviance per unit of weight, which counts as a
        parameter, so that families are comparable (as in R); NaN for Tweedie powers without density
    n_observations_, df_residual_ : sum of the weights, and that less the number of coefficients fitted
    coef_se_, intercept_se_, p_values_, intercept_p_value_ : without penalty; infinite error for coefficients left out
    theta_ : negative binomial: theta, given or estimated
    n_iter_ : int, steps taken
    trace_ : with `trace`, objective, largest gradient cosine and step at each iteration

    Examples
    --------
    >>> from assay.models.linear import GLM
    >>> model = GLM(family="poisson").fit([[0.0], [0.0], [1.0], [1.0]], [1.0, 3.0, 4.0, 12.0])
    >>> model.predict([[0.0], [1.0]]).round(6)
    array([2., 8.])
    >>> round(float(model.coef_se_[0]), 6), round(model.deviance_, 4)
    (0.559017, 5.2325)
    """

    _allow_nan = False
    _by_batches = True
    _way_out = "take a sample of the rows or fewer columns"

    family: str = param("gaussian", Choice(*FAMILIES), "Distribution of the target given the columns.")
    link: str = param("auto", Choice("auto", *LINKS), "Link function; 'auto' is identity, logit or log, by family.")
    alpha: float = param(0.0, Real(0), "Strength of the penalty; 0 is maximum likelihood.")
    l1_ratio: float = param(0.0, Real(0, 1), "Share of the penalty that is absolute values: 0 is L2, 1 is L1.")
    penalty_weights: Any = param(
        None, ArrayLike() | Nothing(), "Factor >= 0 on the penalty of each column; 0 leaves it free; None is 1 for all."
    )
    fit_intercept: bool = param(True, Boolean(), "Whether to fit a constant.")
    tweedie_power: float = param(1.5, Real(), "Power of the Tweedie variance function; not between 0 and 1.")
    theta: float | None = param(
        None,
        Real(0, closed="neither") | Nothing(),
        "Negative binomial: variance is mean + mean^2 / theta; None finds it.",
    )
    dispersion: Any = param(
        "auto",
        Choice("auto", "pearson", "deviance") | Real(0, closed="neither"),
        "Dispersion: 'auto' is 1 for Bernoulli, Poisson and negative binomial, and the Pearson estimate for others.",
    )
    categorical_features: Any = categorical_features_param()
    tol: float = param(1e-8, Real(0), "Stop when no column has a larger cosine with the residuals.")
    max_iter: int = param(100, Integer(1), "Most steps.")
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None, exposure: Any = None) -> GLM:
        """Find the coefficients; `offset` adds to the linear predictor, and so does log(exposure) with a log link."""
        kind = self._kind()
        rows, target, weights = self._begin(X, y, sample_weight)
        known = self._known_part(kind, target.shape[0], sample_weight, offset, exposure)
        self._check_target(kind, target, None)
        self._name_terms()
        return self._fit_task(self._task(kind, rows, target, weights, known), None)

    def _kind(self) -> _Kind:
        if isinstance(self.family, str) and self.family == "multinomial":
            raise ParameterError(
                type(self).__name__,
                "parameter 'family'",
                "must be a family with one numeric mean",
                "got 'multinomial'",
                "use LogisticRegression, whose softmax is the multinomial family",
            )
        self._check_parameters()
        family, parameter = self.family, 0.0
        if family == "negative_binomial" and self.theta is not None:
            parameter = float(self.theta)
        if family == "tweedie":
            parameter = float(self.tweedie_power)
            if 0.0 < parameter < 1.0 or parameter < 0.0:
                raise ParameterError(
                    type(self).__name__, "parameter 'tweedie_power'", "must be 0 or at least 1", f"got {parameter:g}"
                )
            family = TWEEDIE_NAMES.get(parameter, family)
        links = FAMILIES[self.family].links if self.family != "tweedie" or family == "tweedie" else ("log", "identity")
        link = links[0] if self.link == "auto" else self.link
        if link not in links and link not in FAMILIES[family].links:
            raise ParameterError(
                type(self).__name__,
                "parameter 'link'",
                f"must suit family '{self.family}'",
                f"got '{link}'",
                f"use one of {', '.join(links)}",
            )
        return _Kind(family, link, parameter)

    def _known_part(
        self, kind: _Kind, n_kept: int, sample_weight: Any, offset: Any, exposure: Any
    ) -> np.ndarray | None:
        """Offset and exposure for the rows that `_begin` kept: those of positive weight."""
        if offset is None and exposure is None:
            return None
        if sample_weight is None or np.ndim(sample_weight) == 0:
            return self._offset(kind, n_kept, offset, exposure)
        kept = np.asarray(sample_weight, dtype=np.float64) > 0
        known = self._offset(kind, kept.shape[0], offset, exposure)
        return None if known is None else known[kept]

    def _offset(self, kind: _Kind, n_rows: int, offset: Any, exposure: Any) -> np.ndarray | None:
        """The known part of the linear predictor, or None."""
        who, total = type(self).__name__, None
        for name, given in (("offset", offset), ("exposure", exposure)):
            if given is None:
                continue
            values = np.ascontiguousarray(np.asarray(given, dtype=np.float64).reshape(-1))
            if values.shape[0] != n_rows:
                raise DataError(who, name, f"must have one value for each of {n_rows} rows", f"got {values.shape[0]}")
            if not np.isfinite(values).all():
                raise DataError(who, name, "must be finite", "got NaN or infinity")
            if name == "exposure":
                if kind.link != "log":
                    raise DataError(
                        who, name, "needs the log link", f"got link '{kind.link}'", "give an offset instead"
                    )
                if not (values > 0).all():
                    raise DataError(who, name, "must be positive", f"got {values.min():g}")
                values = np.log(values)
            total = values if total is None else total + values
        return total

    def _check_target(self, kind: _Kind, target: np.ndarray, weights: np.ndarray | None) -> None:
        """One sentence for targets outside the family's range, and for those whose mean no coefficients reach."""
        family, who = FAMILIES[kind.family], type(self).__name__
        wrong = ~family.holds(target)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            way_out = "choose another family or check the target column"
            raise DataError(
                who, f"y of family '{self.family}'", family.rule, f"got {target[row]:g} at row {row}", way_out
            )
        require_squares(who, target)
        used = target if weights is None else target[weights > 0]
        for edge in (0.0, 1.0) if kind.family == "bernoulli" else (0.0,):
            if family.needs_positive_mean and (used == edge).all():
                raise DataError(
                    who,
                    f"y of family '{self.family}'",
                    f"must not be {edge:g} in every row",
                    way_out="its mean lies on the edge of the family's range, which no coefficients reach",
                )
        if kind.family == "gaussian" and kind.link == "log" and not used.mean() > 0:
            raise DataError(who, "y with the log link", "must have a positive mean", f"got {used.mean():g}")

    def _task(
        self,
        kind: _Kind,
        values: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray | None,
        offset: np.ndarray | None,
    ) -> Task:
        """Numeric columns as they are, nominal ones as level numbers over all of them."""
        dense, codes, starts = self._split(values)
        return Task(
            X=dense,
            codes=codes,
            starts=starts,
            rows=None,
            y=target,
            weights=weights,
            offset=offset,
            family=kind.family,
            link=kind.link,
            parameter=kind.parameter,
            alpha=float(self.alpha),
            l1_ratio=float(self.l1_ratio),
            fit_intercept=bool(self.fit_intercept),
            threads=thread_count(self.n_jobs),
            penalty_weights=self._penalty_factors(self.schema_.nominal),
        )

    def _split(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The numeric columns, the codes of the nominal ones, and the first code of each."""
        schema = self.schema_
        if not schema.nominal.any():
            return values, np.empty((values.shape[0], 0), dtype=np.int32), NO_LEVELS
        counts = schema.n_categories[schema.nominal]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        if isinstance(values, BatchedTable):
            codes = values.values(partial(_level_codes, nominal=schema.nominal, starts=starts))
            return values.columns(np.flatnonzero(~schema.nominal)), codes, starts
        codes = _level_codes(values, schema.nominal, starts)
        return np.ascontiguousarray(values[:, ~schema.nominal]), codes, starts

    def _penalty_factors(self, nominal: np.ndarray) -> np.ndarray | None:
        """Penalty weights of the numeric columns, then of the nominal ones."""
        if self.penalty_weights is None:
            return None
        try:
            factors = np.asarray(self.penalty_weights, dtype=np.float64)
        except (TypeError, ValueError):
            factors = np.array(np.nan)
        if factors.shape != nominal.shape or not ((factors >= 0) & np.isfinite(factors)).all():
            raise ParameterError(
                type(self).__name__,
                "parameter 'penalty_weights'",
                f"must be one finite number >= 0 for each of {nominal.shape[0]} columns",
                f"got {plain(repr(self.penalty_weights))}",
            )
        return np.concatenate([factors[~nominal], factors[nominal]])

    def _fit_task(self, task: Task, start: tuple[np.ndarray, float] | None) -> GLM:
        """Fit and keep what was found; where theta is unknown, coefficients and theta in turn until it stands still."""
        trace, silent, tol = self._new_trace(), Trace(on=False), float(self.tol)
        now, searching = task, task.family == "negative_binomial" and self.theta is None
        if searching:
            now = replace(task, family="poisson")
        start = sample_start(now, tol, int(self.max_iter)) if start is None else start
        try:
            for left in range(_THETA_ROUNDS, -1, -1):
                told = silent if searching else trace
                problem = Problem(now, tol, told)
                if needs_working_sets(now):
                    point, columns = problem.start(start), WorkingSet(problem)
                    while (narrow := columns.grown(point)) is not None:
                        # Few enough columns that the matrix is formed; the rows that matter bound their number.
                        part = Problem(narrow[0], tol, told, MOST_SQUARE)
                        end = damped_newton(part, part.start(narrow[1]), int(self.max_iter))
                        point = problem.at(columns.take(part.solution(end)))
                    solution = columns.solution(point)
                else:
                    # The first point is not held here: its matrix may be large.
                    end = damped_newton(problem, problem.start(start), int(self.max_iter))
                    solution = problem.solution(end, inference=now.alpha == 0.0)
                if not searching:
                    break
                start = solution.coef, solution.intercept
                theta = self._theta(task, _predictor(task.X, task.codes, *start))
                searching = left > 1 and abs(theta - now.parameter) > 1e-9 * theta
                now = replace(task, parameter=theta)
            null = problem.null
            if null is None:
                constant = Problem(now.constant(), 1e-10, silent)
                point = constant.start(None)
                null = constant.null
            if null is None:
                null = constant.solution(damped_newton(constant, point, 100)).loss
        except OutOfRange:
            raise DataError(
                type(self).__name__,
                f"the '{task.link}' link",
                f"finds no coefficients that keep every mean of family '{self.family}' in its range",
                way_out="use the default link" + ("" if self.fit_intercept else " or fit an intercept"),
            ) from None
        self.coef_, self.intercept_, self.n_iter_ = solution.coef, solution.intercept, solution.n_iter
        self.link_ = now.link
        if now.family == "negative_binomial":
            self.theta_ = now.parameter
        self._describe_fit(now, solution, 2.0 * null)
        self._keep_trace(trace)
        self._warn_about(solution)
        return self

    def _theta(self, task: Task, predictor: np.ndarray) -> float:
        """The best theta for the means of a linear predictor, to which an offset is added."""
        y = task.y[task.used]
        weights = np.ones_like(y) if task.weights is None else task.weights[task.used]
        means = LINKS[task.link].inverse(predictor if task.offset is None else predictor + task.offset)
        theta = best_theta(y, means[task.used], weights)
        if np.isfinite(theta):
            return theta
        text = (
            f"{type(self).__name__}: y is not more dispersed than a Poisson target, so that theta has no "
            "finite estimate and was set to 1e6; use family='poisson'."
        )
        warnings.warn(AssayWarning("W204", text), stacklevel=6)
        return 1e6

    def _describe_fit(self, task: Task, solution: Solution, null_deviance: float) -> None:
        """Deviance, dispersion, likelihood, and without a penalty the standard errors."""
        family = FAMILIES[task.family]
        total = task.total()
        estimated = task.family == "negative_binomial" and self.theta is None
        self.deviance_, self.null_deviance_ = 2.0 * solution.loss, null_deviance
        self.n_observations_, self.df_residual_ = total, total - solution.rank
        self.dispersion_, self._known_dispersion_ = self._dispersion(family.one_dispersion, solution)
        y = task.y[task.used]
        weights = np.ones_like(y) if task.weights is None else task.weights[task.used]
        at, free = self._likelihood_dispersion(task.family, total)
        self.log_likelihood_ = family.saturated(y, weights, at, task.parameter) - solution.loss / at
        count = solution.rank + int(estimated) + int(free)
        self.aic_ = -2.0 * self.log_likelihood_ + 2.0 * count
        self.bic_ = -2.0 * self.log_likelihood_ + np.log(total) * count
        for name in ("coef_se_", "intercept_se_", "p_values_", "intercept_p_value_", "covariance_"):
            if hasattr(self, name):
                delattr(self, name)
        if solution.covariance is not None:
            self._infer(solution, task)

    def _likelihood_dispersion(self, family: str, total: float) -> tuple[float, bool]:
        """Where the likelihood is taken, and whether that counts as a parameter: as R's `AIC`, families are comparable.

        Families with a dispersion take the deviance per unit of weight unless it is given; the others have it at 1.
        """
        if family in ("bernoulli", "negative_binomial"):
            return 1.0, False
        if self._known_dispersion_:
            return self.dispersion_, False
        if family == "poisson" and np.isfinite(self.dispersion_):  # a quasi-likelihood
            return self.dispersion_, True
        return max(self.deviance_ / total, 1e-300), True

    def _dispersion(self, one: bool, solution: Solution) -> tuple[float, bool]:
        if self.dispersion == "auto" and one:
            return 1.0, True
        if not isinstance(self.dispersion, str):
            return float(self.dispersion), True
        sum_of_squares = 2.0 * solution.loss if self.dispersion == "deviance" else solution.pearson
        return (sum_of_squares / self.df_residual_ if self.df_residual_ > 0 else np.inf), False

    def _infer(self, solution: Solution, task: Task) -> None:
        assert solution.covariance is not None and solution.spread is not None
        finite = np.isfinite(self.dispersion_)
        self.covariance_ = (self.dispersion_ if finite else 1.0) * solution.covariance
        errors = np.sqrt(self.dispersion_ if finite else 1.0) * solution.spread
        errors = np.append(errors[0], np.where(solution.kept, errors[1:], np.inf))
        if not finite:
            errors = np.full_like(errors, np.inf)
        estimates = np.append(self.intercept_, self.coef_)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.abs(np.where(estimates == 0, 0.0, estimates / errors))
        p_values = 2.0 * self._distribution().sf(ratio)
        self.intercept_se_, self.coef_se_ = float(errors[0]) if self.fit_intercept else 0.0, errors[1:]
        self.intercept_p_value_, self.p_values_ = float(p_values[0]) if self.fit_intercept else 1.0, p_values[1:]

    def _distribution(self) -> Any:
        """Of estimate / error: normal with a known dispersion, Student's t with an estimated one."""
        return stats.norm if self._known_dispersion_ or not self.df_residual_ > 0 else stats.t(self.df_residual_)

    def _name_terms(self) -> None:
        schema = self.schema_
        names = [name for name, nominal in zip(schema.names, schema.nominal) if not nominal]
        for name, categories in zip(schema.names, schema.categories):
            names += [] if categories is None else [f"{name}={label}" for label in categories.tolist()]
        self.term_names_ = np.array(names, dtype=str)

    def _warn_about(self, solution: Solution) -> None:
        who = type(self).__name__
        if solution.dependent.size:
            text = combination_text(who, [self.term_names_[j] for j in solution.dependent])
            warnings.warn(AssayWarning("W203", text), stacklevel=5)
        if solution.status == "separated":
            text = (
                f"{who}: the likelihood has no maximum, since some rows are fitted exactly only by coefficients that "
                "grow without bound (separation); use alpha > 0."
            )
            warnings.warn(AssayWarning("W202", text), stacklevel=5)
        elif solution.status in ("max_iter", "stalled"):
            text = f"{who}: not converged after {solution.n_iter} iterations; raise max_iter or tol."
            warnings.warn(AssayWarning("W201", text), stacklevel=5)

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """Yield one fitted clone per fold: the table is read once, rows are used in place, and with a penalty each
        fold starts from the fit to all rows (which saves steps and does not move the optimum)."""
        if transforms is not None:
            yield from super().fit_folds(X, y, folds, sample_weight, transforms)
            return
        whole: GLM = clone(self)
        kind = whole._kind()
        values, target, _ = whole._begin(X, y)
        weights = check_weights(type(self).__name__, sample_weight, values.shape[0])
        self._check_target(kind, target, weights)
        whole._name_terms()
        task = whole._task(kind, values, target, weights, None)
        start: tuple[np.ndarray, float] | None = None
        if self.alpha > 0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AssayWarning)
                whole._fit_task(task, None)
            start = whole.coef_, whole.intercept_
        everything = np.arange(values.shape[0], dtype=np.int64)
        for train, _ in folds:
            rows = everything[train]
            if weights is not None:
                rows = rows[weights[rows] > 0]
            model: GLM = clone(self)
            copy_columns(whole, model)
            model.schema_, model.term_names_ = whole.schema_, whole.term_names_
            self._check_target(kind, target[rows], None)
            yield model._fit_task(task.only(rows), start)

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        """As `MixedInput`, but missing cells are refused; the columns of a sparse matrix are numbers."""
        chosen = self.categorical_features
        if issparse(X) or isinstance(X, SparseTable):
            return self._read_sparse(X, reset)
        require_table(type(self).__name__, X)
        plain_numbers = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"
        if plain_numbers and (chosen is None or isinstance(chosen, str)):
            values = self._plain_cells(X, reset=reset)
            if values is None:
                values = validate_data(self, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False)
                require_finite(type(self).__name__, values, getattr(self, "feature_names_in_", None))
            if reset:
                count = values.shape[1]
                names = tuple(f"x{j}" for j in range(count))
                self.schema_ = ColumnSchema(names, np.zeros(count, dtype=bool), (None,) * count)
                return values
            if not self.schema_.nominal.any():
                return values
        values = super()._read(X, reset=reset)
        missing = np.isnan(values)
        if missing.any() and not self.schema_.nominal[missing.any(axis=0)].any():
            require_finite(type(self).__name__, values, self.schema_.names)
        if missing.any():
            column = int(np.flatnonzero(missing.any(axis=0) & self.schema_.nominal)[0])
            raise DataError(
                type(self).__name__,
                f"column '{plain(self.schema_.names[column])}'",
                f"holds {int(missing[:, column].sum())} missing values (Input X contains NaN)",
                way_out="fill them or give them a label of their own",
            )
        return values

    def _read_sparse(self, X: Any, reset: bool) -> Any:
        chosen = self.categorical_features
        given = np.asarray([] if chosen is None or isinstance(chosen, str) else chosen)
        if given.any() if given.dtype.kind == "b" else given.size:
            raise DataError(
                type(self).__name__,
                "X as a sparse matrix",
                "must have numbers in all columns",
                "got categorical_features",
                "give a frame",
            )
        table = SparseInput._read(self, X, reset=reset)
        if reset:
            if self.alpha == 0.0:
                require_narrow(type(self).__name__, table, "use alpha > 0")
            names = tuple(f"x{j}" for j in range(table.shape[1]))
            self.schema_ = ColumnSchema(names, np.zeros(len(names), dtype=bool), (None,) * len(names))
        elif self.schema_.nominal.any():
            raise DataError(
                type(self).__name__, "X", "must be a table with the nominal columns of fit", "got a sparse matrix"
            )
        return table

    def predict_linear(self, X: Any, offset: Any = None, exposure: Any = None) -> np.ndarray:
        """The linear predictor of each row; a level that was not seen in `fit` adds 0."""
        check_is_fitted(self)
        values = self._read(X, reset=False)
        kind = _Kind(self.family, self.link_, 0.0)
        known = self._offset(kind, values.shape[0], offset, exposure)
        predictor = _predictor(*self._split(values)[:2], self.coef_, self.intercept_)
        return predictor if known is None else predictor + known

    def predict(self, X: Any, offset: Any = None, exposure: Any = None) -> np.ndarray:
        """The mean of the target in each row."""
        predictor = self.predict_linear(X, offset, exposure)
        return LINKS[self.link_].inverse(predictor)

    def confidence_intervals(self, level: float = 0.95) -> np.ndarray:
        """Wald intervals of the coefficients, one row each (low, high): intercept first if fitted, then the terms."""
        check_is_fitted(self)
        self._require_inference()
        if not 0 < level < 1:
            raise ParameterError(
                type(self).__name__, "parameter 'level'", "must be between 0 and 1", f"got {plain(repr(level))}"
            )
        first = 0 if self.fit_intercept else 1
        estimates = np.append(self.intercept_, self.coef_)[first:]
        half = float(self._distribution().ppf(0.5 + level / 2)) * np.append(self.intercept_se_, self.coef_se_)[first:]
        return np.column_stack([estimates - half, estimates + half])

    def _require_inference(self) -> None:
        if not hasattr(self, "coef_se_"):
            raise ParameterError(
                type(self).__name__,
                "parameter 'alpha'",
                "must be 0 for standard errors and tests",
                f"got {self.alpha:g}",
                "a penalised fit has no such distribution theory; use the bootstrap",
            )

    def summary(self, level: float = 0.95) -> GlmSummary:
        """The coefficient table and the quality of the fit, to print or to show in a notebook."""
        intervals = self.confidence_intervals(level)
        first = 0 if self.fit_intercept else 1
        theta = f" (theta = {self.theta_:.6g})" if self.family == "negative_binomial" else ""
        names = ["(intercept)", *self.term_names_.tolist()][first:]
        estimates = np.append(self.intercept_, self.coef_)[first:]
        errors = np.append(self.intercept_se_, self.coef_se_)[first:]
        p_values = np.append(self.intercept_p_value_, self.p_values_)[first:]
        rows = tuple(
            CoefficientRow(name, float(b), float(e), float(b / e) if e > 0 else 0.0, float(p), float(low), float(high))
            for name, b, e, p, (low, high) in zip(names, estimates, errors, p_values, intervals, strict=True)
        )
        return GlmSummary(
            rows=rows,
            level=level,
            statistic="z" if self._known_dispersion_ else "t",
            title=f"{self.family.replace('_', ' ')}{theta}, {self.link_.replace('_', ' ')} link",
            n_observations=self.n_observations_,
            df_residual=self.df_residual_,
            dispersion=self.dispersion_,
            deviance=self.deviance_,
            null_deviance=self.null_deviance_,
            log_likelihood=self.log_likelihood_,
            aic=self.aic_,
            bic=self.bic_,
        )

    def view(self) -> Coefficients:
        """The coefficients."""
        check_is_fitted(self)
        names = self.term_names_.tolist()
        return Coefficients(names=names, values=[self.coef_.tolist()], intercept=[self.intercept_])

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Eight passes; a nominal column counts as one."""
        width = n_features + 1.0
        cells = float(n_rows) * width
        seconds = 1e-3 + 8 * (cells * (1.5e-9 + 1e-10 * width) + 2e-8 * n_rows + 1e-10 * width**3)
        return Cost(seconds=seconds, bytes=8.0 * (cells + 8.0 * n_rows + 24.0 * width**2))


def _level_codes(values: np.ndarray, nominal: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Numbers of the levels over all nominal columns; the last stands for levels not seen in fit."""
    local = values[:, nominal]
    return np.where(local >= 0, local + starts[:-1], starts[-1]).astype(np.int32)


def _predictor(X: np.ndarray | SparseTable, codes: np.ndarray, coef: np.ndarray, intercept: float) -> np.ndarray:
    columns = X.shape[1]
    predictor = X @ coef[:columns] + intercept
    if codes.shape[1]:
        levels = np.append(coef[columns:], 0.0)
        predictor = predictor + levels[codes].sum(axis=1)
    return predictor
