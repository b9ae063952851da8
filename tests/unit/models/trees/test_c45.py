"""ID3 and C4.5: against a plain Python C4.5, on edge cases, and parameter by parameter."""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.model_selection import KFold

from assay import _kernels
from assay.data import load_dataset
from assay.models.rules import RulesFromTree
from assay.models.trees import C45Classifier, CartClassifier, ID3Classifier, pessimistic_leaves
from assay.models.trees._engine import Tree


# -- a plain C4.5, written from the definitions ------------------------------------------------------------------------
def entropy(counts):
    total = sum(counts.values())
    return -sum(c / total * math.log2(c / total) for c in counts.values() if c > 0)


def gini(counts):
    total = sum(counts.values())
    return 1 - sum((c / total) ** 2 for c in counts.values())


def tally(items):
    counts = {}
    for _, label, weight in items:
        counts[label] = counts.get(label, 0.0) + weight
    return counts


class Plain:
    """C4.5 by recursion over lists of (row, label, weight); rows are lists of numbers, labels or None."""

    def __init__(self, nominal, n_classes, n_rows, categories, **options):
        self.nominal, self.n_classes, self.n_rows, self.categories = nominal, n_classes, n_rows, categories
        self.options = {
            "criterion": "gain_ratio", "min_leaf": 2, "large": True, "cost": True, "positive": True, "max_depth": None,
        } | options  # fmt: skip

    def impurity(self, items):
        return (gini if self.options["criterion"] == "gini" else entropy)(tally(items)) if items else 0.0

    def score(self, groups, missing, total, cost=0.0):
        known = [item for group in groups for item in group]
        w = sum(i[2] for i in known)
        parts = [sum(i[2] for i in g) for g in groups]
        gain = w / total * (self.impurity(known) - sum(p / w * self.impurity(g) for p, g in zip(parts, groups)))
        absent = sum(i[2] for i in missing)
        info = -sum(p / total * math.log2(p / total) for p in [*parts, absent] if p > 0)
        return gain - cost, info

    def candidate(self, items, j, total):
        known = [i for i in items if i[0][j] is not None]
        missing = [i for i in items if i[0][j] is None]
        values = sorted({i[0][j] for i in known})
        if len(values) < 2:
            return None
        if self.nominal[j]:
            groups = [[i for i in known if i[0][j] == v] for v in values]
            if sum(sum(i[2] for i in g) >= self.options["min_leaf"] - 1e-9 for g in groups) < 2:
                return None
            gain, info = self.score(groups, missing, total)
            return {"column": j, "gain": gain, "info": info, "groups": groups, "values": values, "missing": missing}
        least = self.options["min_leaf"]
        if self.options["large"]:
            least = max(least, min(25, 0.1 * sum(i[2] for i in known) / self.n_classes))
        tried = []
        for low, high in itertools.pairwise(values):
            groups = [[i for i in known if i[0][j] <= low], [i for i in known if i[0][j] > low]]
            if min(sum(i[2] for i in g) for g in groups) < least - 1e-9:
                continue
            gain, info = self.score(groups, missing, total)
            tried.append({"column": j, "gain": gain, "info": info, "groups": groups, "cut": (low + high) / 2,
                          "missing": missing})  # fmt: skip
        if not tried:
            return None
        best = tried[0]
        for one in tried[1:]:
            if one["gain"] > best["gain"] + 1e-9:
                best = one
        if self.options["cost"] and self.options["criterion"] != "gini":
            best["gain"] -= math.log2(len(tried)) / total
        return best

    def grow(self, items, depth=0):
        counts = tally(items)
        total = sum(counts.values())
        node = {"counts": counts, "weight": total}
        deepest = self.options["max_depth"]
        if sum(c > 0 for c in counts.values()) < 2 or total < 2 * self.options["min_leaf"] - 1e-9 or depth == deepest:
            return node
        found = [c for j in range(len(self.nominal)) if (c := self.candidate(items, j, total)) is not None]
        positive = [c for c in found if c["gain"] > 1e-9] if self.options["positive"] else found
        if not positive:
            return node
        found = [c for c in found if self.nominal[c["column"]] or c in positive]
        counted = [c for c in found if len(self.categories[c["column"]]) < 0.3 * self.n_rows] or found
        average = sum(c["gain"] for c in counted) / len(counted)
        best, most = None, 0.0
        for c in positive:
            by_ratio = self.options["criterion"] == "gain_ratio"
            if by_ratio and c["gain"] < average - 1e-3:
                continue
            score = c["gain"] / c["info"] if by_ratio else c["gain"]
            if best is None or score > most + 1e-9:
                best, most = c, score
        known = sum(i[2] for g in best["groups"] for i in g)
        node |= {"column": best["column"], "cut": best.get("cut"), "values": best.get("values"), "children": []}
        for group in best["groups"]:
            share = sum(i[2] for i in group) / known
            parts = [(row, label, w * share) for row, label, w in best["missing"]]
            node["children"].append(self.grow(group + parts, depth + 1))
        if self.nominal[best["column"]] and len(best["values"]) < len(self.categories[best["column"]]):
            node["children"].append({"counts": counts, "weight": 0.0})
        return node

    def shares(self, node, row):
        if "children" not in node:
            total = sum(node["counts"].values())
            return {k: c / total for k, c in node["counts"].items()}
        cell = row[node["column"]]
        if cell is not None and node["values"] is None:
            return self.shares(node["children"][0 if cell <= node["cut"] else 1], row)
        if cell is not None and cell in node["values"]:
            return self.shares(node["children"][node["values"].index(cell)], row)
        if cell is not None and cell in self.categories[node["column"]]:
            return self.shares(node["children"][-1], row)
        total = sum(c["weight"] for c in node["children"])
        mixed = {}
        for child in node["children"]:
            if child["weight"] > 0:
                for label, share in self.shares(child, row).items():
                    mixed[label] = mixed.get(label, 0.0) + share * child["weight"] / total
        return mixed


