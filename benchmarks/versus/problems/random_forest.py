"""Random forests and extra trees against scikit-learn and scikit-learn-intelex."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.harness import Contender, Problem, by_rows


def make(rows: int) -> dict[str, Any]:
    """Rows to train and 20,000 to test, 30 columns, two classes."""
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 20_000, 30, n_informative=15, n_redundant=5, flip_y=0.02, random_state=0)
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:]}


def ours(data: dict[str, Any]) -> Any:
    """100 trees to full depth on all cores."""
    from assay.models.ensembles import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, random_state=0).fit(data["X"], data["y"])


def scikit_learn(data: dict[str, Any]) -> Any:
    """The peer's exact splitter, all cores."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, random_state=0, n_jobs=-1).fit(data["X"], data["y"])


def intelex(data: dict[str, Any]) -> Any:
    """oneDAL's histograms at the number of bins where it is fastest at equal accuracy."""
    from sklearnex.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=100, random_state=0, n_jobs=-1, max_bins=64).fit(data["X"], data["y"])


def ours_extra(data: dict[str, Any]) -> Any:
    """100 extra trees on all cores."""
    from assay.models.ensembles import ExtraTreesClassifier

    return ExtraTreesClassifier(n_estimators=100, random_state=0).fit(data["X"], data["y"])


def scikit_learn_extra(data: dict[str, Any]) -> Any:
    """The peer's extra trees, all cores."""
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(n_estimators=100, random_state=0, n_jobs=-1).fit(data["X"], data["y"])


def accuracy(data: dict[str, Any], model: Any) -> float:
    """Accuracy on the test rows."""
    return float(model.score(data["X_test"], data["y_test"]))


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="random-forest",
        title="Random forest, 100 trees",
        make=make,
        sizes=by_rows("{n} x 30", 1_500, 10_000, 50_000),
        headline=True,
        ours=Contender("assay RandomForestClassifier", "assay", ours),
        peers=(
            Contender("RandomForestClassifier", "scikit-learn", scikit_learn, aim=8),
            Contender("RandomForestClassifier, max_bins=64", "scikit-learn-intelex", intelex, aim=1.3),
        ),
        quality=accuracy,
        gate=0.005,
        quality_name="accuracy",
        limit="one addition of a 64-bit word per row, drawn column and level of every tree",
    ),
    Problem(
        id="extra-trees",
        title="Extra trees, 100 trees",
        make=make,
        sizes=by_rows("{n} x 30", 1_500, 10_000, 50_000),
        ours=Contender("assay ExtraTreesClassifier", "assay", ours_extra),
        peers=(Contender("ExtraTreesClassifier", "scikit-learn", scikit_learn_extra, aim=2),),
        quality=accuracy,
        gate=0.005,
        quality_name="accuracy",
        limit="two reads of a byte per row, drawn column and level of every tree",
    ),
)
