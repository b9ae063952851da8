"""CART at full depth against scikit-learn."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.harness import Contender, Problem


def make() -> dict[str, Any]:
    """150,000 rows to train and 50,000 to test, 30 columns, two classes."""
    from sklearn.datasets import make_classification

    X, y = make_classification(200_000, 30, n_informative=15, n_redundant=5, flip_y=0.02, random_state=0)
    return {"X": X[:150_000], "y": y[:150_000], "X_test": X[150_000:], "y_test": y[150_000:]}


def ours(data: dict[str, Any]) -> Any:
    """Fit on all cores."""
    from assay.models.trees import CartClassifier

    return CartClassifier().fit(data["X"], data["y"])


def scikit_learn(data: dict[str, Any]) -> Any:
    """The peer's exact best splitter, which runs on one core."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0).fit(data["X"], data["y"])


def accuracy(data: dict[str, Any], model: Any) -> float:
    """Accuracy on the test rows."""
    return float(model.score(data["X_test"], data["y_test"]))


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="cart",
        title="CART, full depth",
        size="150k x 30",
        make=make,
        ours=Contender("CartClassifier", "assay", ours),
        peers=(Contender("DecisionTreeClassifier", "scikit-learn", scikit_learn, aim=5),),
        quality=accuracy,
        gate=0.005,
        quality_name="accuracy",
        limit="one visit of every cell per level: n d depth entries of 4 to 8 bytes",
    ),
)
