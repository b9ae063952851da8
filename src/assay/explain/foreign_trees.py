"""Trees of scikit-learn, XGBoost and LightGBM in Assay's form.

Each conversion is checked on rows of the table before it is used: the sum of the leaves must be the model's own score.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..base.columns import column_names
from ..base.errors import DataError, ParameterError
from .tree_models import WHO, Grower, TreeModel, class_outputs, number_outputs

CHECKED_ROWS = 32
TREES_AT_ONCE = 16


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


def _matrix(X: Any, kind: Any = np.float64) -> np.ndarray:
    try:
        return np.asarray(X, dtype=kind)
    except (TypeError, ValueError):
        raise DataError(
            WHO, "X", "must hold numbers", way_out="give columns of labels as categories of pandas, as in the fit"
        ) from None


# -- scikit-learn ------------------------------------------------------------------------------------------------------
def _single(X: Any) -> np.ndarray:
    return _matrix(X, np.float32).astype(np.float64)


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
        names=column_names(model, int(model.n_features_in_)),
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
        names=column_names(model, count),
        **_margin(getattr(model, "classes_", None), outputs),
    )


def _hist_boosting(model: Any) -> TreeModel:
    """Histogram boosting. Its columns of labels stand first among those that its trees number."""
    count = int(model.n_features_in_)
    outputs = len(model._predictors[0])
    nominal = np.zeros(count, dtype=bool) if model.is_categorical_ is None else np.asarray(model.is_categorical_)
    place = np.concatenate([np.flatnonzero(nominal), np.flatnonzero(~nominal)])
    grower = Grower(count)
    for stage in model._predictors:
        for member in stage:
            nodes = member.nodes
            leaf = nodes["is_leaf"].astype(bool)
            by_label = np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf)
            sets = {int(node): _bits(member.raw_left_cat_bitsets[nodes["bitset_idx"][node]]) for node in by_label}
            grower.add(
                feature=place[nodes["feature_idx"]],
                left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
                right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
                threshold=np.where(nodes["is_categorical"], 0.0, nodes["num_threshold"]),
                value=nodes["value"],
                cover=nodes["count"],
                missing_left=nodes["missing_go_to_left"],
                sets=sets,
            )
    listed: dict[int, list[Any]] = {}
    if nominal.any():
        known = model._preprocessor.named_transformers_["encoder"].categories_
        listed = {int(j): [one for one in own.tolist() if one == one] for j, own in zip(place, known, strict=False)}
    forest, cover = grower.forest({j: len(own) for j, own in listed.items()})

    def read(X: Any) -> np.ndarray:
        if not listed:
            return _matrix(X)
        try:
            coded = model._preprocess_X(X, reset=False)
        except ValueError as error:
            raise DataError(WHO, "X", "must be a table as the model was fitted on", str(error).split("\n")[0]) from None
        cells = np.empty(coded.shape)
        cells[:, place] = coded
        return cells

    log = getattr(model, "loss", "") in ("poisson", "gamma")
    found = TreeModel(
        forest=forest,
        cover=cover,
        base=np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1),
        outputs=outputs,
        read=read,
        names=column_names(model, count),
        categories=listed,
        **_margin(getattr(model, "classes_", None), outputs, "logarithm of the mean" if log else ""),
    )
    return _checked(found, lambda X: X, model._raw_predict, "scikit-learn") if listed else found


def _bits(words: np.ndarray) -> frozenset[int]:
    """Which bits are set in words of 32."""
    flags = np.unpackbits(np.ascontiguousarray(words, dtype="<u4").view(np.uint8), bitorder="little")
    return frozenset(np.flatnonzero(flags).tolist())


def _coded(X: Any, known: dict[int, list[Any] | None]) -> np.ndarray:
    """A data frame of pandas whose columns of labels become places among the known (None: their own); missing is NaN.

    Anything else holds these places already.
    """
    if not known or not hasattr(X, "iloc"):
        return _matrix(X)
    cells = np.empty(X.shape)
    for j in range(X.shape[1]):
        column = X.iloc[:, j]
        if j in known and hasattr(column, "cat"):
            own = known[j]
            codes = (column if own is None else column.cat.set_categories(own)).cat.codes.to_numpy()
            cells[:, j] = np.where(codes < 0, np.nan, codes)
        else:
            cells[:, j] = _matrix(column)
    return cells


# -- XGBoost -----------------------------------------------------------------------------------------------------------
def of_xgboost(model: Any) -> TreeModel | None:
    """Boosters of XGBoost, by their JSON; None for anything else."""
    import xgboost

    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not isinstance(booster, xgboost.Booster):
        return None
    learner = json.loads(booster.save_raw("json"))["learner"]
    boosting = learner["gradient_booster"]
    weights = boosting.get("weight_drop")  # of the trees of DART, which stand one level deeper
    boosting = boosting["gbtree"] if boosting["name"] == "dart" else boosting
    if boosting["name"] != "gbtree":
        raise _refuse(f"must be boosted trees, got {boosting['name']!r}", "take booster='gbtree' or 'dart'")
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
    listed, cut = _xgboost_labels(made.get("cats"))
    # A last category stands for all that no tree knows: by its tests these go left, as what is not in their sets does.
    slots = {j: len(own) + 1 for j, own in listed.items()}
    for tree in made["trees"]:
        for node, kept in _xgboost_sets(tree).items():
            column = int(tree["split_indices"][node])
            slots[column] = max(slots.get(column, 0), max(kept, default=-1) + 2)
    grower = Grower(count)
    for t in turns:
        tree = made["trees"][t]
        if int(tree["tree_param"]["size_leaf_vector"]) > 1:
            raise _refuse("of XGBoost must have one output per tree", "take multi_strategy='one_output_per_tree'")
        conditions = np.asarray(tree["split_conditions"], dtype=np.float32)
        nominal = np.asarray(tree["split_type"], dtype=bool)
        right = _xgboost_sets(tree)
        grower.add(
            feature=tree["split_indices"],
            left=tree["left_children"],
            right=tree["right_children"],
            # x < c among single-precision numbers is x <= the one before c.
            threshold=np.where(nominal, 0.0, np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64)),
            value=conditions.astype(np.float64) * (1.0 if weights is None else float(weights[t])),
            cover=tree["sum_hessian"],
            missing_left=tree["default_left"],
            sets={n: frozenset(range(slots[tree["split_indices"][n]])) - kept for n, kept in right.items()},
        )
    forest, cover = grower.forest(slots)
    given = getattr(model, "missing", None)
    absent = np.nan if given is None else float(given)

    def own(rows: np.ndarray) -> np.ndarray:
        matrix = xgboost.DMatrix(
            rows, missing=absent, feature_names=booster.feature_names, feature_types=booster.feature_types
        )
        return np.asarray(booster.predict(matrix, output_margin=True, iteration_range=(0, end)), dtype=np.float64)

    def plain(X: Any) -> np.ndarray:
        for j in (*listed, *cut) if hasattr(X, "iloc") else ():
            if j >= X.shape[1] or not hasattr(X.iloc[:, j], "cat"):
                continue
            if j in cut and _xgboost_text([str(one) for one in X.iloc[:, j].cat.categories]) != cut[j]:
                raise DataError(
                    WHO,
                    f"column {names[j]!r}",
                    "must have the categories of the fit in their order: XGBoost cuts labels beyond ASCII short",
                )
            new = set() if j in cut else set(X.iloc[:, j].dropna().unique()) - set(listed[j])
            if new:
                raise DataError(
                    WHO, f"column {names[j]!r}", "must hold labels that the model knows", f"got {new.pop()!r}"
                )
        return _single(_coded(X, {j: listed.get(j) for j in slots}) if slots else X)

    def read(X: Any) -> np.ndarray:
        cells = plain(X)
        cells = np.where(cells == absent, np.nan, cells) if not np.isnan(absent) else cells
        if cells.ndim == 2 and cells.shape[1] == count:
            for j, size in slots.items():
                column = np.trunc(cells[:, j])
                cells[:, j] = np.where((column < 0) | (column > size - 1), size - 1, column)
        return cells

    names = booster.feature_names or column_names(model, count)
    zero = np.zeros((1, count))
    base = own(zero).reshape(-1) - forest.sums(read(zero), groups, 1)[0]
    objective = learner["objective"]["name"]
    classes = getattr(model, "classes_", None) if hasattr(model, "predict_proba") else None
    if classes is None and objective.startswith(("binary:", "multi:")):
        classes = range(max(2, groups))
    log = objective in ("count:poisson", "reg:gamma", "reg:tweedie")
    found = TreeModel(
        forest=forest,
        cover=cover,
        base=base,
        outputs=groups,
        read=read,
        names=list(names),
        categories=listed,
        **_margin(classes, groups, "logarithm of the mean" if log else ""),
    )
    return _checked(found, plain, own, "XGBoost")


def _xgboost_sets(tree: dict[str, Any]) -> dict[int, frozenset[int]]:
    """The categories that go right, by node."""
    parts = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    return {node: frozenset(tree["categories"][begin : begin + size]) for node, begin, size in parts}


def _xgboost_labels(cats: dict[str, Any] | None) -> tuple[dict[int, list[Any]], dict[int, tuple[list[int], bytes]]]:
    """The labels of the columns of a data frame, where the model keeps them: text as bytes, or numbers.

    Text beyond ASCII is cut, as its ends are counted in letters: that comes second, as it is kept.
    """
    listed: dict[int, list[Any]] = {}
    cut: dict[int, tuple[list[int], bytes]] = {}
    for j, own in enumerate(cats["enc"] if cats else []):
        values, ends = own["values"], own.get("offsets")
        if ends is None:
            listed[j] = list(values)
        elif len(ends) > 1:
            text = bytes(value % 256 for value in values)
            if text.isascii():
                listed[j] = [text[a:b].decode() for a, b in pairwise(ends)]
            else:
                cut[j] = (list(ends), text)
    return listed, cut


def _xgboost_text(labels: list[str]) -> tuple[list[int], bytes]:
    """Labels as XGBoost keeps them.

    >>> _xgboost_text(["\u00e9", "b"])
    ([0, 1, 2], b'\\xc3\\xa9')
    """
    ends = [0, *np.cumsum([len(label) for label in labels]).tolist()]
    return ends, "".join(labels).encode()[: ends[-1]]


def _stopped_early(model: Any) -> bool:
    return getattr(model, "early_stopping_rounds", None) is not None


# -- LightGBM ----------------------------------------------------------------------------------------------------------
def of_lightgbm(model: Any) -> TreeModel | None:
    """Boosters of LightGBM, by their text; None for anything else."""
    import lightgbm

    booster = model.booster_ if hasattr(model, "booster_") else model
    if not isinstance(booster, lightgbm.Booster):
        return None
    # The text of a model is written and read in a tenth of the time of its dump; few trees at a time take little room.
    stages = booster.current_iteration()
    if booster.best_iteration > 0:
        stages = min(stages, booster.best_iteration)
    at_once = max(1, TREES_AT_ONCE // booster.num_model_per_iteration())
    head, *trees = _lightgbm_text(booster, 0, min(at_once, stages))
    about = _fields(head)
    count, outputs = int(about["max_feature_idx"]) + 1, int(about["num_tree_per_iteration"])
    grower = Grower(count)
    zero_is_missing, zero_for_missing = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    for begin in range(0, stages, at_once):
        if begin:
            trees = _lightgbm_text(booster, begin, min(at_once, stages - begin))[1:]
        for tree in trees:
            _add_lightgbm(grower, _fields(tree), zero_is_missing, zero_for_missing)
    forest, cover = grower.forest()

    labels = getattr(booster, "pandas_categorical", None) or []
    nominal = [j for j, info in enumerate(about["feature_infos"].split(" ")) if ":" in info and info[0] != "["]
    # The lists of categories stand without the names of their columns: the model tells them where none is constant.
    listed = dict(zip(nominal, labels, strict=True)) if len(nominal) == len(labels) else {}

    def plain(X: Any) -> np.ndarray:
        if not labels or not hasattr(X, "iloc"):
            return _matrix(X)
        held = [j for j in range(X.shape[1]) if hasattr(X.iloc[:, j], "cat")]
        if len(held) != len(labels) or (listed and held != nominal):
            raise DataError(
                WHO, "X", f"must have {len(labels)} columns of categories as in the fit", f"got {len(held)} of them"
            )
        return _coded(X, dict(zip(held, labels, strict=True)))

    def read(X: Any) -> np.ndarray:
        cells = plain(X)
        if cells.ndim != 2 or cells.shape[1] != count or not (zero_for_missing | zero_is_missing).any():
            return cells
        cells = cells.copy()
        for j in np.flatnonzero(zero_for_missing).tolist():
            cells[np.isnan(cells[:, j]), j] = 0.0
        for j in np.flatnonzero(zero_is_missing).tolist():
            cells[np.abs(cells[:, j]) <= 1e-35, j] = np.nan
        return cells

    # A forest's raw score is the sum of its trees; what goes through the link is their mean.
    rounds = max(1, stages) if "average_output" in about else 1
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
        categories=listed,
        **_margin(classes, outputs, "logarithm of the mean" if log else ""),
    )
    return _checked(found, plain, lambda rows: np.asarray(booster.predict(rows, raw_score=True)) / rounds, "LightGBM")


def _lightgbm_text(booster: Any, begin: int, stages: int) -> list[str]:
    """What the text of a booster says of it, and of each tree of some stages."""
    how = {"num_iteration": stages, "start_iteration": begin}
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "trees")
            booster.save_model(file, **how)
            text = file.read_text("utf-8")
    except OSError:  # no room for files; this clears a megabyte first, more than most texts take
        text = booster.model_to_string(**how)
    return text.partition("\nend of trees")[0].split("\nTree=")


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

    def numbers(name: str, kind: Any = np.int32) -> np.ndarray:
        return np.array(tree.get(name, "").split(), dtype=kind)

    n_leaves = int(tree["num_leaves"])
    inner, leaf = n_leaves - 1, np.full(n_leaves, -1, dtype=np.int32)
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
        ends, words = numbers("cat_boundaries"), numbers("cat_threshold", np.int64)
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