def mixed_table(seed, n=70, missing=0.1, classes=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "number": rng.integers(0, 12, n).astype(float),
            "colour": rng.choice(["blue", "green", "red", "white"], n).astype(object),
            "level": rng.normal(size=n).round(1),
            "shape": rng.choice(["round", "square"], n, p=[0.8, 0.2]).astype(object),
        }
    )
    signal = frame["number"] / 6 + (frame["colour"] == "red") + frame["level"] * (frame["shape"] == "square")
    y = np.clip((signal + rng.normal(size=n) * 0.4).round(), 0, classes - 1).astype(int)
    for name in frame.columns:
        hidden = rng.random(n) < missing
        frame.loc[hidden, name] = None if frame[name].dtype == object else np.nan
    return frame, y


def plain_rows(frame):
    return [[None if v is None or v != v else v for v in row] for row in frame.itertuples(index=False)]


def assert_same(tree: Tree, node, plain, classes):
    """The same tests, weights and class weights, node by node."""
    assert tree.weighted_n_node_samples[node] == pytest.approx(plain["weight"], abs=1e-8)
    total = sum(plain["counts"].values())
    expected = [plain["counts"].get(c, 0.0) / total for c in classes]
    np.testing.assert_allclose(tree.value[node], expected, atol=1e-8)
    children = tree.children(node)
    assert len(children) == len(plain.get("children", []))
    if children:
        assert tree.feature[node] == plain["column"]
        if plain["cut"] is not None:
            assert tree.threshold[node] == pytest.approx(plain["cut"])
        for child, below in zip(children, plain["children"], strict=True):
            assert_same(tree, child, below, classes)


OPTIONS = [
    ({}, {}),
    ({"criterion": "entropy"}, {"criterion": "entropy"}),
    ({"criterion": "gini", "min_samples_leaf": 1}, {"criterion": "gini", "min_leaf": 1}),
    (
        {"large_branches": False, "threshold_cost": False, "max_depth": 3},
        {"large": False, "cost": False, "max_depth": 3},
    ),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("ours", "theirs"), OPTIONS)
