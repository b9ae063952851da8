"""CART against scikit-learn: to full depth, to depth 12 on a million rows, and prediction of a million rows."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.harness import Contender, Problem, by_rows


def make(rows: int) -> dict[str, Any]:
    """Rows to train and 50,000 to test, 30 columns, two classes."""
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 50_000, 30, n_informative=15, n_redundant=5, flip_y=0.02, random_state=0)
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:]}


def make_shallow(rows: int) -> dict[str, Any]:
    """Rows to train and 100,000 to test, 20 columns, two classes."""
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 100_000, 20, n_informative=12, n_redundant=4, flip_y=0.02, random_state=0)
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:]}


def make_fitted(rows: int) -> dict[str, Any]:
    """Trees to full depth on 50,000 rows of 30 columns, and other rows to predict."""
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 50_000, 30, n_informative=15, n_redundant=5, flip_y=0.02, random_state=0)
    data = {"X": X[:50_000], "y": y[:50_000]}
    return {"ours": ours(data), "theirs": scikit_learn(data), "X_test": X[50_000:], "y_test": y[50_000:]}


def ours(data: dict[str, Any]) -> Any:
    """Fit on all cores."""
    from assay.models.trees import CartClassifier

    return CartClassifier().fit(data["X"], data["y"])


def scikit_learn(data: dict[str, Any]) -> Any:
    """The peer's exact best splitter, which runs on one core."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0).fit(data["X"], data["y"])


def one_tree(data: dict[str, Any], **options: Any) -> Any:
    """A forest of one tree on all rows and columns: bins, and both cores."""
    from sklearnex.ensemble import RandomForestClassifier

    model = RandomForestClassifier(
        1, max_features=None, bootstrap=False, max_bins=64, random_state=0, n_jobs=-1, **options
    )
    return model.fit(data["X"], data["y"])


def ours_twelve(data: dict[str, Any]) -> Any:
    """Fit to depth 12 on all cores."""
    from assay.models.trees import CartClassifier

    return CartClassifier(max_depth=12).fit(data["X"], data["y"])


def scikit_learn_twelve(data: dict[str, Any]) -> Any:
    """The peer's exact best splitter to depth 12."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=12, random_state=0).fit(data["X"], data["y"])


def accuracy(data: dict[str, Any], model: Any) -> float:
    """Accuracy on the test rows."""
    return float(model.score(data["X_test"], data["y_test"]))


def said_right(data: dict[str, Any], said: Any) -> float:
    """Accuracy of labels."""
    import numpy as np

    return float(np.mean(said == data["y_test"]))


TRIED = (
    "scikit-learn in float32 takes as long; a forest of one tree of scikit-learn-intelex with 64 bins is a "
    "quarter faster "
    "than with its default of 256, at the same accuracy."
)

PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="cart",
        title="CART, full depth",
        make=make,
        sizes=by_rows("{n} x 30", 1_500, 15_000, 150_000),
        ours=Contender("CartClassifier", "assay", ours),
        peers=(
            Contender("DecisionTreeClassifier", "scikit-learn", scikit_learn, aim=5),
            Contender("scikit-learn-intelex, a forest of one tree", "scikit-learn-intelex", one_tree, aim=1.5),
        ),
        quality=accuracy,
        gate=0.01,
        quality_name="accuracy",
        limit="one visit of every cell per level: n d depth entries of 4 to 8 bytes",
        tried=TRIED,
    ),
    Problem(
        id="cart-million",
        title="CART, depth 12",
        make=make_shallow,
        sizes=by_rows("{n} x 20", 2_000, 100_000, 1_000_000),
        ours=Contender("CartClassifier", "assay", ours_twelve),
        peers=(
            Contender("DecisionTreeClassifier", "scikit-learn", scikit_learn_twelve, aim=5),
            Contender(
                "scikit-learn-intelex, a forest of one tree",
                "scikit-learn-intelex",
                lambda data: one_tree(data, max_depth=12),
                aim=1.5,
            ),
        ),
        quality=accuracy,
        gate=0.005,
        quality_name="accuracy",
        repeats=2,
        limit="one visit of every cell per level: n d depth entries of 4 to 8 bytes",
        tried=TRIED,
    ),
    Problem(
        id="cart-predict",
        title="CART, prediction",
        make=make_fitted,
        sizes=by_rows("{n} x 30", 1_000, 100_000, 1_000_000),
        ours=Contender("CartClassifier", "assay", lambda data: data["ours"].predict(data["X_test"])),
        peers=(
            Contender(
                "DecisionTreeClassifier",
                "scikit-learn",
                lambda data: data["theirs"].predict(data["X_test"]),
                aim=3,
            ),
        ),
        quality=said_right,
        gate=0.02,
        quality_name="accuracy",
        repeats=5,
        limit="one read of the table and one node of 16 bytes per row and level",
        tried="scikit-learn has one way to predict by a tree; it turns the rows to float32 first.",
    ),
)
