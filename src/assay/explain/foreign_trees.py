"""Trees of scikit-learn, XGBoost and LightGBM in Assay's form.

Each conversion is checked on rows of the table before it is used: the sum of the leaves must be the model's own score.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import ParameterError
from .tree_models import WHO, Grower, TreeModel, class_outputs, number_outputs

CHECKED_ROWS = 32


def _names(model: Any, count: int) -> list[str]:
    given = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(count)] if given is None else [str(name) for name in given]


def _refuse(what: str, way_out: str = "") -> ParameterError:
    return ParameterError(WHO, "model", what, way_out=way_out)


def _checked(
    model: TreeModel, plain: Callable[[Any], np.ndarray], own: Callable[[np.ndarray], np.ndarray], who: str
) -> TreeModel:
    """The model with a reader that compares its sums with the scores of the other program."""
    base, scale, outputs = model.base, model.scale, model.outputs
    read = model.read

    def reader(X: Any) -> np.ndarray:
        cells = np.ascontiguousarray(read(X))
        some = cells[:CHECKED_ROWS]
        if some.shape[0] and some.shape[1] == len(model.names):
            ours = model.forest.sums(some, outputs, 1) * scale + base
            theirs = np.asarray(own(plain(X)[:CHECKED_ROWS]), dtype=np.float64).reshape(ours.shape)
            if not np.allclose(ours, theirs, rtol=1e-3, atol=1e-3 * max(1.0, float(np.abs(theirs).max()))):
                raise _refuse(f"of {who} has trees that could not be read: its scores and theirs differ")
        return cells

    return TreeModel(**{**model.__dict__, "read": reader})


def _matrix(X: Any) -> np.ndarray:
    return np.asarray(X, dtype=np.float64)


# -- scikit-learn ------------------------------------------------------------------------------------------------------
def _single(X: Any) -> np.ndarray:
    return np.asarray(X, dtype=np.float32).astype(np.float64)


def _add_sklearn(grower: Grower, tree: Any, value: np.ndarray) -> None:
    grower.add(
        feature=tree.feature,
        left=tree.children_left,
        right=tree.children_right,
        threshold=tree.threshold,
        value=value,
        cover=tree.weighted_n_node_samples,
        missing_left=tree.missing_go_to_left,
    )


def of_sklearn(model: Any) -> TreeModel | None:
    """Trees, forests and gradient boosting of scikit-learn; None for any other model."""
    name = type(model).__name__
    if hasattr(model, "_predictors") and name.startswith("HistGradientBoosting"):
        return _hist_boosting(model)
    if name in ("GradientBoostingClassifier", "GradientBoostingRegressor"):
        return _gradient_boosting(model)
    if hasattr(model, "tree_"):
        members = [model]
    elif name in ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"):
        members = list(model.estimators_)
    else:
        return None
    classes = getattr(model, "classes_", None)
    if classes is not None and int(model.n_outputs_) > 1:
        raise _refuse("must have one target for classes", "explain one target at a time")
    grower = Grower(int(model.n_features_in_))
    for member in members:
        value = member.tree_.value
        value = value[:, :, 0] if classes is None else value[:, 0, :] / value[:, 0, :].sum(axis=1, keepdims=True)
        _add_sklearn(grower, member.tree_, value)
    forest, cover = grower.forest()
    said = number_outputs(forest) if classes is None else class_outputs(forest, classes)
    return TreeModel(
        cover=cover,
        base=np.zeros(said["outputs"]),
        scale=1.0 / len(members),
        read=_single,
        names=_names(model, int(model.n_features_in_)),
        **said,
    )


def _margin(classes: Any, outputs: int, link: str = "") -> dict[str, Any]:
    if classes is None:
        return {
            "unit": link or "the target's own unit",
            "output_names": [f"target {k + 1}" for k in range(outputs)][1:],
        }
    listed = np.asarray(classes).tolist()
    if outputs == 1:
        return {"unit": f"log odds of {listed[-1]}", "output_names": [listed[-1]]}
    return {"unit": "scores of the classes, log probabilities up to a constant", "output_names": listed}


def _gradient_boosting(model: Any) -> TreeModel:
    if model.init is not None and model.init != "zero":
        raise _refuse("must begin from a constant", "leave `init` out")
    count = int(model.n_features_in_)
    grower = Grower(count)
    outputs = int(model.estimators_.shape[1])
    for stage in model.estimators_:
        for member in stage:
            _add_sklearn(grower, member.tree_, member.tree_.value[:, 0, :] * float(model.learning_rate))
    forest, cover = grower.forest()
    base = np.asarray(model._raw_predict_init(np.zeros((1, count), dtype=np.float32)), dtype=np.float64)[0]
    return TreeModel(
        forest=forest,
        cover=cover,
        base=base,
        outputs=outputs,
        read=_single,
        names=_names(model, count),
        **_margin(getattr(model, "classes_", None), outputs),
    )


def _hist_boosting(model: Any) -> TreeModel:
    count = int(model.n_features_in_)
    outputs = len(model._predictors[0])
    grower = Grower(count)
    for stage in model._predictors:
        for member in stage:
            nodes = member.nodes
            if nodes["is_categorical"].any():
                raise _refuse("must have no splits by category", "encode these columns as numbers")
            leaf = nodes["is_leaf"].astype(bool)
            grower.add(
                feature=nodes["feature_idx"],
                left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
                right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
                threshold=nodes["num_threshold"],
                value=nodes["value"],
                cover=nodes["count"],
                missing_left=nodes["missing_go_to_left"],
            )
    forest, cover = grower.forest()
    log = getattr(model, "loss", "") in ("poisson", "gamma")
    return TreeModel(
        forest=forest,
        cover=cover,
        base=np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1),
        outputs=outputs,
        read=_matrix,
        names=_names(model, count),
        **_margin(getattr(model, "classes_", None), outputs, "logarithm of the mean" if log else ""),
    )


# -- XGBoost -----------------------------------------------------------------------------------------------------------
def of_xgboost(model: Any) -> TreeModel | None:
    """Boosters of XGBoost, by their JSON; None for anything else."""
    import xgboost

    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not isinstance(booster, xgboost.Booster):
        return None
    learner = json.loads(booster.save_raw("json"))["learner"]
    boosting = learner["gradient_booster"]
    if boosting["name"] != "gbtree":
        raise _refuse(f"must be boosted trees without dropout, got {boosting['name']!r}", "take booster='gbtree'")
    made, count = boosting["model"], int(booster.num_features())
    groups = max(1, max(made["tree_info"], default=0) + 1)
    per_round = groups * int(made["gbtree_model_param"]["num_parallel_tree"])
    rounds = len(made["trees"]) // per_round
    best = getattr(model, "best_iteration", None) if _stopped_early(model) else None
    end = rounds if best is None else int(best) + 1
    # Parallel trees of one class stand side by side; Assay's trees take turns by class.
    turns = sorted(
        range(end * per_round), key=lambda t: (t // per_round, t % (per_round // groups), made["tree_info"][t])
    )
    grower = Grower(count)
    for t in turns:
        tree = made["trees"][t]
        if any(tree["split_type"]):
            raise _refuse("of XGBoost must have no splits by category", "encode these columns as numbers")
        if int(tree["tree_param"]["size_leaf_vector"]) > 1:
            raise _refuse("of XGBoost must have one output per tree", "take multi_strategy='one_output_per_tree'")
        conditions = np.asarray(tree["split_conditions"], dtype=np.float32)
        grower.add(
            feature=tree["split_indices"],
            left=tree["left_children"],
            right=tree["right_children"],
            # x < c among single-precision numbers is x <= the one before c.
            threshold=np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64),
            value=conditions,
            cover=tree["sum_hessian"],
            missing_left=tree["default_left"],
        )
    forest, cover = grower.forest()
    given = getattr(model, "missing", None)
    absent = np.nan if given is None else float(given)

    def own(rows: np.ndarray) -> np.ndarray:
        matrix = xgboost.DMatrix(
            rows, missing=absent, feature_names=booster.feature_names, feature_types=booster.feature_types
        )
        return np.asarray(booster.predict(matrix, output_margin=True, iteration_range=(0, end)), dtype=np.float64)

    def read(X: Any) -> np.ndarray:
        cells = _single(X)
        return np.where(cells == absent, np.nan, cells) if not np.isnan(absent) else cells

    zero = np.zeros((1, count))
    base = own(zero).reshape(-1) - forest.sums(read(zero), groups, 1)[0]
    objective = learner["objective"]["name"]
    classes = getattr(model, "classes_", None) if hasattr(model, "predict_proba") else None
    if classes is None and objective.startswith(("binary:", "multi:")):
        classes = range(max(2, groups))
    log = objective in ("count:poisson", "reg:gamma", "reg:tweedie")
    names = booster.feature_names or _names(model, count)
    found = TreeModel(
        forest=forest,
        cover=cover,
        base=base,
        outputs=groups,
        read=read,
        names=list(names),
        **_margin(classes, groups, "logarithm of the mean" if log else ""),
    )
    return _checked(found, _matrix, own, "XGBoost")


def _stopped_early(model: Any) -> bool:
    return getattr(model, "early_stopping_rounds", None) is not None


# -- LightGBM ----------------------------------------------------------------------------------------------------------
def of_lightgbm(model: Any) -> TreeModel | None:
    """Boosters of LightGBM, by their text; None for anything else."""
    import lightgbm

    booster = model.booster_ if hasattr(model, "booster_") else model
    if not isinstance(booster, lightgbm.Booster):
        return None
    if getattr(booster, "pandas_categorical", None):
        raise _refuse("of LightGBM must have no categories of pandas", "give category numbers as categorical_feature")
    # The text of a model is written and read in a tenth of the time of its dump.
    head, *trees = booster.model_to_string().partition("\nend of trees")[0].split("\nTree=")
    about = _fields(head)
    count, outputs = int(about["max_feature_idx"]) + 1, int(about["num_tree_per_iteration"])
    grower = Grower(count)
    zero_is_missing, zero_for_missing = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    for tree in trees:
        _add_lightgbm(grower, _fields(tree), zero_is_missing, zero_for_missing)
    forest, cover = grower.forest()

    def read(X: Any) -> np.ndarray:
        cells = _matrix(X)
        if cells.ndim != 2 or cells.shape[1] != count:
            return cells
        cells = np.where(zero_for_missing & np.isnan(cells), 0.0, cells)
        return np.where(zero_is_missing & (np.abs(cells) <= 1e-35), np.nan, cells)

    # A forest's raw score is the sum of its trees; what goes through the link is their mean.
    rounds = max(1, len(trees) // outputs) if "average_output" in about else 1
    objective = about.get("objective", "").split(" ")[0]
    classes = getattr(model, "classes_", None) if hasattr(model, "predict_proba") else None
    if classes is None and objective in ("binary", "cross_entropy", "multiclass", "multiclassova"):
        classes = range(max(2, outputs))
    log = objective in ("poisson", "gamma", "tweedie")
    found = TreeModel(
        forest=forest,
        cover=cover,
        base=np.zeros(outputs),
        outputs=outputs,
        scale=1.0 / rounds,
        read=read,
        names=about["feature_names"].split(" "),
        **_margin(classes, outputs, "logarithm of the mean" if log else ""),
    )
    return _checked(found, _matrix, lambda rows: np.asarray(booster.predict(rows, raw_score=True)) / rounds, "LightGBM")


def _fields(text: str) -> dict[str, str]:
    """The lines `name=value` of a text."""
    parts = (line.partition("=") for line in text.split("\n"))
    return {name: value for name, _, value in parts}


def _add_lightgbm(
    grower: Grower, tree: dict[str, str], zero_is_missing: np.ndarray, zero_for_missing: np.ndarray
) -> None:
    """A tree of inner nodes and leaves, each counted from 0; a child below 0 is a leaf, -1 the first."""
    if int(tree.get("is_linear", "0")):
        raise _refuse("of LightGBM must have constant leaves", "take linear_tree=False")

    def numbers(name: str, kind: Any = np.int64) -> np.ndarray:
        return np.array(tree.get(name, "").split(), dtype=kind)

    n_leaves = int(tree["num_leaves"])
    inner, leaf = n_leaves - 1, np.full(n_leaves, -1)
    value = np.concatenate([np.zeros(inner), numbers("leaf_value", np.float64)])
    if inner == 0:
        grower.add(
            feature=leaf, left=leaf, right=leaf, threshold=[0.0], value=value, cover=[1.0], missing_left=[0], sets={}
        )
        return
    feature, decision, threshold = numbers("split_feature"), numbers("decision_type"), numbers("threshold", np.float64)
    nominal, kind = (decision & 1) != 0, decision >> 2 & 3  # of missing cells: none, zero or NaN
    np.logical_or.at(zero_for_missing, feature[nominal], kind[nominal] != 2)
    np.logical_or.at(zero_is_missing, feature[~nominal], kind[~nominal] == 1)
    sets: dict[int, frozenset[int]] = {}
    if nominal.any():
        ends, words = numbers("cat_boundaries"), numbers("cat_threshold")
        for node in np.flatnonzero(nominal).tolist():
            own = words[ends[int(threshold[node])] : ends[int(threshold[node]) + 1]].tolist()
            sets[node] = frozenset(32 * w + bit for w, word in enumerate(own) for bit in range(32) if word >> bit & 1)
    default_left = np.where(kind == 0, threshold >= 0, (decision & 2) != 0) & ~nominal
    children = [np.where(child < 0, inner + ~child, child) for child in (numbers("left_child"), numbers("right_child"))]
    grower.add(
        feature=np.concatenate([feature, leaf]),
        left=np.concatenate([children[0], leaf]),
        right=np.concatenate([children[1], leaf]),
        threshold=np.concatenate([np.where(nominal, 0.0, threshold), np.zeros(n_leaves)]),
        value=value,
        cover=np.concatenate([numbers("internal_count", np.float64), numbers("leaf_count", np.float64)]),
        missing_left=np.concatenate([default_left, np.zeros(n_leaves, dtype=bool)]),
        sets=sets,
    )
