"""The comparison loop, end to end: twelve learners by 5x2 folds with three metrics, each learner alone, and ten folds
of a mixed table with missing cells.

Ours runs a plan on a table (target, roles, splits, preparation, fits, predictions, metrics); the peer runs
`cross_validate` on two processes, once per learner, with its equivalents of the same learners and pipelines for what
they need. Ours stores nothing and draws no pictures, as the peer does neither. scikit-learn's own thread pools stay as
they are; it was tried with `n_jobs=2` inside the forests instead of around them, which takes longer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

COLUMNS, CLASSES = 20, 3
METRICS = ("accuracy", "balanced_accuracy", "f1_macro")
SHARING = ("naive-bayes", "lda", "qda", "nearest-mean")
"""Learners whose folds are made of one pass over the rows."""

# id: our options, scikit-learn's module and class, its options, whether it needs scaled columns
TWELVE: dict[str, tuple[dict[str, Any], str, dict[str, Any], bool]] = {
    "zero-r": ({}, "dummy.DummyClassifier", {}, False),
    "naive-bayes": ({}, "naive_bayes.GaussianNB", {}, False),
    "nearest-mean": ({}, "neighbors.NearestCentroid", {}, True),
    "lda": ({}, "discriminant_analysis.LinearDiscriminantAnalysis", {}, False),
    "qda": ({}, "discriminant_analysis.QuadraticDiscriminantAnalysis", {}, False),
    "knn-classifier": ({}, "neighbors.KNeighborsClassifier", {}, True),
    "logistic": ({}, "linear_model.LogisticRegression", {}, True),
    "cart-classifier": ({}, "tree.DecisionTreeClassifier", {"random_state": 0}, False),
    "random-forest-classifier": ({}, "ensemble.RandomForestClassifier", {"random_state": 0}, False),
    "extra-trees-classifier": ({}, "ensemble.ExtraTreesClassifier", {"random_state": 0}, False),
    "gradient-boosting-classifier": (
        {"n_estimators": 100},
        "ensemble.HistGradientBoostingClassifier",
        {"max_iter": 100, "early_stopping": False},
        False,
    ),
    "adaboost": ({"n_estimators": 50}, "ensemble.AdaBoostClassifier", {"n_estimators": 50, "random_state": 0}, False),
}


def make(rows: int) -> dict[str, Any]:
    """Overlapping Gaussian classes with a few columns of noise, as arrays and as a table."""
    import polars as pl

    from assay.data import Table

    generator = np.random.default_rng(7)
    centres = generator.normal(scale=0.8, size=(CLASSES, COLUMNS))
    centres[:, COLUMNS // 2 :] = 0.0
    codes = generator.integers(CLASSES, size=rows)
    X = centres[codes] + generator.normal(size=(rows, COLUMNS))
    y = np.array([f"class {code}" for code in codes])
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(COLUMNS)]).with_columns(kind=pl.Series(y))
    return {"X": X, "y": y, "table": Table.from_frame(frame, name="classes")}


def _ours(names: tuple[str, ...], design: str) -> Callable[[dict[str, Any]], dict[str, float]]:
    def run_assay(data: dict[str, Any]) -> dict[str, float]:
        """A plan and its run on two cores."""
        from assay.experiment import Plan, run

        learners = [(name, TWELVE[name][0]) for name in names]
        results = run(
            Plan(data["table"], "kind", learners=learners, metrics=METRICS, design=design), n_jobs=2, views=False
        )
        assert not results.failed, results.failed[0].error
        return {result.id: float(result.scores["accuracy"].mean()) for result in results.learners}

    return run_assay


def _learner(path: str, options: dict[str, Any], faster: bool) -> Any:
    """A learner of scikit-learn, or the one that scikit-learn-intelex has in its place."""
    import importlib

    module, _, name = path.rpartition(".")
    room = importlib.import_module(f"sklearn.{module}")
    if faster:
        with contextlib.suppress(ImportError):
            other = importlib.import_module(f"sklearnex.{module}")
            room = other if hasattr(other, name) else room
    return getattr(room, name)(**options)


REPLACED = ("knn-classifier", "logistic", "random-forest-classifier", "extra-trees-classifier")
"""Learners of the twelve that scikit-learn-intelex has too."""


def _theirs(
    names: tuple[str, ...], repetitions: int, folds: int, faster: bool = False
) -> Callable[[dict[str, Any]], dict[str, float]]:
    def run_sklearn(data: dict[str, Any]) -> dict[str, float]:
        """`cross_validate` on two processes, scaling inside a pipeline where ours scales."""
        from sklearn.model_selection import RepeatedStratifiedKFold, cross_validate
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repetitions, random_state=0)
        means = {}
        for name in names:
            _, path, options, scales = TWELVE[name]
            learner = _learner(path, options, faster)
            learner = make_pipeline(StandardScaler(), learner) if scales else learner
            scores = cross_validate(learner, data["X"], data["y"], cv=splitter, scoring=list(METRICS), n_jobs=2)
            means[name] = float(scores["test_accuracy"].mean())
        return means

    return run_sklearn


def quality(_: dict[str, Any], means: dict[str, float]) -> float:
    """Mean accuracy over the learners."""
    return float(np.mean(list(means.values())))


def _loop(
    problem: str, title: str, names: tuple[str, ...], repetitions: int, folds: int, aim: float, limit: str
) -> Problem:
    return Problem(
        id=problem,
        title=title,
        make=make,
        sizes=by_rows("{n} x 20, 3 classes", 1_000, 3_000, 10_000),
        headline=problem == "twelve-learners",
        ours=Contender("assay", "assay", _ours(names, f"{repetitions}x{folds}")),
        peers=(
            Contender(
                "scikit-learn cross_validate, 2 jobs", "scikit-learn", _theirs(names, repetitions, folds), aim=aim
            ),
            *(
                [
                    Contender(
                        "the same, learners of scikit-learn-intelex",
                        "scikit-learn-intelex",
                        _theirs(names, repetitions, folds, faster=True),
                        aim=3.0,
                    )
                ]
                if set(names) & set(REPLACED)
                else []
            ),
        ),
        quality=quality,
        # Means of stumps differ by the rule of their weights.
        gate=0.05 if names == ("adaboost",) else 0.015,
        quality_name="mean accuracy",
        limit=limit,
        tried="two jobs against one; learners of scikit-learn-intelex where it has them (forests three to five "
        "times as "
        "fast, extra trees twice, neighbours slower).",
    )


# -- folds of a regression ---------------------------------------------------------------------------------------------
NUMBER_METRICS = ("rmse", "mae", "r2")


def make_numbers(rows: int) -> dict[str, Any]:
    """A linear target with noise, as arrays and as a table."""
    import polars as pl

    from assay.data import Table

    generator = np.random.default_rng(5)
    X = generator.normal(size=(rows, COLUMNS)) * generator.uniform(0.5, 2.0, size=COLUMNS)
    y = X @ generator.normal(size=COLUMNS) + generator.normal(scale=2.0, size=rows)
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(COLUMNS)]).with_columns(value=pl.Series(y))
    return {"X": X, "y": y, "table": Table.from_frame(frame, name="numbers")}


def run_ridge_assay(data: dict[str, Any]) -> dict[str, float]:
    """A plan and its run on two cores."""
    from assay.experiment import Plan, run

    plan = Plan(data["table"], "value", learners=["ridge"], metrics=NUMBER_METRICS, design="10x10")
    results = run(plan, n_jobs=2, views=False)
    assert not results.failed, results.failed[0].error
    return {"ridge": float(results.learners[0].scores["r2"].mean())}


def run_ridge_sklearn(data: dict[str, Any]) -> dict[str, float]:
    """`cross_validate` on two processes, scaling inside a pipeline as ours does, by the Cholesky factor."""
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import RepeatedKFold, cross_validate
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    splitter = RepeatedKFold(n_splits=10, n_repeats=10, random_state=0)
    learner = make_pipeline(StandardScaler(), Ridge(solver="cholesky"))
    scoring = ["neg_root_mean_squared_error", "neg_mean_absolute_error", "r2"]
    scores = cross_validate(learner, data["X"], data["y"], cv=splitter, scoring=scoring, n_jobs=2)
    return {"ridge": float(scores["test_r2"].mean())}


# -- a mixed table -----------------------------------------------------------------------------------------------------
MIXED = ("zero-r", "naive-bayes", "logistic", "cart-classifier", "newton-boosting-classifier")


def make_mixed(rows: int) -> dict[str, Any]:
    """Eight columns of numbers with missing cells, four of labels, and two classes that follow some of both."""
    import polars as pl

    from assay.data import Table

    rng = np.random.default_rng(11)
    X = rng.normal(size=(rows, 8))
    labels = [
        np.array([f"{letter}{k}" for k in rng.integers(size, size=rows)])
        for letter, size in zip("abcd", (3, 5, 12, 30))
    ]
    effect = sum(rng.normal(scale=0.6, size=40)[np.unique(column, return_inverse=True)[1]] for column in labels)
    y = np.where(X[:, 0] - X[:, 1] * X[:, 2] + effect + rng.normal(size=rows) > 0, "yes", "no")
    X[rng.random(X.shape) < 0.05] = np.nan
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(8)], nan_to_null=True).with_columns(
        *(pl.Series(name, column) for name, column in zip("abcd", labels)), pl.Series("kind", y)
    )
    return {"table": Table.from_frame(frame, name="mixed"), "frame": frame.drop("kind").to_pandas(), "y": y}


def run_mixed_assay(data: dict[str, Any]) -> dict[str, float]:
    """Ten folds, each with the preparation that a learner needs."""
    from assay.experiment import Plan, run

    learners = [(name, {"n_estimators": 100}) if "boosting" in name else name for name in MIXED]
    results = run(
        Plan(data["table"], "kind", learners=learners, metrics=METRICS, design="10-fold"), n_jobs=2, views=False
    )
    assert not results.failed, results.failed[0].error
    return {result.id: float(result.scores["accuracy"].mean()) for result in results.learners}


def run_mixed_sklearn(data: dict[str, Any]) -> dict[str, float]:
    """Pipelines that fill, scale and encode; boosting takes labels and gaps as they are."""
    from sklearn.compose import make_column_transformer
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_validate
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    frame, numbers = data["frame"], [f"x{j}" for j in range(8)]

    def prepared(scale: bool) -> Any:
        steps = [SimpleImputer(add_indicator=True), *([StandardScaler()] if scale else [])]
        return make_column_transformer(
            (make_pipeline(*steps), numbers), (OneHotEncoder(handle_unknown="ignore"), list("abcd"))
        )

    # No naive Bayes of scikit-learn takes numbers beside labels: tables of bins and labels come nearest.
    bins = make_pipeline(SimpleImputer(), KBinsDiscretizer(10, encode="ordinal"))
    tables = make_column_transformer((bins, numbers), (OrdinalEncoder(), list("abcd")))

    labelled = frame.astype(dict.fromkeys("abcd", "category"))
    learners = {
        "zero-r": (DummyClassifier(), frame),
        "naive-bayes": (make_pipeline(tables, CategoricalNB(min_categories=30)), frame),
        "logistic": (make_pipeline(prepared(True), LogisticRegression()), frame),
        "cart-classifier": (make_pipeline(prepared(False), DecisionTreeClassifier(random_state=0)), frame),
        "newton-boosting-classifier": (
            HistGradientBoostingClassifier(max_iter=100, early_stopping=False, categorical_features="from_dtype"),
            labelled,
        ),
    }
    splitter = StratifiedKFold(n_splits=10, shuffle=True, random_state=0)
    means = {}
    for name, (learner, rows) in learners.items():
        scores = cross_validate(learner, rows, data["y"], cv=splitter, scoring=list(METRICS), n_jobs=2)
        means[name] = float(scores["test_accuracy"].mean())
    return means


# -- what a fold costs beside its fit ----------------------------------------------------------------------------------
def run_constant_assay(data: dict[str, Any]) -> dict[str, float]:
    """A hundred folds of a learner that does nothing, on one core."""
    from assay.experiment import Plan, run

    results = run(Plan(data["table"], "kind", learners=["zero-r"], metrics=METRICS, design="10x10"), views=False)
    return {"zero-r": float(results.learners[0].scores["accuracy"].mean())}


def run_constant_sklearn(data: dict[str, Any]) -> dict[str, float]:
    """The same by `cross_validate` in its own process, which is faster here than with two."""
    from sklearn.dummy import DummyClassifier
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_validate

    splitter = RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0)
    scores = cross_validate(DummyClassifier(), data["X"], data["y"], cv=splitter, scoring=list(METRICS))
    return {"zero-r": float(scores["test_accuracy"].mean())}


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="fold-overhead",
        title="100 folds of a constant prediction: what a fold costs beside its fit",
        make=make,
        sizes=by_rows("{n} x 20, 3 classes", 150, 1_000, 10_000),
        ours=Contender("assay", "assay", run_constant_assay),
        peers=(Contender("scikit-learn cross_validate", "scikit-learn", run_constant_sklearn),),
        quality=quality,
        gate=0.01,
        quality_name="accuracy",
        tried="one job, which is faster here than two.",
        limit="the seconds of a run are those of a hundred tasks: under 0.5 s is under 5 ms a task",
    ),
    _loop(
        "twelve-learners",
        "5x2 cross-validation of twelve learners, three metrics",
        tuple(TWELVE),
        5,
        2,
        10.0,
        "forests and boosting: 10 fits of 100 trees each on 5,000 rows",
    ),
    *(
        _loop(f"folds-{name}", f"5x2 cross-validation: {name}", (name,), 5, 2, 10.0, "one read of the rows per fold")
        for name in TWELVE
        if name != "zero-r"
    ),
    *(
        _loop(
            f"repeated-{name}",
            f"10x10 cross-validation: {name}",
            (name,),
            10,
            10,
            20.0,
            "one pass over the rows for each repetition",
        )
        for name in (*SHARING, "knn-classifier")
    ),
    Problem(
        id="repeated-ridge",
        title="10x10 cross-validation: ridge",
        make=make_numbers,
        sizes=by_rows("{n} x 20, numbers", 1_000, 3_000, 10_000),
        ours=Contender("assay", "assay", run_ridge_assay),
        peers=(Contender("scikit-learn cross_validate, 2 jobs", "scikit-learn", run_ridge_sklearn, aim=20.0),),
        quality=quality,
        gate=0.005,
        quality_name="mean R2",
        limit="one pass over the rows for each repetition",
        tried="the solvers of scikit-learn's ridge: the Cholesky factor is the fastest at 20 columns; two jobs against "
        "one.",
    ),
    Problem(
        id="ten-fold-mixed",
        title="10-fold cross-validation of five learners on a mixed table",
        make=make_mixed,
        sizes=by_rows("{n} x 12, labels and gaps", 2_000, 10_000, 50_000),
        headline=True,
        ours=Contender("assay", "assay", run_mixed_assay),
        peers=(Contender("scikit-learn pipelines, 2 jobs", "scikit-learn", run_mixed_sklearn, aim=10.0),),
        quality=quality,
        gate=0.02,
        quality_name="mean accuracy",
        limit="boosting: 10 fits of 100 trees on 45,000 rows",
        tried="Naive Bayes of scikit-learn: normal densities of indicator columns lose nine points of accuracy against "
        "tables of binned numbers and of labels, which stand here. At 2,000 rows dense indicators, classes as "
        "integers and newton-cholesky take as long.",
    ),
)
