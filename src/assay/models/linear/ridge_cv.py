"""Ridge regression with the penalty chosen by leave-one-out, generalised cross-validation or folds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base.cells import require_squares
from ...base.cost import Cost
from ...base.cv import cv_param
from ...base.errors import DataError, ParameterError, plain
from ...base.estimator import Fold, check_weights
from ...base.folds import Transforms, copy_columns, through_folds
from ...base.parameters import ArrayLike, Boolean, Choice, param
from ...base.threads import one_blas_thread, thread_count
from ...base.usual_parameters import n_jobs_param
from .fold_statistics import ChosenRows, ChunkedGram, FoldStatistics
from .gram import FiniteByGram, GramStatistics
from .predictions import LinearNumbers
from .ridge import Ridge, _shrink, _solve_moments, _Spectrum, rest_of, ridge_path
from .sparse import SparseInput, SparseTable
from .tables import require_narrow, table_of, validation_folds

WIDE = "use Ridge and cross-validate its alpha, or LassoCV"
_SMALL = 2**28
"""Products of a row's cells, over all rows, up to which BLAS works on one thread."""
_BLOCK = 512
"""Rows that are scored at once, so that they stay in a second-level cache."""


class RidgeCV(SparseInput, FiniteByGram, LinearNumbers):
    """Ridge regression whose penalty is chosen by validation, for all penalties from one eigendecomposition.

    The objective is that of `Ridge`. With `cv=None` each row is predicted by the fit without it, through the hat matrix
    (a row of weight w counts as w rows, of which one is left out); with folds the Gram matrix of a training part is
    that of all rows less that of its test part.

    Attributes
    ----------
    alpha_ : float, the chosen penalty
    best_score_ : float, minus its mean squared error of validation
    mse_path_ : array (n_alphas,), the error of each penalty (or the GCV score)
    coef_, intercept_ : the fit of the chosen penalty to all rows

    Examples
    --------
    >>> from assay.models.linear import RidgeCV
    >>> model = RidgeCV(alphas=[0.01, 1.0, 100.0]).fit([[0.0], [1.0], [2.0], [4.0]], [0.0, 1.0, 2.0, 3.0])
    >>> model.alpha_, model.coef_.round(3)
    (1.0, array([0.667]))
    """

    _way_out = "take a sample of the rows or select columns"

    alphas: Any = param((0.1, 1.0, 10.0), ArrayLike(), "Penalties to choose from, each > 0.")
    fit_intercept: bool = param(True, Boolean(), "Whether to fit an intercept, which is never penalised.")
    cv: Any = cv_param(None, "one row at a time")
    criterion: str = param(
        "loo", Choice("loo", "gcv"), "Without folds: leave-one-out error, or generalised cross-validation."
    )
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RidgeCV:
        """Score every penalty and fit the best to all rows."""
        rows, target, weights = self._begin(X, y, sample_weight)
        self._require_finite(rows)
        _require_square_cells(type(self).__name__, rows)
        require_narrow(type(self).__name__, rows, WIDE)
        folds = None if self.cv is None else validation_folds(type(self).__name__, self.cv, rows, target, sample_weight)
        require_squares(type(self).__name__, target)
        known: GramStatistics | FoldStatistics | None = None
        if rows.shape[0] >= rows.shape[1]:
            shared: Any = {"fit_intercept": self.fit_intercept, "threads": thread_count(self.n_jobs)}
            if folds is None:
                known = GramStatistics.of(rows, target[:, None], weights, **shared)
            else:
                known = FoldStatistics.of(rows, target, weights, folds, **shared)
        return self._fit_inner(rows, target, weights, folds, known)

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[RidgeCV]:
        """One fitted clone per fold: the Gram matrix of its rows is that of all rows less that of the rows left out,
        and those of folds within it come from fixed blocks of rows."""
        template = clone(self)
        rows, target, _ = template._begin(X, y)
        template._require_finite(rows)
        _require_square_cells(type(self).__name__, rows)
        require_narrow(type(self).__name__, rows, WIDE)
        who, threads = type(self).__name__, thread_count(self.n_jobs)
        weights = check_weights(who, sample_weight, rows.shape[0])
        targets = target[:, None]
        whole, chunks = None, None
        if self.cv is None and rows.shape[0] >= rows.shape[1]:
            whole = GramStatistics.of(rows, targets, weights, fit_intercept=self.fit_intercept, threads=threads)
        elif self.cv is not None and ChunkedGram.pays_for(rows):
            chunks = ChunkedGram.of(rows, targets, weights, fit_intercept=self.fit_intercept, threads=threads)
        for train, test, through in through_folds(folds, transforms):
            given = None if weights is None else weights[train]
            used = train if given is None else train[given > 0]
            part, of_part = ChosenRows(rows, used, through), target[used]
            inner = None if self.cv is None else validation_folds(who, self.cv, part, of_part, given)
            model: RidgeCV = clone(template)
            known: GramStatistics | FoldStatistics | None = None
            copy_columns(template, model, through)
            if whole is not None:
                known = rest_of(whole, rows, targets, weights, train, test, threads, through)
            elif chunks is not None and inner is not None and part.shape[0] >= part.shape[1]:
                known = chunks.folds(used, inner)
                known = None if known is None else known.through(through)
            taken = part if isinstance(known, FoldStatistics) else part[:]
            yield model._fit_inner(taken, of_part, None if weights is None else weights[used], inner, known)

    def _fit_inner(
        self,
        rows: np.ndarray | SparseTable | ChosenRows,
        target: np.ndarray,
        weights: np.ndarray | None,
        folds: list[Fold] | None,
        known: GramStatistics | FoldStatistics | None = None,
    ) -> RidgeCV:
        """Score, choose and fit; `known` are the statistics of the rows (of the folds, if there are folds)."""
        require_squares(type(self).__name__, target)
        alphas, moments = self._alphas(), None
        small = rows.shape[0] * rows.shape[1] * (rows.shape[1] + alphas.shape[0]) <= _SMALL
        # Its threads would only wait for each other, spinning.
        with one_blas_thread() if small else contextlib.nullcontext():
            if folds is None:
                moments = known.centred() if isinstance(known, GramStatistics) else None
                spectrum = _Spectrum.of(rows[:], target, alphas, weights, self.fit_intercept, self.n_jobs, moments)
                self.mse_path_ = self._score_rows(spectrum, weights)
                moments = spectrum.moments if rows.shape[0] >= rows.shape[1] else None
            else:
                statistics = known if isinstance(known, FoldStatistics) else None
                if statistics is None and rows.shape[0] >= rows.shape[1]:
                    shared: Any = {"fit_intercept": self.fit_intercept, "threads": thread_count(self.n_jobs)}
                    statistics = FoldStatistics.of(rows[:], target, weights, folds, **shared)
                self.mse_path_ = self._score_folds(rows, target, weights, alphas, folds, statistics)
                moments = None if statistics is None else statistics.whole.centred()
        best = int(np.argmin(self.mse_path_))
        self.alpha_, self.best_score_ = float(alphas[best]), -float(self.mse_path_[best])
        chosen = Ridge(alpha=self.alpha_, fit_intercept=self.fit_intercept, n_jobs=self.n_jobs)
        coefficients = None if moments is None else _solve_moments(moments, np.array([self.alpha_]))
        if moments is None or coefficients is None:
            chosen.fit(rows[:], target, weights)
        else:
            chosen._keep(coefficients, moments, 1)
        self.coef_, self.intercept_ = chosen.coef_, chosen.intercept_
        return self

    def chosen(self) -> dict[str, int | float | str]:
        """The penalty."""
        check_is_fitted(self)
        return {"alpha": float(self.alpha_)}

    def _alphas(self) -> np.ndarray:
        try:
            alphas = np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))
        except (TypeError, ValueError):
            alphas = np.array([np.nan])
        if alphas.ndim != 1 or alphas.shape[0] == 0 or not (np.isfinite(alphas).all() and (alphas > 0).all()):
            raise ParameterError(
                type(self).__name__,
                "parameter 'alphas'",
                "must be a list of finite numbers > 0",
                f"got {plain(repr(self.alphas))}",
            )
        return alphas

    def _score_rows(self, spectrum: _Spectrum, weights: np.ndarray | None) -> np.ndarray:
        """Leave-one-out mean squared error (or GCV score) of each penalty: residual / (1 - leverage of one copy)."""
        rows, target, alphas = spectrum.rows, spectrum.targets[:, 0], spectrum.alphas
        moments = spectrum.moments
        gains = _shrink(spectrum.values, alphas)
        slopes = gains * (spectrum.vectors.T @ moments.cross)
        constant = 1.0 / moments.weight if self.fit_intercept else 0.0
        squares, leverages = np.zeros(alphas.shape[0]), np.zeros(alphas.shape[0])
        count = min(_BLOCK, rows.shape[0])  # rows whose room is used for all
        widths = rows.shape[1], spectrum.vectors.shape[1], alphas.shape[0], alphas.shape[0]
        room = [np.empty((count, width)) for width in widths]
        for begin in range(0, rows.shape[0], _BLOCK):
            part = slice(begin, begin + _BLOCK)
            given = table_of(rows).written(part)
            centred, scores, error, leverage = (cells[: given.shape[0]] for cells in room)
            np.subtract(given, moments.x_mean, out=centred)
            np.matmul(centred, spectrum.vectors, out=scores)
            weight = np.ones(scores.shape[0]) if weights is None else weights[part]
            np.matmul(scores, slopes, out=error)
            np.subtract((target[part] - moments.y_mean[0])[:, None], error, out=error)
            np.square(scores, out=scores)
            np.matmul(scores, gains, out=leverage)
            leverage += constant
            if self.criterion == "gcv":
                leverages += weight @ leverage
            else:
                np.subtract(1.0, leverage, out=leverage)
                np.maximum(leverage, 1e-10, out=leverage)
                error /= leverage
            squares += weight @ np.square(error, out=error)
        if self.criterion == "gcv":
            return squares / moments.weight / np.maximum(1.0 - leverages / moments.weight, 1e-12) ** 2
        return squares / moments.weight

    def _score_folds(
        self,
        rows: np.ndarray | SparseTable | ChosenRows,
        target: np.ndarray,
        weights: np.ndarray | None,
        alphas: np.ndarray,
        folds: list[Fold],
        statistics: FoldStatistics | None,
    ) -> np.ndarray:
        """Mean squared error of each penalty over all test rows."""
        total, counted = np.zeros(alphas.shape[0]), 0.0
        for k, (train, test) in enumerate(folds):
            weight = np.ones(test.shape[0]) if weights is None else weights[test]
            errors = None
            if statistics is not None:
                moments = statistics.train(k).centred()
                values, vectors = np.linalg.eigh(moments.gram)
                if alphas.min() >= 1e-10 * values[-1]:
                    gains = _shrink(np.maximum(values, 0.0), alphas)
                    coef = (vectors @ (gains * (vectors.T @ moments.cross))).T
                    intercept = moments.y_mean[0] - coef @ moments.x_mean if self.fit_intercept else np.zeros(len(coef))
                    errors = statistics.test_errors(k, coef, intercept)
                    if not statistics.errors_hold(k, errors):
                        errors = None
            if errors is None:
                path = ridge_path(
                    rows[train],
                    target[train],
                    alphas,
                    sample_weight=None if weights is None else weights[train],
                    fit_intercept=self.fit_intercept,
                    n_jobs=self.n_jobs,
                )
                residual = target[test, None] - rows[test] @ path.coef[:, 0].T - path.intercept[:, 0]
                errors = np.average(residual**2, axis=0, weights=weight)
            total += weight.sum() * errors
            counted += weight.sum()
        return total / counted

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A Gram matrix, its eigenvectors, and a product with the rows for all penalties at once."""
        small, large = float(min(n_rows, n_features)), float(max(n_rows, n_features))
        points = float(np.size(self.alphas)) if self.cv is None else 1.0
        return Cost(
            seconds=1e-3 + 1e-10 * large * small * (small + points) + 2e-9 * small**3,
            bytes=24.0 * n_rows * (n_features + 2.0) + 40.0 * small**2,
        )


def _require_square_cells(who: str, rows: np.ndarray | SparseTable) -> None:
    cells = table_of(rows).cells
    if max(cells.max(initial=0.0), -cells.min(initial=0.0)) > 1e150:
        raise DataError(who, "X", "is too large to square in float64", way_out="scale the columns")
