"""Ridge regression in the space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.utils.validation import check_is_fitted

from ...base.cost import Cost
from ...base.errors import ParameterError, plain
from ...base.estimator import Regressor
from ...base.parameters import ArrayLike, Boolean, Real, param
from ...base.threads import one_blas_thread, thread_count
from ...base.usual_parameters import n_jobs_param
from .kernel_choice import KernelMethod
from .training import kept_places


class KernelRidge(KernelMethod, Regressor):
    """Least squares with a squared penalty in the space of a kernel, in closed form for every penalty at once.

    Minimises sum of weight times (y - w'phi(x) - b)^2 + alpha |w|^2; with the linear kernel it is ridge regression. One
    eigendecomposition of the centred kernel matrix gives the fits of all penalties and their leave-one-out errors; of a
    list of penalties the one with the smallest is taken. A row of weight v counts as v rows, of which one is left out.

    Attributes
    ----------
    alpha_ : float, the penalty, chosen if several were given
    alphas_ : array of the penalties, rising
    loo_mse_ : array (n_alphas,), mean squared leave-one-out error of each penalty, over all targets
    loo_predictions_ : array like y, what the fit without a row says of it
    dual_coef_ : array (n_rows,) or (n_rows, n_targets), coefficients of the kernels of the training rows
    intercept_ : float or array (n_targets,)
    effective_parameters_ : float, trace of the hat matrix

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.kernel_machines import KernelRidge
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = KernelRidge(alpha=[1e-3, 1.0, 1e3]).fit(X, np.sin(X[:, 0]))
    >>> model.alpha_, bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.01)
    (0.001, True)
    """

    _multi_output = True
    _way_out = "use SVMRegressor(n_landmarks=500), Ridge, or take a sample of the rows"

    alpha: Any = param(
        1.0,
        Real(0, closed="neither") | ArrayLike(),
        "Strength of the penalty. A list: the one with the smallest leave-one-out error is taken.",
    )
    fit_intercept: bool = param(True, Boolean(), "Whether to fit a constant, which is never penalised.")
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Decompose the kernel matrix, score every penalty and keep the best."""
        rows, target, weights = self._begin(X, y, sample_weight)
        alphas, place = self._alphas(), kept_places(sample_weight, rows.shape[0])
        if self._precomputed and place.shape[0] < rows.shape[1] and rows.shape[0] == place.shape[0]:
            rows = np.ascontiguousarray(rows[:, place])
        share = np.ones(rows.shape[0]) if weights is None else weights
        with one_blas_thread():
            gram = self._gram(self._learn_kernel(rows, share), rows)
            coef, said, constant = self._fit_gram(gram, target.reshape(rows.shape[0], -1), share, alphas)
        several = target.ndim == 2
        self.dual_coef_, self.loo_predictions_ = (coef, said) if several else (coef[:, 0], said[:, 0])
        self.intercept_ = constant if several else float(constant[0])
        self._rows_ = np.empty((0, 0)) if self._precomputed else rows.copy()
        self._places_ = place
        return self

    def _fit_gram(
        self, gram: np.ndarray, targets: np.ndarray, share: np.ndarray, alphas: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """The fits of all penalties in the axes of the kernel matrix, centred and weighted: coefficients, leave-one-out
        predictions and constants of the best."""
        mass = share / share.sum()
        middle, mean = np.zeros(gram.shape[0]), np.zeros(targets.shape[1])
        centred = gram
        if self.fit_intercept:
            middle, mean = gram @ mass, mass @ targets
            centred = gram - middle[:, None] - middle + mass @ middle
        root = np.sqrt(share)
        values, axes = eigh(root[:, None] * centred * root, overwrite_a=True, check_finite=False)
        values = np.maximum(values, 0.0)
        given = root[:, None] * (targets - mean)
        along = axes.T @ given
        constant = mass[:, None] if self.fit_intercept else np.zeros((share.shape[0], 1))
        squares, coef, said = axes**2, along, targets
        self.alphas_, self.loo_mse_ = alphas, np.empty(alphas.shape[0])
        for k, alpha in enumerate(alphas):
            kept = alpha / (values + alpha)
            residual = (axes @ (kept[:, None] * along)) / root[:, None]
            # The share of a row in its own fit; one of `share` equal rows is left out.
            leverage = ((squares @ (1.0 - kept))[:, None] + constant) / share[:, None]
            left_out = residual / np.maximum(1.0 - leverage, np.finfo(float).tiny)
            self.loo_mse_[k] = float(np.average((left_out**2).mean(axis=1), weights=share))
            if k == 0 or self.loo_mse_[k] < self.loo_mse_[:k].min():
                self.alpha_, said = float(alpha), targets - left_out
                coef = root[:, None] * (axes @ (along / (values + alpha)[:, None]))
                self.effective_parameters_ = float((1.0 - kept).sum()) + float(self.fit_intercept)
        return coef, said, mean - middle @ coef

    def _alphas(self) -> np.ndarray:
        try:
            given = np.unique(np.asarray(self.alpha, dtype=np.float64))
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.ndim != 1 or not given.size or not ((given > 0) & np.isfinite(given)).all():
            raise ParameterError(
                type(self).__name__,
                "parameter 'alpha'",
                "must be a number > 0 or hold such",
                f"got {plain(repr(self.alpha))}",
            )
        return given

    def predict(self, X: Any) -> np.ndarray:
        """w'phi(x) + b of each row."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        coef = self.dual_coef_.reshape(self._places_.shape[0], -1)
        centres = self._places_ if self._precomputed else self._rows_
        sums = self._kernel_sums(rows, centres, coef, False, thread_count(self.n_jobs))
        return sums[:, 0] + self.intercept_ if self.dual_coef_.ndim == 1 else sums + self.intercept_

    def chosen(self) -> dict[str, int | float | str]:
        """The penalty, where several were given."""
        check_is_fitted(self)
        return {"alpha": self.alpha_} if self.alphas_.shape[0] > 1 else {}

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One eigendecomposition of the kernel matrix, and a product with it for each penalty."""
        pairs = float(n_rows) ** 2
        return Cost(seconds=1e-4 + 1e-9 * pairs * n_rows + 1e-9 * pairs * n_features, bytes=40.0 * pairs)

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """A kernel value for each training row."""
        pairs = float(n_queries) * n_rows
        return Cost(seconds=5e-10 * pairs * (n_features + 20.0), bytes=16.0 * n_queries * n_features + 5e7)