@pytest.mark.parametrize("seed", range(4))
def test_tree_and_probabilities_equal_a_plain_c45(seed, ours, theirs, weighted):
    X, y = mixed_table(seed)
    weights = np.random.default_rng(seed).integers(1, 4, len(y)) if weighted else None
    model = C45Classifier(prune=False, collapse=False, **ours).fit(X, y, sample_weight=weights)
    categories = [() if c is None else tuple(c.tolist()) for c in model.schema_.categories]
    n_rows = len(y) if weights is None else int(weights.sum())
    plain = Plain([bool(c) for c in categories], len(model.classes_), n_rows, categories, **theirs)
    rows = plain_rows(X)
    items = [(r, int(c), float(w)) for r, c, w in zip(rows, y, np.ones(len(y)) if weights is None else weights)]
    grown = plain.grow(items)
    assert_same(model.tree_, 0, grown, model.classes_.tolist())
    other = mixed_table(seed + 100, missing=0.3)[0]
    other.loc[::5, "colour"] = "never seen"
    expected = [[plain.shares(grown, r).get(c, 0.0) for c in model.classes_.tolist()] for r in plain_rows(other)]
    np.testing.assert_allclose(model.predict_proba(other), expected, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_id3_equals_a_plain_tree_of_largest_information_gain(seed):
    X, y = mixed_table(seed, n=50)
    model = ID3Classifier().fit(X, y)
    categories = [() if c is None else tuple(c.tolist()) for c in model.schema_.categories]
    options = {"criterion": "entropy", "min_leaf": 1, "large": False, "cost": False, "positive": False}
    plain = Plain([bool(c) for c in categories], len(model.classes_), len(y), categories, **options)
    grown = plain.grow([(r, int(c), 1.0) for r, c in zip(plain_rows(X), y)])
    assert_same(model.tree_, 0, grown, model.classes_.tolist())


def upper_limit(n, e, confidence):
    """The share at which e or fewer errors of n have probability `confidence`, by bisection of the binomial sum."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if binom.cdf(e, n, middle) > confidence else (low, middle)
    return low


@pytest.mark.parametrize("confidence", [0.05, 0.25, 0.5])
def test_pruning_equals_a_plain_recursion_on_binomial_limits(confidence):
    X, y = mixed_table(5, n=150, missing=0.0)
    tree = C45Classifier(prune=False, min_samples_leaf=1).fit(X, y).tree_

    def expected(node):
        n = round(tree.weighted_n_node_samples[node])
        wrong = n - round(n * tree.value[node].max())
        leaf = 0.0 if n == 0 else n * (1.0 if wrong == n else upper_limit(n, wrong, confidence))
        if not tree.children(node):
            return leaf, 1
        below = [expected(child) for child in tree.children(node)]
        errors = sum(e for e, _ in below)
        return (leaf, 1) if leaf <= errors + 0.1 else (errors, sum(leaves for _, leaves in below))

    pruned = C45Classifier(min_samples_leaf=1, confidence_factor=confidence).fit(X, y).tree_
    assert pruned.n_leaves == expected(0)[1] < tree.n_leaves


# -- edge cases -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cls", [C45Classifier, ID3Classifier])
class TestEdges:
    def test_one_row_is_one_leaf(self, cls):
        model = cls().fit([["a", 1.0]], ["yes"])
        assert model.get_n_leaves() == 1
        assert model.predict([["b", None]]).tolist() == ["yes"]

    def test_constant_target_is_one_leaf(self, cls):
        model = cls().fit([["a"], ["b"], ["c"]], ["yes"] * 3)
        assert model.get_n_leaves() == 1
        np.testing.assert_array_equal(model.predict_proba([["a"]]), [[1.0]])

    def test_column_without_a_known_cell_is_never_tested(self, cls):
        X = pd.DataFrame({"gone": [None] * 8, "also": [np.nan] * 8, "x": [1.0, 1, 1, 1, 2, 2, 2, 2]}).astype(
            {"gone": object}
        )
        model = cls(categorical_features=["gone"]).fit(X, list("aaaabbbb"))
        assert set(model.tree_.feature.tolist()) == {2, -1}
        assert model.predict(X).tolist() == list("aaaabbbb")

    def test_table_of_nothing_but_missing_cells_is_one_leaf(self, cls):
        model = cls().fit([[np.nan]] * 5, list("aabbb"))
        np.testing.assert_allclose(model.predict_proba([[np.nan], [1.0]]), [[0.4, 0.6]] * 2)

    def test_300_classes(self, cls):
        X = np.repeat(np.arange(300.0), 4)[:, None]
        y = np.repeat([f"class {i}" for i in range(300)], 4)
        model = cls(**({"large_branches": False} if cls is C45Classifier else {})).fit(X, y)
        assert model.score(X, y) == 1.0

    def test_1000_categories(self, cls):
        rng = np.random.default_rng(0)
        codes = rng.integers(0, 1000, 20_000)
        X = pd.DataFrame({"place": [f"p{c}" for c in codes], "noise": rng.normal(size=20_000)})
        y = (codes * 7919 % 13) < 5
        model = cls(max_depth=2).fit(X, y)
        assert model.score(X, y) == 1.0
        assert model.tree_.feature[0] == 0
        assert len(model.tree_.children(0)) == len(set(codes))

    def test_1000_categories_with_missing_cells(self, cls):
        rng = np.random.default_rng(1)
        codes = rng.integers(0, 1000, 3000)
        place = np.array([f"p{c}" for c in codes], dtype=object)
        place[rng.random(3000) < 0.05] = None
        X = pd.DataFrame({"place": place, "noise": rng.normal(size=3000)})
        y = codes % 2
        model = cls(max_depth=2, class_weight={0: 1.0}).fit(X, y)
        assert model.tree_.weighted_n_node_samples[0] == 3000
        children = model.tree_.weighted_n_node_samples[model.tree_.children(0)]
        assert children.sum() == pytest.approx(3000)

    def test_unseen_category_gives_the_mean_over_the_branches(self, cls):
        X = [["a"]] * 6 + [["b"]] * 2
        model = cls().fit(X, [0, 0, 0, 0, 0, 1, 1, 1])
        np.testing.assert_allclose(model.predict_proba([["a"], ["b"]]), [[5 / 6, 1 / 6], [0, 1]])
        np.testing.assert_allclose(model.predict_proba([["z"], [None]]), [[5 / 8, 3 / 8]] * 2)

    def test_same_tree_for_any_number_of_threads(self, cls):
        rng = np.random.default_rng(3)
        X = np.column_stack([rng.normal(size=(6000, 4)).round(2), rng.integers(0, 5, (6000, 3))])
        X[rng.random(X.shape) < 0.02] = np.nan
        y = (np.nan_to_num(X[:, 0]) + (X[:, 4] == 2) + rng.normal(size=6000) > 0).astype(int)
        one, four = (cls(n_jobs=jobs, categorical_features=[4, 5, 6]).fit(X, y) for jobs in (1, 4))
        for name in ("feature", "threshold", "value", "weighted_n_node_samples", "branches"):
            np.testing.assert_array_equal(getattr(one.tree_, name), getattr(four.tree_, name))
        np.testing.assert_array_equal(one.predict_proba(X), four.predict_proba(X))

    def test_folds_equal_separate_fits(self, cls):
        X, y = mixed_table(8, n=90)
        folds = list(KFold(3).split(X))
        for model, (train, test) in zip(cls().fit_folds(X, y, folds), folds):
            alone = cls().fit(X.iloc[train], y[train])
            np.testing.assert_array_equal(model.predict_proba(X.iloc[test]), alone.predict_proba(X.iloc[test]))

    def test_importances_sum_to_one_and_name_the_column(self, cls):
        X = pd.DataFrame({"noise": list("xyxyxyxy"), "signal": list("aaaabbbb")})
        model = cls().fit(X, [0, 0, 0, 0, 1, 1, 1, 1])
        np.testing.assert_allclose(model.feature_importances_, [0, 1])


def test_category_that_does_not_reach_a_node_gets_a_leaf_like_the_node():
    X = pd.DataFrame({"first": list("aaaabbbbbb"), "second": list("uuvvuuvvww")})
    model = ID3Classifier().fit(X, [0, 0, 1, 1, 1, 1, 1, 1, 1, 1])
    tree = model.tree_
    assert tree.feature.tolist() == [0, 1, -1, -1, -1, -1]
    assert tree.weighted_n_node_samples.tolist() == [10, 4, 2, 2, 0, 6]
    np.testing.assert_array_equal(tree.value[4], [0.5, 0.5])
    np.testing.assert_array_equal(model.predict_proba(pd.DataFrame({"first": ["a"], "second": ["w"]})), [[0.5, 0.5]])
    assert "|   second = w: 0 (0 rows, 50%)" in model.to_text()


def test_nominal_column_is_used_once_on_a_path_at_most():
    X, y = mixed_table(11, n=200)
    tree = ID3Classifier().fit(X, y).tree_
    parents = tree.parents()
    for leaf in np.flatnonzero(tree.feature < 0):
        path, node = [], parents[leaf]
        while node >= 0:
            path += [int(tree.feature[node])] if tree.is_multiway(node) else []
            node = parents[node]
        assert len(path) == len(set(path))


def test_xor_of_nominal_columns_has_no_gain_so_id3_goes_on_and_c45_stops():
    X = [["a", "c"], ["a", "d"], ["b", "c"], ["b", "d"]] * 2
    y = [0, 1, 1, 0] * 2
    assert ID3Classifier().fit(X, y).get_depth() == 2
    assert C45Classifier(prune=False).fit(X, y).get_depth() == 0


# -- parameters -------------------------------------------------------------------------------------------------------
def leaves(**parameters):
    X, y = mixed_table(2, n=300, missing=0.05)
    return C45Classifier(**parameters).fit(X, y).get_n_leaves()


def test_max_depth_limits_the_depth():
    X, y = mixed_table(2, n=300)
    assert C45Classifier(max_depth=2, prune=False).fit(X, y).get_depth() == 2


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ({"min_samples_split": 100}, {"min_samples_split": 4}),
        ({"min_samples_split": 0.5}, {"min_samples_split": 4}),
        ({"min_samples_leaf": 20}, {"min_samples_leaf": 2}),
        ({"min_samples_leaf": 0.1}, {"min_samples_leaf": 2}),
        ({"min_impurity_decrease": 0.02}, {"min_impurity_decrease": 0.0}),
        ({"threshold_cost": True}, {"threshold_cost": False}),
        ({"prune": True}, {"prune": False}),
        ({"collapse": True}, {"collapse": False}),
        ({"prune": True, "confidence_factor": 0.01}, {"prune": True, "confidence_factor": 0.5}),
    ],
)
def test_parameter_makes_the_tree_smaller(small, large):
    base = {"prune": False, "min_samples_leaf": 2}
    assert leaves(**base | small) < leaves(**base | large)


def test_at_least_two_branches_hold_min_samples_leaf():
    X, y = mixed_table(2, n=300, missing=0.05)
    tree = C45Classifier(min_samples_leaf=15, prune=False).fit(X, y).tree_
    for node in np.flatnonzero(tree.feature >= 0):
        assert sum(tree.weighted_n_node_samples[c] >= 15 - 1e-6 for c in tree.children(node)) >= 2


def test_criterion_changes_the_root_where_one_column_has_many_categories():
    """A column with a category per pair of rows has the largest gain; its ratio is small."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"pair": np.repeat([f"p{i}" for i in range(20)], 2), "side": np.repeat(["l", "r"], 20)})
    X.loc[:, "other"] = rng.choice(["u", "v"], 40)
    y = np.repeat([0, 1], 20)
    y[[3, 25]] = 1 - y[[3, 25]]
    roots = {c: int(C45Classifier(criterion=c).fit(X, y).tree_.feature[0]) for c in ("gain_ratio", "entropy", "gini")}
    assert roots == {"gain_ratio": 1, "entropy": 0, "gini": 0}


def test_observed_threshold_is_a_training_value_and_moves_no_training_row():
    X, y = mixed_table(4, n=200)
    middle, observed = (C45Classifier(threshold=t).fit(X, y) for t in ("midpoint", "observed"))
    numeric = (middle.tree_.feature >= 0) & (middle.tree_.children_left >= 0)
    assert numeric.any()
    for node in np.flatnonzero(numeric):
        column = X.iloc[:, middle.tree_.feature[node]]
        assert observed.tree_.threshold[node] in column.tolist()
        assert observed.tree_.threshold[node] <= middle.tree_.threshold[node]
    np.testing.assert_array_equal(middle.predict_proba(X), observed.predict_proba(X))


def test_class_weight_equals_weights():
    X, y = mixed_table(6, n=150)
    by_class = C45Classifier(class_weight={0: 3, 1: 1, 2: 2}).fit(X, y)
    by_row = C45Classifier().fit(X, y, sample_weight=np.array([3.0, 1.0, 2.0])[y])
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    balanced = C45Classifier(class_weight="balanced", max_depth=1, prune=False).fit(X, y)
    np.testing.assert_allclose(balanced.tree_.value[0], 1 / 3)


def test_scaling_weights_that_are_not_whole_changes_nothing():
    X, y = mixed_table(6, n=150)
    weights = np.random.default_rng(0).random(150) + 0.1
    a, b = (C45Classifier().fit(X, y, sample_weight=weights * factor) for factor in (1.0, 1000.5))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-9)


