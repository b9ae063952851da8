"""Oblique trees against single columns.

The classes are apart along slanted directions. The gate is the accuracy on other rows at the same depth: linear tests
must be no worse than single columns. No peer has an oblique tree, so theirs are trees of single columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.versus.harness import Contender, Problem, by_rows


def make(rows: int) -> dict[str, Any]:
    """Rows to train and 20,000 to test: 20 columns of which 10 inform, two classes."""
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 20_000, 20, n_informative=10, random_state=0)
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:]}


def ours(direction: str) -> Callable[[dict[str, Any]], Any]:
    """Depth 8, all cores."""

    def run(data: dict[str, Any]) -> Any:
        from assay.models.trees import ObliqueTreeClassifier

        model = ObliqueTreeClassifier(direction=direction, max_depth=8, random_state=0)
        return model.fit(data["X"], data["y"]).predict(data["X_test"])

    return run


def scikit_learn(data: dict[str, Any]) -> Any:
    """Depth 8."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=8, random_state=0).fit(data["X"], data["y"]).predict(data["X_test"])


def one_tree(data: dict[str, Any]) -> Any:
    """Depth 8 on bins: a forest of one tree on all rows and columns."""
    from sklearnex.ensemble import RandomForestClassifier

    model = RandomForestClassifier(
        1, max_features=None, bootstrap=False, max_bins=64, max_depth=8, random_state=0, n_jobs=-1
    )
    return model.fit(data["X"], data["y"]).predict(data["X_test"])


def accuracy(data: dict[str, Any], predicted: Any) -> float:
    """Accuracy on the test rows."""
    return float((predicted == data["y_test"]).mean())


PROBLEMS: tuple[Problem, ...] = tuple(
    Problem(
        id=f"oblique-{direction}",
        title=f"Oblique tree, {direction}, depth 8",
        make=make,
        sizes=by_rows("{n} x 20", 2_000, 20_000, 100_000),
        ours=Contender("ObliqueTreeClassifier", "assay", ours(direction)),
        peers=(
            Contender("DecisionTreeClassifier", "scikit-learn", scikit_learn),
            Contender("scikit-learn-intelex, a forest of one tree", "scikit-learn-intelex", one_tree),
        ),
        quality=accuracy,
        gate=0.0,
        quality_name="accuracy",
        repeats=1 if direction == "coordinate" else 2,
        limit=limit,
        tried="no package that installs here has these trees: the peers are trees on single columns, which is "
        "less work, the quickest of them on bins.",
    )
    for direction, limit in (
        ("lda", "n d^2 products per Newton step and level"),
        ("logistic", "n d^2 products per Newton step and level"),
        ("coordinate", "n d cells per pass, start and level"),
    )
)
