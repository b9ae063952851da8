"""Ridge regression in closed form: one Gram matrix, then any number of penalties, folds and left-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lstsq, svd
from sklearn.base import clone

from ... import _kernels
from ...base.cost import Cost
from ...base.errors import ParameterError, plain
from ...base.estimator import Fold, check_weights
from ...base.folds import (
    FoldTransform,
    Transforms,
    are_complementary,
    copy_columns,
    cut_at,
    fold_blocks,
    prepared,
    row_lists,
    split_all_rows,
    through_folds,
)
from ...base.parameters import ArrayLike, Boolean, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param
from ...numeric.moments import inverse_deviation
from ...numeric.solves import cholesky, exact_solve, few_blas_threads, reduce_rows
from .gram import LEAST_SHARE, Centred, FiniteByGram, GramStatistics, complement
from .predictions import LinearNumbers
from .sparse import SparseInput
from .sparse_ridge import solve_by_products, solve_in_dual
from .tables import require_narrow, table_of

# Below this reciprocal condition number of the scaled normal equations, the rows themselves are reduced by QR.
SAFE_CONDITION = 1e-8
# Above this one, a solution needs no second look.
WELL_CONDITIONED = 1e-6


class Ridge(SparseInput, FiniteByGram, LinearNumbers):
    """Least squares with a squared penalty on the coefficients, solved in closed form from one Gram matrix.

    Minimises sum_i w_i (y_i - b0 - x_i b)^2 + alpha |b|^2; the intercept b0 is not penalised. The objective is that of
    scikit-learn's `Ridge`. Ill-conditioned problems are solved by QR of the rows in extended precision, problems with
    more columns than rows in the dual, and with `alpha=0` dependent columns share the effect (smallest |b|).

    Attributes
    ----------
    coef_ : array (n_features,) or (n_targets, n_features)
    intercept_ : float or array (n_targets,)

    Examples
    --------
    >>> from assay.models.linear import Ridge
    >>> model = Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.coef_.round(4), round(model.intercept_, 4)
    (array([0.6667]), 0.3333)
    """

    _folds_in_one_pass = True

    _multi_output = True
    _by_batches = True
    _way_out = "take a sample of the rows or select columns"

    _first = "alpha"
    alpha: Any = param(1.0, Real(0) | ArrayLike(), "Strength of the penalty, one number or one per target.")
    fit_intercept: bool = param(True, Boolean(), "Whether to fit an intercept, which is never penalised.")
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ridge:
        """Solve the penalised normal equations."""
        rows, target, weights = self._begin(X, y, sample_weight)
        targets = target.reshape(rows.shape[0], -1)
        alphas = self._alphas(targets.shape[1])
        if min(rows.shape) > table_of(rows).most_square:
            threads = thread_count(self.n_jobs)
            return self._keep(
                *solve_by_products(rows, targets, weights, alphas, self.fit_intercept, threads), target.ndim
            )
        if rows.shape[0] < rows.shape[1]:
            self._require_finite(rows)
            rows = rows[:] if table_of(rows).streamed else rows
            return self._keep(*_solve_wide(rows, targets, weights, alphas, self.fit_intercept), target.ndim)
        statistics = GramStatistics.of(
            rows, targets, weights, fit_intercept=self.fit_intercept, threads=thread_count(self.n_jobs)
        )
        if not _kernels.all_finite(statistics.sums):
            self._require_finite(rows)
        moments = statistics.centred()
        coefficients = _solve_moments(moments, alphas)
        if coefficients is None:
            coefficients = _solve_rows(rows, targets, weights, alphas, self.fit_intercept, moments)
        return self._keep(coefficients, moments, target.ndim)

    def _alphas(self, n_targets: int) -> np.ndarray:
        if type(self.alpha) is float and 0.0 <= self.alpha < np.inf:
            return np.array([self.alpha] * n_targets)
        try:
            alphas = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64))
        except (TypeError, ValueError):
            alphas = np.array([np.nan])
        fits = alphas.ndim == 1 and alphas.shape[0] in (1, n_targets)
        if not fits or not (np.isfinite(alphas).all() and (alphas >= 0).all()):
            raise ParameterError(
                type(self).__name__,
                "parameter 'alpha'",
                f"must be one number >= 0 or one for each of {n_targets} targets",
                f"got {plain(repr(self.alpha))}",
            )
        return np.broadcast_to(alphas, (n_targets,))

    def _keep(self, coefficients: np.ndarray, moments: Centred, target_ndim: int) -> Ridge:
        """Store coefficients (n_features, n_targets) in scikit-learn's shapes."""
        intercept = moments.y_mean - moments.x_mean @ coefficients
        if target_ndim == 1:
            self.coef_ = coefficients[:, 0].copy()
            self.intercept_ = float(intercept[0]) if self.fit_intercept else 0.0
        else:
            self.coef_ = np.ascontiguousarray(coefficients.T)
            self.intercept_ = intercept if self.fit_intercept else np.zeros_like(intercept)
        return self

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Ridge]:
        """One fitted clone per fold from one Gram matrix, less that of the rows left out."""
        template = clone(self)
        rows, target, _ = template._begin(X, y)
        template._require_finite(rows)
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        if rows.shape[1] > min(table_of(rows).most_square, rows.shape[0]):
            yield from super().fit_folds(X, y, folds, sample_weight, transforms)
            return
        targets = target.reshape(rows.shape[0], -1)
        alphas, threads = self._alphas(targets.shape[1]), thread_count(self.n_jobs)
        whole = GramStatistics.of(rows, targets, weights, fit_intercept=self.fit_intercept, threads=threads)
        for train, test, through in through_folds(folds, transforms):
            model, coefficients = clone(template), None
            rest = rest_of(whole, rows, targets, weights, train, test, threads, through)
            if rest is not None:
                moments = rest.centred()
                coefficients = _solve_moments(moments, alphas)
            if coefficients is None:
                part = prepared(X, train, through)
                yield model.fit(part, target[train], None if weights is None else weights[train])
            else:
                copy_columns(template, model, through)
                yield model._keep(coefficients, moments, target.ndim)

    def _predict_folds(
        self, X: np.ndarray, y: Any, folds: Sequence[Fold], transforms: Transforms = None
    ) -> Iterator[np.ndarray | None] | None:
        """What the models of `fit_folds` say of their test rows, for one target on columns that are scaled at most."""
        template = clone(self)
        rows, target, _ = template._begin(X, y)
        if table_of(rows).by_column or target.ndim != 1 or not self.fit_intercept:
            return None
        scaled = transforms is None or transforms.scale(rows.shape[1])
        if not scaled or rows.shape[1] > min(table_of(rows).most_square, rows.shape[0]):
            return None
        template._require_finite(rows)
        return template._said_of_folds(rows, target, folds, transforms)

    def _said_of_folds(
        self, rows: np.ndarray, target: np.ndarray, folds: Sequence[Fold], transforms: Transforms
    ) -> Iterator[np.ndarray | None]:
        """The predictions of the test rows of each fold; None where its sums lost digits or are near singular."""
        threads, alpha = thread_count(self.n_jobs), float(self._alphas(1)[0])
        whole = GramStatistics.of(rows, target[:, None], None, fit_intercept=True, threads=threads)
        cells, one_class = np.column_stack([rows, target]), np.zeros(rows.shape[0], dtype=np.int32)
        for some in fold_blocks(folds):
            tests = row_lists(folds[k][1] for k in some)
            grams = _kernels.fold_grams(cells, one_class, 1, whole.shift[None], tests, threads)
            rest = whole.sums - grams.reshape(len(tests), *whole.sums.shape)
            with np.errstate(all="ignore"):  # what is no number is not sure
                slopes, means, sure = _solve_stacked(whole, rest, _factors(transforms, some), alpha)
            sure &= split_all_rows([folds[k] for k in some], rows.shape[0], threads) > 0
            sure &= np.array([rows.shape[0] - test.shape[0] >= rows.shape[1] for test in tests])
            kept = [test for test, holds in zip(tests, sure, strict=True) if holds]
            answers = iter(cut_at(_kernels.fold_lines(rows, kept, means[sure], slopes[sure], threads), kept))
            yield from (next(answers) if holds else None for holds in sure)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One read of X, half a multiply-add for each pair of columns, and a Cholesky factor."""
        width = n_features + n_outputs + 1.0
        if n_rows < n_features:
            return Cost(seconds=1e-10 * n_rows**2 * width + 1e-10 * n_rows**3, bytes=16.0 * n_rows * width)
        return Cost(
            seconds=1e-3 + n_rows * width * (1e-9 + 3e-11 * width) + 2e-10 * width**3,
            bytes=8.0 * n_rows * width + 32.0 * width**2,
        )


@dataclass(frozen=True)
class RidgePath:
    """Coefficients for each penalty: `coef` (n_alphas, n_targets, n_features), `intercept` (n_alphas, n_targets)."""

    alphas: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray


@dataclass(frozen=True)
class LeaveOneOut:
    """Leave-one-out results for each penalty, from one fit.

    `residuals` (n_rows, n_alphas) are y_i minus the prediction of the model fitted without row i; `mean_squared_error`
    their weighted mean square, `gcv` the generalised cross-validation score, `degrees_of_freedom` the trace of the hat
    matrix. A row of weight w is left out whole. Where a row alone decides its own fit the residual is infinite.
    """

    alphas: np.ndarray
    residuals: np.ndarray
    mean_squared_error: np.ndarray
    gcv: np.ndarray
    degrees_of_freedom: np.ndarray

    @property
    def best_alpha(self) -> float:
        """The penalty of smallest leave-one-out error."""
        return float(self.alphas[np.argmin(self.mean_squared_error)])


def ridge_path(
    X: Any, y: Any, alphas: Any, *, sample_weight: Any = None, fit_intercept: bool = True, n_jobs: int | None = None
) -> RidgePath:
    """Ridge coefficients for every penalty in `alphas` from one eigendecomposition.

    >>> path = ridge_path([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    >>> path.coef[:, 0, 0].round(3)
    array([1.   , 0.667, 0.5  ])
    """
    spectrum = _Spectrum.of(X, y, alphas, sample_weight, fit_intercept, n_jobs)
    gains = _shrink(spectrum.values, spectrum.alphas)
    coef = np.einsum("pk,ka,kq->aqp", spectrum.vectors, gains, spectrum.vectors.T @ spectrum.moments.cross)
    intercept = spectrum.moments.y_mean - coef @ spectrum.moments.x_mean
    return RidgePath(spectrum.alphas, coef, intercept if fit_intercept else np.zeros_like(intercept))


def loo_path(
    X: Any, y: Any, alphas: Any, *, sample_weight: Any = None, fit_intercept: bool = True, n_jobs: int | None = None
) -> LeaveOneOut:
    """Leave-one-out residuals for every penalty at once, by the hat matrix: e_i / (1 - h_i).

    >>> loo = loo_path([[0.0], [1.0], [2.0], [4.0]], [0.0, 1.0, 2.0, 3.0], [0.1, 1.0])
    >>> loo.residuals.shape, loo.best_alpha
    ((4, 2), 1.0)
    """
    spectrum = _Spectrum.of(X, y, alphas, sample_weight, fit_intercept, n_jobs)
    moments, weights = spectrum.moments, spectrum.weights
    if spectrum.targets.shape[1] != 1:
        raise ParameterError("loo_path", "y", "must be one target", f"got {spectrum.targets.shape[1]}")
    gains = _shrink(spectrum.values, spectrum.alphas)
    weighted_slopes = gains * (spectrum.vectors.T @ moments.cross)
    residuals = np.empty((spectrum.rows.shape[0], gains.shape[1]))
    constant = 1.0 / moments.weight if fit_intercept else 0.0
    leverage_sum, total = np.zeros(gains.shape[1]), np.zeros(gains.shape[1])
    for begin in range(0, spectrum.rows.shape[0], 8192):
        part = slice(begin, begin + 8192)
        scores = (table_of(spectrum.rows).written(part) - moments.x_mean) @ spectrum.vectors
        weight = np.ones(scores.shape[0]) if weights is None else weights[part]
        leverage = weight[:, None] * (constant + scores**2 @ gains)
        error = spectrum.targets[part] - moments.y_mean - scores @ weighted_slopes
        leverage_sum += leverage.sum(axis=0)
        free = 1.0 - leverage
        residuals[part] = np.divide(error, free, out=np.full_like(error, np.inf), where=free > 1e-10)
        total += weight @ error**2
    mean_square = np.average(residuals**2, axis=0, weights=weights)
    gcv = total / moments.weight / np.maximum(1.0 - leverage_sum / moments.weight, 1e-12) ** 2
    return LeaveOneOut(spectrum.alphas, residuals, mean_square, gcv, leverage_sum)


@dataclass(frozen=True)
class _Spectrum:
    """Data of a path: X'X = V diag(values) V' around the mean, and what is needed to use it."""

    rows: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None
    alphas: np.ndarray
    moments: Centred
    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        alphas: Any,
        sample_weight: Any,
        fit_intercept: bool,
        n_jobs: int | None,
        moments: Centred | None = None,
    ) -> _Spectrum:
        reader = Ridge(alpha=0.0, fit_intercept=fit_intercept, n_jobs=n_jobs)
        rows, target, weights = reader._begin(X, y, sample_weight)
        reader._require_finite(rows)
        penalties = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        if penalties.ndim != 1 or not (np.isfinite(penalties).all() and (penalties >= 0).all()):
            raise ParameterError("ridge_path", "parameter 'alphas'", "must be a list of finite numbers >= 0")
        targets = target.reshape(rows.shape[0], -1)
        if rows.shape[0] < rows.shape[1]:
            require_narrow("ridge_path", rows, "use Ridge for one penalty at a time")
            values, vectors, moments = _wide_spectrum(rows, targets, weights, fit_intercept)
            return cls(rows, targets, weights, penalties, moments, values, vectors)
        if moments is None:
            moments = GramStatistics.of(
                rows, targets, weights, fit_intercept=fit_intercept, threads=thread_count(n_jobs)
            ).centred()
        with few_blas_threads(rows.shape[1]):
            values, vectors = np.linalg.eigh(moments.gram)
        if penalties.min() < 1e-10 * max(values[-1], 0.0):
            # The Gram matrix squares the condition number: small eigenvalues come from the rows instead.
            factor = reduce_rows(rows, targets[:, :0], weights, fit_intercept=False, centre=moments.x_mean)
            values, vectors = _squared_spectrum(factor, max(rows.shape))
        return cls(rows, targets, weights, penalties, moments, np.maximum(values, 0.0), vectors)


def _squared_spectrum(matrix: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and vectors of matrix' matrix, zero where they are rounding noise."""
    _, singular, transposed = svd(matrix, full_matrices=False, check_finite=False)
    values = np.where(singular > singular[0] * size * np.finfo(float).eps, singular**2, 0.0)
    return values, transposed.T


def _wide_spectrum(
    rows: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, fit_intercept: bool
) -> tuple[np.ndarray, np.ndarray, Centred]:
    centred, right, moments = _centre(table_of(rows).small(), targets, weights, fit_intercept)
    values, vectors = _squared_spectrum(centred, max(rows.shape))
    return values, vectors, replace(moments, cross=centred.T @ right)


def _shrink(values: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """1 / (value + alpha), zero in directions where the rows do not vary: there is nothing to fit."""
    varies = values > 0
    return varies[:, None] / (np.where(varies, values, 1.0)[:, None] + alphas)


def _solve_moments(moments: Centred, alphas: np.ndarray) -> np.ndarray | None:
    """Coefficients (n_features, n_targets) from the normal equations, or None if they are not safe to solve."""
    coefficients = np.empty_like(moments.cross)
    penalties = set(alphas.tolist())
    for alpha in penalties:
        factor = cholesky(moments.gram, lift=alpha)
        if factor is None or not factor.reciprocal_condition > SAFE_CONDITION:
            return None
        chosen = alphas == alpha if len(penalties) > 1 else slice(None)
        coefficients[:, chosen] = factor.solve(moments.cross[:, chosen])
    return coefficients if _kernels.all_finite(coefficients) else None


_Factors = np.ndarray | str | None
"""What folds multiply their columns by: a row each; "deviation" stands for one over the deviation, None for nothing."""


def _factors(transforms: Transforms, places: range) -> _Factors:
    """What some of the folds multiply their columns by."""
    if transforms is None:
        return None
    if transforms.standardise:
        return "deviation"
    some = [transforms.folds[k] for k in places]
    return np.array([np.ones(one.width) if one.inverse is None else one.inverse for one in some])


def _solve_stacked(
    whole: GramStatistics, rest: np.ndarray, factors: _Factors, alpha: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slopes of the columns as they are, means of columns and target, and which of them are sure, for folds whose sums
    are stacked in `rest`; the penalty is on the slopes of the columns times `factors`."""
    p = rest.shape[1] - 2
    weight, first = rest[:, -1, -1], rest[:, -1, :-1]
    means = whole.shift + first / weight[:, None]
    centred = rest[:, :-1, :-1] - first[:, :, None] * (first / weight[:, None])[:, None, :]
    squares = np.diagonal(centred, axis1=1, axis2=2)
    sure = (weight > 0) & (squares >= LEAST_SHARE * whole.variation()).all(axis=1)
    if isinstance(factors, str):
        factor = inverse_deviation(np.sqrt(squares[:, :p] / weight[:, None]), means[:, :p])
    else:
        factor = np.ones((rest.shape[0], p)) if factors is None else factors
    penalised = centred[:, :p, :p] * factor[:, :, None] * factor[:, None, :]
    penalised[:, np.arange(p), np.arange(p)] += alpha
    size = 1.0 / np.sqrt(np.diagonal(penalised, axis1=1, axis2=2))
    scaled = penalised * size[:, :, None] * size[:, None, :]
    sure &= np.isfinite(scaled).all(axis=(1, 2))
    scaled[~sure] = np.eye(p)
    try:
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        return np.zeros((rest.shape[0], p)), means, np.zeros_like(sure)
    condition = np.abs(scaled).sum(axis=2).max(axis=1) * np.abs(inverse).sum(axis=2).max(axis=1)
    sure &= condition * WELL_CONDITIONED < 1.0
    right = (centred[:, :p, p] * factor * size)[:, :, None]
    slopes = inverse @ right
    slopes += inverse @ (right - scaled @ slopes)  # what is left is solved once more: the digits of a factorisation
    return slopes[:, :, 0] * size * factor, means, sure


def _solve_rows(
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None,
    alphas: np.ndarray,
    fit_intercept: bool,
    moments: Centred,
) -> np.ndarray:
    """Coefficients by QR of the rows with the penalty stacked below; smallest norm where alpha is zero."""
    coefficients = np.empty((rows.shape[1], targets.shape[1]))
    for k, alpha in enumerate(alphas):
        if alpha > 0:
            factor = reduce_rows(
                rows,
                targets[:, [k]] - moments.y_mean[k],
                weights,
                fit_intercept=fit_intercept,
                penalty=alpha,
                centre=moments.x_mean,
            )
            solution = exact_solve(factor[:, :-1], factor[:, -1].copy(), None, intercept=fit_intercept, tolerance=1e-15)
            coefficients[:, k] = solution.coefficients[int(fit_intercept) :]
        else:
            right = targets[:, [k]] - moments.y_mean[k]
            factor = reduce_rows(rows, right, weights, fit_intercept=False, centre=moments.x_mean)
            coefficients[:, k] = lstsq(factor[:, :-1], factor[:, -1], check_finite=False)[0]
    return coefficients


def _solve_wide(
    rows: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, alphas: np.ndarray, fit_intercept: bool
) -> tuple[np.ndarray, Centred]:
    """More columns than rows: b = X'(XX' + alpha I)^{-1} y, an n x n problem."""
    if table_of(rows).by_column:
        return solve_in_dual(rows, targets, weights, alphas, fit_intercept)
    centred, right, moments = _centre(rows, targets, weights, fit_intercept)
    coefficients = np.empty((rows.shape[1], targets.shape[1]))
    kernel = centred @ centred.T
    for alpha in np.unique(alphas):
        chosen = alphas == alpha
        factor = cholesky(kernel, lift=alpha) if alpha > 0 else None
        if factor is not None and factor.reciprocal_condition > SAFE_CONDITION:
            coefficients[:, chosen] = centred.T @ factor.solve(right[:, chosen])
        else:
            left, singular, transposed = svd(centred, full_matrices=False, check_finite=False)
            kept = singular > singular[0] * max(rows.shape) * np.finfo(float).eps
            gain = np.where(kept, singular / np.where(kept, singular**2 + alpha, 1.0), 0.0)
            coefficients[:, chosen] = transposed.T @ (gain[:, None] * (left.T @ right[:, chosen]))
    return coefficients, moments


def _centre(
    rows: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, fit_intercept: bool
) -> tuple[np.ndarray, np.ndarray, Centred]:
    """Rows and targets around their means and scaled by sqrt(w), with the means in an otherwise empty `Centred`."""
    total = float(rows.shape[0]) if weights is None else float(weights.sum())
    x_mean, y_mean = np.zeros(rows.shape[1]), np.zeros(targets.shape[1])
    if fit_intercept:
        x_mean = np.average(rows, axis=0, weights=weights)
        y_mean = np.average(targets, axis=0, weights=weights)
    scale = 1.0 if weights is None else np.sqrt(weights)[:, None]
    empty = np.zeros((0, 0))
    moments = Centred(total, x_mean, y_mean, empty, empty, np.zeros(0))
    return (rows - x_mean) * scale, (targets - y_mean) * scale, moments


def rest_of(
    whole: GramStatistics,
    rows: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
    threads: int,
    through: FoldTransform | None = None,
) -> GramStatistics | None:
    """The statistics of the training rows by subtraction, seen through the fold's preparation; None if that is not
    possible or not accurate."""
    width = rows.shape[1] if through is None else through.width
    if train.shape[0] < width or not are_complementary(train, test, rows.shape[0]):
        return None
    left_out = GramStatistics.of(
        rows,
        targets,
        weights,
        fit_intercept=whole.fit_intercept,
        threads=threads,
        shift=whole.shift,
        subset=test,
    )
    return complement(whole, left_out, through)
