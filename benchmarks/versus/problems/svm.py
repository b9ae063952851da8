"""Support vector machines with the Gaussian kernel, for classes and numbers, against libsvm and oneDAL."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

_C = 1.0


def _make_classes(rows: int) -> dict[str, Any]:
    from sklearn.datasets import make_classification

    X, y = make_classification(
        rows + 5_000, 30, n_informative=10, n_redundant=5, flip_y=0.02, class_sep=1.0, random_state=0
    )
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return {"X": X[:rows].copy(), "y": y[:rows].copy(), "X_test": X[rows:].copy(), "y_test": y[rows:]}


def _make_numbers(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 20))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.3 * rng.normal(size=rows)
    return {"X": X, "y": y}


def _ours_classes(data: dict[str, Any]) -> Any:
    from assay.models.kernel_machines import SVMClassifier

    return SVMClassifier(C=_C, gamma=1 / 30, cache_bytes=2e9).fit(data["X"], data["y"])


def _libsvm_classes(data: dict[str, Any]) -> Any:
    from sklearn.svm import SVC

    return SVC(C=_C, gamma=1 / 30, cache_size=2000).fit(data["X"], data["y"])


def _onedal_classes(data: dict[str, Any]) -> Any:
    from sklearnex.svm import SVC

    return SVC(C=_C, gamma=1 / 30, cache_size=2000).fit(data["X"], data["y"])


def _ours_numbers(data: dict[str, Any]) -> Any:
    from assay.models.kernel_machines import SVMRegressor

    return SVMRegressor(C=_C, gamma=1 / 20, cache_bytes=2e9).fit(data["X"], data["y"])


def _libsvm_numbers(data: dict[str, Any]) -> Any:
    from sklearn.svm import SVR

    return SVR(C=_C, gamma=1 / 20, cache_size=2000).fit(data["X"], data["y"])


def _onedal_numbers(data: dict[str, Any]) -> Any:
    from sklearnex.svm import SVR

    return SVR(C=_C, gamma=1 / 20, cache_size=2000).fit(data["X"], data["y"])


def _dual(data: dict[str, Any], model: Any, gamma: float, epsilon: float | None) -> float:
    """Minus the dual objective a row, with the kernel in float64."""
    from assay.numeric.kernels import Gaussian

    coef = model.dual_coef_.toarray() if hasattr(model.dual_coef_, "toarray") else np.asarray(model.dual_coef_)
    beta, vectors = coef.ravel(), data["X"][np.asarray(model.support_).astype(np.int64).ravel()]
    product, kernel = 0.0, Gaussian(gamma)
    for begin in range(0, len(beta), 1000):
        product += float(beta[begin : begin + 1000] @ (kernel(vectors[begin : begin + 1000], vectors) @ beta))
    gain = np.abs(beta).sum()
    if epsilon is not None:
        gain = float(data["y"][np.asarray(model.support_).astype(np.int64).ravel()] @ beta) - epsilon * gain
    return (0.5 * product - gain) / len(data["y"])


def _dual_classes(data: dict[str, Any], model: Any) -> float:
    return _dual(data, model, 1 / 30, None)


def _dual_numbers(data: dict[str, Any], model: Any) -> float:
    return _dual(data, model, 1 / 20, 0.1)


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="svm-gaussian",
        title="Support vector machine, Gaussian kernel",
        make=_make_classes,
        sizes=by_rows("{n} x 30", 1_000, 5_000, 20_000),
        headline=True,
        ours=Contender("SVMClassifier", "assay", _ours_classes),
        peers=(
            Contender("oneDAL", "scikit-learn-intelex", _onedal_classes, aim=1.2),
            Contender("SVC (libsvm)", "scikit-learn", _libsvm_classes, aim=5.0),
        ),
        quality=_dual_classes,
        gate=1e-6,
        quality_name="minus dual objective a row",
        lower_is_better=True,
        repeats=3,
        limit="kernel rows of the support vectors once: n s (2 d + 20) operations in float32",
    ),
    Problem(
        id="svm-regression",
        title="Support vector regression, Gaussian kernel",
        make=_make_numbers,
        sizes=by_rows("{n} x 20", 1_000, 3_000, 10_000),
        ours=Contender("SVMRegressor", "assay", _ours_numbers),
        peers=(
            Contender("oneDAL", "scikit-learn-intelex", _onedal_numbers, aim=1.2),
            Contender("SVR (libsvm)", "scikit-learn", _libsvm_numbers, aim=5.0),
        ),
        quality=_dual_numbers,
        gate=1e-6,
        quality_name="minus dual objective a row",
        lower_is_better=True,
        repeats=3,
        limit="kernel rows of the support vectors once: n s (2 d + 20) operations in float32",
    ),
)
