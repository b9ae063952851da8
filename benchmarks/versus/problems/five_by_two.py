"""Five repetitions of two folds for a set of learners with three metrics, end to end: the whole comparison loop.

Ours runs a plan on a table (target, roles, splits, preparation, fits, predictions, metrics); the peer runs
`cross_validate` once per learner with its equivalents of the same learners, and fits each learner on all rows, which
ours does for the pictures of a report. OneR has no peer and is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

COLUMNS, CLASSES = 20, 3
METRICS = ("accuracy", "balanced_accuracy", "f1_macro")
OURS = ("zero-r", "naive-bayes", "knn-classifier", "cart-classifier", "logistic")


def make(rows: int) -> dict[str, Any]:
    """Overlapping Gaussian classes with a few columns of noise, as arrays and as a file that `read_table` knows."""
    import tempfile
    from pathlib import Path

    from assay.data import read_table

    generator = np.random.default_rng(7)
    centres = generator.normal(scale=0.8, size=(CLASSES, COLUMNS))
    centres[:, COLUMNS // 2 :] = 0.0
    y = generator.integers(CLASSES, size=rows)
    X = centres[y] + generator.normal(size=(rows, COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "five_by_two.csv"
        names = [f"x{j}" for j in range(COLUMNS)]
        lines = [",".join([*names, "kind"])]
        lines += [",".join([*(repr(float(v)) for v in row), f"class {label}"]) for row, label in zip(X, y)]
        path.write_text("\n".join(lines))
        table = read_table(path)
    return {"X": X, "y": np.array([f"class {label}" for label in y]), "table": table}


def run_assay(data: dict[str, Any]) -> dict[str, float]:
    """A plan and its run on two cores; nothing is stored, as the peer stores nothing."""
    from assay.experiment import Plan, run

    results = run(Plan(data["table"], "kind", learners=list(OURS), metrics=METRICS, design="5x2"), n_jobs=2)
    assert not results.failed, results.failed[0].error
    return {result.id: float(result.scores["accuracy"].mean()) for result in results.learners}


def run_sklearn(data: dict[str, Any]) -> dict[str, float]:
    """`cross_validate` on two processes, scaling inside a pipeline where ours scales."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_validate
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    learners = {
        "zero-r": DummyClassifier(),
        "naive-bayes": GaussianNB(),
        "knn-classifier": make_pipeline(StandardScaler(), KNeighborsClassifier()),
        "cart-classifier": DecisionTreeClassifier(random_state=0),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    }
    splitter = RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=0)
    means = {}
    for name, learner in learners.items():
        scores = cross_validate(learner, data["X"], data["y"], cv=splitter, scoring=list(METRICS), n_jobs=2)
        means[name] = float(scores["test_accuracy"].mean())
        learner.fit(data["X"], data["y"])
    return means


def quality(_: dict[str, Any], means: dict[str, float]) -> float:
    """Mean accuracy over the learners that both have."""
    return float(np.mean([means[name] for name in OURS]))


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="five-by-two",
        title="5x2 cross-validation of five learners, three metrics",
        make=make,
        sizes=by_rows("{n} x 20, 3 classes", 1_000, 10_000),
        ours=Contender("assay", "assay", run_assay),
        peers=(Contender("scikit-learn cross_validate, 2 jobs", "scikit-learn", run_sklearn, aim=10.0),),
        quality=quality,
        gate=0.01,
        tried="two jobs; the learners of scikit-learn-intelex make a difference where forests are, in the row "
        "of twelve.",
        quality_name="mean accuracy",
        repeats=3,
        limit="nearest neighbours: 10 x 5000 x 5000 distances in 20 dimensions, 10 GFLOP",
    ),
)
