"""Gaussian discriminants: each class is a normal distribution, and the shape of its covariance is the choice.

One implementation serves all of them. It needs sums of products per class only, so that folds are fitted by
subtraction; what differs is how covariances are made of these sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.batches import BatchedTable
from ...base.columns import column_names, renumber
from ...base.cost import Cost
from ...base.decisions import Decisions, class_priors, costs_param, priors_param
from ...base.errors import DataError, ParameterError, plain, quoted
from ...base.estimator import Classifier, Fold, check_weights
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
from ...base.parameters import Boolean, Choice, Nothing, Real, param
from ...base.threads import one_blas_thread, thread_count
from ...base.usual_parameters import n_jobs_param
from ...base.views import Coefficients, Contributions, View, coefficients_of
from ...numeric.class_scatter import ClassScatter
from ...numeric.moments import varies
from ...numeric.softmax import log_softmax, softmax
from ...numeric.solves import cholesky
from .shrinkage import ledoit_wolf, oracle_approximating, shrink
from .views import gaussian_gains

Training = Callable[[], tuple[np.ndarray, np.ndarray, np.ndarray | None]]
"""Gives the training rows, their classes and weights, for what sums do not tell."""

# Rows whose products with the factors of a class are formed at a time.
_BLOCK = 4096
# A covariance whose correlations have a smaller reciprocal condition number than this is singular.
SINGULAR = 1e-13


@dataclass(frozen=True)
class Boundary:
    """Where two classes are equally probable: x' W x + w' x + w0 = 0, with W `quadratic`, w `linear`, w0 `constant`.

    Positive values speak for `first`.
    """

    first: Any
    second: Any
    quadratic: np.ndarray
    linear: np.ndarray
    constant: float

    def at(self, X: Any) -> np.ndarray:
        """The value at each row: the log of how many times more probable `first` is than `second`.

        >>> Boundary("a", "b", np.zeros((1, 1)), np.array([2.0]), -1.0).at([[3.0]])
        array([5.])
        """
        rows = np.asarray(X, dtype=np.float64)
        return np.einsum("ij,jk,ik->i", rows, self.quadratic, rows) + rows @ self.linear + self.constant


_STRAIGHT = {"coef_, intercept_": "slopes and constants of the classes; for two classes those of the log odds"}
"""What discriminants with straight boundaries have besides."""


class GaussianDiscriminant(Decisions, Classifier):
    """Base of the discriminants: parameters, sums, scores and folds."""

    _folds_in_one_pass = True

    _learned = {
        "class_count_, priors_": "summed weights and prior probabilities of the classes",
        "means_": "array (classes, columns), class means",
        "constant_": "mask of columns with one value, which are left out",
    }
    _squares = True
    _by_batches = True
    _pooled = False

    priors: Any = priors_param()
    costs: Any = costs_param()
    unbiased: bool = param(
        True,
        Boolean(),
        "Whether covariances are sums of squares divided by the weight less 1 (less the number of classes if pooled), "
        "or by the weight.",
    )
    var_smoothing: float = param(
        1e-6, Real(0), "Share of a column's variance that is added to it where a covariance is singular."
    )
    n_jobs: int | None = n_jobs_param()

    # -- learning ------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Sum up the classes in one pass and turn the sums into normal distributions."""
        rows, codes, weights = self._begin(X, y, sample_weight)
        sums = ClassScatter.of(rows, codes, self.classes_.shape[0], weights, kind=self._kind(), threads=self._threads())
        return self._settle(sums, self.classes_, lambda: (rows, codes, weights))

    def _kind(self) -> str:
        """Which sums are needed."""
        return "pooled" if self._pooled else "full"

    def _covariances(self, sums: ClassScatter, training: Training) -> np.ndarray:
        """The covariance of each class, or one for all: (classes or 1, d, d), or variances alone (classes or 1, d)."""
        raise NotImplementedError  # pragma: no cover

    def _settle(self, sums: ClassScatter, classes: np.ndarray, training: Training) -> Any:
        """Derive priors, means and covariances from the sums."""
        self.classes_, self.class_count_ = classes, sums.class_weight
        self.means_, self.priors_ = sums.means(), class_priors(type(self).__name__, self.priors, sums.class_weight)
        self._costs()
        self.mean_ = sums.class_weight @ self.means_ / sums.class_weight.sum()
        total = _diagonal(sums.scatter()).sum(axis=0) + sums.class_weight @ (self.means_ - self.mean_) ** 2
        total = total / sums.class_weight.sum()
        self.constant_ = ~varies(np.sqrt(total), self.mean_)
        self._floor = np.where(self.constant_, 0.0, self.var_smoothing * total)
        with one_blas_thread():
            covariance = self._covariances(sums, training)
            self._set_covariance(covariance)
        return self

    def _set_covariance(self, covariance: np.ndarray) -> None:
        """Keep covariances and what scores need of them: factors F with F F' the inverse, and log determinants."""
        live = ~self.constant_
        square: Any = np.ix_(live, live) if self.constant_.any() else slice(None)
        self.covariance_ = covariance
        self.log_determinants_ = np.zeros(covariance.shape[0])
        self.whitening_ = np.zeros_like(covariance)
        for k, one in enumerate(covariance if live.any() else []):
            if covariance.ndim == 2:
                one[live] = np.maximum(one, self._floor)[live]
                if not (one[live] > 0).all():
                    raise self._flat(k)
                self.whitening_[k, live] = 1.0 / np.sqrt(one[live])
                self.log_determinants_[k] = np.log(one[live]).sum()
                continue
            factor = cholesky(np.ascontiguousarray(one[square]))
            if factor is None or factor.reciprocal_condition < SINGULAR:
                one += np.diag(self._floor)
                factor = cholesky(np.ascontiguousarray(one[square]))
            if factor is None:
                raise self._flat(k)
            self.whitening_[k][square] = factor.inverse_factor()
            self.log_determinants_[k] = 2.0 * (np.log(np.diag(factor.factor)) - np.log(factor.scale)).sum()
        if self._is_linear():
            self._set_lines()

    def _flat(self, k: int) -> DataError:
        where = "of all classes" if self.covariance_.shape[0] == 1 else f"of class {quoted(self.classes_[k])}"
        return DataError(
            type(self).__name__,
            f"the covariance {where}",
            "must not be singular",
            "some combination of columns does not vary there",
            "use var_smoothing > 0, shrinkage, or fewer columns",
        )

    def _is_linear(self) -> bool:
        return self.covariance_.shape[0] == 1

    def _log_priors(self) -> np.ndarray:
        """A class of prior 0 is never chosen: its logarithm is as good as minus infinity."""
        return np.log(self.priors_, out=np.full(self.priors_.shape, -1e30), where=self.priors_ > 0)

    def _set_lines(self) -> None:
        """One covariance for all: scores are linear. `coef_` and `intercept_` as scikit-learn has them."""
        factor, offsets = self.whitening_[0], self.means_ - self.mean_
        white = offsets @ factor if factor.ndim == 2 else offsets * factor
        self._slopes = np.ascontiguousarray(white @ factor.T if factor.ndim == 2 else white * factor)
        self._levels = -0.5 * (white**2).sum(axis=1)
        slopes, levels = self._slopes, self._levels - self._slopes @ self.mean_
        with np.errstate(invalid="ignore"):
            levels = levels + self._log_priors()
            if self.classes_.shape[0] == 2:
                slopes, levels = slopes[1:] - slopes[:1], levels[1:] - levels[:1]
        self.coef_, self.intercept_ = slopes, levels

    # -- prediction ----------------------------------------------------------------------------------------------
    def _scores(self, X: Any) -> np.ndarray:
        """The log of prior times density of each class, up to a number that is the same for all classes."""
        check_is_fitted(self)
        return self._scores_of(self._read(X, reset=False))

    def _scores_of(self, rows: np.ndarray) -> np.ndarray:
        if self._is_linear():
            with one_blas_thread():
                return (rows - self.mean_) @ self._slopes.T + (self._levels + self._log_priors())
        scores = np.empty((rows.shape[0], self.classes_.shape[0]))
        constants = self._log_priors() - 0.5 * self.log_determinants_
        with one_blas_thread():
            for begin in range(0, rows.shape[0], _BLOCK):
                block = rows[begin : begin + _BLOCK]
                for k, factor in enumerate(self.whitening_):
                    white = block - self.means_[k]
                    white = white @ factor if factor.ndim == 2 else white * factor
                    scores[begin : begin + _BLOCK, k] = constants[k] - 0.5 * np.einsum("ij,ij->i", white, white)
        return scores

    def decision_function(self, X: Any) -> np.ndarray:
        """The log of prior times density of each class, up to a common number; for two classes the log odds."""
        scores = self._scores(X)
        if self.classes_.shape[0] != 2:
            return scores
        with np.errstate(invalid="ignore"):
            return scores[:, 1] - scores[:, 0]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The class probabilities of each row."""
        return softmax(self._scores(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of the class probabilities of each row."""
        return log_softmax(self._scores(X))

    def log_density(self, X: Any) -> np.ndarray:
        """Log density of each row under the mixture of the classes: low for a row unlike all of them.

        Columns that were constant in fit are left out.
        """
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        live = int((~self.constant_).sum())
        factor = np.broadcast_to(self.whitening_, (self.classes_.shape[0], *self.whitening_.shape[1:]))
        logs = np.empty((rows.shape[0], self.classes_.shape[0]))
        for k in range(logs.shape[1]):
            white = rows - self.means_[k]
            white = white @ factor[k] if factor.ndim == 3 else white * factor[k]
            logs[:, k] = -0.5 * (white**2).sum(axis=1)
        logs += self._log_priors() - 0.5 * (self.log_determinants_ + live * np.log(2.0 * np.pi))
        return np.logaddexp.reduce(logs, axis=1)

    # -- what was learned ------------------------------------------------------------------------------------------
    def boundary(self, first: Any, second: Any) -> Boundary:
        """The boundary between two classes, as W, w and w0 (W is zero where the classes share a covariance)."""
        check_is_fitted(self)
        a, b = (self._place(label) for label in (first, second))
        forms = [self._form(k) for k in (a, b)]
        return Boundary(first, second, *(mine - theirs for mine, theirs in zip(*forms)))

    def _place(self, label: Any) -> int:
        found = np.flatnonzero(self.classes_ == label)
        if found.size != 1:
            raise ParameterError(
                type(self).__name__, "boundary", "needs labels of classes_", f"got {plain(repr(label))}"
            )
        return int(found[0])

    def _form(self, k: int) -> tuple[np.ndarray, np.ndarray, float]:
        """W, w and w0 of the score of class k."""
        if self._is_linear():
            constant = self._levels[k] - self._slopes[k] @ self.mean_ + self._log_priors()[k]
            return np.zeros((self.n_features_in_,) * 2), self._slopes[k], float(constant)
        factor = self.whitening_[k]
        inverse = factor @ factor.T if factor.ndim == 2 else np.diag(factor**2)
        linear = inverse @ self.means_[k]
        constant = -0.5 * (self.means_[k] @ linear + self.log_determinants_[k]) + self._log_priors()[k]
        return -0.5 * inverse, linear, float(constant)

    def view(self) -> View:
        """The coefficients where scores are linear, else how much each column says for each class."""
        check_is_fitted(self)
        if self._is_linear():
            return self._lines()
        variances = _diagonal(self.covariance_)
        gains = np.where(self.constant_, 0.0, gaussian_gains(self.priors_, self.means_, variances + self.constant_))
        return Contributions(
            names=column_names(self),
            classes=self.classes_.tolist(),
            values=gains.tolist(),
            prior=self.priors_.tolist(),
        )

    def _lines(self) -> Coefficients:
        return coefficients_of(self, self.coef_, np.nan_to_num(self.intercept_), self.classes_)

    # -- folds and cost --------------------------------------------------------------------------------------------
    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """One fitted clone per fold: the sums of all rows less those of the rows left out."""
        template = clone(self)
        rows, codes, _ = template._begin(X, y)
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        for sums, present, training, through in template._fold_sums(rows, codes, weights, folds, transforms):
            model = clone(self)
            copy_columns(template, model, through)
            yield model._settle(sums, template.classes_[present], training)

    def _predict_folds(
        self, X: np.ndarray, y: Any, folds: Sequence[Fold], transforms: Transforms = None
    ) -> Iterator[np.ndarray | None] | None:
        """What the models of `fit_folds` say of their test rows."""
        template = clone(self)
        rows, codes, _ = template._begin(X, y)
        return template._said_of_folds(rows, codes, folds, transforms)

    def _said_of_folds(
        self, rows: np.ndarray, codes: np.ndarray, folds: Sequence[Fold], transforms: Transforms
    ) -> Iterator[np.ndarray | None]:
        whole = ClassScatter.of(rows, codes, self.classes_.shape[0], None, kind=self._kind(), threads=self._threads())
        together = self._shape_of_folds() is not None and (
            transforms is None or all(fold.scales and fold.width == rows.shape[1] for fold in transforms.folds)
        )
        for some in fold_blocks(folds, self.classes_.shape[0]):
            part = [folds[k] for k in some]
            through = None if transforms is None else transforms.only(*some)
            answers = self._said_together(rows, codes, whole, part, through) if together else [None] * len(part)
            for k, answer in enumerate(answers):
                one = None if through is None else through.only(k)
                yield self._said_alone(rows, codes, whole, part[k], one) if answer is None else answer

    def _said_alone(
        self, rows: np.ndarray, codes: np.ndarray, whole: ClassScatter, fold: Fold, transforms: Transforms
    ) -> np.ndarray | None:
        """What one fold says of its test rows; None where its training rows lack a class."""
        sums, present, training, through = next(self._fold_sums(rows, codes, None, [fold], transforms, whole))
        if not present.all():
            return None
        model = copy(self)._settle(sums, self.classes_, training)
        return softmax(model._scores_of(prepared(rows, fold[1], through)))

    def _shape_of_folds(self) -> str | None:
        """The shape of the covariance where the kernel scores many folds at once; None where it does not."""
        return None

    def _said_together(
        self, rows: np.ndarray, codes: np.ndarray, whole: ClassScatter, folds: Sequence[Fold], transforms: Transforms
    ) -> list[np.ndarray | None]:
        """What many folds say of their test rows, from stacked sums; None for those that need a closer look: sums that
        lost digits, a class that is gone, a constant column, a covariance near a singular one."""
        threads = self._threads()
        tests = row_lists(fold[1] for fold in folds)
        left_out = ClassScatter.of_folds(rows, codes, tests, shift=whole.shift, kind=whole.kind, threads=threads)
        sums = whole.minus(left_out)
        sure = split_all_rows(folds, rows.shape[0], threads) > 0
        sure &= sums.holds_digits_of(whole) & (sums.class_weight > 1.0).all(axis=1)
        scaling: dict[str, Any] = {"origin": None, "factor": None}
        if transforms is not None:
            sums = sums.through_scales(transforms.folds)
            if all(fold.mean is not None for fold in transforms.folds):
                scaling["origin"] = np.array([fold.mean for fold in transforms.folds])
                scaling["factor"] = np.array([fold.inverse for fold in transforms.folds])
        with np.errstate(all="ignore"):  # what is no number is not sure
            said = self._settled_folds(sums)
        sure &= said.pop("sure")
        kept = [test for test, holds in zip(tests, sure, strict=True) if holds]
        arrays = {name: np.ascontiguousarray(part[sure]) for name, part in said.items()}
        for name in ("centres", "forms"):
            arrays[name] = arrays[name].reshape(-1, rows.shape[1])
        scaling = {name: None if part is None else part[sure] for name, part in scaling.items()}
        found = _kernels.discriminant_fold_scores(
            rows, kept, **arrays, quadratic=not self._pooled, **scaling, threads=threads
        )
        answers = iter(cut_at(found, kept))
        return [next(answers) if holds else None for holds in sure]

    def _settled_folds(self, sums: ClassScatter) -> dict[str, np.ndarray]:
        """Levels, centres and forms of the scores of stacked folds, as `_settle` finds them for one, and which of them
        are sure."""
        weight, means, scatter = sums.class_weight, sums.means(), sums.scatter()
        whole, classes = weight.sum(axis=1), weight.shape[1]
        priors = np.broadcast_to(class_priors(type(self).__name__, self.priors, weight), weight.shape)
        log_priors = np.log(priors, out=np.full(priors.shape, -1e30), where=priors > 0)
        mean = (weight[:, None, :] @ means)[:, 0] / whole[:, None]
        spread = weight[:, None, :] @ (means - mean[:, None, :]) ** 2
        squares = scatter if sums.kind == "diagonal" else np.diagonal(scatter, axis1=-2, axis2=-1)
        total = (squares.sum(axis=1) + spread[:, 0]) / whole[:, None]
        sure = varies(np.sqrt(total), mean).all(axis=1)
        if self._pooled:
            lost = whole - classes if self.unbiased else whole
            sure &= lost > 0
            covariance = scatter.sum(axis=1, keepdims=True) / lost.reshape(-1, *[1] * (scatter.ndim - 1))
        else:
            lost = weight - 1.0 if self.unbiased else weight
            covariance = scatter / lost[:, :, None, None]
        if sums.kind == "diagonal":
            variance = covariance[:, 0]
            if self._shape_of_folds() == "spherical":
                variance = np.broadcast_to(variance.mean(axis=1, keepdims=True), variance.shape)
            variance = np.maximum(variance, self.var_smoothing * total)
            sure &= (variance > 0).all(axis=1) & np.isfinite(variance).all(axis=1)
            factor = 1.0 / np.sqrt(variance)[:, None, :]
            white = (means - mean[:, None, :]) * factor
            slopes = white * factor
        else:
            forms, log_determinants, regular = _inverse_factors(covariance)
            sure &= regular
            if not self._pooled:
                levels = log_priors - 0.5 * log_determinants
                return {"levels": levels, "centres": means, "forms": forms, "sure": sure}
            white = (means - mean[:, None, :]) @ np.swapaxes(forms[:, 0], 1, 2)
            slopes = white @ forms[:, 0]
        levels = -0.5 * (white**2).sum(axis=2) + log_priors
        return {"levels": levels, "centres": mean, "forms": slopes, "sure": sure}

    def _threads(self) -> int:
        return thread_count(self.n_jobs)

    def _fold_sums(
        self,
        rows: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray | None,
        folds: Iterable[Fold],
        transforms: Transforms,
        whole: ClassScatter | None = None,
    ) -> Iterator[tuple[ClassScatter, np.ndarray, Training, FoldTransform | None]]:
        """The sums of the training rows of each fold, which of the classes they have, and what else a fit needs.

        `whole` are the sums of all rows, where they are known."""
        size, kind, threads = self.classes_.shape[0], self._kind(), self._threads()
        if whole is None:
            whole = ClassScatter.of(rows, codes, size, weights, kind=kind, threads=threads)
        for train, test, through in through_folds(folds, transforms):
            kept = train if weights is None else train[weights[train] > 0]
            present = np.bincount(codes[kept], minlength=size) > 0
            training = _training(rows, codes, weights, kept, present, through)
            sums = None
            if are_complementary(train, test, rows.shape[0]):
                left_out = ClassScatter.of(
                    rows, codes, size, weights, kind=kind, threads=threads, shift=whole.shift, rows=test
                )
                rest = whole.minus(left_out).of_classes(present).through(through)
                if bool(rest.holds_digits_of(whole.of_classes(present).through(through))):
                    sums = rest
            if sums is None:
                mine, its_codes, its_weights = training()
                sums = ClassScatter.of(mine, its_codes, int(present.sum()), its_weights, kind=kind, threads=threads)
            yield sums, present, training, through

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One read of the table, products of columns, and a factor of each covariance."""
        n, d = float(n_rows), float(n_features)
        products = d if self._kind() == "diagonal" else d * d
        return Cost(
            seconds=1e-4 + 6e-11 * n * products + 3e-9 * n * d + 1e-9 * d**3, bytes=8.0 * (n * d + 20 * products)
        )


def _training(
    rows: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    kept: np.ndarray,
    present: np.ndarray,
    through: FoldTransform | None,
) -> Training:
    def read() -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        mine = np.ascontiguousarray(prepared(rows, kept, through))
        return mine, renumber(codes[kept], present), None if weights is None else weights[kept]

    return read


def _diagonal(covariance: np.ndarray) -> np.ndarray:
    """Variances of each class (or of all), of full matrices or of variances."""
    return np.diagonal(covariance, axis1=1, axis2=2) if covariance.ndim == 3 else covariance


def _inverse_factors(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower triangular G with G'G the inverse of each covariance (folds, classes or 1, d, d), the logarithms of their
    determinants, and which folds have covariances that are far from singular; the rest is not to be used."""
    d = covariance.shape[-1]
    scale = 1.0 / np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    scaled = covariance * scale[..., :, None] * scale[..., None, :]
    scaled[~np.isfinite(scaled).all(axis=(1, 2, 3))] = np.eye(d)
    regular = np.isfinite(scale).all(axis=(1, 2))
    try:
        factor = np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        for k, one in enumerate(scaled):
            try:
                np.linalg.cholesky(one)
            except np.linalg.LinAlgError:
                scaled[k], regular[k] = np.eye(d), False
        factor = np.linalg.cholesky(scaled)
    inverse = factor.copy()
    for one in np.swapaxes(inverse.reshape(-1, d, d), 1, 2):
        lapack.dtrtri(one, lower=0, overwrite_c=1)  # by columns as it lies there, and so in its place
    # The reciprocal condition number itself, which the estimate of LAPACK is never below.
    size = np.abs(scaled).sum(axis=-1).max(axis=-1)
    inverse_size = np.abs(np.swapaxes(inverse, -1, -2) @ inverse).sum(axis=-1).max(axis=-1)
    regular &= (1.0 / (size * inverse_size) > 10 * SINGULAR).all(axis=1)
    logs = np.log(np.diagonal(factor, axis1=-2, axis2=-1)) - np.log(scale)
    return inverse * scale[..., None, :], 2.0 * logs.sum(axis=-1), regular


