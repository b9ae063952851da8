"""Catalogue entries of the ensembles family."""

from __future__ import annotations

from typing import Any

from ..entry import Entry

_FRIEDMAN = "Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29, 2001"
_XGBOOST = "Chen & Guestrin, XGBoost: a scalable tree boosting system, KDD 2016"
_LIGHTGBM = "Ke et al., LightGBM: a highly efficient gradient boosting decision tree, NIPS 2017"

_BREIMAN = "Breiman, Random forests, Machine Learning 45, 2001"
_GEURTS = "Geurts, Ernst & Wehenkel, Extremely randomized trees, Machine Learning 63, 2006"


def _boosting(
    id: str, title: str, name: str, task: str, references: tuple[str, ...], summary: str, **more: Any
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


def _forest(id: str, title: str, name: str, task: str, reference: str, summary: str, **more: Any) -> Entry:
    return Entry(
        id=id,
        title=title,
        class_path=f"assay.models.ensembles.{name}",
        task=task,
        native=("numeric", "nominal", "missing"),
        weights=True,
        probabilities=task == "classify",
        simplicity=7,
        fit_cost="trees n m log n",
        predict_cost="trees depth",
        explains="column importances",
        section="001 ch. 9",
        references=(reference,),
        summary=summary,
        multi_output=task == "regress",
        **more,
    )


ENTRIES: tuple[Entry, ...] = (
    _forest(
        "random-forest-classifier",
        "Random forest",
        "RandomForestClassifier",
        "classify",
        _BREIMAN,
        "Trees on bootstrap samples with random columns at each node; class shares are averaged.",
        compared=True,
    ),
    _forest(
        "random-forest-regressor",
        "Random forest of numbers",
        "RandomForestRegressor",
        "regress",
        _BREIMAN,
        "Trees on bootstrap samples with random columns at each node; means, quantiles and intervals.",
        compared=True,
    ),
    _forest(
        "extra-trees-classifier",
        "Extra trees",
        "ExtraTreesClassifier",
        "classify",
        _GEURTS,
        "Trees whose tests are drawn at random, the best of one per column; class shares are averaged.",
    ),
    _forest(
        "extra-trees-regressor",
        "Extra trees of numbers",
        "ExtraTreesRegressor",
        "regress",
        _GEURTS,
        "Trees whose tests are drawn at random, the best of one per column; means of leaves are averaged.",
    ),
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
