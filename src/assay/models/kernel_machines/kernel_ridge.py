"""Ridge regression in the space of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base.cost import Cost, check_cost
from ...base.errors import ParameterError, plain
from ...base.estimator import Fold, Regressor, check_weights
from ...base.folds import Transforms
from ...base.parameters import ArrayLike, Boolean, Real, param
from ...base.threads import one_blas_thread, thread_count
from ...base.usual_parameters import n_jobs_param
from ..linear.on_demand import Inferring, OnDemand
from .kernel_choice import KernelMethod
from .ridge_folds import Decomposition, RidgeFit, eigen_fits, ridge_fits
from .training import kept_places


class KernelRidge(Inferring, KernelMethod, Regressor):
    """Least squares with a squared penalty in the space of a kernel, in closed form for every penalty at once.

    Minimises sum of weight times (y - w'phi(x) - b)^2 + alpha |w|^2; with the linear kernel it is ridge regression. One
    eigendecomposition of the centred kernel matrix gives the fits of all penalties and their leave-one-out errors, a
    Cholesky factor those of a single one, whose leave-one-out errors are worked out when they are first asked for; of
    a list of penalties the one with the smallest error is taken. A row of weight v counts as v rows, of which one is
    left out.

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
        """Factorise the kernel matrix, score every penalty and keep the best."""
        rows, target, weights = self._begin(X, y, sample_weight)
        alphas, kept = self._alphas(), kept_places(sample_weight, rows.shape[0])
        if self._precomputed and kept.shape[0] < rows.shape[1] and rows.shape[0] == kept.shape[0]:
            rows = np.ascontiguousarray(rows[:, kept])
        share = np.ones(rows.shape[0]) if weights is None else weights
        targets, ask_later = target.reshape(rows.shape[0], -1), False
        self._forget()
        with one_blas_thread():
            kernel = self._learn_kernel(rows, share)
            if self._of_folds is None:
                gram, _ = self._source(kernel, rows, exact=True).of(None)
                fits = ridge_fits(kernel, gram, targets, share, alphas, bool(self.fit_intercept), leverages=False)
                ask_later = fits is not None and fits[0].leverage is None
                if fits is None:
                    gram, _ = self._source(kernel, rows, exact=True).of(None)
                    fits = eigen_fits(gram, targets, share, alphas, bool(self.fit_intercept))
            else:
                shared, place = self._of_folds
                fits = shared.fits(self, place[kept], targets, share, alphas)
        several = target.ndim == 2
        self.alphas_, self.alpha_, found = alphas, float(alphas[0]), fits[0]
        if ask_later:
            self._unasked = kernel, target.copy(), share.copy(), bool(self.fit_intercept)
        else:
            found = self._choose(fits, target, share)
        self.dual_coef_ = found.coef if several else found.coef[:, 0]
        self.intercept_ = found.constant if several else float(found.constant[0])
        self._rows_ = np.empty((0, 0)) if self._precomputed else rows.copy()
        self._places_ = kept
        return self

    loo_mse_, loo_predictions_, effective_parameters_ = OnDemand(), OnDemand(), OnDemand()

    def _infer(self) -> None:
        """The leave-one-out errors of a single penalty, from the factor once more: a model for predictions alone does
        without the third of the work, and without keeping a matrix."""
        unasked = vars(self).get("_unasked")
        if unasked is None:
            return
        kernel, target, share, intercept = unasked
        targets = target.reshape(share.shape[0], -1)
        with one_blas_thread():
            gram, _ = self._source(kernel, self._rows_, exact=True).of(None)
            fits = ridge_fits(kernel, gram, targets, share, self.alphas_, intercept)
        assert fits is not None
        self._choose(fits, target, share)
        self.__dict__.pop("_unasked", None)

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("_unasked", None)

    def _choose(self, fits: list[RidgeFit], target: np.ndarray, share: np.ndarray) -> RidgeFit:
        """The fit of the penalty with the smallest leave-one-out error; the errors are kept."""
        best, targets, errors = fits[0], target.reshape(share.shape[0], -1), np.empty(len(fits))
        for k, (alpha, found) in enumerate(zip(self.alphas_, fits, strict=True)):
            assert found.leverage is not None
            residual = alpha * found.coef / share[:, None]
            # The share of a row in its own fit; one of `share` equal rows is left out.
            own = (found.leverage / share)[:, None]
            left_out = residual / np.maximum(1.0 - own, np.finfo(float).tiny)
            errors[k] = float(np.average((left_out**2).mean(axis=1), weights=share))
            if k == 0 or errors[k] < errors[:k].min():
                best, self.alpha_ = found, float(alpha)
                self.loo_predictions_ = (targets - left_out).reshape(target.shape)
                self.effective_parameters_ = float(found.leverage.sum())
        self.loo_mse_ = errors
        return best

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """One fitted clone per fold. Folds with the kernel in common come from one eigendecomposition of it; those
        whose gamma is taken from their rows share the distances; others, and those with preparations of their own,
        are fitted one by one."""
        chosen = list(folds)
        template = clone(self)
        if transforms is not None or not chosen or not self._in_common():
            yield from super().fit_folds(X, y, chosen, sample_weight, transforms)
            return
        template._check_parameters()
        rows = template._read(X, reset=True)
        check_cost(type(self).__name__, self.estimate_cost(rows.shape[0], rows.shape[1]), self._way_out)
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        shared = _SharedKernel(template, rows, np.ones(rows.shape[0]) if weights is None else weights)
        yield from self._each_fold(template, rows, y, chosen, weights, shared)

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
        return Cost(seconds=1e-4 + 1.2e-10 * pairs * n_rows + 5e-10 * pairs * (n_features + 20.0), bytes=40.0 * pairs)

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """A kernel value for each training row."""
        pairs = float(n_queries) * n_rows
        return Cost(seconds=5e-10 * pairs * (n_features + 20.0), bytes=16.0 * n_queries * n_features + 5e7)


class _SharedKernel:
    """What folds of one table have in common: the matrix of the kernel or of distances, and its decomposition."""

    def __init__(self, model: KernelRidge, rows: np.ndarray, share: np.ndarray):
        known = model._common_matrix(rows)
        assert known is not None
        self.kind, self.matrix = known
        self.share = share
        self._whole: Decomposition | None = None

    def fits(
        self, model: KernelRidge, place: np.ndarray, targets: np.ndarray, share: np.ndarray, alphas: np.ndarray
    ) -> list[RidgeFit]:
        """The fits of all penalties to the rows `place`."""
        intercept = bool(model.fit_intercept)
        counted = self.share > 0
        left_out = counted.copy()
        left_out[place] = False
        fits: list[RidgeFit] = []
        in_order = place.shape[0] == counted.sum() - left_out.sum() and bool((np.diff(place) > 0).all())
        if self.kind == "gram" and in_order and left_out.sum() <= place.shape[0]:
            if self._whole is None:
                part = self.matrix if counted.all() else self.matrix[np.ix_(counted, counted)]
                self._whole = Decomposition.of(part, self.share[counted], intercept)
            whole = np.zeros((self.share.shape[0], targets.shape[1]))
            whole[place] = targets
            for alpha in alphas:
                if not self._whole.is_well_posed(float(alpha)):
                    break
                found = self._whole.fit_without(left_out[counted], whole[counted], float(alpha))
                if found is None:
                    break
                fits.append(found)
            if len(fits) == alphas.shape[0]:
                return fits
        made = ridge_fits(model._kernel(), self._gram(model, place), targets, share, alphas, intercept)
        return eigen_fits(self._gram(model, place), targets, share, alphas, intercept) if made is None else made

    def _gram(self, model: KernelRidge, place: np.ndarray) -> np.ndarray:
        """The kernel matrix of the rows `place`."""
        own = self.matrix[np.ix_(place, place)]
        if self.kind != "gram":
            own *= -model.gamma_
            np.exp(own, out=own)
        return own
