"""CART against the trees that R's rpart grows, without surrogates.

Recorded in trees.json beside this file, which says how. rpart prunes classification trees by their errors
and CART here, as scikit-learn, by impurity; so these are compared unpruned, and regression trees also pruned.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn import datasets

from assay.models.trees import CartClassifier, CartRegressor

CASES = json.loads((Path(__file__).parent / "trees.json").read_text())["cases"]


def shops() -> pl.DataFrame:
    """A nominal column of 26 levels, one of 5, and a number; a price, a yes-or-no and a grade that follow from them."""
    k = np.arange(300)
    town, shop, size = (k * 7919 + k * k * 31) % 26, (k * 104729 + k * 17) % 5, ((k * 7907) % 997) / 10
    total = ((town * 37) % 11) + 2 * (shop == 3) + size / 40 + ((k * 6151) % 89) / 30
    return pl.DataFrame(
        {
            "town": [f"t{one:02d}" for one in town],
            "shop": [f"s{one}" for one in shop],
            "size": size,
            "price": total.round(3),
            "sells": (total > np.median(total)).astype(int),
            "grade": np.digitize(total, [5, 8, 11]),
            "weight": 0.5 + (k * 13) % 4,
        }
    )


def table(case: str) -> tuple[pl.DataFrame, np.ndarray, np.ndarray | None]:
    name, *words = case.split()
    if name != "shops":
        data = datasets.load_diabetes(scaled=False) if name == "diabetes" else getattr(datasets, f"load_{name}")()
        return pl.DataFrame({f"x{j}": column for j, column in enumerate(data.data.T)}), data.target, None
    frame = shops()
    columns = ["shop", "size"] if words[0] == "grade" else ["town", "shop", "size"]
    return (
        frame.select(columns),
        frame[words[0]].to_numpy(),
        frame["weight"].to_numpy() if "weighted" in words else None,
    )


def fitted(case: str):
    X, y, weights = table(case)
    rows = {"min_samples_split": 20, "min_samples_leaf": 7}
    if "anova" not in case and "price" not in case:
        criterion = "entropy" if "information" in case else "gini"
        return CartClassifier(criterion=criterion, **rows).fit(X, y, sample_weight=weights), X
    model = CartRegressor(**rows).fit(X, y, sample_weight=weights)
    if "price" in case or "cp0.01" in case:
        alpha = 0.01 * float(model.tree_.impurity[0])
        model = CartRegressor(ccp_alpha=alpha, **rows).fit(X, y, sample_weight=weights)
    return model, X


def leaf_of_each_row(nodes: list, X: pl.DataFrame) -> list[int]:
    at, cells = {node[0]: node for node in nodes}, {name: X[name].to_list() for name in X.columns}
    found = []
    for row in range(X.height):
        number = 1
        while (test := at[number][2]) is not None:
            cell = cells[at[number][1]][row]
            left = cell in test if isinstance(test[0], str) else (cell < test[1]) == (test[0] < 0)
            number = 2 * number + (not left)
        found.append(number)
    return found


@pytest.mark.parametrize("case", CASES)
def test_cart_grows_the_tree_of_rpart(case):
    """The same leaves with the same rows, weight, deviance and class weights or mean, and the same thresholds."""
    nodes = CASES[case]["nodes"]
    model, X = fitted(case)
    tree = model.tree_
    pairs = set(zip(leaf_of_each_row(nodes, X), model.apply(X).tolist(), strict=True))
    assert len(pairs) == tree.n_leaves == sum(node[2] is None for node in nodes)
    at = {node[0]: node for node in nodes}
    for number, leaf in pairs:
        *_, rows, weight, deviance, value = at[number]
        mass = float(tree.weighted_n_node_samples[leaf])
        assert (int(tree.n_node_samples[leaf]), mass) == (rows, pytest.approx(weight))
        if isinstance(model, CartRegressor):
            assert float(tree.value[leaf, 0]) == pytest.approx(value[0])
            assert mass * float(tree.impurity[leaf]) == pytest.approx(deviance, abs=1e-6)
        else:
            np.testing.assert_allclose(mass * tree.value[leaf], value, atol=1e-6)
            assert mass * float(1 - tree.value[leaf].max()) == pytest.approx(deviance, abs=1e-6)
    numeric = (tree.feature >= 0) & (tree.category_offset < 0)
    ours = sorted(zip([model.schema_.names[j] for j in tree.feature[numeric]], tree.threshold[numeric].tolist()))
    theirs = sorted((node[1], node[2][1]) for node in nodes if node[2] and not isinstance(node[2][0], str))
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    np.testing.assert_allclose([cut for _, cut in ours], [cut for _, cut in theirs], rtol=1e-6)


@pytest.mark.parametrize("case", ["diabetes anova", "diabetes anova cp0.01"])
def test_pruning_path_is_the_cp_table_of_rpart(case):
    """rpart's cp is the price of a leaf as a share of the deviance of the root."""
    X, y, _ = table(case)
    model = CartRegressor(min_samples_split=20, min_samples_leaf=7)
    path = model.cost_complexity_pruning_path(X, y)
    root = float(path.impurities[-1])
    alphas, errors = path.ccp_alphas[::-1] / root, path.impurities[::-1] / root
    theirs = np.array([row for row in CASES[case]["cp"] if row[0] > 0.01])
    assert theirs.shape[0] >= 5
    np.testing.assert_allclose(alphas[: theirs.shape[0]], theirs[:, 0], rtol=1e-6)
    np.testing.assert_allclose(errors[: theirs.shape[0]], theirs[:, 2], rtol=1e-6)
