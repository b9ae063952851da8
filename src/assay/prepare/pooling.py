"""Rubin's rules: one answer from the answers of several completed tables, with what the missing cells cost it.

From m estimates Q with variances U: the pooled estimate is their mean; its variance T = mean(U) + (1 + 1/m) B, with B
the variance of the estimates between tables. Intervals and p-values use Student's t with Barnard and Rubin's degrees of
freedom.

>>> pooled = pool([10.0, 12.0, 11.0], [4.0, 4.0, 4.0])
>>> pooled.estimate, round(pooled.standard_error, 4), round(pooled.df, 1)
(11.0, 2.3094, 32.0)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import f as f_distribution
from scipy.stats import t as t_distribution
from sklearn.base import clone, is_classifier

from ..base import DataError, ParameterError, plain
from ..base.columns import column_names
from ..base.record import Grid, TableRecord
from ..base.words import number
from ..data.columns import split_columns
from ..data.table import plain_types, to_polars
from .impute_multiple import ImputeMultiple, completed_tables
from .step import is_frame, table_like


@dataclass(frozen=True, kw_only=True, eq=False)
class Pooled(TableRecord):
    """Pooled estimates with their variances; scalars if one number was pooled, else arrays, one entry per quantity.

    `within` is the mean variance within tables (NaN if none was given: then `total` holds only what the missing cells
    add), `between` the variance between tables, `total` = within + (1 + 1/m) between. `missing_information` is the
    fraction of information that the missing cells took, `increase` the relative increase of variance by them.

    >>> print(pool([[1.0, 2.0], [1.2, 1.8]], [[0.04, 0.09], [0.04, 0.09]], names=["a", "b"]))
       estimate  error    low   high    df      p  lost
    a     1.100  0.265  0.436  1.764   5.4  0.007  0.56
    b     1.900  0.346  1.166  2.634  16.0  0.000  0.33
    95 % intervals from 2 completed tables; lost: fraction of information lost to missing cells
    """

    names: list[str]
    estimate: Any
    within: Any
    between: Any
    total: Any
    standard_error: Any
    df: Any
    low: Any
    high: Any
    statistic: Any
    p_value: Any
    missing_information: Any
    increase: Any
    n_imputations: int
    confidence: float
    covariance: np.ndarray | None = None
    """Total covariance, where covariance matrices were given."""
    _within_covariance: np.ndarray | None = field(default=None, repr=False)
    _between_covariance: np.ndarray | None = field(default=None, repr=False)

    def wald(self, null: Any = 0.0) -> tuple[float, float, float]:
        """Joint test that all quantities equal `null`: F, its second degrees of freedom, and p.

        The statistic D1 of Li, Raghunathan and Rubin (1991), which needs covariance matrices; the first degrees of
        freedom are the number of quantities.

        >>> pooled = pool([[1.0, 2.0], [1.2, 1.8]], [np.diag([0.04, 0.09])] * 2)
        >>> statistic, df, p = pooled.wald()
        >>> p < 0.05
        True
        """
        if self._within_covariance is None or self._between_covariance is None:
            raise ParameterError(
                "Pooled.wald",
                "the estimates",
                "must have been pooled with covariance matrices",
                way_out="give pool them",
            )
        m, size = self.n_imputations, self.estimate.shape[0]
        offset = self.estimate - np.broadcast_to(np.asarray(null, dtype=np.float64), self.estimate.shape)
        ratio = np.linalg.solve(self._within_covariance, self._between_covariance)
        increase = (1 + 1 / m) * float(np.trace(ratio)) / size
        statistic = float(offset @ np.linalg.solve(self._within_covariance, offset)) / (size * (1 + increase))
        spare = size * (m - 1)
        if increase <= 0:
            df = float("inf")
        elif spare > 4:
            df = 4 + (spare - 4) * (1 + (1 - 2 / spare) / increase) ** 2
        else:
            df = spare * (1 + 1 / size) * (1 + 1 / increase) ** 2 / 2
        return statistic, df, float(f_distribution.sf(statistic, size, min(df, 1e12)))

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data, ready for JSON; undefined numbers are None.

        >>> pool([1.0, 3.0], [1.0, 1.0]).to_dict()["estimate"]
        [2.0]
        """
        rows = {
            name: [float(v) if np.isfinite(v) else None for v in np.atleast_1d(getattr(self, name))]
            for name in _COLUMNS
        }
        return {"names": list(self.names), **rows, "n_imputations": self.n_imputations, "confidence": self.confidence}

    def _rows(self) -> list[list[str]]:
        shown = []
        for k, name in enumerate(self.names):
            values = {column: float(np.atleast_1d(getattr(self, column))[k]) for column in _COLUMNS}
            shown.append(
                [
                    plain(name, 30),
                    *(number(values[c]) for c in ("estimate", "standard_error", "low", "high")),
                    number(values["df"], 1),
                    number(values["p_value"], 3),
                    number(values["missing_information"], 2),
                ]
            )
        return shown

    def _foot(self) -> str:
        return (
            f"{100 * self.confidence:g} % intervals from {self.n_imputations} completed tables; "
            "lost: fraction of information lost to missing cells"
        )

    def grid(self) -> Grid:
        """One line per quantity."""
        return Grid(["", *_HEADS], self._rows(), notes=[self._foot()])


