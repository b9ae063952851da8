"""RIPPER against wittgenstein.

The peer needs minutes for 50,000 rows, so there is one round.
"""

from __future__ import annotations

from typing import Any

from benchmarks.versus.harness import Contender, Problem, by_rows


def make(rows: int) -> dict[str, Any]:
    """Rows to train and 10,000 to test, 40 columns, two classes."""
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 10_000, 40, n_informative=10, n_redundant=5, flip_y=0.02, random_state=0)
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:]}


def ours(data: dict[str, Any]) -> Any:
    """Fit on all cores, exact cuts."""
    from assay.models.rules import Ripper

    model = Ripper(random_state=0).fit(data["X"], data["y"])
    return model.predict(data["X_test"])


def wittgenstein(data: dict[str, Any]) -> Any:
    """The peer's defaults: numbers in ten bins, two optimisation passes."""
    import pandas as pd
    from wittgenstein import RIPPER

    names = [f"c{j}" for j in range(data["X"].shape[1])]
    frame = pd.DataFrame(data["X"], columns=names).assign(label=data["y"])
    model = RIPPER(random_state=0)
    model.fit(frame, class_feat="label", pos_class=1)
    return [int(v) for v in model.predict(pd.DataFrame(data["X_test"], columns=names))]


def accuracy(data: dict[str, Any], said: Any) -> float:
    """Accuracy on the test rows."""
    import numpy as np

    return float(np.mean(np.asarray(said) == data["y_test"]))


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="ripper",
        title="RIPPER, two classes",
        make=make,
        sizes=by_rows("{n} x 40", 300, 3_000, 10_000),
        ours=Contender("Ripper", "assay", ours),
        peers=(Contender("RIPPER", "wittgenstein", wittgenstein, aim=100),),
        quality=accuracy,
        gate=0.005,
        tried="wittgenstein has no option that concerns speed.",
        quality_name="accuracy",
        repeats=1,
        limit="one visit of every covered cell per test of a rule",
    ),
)
