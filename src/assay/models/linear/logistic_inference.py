"""Inference for logistic regression without penalty: standard errors, tests, likelihood, the coefficient table."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special, stats
from sklearn.utils.validation import check_is_fitted

from ...base import ParameterError, plain
from ...base.columns import column_names
from .logistic_solver import Solution, Task
from .summary import CoefficientRow, GlmSummary

_LEARNED = (
    *("coef_se_", "intercept_se_", "p_values_", "intercept_p_values_", "covariance_", "log_likelihood_"),
    *("deviance_", "null_deviance_", "aic_", "bic_", "n_observations_", "df_residual_"),
)


class LogisticInference:
    """Mixin of `LogisticRegression`: what follows from the likelihood when nothing was penalised or reweighted."""

    coef_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray
    reference_class: Any
    fit_intercept: bool
    penalty: str | None
    C: float

    def _infer(self, solution: Solution, task: Task) -> None:
        for name in _LEARNED:
            if hasattr(self, name):
                delattr(self, name)
        found = solution.likelihood
        if found is None or getattr(self, "class_weight", None) is not None:
            return
        outputs, columns = self.coef_.shape
        self.covariance_ = found.covariance
        errors = found.spread.reshape(outputs, columns + 1).copy()
        errors[:, 1:][:, ~found.kept] = np.inf
        self.intercept_se_, self.coef_se_ = errors[:, 0].copy(), errors[:, 1:].copy()
        self.intercept_p_values_ = _p_values(self.intercept_, self.intercept_se_)
        self.p_values_ = _p_values(self.coef_, self.coef_se_)
        self.log_likelihood_ = found.log_likelihood
        used = slice(None) if task.rows is None else task.rows
        totals = np.bincount(
            task.codes[used], None if task.weights is None else task.weights[used], minlength=task.n_classes
        )
        self.deviance_ = -2.0 * found.log_likelihood
        self.null_deviance_ = float(-2.0 * special.xlogy(totals, totals / totals.sum()).sum())
        self.n_observations_, self.df_residual_ = found.total, found.total - found.n_parameters
        self.aic_ = self.deviance_ + 2.0 * found.n_parameters
        self.bic_ = self.deviance_ + float(np.log(found.total)) * found.n_parameters

    def summary(self, level: float = 0.95) -> GlmSummary:
        """The coefficient table with Wald tests, class by class, and the quality of the fit."""
        check_is_fitted(self)
        who = type(self).__name__
        if not hasattr(self, "coef_se_"):
            raise ParameterError(
                who,
                "parameter 'penalty'",
                "must be None, without class weights, for standard errors and tests",
                way_out="a penalised fit has no such distribution theory; use the bootstrap",
            )
        if not 0 < level < 1:
            raise ParameterError(who, "parameter 'level'", "must be between 0 and 1", f"got {plain(repr(level))}")
        quantile = float(stats.norm.ppf(0.5 + level / 2))
        rows = []
        for k in range(self.coef_.shape[0]):
            label = "" if self.coef_.shape[0] == 1 else f"{self.classes_[k]}: "
            if self.coef_.shape[0] > 1 and self.classes_[k] == self.reference_class:
                continue
            names = [f"{label}(intercept)", *(f"{label}{self._column_name(j)}" for j in range(self.coef_.shape[1]))]
            values = zip(
                names,
                np.append(self.intercept_[k], self.coef_[k]),
                np.append(self.intercept_se_[k], self.coef_se_[k]),
                np.append(self.intercept_p_values_[k], self.p_values_[k]),
                strict=True,
            )
            for name, estimate, error, p_value in list(values)[0 if self.fit_intercept else 1 :]:
                half = quantile * error
                z = float(estimate / error) if error > 0 else 0.0
                row = (float(estimate), float(error), z, float(p_value), float(estimate - half), float(estimate + half))
                rows.append(CoefficientRow(name, *row))
        return GlmSummary(
            rows=tuple(rows),
            level=level,
            statistic="z",
            title="logistic" if self.coef_.shape[0] == 1 else "softmax",
            n_observations=self.n_observations_,
            df_residual=self.df_residual_,
            dispersion=1.0,
            deviance=self.deviance_,
            null_deviance=self.null_deviance_,
            log_likelihood=self.log_likelihood_,
            aic=self.aic_,
            bic=self.bic_,
        )

    def _column_name(self, j: int) -> str:
        return column_names(self, j + 1)[j]


def _p_values(estimates: np.ndarray, errors: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(estimates == 0.0, 0.0, estimates / errors)
    return 2.0 * stats.norm.sf(np.abs(ratio))