def test_trace_holds_the_split_table_of_every_node():
    X, y = mixed_table(7, n=150)
    model = C45Classifier(trace=True).fit(X, y)
    nodes = [r["values"] for r in model.trace_ if r["what"] in ("split", "leaf")]
    pruning = model.trace_[-1]
    assert pruning["what"] == "pruning" and pruning["values"]["nodes_before"] == len(nodes)
    assert pruning["values"]["leaves"] == model.get_n_leaves()
    for node in nodes:
        for name, one in node["candidates"].items():
            assert one["gain_ratio"] == pytest.approx(one["gain"] / one["split_information"])
            assert (one["threshold"] is None) == (name in ("colour", "shape"))
    assert any(len(node["candidates"]) > 1 for node in nodes)
    assert not hasattr(C45Classifier().fit(X, y), "trace_")


def test_cut_keeps_the_branches_of_what_stays():
    X, y = mixed_table(9, n=300)
    model = C45Classifier(prune=False).fit(X, y)
    whole = model.tree_
    cut = whole.cut(whole.depths() == 2)
    assert cut.depths().max() == 2
    cells = model._read(X, reset=False)
    shallow = C45Classifier(prune=False, max_depth=2).fit(X, y).tree_
    np.testing.assert_array_equal(cut.apply(cells, 1), shallow.apply(cells, 1))
    np.testing.assert_array_equal(cut.branches, shallow.branches)
    np.testing.assert_array_equal(cut.parents(), shallow.parents())


