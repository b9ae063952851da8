"""Newton boosting against LightGBM and XGBoost: 100 rounds of 31 leaves, nominal columns, prediction."""

from __future__ import annotations

import functools
from typing import Any

from benchmarks.versus.harness import Contender, Problem, by_rows

_TRAINED = 50_000


def make(rows: int) -> dict[str, Any]:
    """Rows to train and 50,000 to test, 30 columns, two classes."""
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 50_000, 30, n_informative=15, n_redundant=5, flip_y=0.02, random_state=0)
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:]}


def make_many(rows: int) -> dict[str, Any]:
    """As `make`, with 28 columns."""
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 50_000, 28, n_informative=14, n_redundant=6, flip_y=0.05, random_state=1)
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:]}


def make_mixed(rows: int) -> dict[str, Any]:
    """Ten numeric and five nominal columns of 5 to 200 categories, a tenth of the cells missing, two classes."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    n = rows + 20_000
    numbers = rng.normal(size=(n, 10))
    codes = np.stack([rng.integers(0, k, size=n) for k in (5, 10, 20, 50, 200)], axis=1)
    effects = [rng.normal(size=k) for k in (5, 10, 20, 50, 200)]
    score = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + sum(e[codes[:, j]] for j, e in enumerate(effects))
    y = (score + rng.normal(size=n) > 0).astype(int)
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    frame = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(10)])
    for j in range(5):
        frame[f"c{j}"] = pd.Categorical([f"v{c}" for c in codes[:, j]])
    return {"X": frame[:rows], "y": y[:rows], "X_test": frame[rows:], "y_test": y[rows:]}


@functools.cache
def population() -> dict[str, Any]:
    """Rows of one kind, for training and for every number of rows to predict."""
    return make(_TRAINED + 500_000)


def make_fitted(rows: int) -> dict[str, Any]:
    """Rows to predict; the model of each contender is made by its small call, before any clock starts."""
    some = slice(_TRAINED, _TRAINED + rows)
    return {"X_test": population()["X"][some], "y_test": population()["y"][some]}


def ours(data: dict[str, Any]) -> Any:
    """100 rounds of 31 leaves, leaf-wise, no penalty, as the peers."""
    from assay.models.ensembles import NewtonBoostingClassifier

    return NewtonBoostingClassifier(n_estimators=100, l2_regularization=0.0).fit(data["X"], data["y"])


def lightgbm(data: dict[str, Any], **options: Any) -> Any:
    """The peer's default: 100 rounds of 31 leaves, learning rate 0.1."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=100, verbose=-1, **options).fit(data["X"], data["y"])


def lightgbm_quantised(data: dict[str, Any]) -> Any:
    """The peer's fastest: gradients of few bits, histograms by column."""
    return lightgbm(data, use_quantized_grad=True, force_col_wise=True)


def lightgbm_63(data: dict[str, Any]) -> Any:
    """The same with a quarter of the bins."""
    return lightgbm(data, use_quantized_grad=True, force_col_wise=True, max_bin=63)


def catboost(data: dict[str, Any]) -> Any:
    """The peer grown leaf-wise to 31 leaves, learning rate 0.1, as the others."""
    from catboost import CatBoostClassifier

    settings = {"grow_policy": "Lossguide", "max_leaves": 31, "depth": 16, "learning_rate": 0.1}
    model = CatBoostClassifier(iterations=100, verbose=False, allow_writing_files=False, **settings)
    return model.fit(data["X"], data["y"])


def xgboost(data: dict[str, Any]) -> Any:
    """The peer's histogram method, grown leaf-wise to 31 leaves, learning rate 0.1."""
    from xgboost import XGBClassifier

    settings = {"grow_policy": "lossguide", "max_leaves": 31, "max_depth": 0, "learning_rate": 0.1}
    return XGBClassifier(n_estimators=100, enable_categorical=True, **settings).fit(data["X"], data["y"])


def log_loss_on_test(data: dict[str, Any], model: Any) -> float:
    """Minus the log loss on the test rows, so that more is better."""
    from sklearn.metrics import log_loss

    return -float(log_loss(data["y_test"], model.predict_proba(data["X_test"])))


def said_right(data: dict[str, Any], shares: Any) -> float:
    """Accuracy of class shares."""
    import numpy as np

    return float(np.mean((shares[:, 1] > 0.5) == data["y_test"]))


