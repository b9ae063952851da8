"""Trees against those that WEKA 3.6.14 grows.

Recorded in trees.json beside this file, which says how. The tables have their classes in the order of their
names, so that ties between classes fall alike. Not compared: J48's `-B` (one category against the rest), which
`C45Classifier` does not have, and `-R`, whose pruning rows depend on WEKA's random numbers. J48 takes numeric values
within 1e-5 as equal and `C45Classifier` does not, so that columns of small numbers are recorded in larger units.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn import datasets
from sklearn.model_selection import KFold

from assay.data import load_dataset
from assay.models.baselines import OneRClassifier
from assay.models.trees import C45Classifier, ID3Classifier, ModelTreeRegressor

RECORDED = json.loads((Path(__file__).parent / "trees.json").read_text())
OPTIONS = {
    "default": {"subtree_raising": True},
    "-U": {"prune": False},
    "-S": {},
    "-C 0.1": {"subtree_raising": True, "confidence_factor": 0.1},
    "-M 5": {"subtree_raising": True, "min_samples_leaf": 5},
    "-C 0.5 -S": {"confidence_factor": 0.5},
}


def table(name: str) -> tuple[pl.DataFrame, np.ndarray]:
    if name in RECORDED["tables"]:
        held = RECORDED["tables"][name]
        return pl.DataFrame(held["columns"], strict=False), np.array(held["target"])
    if name.startswith("weather"):
        frame = load_dataset(name).frame
        return frame.drop("play"), frame["play"].cast(pl.String).to_numpy()
    data = getattr(datasets, f"load_{name}")()
    cells = (data.data * (1000 if name == "breast_cancer" else 1)).round(6)
    return pl.DataFrame({f"x{j}": column for j, column in enumerate(cells.T)}), data.target_names[data.target]


def leaves(model) -> dict[frozenset[str], tuple[str, float, float]]:
    """For each way to a leaf with training rows: the class, the rows, and how many of them it gets wrong."""
    tree, names, found, stack = model.tree_, model.schema_.names, {}, [(0, frozenset())]
    while stack:
        node, path = stack.pop()
        weight = float(tree.weighted_n_node_samples[node])
        if tree.feature[node] < 0:
            if weight > 0:
                shares = tree.value[node]
                found[path] = str(model.classes_[shares.argmax()]), weight, weight * float(1 - shares.max())
            continue
        column = int(tree.feature[node])
        if tree.is_multiway(node):
            ways = zip(tree.branch_children(node), [f"= {one}" for one in model.schema_.categories[column]])
        else:
            cut = repr(round(float(tree.threshold[node]), 6)).removesuffix(".0")
            ways = zip((tree.children_left[node], tree.children_right[node]), (f"<= {cut}", f"> {cut}"))
        stack += [(int(child), path | {f"{names[column]} {words}"}) for child, words in ways]
    return found


def spoken(conditions: str) -> frozenset[str]:
    """WEKA writes the booleans of the weather as text, as they were given to it."""
    words = conditions.replace("windy = true", "windy = True").replace("windy = false", "windy = False")
    return frozenset(words.split(" & ")) - {""}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", RECORDED["j48"])
def test_c45_grows_the_tree_of_j48_leaf_for_leaf(name, options):
    """Conditions, thresholds, class, rows (with fractions of rows) and errors of every leaf; the training error too.

    J48 raises subtrees unless told `-S`, cuts at training values, and rounds what it prints to two digits.
    """
    X, y = table(name)
    model = C45Classifier(threshold="observed", **OPTIONS[options]).fit(X, y)
    theirs, ours = RECORDED["j48"][name][options], leaves(model)
    assert {spoken(one[0]) for one in theirs["leaves"]} == set(ours)
    for conditions, label, rows, wrong in theirs["leaves"]:
        said, weight, errors = ours[spoken(conditions)]
        assert said == label
        assert (weight, errors) == pytest.approx((rows, wrong), abs=0.0051)
    assert int((model.predict(X) != y).sum()) == theirs["wrong"]


@pytest.mark.parametrize("name", RECORDED["id3"])
def test_id3_grows_the_tree_of_weka(name):
    X, y = table(name)
    ours = {path: label for path, (label, _, _) in leaves(ID3Classifier().fit(X, y)).items()}
    assert ours == {spoken(conditions): label for conditions, label in RECORDED["id3"][name]}


@pytest.mark.parametrize("name", RECORDED["one_r"])
def test_one_r_makes_the_rule_of_weka_or_one_that_errs_on_one_row_more(name):
    """On nominal columns the same rule.

    WEKA fills the intervals of a numeric column row by row, in the order in which its sort leaves rows of equal value;
    `OneRClassifier` fills them value by value, so that its rule does not depend on the order of rows. The intervals may
    differ by that, and so may the column where two are as good.
    """
    X, y = table(name)
    model, theirs = OneRClassifier(min_bucket_size=6).fit(X, y), RECORDED["one_r"][name]
    right = int((model.predict(X) == y).sum())
    if any("<" in rule for rule in theirs["rules"]):
        assert right >= theirs["right"] - max(1, 0.015 * len(y))
        return
    assert (model.column_name_, right) == (theirs["column"], theirs["right"])
    ours = {(rule["if"].split(" = ")[1].lower(), str(rule["then"])) for rule in model.branches_}
    assert ours == {tuple(part.strip().lower() for part in rule.split("->")) for rule in theirs["rules"]}


def numbers(name: str) -> tuple[np.ndarray, np.ndarray]:
    made = {
        "diabetes": lambda: datasets.load_diabetes(return_X_y=True, scaled=False),
        "friedman1": lambda: datasets.make_friedman1(400, noise=1.0, random_state=0),
        "friedman2": lambda: datasets.make_friedman2(300, noise=50, random_state=1),
        "friedman3": lambda: datasets.make_friedman3(300, noise=0.1, random_state=2),
        "iris-width": lambda: (datasets.load_iris().data[:, :3], datasets.load_iris().data[:, 3]),
        "wine-alcohol": lambda: (datasets.load_wine().data[:, 1:], datasets.load_wine().data[:, 0]),
    }
    X, y = made[name]()
    return X.round(6), y.round(6)


@pytest.mark.parametrize("split", ["linear", "constant"])
def test_model_tree_predicts_as_well_as_m5p(split):
    """Error on new rows: on average at most 1 % above that of M5P, and nowhere more than 5 %.

    The trees differ: M5P splits where the fifth root of the variance falls most, the model tree where the squared error
    of linear models does, or that of constants, as CART.
    """
    ratios = []
    for name, theirs in RECORDED["m5p"].items():
        X, y = numbers(name)
        squares = 0.0
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            said = ModelTreeRegressor(split=split).fit(X[train], y[train]).predict(X[test])
            squares += float(((said - y[test]) ** 2).sum())
        ratios.append((squares / y.shape[0]) ** 0.5 / theirs)
    assert max(ratios) < 1.05 and np.mean(ratios) < 1.01
