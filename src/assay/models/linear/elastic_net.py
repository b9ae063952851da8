"""Lasso and elastic net: least squares with a penalty that sets coefficients to zero; single fits and whole paths."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ...base.cost import Cost
from ...base.errors import AssayWarning, ParameterError, plain
from ...base.estimator import Fold, check_weights
from ...base.folds import Transforms, copy_columns, through_folds
from ...base.parameters import ArrayLike, Boolean, Choice, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param, trace_param
from ...numeric.solves import reduce_rows
from .elastic_net_solver import (
    MomentSource,
    Paths,
    Penalties,
    Source,
    column_source,
    prefers_moments,
    sweeps_columns,
    table_prefers_moments,
    whole_source,
)
from .free_columns import without_free
from .gram import FiniteByGram, GramStatistics
from .predictions import LinearNumbers
from .ridge import Ridge, rest_of
from .sparse import SparseInput
from .tables import require_narrow, table_of


class SparseLinear(SparseInput, FiniteByGram, LinearNumbers):
    """What lasso and elastic net share, cross-validated or not: parameters, penalty weights, prediction."""

    _way_out = "take a sample of the rows or select columns"

    fit_intercept: bool = param(True, Boolean(), "Whether to fit an intercept, which is never penalised.")
    positive: bool = param(False, Boolean(), "Whether coefficients must not be negative.")
    penalty_weights: Any = param(
        None,
        ArrayLike() | Choice("adaptive") | Nothing(),
        "Factor on the penalty of each column (0 leaves it free, inf leaves it out), or 'adaptive' for 1 / |ridge "
        "coefficient|.",
    )
    tol: float = param(1e-4, Real(0), "Stop when the duality gap is at most tol times the mean square of centred y.")
    max_iter: int = param(1000, Integer(1), "Most sweeps over the working set for each penalty.")
    n_jobs: int | None = n_jobs_param()

    def _l1_ratio(self) -> float:
        return 1.0

    def _penalty_weights(self, source: Source, problem: int, n_features: int) -> np.ndarray:
        """One factor per column, from the parameter or from a ridge fit to the problem."""
        if self.penalty_weights is None:
            return np.ones(n_features)
        if isinstance(self.penalty_weights, str):
            with np.errstate(divide="ignore"):
                return 1.0 / np.abs(source.ridge(problem))
        try:
            weights = np.asarray(self.penalty_weights, dtype=np.float64)
        except (TypeError, ValueError):
            weights = np.array(np.nan)
        if weights.shape != (n_features,) or not (weights >= 0).all():
            raise ParameterError(
                type(self).__name__,
                "parameter 'penalty_weights'",
                f"must be one number >= 0 for each of {n_features} columns",
                f"got {plain(repr(self.penalty_weights))}",
                "use inf to leave a column out",
            )
        if self.positive and (weights == 0).any():
            raise ParameterError(
                type(self).__name__,
                "parameter 'penalty_weights'",
                "must be > 0 with positive=True",
                way_out="give free columns a small weight",
            )
        return weights

    def _frees(self) -> bool:
        """Whether some column is to be free of the penalty."""
        given = self.penalty_weights
        return given is not None and not isinstance(given, str) and bool((np.asarray(given) == 0).any())

    def _penalties(self, alphas: Any, weights: np.ndarray, l1_ratio: float, **how: bool) -> Penalties:
        return Penalties(
            np.asarray(alphas, dtype=np.float64),
            l1_ratio,
            weights,
            bool(self.positive),
            float(self.tol),
            int(self.max_iter),
            who=type(self).__name__,
            **how,
        )

    def _warn_if_open(self, paths: Paths, alphas: np.ndarray) -> None:
        if paths.converged.all():
            return
        problem, point = np.argwhere(~paths.converged)[0]
        text = (
            f"{type(self).__name__}: {int((~paths.converged).sum())} of {paths.converged.size} fits stopped after "
            f"max_iter={self.max_iter} sweeps with an open duality gap (first: alpha={alphas[point]:.4g}, "
            f"gap {paths.gaps[problem, point]:.3g}); raise max_iter or tol, or standardise the columns."
        )
        warnings.warn(AssayWarning("W121", text), stacklevel=5)


class _OnePenalty(SparseLinear):
    """A fit for one alpha."""

    _by_batches = True
    _learned = {
        "coef_": "array (n_features,)",
        "intercept_": "float",
        "dual_gap_": "float, how far the objective can be above its minimum",
        "n_iter_": "int, sweeps of coordinate descent, those at larger penalties on the way included",
        "penalty_weights_": "array (n_features,), the penalty factors if any were asked for",
        "trace_": "with `trace`, the objective after every sweep",
    }

    _first = "alpha"
    alpha: float = param(1.0, Real(0), "Strength of the penalty; 0 is least squares.")
    trace: bool = trace_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Find the coefficients by coordinate descent, to rounding where few columns are active."""
        rows, target, weights = self._begin(X, y, sample_weight)
        if self._is_smooth():
            return self._fit_smooth(rows, target, weights)
        source = whole_source(
            rows, target, weights, self.fit_intercept, thread_count(self.n_jobs), self._require_finite, single=True
        )
        return self._fit_problem(source, 0, rows.shape[1])

    def _is_smooth(self) -> bool:
        """Whether there is a closed form: no penalty, or a squared one alone (the kernel takes it with `positive`)."""
        return self.alpha == 0 or (self._l1_ratio() == 0 and not self.positive and not self._frees())

    def _fit_problem(self, source: Source, problem: int, n_features: int) -> Any:
        """Solve a single problem of the source and keep the result."""
        weights = self._penalty_weights(source, problem, n_features)
        rest, factors = without_free(source, weights)
        penalties = self._penalties([self.alpha], factors, self._l1_ratio(), refine=True, trace=bool(self.trace))
        return self._keep(rest.solve(penalties), weights, problem)

    def _keep(self, paths: Paths, weights: np.ndarray, problem: int) -> Any:
        self.coef_ = paths.coef(problem)[0]
        self.intercept_ = float(paths.intercept[problem, 0])
        self.dual_gap_ = float(paths.gaps[problem, 0])
        self.n_iter_ = int(paths.sweeps[problem, 0])
        if self.penalty_weights is not None:
            self.penalty_weights_ = weights
        trace = self._new_trace()
        for value in paths.objective:
            trace.record("sweep", alpha=float(self.alpha), objective=float(value))
        self._keep_trace(trace)
        self._warn_if_open(paths, np.array([self.alpha]))
        return self

    def _fit_smooth(self, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None) -> Any:
        """Ridge or least squares in closed form (non-negative least squares by active sets)."""
        self._require_finite(rows)
        threads = thread_count(self.n_jobs)
        total = float(rows.shape[0]) if weights is None else float(weights.sum())
        factors = np.ones(rows.shape[1])
        if self.penalty_weights is not None:
            source = whole_source(rows, target, weights, self.fit_intercept, threads, self._require_finite)
            self.penalty_weights_ = factors = self._penalty_weights(source, 0, rows.shape[1])
        scale = 1.0 / np.sqrt(factors) if self.alpha > 0 else np.where(np.isfinite(factors), 1.0, 0.0)
        if self.alpha == 0 and self.positive:
            require_narrow(type(self).__name__, rows, "use alpha > 0")
            self.coef_, self.intercept_ = _non_negative(rows * scale, target, weights, self.fit_intercept)
        else:
            closed = Ridge(alpha=float(self.alpha) * total, fit_intercept=self.fit_intercept, n_jobs=self.n_jobs)
            closed.fit(rows * scale, target, weights)
            self.coef_, self.intercept_ = closed.coef_ * scale, float(closed.intercept_)
        self.dual_gap_, self.n_iter_ = 0.0, 1
        trace = self._new_trace()
        trace.record("closed form", alpha=float(self.alpha))
        self._keep_trace(trace)
        return self

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """One fitted clone per fold from one Gram matrix less that of the rows left out, or from one set of columns.

        Equal to separate fits to rounding where the last step is exact, else within the tolerance."""
        if self._is_smooth():
            yield from super().fit_folds(X, y, folds, sample_weight, transforms)
            return
        template = clone(self)
        rows, target, _ = template._begin(X, y)
        template._require_finite(rows)
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        threads = thread_count(self.n_jobs)
        if table_prefers_moments(rows):
            targets = target[:, None]
            whole = GramStatistics.of(rows, targets, weights, fit_intercept=self.fit_intercept, threads=threads)
            for train, test, through in through_folds(folds, transforms):
                rest = rest_of(whole, rows, targets, weights, train, test, threads, through)
                if rest is None:
                    rest = GramStatistics.of(
                        rows, targets, weights, fit_intercept=self.fit_intercept, threads=threads, subset=train
                    ).through(through)
                model = clone(template)
                copy_columns(template, model, through)
                source = MomentSource([rest.centred(averaged=True)], self.fit_intercept, threads)
                yield model._fit_problem(source, 0, model.n_features_in_)
            return
        if transforms is not None:
            yield from super().fit_folds(X, y, folds, sample_weight, transforms)
            return
        row_weights = np.ones(rows.shape[0]) if weights is None else weights
        columns = column_source(rows).of(rows, target, row_weights[None], self.fit_intercept, threads)
        for train, _ in folds:
            counted = np.bincount(train, weights=row_weights[train], minlength=rows.shape[0])
            model = clone(template)
            copy_columns(template, model)
            yield model._fit_problem(columns.only(0, counted), 0, rows.shape[1])

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A Gram matrix and sweeps over it, or a copy by column and some reads of it."""
        width = n_features + 2.0
        if prefers_moments(n_rows, n_features) and not sweeps_columns(n_rows, n_features):
            return Cost(
                seconds=1e-3 + n_rows * width * (1e-9 + 3e-11 * width) + 2e-8 * width**2,
                bytes=8.0 * n_rows * width + 40.0 * width**2,
            )
        return Cost(seconds=1e-3 + 2e-8 * n_rows * width, bytes=16.0 * n_rows * width)


class Lasso(_OnePenalty):
    """Least squares with an absolute penalty, which sets coefficients to zero.

    Minimises 1/(2 W) sum_i w_i (y_i - b0 - x_i b)^2 + alpha |b|_1 with W = sum w: the objective of scikit-learn's
    `Lasso`. Coordinate descent on working sets stops by the duality gap; then, with up to 200 active coefficients
    (1,000 where rows are fewer than columns), these are solved for exactly, so that the optimality conditions hold to
    rounding. `alpha=0` gives least squares in closed form.

    {parameters}

    Examples
    --------
    >>> from assay.models.linear import Lasso
    >>> model = Lasso(alpha=0.5).fit([[0.0, 1.0], [1.0, -1.0], [2.0, -1.0], [3.0, 1.0]], [0.0, 2.0, 4.0, 6.0])
    >>> model.coef_.round(3), round(model.intercept_, 3)
    (array([1.6, 0. ]), 0.6)
    """


class ElasticNet(_OnePenalty):
    """Least squares with an absolute and a squared penalty: selects columns and shares effects among correlated ones.

    Minimises 1/(2 W) sum_i w_i (y_i - b0 - x_i b)^2 + alpha l1_ratio |b|_1 + alpha (1 - l1_ratio) / 2 |b|^2 with
    W = sum w: the objective of scikit-learn's `ElasticNet`. With `penalty_weights` both penalties of a column are
    multiplied. Solved as `Lasso`; with `l1_ratio=0` it is ridge regression with penalty W alpha, in closed form.

    {parameters}

    Examples
    --------
    >>> from assay.models.linear import ElasticNet
    >>> model = ElasticNet(alpha=0.5).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [0.0, 2.0, 4.0, 6.0])
    >>> model.coef_.round(3), round(model.intercept_, 3)
    (array([0.818, 0.818]), 0.545)
    """

    l1_ratio: float = param(0.5, Real(0, 1), "Share of the absolute penalty: 1 is lasso, 0 ridge.")

    def _l1_ratio(self) -> float:
        return float(self.l1_ratio)


@dataclass(frozen=True)
class RegularisationPath:
    """Solutions along a path: `coef` (n_alphas, n_features), and intercept, duality gap and sweeps for each alpha."""

    alphas: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    dual_gaps: np.ndarray
    n_iter: np.ndarray


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: Any = 100,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    positive: bool = False,
    penalty_weights: Any = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    n_jobs: int | None = None,
) -> RegularisationPath:
    """The elastic net for a descending list of penalties, each started from the one before.

    `alphas` is the list, or how many to space evenly in the logarithm from the smallest penalty at which every
    coefficient is zero down to `eps` times it.

    >>> path = enet_path([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], l1_ratio=1.0, alphas=[0.5, 1 / 3, 0.1])
    >>> path.coef[:, 0].round(3)
    array([0.25, 0.5 , 0.85])
    """
    model = ElasticNet(
        l1_ratio=l1_ratio, fit_intercept=fit_intercept, positive=positive, penalty_weights=penalty_weights
    )
    model.set_params(tol=tol, max_iter=max_iter, n_jobs=n_jobs)
    rows, target, weights = model._begin(X, y, sample_weight)
    source = whole_source(rows, target, weights, fit_intercept, thread_count(n_jobs), model._require_finite)
    factors = model._penalty_weights(source, 0, rows.shape[1])
    rest, factors = without_free(source, factors)
    grid = alpha_grid("enet_path", alphas, eps, rest.cross(0), factors, float(l1_ratio), positive)
    paths = rest.solve(model._penalties(grid, factors, float(l1_ratio)))
    model._warn_if_open(paths, grid)
    return RegularisationPath(grid, paths.coef(0), paths.intercept[0], paths.gaps[0], paths.sweeps[0])


def lasso_path(X: Any, y: Any, **options: Any) -> RegularisationPath:
    """`enet_path` with `l1_ratio=1`.

    >>> lasso_path([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], alphas=[1.0, 0.5]).coef[:, 0].round(3)
    array([0.  , 0.25])
    """
    return enet_path(X, y, l1_ratio=1.0, **options)


def alpha_grid(
    who: str, alphas: Any, eps: float, cross: np.ndarray, weights: np.ndarray, l1_ratio: float, positive: bool
) -> np.ndarray:
    """Descending penalties: those given, or `alphas` of them down from the one at which every coefficient is zero."""
    if isinstance(alphas, (int, np.integer)) and not isinstance(alphas, bool) and alphas >= 1:
        if l1_ratio == 0:
            raise ParameterError(
                who,
                "parameter 'alphas'",
                "must be a list of numbers when l1_ratio is 0",
                way_out="no penalty makes every coefficient of ridge regression zero",
            )
        pull = cross if positive else np.abs(cross)
        top = max(float((pull / weights).max(initial=0.0)) / l1_ratio, float(np.finfo(float).resolution))
        return np.geomspace(top, top * eps, int(alphas))
    try:
        given = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    except (TypeError, ValueError):
        given = np.array([np.nan])
    if given.ndim != 1 or given.shape[0] == 0 or not (np.isfinite(given).all() and (given > 0).all()):
        raise ParameterError(
            who,
            "parameter 'alphas'",
            "must be an integer >= 1 or a list of finite numbers > 0",
            f"got {plain(repr(alphas))}",
        )
    return np.sort(given)[::-1].copy()


def _non_negative(
    rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, fit_intercept: bool
) -> tuple[np.ndarray, float]:
    """Least squares with coefficients >= 0, from the triangular factor of the centred rows."""
    from scipy.optimize import nnls  # which no prediction needs

    x_mean, y_mean = np.zeros(rows.shape[1]), 0.0
    if fit_intercept:
        x_mean, y_mean = table_of(rows).means(weights), float(np.average(target, weights=weights))
    factor = reduce_rows(rows, (target - y_mean)[:, None], weights, fit_intercept=False, centre=x_mean)
    lengths = np.linalg.norm(factor[:, :-1], axis=0)
    scale = np.where(lengths > 0, 1.0 / np.where(lengths > 0, lengths, 1.0), 0.0)
    coefficients = nnls(factor[:, :-1] * scale, factor[:, -1])[0] * scale
    return coefficients, y_mean - float(x_mean @ coefficients) if fit_intercept else 0.0