_COLUMNS = (
    "estimate",
    "within",
    "between",
    "total",
    "standard_error",
    "df",
    "low",
    "high",
    "statistic",
    "p_value",
    "missing_information",
    "increase",
)
_HEADS = ("estimate", "error", "low", "high", "df", "p", "lost")


def pool(
    estimates: Any,
    variances: Any = None,
    df_complete: float | None = None,
    *,
    names: list[str] | None = None,
    confidence: float = 0.95,
    null: float = 0.0,
) -> Pooled:
    """Combine the estimates of m completed tables by Rubin's rules.

    `estimates` holds one number or one vector per table; `variances` the squared standard errors in the same shape, or
    one covariance matrix per table. `df_complete` is the degrees of freedom that the analysis of a complete table would
    have (rows less coefficients); None counts as infinite. Without `variances` (predictions, metrics) the error is only
    what the missing cells cause. p-values test against `null`.

    >>> pool([0.81, 0.84, 0.83]).estimate
    0.8266666666666667
    """
    values = np.asarray(estimates, dtype=np.float64)
    if values.ndim not in (1, 2) or values.shape[0] < 1 or values.size == 0 or not np.isfinite(values).all():
        raise DataError(
            "pool", "estimates", "must be one finite number or vector per completed table", f"got shape {values.shape}"
        )
    if not 0 < confidence < 1:
        raise ParameterError("pool", "parameter 'confidence'", "must lie between 0 and 1", f"got {confidence!r}")
    if df_complete is not None and not df_complete > 0:
        raise ParameterError("pool", "parameter 'df_complete'", "must be above 0", f"got {df_complete!r}")
    matrix = values if values.ndim == 2 else values[:, None]
    m, size = matrix.shape
    within, covariances = _within(variances, values.shape, m, size)
    centred = matrix - matrix.mean(axis=0)
    between = (centred**2).sum(axis=0) / (m - 1) if m > 1 else np.zeros(size)
    added = (1 + 1 / m) * between
    total = np.nan_to_num(within) + added
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, added / total, 0.0)
        df = (m - 1) / share**2
        if df_complete is not None:
            observed = (df_complete + 1) / (df_complete + 3) * df_complete * (1 - share)
            df = np.where(np.isfinite(df), df * observed / (df + observed), observed)
        if variances is None:
            df = np.full(size, float(m - 1))
        increase = added / within
        lost = np.where(np.isfinite(df), (increase + 2 / (df + 3)) / (1 + increase), share)
    error = np.sqrt(total)
    estimate = matrix.mean(axis=0)
    # One table without a variance says nothing about its error.
    known = total > 0 if (m > 1 or variances is not None) else np.zeros(size, dtype=bool)
    frozen = np.where(np.isfinite(df), np.maximum(df, 1e-3), 1e12)
    half = np.where(known, t_distribution.ppf(0.5 + confidence / 2, frozen) * error, np.nan if m == 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (estimate - null) / error
    p_value = np.where(known & (variances is not None), 2 * t_distribution.sf(np.abs(statistic), frozen), np.nan)
    names = _names(names, size)
    squeeze = (lambda a: float(a[0])) if values.ndim == 1 else (lambda a: a)
    spread = centred.T @ centred / (m - 1) if m > 1 and covariances is not None else np.zeros((size, size))
    return Pooled(
        names=names,
        estimate=squeeze(estimate),
        within=squeeze(within),
        between=squeeze(between),
        total=squeeze(total),
        standard_error=squeeze(error),
        df=squeeze(df),
        low=squeeze(estimate - half),
        high=squeeze(estimate + half),
        statistic=squeeze(statistic),
        p_value=squeeze(p_value),
        missing_information=squeeze(lost),
        increase=squeeze(increase),
        n_imputations=m,
        confidence=confidence,
        covariance=None if covariances is None else covariances + (1 + 1 / m) * spread,
        _within_covariance=covariances,
        _between_covariance=None if covariances is None else spread,
    )


def _within(variances: Any, shape: tuple[int, ...], m: int, size: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Mean variance within tables, and the mean covariance matrix where matrices were given."""
    if variances is None:
        return np.full(size, np.nan), None
    given = np.asarray(variances, dtype=np.float64)
    matrices = given.shape == (m, size, size) and len(shape) == 2
    if not matrices and given.shape != shape:
        raise DataError(
            "pool",
            "variances",
            f"must have the shape {shape} of the estimates, or be covariances",
            f"got {given.shape}",
        )
    diagonal = np.einsum("mkk->mk", given) if matrices else given.reshape(m, size)
    if not np.isfinite(diagonal).all() or (diagonal < 0).any():
        raise DataError("pool", "variances", "must be finite and not negative", way_out="give squared standard errors")
    return diagonal.mean(axis=0), given.mean(axis=0) if matrices else None


def _names(names: list[str] | None, size: int) -> list[str]:
    if names is None:
        return ["estimate"] if size == 1 else [f"q{k}" for k in range(size)]
    if len(names) != size:
        raise DataError("pool", "names", f"must be one for each of {size} quantities", f"got {len(names)}")
    return [str(name) for name in names]


# -- the whole way: impute, fit, pool ---------------------------------------------------------------------------------
class MultipleFit:
    """A learner fitted to each of several completed tables; what `fit_multiple` returns.

    `coefficients` pools the coefficients and their standard errors where the learner has both (`coef_`, `coef_se_`),
    else it is None. `models_` and `imputer_` hold the fitted parts, `tables_` the completed training tables.
    """

    def __init__(self, imputer: ImputeMultiple, models: list[Any], tables: list[Any], y: Any, target: str | None):
        self.imputer_, self.models_, self.tables_ = imputer, models, tables
        self._y, self._target = y, target
        self.coefficients = _pool_coefficients(models, len(np.asarray(y)))

    def pool(self, estimate: Callable[[Any, Any, Any], Any], **settings: Any) -> Pooled:
        """Pool any estimate: `estimate(model, X, y)` gives a number or vector, or a pair of it and its variance.

        `settings` go to `pool`. See `fit_multiple` for an example.
        """
        found = [estimate(model, X, self._y) for model, X in zip(self.models_, self.tables_, strict=True)]
        if all(isinstance(item, tuple) and len(item) == 2 for item in found):
            return pool([item[0] for item in found], [item[1] for item in found], **settings)
        return pool(found, **settings)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities: the mean over the models, each on its own completion of X."""
        return np.mean([m.predict_proba(part) for m, part in self._parts(X)], axis=0)

    def predict(self, X: Any) -> np.ndarray:
        """Predicted values: the mean over the models; for classes the most probable, or the most frequent."""
        first = self.models_[0]
        if not is_classifier(first):
            return np.mean([m.predict(part) for m, part in self._parts(X)], axis=0)
        if hasattr(first, "predict_proba"):
            return first.classes_[np.argmax(self.predict_proba(X), axis=1)]
        votes = np.array([np.searchsorted(first.classes_, m.predict(part)) for m, part in self._parts(X)])
        counts = np.stack([(votes == k).sum(axis=0) for k in range(len(first.classes_))])
        return first.classes_[counts.argmax(axis=0)]

    def score(self, X: Any, y: Any, metric: Callable[[Any, Any], Any], **settings: Any) -> Pooled:
        """Pool a metric on other rows: `metric(y, predictions)` gives a number, or a pair of it and its variance.

        Each model is scored on one completion of X, drawn cell by cell; `predict` averages over them and does better.
        """
        found = [metric(y, m.predict(part)) for m, part in self._parts(X)]
        if all(isinstance(item, tuple) and len(item) == 2 for item in found):
            return pool([item[0] for item in found], [item[1] for item in found], **settings)
        return pool(found, **settings)

    def _parts(self, X: Any) -> list[tuple[Any, Any]]:
        """Each model with its completion of X, in which the target is one more missing column."""
        frame = _frame(X)
        if self._target is not None:
            empty = pl.Series(self._target, [None] * frame.height, dtype=self._target_type)
            frame = frame.with_columns(empty)
        done = [table.select(_without(table, self._target)) for table in self.imputer_.transform_all(frame)]
        return list(zip(self.models_, (table_like(table, X) for table in done), strict=True))

    @property
    def _target_type(self) -> Any:
        position = self.imputer_.columns_.index(self._target) if self._target in self.imputer_.columns_ else -1
        categories = self.imputer_.schema_.categories[position] if position >= 0 else None
        return pl.Float64 if categories is None and position >= 0 else pl.String


def fit_multiple(imputer: ImputeMultiple, learner: Any, X: Any, y: Any, *, use_target: bool = True) -> MultipleFit:
    """Complete X several times, fit a clone of the learner to each table, and pool what they found.

    With `use_target` the target helps to complete X, as it must if coefficients are to be unbiased; rows to predict
    later are completed with their target missing. The learner is any scikit-learn estimator or pipeline; `coefficients`
    come from `coef_` and `coef_se_` of the learner or of the last step of the pipeline.

    >>> from sklearn.metrics import r2_score
    >>> from assay.models.linear import LeastSquares
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X @ [2.0, -1.0] + rng.normal(size=300)
    >>> X[rng.random(300) < 0.3, 0] = np.nan
    >>> fitted = fit_multiple(ImputeMultiple(random_state=0), LeastSquares(), X, y)
    >>> fitted.coefficients.names
    ['intercept', 'x0', 'x1']
    >>> bool(fitted.coefficients.low[1] < 2 < fitted.coefficients.high[1])
    True
    >>> fitted.pool(lambda model, X, y: r2_score(y, model.predict(X))).estimate > 0.7
    True
    >>> fitted.predict([[1.0, np.nan]]).shape
    (1,)
    """
    if not isinstance(imputer, ImputeMultiple):
        raise ParameterError(
            "fit_multiple", "parameter 'imputer'", "must be an ImputeMultiple", f"got {type(imputer).__name__}"
        )
    frame = _frame(X)
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.shape[0] != frame.height:
        raise DataError(
            "fit_multiple", "y", f"must hold one value for each of {frame.height} rows", f"got {labels.shape}"
        )
    target = None
    if use_target:
        target = "target"
        while target in frame.columns:
            target += "_"
        column = pl.Series(target, labels.tolist())
        if is_classifier(learner):
            column = pl.Series(target, [str(label) for label in labels.tolist()])
        frame = frame.with_columns(column.cast(pl.Float64) if column.dtype.is_numeric() else column)
        if frame[target].null_count() or (column.dtype.is_numeric() and np.isnan(frame[target].to_numpy()).any()):
            raise DataError("fit_multiple", "y", "must not have missing values", way_out="drop those rows first")
    fitted = clone(imputer)
    completed = completed_tables(fitted, frame)
    tables = [table_like(table.select(_without(table, target)), X) for table in completed]
    models = [clone(learner).fit(table, y) for table in tables]
    return MultipleFit(fitted, models, tables, y, target)


def _frame(X: Any) -> pl.DataFrame:
    if is_frame(X):
        return plain_types(to_polars(X), {})
    columns = split_columns("fit_multiple", X)
    if isinstance(columns, np.ndarray):
        columns = list(np.ascontiguousarray(columns.T))
    return pl.DataFrame({f"x{j}": column for j, column in enumerate(columns)}, nan_to_null=True)


def _without(table: pl.DataFrame, target: str | None) -> list[str]:
    return [name for name in table.columns if name != target]


def _pool_coefficients(models: list[Any], n_rows: int) -> Pooled | None:
    """Coefficients with the intercept in front, for learners that know their standard errors."""
    last = [model.steps[-1][1] if hasattr(model, "steps") else model for model in models]
    if not all(hasattr(model, "coef_") and hasattr(model, "coef_se_") for model in last):
        return None
    estimates, errors = [], []
    for model in last:
        slope, error = np.ravel(model.coef_), np.ravel(model.coef_se_)
        if hasattr(model, "intercept_se_") and getattr(model, "fit_intercept", True):
            slope, error = np.append(model.intercept_, slope), np.append(model.intercept_se_, error)
        estimates.append(slope)
        errors.append(error)
    labels = _coefficient_names(models[0], last[0], len(estimates[0]))
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(np.array(errors)).all()
    if not usable:
        return None
    return pool(np.array(estimates), np.array(errors) ** 2, float(max(n_rows - len(labels), 1)), names=labels)


def _coefficient_names(model: Any, last: Any, size: int) -> list[str]:
    """Names of the coefficients, intercepts in front; with several rows of them each name has its class before it."""
    rows, count = np.atleast_2d(last.coef_).shape
    listed = column_names(last, count)
    if hasattr(model, "steps") and hasattr(model[:-1], "get_feature_names_out"):
        listed = [str(name) for name in model[:-1].get_feature_names_out()]
    if len(listed) != count:
        listed = [f"q{j}" for j in range(count)]
    classes = [str(label) for label in getattr(last, "classes_", range(rows))][-rows:]
    marks = [f"{label}: " for label in classes] if rows > 1 else [""]
    intercepts = [f"{mark}intercept" for mark in marks] if size > rows * count else []
    return intercepts + [f"{mark}{name}" for mark in marks for name in listed]
