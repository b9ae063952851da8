"""Polynomial regression: least squares on monomials of centred and scaled columns, reported in the original ones."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.columns import column_names
from ...base.cost import Cost
from ...base.cv import make_folds
from ...base.errors import AssayWarning
from ...base.estimator import Fold, Regressor, check_weights
from ...base.folds import Transforms, copy_columns
from ...base.parameters import Boolean, Choice, Integer, Nothing, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param, random_state_param
from ...base.views import Coefficients
from ...base.words import first_names
from ...numeric.monomials import count_monomials, monomial_cells, monomial_names, monomial_powers, monomial_runs
from .gram import GramStatistics
from .least_squares import EXACT_WORK, NEEDS_NO_REFINEMENT, LeastSquares
from .on_demand import Inferring, OnDemand
from .tables import table_of

VALIDATION_FOLDS = 5
_BLOCK = 1 << 14
"""Rows that are shifted and multiplied out in one step."""
_SIDE_BY_SIDE = 16
_MANY = 1 << 10
"""Rows from which the monomials are summed without being held."""
_SAMPLE = 256


class PolynomialRegression(Inferring, Regressor):
    """Least squares on all products of columns up to a degree.

    Columns are centred and scaled before they are multiplied, which keeps the monomials apart where their raw powers
    would be nearly parallel; the coefficients are then carried over to the monomials of the columns as given, in exact
    rational arithmetic. Predictions are made in the scaled monomials. `criterion` chooses the degree: the smallest
    AIC or BIC, or the smallest error of five-fold validation, over degrees 1 to `degree`.

    Attributes
    ----------
    coef_ : array (n_monomials,), of the monomials of the columns as given
    intercept_ : float
    powers_ : array (n_monomials, n_features), the exponents of each monomial
    degree_ : int, the degree used
    criterion_values_ : with `criterion`, its value for each degree from 1
    sigma_, r2_, adjusted_r2_, df_residual_ : as in LeastSquares
    scaled_coef_, scaled_intercept_, center_, scale_ : the same polynomial in (x - center_) / scale_

    Examples
    --------
    >>> from assay.models.linear import PolynomialRegression
    >>> model = PolynomialRegression(degree=2).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 5.0, 10.0])
    >>> model.coef_, model.intercept_
    (array([0., 1.]), 1.0)
    >>> model.get_monomial_names()
    ['x0', 'x0^2']
    """

    degree: int = param(2, Integer(1), "Largest total degree of a monomial.")
    interaction_only: bool = param(False, Boolean(), "Whether to leave out powers of one column.")
    fit_intercept: bool = param(True, Boolean(), "Whether to fit a constant; without it, columns are not centred.")
    criterion: str | None = param(
        None, Choice("aic", "bic", "validation") | Nothing(), "How to choose the degree; None uses `degree` itself."
    )
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()

    _way_out = "lower the degree, select columns or take a sample of the rows"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PolynomialRegression:
        """Choose the degree if asked to, and solve the least-squares problem."""
        rows, target, weights = self._begin(X, y, sample_weight)
        self._place(rows)
        if self.criterion is None:
            return self._keep(int(self.degree), self._solve(rows, target, weights, int(self.degree)))
        self.criterion_values_ = np.empty(int(self.degree))
        best: LeastSquares | None = None
        for degree in range(1, int(self.degree) + 1):
            solved = self._solve(rows, target, weights, degree)
            self.criterion_values_[degree - 1] = self._judge(solved, rows, target, weights, degree)
            if degree == 1 or self.criterion_values_[degree - 1] < self.criterion_values_[: degree - 1].min():
                best, self.degree_ = solved, degree
        assert best is not None
        return self._keep(self.degree_, best)

    def _place(self, rows: np.ndarray) -> None:
        """Middle and half-range of each column, rounded to short numbers so that shifting loses no digits."""
        low, high = _ends(rows, np.minimum), _ends(rows, np.maximum)
        half = 0.5 * high - 0.5 * low if self.fit_intercept else np.maximum(np.abs(low), np.abs(high))
        self.scale_ = np.where(half > 0, np.exp2(np.frexp(np.where(half > 0, half, 1.0))[1]), 1.0)
        middle = 0.5 * low + 0.5 * high if self.fit_intercept else np.zeros(rows.shape[1])
        short = np.round(middle / self.scale_ * 8.0) / 8.0 * self.scale_
        self.center_ = np.where(np.isfinite(short), short, middle)

    def _solve(self, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, degree: int) -> LeastSquares:
        powers = monomial_powers(rows.shape[1], degree, bool(self.interaction_only))
        exact = rows.shape[0] * (powers.shape[0] + 1) ** 2.0 <= EXACT_WORK
        if rows.shape[0] >= max(_MANY, 2 * powers.shape[0]) and not exact:
            some = slice(None, None, max(1, rows.shape[0] // _SAMPLE))
            sample, of_sample = self._expand(rows[some], powers), np.ascontiguousarray(target[some, None])
            around = table_of(sample).centring(of_sample, bool(self.fit_intercept))()
            runs, threads = monomial_runs(powers), thread_count(self.n_jobs)
            sums = _kernels.monomial_gram(
                rows, self.center_, self.scale_, runs, target[:, None], weights, around, threads
            )
            statistics = GramStatistics.of_sums(sums, around, 1, fit_intercept=bool(self.fit_intercept))
            solved = self._inner()
            if solved._fit_rest(statistics, 1, NEEDS_NO_REFINEMENT):
                return solved
        with warnings.catch_warnings():
            # Named here by monomial instead.
            warnings.simplefilter("ignore", AssayWarning)
            return self._inner().fit(self._expand(rows, powers), target, sample_weight=weights)

    def _inner(self) -> LeastSquares:
        return LeastSquares(fit_intercept=bool(self.fit_intercept), n_jobs=self.n_jobs)

    def _expand(self, rows: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """The monomials of the rows."""
        cells = np.empty((rows.shape[0], powers.shape[0]))
        for at in range(0, rows.shape[0], _BLOCK):  # the shifted columns are never a whole table
            scaled = rows[at : at + _BLOCK] - self.center_
            scaled /= self.scale_
            monomial_cells(scaled, powers, out=cells[at : at + _BLOCK], threads=thread_count(self.n_jobs))
        return cells

    def _draws(self) -> bool:
        return self.criterion == "validation"

    def _judge(
        self, solved: LeastSquares, rows: np.ndarray, target: np.ndarray, weights: np.ndarray | None, degree: int
    ) -> float:
        """The criterion of a fitted degree; smaller is better."""
        if self.criterion == "validation":
            table = self._expand(rows, monomial_powers(rows.shape[1], degree, bool(self.interaction_only)))
            count, stream = min(VALIDATION_FOLDS, rows.shape[0]), self._stream().child(0)
            folds = make_folds(type(self).__name__, count, target, random_state=stream)
            total = 0.0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AssayWarning)
                for (_, test), model in zip(
                    folds, self._inner().fit_folds(table, target, folds, sample_weight=weights), strict=True
                ):
                    error = (target[test] - model.predict(table[test])) ** 2
                    total += float(error.sum() if weights is None else weights[test] @ error)
            return total
        squares = solved.sigma_**2 * solved.df_residual_ if solved.df_residual_ > 0 else 0.0
        count = solved.n_observations_
        price = 2.0 if self.criterion == "aic" else math.log(count)
        return count * math.log(max(squares / count, np.finfo(float).tiny)) + price * (solved.rank_ + 1)

    def _keep(self, degree: int, solved: LeastSquares) -> PolynomialRegression:
        self.degree_ = degree
        self.powers_ = monomial_powers(self.n_features_in_, degree, bool(self.interaction_only))
        self.scaled_coef_, self.scaled_intercept_ = solved.coef_.copy(), float(solved.intercept_)
        self.sigma_, self.r2_, self.adjusted_r2_ = solved.sigma_, solved.r2_, solved.adjusted_r2_
        self.df_residual_, self.rank_, self.dropped_ = solved.df_residual_, solved.rank_, solved.dropped_
        self._forget()
        if self.dropped_.shape[0]:
            names = self.get_monomial_names()
            listed = first_names([names[m] for m in self.dropped_])
            text = (
                f"{type(self).__name__}: on these rows {listed} cannot be told from combinations of the "
                "monomials before and got no coefficient of their own; lower the degree."
            )
            warnings.warn(AssayWarning("W101", text), stacklevel=4)
        return self

    coef_, intercept_ = OnDemand(), OnDemand()

    def _infer(self) -> None:
        if "scaled_coef_" in vars(self) and "coef_" not in vars(self):
            self.coef_, self.intercept_ = self._original()

    def _original(self) -> tuple[np.ndarray, float]:
        """Coefficients of x^a from those of ((x - c) / s)^b, exactly: every product expanded in whole numbers."""
        sums: dict[tuple[int, ...], _Dyadic] = {}
        centre, scale = [_dyadic(-c) for c in self.center_.tolist()], [_dyadic(s) for s in self.scale_.tolist()]
        factors: dict[tuple[int, int], list[tuple[int, _Dyadic]]] = {}

        def expanded(j: int, power: int) -> list[tuple[int, _Dyadic]]:
            """The powers of x in ((x - c) / s)^power, each with its factor."""
            if (j, power) not in factors:
                (shift, unit), size = centre[j], scale[j][1]  # the scale is a power of two
                lower = range(power + 1) if shift else (power,)
                factors[j, power] = [
                    (k, (math.comb(power, k) * shift ** (power - k), unit * (power - k) - size * power)) for k in lower
                ]
            return factors[j, power]

        for power, value in zip(self.powers_.tolist(), self.scaled_coef_.tolist(), strict=True):
            if value == 0.0:
                continue
            used = [j for j, exponent in enumerate(power) if exponent]
            for terms in itertools.product(*(expanded(j, power[j]) for j in used)):
                (whole, unit), key = _dyadic(value), [0] * len(power)
                for j, (exponent, factor) in zip(used, terms, strict=True):
                    whole, unit = whole * factor[0], unit + factor[1]
                    key[j] = exponent
                place = tuple(key)
                sums[place] = _plus(sums.get(place, (0, 0)), (whole, unit))
        constant = sums.get(tuple([0] * self.powers_.shape[1]), (0, 0))
        coef = np.array([_to_float(sums.get(tuple(power), (0, 0))) for power in self.powers_.tolist()])
        return coef, _to_float(_plus(constant, _dyadic(self.scaled_intercept_)))

    def predict(self, X: Any) -> np.ndarray:
        """The value of the polynomial for each row."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        return self._expand(rows, self.powers_) @ self.scaled_coef_ + self.scaled_intercept_

    def get_monomial_names(self) -> list[str]:
        """Names of the monomials, e.g. 'age^2 height'."""
        check_is_fitted(self, "powers_")
        return monomial_names(column_names(self), self.powers_)

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[PolynomialRegression]:
        """One fitted clone per fold: monomials are computed once, and least squares shares its Gram matrix."""
        if self.criterion is not None or transforms is not None:
            yield from super().fit_folds(X, y, folds, sample_weight, transforms)
            return
        whole = clone(self)
        rows, target, _ = whole._begin(X, y)
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        whole._place(rows)
        degree = int(self.degree)
        table = whole._expand(rows, monomial_powers(rows.shape[1], degree, bool(self.interaction_only)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssayWarning)
            solved = list(self._inner().fit_folds(table, target, folds, sample_weight=weights))
        for part in solved:
            model = clone(self)
            copy_columns(whole, model)
            model.center_, model.scale_ = whole.center_, whole.scale_
            yield model._keep(degree, part)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Least squares on the number of monomials, for each degree that is tried."""
        total = Cost(0.0, 0.0)
        top = int(self.degree)
        for degree in range(1 if self.criterion is not None else top, top + 1):
            count = count_monomials(n_features, degree, bool(self.interaction_only))
            if count > 1e7:
                return Cost(seconds=1e30, bytes=1e30)
            one = LeastSquares().estimate_cost(n_rows, int(count))
            total = Cost(total.seconds + one.seconds, max(total.bytes, one.bytes + 8.0 * n_rows * count))
        return total

    def view(self) -> Coefficients:
        """The coefficients by monomial."""
        check_is_fitted(self)
        names = self.get_monomial_names()
        return Coefficients(names=names, values=[self.coef_.tolist()], intercept=[self.intercept_])


def _ends(rows: np.ndarray, least: np.ufunc) -> np.ndarray:
    """The least (or largest) cell of each column; of rows side by side, for few columns take as long as many."""
    whole = rows.shape[0] // _SIDE_BY_SIDE * _SIDE_BY_SIDE
    if whole == 0:
        return least.reduce(rows, axis=0)
    wide = least.reduce(rows[:whole].reshape(-1, _SIDE_BY_SIDE * rows.shape[1]), axis=0)
    return least.reduce(np.concatenate([wide.reshape(_SIDE_BY_SIDE, -1), rows[whole:]]), axis=0)


# A number m 2^e as (m, e).
_Dyadic = tuple[int, int]


def _dyadic(value: float) -> _Dyadic:
    """A float as an odd whole number and the power of two that it is multiplied by."""
    above, below = value.as_integer_ratio()
    if below > 1 or not above:
        return above, 1 - below.bit_length()
    twos = (above & -above).bit_length() - 1
    return above >> twos, twos


def _plus(a: _Dyadic, b: _Dyadic) -> _Dyadic:
    unit = min(a[1], b[1])
    return (a[0] << (a[1] - unit)) + (b[0] << (b[1] - unit)), unit


def _to_float(value: _Dyadic) -> float:
    whole, unit = value
    try:
        return float(whole << unit) if unit >= 0 else whole / (1 << -unit)
    except OverflowError:
        return math.copysign(np.finfo(float).max, 1 if whole > 0 else -1)