def test_pessimistic_pruning_takes_binary_trees_too():
    X, y = mixed_table(9, n=300)
    tree = CartClassifier().fit(X, y).tree_
    assert 1 < tree.cut(pessimistic_leaves(tree, 0.1)).n_leaves < tree.n_leaves


def test_kernel_refuses_what_does_not_fit():
    tree = C45Classifier().fit([["a"], ["a"], ["b"], ["b"]], [0, 0, 1, 1]).tree_
    with pytest.raises(ValueError, match="one column per n_categories"):
        _kernels.apply_multiway(**tree._multiway_arrays(), cells=np.zeros((1, 2)), threads=1)


def test_cost_grows_with_the_table_and_shrinks_with_depth():
    assert C45Classifier().estimate_cost(10**6, 10).seconds > 5 * C45Classifier().estimate_cost(10**5, 10).seconds
    assert (
        C45Classifier(max_depth=2).estimate_cost(10**6, 10).seconds < C45Classifier().estimate_cost(10**6, 10).seconds
    )


def test_large_branches_forbid_cutting_off_a_few_rows():
    X, y = np.arange(100.0)[:, None], np.arange(100) < 3
    assert C45Classifier(prune=False).fit(X, y).tree_.threshold[0] == 4.5
    assert C45Classifier(prune=False, large_branches=False).fit(X, y).tree_.threshold[0] == 2.5


