"""Ridge regression with the penalty chosen by leave-one-out, generalised cross-validation or folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import (
    ArrayLike,
    Boolean,
    Choice,
    Cost,
    ParameterError,
    Regressor,
    n_jobs_param,
    param,
    plain,
    thread_count,
)
from .elastic_net_cv import cv_param, make_folds
from .elastic_net_solver import FoldStatistics
from .gram import FiniteByGram
from .ridge import Ridge, _shrink, _Spectrum, coefficient_view, ridge_path
from .sparse import SparseInput, dense_rows, require_narrow


class RidgeCV(SparseInput, FiniteByGram, Regressor):
    """Ridge regression whose penalty is chosen by validation, for all penalties from one eigendecomposition.

    The objective is that of `Ridge`. With `cv=None` each row is predicted by the fit without it, through the hat matrix
    (a row of weight w counts as w rows, of which one is left out); with folds the Gram matrix of a training part is
    that of all rows less that of its test part.

    {parameters}

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
    cv: Any = cv_param("one row at a time")
    criterion: str = param(
        "loo", Choice("loo", "gcv"), "Without folds: leave-one-out error, or generalised cross-validation."
    )
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RidgeCV:
        """Score every penalty and fit the best to all rows."""
        rows, target, weights = self._begin(X, y, sample_weight)
        self._require_finite(rows)
        require_narrow(type(self).__name__, rows, "use Ridge and cross-validate its alpha, or LassoCV")
        alphas = self._alphas()
        if self.cv is None:
            self.mse_path_ = self._score_rows(rows, target, weights, alphas)
        else:
            folds = make_folds(type(self).__name__, self.cv, rows, target, sample_weight)
            self.mse_path_ = self._score_folds(rows, target, weights, alphas, folds)
        best = int(np.argmin(self.mse_path_))
        self.alpha_, self.best_score_ = float(alphas[best]), -float(self.mse_path_[best])
        chosen = Ridge(alpha=self.alpha_, fit_intercept=self.fit_intercept, n_jobs=self.n_jobs)
        chosen.fit(rows, target, weights)
        self.coef_, self.intercept_ = chosen.coef_, chosen.intercept_
        return self

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

    def _score_rows(
        self, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, alphas: np.ndarray
    ) -> np.ndarray:
        """Leave-one-out mean squared error (or GCV score) of each penalty: residual / (1 - leverage of one copy)."""
        spectrum = _Spectrum.of(rows, target, alphas, weights, self.fit_intercept, self.n_jobs)
        moments = spectrum.moments
        gains = _shrink(spectrum.values, alphas)
        slopes = gains * (spectrum.vectors.T @ moments.cross)
        constant = 1.0 / moments.weight if self.fit_intercept else 0.0
        squares, leverages = np.zeros(alphas.shape[0]), np.zeros(alphas.shape[0])
        for begin in range(0, rows.shape[0], 2048):
            part = slice(begin, begin + 2048)
            scores = (dense_rows(rows, part) - moments.x_mean) @ spectrum.vectors
            weight = np.ones(scores.shape[0]) if weights is None else weights[part]
            error = scores @ slopes
            np.subtract((target[part] - moments.y_mean[0])[:, None], error, out=error)
            np.square(scores, out=scores)
            leverage = scores @ gains
            leverage += constant
            if self.criterion == "gcv":
                leverages += weight @ leverage
            else:
                np.maximum(1.0 - leverage, 1e-10, out=leverage)
                error /= leverage
            squares += weight @ np.square(error, out=error)
        if self.criterion == "gcv":
            return squares / moments.weight / np.maximum(1.0 - leverages / moments.weight, 1e-12) ** 2
        return squares / moments.weight

    def _score_folds(
        self, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, alphas: np.ndarray, folds: list[Any]
    ) -> np.ndarray:
        """Mean squared error of each penalty over all test rows."""
        threads = thread_count(self.n_jobs)
        statistics = None
        if rows.shape[0] >= rows.shape[1]:
            statistics = FoldStatistics.of(
                rows, target, weights, folds, fit_intercept=self.fit_intercept, threads=threads
            )
        total, counted = np.zeros(alphas.shape[0]), 0.0
        for k, (train, test) in enumerate(folds):
            weight = np.ones(test.shape[0]) if weights is None else weights[test]
            errors = None
            if statistics is not None:
                moments = statistics.train[k].centred()
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

    def predict(self, X: Any) -> np.ndarray:
        """The linear prediction of each row."""
        check_is_fitted(self)
        return self._read(X, reset=False) @ self.coef_ + self.intercept_

    def view(self) -> dict[str, Any]:
        """The coefficients, ready to draw."""
        check_is_fitted(self)
        return coefficient_view(self, self.coef_[None], np.array([self.intercept_]))

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A Gram matrix, its eigenvectors, and a product with the rows for all penalties at once."""
        small, large = float(min(n_rows, n_features)), float(max(n_rows, n_features))
        points = float(np.size(self.alphas)) if self.cv is None else 1.0
        return Cost(
            seconds=1e-3 + 1e-10 * large * small * (small + points) + 2e-9 * small**3,
            bytes=24.0 * n_rows * (n_features + 2.0) + 40.0 * small**2,
        )