@functools.cache
def fitted(name: str) -> Any:
    """The model of this name: 100 rounds on 50,000 rows."""
    if name == "daal4py":
        import daal4py.mb as mb

        return mb.convert_model(fitted("lightgbm").booster_)
    train = {key: population()[key][:_TRAINED] for key in ("X", "y")}
    return {"ours": ours, "lightgbm": lightgbm, "xgboost": xgboost}[name](train)


def predicted(name: str) -> Any:
    """Class shares of the test rows by the model of this name."""
    return lambda data: fitted(name).predict_proba(data["X_test"])


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="newton-boosting",
        title="Boosting, 100 rounds of 31 leaves",
        make=make,
        sizes=by_rows("{n} x 30", 1_500, 15_000, 150_000),
        headline=True,
        ours=Contender("NewtonBoostingClassifier", "assay", ours),
        peers=(
            Contender("LGBMClassifier", "lightgbm", lightgbm, aim=1.5),
            Contender("LGBMClassifier, quantised gradients, by column", "lightgbm", lightgbm_quantised, aim=1.2),
            Contender("LGBMClassifier, quantised, by column, 63 bins", "lightgbm", lightgbm_63, aim=1.2),
            Contender("XGBClassifier, lossguide, 31 leaves", "xgboost", xgboost, aim=1.5),
            Contender("CatBoostClassifier, lossguide, 31 leaves", "catboost", catboost),
        ),
        quality=log_loss_on_test,
        gate=0.01,
        quality_name="minus log loss",
        limit="one addition of a 64-bit word per cell of the smaller child of every split",
        tried="LightGBM: by column or by row, quantised gradients, 63 bins; XGBoost by depth loses a tenth of "
        "the log loss; CatBoost; HistGradientBoosting of scikit-learn is between them.",
    ),
    Problem(
        id="newton-boosting-many",
        title="Boosting, 100 rounds of 31 leaves, a million rows",
        make=make_many,
        sizes=by_rows("{n} x 28", 10_000, 100_000, 1_000_000),
        ours=Contender("NewtonBoostingClassifier", "assay", ours),
        peers=(
            Contender("LGBMClassifier", "lightgbm", lightgbm, aim=1.5),
            Contender("LGBMClassifier, quantised gradients, by column", "lightgbm", lightgbm_quantised, aim=1.2),
            Contender("LGBMClassifier, quantised, by column, 63 bins", "lightgbm", lightgbm_63, aim=1.2),
            Contender("XGBClassifier, lossguide, 31 leaves", "xgboost", xgboost, aim=1.5),
        ),
        quality=log_loss_on_test,
        gate=0.01,
        quality_name="minus log loss",
        limit="one addition of a 64-bit word per cell of the smaller child of every split",
        tried="as the smaller tables; CatBoost takes longer than the others.",
    ),
    Problem(
        id="newton-boosting-mixed",
        title="Boosting, nominal columns and missing cells",
        make=make_mixed,
        sizes=by_rows("{n} x 15", 1_500, 15_000, 150_000),
        ours=Contender("NewtonBoostingClassifier", "assay", ours),
        peers=(
            Contender("LGBMClassifier", "lightgbm", lightgbm, aim=1.5),
            Contender("XGBClassifier, lossguide, 31 leaves", "xgboost", xgboost, aim=1.5),
            Contender("LGBMClassifier, quantised gradients, by column", "lightgbm", lightgbm_quantised, aim=1.2),
        ),
        quality=log_loss_on_test,
        gate=0.02,
        quality_name="minus log loss",
        limit="one addition of a 64-bit word per cell of the smaller child of every split",
        tried="labels as categories of pandas for both; one indicator for each label is slower.",
    ),
    Problem(
        id="newton-boosting-predict",
        title="Boosting, prediction of 100 rounds",
        make=make_fitted,
        sizes=by_rows("{n} x 30", 1_000, 50_000, 500_000),
        ours=Contender("NewtonBoostingClassifier", "assay", predicted("ours")),
        peers=(
            Contender("XGBClassifier", "xgboost", predicted("xgboost"), aim=1.5),
            Contender("LGBMClassifier", "lightgbm", predicted("lightgbm"), aim=5),
            Contender("LGBMClassifier, converted by daal4py", "scikit-learn-intelex", predicted("daal4py"), aim=1.2),
        ),
        quality=said_right,
        gate=0.02,  # a thousand rows tell accuracies apart by a point at best
        quality_name="accuracy",
        repeats=5,
        limit="an addition, a compare and two masks per test and 16 rows (32 with AVX-512)",
        tried="XGBoost's inplace_predict and rows in float32 are as fast as predict_proba; daal4py's model "
        "builders halve "
        "XGBoost's time, from either library.",
    ),
)
