"""Subtree raising: an example by hand, a plain recursive version, and what must hold with missing cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from assay.data.coded import CodedTable
from assay.models.trees import C45Classifier, pessimistic_errors
from assay.models.trees.raising import raised

LOOSE = {"min_samples_leaf": 1, "large_branches": False}
"""Options under which trees grow large enough to have something to raise."""


def cases() -> tuple[pd.DataFrame, list[str]]:
    """Ten of a = p (three with b = u, of which one is 'no'), six of a = q (all with b = u, of which one is 'yes')."""
    a, b = ["p"] * 10 + ["q"] * 6, ["u"] * 3 + ["v"] * 7 + ["u"] * 6
    return pd.DataFrame({"a": a, "b": b}), ["no"] + ["yes"] * 9 + ["no"] * 5 + ["yes"]


def noisy(seed: int, n: int = 150, missing: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(1),
            "z": rng.normal(size=n).round(1),
            "u": rng.choice(list("abc"), n),
            "v": rng.choice(list("abcd"), n),
        }
    )
    y = np.where(rng.random(n) < 0.25, rng.integers(0, 3, n), (X.x > 0) + ((X.u == "a") & (X.v == "b")))
    return (X.mask(rng.random(X.shape) < missing) if missing else X), y


def expected_errors(tree) -> float:
    leaf = tree.feature < 0
    weight = tree.weighted_n_node_samples[leaf]
    return float(pessimistic_errors(weight, weight * (1 - tree.value[leaf].max(axis=1))).sum())


def count_raised(model: C45Classifier) -> int:
    return model.trace_[-1]["values"]["raised"]


def test_a_test_goes_where_its_heaviest_branch_errs_less():
    """By hand: the tree expects U(3, 1) + U(6, 1) + U(7, 0) errors, with the test on b gone U(10, 1) + U(6, 1)."""
    X, y = cases()
    kept = C45Classifier().fit(X, y)
    assert kept.to_text().splitlines() == [
        "b = u",
        "|   a = p: yes (3 rows, 67%)",
        "|   a = q: no (6 rows, 83%)",
        "b = v: yes (7 rows, 100%)",
    ]
    model = C45Classifier(subtree_raising=True, trace=True).fit(X, y)
    assert model.to_text().splitlines() == ["a = p: yes (10 rows, 90%)", "a = q: no (6 rows, 83%)"]
    assert count_raised(model) == 1
    before = pessimistic_errors([3, 6, 7], [1, 1, 0]).sum()
    after = pessimistic_errors([10, 6], [1, 1]).sum()
    assert expected_errors(kept.tree_) == pytest.approx(before)
    assert expected_errors(model.tree_) == pytest.approx(after)
    assert after < before


# -- a plain version, for tables without missing cells ---
def plain_tree(tree, table, rows, node):
    """Nested nodes: {'rows', 'send', 'children'}; `send` gives the branch of a row."""
    here = {"rows": rows, "children": [], "send": None}
    if tree.feature[node] < 0:
        return here
    column, children = int(tree.feature[node]), tree.children(node)
    cells = table.cells[:, column]
    if tree.is_multiway(node):
        targets = tree.branch_children(node).tolist()
        here["send"] = lambda row: children.index(targets[int(cells[row])])
    else:
        threshold = tree.threshold[node]
        here["send"] = lambda row: int(cells[row] > threshold)
    for number, child in enumerate(children):
        part = [row for row in rows if here["send"](row) == number]
        here["children"].append(plain_tree(tree, table, part, child))
    return here


def leaf_errors(y, rows):
    counts = np.bincount(y[rows]) if rows else np.zeros(1)
    return float(pessimistic_errors(len(rows), len(rows) - counts.max())[0])


def errors_of(node, y, rows):
    if not node["children"]:
        return leaf_errors(y, rows)
    branches = [node["send"](row) for row in rows]
    parts = [[row for row, b in zip(rows, branches, strict=True) if b == k] for k in range(len(node["children"]))]
    return sum(errors_of(child, y, part) for child, part in zip(node["children"], parts, strict=True))


def fill(node, rows):
    node["rows"] = rows
    for number, child in enumerate(node["children"]):
        fill(child, [row for row in rows if node["send"](row) == number])


def plain_raise(node, y):
    for child in node["children"]:
        plain_raise(child, y)
    while node["children"]:
        rows = node["rows"]
        heaviest = max(node["children"], key=lambda child: len(child["rows"]))
        leaf, tree, branch = leaf_errors(y, rows), errors_of(node, y, rows), errors_of(heaviest, y, rows)
        if leaf <= tree + 0.1 and leaf <= branch + 0.1:
            node["children"] = []
        elif branch <= tree + 0.1:
            node["children"], node["send"] = heaviest["children"], heaviest["send"]
            fill(node, rows)
            for child in node["children"]:
                plain_raise(child, y)
        else:
            return


def sizes_in_preorder(node):
    return [len(node["rows"]), *(size for child in node["children"] for size in sizes_in_preorder(child))]


def test_the_tree_is_that_of_the_plain_recursion():
    changed = 0
    for seed in range(12):
        X, y = noisy(seed)
        model = C45Classifier(subtree_raising=True, trace=True, **LOOSE).fit(X, y)
        grown = C45Classifier(prune=False, **LOOSE).fit(X, y)
        table = CodedTable.of(grown._read(X, reset=False), grown.schema_, threads=1)
        plain = plain_tree(grown.tree_, table, list(range(len(y))), 0)
        plain_raise(plain, y)
        assert model.tree_.n_node_samples.tolist() == sizes_in_preorder(plain)
        changed += count_raised(model)
    assert changed >= 5


# -- what must hold ---
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("criterion", ["gain_ratio", "gini"])
def test_nodes_hold_what_their_rows_say(missing, criterion):
    """Shares, sizes, impurities, heaviest branches: as a tree has them whose rows took these tests from the start."""
    some = 0
    for seed in range(6):
        X, y = noisy(seed, missing=missing)
        model = C45Classifier(
            subtree_raising=True, criterion=criterion, confidence_factor=0.5, trace=True, **LOOSE
        ).fit(X, y)
        tree, some = model.tree_, some + count_raised(model)
        counts = tree.value * tree.weighted_n_node_samples[:, None]
        assert tree.weighted_n_node_samples[0] == len(y)
        for node in range(tree.node_count):
            p = tree.value[node][tree.value[node] > 0]
            impurity = 1 - (p**2).sum() if criterion == "gini" else -(p * np.log2(p)).sum()
            assert tree.impurity[node] == pytest.approx(impurity, abs=1e-12)
            children = tree.children(node)
            if not children:
                continue
            np.testing.assert_allclose(counts[children].sum(axis=0), counts[node], atol=1e-9)
            weight = tree.weighted_n_node_samples[children]
            chosen = tree.branch_children(node)[-1] if tree.is_multiway(node) else None
            if chosen is None:
                chosen = children[0] if tree.missing_go_to_left[node] else children[1]
            assert tree.weighted_n_node_samples[chosen] == pytest.approx(weight.max(), abs=1e-9)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert some > 0


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_expected_errors_never_rise_without_slack(missing):
    lower = 0
    for seed in range(10):
        X, y = noisy(seed, missing=missing)
        grown = C45Classifier(prune=False, **LOOSE).fit(X, y)
        table = CodedTable.of(grown._read(X, reset=False), grown.schema_, threads=1)
        tree, count = raised(grown.tree_, table, np.arange(len(y)), y, slack=0.0)
        assert expected_errors(tree) <= expected_errors(grown.tree_) + 1e-9
        assert tree.n_leaves <= grown.tree_.n_leaves
        lower += count
    assert lower > 0


def test_without_a_raise_it_is_pessimistic_pruning():
    for seed in range(30):
        X, y = noisy(seed, n=60)
        model = C45Classifier(subtree_raising=True, trace=True, **LOOSE).fit(X, y)
        if count_raised(model) == 0:
            plain = C45Classifier(**LOOSE).fit(X, y).tree_
            for name in vars(plain):
                np.testing.assert_array_equal(getattr(model.tree_, name), getattr(plain, name))


def test_whole_weights_are_repetitions():
    X, y = noisy(4, missing=0.15)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    model = C45Classifier(subtree_raising=True, **LOOSE)
    one = clone(model).fit(X, y, sample_weight=weights)
    two = clone(model).fit(X.iloc[np.repeat(np.arange(len(y)), weights)], np.repeat(y, weights))
    np.testing.assert_array_equal(one.tree_.feature, two.tree_.feature)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-12)


def test_folds_are_separate_fits():
    X, y = noisy(4, missing=0.15)
    folds = [(np.arange(0, 100), np.arange(100, 150)), (np.arange(50, 150), np.arange(50))]
    start = C45Classifier(subtree_raising=True, **LOOSE)
    for (train, test), model in zip(folds, start.fit_folds(X, y, folds), strict=True):
        alone = clone(start).fit(X.iloc[train], y[train])
        np.testing.assert_array_equal(model.predict_proba(X.iloc[test]), alone.predict_proba(X.iloc[test]))


@pytest.mark.parametrize("seed", [133, 208, 472])
def test_categories_that_come_by_raising_get_leaves_of_their_own(seed):
    """A test deep in the tree sees few categories; raised, it gets rows of others, one leaf for each of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 100)
    X = pd.DataFrame()
    for j in range(5):
        typical = rng.integers(0, 6, 4)[y]
        X[f"c{j}"] = [f"v{k}" for k in np.where(rng.random(100) < 0.75, typical, rng.integers(0, 6, 100))]
    model = C45Classifier(subtree_raising=True, trace=True, large_branches=False).fit(X, y)
    assert count_raised(model) > 0
    for node in np.flatnonzero(model.tree_.feature >= 0).tolist():
        child, count = np.unique(model.tree_.branch_children(node)[:-1], return_counts=True)
        assert (model.tree_.weighted_n_node_samples[child[count > 1]] == 0).all()
