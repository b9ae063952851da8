"""Catalogue entries of the ensembles family."""

from __future__ import annotations

from ..entry import Entry

_FRIEDMAN = "Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29, 2001"
_XGBOOST = "Chen & Guestrin, XGBoost: a scalable tree boosting system, KDD 2016"
_LIGHTGBM = "Ke et al., LightGBM: a highly efficient gradient boosting decision tree, NIPS 2017"


def _boosting(
    id: str, title: str, name: str, task: str, references: tuple[str, ...], summary: str, **more: bool
) -> Entry:
    return Entry(
        id=id,
        title=title,
        class_path=f"assay.models.ensembles.{name}",
        task=task,
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=task == "classify",
        simplicity=8,
        fit_cost="rounds n d",
        predict_cost="rounds leaves",
        explains="column importances, stages",
        section="001 ch. 9",
        references=references,
        summary=summary,
        **more,
    )


ENTRIES: tuple[Entry, ...] = (
    _boosting(
        "newton-boosting-classifier",
        "Newton boosting",
        "NewtonBoostingClassifier",
        "classify",
        (_XGBOOST, _LIGHTGBM),
        "Trees added round by round by second-order steps of the log loss, with penalties on their values.",
        compared=True,
    ),
    _boosting(
        "newton-boosting-regressor",
        "Newton boosting of numbers",
        "NewtonBoostingRegressor",
        "regress",
        (_XGBOOST, _LIGHTGBM),
        "Trees added round by round by second-order steps of any loss, with penalties; histograms in whole numbers.",
        compared=True,
    ),
    _boosting(
        "gradient-boosting-classifier",
        "Gradient boosting",
        "GradientBoostingClassifier",
        "classify",
        (_FRIEDMAN,),
        "Trees fitted round by round to the negative gradients of the log loss, leaves by a line search each.",
    ),
    _boosting(
        "gradient-boosting-regressor",
        "Gradient boosting of numbers",
        "GradientBoostingRegressor",
        "regress",
        (_FRIEDMAN,),
        "Trees fitted round by round to the negative gradients of any loss, leaves by a line search each.",
    ),
)