# -- other forms ------------------------------------------------------------------------------------------------------
def complete(frame):
    return frame.dropna().reset_index(drop=True)


def as_rows(frame):
    return [dict(zip(frame.columns, row, strict=True)) for row in plain_rows(frame)]


def in_sqlite(frame, text):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (number REAL, colour TEXT, level REAL, shape TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", plain_rows(frame))
    return [row[-1] for row in connection.execute(text).fetchall()]


def by_json(document, frame):
    """Walks the tree of `to_json` as its documentation says."""
    tree = json.loads(document)
    found = []
    for row in as_rows(frame):
        node = tree["nodes"][0]
        while "column" in node:
            cell = row[node["column"]]
            if "branches" in node:
                ways = [b["to"] for b in node["branches"] if cell in b["in"]]
                node = tree["nodes"][ways[0] if ways else node["missing"]]
            else:
                side = node["missing"] if cell is None else "left" if cell <= node["at_most"] else "right"
                node = tree["nodes"][node[side]]
        found.append(node["prediction"])
    return found


@pytest.mark.parametrize("model", [C45Classifier(), C45Classifier(prune=False, criterion="gini"), ID3Classifier()])
@pytest.mark.parametrize("seed", range(3))
def test_rules_and_sql_say_what_predict_says_and_other_forms_take_the_heaviest_branch_at_a_missing_cell(model, seed):
    X, y = mixed_table(seed, n=200)
    y = np.array(["low", "mid'", "high"])[y]
    model.fit(X, y)
    other = mixed_table(seed + 50, n=200, missing=0.3)[0]
    other.loc[::7, "colour"] = "never seen"
    rules, one_way_rules = model.to_rules(), model.to_rules(missing="heaviest_branch")
    assert len(one_way_rules) <= len(rules)
    space: dict = {}
    exec(model.to_python(), space)
    for frame in (X, other):
        one_way = model.classes_[model.tree_.value[model.apply(frame)].argmax(axis=1)]
        np.testing.assert_array_equal(one_way_rules.predict(frame), one_way)
        np.testing.assert_array_equal(rules.predict(frame), model.predict(frame))
        assert in_sqlite(frame, model.to_sql("t")) == model.predict(frame).tolist()
        assert [space["predict"](row) for row in as_rows(frame)] == one_way.tolist()
        assert by_json(model.to_json(), frame) == one_way.tolist()
    whole = complete(mixed_table(seed + 70, n=200)[0])
    np.testing.assert_array_equal(rules.predict(whole), model.predict(whole))
    assert in_sqlite(whole, model.to_sql("t")) == model.predict(whole).tolist()


def test_a_missing_cell_goes_down_all_branches_in_predict_and_in_rules_unless_told_otherwise():
    X = [["a"]] * 4 + [["b"]] * 3 + [["c"]] * 3
    y = [0] * 4 + [1] * 6
    model = C45Classifier().fit(X, y)
    assert model.predict([[None], ["never seen"]]).tolist() == [1, 1]
    assert model.to_rules().predict([[None], ["never seen"]]).tolist() == [1, 1]
    assert model.to_rules(missing="heaviest_branch").predict([[None], ["never seen"]]).tolist() == [0, 0]
    assert model.tree_.value[model.apply([[None]])].tolist() == [[1.0, 0.0]]


def test_rules_from_a_c45_tree_predict_what_it_predicts():
    X, y = mixed_table(1, n=200, missing=0.0)
    model = C45Classifier().fit(X, y)
    rules = RulesFromTree(estimator=C45Classifier(), prune=False).fit(X, y)
    np.testing.assert_array_equal(rules.predict(X), model.predict(X))


def test_view_and_drawing_show_every_branch():
    weather = load_dataset("weather").frame
    model = C45Classifier().fit(weather.drop("play"), weather["play"])
    view = model.view()
    json.dumps(view.to_dict())
    root = view["nodes"][0]
    assert root["test"] == "outlook"
    below = [view["nodes"][child]["condition"] for child in root["children"]]
    assert below == ["outlook = overcast", "outlook = rainy", "outlook = sunny"]
    drawing = model.to_svg()
    ElementTree.fromstring(drawing)
    assert all(word in drawing for word in ("outlook?", "humidity = high", "overcast"))


def test_nominal_columns_without_gain_count_in_the_average():
    """WEKA's J48 3.6.14 tests `fine` without the idle columns, and `rough`, then `fine`, with them."""
    k = np.arange(64)
    y = np.where(k < 32, "yes", "no")
    columns = {"fine": [f"f{one:02d}" for one in k // 4], "rough": np.where(k < 16, "a", "b").tolist()}
    idle = {f"idle{z}": [f"v{(one >> z) % 2}" for one in k.tolist()] for z in range(3)}
    alone = C45Classifier().fit(pd.DataFrame(columns), y)
    beside = C45Classifier(trace=True).fit(pd.DataFrame(columns | idle), y)
    assert [alone.tree_.feature[0], alone.get_n_leaves(), beside.tree_.feature[0]] == [0, 16, 1]
    offered = beside.trace_[0]["values"]["candidates"]
    assert set(offered) == {*columns, *idle} and offered["idle0"]["gain"] == pytest.approx(0, abs=1e-12)