def divisor(weight: float, lost: float, unbiased: bool) -> float:
    """What a sum of squares is divided by if `lost` degrees of freedom went; the weight where nothing would be left."""
    return weight - lost if unbiased and weight > lost else max(weight, 1e-300)


def covariance_param() -> Any:
    """Declare `covariance` with the wording of the discriminants."""
    return param(
        "full",
        Choice("full", "diagonal", "spherical"),
        "Shape of the covariance: any, no correlations, or one variance for all columns.",
    )


def shrinkage_param() -> Any:
    """Declare `shrinkage` with the wording of the discriminants."""
    return param(
        None,
        Real(0, 1) | Choice("ledoit-wolf", "oas") | Nothing(),
        "Share of the covariance that is replaced by its diagonal: a number, or estimated by Ledoit and Wolf or by the "
        "oracle approximating estimate, from columns in units of their deviation.",
    )


class _Shaped(GaussianDiscriminant):
    """What QDA and LDA share: the shape of the covariance and its shrinkage."""

    shrinkage: Any = shrinkage_param()
    covariance: str = covariance_param()

    def _kind(self) -> str:
        return super()._kind() if self.covariance == "full" else "diagonal"

    def _shape_of_folds(self) -> str | None:
        # Separate variances of each class, and shrinkage, are settled fold by fold.
        return self.covariance if self.shrinkage is None and (self._pooled or self.covariance == "full") else None

    def _covariances(self, sums: ClassScatter, training: Training) -> np.ndarray:
        scatter, weight = sums.scatter(), sums.class_weight
        if self.covariance != "full" and self.shrinkage is not None:
            raise ParameterError(
                type(self).__name__,
                "parameter 'shrinkage'",
                f"must be None with covariance='{self.covariance}', which has no correlations",
                f"got {plain(repr(self.shrinkage))}",
            )
        if self._pooled:
            scatter = scatter.sum(axis=0, keepdims=True)
            weight, lost = weight.sum(keepdims=True), float(weight.shape[0])
            covariance = scatter / divisor(float(weight[0]), lost, self.unbiased)
        else:
            lost = 1.0
            covariance = np.array([one / divisor(float(w), lost, self.unbiased) for one, w in zip(scatter, weight)])
            alone = weight <= 1.0
            if alone.any() and not alone.all():
                # One row has no spread: its class takes that of all classes.
                covariance[alone] = scatter.sum(axis=0) / divisor(float(weight.sum()), weight.shape[0], self.unbiased)
        if self.covariance == "spherical":
            live = ~self.constant_
            mean = covariance[:, live].mean(axis=1, keepdims=True) if live.any() else np.zeros((len(covariance), 1))
            return np.where(live, mean, 0.0)
        if self.covariance == "diagonal":
            return covariance
        self.shrinkage_ = self._shares(covariance, weight, training)
        return np.array([shrink(one, share) for one, share in zip(covariance, self.shrinkage_)])

    def _shares(self, covariance: np.ndarray, weight: np.ndarray, training: Training) -> np.ndarray:
        """How much of each covariance is replaced by its diagonal."""
        if self.shrinkage is None or not isinstance(self.shrinkage, str):
            return np.full(covariance.shape[0], float(self.shrinkage or 0.0))
        if self.shrinkage == "oas":
            return np.array([oracle_approximating(one, float(w)) for one, w in zip(covariance, weight)])
        rows, codes, weights = training()
        if isinstance(rows, BatchedTable):
            raise ParameterError(
                type(self).__name__,
                "parameter 'shrinkage'",
                "must not be 'ledoit-wolf' in fit_batches, since that needs the rows once more",
                way_out="use 'oas' or a number",
            )
        shares = np.zeros(covariance.shape[0])
        for k, one in enumerate(covariance):
            mine = slice(None) if self._pooled else codes == k
            centred = rows[mine] - self.means_[codes[mine]]
            shares[k] = ledoit_wolf(centred, one, None if weights is None else weights[mine])
        return shares


