"""AdaBoost of stumps against scikit-learn."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.harness import Contender, Problem, by_rows

from .random_forest import accuracy, make


def ours(data: dict[str, Any]) -> Any:
    """100 stumps on binned columns."""
    from assay.models.ensembles import AdaBoostClassifier

    return AdaBoostClassifier(n_estimators=100).fit(data["X"], data["y"])


def scikit_learn(data: dict[str, Any]) -> Any:
    """100 stumps by the peer's exact splitter; its rounds cannot run side by side."""
    from sklearn.ensemble import AdaBoostClassifier

    return AdaBoostClassifier(n_estimators=100, random_state=0).fit(data["X"], data["y"])


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="adaboost",
        title="AdaBoost, 100 stumps",
        make=make,
        sizes=by_rows("{n} x 30", 1_500, 10_000, 50_000),
        ours=Contender("assay AdaBoostClassifier", "assay", ours),
        peers=(Contender("AdaBoostClassifier", "scikit-learn", scikit_learn, aim=20),),
        quality=accuracy,
        gate=0.01,
        tried="rows in float32 take scikit-learn as long; stumps on bins (forests of one of scikit-learn-intelex) "
        "take longer; daal4py has no AdaBoost.",
        quality_name="accuracy",
        limit="one addition of a 64-bit word per cell and round",
    ),
)
