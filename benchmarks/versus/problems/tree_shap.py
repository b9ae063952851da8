"""TreeSHAP against LightGBM, XGBoost and shap: one LightGBM model of 100 trees, explained by each."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.harness import Contender, Problem, by_rows

from .newton_boosting import lightgbm, make, xgboost


def make_fitted(rows: int) -> dict[str, Any]:
    """Models of 100 trees of 31 leaves on 50,000 rows, and rows to explain."""
    data = make(50_000)
    X, other = data["X_test"][:rows], xgboost(data)
    score = other.predict(X, output_margin=True)
    return {"lightgbm": lightgbm(data), "xgboost": other, "xgboost_score": score, "X": X}


def ours(data: dict[str, Any]) -> Any:
    """The same LightGBM model, read by `tree_shap`."""
    from assay.explain import tree_shap

    found = tree_shap(data["lightgbm"], data["X"])
    return {"values": found.values, "base": found.base_values[0]}


def by_lightgbm(data: dict[str, Any]) -> Any:
    """The peer's own contributions, all cores."""
    found = data["lightgbm"].predict(data["X"], pred_contrib=True)
    return {"values": found[:, :-1], "base": found[:, -1]}


def by_xgboost(data: dict[str, Any]) -> Any:
    """The peer's contributions of a model of the same size, all cores."""
    import xgboost as peer

    found = data["xgboost"].get_booster().predict(peer.DMatrix(data["X"]), pred_contribs=True)
    return {"values": found[:, :-1], "base": found[:, -1], "score": data["xgboost_score"]}


def by_daal4py(data: dict[str, Any]) -> Any:
    """The same LightGBM model, converted to oneDAL's trees as ours reads it, within the clock."""
    import daal4py.mb as mb

    found = mb.convert_model(data["lightgbm"].booster_).predict(data["X"], pred_contribs=True)
    return {"values": found[:, :-1], "base": found[:, -1]}


def by_shap(data: dict[str, Any]) -> Any:
    """The usual package: its C code on the same LightGBM model (one thread, as it has no other)."""
    import shap

    explainer = shap.TreeExplainer(data["lightgbm"], feature_perturbation="tree_path_dependent")
    found = explainer.shap_values(data["X"], check_additivity=False)
    return {"values": found, "base": explainer.expected_value}


def sums_to_the_score(data: dict[str, Any], found: dict[str, Any]) -> float:
    """Minus the largest gap between sums of contributions and the model's scores."""
    import numpy as np

    score = found.get("score")
    score = data["lightgbm"].predict(data["X"], raw_score=True) if score is None else score
    return -float(np.abs(np.asarray(found["values"]).sum(axis=1) + found["base"] - score).max())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="tree-shap",
        title="TreeSHAP of 100 trees of 31 leaves",
        make=make_fitted,
        sizes=by_rows("{n} x 30", 200, 2_000, 20_000),
        headline=True,
        ours=Contender("tree_shap", "assay", ours),
        peers=(
            Contender("pred_contrib", "lightgbm", by_lightgbm, aim=5),
            Contender("pred_contribs", "xgboost", by_xgboost, aim=5),
            Contender("pred_contribs, converted by daal4py", "scikit-learn-intelex", by_daal4py, aim=5),
            Contender("TreeExplainer", "shap", by_shap, aim=5),
        ),
        quality=sums_to_the_score,
        gate=1e-3,
        tried="LightGBM, XGBoost and shap, exact values; the approximate ones of XGBoost are another quantity; "
        "daal4py's model builders take a quarter to a third less time at 2,000 rows than the library they convert "
        "from, whichever it is, and more at 200, as they convert within the clock.",
        quality_name="minus largest gap to the score",
        limit="one comparison and one look-up per row, leaf and column of its path",
    ),
)
