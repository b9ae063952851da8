"""Random forests and extra trees against scikit-learn and scikit-learn-intelex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.versus.harness import Contender, Problem, by_rows

from .newton_boosting import predicted, said_right


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


def intelex_extra(data: dict[str, Any]) -> Any:
    """Extra trees on bins, all cores."""
    from sklearnex.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(n_estimators=100, random_state=0, n_jobs=-1).fit(data["X"], data["y"])


def bagging_forest(data: dict[str, Any]) -> Any:
    """Bagged trees as a forest that looks at all columns, on bins."""
    from sklearnex.ensemble import RandomForestClassifier

    model = RandomForestClassifier(n_estimators=30, max_features=None, max_bins=64, random_state=0, n_jobs=-1)
    return model.fit(data["X"], data["y"])


def ours_all_columns(data: dict[str, Any]) -> Any:
    """Bagged trees: 30 of them, each node of which looks at every column."""
    from assay.models.ensembles import RandomForestClassifier

    return RandomForestClassifier(n_estimators=30, max_features=None, random_state=0).fit(data["X"], data["y"])


def scikit_learn_all_columns(data: dict[str, Any]) -> Any:
    """The peer's exact splitter on every column, all cores."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(n_estimators=30, max_features=None, random_state=0, n_jobs=-1)
    return model.fit(data["X"], data["y"])


def make_fitted(rows: int) -> dict[str, Any]:
    """Forests of 100 trees on 20,000 rows, and other rows to predict."""
    data = make(rows + 20_000)
    train = {"X": data["X"][:20_000], "y": data["y"][:20_000]}
    models = {"ours": ours(train), "scikit-learn": scikit_learn(train), "intelex": intelex(train)}
    return {**models, "X_test": data["X"][20_000:], "y_test": data["y"][20_000:]}


def make_columns(rows: int) -> dict[str, Any]:
    """As `make`, with the 20 columns that say something first, and about as many rows to test as a tree leaves out."""
    from sklearn.datasets import make_classification

    others = rows * 2 // 5
    X, y = make_classification(
        rows + others, 30, n_informative=15, n_redundant=5, flip_y=0.02, shuffle=False, random_state=0
    )
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:]}


def ours_importance(data: dict[str, Any]) -> Any:
    """100 trees, and every column permuted among the rows that each tree did not draw."""
    from assay.models.ensembles import RandomForestClassifier

    model = RandomForestClassifier(n_estimators=100, oob_importance=True, random_state=0)
    return model.fit(data["X"], data["y"]).oob_importances_


def by_permutation(fit: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """A forest of 100 trees, and every column permuted once in the test rows, all cores in both."""

    def run(data: dict[str, Any]) -> Any:
        from sklearn.inspection import permutation_importance

        found = permutation_importance(fit(data), data["X_test"], data["y_test"], n_repeats=1, random_state=0)
        return found.importances_mean

    return run


def columns_found(data: dict[str, Any], importances: Any) -> float:
    """The share of the 20 columns that say something among the 20 of largest importance."""
    import numpy as np

    return float((np.argsort(-np.asarray(importances))[:20] < 20).mean())


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
        tried="scikit-learn-intelex with its default of 256 bins is a third slower; LightGBM as a forest to "
        "full depth takes twice as long as scikit-learn.",
    ),
    Problem(
        id="random-forest-many",
        title="Random forest, 100 trees, half a million rows",
        make=make,
        sizes=by_rows("{n} x 30", 5_000, 50_000, 500_000),
        ours=Contender("assay RandomForestClassifier", "assay", ours),
        peers=(Contender("RandomForestClassifier, max_bins=64", "scikit-learn-intelex", intelex, aim=1.3),),
        quality=accuracy,
        gate=0.005,
        quality_name="accuracy",
        limit="one addition of a 64-bit word per row, drawn column and level of every tree",
        tried="as the smaller tables; scikit-learn itself takes minutes.",
    ),
    Problem(
        id="random-forest-bagged",
        title="Random forest that looks at all columns (bagged trees), 30 trees",
        make=make,
        sizes=by_rows("{n} x 30", 1_500, 10_000, 50_000),
        ours=Contender("assay RandomForestClassifier", "assay", ours_all_columns),
        peers=(
            Contender("RandomForestClassifier", "scikit-learn", scikit_learn_all_columns, aim=8),
            Contender("a forest on all columns, 64 bins", "scikit-learn-intelex", bagging_forest, aim=1.3),
        ),
        quality=accuracy,
        gate=0.01,
        quality_name="accuracy",
        limit="one addition of a 64-bit word per row, column and level of every tree",
        tried="scikit-learn's BaggingClassifier of trees takes a quarter longer than its forest; scikit-learn-intelex "
        "with 256 bins is slower than with 64.",
    ),
    Problem(
        id="random-forest-predict",
        title="Random forest, prediction of 100 trees",
        make=make_fitted,
        sizes=by_rows("{n} x 30", 1_000, 50_000, 500_000),
        ours=Contender("assay RandomForestClassifier", "assay", predicted("ours")),
        peers=(
            Contender("RandomForestClassifier", "scikit-learn", predicted("scikit-learn"), aim=1.5),
            Contender("RandomForestClassifier, max_bins=64", "scikit-learn-intelex", predicted("intelex")),
        ),
        quality=said_right,
        gate=0.02,  # a thousand rows tell accuracies apart by a point at best
        quality_name="accuracy",
        repeats=5,
        limit="two look-ups per row and level of every tree, 16 rows in a vector",
        tried="scikit-learn and scikit-learn-intelex as fitted, on all cores.",
    ),
    Problem(
        id="permutation-importance",
        title="Random forest with permutation importance of 30 columns",
        make=make_columns,
        sizes=by_rows("{n} x 30", 1_500, 10_000, 50_000),
        ours=Contender("oob_importance", "assay", ours_importance),
        peers=(
            Contender("permutation_importance", "scikit-learn", by_permutation(scikit_learn), aim=10),
            Contender("permutation_importance, max_bins=64", "scikit-learn-intelex", by_permutation(intelex)),
        ),
        quality=columns_found,
        gate=0.06,
        quality_name="columns found",
        limit="the fit, and one walk from where a permuted cell parts, for rows out of bag alone",
        tried="both forests, predictions on all cores, one shuffle a column.",
    ),
    Problem(
        id="extra-trees",
        title="Extra trees, 100 trees",
        make=make,
        sizes=by_rows("{n} x 30", 1_500, 10_000, 50_000),
        ours=Contender("assay ExtraTreesClassifier", "assay", ours_extra),
        peers=(
            Contender("ExtraTreesClassifier", "scikit-learn", scikit_learn_extra, aim=2),
            Contender("ExtraTreesClassifier of scikit-learn-intelex", "scikit-learn-intelex", intelex_extra, aim=1.5),
        ),
        quality=accuracy,
        gate=0.005,
        quality_name="accuracy",
        limit="two reads of a byte per row, drawn column and level of every tree",
        tried="scikit-learn on all cores, and the bins of scikit-learn-intelex, which lose a point of accuracy.",
    ),
)
