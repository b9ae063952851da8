"""Trees on gradients and hessians: the formulas of Chen & Guestrin, brute force, and boosting with them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from assay import _kernels
from assay.base import DataError, ParameterError
from assay.data.coded import CodedTable
from assay.data.columns import ColumnSchema
from assay.models.trees import CartRegressor
from assay.models.trees._engine import Tree, grow_second_order


def coded(cells: np.ndarray, n_categories: tuple[int, ...] | None = None, threads: int = 1) -> CodedTable:
    cells = np.ascontiguousarray(cells, dtype=np.float64)
    counts = n_categories or (0,) * cells.shape[1]
    categories = tuple(np.arange(k).astype(str) if k else None for k in counts)
    names = tuple(f"x{j}" for j in range(len(counts)))
    return CodedTable.of(cells, ColumnSchema(names, np.array(counts) > 0, categories), threads)


def grow(cells, gradients, hessians, n_categories=None, threads=1, **options) -> Tree:
    table = coded(cells, n_categories, threads)
    return grow_second_order(table, np.arange(len(cells)), gradients, hessians, threads=threads, **options)


def cost(g: np.ndarray, h: np.ndarray, l2: float, l1: float = 0.0) -> float:
    reach, scale = max(abs(g.sum()) - l1, 0.0), h.sum() + l2
    return -(reach**2) / (2 * scale) if scale > 0 else 0.0


def best_gain(cells, g, h, n_categories, l2, l1=0.0, min_child_weight=0.0) -> float:
    """The largest gain over every threshold, every set of categories, and both sides for missing cells."""
    best = -np.inf
    for j, count in enumerate(n_categories):
        column = cells[:, j]
        absent = np.isnan(column)
        seen = np.unique(column[~absent])
        if count:
            sets = [s for k in range(1, len(seen) + 1) for s in itertools.combinations(seen, k)]
            lefts = [np.isin(column, s) for s in sets]
        else:
            lefts = [column <= value for value in seen]
        for left, missing_left in itertools.product(lefts, (False, True)):
            side = left | (absent & missing_left)
            if side.all() or not side.any():
                continue
            if min(h[side].sum(), h[~side].sum()) < min_child_weight:
                continue
            if min(h[side].sum(), h[~side].sum()) + l2 <= 0:
                continue
            gain = cost(g, h, l2, l1) - cost(g[side], h[side], l2, l1) - cost(g[~side], h[~side], l2, l1)
            best = max(best, gain)
    return best


def rows_of_nodes(tree: Tree, cells: np.ndarray) -> list[np.ndarray]:
    leaves = tree.apply(np.ascontiguousarray(cells), 1)
    parents = tree.parents()
    members = [leaves == node for node in range(tree.node_count)]
    for node in range(tree.node_count - 1, 0, -1):
        members[parents[node]] = members[parents[node]] | members[node]
    return members


def mixed(seed: int, n: int = 14):
    rng = np.random.default_rng(seed)
    cells = np.column_stack([rng.integers(0, 5, n), rng.normal(size=n).round(1), rng.integers(0, 6, n)]).astype(float)
    cells[rng.random(cells.shape) < 0.15] = np.nan
    return cells, rng.normal(size=n), rng.uniform(0.05, 2, size=n), (0, 0, 6)


# -- formulas ---
def test_gain_and_values_are_those_computed_by_hand():
    """First step of logistic boosting, p = 1/2, lambda = 1, by equations 5 and 7 of Chen & Guestrin (2016).

    y = 1, 1, 0, 1 gives g = -1/2, -1/2, 1/2, -1/2 and h = 1/4. After two rows G_L = -1, G_R = 0, H_L = H_R = 1/2, so
    the gain is (1 / 1.5 + 0 / 1.5 - 1 / 2) / 2 = 1/12; the other two boundaries have (0.25 / 1.25 + 0.25 / 1.75 - 0.5)
    / 2 < 0. The values are -G / (H + 1): 2/3 and 0, and 1/2 at the root.
    """
    table = coded(np.array([[1.0], [2.0], [3.0], [4.0]]))
    grown = _kernels.grow_second_order(
        **table.chosen(np.arange(4)).arguments(),
        gradients=np.array([-0.5, -0.5, 0.5, -0.5]),
        hessians=np.full(4, 0.25),
        max_depth=1,
        min_leaf=1,
        min_child_weight=0.0,
        max_leaf_nodes=0,
        min_gain=0.0,
        l2=1.0,
        l1=0.0,
        trace=True,
        threads=1,
    )
    assert grown["threshold"][0] == 2.5
    assert grown["gains"][0, 0] == pytest.approx(1 / 12, abs=1e-15)
    np.testing.assert_allclose(grown["value"].ravel(), [1 / 2, 2 / 3, 0], atol=1e-15)
    np.testing.assert_allclose(grown["weight"], [1, 0.5, 0.5])
    np.testing.assert_allclose(grown["weight"] * grown["impurity"], [-1 / 4, -1 / 3, 0], atol=1e-15)


def test_min_gain_is_in_units_of_the_loss():
    cells, g, h = [[1.0], [2.0], [3.0], [4.0]], np.array([-0.5, -0.5, 0.5, -0.5]), np.full(4, 0.25)
    assert grow(cells, g, h, l2=1.0, min_gain=0.083, max_depth=1).n_leaves == 2
    assert grow(cells, g, h, l2=1.0, min_gain=0.084, max_depth=1).n_leaves == 1


def test_l1_shrinks_the_gradient():
    cells, g, h = [[1.0], [2.0], [3.0], [4.0]], np.array([-3.0, -3.0, 1.0, 1.0]), np.ones(4)
    tree = grow(cells, g, h, l1=1.5, max_depth=1)
    np.testing.assert_allclose(tree.value.ravel(), [(4 - 1.5) / 4, (6 - 1.5) / 2, -(2 - 1.5) / 2])
    assert grow(cells, g, h, l1=7.0).value.ravel().tolist() == [0.0]


# -- brute force ---
@pytest.mark.parametrize(("l2", "l1"), [(0.0, 0.0), (1.0, 0.0), (5.0, 0.0), (0.5, 0.4)])
@pytest.mark.parametrize("seed", range(6))
def test_every_split_is_the_best_of_all(seed, l2, l1):
    cells, g, h, counts = mixed(seed)
    tree = grow(cells, g, h, counts, l2=l2, l1=l1, max_depth=3)
    depths = tree.depths()
    for node, rows in enumerate(rows_of_nodes(tree, cells)):
        assert rows.sum() == tree.n_node_samples[node]
        total = g[rows].sum()
        value = -np.sign(total) * max(abs(total) - l1, 0) / (h[rows].sum() + l2)
        assert tree.value[node, 0] == pytest.approx(value, abs=1e-12)
        best = best_gain(cells[rows], g[rows], h[rows], counts, l2, l1)
        if tree.feature[node] >= 0:
            masses = (tree.weighted_n_node_samples * tree.impurity)[[node, *tree.children(node)]]
            assert masses[0] - masses[1] - masses[2] == pytest.approx(best, abs=1e-12)
        elif depths[node] < 3:
            assert best <= 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_no_part_has_less_hessian_than_min_child_weight(seed):
    cells, g, h, _ = mixed(seed, n=20)
    cells = cells[:, :2]
    tree = grow(cells, g, h, l2=0.5, min_child_weight=3.0, max_depth=2)
    assert tree.weighted_n_node_samples.min() >= 3 and tree.node_count > 1
    for node, rows in enumerate(rows_of_nodes(tree, cells)):
        best = best_gain(cells[rows], g[rows], h[rows], (0, 0), 0.5, min_child_weight=3.0)
        if tree.feature[node] >= 0:
            masses = (tree.weighted_n_node_samples * tree.impurity)[[node, *tree.children(node)]]
            assert masses[0] - masses[1] - masses[2] == pytest.approx(best, abs=1e-12)


def test_categories_are_ordered_by_the_unpenalised_step():
    """The best set is a prefix by G / H for every lambda; by G / (H + lambda) it need not be."""
    rng = np.random.default_rng(0)
    differ = 0
    for _ in range(60):
        g, h, l2 = rng.normal(size=5) * 3, rng.exponential(size=5) + 0.01, 2.0
        cells = np.arange(5.0)[:, None]
        tree = grow(cells, g, h, (5,), l2=l2, max_depth=1)
        best = best_gain(cells, g, h, (5,), l2)
        mass = tree.weighted_n_node_samples * tree.impurity
        found = mass[0] - mass[1:].sum() if tree.node_count > 1 else 0.0
        assert found == pytest.approx(max(best, 0), abs=1e-12)
        order = np.argsort(g / (h + l2))
        prefixes = [(order[:k], order[k:]) for k in range(1, 5)]
        other = max(cost(g, h, l2) - cost(g[a], h[a], l2) - cost(g[b], h[b], l2) for a, b in prefixes)
        differ += other < found - 1e-9
    assert differ > 0


# -- squared error ---
@pytest.mark.parametrize("options", [{}, {"max_depth": 4}, {"max_leaf_nodes": 9}, {"min_samples_leaf": 6}])
def test_residuals_with_unit_hessians_give_the_squared_error_tree(options):
    rng = np.random.default_rng(3)
    cells = np.column_stack([rng.normal(size=(200, 3)), rng.integers(0, 7, 200)])
    cells[rng.random(cells.shape) < 0.1] = np.nan
    y = np.nan_to_num(cells[:, 0]) + np.where(cells[:, 3] > 3, 2.0, 0.0) + rng.normal(size=200)
    cart = CartRegressor(categorical_features=[3], **options).fit(cells, y).tree_
    tree = grow(cells, -y, np.ones(200), (0, 0, 0, 7), **options)
    np.testing.assert_array_equal(tree.feature, cart.feature)
    np.testing.assert_array_equal(tree.threshold, cart.threshold)
    np.testing.assert_array_equal(tree.category_words, cart.category_words)
    np.testing.assert_array_equal(tree.missing_go_to_left, cart.missing_go_to_left)
    np.testing.assert_allclose(tree.value, cart.value, rtol=1e-13, atol=1e-13)


# -- boosting ---
def brute_tree(cells, order, g, h, rows, depth, l2):
    """Predictions for `rows` (a mask) of a tree of this depth, by sorted columns and running sums in NumPy."""
    total_g, total_h = g[rows].sum(), h[rows].sum()
    prediction = np.where(rows, -total_g / (total_h + l2), 0.0)
    if depth == 0 or rows.sum() < 2:
        return prediction
    best, test = 1e-12, None
    for j in range(cells.shape[1]):
        sorted_rows = order[j][rows[order[j]]]
        x = cells[sorted_rows, j]
        left_g, left_h = np.cumsum(g[sorted_rows])[:-1], np.cumsum(h[sorted_rows])[:-1]
        right_g, right_h = total_g - left_g, total_h - left_h
        gains = 0.5 * (left_g**2 / (left_h + l2) + right_g**2 / (right_h + l2) - total_g**2 / (total_h + l2))
        gains[x[1:] == x[:-1]] = -np.inf
        at = int(gains.argmax())
        if gains[at] > best:
            best, test = gains[at], (j, x[at])
    if test is None:
        return prediction
    left = rows & (cells[:, test[0]] <= test[1])
    parts = [brute_tree(cells, order, g, h, side, depth - 1, l2) for side in (left, rows & ~left)]
    return parts[0] + parts[1]


def test_newton_boosting_reaches_the_loss_of_plain_numpy():
    """Twenty Newton steps of depth 2 on the breast cancer table of scikit-learn, beside the same loop in NumPy."""
    cells, y = load_breast_cancer(return_X_y=True)
    order = np.argsort(cells, axis=0, kind="stable").T
    table, everyone = coded(cells), np.ones(y.shape[0], dtype=bool)

    def boost(step):
        score, losses = np.zeros(y.shape[0]), []
        for _ in range(20):
            p = 1 / (1 + np.exp(-score))
            score = score + 0.3 * step(p - y, p * (1 - p))
            losses.append(np.mean(np.logaddexp(0, score) - y * score))
        return losses

    def kernel(g, h):
        tree = grow_second_order(table, np.arange(y.shape[0]), g, h, max_depth=2, l2=1.0)
        return tree.value[tree.apply(cells, 1), 0]

    ours = boost(kernel)
    plain = boost(lambda g, h: brute_tree(cells, order, g, h, everyone, 2, 1.0))
    np.testing.assert_allclose(ours, plain, rtol=1e-9)
    assert ours[-1] < 0.06 and all(np.diff(ours) < 0)


# -- order, threads ---
def same(a: Tree, b: Tree) -> bool:
    return all(np.array_equal(vars(a)[name], vars(b)[name]) for name in vars(a))


def large(n=6000):
    rng = np.random.default_rng(5)
    cells = np.column_stack([rng.normal(size=(n, 4)).round(1), rng.integers(0, 20, n)])
    cells[rng.random(cells.shape) < 0.05] = np.nan
    p = 1 / (1 + np.exp(-np.nan_to_num(cells[:, 0]) - rng.normal(size=n)))
    return cells, p - (rng.random(n) < p), p * (1 - p), (0, 0, 0, 0, 20)


@pytest.mark.parametrize("options", [{"max_depth": 6}, {"max_leaf_nodes": 20}, {"min_child_weight": 2.0}])
def test_order_of_rows_and_threads_do_not_change_a_bit(options):
    cells, g, h, counts = large()
    first = grow(cells, g, h, counts, l2=0.3, **options)
    assert first.n_leaves >= 20
    assert same(first, grow(cells, g, h, counts, l2=0.3, threads=3, **options))
    table = coded(cells, counts)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(cells))
        assert same(first, grow_second_order(table, order, g[order], h[order], l2=0.3, **options))


def test_values_are_sums_to_the_last_place_beside_a_huge_gradient():
    n = 1000
    g = np.random.default_rng(0).normal(size=n)
    g[-1] = 1e12
    tree = grow(np.arange(n * 1.0)[:, None], g, np.ones(n), max_depth=1)
    assert tree.value[2, 0] == -1e12
    assert tree.value[1, 0] == pytest.approx(-g[:-1].mean(), rel=1e-12)


# -- limits and options ---
def test_rows_without_hessian_never_stand_alone_without_penalty():
    cells = np.arange(6.0)[:, None]
    g, h = np.array([5.0, -5.0, 1.0, 1.0, -4.0, 3.0]), np.array([0.0, 0.0, 1.0, 1.0, 1.0, 0.0])
    tree = grow(cells, g, h)
    assert (tree.weighted_n_node_samples > 0).all() and np.isfinite(tree.value).all() and tree.n_leaves > 1
    categories = grow(cells, g, h, (6,))
    assert (categories.weighted_n_node_samples > 0).all() and np.isfinite(categories.value).all()
    flat = grow(cells, g, np.zeros(6))
    assert flat.n_leaves == 1 and flat.value[0, 0] == 0
    assert grow(cells, g, np.zeros(6), l2=1.0).n_leaves > 1


def test_a_split_must_gain_something():
    cells, g = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], np.array([1.0, -1.0, -1.0, 1.0])
    assert grow(cells, g, np.ones(4)).n_leaves == 1


def test_equal_steps_are_not_split():
    h = np.array([1.0, 2.0, 0.5, 4.0])
    assert grow(np.arange(4.0)[:, None], 3 * h, h, l2=1.0).n_leaves == 1


def test_size_limits_are_kept():
    cells, g, h, counts = large(800)
    assert grow(cells, g, h, counts, max_leaf_nodes=7).n_leaves == 7
    assert grow(cells, g, h, counts, max_depth=3).depths().max() == 3
    assert grow(cells, g, h, counts, min_samples_leaf=25).n_node_samples.min() >= 25
    assert abs(grow(cells, g, h, counts, l2=1e6, max_depth=2).value).max() < 1e-3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gradients": np.array([1.0, np.nan])}, "gradients"),
        ({"gradients": np.ones(3)}, "gradients"),
        ({"hessians": np.array([1.0, -1.0])}, "hessians"),
    ],
)
def test_bad_derivatives_are_refused(change, said):
    arrays = {"gradients": np.ones(2), "hessians": np.ones(2)} | change
    with pytest.raises(DataError, match=said):
        grow(np.array([[1.0], [2.0]]), **arrays)


@pytest.mark.parametrize("name", ["l2", "l1", "min_gain", "min_child_weight"])
def test_negative_options_are_refused(name):
    with pytest.raises(ParameterError, match=name):
        grow(np.array([[1.0], [2.0]]), np.ones(2), np.ones(2), **{name: -1.0})
