"""Penalties chosen by validation: the lasso path on wide and tall tables, ridge by leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, Size, by_rows


def _sparse_truth(rows: int, columns: int, active: int, noise: float, seed: int) -> Any:
    """Gaussian columns of which `active` matter; as many rows again to test on, at most 20,000."""
    rng = np.random.default_rng(seed)
    coefficients = np.zeros(columns)
    coefficients[rng.choice(columns, active, replace=False)] = rng.normal(size=active)
    X, X_new = rng.normal(size=(rows, columns)), rng.normal(size=(min(rows, 20_000), columns))
    y, y_new = (Z @ coefficients + noise * rng.normal(size=Z.shape[0]) for Z in (X, X_new))
    return X, y, X_new, y_new


def _lasso(data: Any) -> Any:
    from assay.models.linear import LassoCV

    return LassoCV(cv=5, n_jobs=-1).fit(*data[:2])


def _single(run: Callable[..., Any], **options: Any) -> Callable[[Any], Any]:
    """The same in float32."""
    return lambda data: run([part.astype(np.float32) for part in data[:2]], **options)


def _scikit_learn_lasso(data: Any, **options: Any) -> Any:
    from sklearn.linear_model import LassoCV

    return LassoCV(cv=5, n_jobs=-1, **options).fit(*data[:2])


_SMALL = 0.02


def _lasso_once(data: Any) -> Any:
    from assay.models.linear import Lasso

    return Lasso(alpha=_SMALL, n_jobs=-1).fit(*data[:2])


def _scikit_learn_lasso_once(data: Any) -> Any:
    from sklearn.linear_model import Lasso

    return Lasso(alpha=_SMALL).fit(*data[:2])


def _objective(data: Any, model: Any) -> float:
    X, y = data[:2]
    residual = y - X @ model.coef_ - model.intercept_
    return float(0.5 * np.mean(residual**2) + _SMALL * np.abs(model.coef_).sum())


def _skglm(data: Any) -> Any:
    from skglm import Lasso

    return Lasso(alpha=_SMALL, tol=1e-6).fit(*data[:2])


def _dense_support(id: str, sizes: tuple[Size, ...], limit: str) -> Problem:
    return Problem(
        id=id,
        title="Lasso, one small penalty, most columns active",
        make=_sparse_truth,
        sizes=sizes,
        ours=Contender("assay Lasso", "assay", _lasso_once),
        peers=(
            Contender("scikit-learn Lasso", "scikit-learn", _scikit_learn_lasso_once, aim=1.5),
            Contender("scikit-learn Lasso, float32", "scikit-learn", _single(_scikit_learn_lasso_once), aim=1.2),
            Contender("skglm Lasso", "skglm", _skglm, aim=1.5),
        ),
        quality=_objective,
        gate=1e-5,
        quality_name="objective",
        lower_is_better=True,
        repeats=3,
        limit=limit,
        tried="scikit-learn with precompute=True (faster by a seventh on the wide table, slower on the other) "
        "and random "
        "selection (slower); a tolerance of 1e-3 (misses the gate on the wide tables, no faster on the other); skglm, "
        "also by column; celer (slower than both); LassoLars (slower); float32, which takes scikit-learn a third to "
        "two thirds of the time, and does not gain by precompute=True; scikit-learn-intelex has no lasso any more.",
    )


_ALPHAS = np.geomspace(1e-2, 1e6, 50)


def _ridge(data: Any) -> Any:
    from assay.models.linear import RidgeCV

    return RidgeCV(alphas=_ALPHAS, n_jobs=-1).fit(*data[:2])


def _scikit_learn_ridge(data: Any) -> Any:
    from sklearn.linear_model import RidgeCV

    return RidgeCV(alphas=_ALPHAS).fit(*data[:2])


def _scikit_learn_ridge_svd(data: Any) -> Any:
    from sklearn.linear_model import RidgeCV

    return RidgeCV(alphas=_ALPHAS, gcv_mode="svd").fit(*data[:2])


class _Line:
    """What the quality asks of a model."""

    def __init__(self, coef: np.ndarray, intercept: float):
        self.coef_, self.intercept_ = coef, intercept


def _numpy_ridge(data: Any) -> _Line:
    """Leave-one-out errors of all penalties at once from the eigenvectors of the products of the columns."""
    X, y = data[:2]
    centre, mean = X.mean(axis=0), y.mean()
    Z, target = X - centre, y - mean
    values, vectors = np.linalg.eigh(Z.T @ Z)
    scores, shrunk = Z @ vectors, 1.0 / (values[:, None] + _ALPHAS)
    product = scores.T @ target
    leverage = (scores * scores) @ shrunk + 1.0 / len(y)
    residual = (target[:, None] - scores @ (shrunk * product[:, None])) / (1.0 - leverage)
    coef = vectors @ (shrunk[:, (residual**2).mean(axis=0).argmin()] * product)
    return _Line(coef, float(mean - centre @ coef))


def _test_error(data: Any, model: Any) -> float:
    X_new, y_new = data[2:]
    return float(np.mean((y_new - X_new @ model.coef_ - model.intercept_) ** 2))


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="lasso-cv-wide",
        title="LassoCV, 5 folds, 100 penalties, wide table",
        make=_sparse_truth,
        sizes=tuple(
            Size(f"2,000 x {p:,}", p, {"rows": 2_000, "columns": p, "active": 50, "noise": 2.0, "seed": 0})
            for p in (100, 1_000, 5_000)
        ),
        headline=True,
        ours=Contender("assay LassoCV", "assay", _lasso),
        peers=(
            Contender("scikit-learn LassoCV", "scikit-learn", _scikit_learn_lasso, aim=10),
            Contender("scikit-learn LassoCV, float32", "scikit-learn", _single(_scikit_learn_lasso), aim=5),
            Contender(
                "scikit-learn LassoCV, float32, tol=1e-2", "scikit-learn", _single(_scikit_learn_lasso, tol=1e-2), aim=3
            ),
        ),
        quality=_test_error,
        gate=0.02,
        quality_name="test MSE",
        lower_is_better=True,
        repeats=2,
        limit="one read of X (80 MB) for each penalty and the sweeps of each fold near saturation",
        tried="precompute=True is as fast; float32 takes half of the time, and a tolerance of 1e-2 a third less again; "
        "LassoLarsCV is slower; celer's LassoCV does not run with this scikit-learn.",
    ),
    Problem(
        id="lasso-cv-tall",
        title="LassoCV, 5 folds, 100 penalties, tall table",
        make=_sparse_truth,
        sizes=by_rows("{n} x 500", 1_500, 10_000, 100_000, columns=500, active=50, noise=2.0, seed=1),
        ours=Contender("assay LassoCV", "assay", _lasso),
        peers=(
            Contender("scikit-learn LassoCV", "scikit-learn", _scikit_learn_lasso, aim=20),
            Contender("scikit-learn LassoCV, float32", "scikit-learn", _single(_scikit_learn_lasso), aim=5),
        ),
        quality=_test_error,
        gate=1e-3,
        quality_name="test MSE",
        lower_is_better=True,
        repeats=2,
        limit="one read of X (400 MB) and n d^2 / 2 multiply-adds",
        tried="precompute=True is as fast; float32 takes a third of the time at 10,000 rows; a tolerance of 1e-2 saves "
        "a fifth and misses the gate; LassoLarsCV is slower; celer's LassoCV does not run with this scikit-learn.",
    ),
    _dense_support(
        "lasso-dense-support",
        tuple(
            Size(f"10,000 x {p:,}", p, {"rows": 10_000, "columns": p, "active": 45 * p // 100, "noise": 5.0, "seed": 4})
            for p in (200, 700, 2_000)
        ),
        "a copy of X by column (160 MB) and two reads of it for each of ten sweeps",
    ),
    _dense_support(
        "lasso-dense-support-wide",
        tuple(
            Size(f"2,000 x {p:,}", p, {"rows": 2_000, "columns": p, "active": 12 * p // 100, "noise": 5.0, "seed": 4})
            for p in (500, 1_600, 5_000)
        ),
        "n m^2 / 2 multiply-adds for the block of the active columns, and sweeps over it",
    ),
    Problem(
        id="ridge-cv",
        title="RidgeCV, leave-one-out over 50 penalties",
        make=_sparse_truth,
        sizes=by_rows("{n} x 200", 1_000, 5_000, 50_000, columns=200, active=200, noise=5.0, seed=2),
        ours=Contender("assay RidgeCV", "assay", _ridge),
        peers=(
            Contender("scikit-learn RidgeCV", "scikit-learn", _scikit_learn_ridge, aim=5),
            Contender("scikit-learn RidgeCV, gcv_mode='svd'", "scikit-learn", _scikit_learn_ridge_svd, aim=3),
            Contender("NumPy, eigenvectors of X'X", "numpy", _numpy_ridge, aim=1.2, by_hand=True),
        ),
        quality=_test_error,
        gate=1e-6,
        quality_name="test MSE",
        lower_is_better=True,
        limit="n d^2 / 2 multiply-adds for the Gram matrix and 2 n d per penalty",
        tried="gcv_mode 'svd' takes a third of the time of the default, which is 'eigen'; the formula in NumPy, by "
        "eigenvectors of the products of columns and for all penalties at once, an eighth to a third of that.",
    ),
)
