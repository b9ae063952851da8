"""Model trees against constant leaves, one line for all, and other model trees.

The target is linear in pieces. The gate is the error on other rows: linear leaves must be no worse than constant ones,
with far fewer leaves. `linear-tree` (PyPI) fits a linear model at every candidate split; its tree is skipped where the
package is not installed, and its table is smaller because it would need hours for the other one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.versus.harness import Contender, Problem, by_rows


def make(rows: int) -> dict[str, Any]:
    """Three planes over 20 columns with jumps between them and noise; 20,000 rows to test."""
    import numpy as np

    rng = np.random.default_rng(0)
    total = rows + 20_000
    X = rng.uniform(-1, 1, (total, 20))
    planes = [X[:, 3:8] @ rng.normal(size=5) * 3 for _ in range(3)]
    y = np.where(X[:, 0] > 0.2, 4 + planes[0], np.where(X[:, 1] > 0, planes[1] - 3, planes[2]))
    y = y + 0.3 * rng.normal(size=total)
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:]}


def ours(data: dict[str, Any]) -> Any:
    """Defaults, all cores."""
    from assay.models.trees import ModelTreeRegressor

    return ModelTreeRegressor().fit(data["X"], data["y"]).predict(data["X_test"])


def scikit_learn(data: dict[str, Any]) -> Any:
    """Constant leaves of at least five rows."""
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(data["X"], data["y"]).predict(data["X_test"])


def one_tree(data: dict[str, Any]) -> Any:
    """Constant leaves on bins: a forest of one tree on all rows and columns."""
    from sklearnex.ensemble import RandomForestRegressor

    model = RandomForestRegressor(
        1, max_features=None, bootstrap=False, max_bins=64, min_samples_leaf=5, random_state=0, n_jobs=-1
    )
    return model.fit(data["X"], data["y"]).predict(data["X_test"])


def linear_tree(data: dict[str, Any], bins: int) -> Any:
    """A linear model tried at every candidate split."""
    from lineartree import LinearTreeRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.utils.validation import validate_data

    def as_before(self: Any, *data: Any, force_all_finite: bool = True, **how: Any) -> Any:
        return validate_data(self, *data, ensure_all_finite=force_all_finite, **how)

    # It calls a method of earlier versions of scikit-learn, whose place `validate_data` has taken.
    LinearTreeRegressor._validate_data = as_before
    tree = LinearTreeRegressor(LinearRegression(), max_depth=5, max_bins=bins, n_jobs=2)
    return tree.fit(data["X"], data["y"]).predict(data["X_test"])


def error(data: dict[str, Any], predicted: Any) -> float:
    """Root mean squared error on the test rows."""
    import numpy as np

    return float(np.sqrt(((np.asarray(predicted) - data["y_test"]) ** 2).mean()))


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="model-tree",
        title="Model tree, three planes",
        make=make,
        sizes=by_rows("{n} x 20", 2_000, 20_000, 100_000),
        ours=Contender("ModelTreeRegressor", "assay", ours),
        peers=(
            Contender("DecisionTreeRegressor", "scikit-learn", scikit_learn, aim=1),
            Contender("scikit-learn-intelex, a forest of one tree", "scikit-learn-intelex", one_tree, aim=1),
        ),
        quality=error,
        gate=0.0,
        tried="scikit-learn has no model tree: its tree of constants is timed on the same rows, which is less work, "
        "and that of scikit-learn-intelex on bins. LightGBM with linear_tree=True has lines of the columns on a leaf's "
        "path alone: thirty rounds come to our error at 2,000 rows and not at 20,000, in over a hundred times our "
        "time.",
        quality_name="RMSE",
        lower_is_better=True,
        limit="n d^2 products for the models of each level, and up to 8192 d^3 for those that try its splits",
    ),
    Problem(
        id="model-tree-small",
        title="Model tree, three planes",
        make=make,
        sizes=by_rows("{n} x 20", 300, 700, 2_000),
        ours=Contender("ModelTreeRegressor", "assay", ours),
        peers=(
            Contender("LinearTreeRegressor, 2 jobs", "linear-tree", partial(linear_tree, bins=25), aim=50),
            Contender("LinearTreeRegressor, 10 bins, 2 jobs", "linear-tree", partial(linear_tree, bins=10), aim=20),
        ),
        quality=error,
        gate=0.15,
        tried="linear-tree with its default of 25 bins and with 10, one job (slower) and two; without the method "
        "`_validate_data` that scikit-learn took away it does not run, so it is given back. Both "
        "judge splits by linear models; its tree ends at 5 levels and is not pruned.",
        quality_name="RMSE",
        lower_is_better=True,
        limit="n d^2 products for the models of each level, and up to 8192 d^3 for those that try its splits",
    ),
)