class QDA(_Shaped):
    """Quadratic discriminant analysis: each class is a normal distribution with a covariance of its own.

    A row goes to the class with the largest g_k(x) = x' W_k x + w_k' x + w_k0, with W_k = -S_k^-1 / 2,
    w_k = S_k^-1 m_k and w_k0 = -(m_k' S_k^-1 m_k + log |S_k|) / 2 + log P(k). A class of one row takes the covariance
    of all classes.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.bayes import QDA
    >>> X = np.array([[-1.0], [0.0], [1.0], [-9.0], [0.0], [9.0]])
    >>> model = QDA().fit(X, ["near", "near", "near", "far", "far", "far"])
    >>> model.predict([[0.5], [5.0], [-5.0]])
    array(['near', 'far', 'far'], dtype='<U4')
    >>> boundary = model.boundary("near", "far")
    >>> (-boundary.quadratic[0, 0]).round(4), boundary.at([[0.5]]).round(3)
    (np.float64(0.4938), array([2.074]))
    """

    _learned = {
        "covariance_": "array (classes, columns, columns), or variances (classes, columns) if not full",
        "whitening_": "factors F with F F' the inverse of each covariance",
        "shrinkage_": "the share of each covariance that is its diagonal",
    }


class LDA(_Shaped):
    """Linear discriminant analysis: normal classes that share one covariance, so that boundaries are straight.

    A row goes to the class with the largest w_k' x + w_k0, with w_k = S^-1 m_k and
    w_k0 = -m_k' S^-1 m_k / 2 + log P(k); between two classes the log odds are linear with slope S^-1 (m_1 - m_2), as in
    logistic regression.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.bayes import LDA
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [4.0, 4.0], [5.0, 6.0], [6.0, 5.0]])
    >>> model = LDA().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([[2.666667, 2.666667]]), array([-16.]))
    >>> model.predict_with_reject([[1.0, 1.0], [3.0, 3.0]], threshold=0.9)
    (array([0, 0]), array([False,  True]))
    """

    _learned = {
        "covariance_": "array (1, columns, columns), or variances (1, columns) if not full",
        **_STRAIGHT,
        "shrinkage_": "the share of the covariance that is its diagonal",
    }
    _pooled = True


class NearestMean(GaussianDiscriminant):
    """Assigns a row to the class with the nearest mean, in units of the spread around the means.

    It is the discriminant whose classes are spheres of one size with equal priors; probabilities follow from that. With
    `covariance="diagonal"` columns are measured in units of their deviation within classes.

    Examples
    --------
    >>> from assay.models.bayes import NearestMean
    >>> NearestMean().fit([[0.0], [1.0], [8.0], [9.0]], ["low", "low", "high", "high"]).predict([[4.0], [5.0]])
    array(['low', 'high'], dtype='<U4')
    """

    _learned = {
        "covariance_": "array (1, columns), variances of the columns around the means (all the same if spherical)",
        **_STRAIGHT,
    }
    _pooled = True

    priors: Any = priors_param("equal")
    covariance: str = param(
        "spherical", Choice("spherical", "diagonal"), "Whether all columns have one unit, or each its own deviation."
    )

    _kind = _Shaped._kind
    _shape_of_folds = _Shaped._shape_of_folds
    _covariances = _Shaped._covariances
    shrinkage = None
