"""The contenders: Assay's forests and boosting, and those of other libraries, at equal settings and at defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

ROUNDS, RATE, LEAVES, LEAST_ROWS, L2 = 100, 0.1, 31, 20, 1.0
"""The equal settings of boosting."""


@dataclass(frozen=True)
class Contender:
    """One learner: the group it is compared in, its library, and a function of (task, classes, seed) that makes it."""

    group: str
    library: str
    make: Callable[[str, int, int], Any]
    labels: str = "native"
    """How columns of labels are given: native, as codes (which the library takes for numbers), or as text."""

    @property
    def id(self) -> str:
        """Name of the learner in the table of scores."""
        return f"{self.group}: {self.library}"

    def rows(self, X: pd.DataFrame) -> pd.DataFrame:
        """The columns as this library takes them."""
        nominal = [c for c in X.columns if isinstance(X[c].dtype, pd.CategoricalDtype)]
        if self.labels == "codes":
            return X.assign(**{c: X[c].cat.codes.where(X[c].notna()) for c in nominal})
        if self.labels == "text":
            return X.assign(**{c: X[c].astype(object).fillna("missing").astype(str) for c in nominal})
        return X


def _assay(name: str, **settings: Any) -> Callable[[str, int, int], Any]:
    def make(task: str, classes: int, seed: int) -> Any:
        from assay.models import ensembles

        kind = "Classifier" if task == "classify" else "Regressor"
        return getattr(ensembles, name + kind)(random_state=seed, n_jobs=1, **settings)

    return make


def _lightgbm(**settings: Any) -> Callable[[str, int, int], Any]:
    def make(task: str, classes: int, seed: int) -> Any:
        from lightgbm import LGBMClassifier, LGBMRegressor

        cls = LGBMClassifier if task == "classify" else LGBMRegressor
        return cls(random_state=seed, n_jobs=1, verbose=-1, **settings)

    return make


def _xgboost(equal: bool) -> Callable[[str, int, int], Any]:
    def make(task: str, classes: int, seed: int) -> Any:
        from xgboost import XGBClassifier, XGBRegressor

        cls = XGBClassifier if task == "classify" else XGBRegressor
        settings: dict[str, Any] = {}
        if equal:
            # XGBoost limits the sum of Hessians of a leaf, not its rows: 1 per row for squared error, about a tenth
            # for the log loss.
            least = LEAST_ROWS if task == "regress" else 0.1 * LEAST_ROWS
            settings = {"n_estimators": ROUNDS, "learning_rate": RATE, "max_leaves": LEAVES, "max_depth": 0}
            settings |= {"grow_policy": "lossguide", "min_child_weight": least, "reg_lambda": L2}
        return cls(random_state=seed, n_jobs=1, enable_categorical=True, tree_method="hist", **settings)

    return make


def _catboost(equal: bool, drawing: bool = True) -> Callable[[str, int, int], Any]:
    def make(task: str, classes: int, seed: int) -> Any:
        from catboost import CatBoostClassifier, CatBoostRegressor

        settings: dict[str, Any] = {}
        if equal:
            settings = {"iterations": ROUNDS, "learning_rate": RATE, "l2_leaf_reg": L2, "grow_policy": "Lossguide"}
            settings |= {"max_leaves": LEAVES, "depth": 16, "min_data_in_leaf": LEAST_ROWS}
        if not drawing:
            # As everywhere else, no rows are drawn, no noise is added to gains, and a leaf takes one Newton step.
            settings |= {"bootstrap_type": "No", "random_strength": 0.0, "leaf_estimation_iterations": 1}

        class WithLabels(CatBoostClassifier if task == "classify" else CatBoostRegressor):  # type: ignore[misc]
            def fit(self, X: pd.DataFrame, y: Any) -> Any:
                labels = [c for c in X.columns if not pd.api.types.is_numeric_dtype(X[c])]
                return super().fit(X, y, cat_features=labels)

        return WithLabels(random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False, **settings)

    return make


def _histograms(**settings: Any) -> Callable[[str, int, int], Any]:
    def make(task: str, classes: int, seed: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        cls = HistGradientBoostingClassifier if task == "classify" else HistGradientBoostingRegressor
        return cls(random_state=seed, categorical_features="from_dtype", **settings)

    return make


def _forest(name: str) -> Callable[[str, int, int], Any]:
    def make(task: str, classes: int, seed: int) -> Any:
        from sklearn import ensemble

        kind = "Classifier" if task == "classify" else "Regressor"
        # The same rules for drawn columns on both sides: root of their number for classes, a third for numbers.
        columns: Any = "sqrt" if task == "classify" else 1 / 3
        return getattr(ensemble, name + kind)(n_estimators=100, random_state=seed, n_jobs=1, max_features=columns)

    return make


EQUAL, DEFAULT, FORESTS = "boosting, equal settings", "boosting, defaults", "random forests, 100 trees"
_SETTINGS = {"learning_rate": RATE, "min_samples_leaf": LEAST_ROWS, "max_leaf_nodes": LEAVES, "l2_regularization": L2}
CONTENDERS: tuple[Contender, ...] = (
    Contender(EQUAL, "assay", _assay("NewtonBoosting", n_estimators=ROUNDS, **_SETTINGS)),
    Contender(EQUAL, "lightgbm", _lightgbm(reg_lambda=L2)),
    Contender(EQUAL, "xgboost", _xgboost(equal=True)),
    Contender(EQUAL, "catboost", _catboost(equal=True, drawing=False), labels="text"),
    Contender(EQUAL, "catboost, drawing", _catboost(equal=True), labels="text"),
    Contender(EQUAL, "assay, drawing", _assay("NewtonBoosting", n_estimators=ROUNDS, subsample=0.8, **_SETTINGS)),
    Contender(EQUAL, "scikit-learn", _histograms(max_iter=ROUNDS, early_stopping=False, **_SETTINGS)),
    Contender(DEFAULT, "assay", _assay("NewtonBoosting")),
    Contender(DEFAULT, "lightgbm", _lightgbm()),
    Contender(DEFAULT, "xgboost", _xgboost(equal=False)),
    Contender(DEFAULT, "catboost", _catboost(equal=False), labels="text"),
    Contender(DEFAULT, "scikit-learn", _histograms()),
    Contender(FORESTS, "assay", _assay("RandomForest", n_estimators=100)),
    Contender(FORESTS, "scikit-learn", _forest("RandomForest"), labels="codes"),
)
"""Every contender; the first of each group is Assay's, with which the others are compared."""
