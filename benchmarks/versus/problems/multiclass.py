"""Many classes from two, around the same binary learner: one against the rest and one against one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

CLASSES = 8


def _make(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, size=rows + 10_000)
    X = rng.normal(size=(rows + 10_000, 20)) + 0.5 * rng.normal(size=(CLASSES, 20))[y]
    return {"X": X[:rows].copy(), "y": y[:rows].copy(), "X_test": X[rows:], "y_test": y[rows:]}


def _ours(name: str) -> Callable[[dict[str, Any]], Any]:
    def run(data: dict[str, Any]) -> Any:
        from assay.models import linear

        return getattr(linear, name)(estimator=linear.LogisticRegression(tol=1e-6), n_jobs=-1).fit(data["X"], data["y"])

    return run


def _around(name: str) -> Callable[[dict[str, Any]], Any]:
    """scikit-learn's reduction around our binary learner: what the reduction itself costs."""

    def run(data: dict[str, Any]) -> Any:
        from sklearn import multiclass

        from assay.models.linear import LogisticRegression

        return getattr(multiclass, name)(LogisticRegression(tol=1e-6)).fit(data["X"], data["y"])

    return run


def _loose(name: str) -> Callable[[dict[str, Any]], Any]:
    """In float32, and stopped earlier."""
    run = _sklearn(name, tol=1e-2)
    return lambda data: run({**data, "X": data["X"].astype(np.float32)})


def _sklearn(name: str, tol: float = 1e-6) -> Callable[[dict[str, Any]], Any]:
    def run(data: dict[str, Any]) -> Any:
        from sklearn import multiclass
        from sklearn.linear_model import LogisticRegression

        learner = LogisticRegression(solver="newton-cholesky", tol=tol)
        return getattr(multiclass, name)(learner, n_jobs=-1).fit(data["X"], data["y"])

    return run


def _accuracy(data: dict[str, Any], model: Any) -> float:
    return float((model.predict(data["X_test"]) == data["y_test"]).mean())


def _problem(id: str, title: str, ours: str, theirs: str) -> Problem:
    return Problem(
        id=id,
        title=f"{title} around logistic regression",
        make=_make,
        sizes=by_rows(f"{{n}} x 20, {CLASSES} classes", 1_600, 10_000, 50_000),
        ours=Contender(ours, "assay", _ours(ours)),
        peers=(
            Contender(f"{theirs}, newton-cholesky", "scikit-learn", _sklearn(theirs), aim=2),
            Contender(f"{theirs}, newton-cholesky, float32, tol=1e-2", "scikit-learn", _loose(theirs), aim=1.5),
            Contender(f"{theirs} around our learner", "scikit-learn", _around(theirs), aim=1),
        ),
        quality=_accuracy,
        gate=0.002,
        quality_name="test accuracy",
        tried="newton-cholesky on all cores; float32 saves a sixth to a third, and a tolerance of 1e-2 a sixth of the "
        "rest, at the same accuracy; threads are quicker than "
        "processes for one against the rest and slower for one against one; one job is slower.",
        limit="a few passes of Newton's method for each learner, all independent",
    )


PROBLEMS: tuple[Problem, ...] = (
    _problem("one-vs-rest", "One against the rest", "OneVsRest", "OneVsRestClassifier"),
    _problem("one-vs-one", "One against one", "OneVsOne", "OneVsOneClassifier"),
)
