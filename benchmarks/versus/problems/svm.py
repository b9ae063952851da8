"""Support vector machines: Gaussian, a grid of C, regression, linear; against libsvm, oneDAL and liblinear."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from functools import partial
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

    return SVMClassifier(C=_C, gamma=1 / 30).fit(data["X"], data["y"])


def _single(run: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """The same in float32."""
    return lambda data: run({**data, "X": data["X"].astype(np.float32)})


def _libsvm_classes(data: dict[str, Any]) -> Any:
    from sklearn.svm import SVC

    return SVC(C=_C, gamma=1 / 30, cache_size=2000).fit(data["X"], data["y"])


def _onedal_classes(data: dict[str, Any]) -> Any:
    from sklearnex.svm import SVC

    return SVC(C=_C, gamma=1 / 30, cache_size=2000).fit(data["X"], data["y"])


def _ours_numbers(data: dict[str, Any]) -> Any:
    from assay.models.kernel_machines import SVMRegressor

    return SVMRegressor(C=_C, gamma=1 / 20).fit(data["X"], data["y"])


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


_PRICES = [0.1, 1.0, 10.0, 100.0, 1000.0]


def _ours_grid(data: dict[str, Any]) -> Any:
    from assay.models.kernel_machines import SVMClassifier

    return SVMClassifier(C=_PRICES, gamma=1 / 30, cv=10).fit(data["X"], data["y"])


def _grid(data: dict[str, Any], estimator: Any) -> Any:
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(estimator, {"C": _PRICES}, cv=10, n_jobs=os.cpu_count())
    return search.fit(data["X"], data["y"])


def _libsvm_grid(data: dict[str, Any]) -> Any:
    from sklearn.svm import SVC

    return _grid(data, SVC(gamma=1 / 30, cache_size=1000))


def _onedal_grid(data: dict[str, Any]) -> Any:
    from sklearnex.svm import SVC

    return _grid(data, SVC(gamma=1 / 30, cache_size=1000))


def _one_matrix(package: str) -> Callable[[dict[str, Any]], Any]:
    """The kernel of all rows once, of which folds take their parts."""

    def run(data: dict[str, Any]) -> Any:
        from sklearn.metrics.pairwise import rbf_kernel

        kernel = rbf_kernel(data["X"], gamma=1 / 30)
        machine = importlib.import_module(f"{package}.svm").SVC(kernel="precomputed", cache_size=1000)
        return _grid({**data, "X": kernel}, machine)

    return run


def _best_score(data: dict[str, Any], model: Any) -> float:
    """The mean held-out accuracy of the C that was chosen."""
    return float(model.scores_.mean(axis=0).max()) if hasattr(model, "scores_") else float(model.best_score_)


def _make_linear(rows: int) -> dict[str, Any]:
    from sklearn.datasets import make_classification

    X, y = make_classification(rows, 50, n_informative=20, n_redundant=5, flip_y=0.05, class_sep=0.7, random_state=0)
    return {"X": X, "y": y}


def _ours_linear(data: dict[str, Any]) -> Any:
    from assay.models.kernel_machines import SVMClassifier

    return SVMClassifier(kernel="linear").fit(data["X"], data["y"])


def _liblinear(data: dict[str, Any], **options: Any) -> Any:
    from sklearn.svm import LinearSVC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LinearSVC(**options).fit(data["X"], data["y"])


def _hinge(data: dict[str, Any], model: Any) -> float:
    """The objective a row, the constant free."""
    sign = np.where(data["y"] == 1, 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - sign * model.decision_function(data["X"]))
    return (0.5 * float((model.coef_**2).sum()) + float(slack.sum())) / len(sign)


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
            Contender("oneDAL, float32", "scikit-learn-intelex", _single(_onedal_classes), aim=1.2),
            Contender("SVC (libsvm)", "scikit-learn", _libsvm_classes, aim=5.0),
        ),
        quality=_dual_classes,
        gate=1e-6,
        tried="a cache of 2 GB for the peers, ours as it is; float32 takes oneDAL two thirds of the time and libsvm as "
        "long.",
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
            Contender("oneDAL, float32", "scikit-learn-intelex", _single(_onedal_numbers), aim=1.2),
            Contender("SVR (libsvm)", "scikit-learn", _libsvm_numbers, aim=5.0),
        ),
        quality=_dual_numbers,
        gate=1e-6,
        tried="a cache of 2 GB for the peers, ours as it is; float32 takes oneDAL two thirds of the time and libsvm as "
        "long.",
        quality_name="minus dual objective a row",
        lower_is_better=True,
        repeats=3,
        limit="kernel rows of the support vectors once: n s (2 d + 20) operations in float32",
    ),
    Problem(
        id="svm-grid",
        title="Support vector machine, 10 folds x 5 values of C",
        make=_make_classes,
        sizes=by_rows("{n} x 30", 500, 2_000, 5_000),
        ours=Contender("SVMClassifier(C=[...])", "assay", _ours_grid),
        peers=(
            Contender("GridSearchCV, oneDAL", "scikit-learn-intelex", _onedal_grid),
            Contender("GridSearchCV, oneDAL, float32", "scikit-learn-intelex", _single(_onedal_grid), aim=3.0),
            Contender("GridSearchCV, oneDAL, kernel given", "scikit-learn-intelex", _one_matrix("sklearnex"), aim=3.0),
            Contender("GridSearchCV, SVC", "scikit-learn", _libsvm_grid, aim=10.0),
            Contender("GridSearchCV, SVC, kernel given", "scikit-learn", _one_matrix("sklearn"), aim=5.0),
        ),
        quality=_best_score,
        gate=2e-3,
        tried="a cache of 1 GB, two jobs; float32 takes oneDAL a third of the time, a kernel matrix that is made once "
        "as little, and libsvm half.",
        quality_name="held-out accuracy of the chosen C",
        lower_is_better=False,
        repeats=3,
        limit="one kernel matrix (n^2 (2 d + 20) operations) and the steps of 50 duals",
    ),
    # The squared hinge in the primal is another loss, but liblinear's quickest way to a linear machine; its dual for
    # the hinge ends at its limit of 1000 passes on these rows, far from the minimum.
    Problem(
        id="svm-linear",
        title="Linear support vector machine",
        make=_make_linear,
        sizes=by_rows("{n} x 50", 5_000, 50_000, 500_000),
        ours=Contender("SVMClassifier(kernel='linear')", "assay", _ours_linear),
        peers=(
            Contender(
                "LinearSVC (liblinear, primal, squared hinge)", "scikit-learn", partial(_liblinear, dual=False), aim=3.0
            ),
            Contender(
                "LinearSVC (liblinear, primal, squared hinge, tol=1e-2)",
                "scikit-learn",
                partial(_liblinear, dual=False, tol=1e-2),
                aim=3.0,
            ),
            Contender(
                "LinearSVC (liblinear, dual, hinge, 50 passes)",
                "scikit-learn",
                partial(_liblinear, loss="hinge", dual=True, max_iter=50, intercept_scaling=10.0),
                aim=3.0,
            ),
        ),
        quality=_hinge,
        gate=1e-6,
        tried="liblinear primal and dual, of which none ends within the gate; a tolerance of 1e-2 in the primal takes "
        "three quarters of the time for nearly the same line; oneDAL's kernel machine with a linear kernel comes to "
        "the hinge's minimum in over a hundred times the time; float32 is turned to float64 by liblinear.",
        quality_name="hinge objective a row",
        lower_is_better=True,
        repeats=3,
        limit="a few reads of X (200 MB), Newton steps on the rows near the margin",
    ),
)
