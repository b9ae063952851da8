"""Bagging and stacking against scikit-learn: around the same members, and around scikit-learn's own.

Tried: samples as repeated rows (1.6 times the rows of sample weights for nothing), a coding of the columns for every
tree (a third of the time of a tree).
"""

from __future__ import annotations

from typing import Any

from benchmarks.versus.harness import Contender, Problem, by_rows

from .random_forest import accuracy, bagging_forest, make


def bagging(data: dict[str, Any]) -> Any:
    """30 trees on bootstrap samples."""
    from assay.models.ensembles import BaggingClassifier

    return BaggingClassifier(n_estimators=30, random_state=0, n_jobs=-1).fit(data["X"], data["y"])


def bagging_around_ours(data: dict[str, Any]) -> Any:
    """scikit-learn's bagging around the same trees: what the combiner itself brings."""
    from sklearn.ensemble import BaggingClassifier

    from assay.models.trees import CartClassifier

    return BaggingClassifier(CartClassifier(n_jobs=1), n_estimators=30, random_state=0, n_jobs=-1).fit(
        data["X"], data["y"]
    )


def bagging_scikit_learn(data: dict[str, Any]) -> Any:
    """The peer's bagging of its own trees."""
    from sklearn.ensemble import BaggingClassifier

    return BaggingClassifier(n_estimators=30, random_state=0, n_jobs=-1).fit(data["X"], data["y"])


def _members() -> list[tuple[str, Any]]:
    from assay.models.bayes import NaiveBayes
    from assay.models.linear import LogisticRegression
    from assay.models.trees import CartClassifier

    return [
        ("bayes", NaiveBayes()),
        ("line", LogisticRegression(tol=1e-6)),
        ("tree", CartClassifier(min_samples_leaf=20)),
    ]


def stacking(data: dict[str, Any]) -> Any:
    """Three members, five folds that share their work."""
    from assay.models.ensembles import StackingClassifier

    return StackingClassifier(estimators=_members(), cv=5).fit(data["X"], data["y"])


def stacking_around_ours(data: dict[str, Any]) -> Any:
    """scikit-learn's stacking around the same members and the same combiner."""
    from sklearn.ensemble import StackingClassifier

    from assay.models.linear import LogisticRegression

    return StackingClassifier(_members(), final_estimator=LogisticRegression(), cv=5).fit(data["X"], data["y"])


def stacking_scikit_learn(data: dict[str, Any]) -> Any:
    """The peer's stacking of its own learners, its quickest solver, all cores."""
    from sklearn.ensemble import StackingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    members = [
        ("bayes", GaussianNB()),
        ("line", LogisticRegression(solver="newton-cholesky", tol=1e-6)),
        ("tree", DecisionTreeClassifier(min_samples_leaf=20, random_state=0)),
    ]
    return StackingClassifier(members, cv=5, n_jobs=-1).fit(data["X"], data["y"])


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="bagging",
        title="Bagging, 30 trees",
        make=make,
        sizes=by_rows("{n} x 30", 1_500, 10_000, 50_000),
        ours=Contender("assay BaggingClassifier", "assay", bagging),
        peers=(
            Contender("BaggingClassifier", "scikit-learn", bagging_scikit_learn, aim=3),
            Contender("BaggingClassifier of Assay's trees", "scikit-learn", bagging_around_ours, aim=1.2),
            Contender("a forest on all columns, 64 bins", "scikit-learn-intelex", bagging_forest, aim=1.2),
        ),
        quality=accuracy,
        gate=0.01,
        quality_name="accuracy",
        limit="one coding of the columns, and a pass over the rows drawn per column and level of every tree",
        tried="a forest of scikit-learn on all columns is a quarter faster than its BaggingClassifier, and the one of "
        "scikit-learn-intelex five times; our own forest on all columns is measured in random-forest-bagged. Threads "
        "in place of processes around our trees stay behind that forest.",
    ),
    Problem(
        id="stacking",
        title="Stacking of three, 5 folds",
        make=make,
        sizes=by_rows("{n} x 30", 1_500, 10_000, 50_000),
        ours=Contender("assay StackingClassifier", "assay", stacking),
        peers=(
            Contender("StackingClassifier", "scikit-learn", stacking_scikit_learn, aim=2),
            Contender("StackingClassifier of Assay's members", "scikit-learn", stacking_around_ours, aim=1.2),
        ),
        quality=accuracy,
        gate=0.01,
        quality_name="accuracy",
        limit="one tree for each fold and one for all rows",
        tried="scikit-learn's own members with the quickest solver on all cores, and its stacking around our members, "
        "which a tree of scikit-learn-intelex (a forest of one) in the place of its own does not overtake.",
    ),
)
