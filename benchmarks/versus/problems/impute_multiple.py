"""Imputation by chained equations: one chain of expected values against scikit-learn, and five chains of draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

SWEEPS = 10


def _make(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of 30 columns that share eight factors, the truth, and where a tenth is missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 8)) @ rng.normal(size=(8, 30)) + rng.normal(size=(rows, 30))
    missing = rng.random(X.shape) < 0.1
    holed = X.copy()
    holed[missing] = np.nan
    return X, missing, holed


def _expected(data: Any) -> np.ndarray:
    from assay.prepare import ImputeMultiple

    imputer = ImputeMultiple(sample_posterior=False, initial="mean", max_iter=SWEEPS, random_state=0, n_jobs=-1)
    return imputer.fit_transform(data[2])


def _five_tables(data: Any) -> np.ndarray:
    from assay.prepare import ImputeMultiple

    imputer = ImputeMultiple(n_imputations=5, max_iter=SWEEPS, random_state=0, n_jobs=-1)
    tables = imputer.fit_transform_all(data[2])
    for other in tables[1:]:
        tables[0] += other
    tables[0] /= len(tables)
    return tables[0]


def _scikit_learn(data: Any) -> np.ndarray:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer(max_iter=SWEEPS, random_state=0).fit_transform(data[2])


def _scikit_learn_ridge(data: Any) -> np.ndarray:
    """The regression inside is solved once by Cholesky instead of by iterating over its own hyperparameters."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer
    from sklearn.linear_model import Ridge

    return IterativeImputer(Ridge(alpha=1e-3), max_iter=SWEEPS, random_state=0).fit_transform(data[2])


def _scikit_learn_draws(data: Any) -> np.ndarray:
    """Five tables take five fits; one is timed here and the ratio is for one table against our five."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer(max_iter=SWEEPS, random_state=0, sample_posterior=True).fit_transform(data[2])


def _error(data: Any, completed: np.ndarray) -> float:
    """Root mean squared error of the imputed cells."""
    X, missing, _ = data
    return float(np.sqrt(np.mean((completed - X)[missing] ** 2)))


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="impute-multiple",
        title="Chained equations, expected values, 10 sweeps, 10 % missing",
        make=_make,
        sizes=by_rows("{n} x 30", 500, 4_000, 20_000),
        ours=Contender("assay ImputeMultiple", "assay", _expected),
        peers=(
            Contender("IterativeImputer around Ridge(alpha=1e-3)", "scikit-learn", _scikit_learn_ridge, aim=5.0),
            Contender("IterativeImputer, default", "scikit-learn", _scikit_learn),
        ),
        tried="BayesianRidge (the default), Ridge with alpha 1e-3 and LinearRegression inside IterativeImputer: Ridge "
        "is the fastest at the same error.",
        quality=_error,
        gate=1e-3,
        quality_name="RMSE of imputed cells",
        lower_is_better=True,
        repeats=2,
        limit="one Gram matrix, and (missing rows) d^2 / 2 multiply-adds for each column and sweep",
    ),
    Problem(
        id="impute-multiple-draws",
        title="Five chains of draws (predictive mean matching) against one of the peer",
        make=_make,
        sizes=by_rows("{n} x 30", 500, 4_000, 20_000),
        ours=Contender("assay ImputeMultiple, 5 tables", "assay", _five_tables),
        peers=(Contender("scikit-learn IterativeImputer, 1 table", "scikit-learn", _scikit_learn_draws),),
        quality=_error,
        gate=1e-3,
        tried="draws need return_std of the learner inside, which only BayesianRidge and Gaussian processes have.",
        quality_name="RMSE of imputed cells",
        lower_is_better=True,
        repeats=2,
        limit="for each column and sweep a sort of the predictions of its observed rows",
    ),
)
