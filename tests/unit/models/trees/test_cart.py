"""CART: structure against scikit-learn, optimality against enumeration, and every parameter."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from assay import _kernels
from assay.base import DataError, ParameterError
from assay.models.trees import CartClassifier, CartRegressor

CLASS_CRITERIA = ("gini", "entropy", "misclassification")
NUMBER_CRITERIA = ("squared_error", "absolute_error", "worst_case")


def distinct(n, d, seed=0):
    """Columns of distinct values that single precision holds exactly, as scikit-learn compares in single precision."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.permutation(n) for _ in range(d)]) / 64.0 + 3.0


def noisy_classes(X, k, seed=1):
    rng = np.random.default_rng(seed)
    score = X[:, 0] - X[:, 1] + 0.3 * X.std() * rng.normal(size=len(X))
    return np.digitize(score, np.quantile(score, np.arange(1, k) / k))


def same_tree(ours, theirs):
    t = theirs.tree_
    np.testing.assert_array_equal(ours.children_left, t.children_left)
    np.testing.assert_array_equal(ours.children_right, t.children_right)
    inner = ours.feature >= 0
    np.testing.assert_array_equal(ours.feature[inner], t.feature[inner])
    np.testing.assert_array_equal(ours.threshold[inner], t.threshold[inner])
    np.testing.assert_allclose(ours.impurity, t.impurity, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.n_node_samples, t.n_node_samples)
    np.testing.assert_allclose(ours.weighted_n_node_samples, t.weighted_n_node_samples)
    np.testing.assert_allclose(ours.value, t.value[:, 0, :] if t.value.shape[1] == 1 else t.value[:, :, 0], rtol=1e-9)


# -- against scikit-learn ---
@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.parametrize("k", [2, 4])
def test_classifier_grows_the_tree_of_scikit_learn(criterion, k):
    """Same nodes as DecisionTreeClassifier. Random weights keep splits from tying, which scikit-learn breaks at random;
    multiples of 1/64 add up exactly, or scikit-learn would split pure nodes whose impurity is not quite 0."""
    X = distinct(700, 6)
    y = noisy_classes(X, k)
    weights = np.random.default_rng(2).integers(1, 1000, len(y)) / 64
    parameters = {"criterion": criterion, "min_samples_leaf": 5, "max_depth": 7}
    ours = CartClassifier(**parameters).fit(X, y, sample_weight=weights)
    theirs = DecisionTreeClassifier(**parameters, random_state=0).fit(X, y, sample_weight=weights)
    same_tree(ours.tree_, theirs)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))


@pytest.mark.parametrize(("criterion", "leaf", "depth"), [("squared_error", 4, 6), ("absolute_error", 25, 3)])
def test_regressor_grows_the_tree_of_scikit_learn(criterion, leaf, depth):
    """Same nodes as DecisionTreeRegressor on distinct values; in small nodes sums of deviations tie."""
    X = distinct(500, 5)
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1] + np.random.default_rng(3).normal(size=len(X))
    parameters = {"criterion": criterion, "min_samples_leaf": leaf, "max_depth": depth}
    ours = CartRegressor(**parameters).fit(X, y)
    theirs = DecisionTreeRegressor(**parameters, random_state=0).fit(X, y)
    same_tree(ours.tree_, theirs)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("turned", [False, True])
def test_columns_with_and_without_repeated_values_stand_side_by_side(turned):
    """Same nodes as scikit-learn where some columns hold every value once and others few values often."""
    X = distinct(400, 4)
    X[:, [1, 3]] = np.floor(X[:, [1, 3]])
    X = X[:, ::-1] if turned else X
    y = np.sin(X[:, 0]) + X[:, 1] - X[:, 2] + np.random.default_rng(9).normal(size=400)
    weights = np.random.default_rng(2).integers(1, 1000, 400) / 64
    for ours, theirs, target in (
        (CartRegressor, DecisionTreeRegressor, y),
        (CartClassifier, DecisionTreeClassifier, (y > np.median(y)).astype(int)),
    ):
        parameters = {"min_samples_leaf": 6, "max_depth": 6}
        tree = ours(**parameters).fit(X, target, sample_weight=weights)
        same_tree(tree.tree_, theirs(**parameters, random_state=0).fit(X, target, sample_weight=weights))
        assert set(tree.tree_.feature[tree.tree_.feature >= 0]) >= {0, 1}  # of both kinds


def test_several_outputs_grow_the_tree_of_scikit_learn():
    """Same nodes as DecisionTreeRegressor with a target of two columns."""
    X = distinct(400, 4)
    rng = np.random.default_rng(4)
    Y = np.column_stack([X[:, 0] + rng.normal(size=400), X[:, 1] ** 2 + rng.normal(size=400)])
    ours = CartRegressor(min_samples_leaf=6).fit(X, Y)
    theirs = DecisionTreeRegressor(min_samples_leaf=6, random_state=0).fit(X, Y)
    same_tree(ours.tree_, theirs)
    assert ours.predict(X).shape == Y.shape


def test_missing_cells_go_where_scikit_learn_sends_them():
    """Same nodes and directions as scikit-learn's trees, which try missing cells on both sides."""
    X = distinct(600, 4)
    y = X[:, 0] + np.random.default_rng(5).normal(size=600)
    X[np.random.default_rng(6).random(X.shape) < 0.15] = np.nan
    ours = CartRegressor(min_samples_leaf=8, max_depth=5).fit(X, y)
    theirs = DecisionTreeRegressor(min_samples_leaf=8, max_depth=5, random_state=0).fit(X, y)
    inner = ours.tree_.feature >= 0
    np.testing.assert_array_equal(ours.tree_.feature[inner], theirs.tree_.feature[inner])
    np.testing.assert_array_equal(ours.tree_.children_right, theirs.tree_.children_right)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.tree_.missing_go_to_left[inner], theirs.tree_.missing_go_to_left[inner])


@pytest.mark.parametrize("leaves", [2, 5, 17])
def test_best_first_growth_takes_the_leaves_of_scikit_learn(leaves):
    """With max_leaf_nodes the same predictions as scikit-learn (its nodes are numbered in another order)."""
    X = distinct(500, 5)
    y = np.cos(X[:, 0]) + np.random.default_rng(7).normal(size=500)
    ours = CartRegressor(max_leaf_nodes=leaves).fit(X, y)
    theirs = DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=0).fit(X, y)
    assert ours.get_n_leaves() == leaves
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


def test_pruning_path_and_pruned_trees_are_those_of_scikit_learn():
    """Same effective alphas and impurities, and the same tree at every tenth alpha."""
    X = distinct(400, 5)
    y = X[:, 0] + np.random.default_rng(8).normal(size=400)
    ours = CartRegressor(min_samples_leaf=3).cost_complexity_pruning_path(X, y)
    theirs = DecisionTreeRegressor(min_samples_leaf=3, random_state=0).cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(ours.ccp_alphas, theirs.ccp_alphas, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.impurities, theirs.impurities, rtol=1e-8)
    for low, high in itertools.islice(itertools.pairwise(theirs.ccp_alphas), 5, None, 10):
        alpha = (low + high) / 2
        a = CartRegressor(min_samples_leaf=3, ccp_alpha=alpha).fit(X, y)
        b = DecisionTreeRegressor(min_samples_leaf=3, ccp_alpha=alpha, random_state=0).fit(X, y)
        same_tree(a.tree_, b)


def test_float32_gives_the_tree_of_the_same_numbers_in_float64():
    X, y = distinct(200, 3), noisy_classes(distinct(200, 3), 2)
    a, b = CartClassifier().fit(X, y), CartClassifier().fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)


# -- against enumeration ---
def part_cost(y, criterion, k):
    """Impurity of a set of targets, from its definition."""
    if criterion in CLASS_CRITERIA:
        p = np.bincount(y, minlength=k) / len(y)
        if criterion == "gini":
            return 1 - (p**2).sum()
        return 1 - p.max() if criterion == "misclassification" else -(p[p > 0] * np.log2(p[p > 0])).sum()
    if criterion == "squared_error":
        return y.var()
    return np.abs(y - np.median(y)).mean() if criterion == "absolute_error" else (y.max() - y.min()) / 2


def split_cost(left, y, criterion, k):
    if left.all() or not left.any():
        return np.inf
    a, b = part_cost(y[left], criterion, k), part_cost(y[~left], criterion, k)
    return max(a, b) if criterion == "worst_case" else (left.sum() * a + (~left).sum() * b) / len(y)


def root_cost(model, X, y, criterion, k=0):
    left = model.apply(X) == 1
    return split_cost(left, y, criterion, k)


@pytest.mark.parametrize("criterion", CLASS_CRITERIA + NUMBER_CRITERIA)
@pytest.mark.parametrize("seed", range(4))
def test_root_split_is_the_best_of_all_thresholds_and_sides_for_missing(criterion, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, size=(40, 3)).astype(float)
    X[rng.random(X.shape) < 0.2 * (seed % 2)] = np.nan
    classify = criterion in CLASS_CRITERIA
    y = rng.integers(0, 3, 40) if classify else rng.normal(size=40)
    best = np.inf
    for column in X.T:
        for cut, missing_left in itertools.product([*np.unique(column[~np.isnan(column)]), np.inf], (False, True)):
            left = np.where(np.isnan(column), missing_left, column <= cut)
            best = min(best, split_cost(left.astype(bool), y, criterion, 3))
    model = (CartClassifier if classify else CartRegressor)(criterion=criterion, max_depth=1).fit(X, y)
    assert root_cost(model, X, y, criterion, 3) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(("criterion", "k"), [*itertools.product(CLASS_CRITERIA, (2, 4)), ("squared_error", 0)])
@pytest.mark.parametrize("missing", [False, True])
def test_nominal_split_is_the_best_of_all_sets_of_categories(criterion, k, missing):
    rng = np.random.default_rng(k + missing)
    colours = rng.integers(0, 7, 60)
    X = pd.DataFrame({"colour": pd.Series([f"c{c}" for c in colours], dtype=object)})
    if missing:
        X.loc[::7, "colour"] = None
    y = (colours + rng.integers(0, 4, 60)) % k if k else rng.normal(size=60) + colours % 3
    cells = [None if v is None or v != v else v for v in X["colour"]]
    names, best = sorted({c for c in cells if c}), np.inf
    for bits in itertools.product((False, True), repeat=len(names) + missing):
        goes = dict(zip([*names, None] if missing else names, bits))
        best = min(best, split_cost(np.array([goes[c] for c in cells]), y, criterion, k))
    model = (CartClassifier if k else CartRegressor)(criterion=criterion, max_depth=1).fit(X, y)
    assert root_cost(model, X, y, criterion, k) == pytest.approx(best, abs=1e-12)


def test_many_categories_and_classes_still_find_a_perfect_split():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 1000, 3000)
    X = pd.DataFrame({"place": pd.Series([f"p{c:03d}" for c in codes], dtype=object), "noise": rng.normal(size=3000)})
    half = codes % 2
    model = CartClassifier(max_depth=1).fit(X, half)
    assert model.score(X, half) == 1.0
    three = np.array(["low", "mid", "top"])[(codes * 7919) % 3]
    assert CartClassifier(max_depth=2).fit(X, three).score(X, three) == 1.0
    assert "more" in model.to_text()


def test_categories_away_from_a_node_and_unknown_ones_follow_missing_cells():
    X = pd.DataFrame({"a": ["u"] * 6 + ["v"] * 4, "b": ["p", "q"] * 3 + ["r"] * 4})
    y = [0, 1, 0, 1, 0, 1, 2, 2, 2, 2]
    model = CartClassifier().fit(X, y)
    new = pd.DataFrame({"a": ["u", "u", "u"], "b": ["r", "unknown", None]})
    leaves = model.apply(new)
    assert leaves[0] == leaves[1] == leaves[2]


# -- odd tables ---
def test_exclusive_or_needs_two_levels():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, dtype=float)
    y = X[:, 0].astype(int) ^ X[:, 1].astype(int)
    assert CartClassifier(max_depth=1).fit(X, y).score(X, y) == 0.5
    deep = CartClassifier().fit(X, y)
    assert deep.score(X, y) == 1.0 and deep.get_depth() == 2 and deep.get_n_leaves() == 4


def test_constant_target_and_single_row_are_a_leaf():
    for model in (CartClassifier().fit(distinct(9, 2), np.zeros(9, int)), CartRegressor().fit([[1.0]], [5.0])):
        assert model.tree_.node_count == 1 and model.get_depth() == 0
        assert model.tree_.impurity[0] == 0 and not model.feature_importances_.any()
    assert CartRegressor().fit([[1.0]], [5.0]).to_text() == "5 (1 rows, 100% of all)"


def test_three_hundred_classes_are_told_apart():
    X = np.arange(900, dtype=float)[:, None]
    y = np.repeat(np.arange(300), 3)
    for criterion in CLASS_CRITERIA:
        model = CartClassifier(criterion=criterion).fit(X, y)
        assert model.score(X, y) == 1.0 and model.get_n_leaves() == 300


def test_column_without_a_single_cell_is_never_used():
    X = distinct(50, 2)
    X[:, 0] = np.nan
    model = CartRegressor().fit(X, X[:, 1])
    assert model.feature_importances_.tolist() == [0.0, 1.0]
    np.testing.assert_array_equal(model.predict(X), X[:, 1])


def test_one_row_and_one_class_are_told_in_every_form():
    model = CartClassifier().fit([[1.0]], ["a"])
    assert model.predict([[3.0], [np.nan]]).tolist() == ["a", "a"]
    assert model.predict_proba([[np.nan]]).tolist() == [[1.0]]
    assert model.to_text() == "a (1 rows, 100%)"
    assert "'a'" in model.to_sql("t") and len(model.to_rules().rules) == 1
    assert model.cost_complexity_pruning_path([[1.0]], ["a"]).ccp_alphas.tolist() == [0.0]


def test_columns_without_cells_and_categories_never_seen_have_a_leaf():
    X = pd.DataFrame({"gone": pd.Series([None] * 6, dtype=object), "none": np.nan, "kind": list("aabbcc")})
    model = CartClassifier().fit(X, [0, 0, 1, 1, 1, 1])
    assert model.feature_importances_.tolist() == [0.0, 0.0, 1.0]
    missing, unseen = X.assign(kind=None), X.assign(kind="never", none=3.0)
    assert model.predict(unseen).tolist() == model.predict(missing).tolist() == [1] * 6
    assert CartClassifier().fit(X[["gone"]], [0, 1, 1, 0, 1, 1]).get_n_leaves() == 1


def test_missingness_alone_can_be_the_test():
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan]])
    model = CartClassifier().fit(X, [0, 0, 0, 1, 1])
    assert model.to_text() == "x0 is present: 0 (3 rows, 100%)\nx0 is missing: 1 (2 rows, 100%)"
    assert model.predict([[1e300], [np.nan]]).tolist() == [0, 1]


def test_missing_cells_follow_the_larger_child_if_none_was_seen():
    X = np.arange(10.0)[:, None]
    for cut in (3, 7):
        model = CartClassifier().fit(X, (X[:, 0] >= cut).astype(int))
        assert model.predict([[np.nan]])[0] == (1 if cut == 3 else 0)


def test_thresholds_lie_between_neighbours_even_next_to_each_other():
    low, high = 1.0, np.nextafter(1.0, 2.0)
    model = CartClassifier().fit([[low], [high]], [0, 1])
    assert model.predict([[low], [high]]).tolist() == [0, 1]
    huge = CartClassifier().fit([[-1.7e308], [1.7e308]], [0, 1])
    assert huge.tree_.threshold[0] == 0.0


def test_level_of_the_target_does_not_hide_its_spread():
    X, y = distinct(200, 3), np.random.default_rng(0).normal(size=200)
    near, far = CartRegressor(max_depth=3).fit(X, y), CartRegressor(max_depth=3).fit(X, y + 1e8)
    np.testing.assert_array_equal(near.tree_.feature, far.tree_.feature)
    np.testing.assert_array_equal(near.tree_.threshold, far.tree_.threshold)


@pytest.mark.parametrize(("level", "unit"), [(2.0**46, 2.0**-6), (1.0, 2.0**-50), (-(2.0**46), 2.0**-6)])
def test_the_last_digits_of_a_target_beside_its_level_are_enough(level, unit):
    """Targets of few steps of `unit`, alone and after columns of other sizes, split as whole numbers do."""
    X, rng = distinct(200, 3), np.random.default_rng(0)
    steps = np.round(60 * np.sin(X[:, 0]) + 40 * rng.normal(size=200))
    weights = rng.integers(1, 4, 200).astype(float)
    for given in (None, weights):
        plain = CartRegressor(max_depth=4).fit(X, steps, sample_weight=given).tree_
        far = CartRegressor(max_depth=4).fit(X, level + unit * steps, sample_weight=given).tree_
        np.testing.assert_array_equal(plain.feature, far.feature)
        np.testing.assert_array_equal(plain.threshold, far.threshold)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_each_output_has_its_own_level(order):
    """One of two sides, one constant, one of few steps beside a level: the steps split either side."""
    X, rng = distinct(200, 3), np.random.default_rng(0)
    steps = np.round(60 * np.sin(X[:, 1]) + 40 * rng.normal(size=200)) / 64
    sides = np.where(X[:, 0] > X[:, 0].mean(), 16.0, 0.0)
    plain = CartRegressor(max_depth=3).fit(X, np.column_stack([sides, steps])).tree_
    parts = (sides, np.full(200, 3.0), 2.0**46 + steps)
    far = CartRegressor(max_depth=3).fit(X, np.column_stack([parts[k] for k in order])).tree_
    assert plain.feature[0] == 0 and (plain.feature[1:] >= 0).sum() == 6
    np.testing.assert_array_equal(plain.feature, far.feature)
    np.testing.assert_array_equal(plain.threshold, far.threshold)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_that_part_the_rows_alike_tie_and_the_first_is_taken(size, weighted):
    """Sums over the same rows in another order are the same bits, whatever the size of the target."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        side = rng.permutation(np.arange(90) % 2 == 0)
        X = np.column_stack([np.where(side, 0.0, 2.0) + rng.random(90) for _ in range(3)])
        y = size * (np.where(side, 1.0, 7.0) + rng.normal(size=90))
        weights = rng.integers(1, 5, 90).astype(float) if weighted else None
        tree = CartRegressor(max_depth=1).fit(X, y, sample_weight=weights).tree_
        assert tree.feature[0] == 0 and 1.0 < tree.threshold[0] < 2.0


@pytest.mark.parametrize("jobs", [1, 2])
def test_tables_of_several_tasks_grow_the_tree_of_scikit_learn(jobs):
    """Parts of some thousand rows, which are grown apart and whose entries are given back."""
    X = distinct(20_000, 3)
    rng = np.random.default_rng(3)
    y = np.sin(X[:, 0] / 40) + X[:, 1] / 200 + rng.normal(size=20_000)
    weights = rng.integers(1, 1000, 20_000) / 64
    for ours, theirs, target in (
        (CartRegressor, DecisionTreeRegressor, y),
        (CartClassifier, DecisionTreeClassifier, (y > np.median(y)).astype(int)),
    ):
        parameters = {"min_samples_leaf": 700}
        model = ours(**parameters, n_jobs=jobs).fit(X, target, sample_weight=weights)
        same_tree(model.tree_, theirs(**parameters, random_state=0).fit(X, target, sample_weight=weights))
        assert model.tree_.node_count > 15


def test_the_older_of_two_nodes_of_one_decrease_is_split_first():
    X = np.arange(16.0)[:, None]
    y = np.array([0.0, 0, 1, 1, 10, 10, 11, 11, 40, 40, 41, 41, 50, 50, 51, 51])
    model = CartRegressor(max_leaf_nodes=3).fit(X, y)
    np.testing.assert_array_equal(np.unique(model.predict(X)), [0.5, 10.5, 45.5])
    model = CartRegressor(max_leaf_nodes=6).fit(X, y)
    np.testing.assert_array_equal(np.unique(model.predict(X)), [0.0, 1.0, 10.0, 11.0, 40.5, 50.5])


@pytest.mark.parametrize(("count", "words"), [(63, 1), (64, 1), (65, 2), (128, 2), (129, 3)])
def test_a_set_of_categories_has_a_bit_for_each(count, words):
    """Deep trees on one nominal column: a row of words for each test, and none where the test is of a number."""
    codes = np.tile(np.arange(count), 3)
    X = np.column_stack([codes, np.zeros(codes.size)]).astype(float)
    y = (codes * 37 % 11).astype(float)
    tree = CartRegressor(categorical_features=[0]).fit(X, y)
    inner = tree.tree_.feature == 0
    np.testing.assert_array_equal(tree.predict(X), y)
    assert tree.tree_.category_words.size == words * inner.sum()
    np.testing.assert_array_equal(np.sort(tree.tree_.category_offset[inner]), words * np.arange(inner.sum()))
    assert (tree.tree_.category_offset[~inner] == -1).all()


def test_targets_whose_sum_overflows_are_split_by_their_range():
    X, y = np.arange(4.0)[:, None], np.array([-1.7e308, -1.7e308, 1.7e308, 1.6e308])
    assert CartRegressor(criterion="worst_case", max_depth=1).fit(X, y).tree_.threshold[0] == 1.5
    X, y = np.arange(60.0)[:, None], 1.6e308 + 1e307 * (np.arange(60) > 20)
    assert CartRegressor(criterion="worst_case", max_depth=1).fit(X, y).tree_.threshold[0] == 20.5


# -- weights ---
def test_class_weights_do_not_change_how_many_rows_a_row_counts_as():
    """Beside class weights whole sample weights still count rows in the stopping rules."""
    rng = np.random.default_rng(15)
    X = rng.integers(0, 12, size=(90, 3)).astype(float)
    y, weights = rng.integers(0, 3, 90), rng.integers(0, 4, 90)
    parameters = {"class_weight": {0: 0.5, 1: 3.0, 2: 0.25}, "min_samples_leaf": 6, "min_samples_split": 20}
    a = CartClassifier(**parameters).fit(X, y, sample_weight=weights).tree_
    b = CartClassifier(**parameters).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).tree_
    np.testing.assert_array_equal(a.feature, b.feature)
    np.testing.assert_array_equal(a.threshold, b.threshold)
    assert a.n_node_samples[a.feature < 0].min() < 6 <= b.n_node_samples[b.feature < 0].min()


def test_entropy_of_weights_none_of_which_is_whole_and_of_two_rows():
    X = distinct(300, 4)
    y, weights = noisy_classes(X, 3), (2 * np.random.default_rng(2).integers(1, 1000, 300) + 1) / 128
    parameters = {"criterion": "entropy", "min_samples_leaf": 5}
    theirs = DecisionTreeClassifier(**parameters, random_state=0).fit(X, y, sample_weight=weights)
    same_tree(CartClassifier(**parameters).fit(X, y, sample_weight=weights).tree_, theirs)
    pair = CartClassifier(criterion="entropy").fit([[1.0], [2.0]], [0, 1])
    assert pair.get_n_leaves() == 2 and pair.tree_.impurity.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "parameters",
    [{}, {"min_samples_leaf": 5}, {"min_samples_split": 0.2}, {"max_leaf_nodes": 6}, {"min_weight_fraction_leaf": 0.1}],
)
@pytest.mark.parametrize("criterion", CLASS_CRITERIA + NUMBER_CRITERIA)
def test_whole_weights_equal_repetition_under_every_stopping_rule(parameters, criterion):
    rng = np.random.default_rng(11)
    X = rng.integers(0, 12, size=(90, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    weights = rng.integers(0, 4, 90)
    classify = criterion in CLASS_CRITERIA
    y = rng.integers(0, 3, 90) if classify else rng.normal(size=90)
    cls = CartClassifier if classify else CartRegressor
    a = cls(criterion=criterion, **parameters).fit(X, y, sample_weight=weights)
    b = cls(criterion=criterion, **parameters).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature)
    np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)
    np.testing.assert_allclose(a.tree_.value, b.tree_.value, rtol=1e-12)


def test_fractional_weights_count_rows_in_the_stopping_rules():
    X, y = distinct(40, 1), np.arange(40) % 2
    model = CartClassifier(min_samples_leaf=10).fit(X, y, sample_weight=np.full(40, 0.01))
    assert model.get_n_leaves() > 1 and model.tree_.n_node_samples[model.tree_.feature < 0].min() >= 10


@pytest.mark.parametrize("classes", [2, 3, 5, 6])
def test_counts_of_few_classes_grow_the_tree_of_equal_weights(classes):
    """Rows without weights are counted, with a register for up to five classes; weights of two are summed."""
    rng = np.random.default_rng(classes)
    X = np.round(rng.normal(size=(2600, 4)), 2)
    X[rng.random(X.shape) < 0.02] = np.nan
    y = (np.argsort(rng.normal(size=(2600, classes)) + X[:, :1] * np.arange(classes), axis=1)[:, -1]) % classes
    counted = CartClassifier().fit(X, y).tree_
    summed = CartClassifier().fit(X, y, sample_weight=np.full(2600, 2.0)).tree_
    for name in ("feature", "threshold", "impurity", "children_right", "missing_go_to_left"):
        np.testing.assert_array_equal(getattr(counted, name), getattr(summed, name))


@pytest.mark.parametrize("classes", [2, 3])
def test_small_whole_weights_grow_the_tree_of_large_ones_and_of_repeated_rows(classes):
    """Two classes with whole weights of up to 31 are added in one word a row; sixteen times as much does not fit."""
    rng = np.random.default_rng(classes)
    X = np.round(rng.normal(size=(2600, 4)), 2)
    X[rng.random(X.shape) < 0.02] = np.nan
    y = (rng.normal(size=2600) + np.nan_to_num(X[:, 0]) > 0) + (classes - 2) * (rng.random(2600) < 0.3)
    weights = rng.integers(1, 32, 2600).astype(np.float64)
    small, repeated = (
        CartClassifier().fit(X, y, sample_weight=weights).tree_,
        np.repeat(np.arange(2600), weights.astype(int)),
    )
    large = CartClassifier().fit(X, y, sample_weight=16 * weights).tree_
    rows = CartClassifier().fit(X[repeated], y[repeated]).tree_
    for name in ("feature", "threshold", "impurity", "value", "children_right"):
        np.testing.assert_array_equal(getattr(small, name), getattr(large, name))
        np.testing.assert_array_equal(getattr(small, name), getattr(rows, name))


def test_class_weight_balanced_dictionary_and_sample_weight_agree():
    X, y = distinct(200, 3), (distinct(200, 3, 1)[:, 0] > 5.3).astype(int)
    share = np.bincount(y)
    factors = len(y) / (2 * share)
    models = [
        CartClassifier(class_weight="balanced", max_depth=4).fit(X, y),
        CartClassifier(class_weight={0: factors[0], 1: factors[1]}, max_depth=4).fit(X, y),
        CartClassifier(max_depth=4).fit(X, y, sample_weight=factors[y]),
    ]
    for other in models[1:]:
        np.testing.assert_allclose(models[0].predict_proba(X), other.predict_proba(X))
    np.testing.assert_allclose(models[0].tree_.value[0], [0.5, 0.5])
    with pytest.raises(ParameterError, match="must have a weight > 0"):
        CartClassifier(class_weight={0: -1}).fit(X, y)


# -- parameters ---
@pytest.fixture(scope="module")
def noise():
    X = distinct(300, 6)
    return X, noisy_classes(X, 3), X[:, 0] + np.random.default_rng(9).normal(size=300)


def test_stopping_rules_bind(noise):
    X, y, _ = noise
    full = CartClassifier().fit(X, y)
    leaves = full.tree_.feature < 0
    assert full.tree_.n_node_samples[leaves].min() == 1
    assert CartClassifier(max_depth=3).fit(X, y).get_depth() == 3
    assert CartClassifier(max_leaf_nodes=7).fit(X, y).get_n_leaves() == 7
    for parameters, least in [({"min_samples_leaf": 9}, 9), ({"min_samples_leaf": 0.05}, 15)]:
        tree = CartClassifier(**parameters).fit(X, y).tree_
        assert tree.n_node_samples[tree.feature < 0].min() >= least
    for parameters, least in [({"min_samples_split": 30}, 30), ({"min_samples_split": 0.2}, 60)]:
        tree = CartClassifier(**parameters).fit(X, y).tree_
        assert tree.n_node_samples[tree.feature >= 0].min() >= least
    tree = CartClassifier(min_weight_fraction_leaf=0.1).fit(X, y).tree_
    assert tree.weighted_n_node_samples[tree.feature < 0].min() >= 30
    tree = CartClassifier(min_impurity_decrease=0.01).fit(X, y).tree_
    inner = tree.feature >= 0
    mass = tree.weighted_n_node_samples * tree.impurity / 300
    drop = mass[inner] - mass[tree.children_left[inner]] - mass[tree.children_right[inner]]
    assert 0 < inner.sum() < (full.tree_.feature >= 0).sum() and drop.min() >= 0.01
    assert CartClassifier(ccp_alpha=0.02).fit(X, y).get_n_leaves() < full.get_n_leaves()
    assert CartClassifier(ccp_alpha=1.0).fit(X, y).get_n_leaves() == 1


def test_max_features_draws_from_the_seed(noise):
    X, y, _ = noise
    full = CartClassifier().fit(X, y).tree_
    for wanted in (1, 0.5, "sqrt", "log2"):
        a = CartClassifier(max_features=wanted, random_state=1).fit(X, y)
        b = CartClassifier(max_features=wanted, random_state=1).fit(X, y)
        c = CartClassifier(max_features=wanted, random_state=2).fit(X, y)
        np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)
        assert a.tree_.node_count != c.tree_.node_count or (a.tree_.feature != c.tree_.feature).any()
        assert a.score(X, y) == 1.0
    everything = CartClassifier(max_features=6, random_state=1).fit(X, y).tree_
    np.testing.assert_array_equal(everything.threshold, full.threshold)


def test_max_features_goes_on_until_a_column_can_be_split():
    X = np.zeros((20, 30))
    X[:, 17] = np.arange(20)
    assert CartRegressor(max_features=1, random_state=0).fit(X, np.arange(20.0)).get_n_leaves() == 20


def test_criterion_decides_what_a_leaf_predicts():
    X, y = np.zeros((3, 1)), [0.0, 1.0, 8.0]
    got = [CartRegressor(criterion=c).fit(X, y).predict([[0.0]])[0] for c in NUMBER_CRITERIA]
    np.testing.assert_allclose(got, [3.0, 1.0, 4.0])
    with pytest.raises(ParameterError, match="'squared_error' for a target of several columns"):
        CartRegressor(criterion="absolute_error").fit(np.zeros((2, 1)), np.zeros((2, 2)))


def test_categorical_features_names_codes_as_nominal():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]] * 3), [0, 1, 0, 1] * 3
    assert CartClassifier(max_depth=1).fit(X, y).score(X, y) < 1
    assert CartClassifier(max_depth=1, categorical_features=[0]).fit(X, y).score(X, y) == 1


@pytest.mark.parametrize("n", [300, 6000])
def test_result_is_the_same_for_any_number_of_threads_and_instruction_set(n):
    rng = np.random.default_rng(12)
    X = np.round(rng.normal(size=(n, 5)), 2)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)
    Z = np.nan_to_num(X[:, 2]) + rng.normal(size=n)
    best = _kernels.simd_level()
    trees = []
    try:
        for level, jobs in [("baseline", 1), ("avx2", 1), ("avx512", 1), ("avx512", 2)]:
            _kernels.set_simd_level(level)
            pair = (CartClassifier(n_jobs=jobs).fit(X, y).tree_, CartRegressor(n_jobs=jobs).fit(X, Z).tree_)
            trees.append(pair)
    finally:
        _kernels.set_simd_level(best)
    for pair in trees[1:]:
        for a, b in zip(trees[0], pair, strict=True):
            for name in ("feature", "threshold", "value", "impurity", "children_right", "missing_go_to_left"):
                np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_row_order_does_not_change_the_tree(noise):
    X, y, z = noise
    order = np.random.default_rng(13).permutation(len(y))
    a, b = CartRegressor().fit(X, z), CartRegressor().fit(X[order], z[order])
    np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)
    c, d = CartClassifier().fit(X, y), CartClassifier().fit(X[order], y[order])
    np.testing.assert_array_equal(c.tree_.threshold, d.tree_.threshold)


# -- folds ---
def test_folds_equal_separate_fits_bit_for_bit():
    rng = np.random.default_rng(14)
    X = pd.DataFrame(
        {"a": rng.normal(size=120).round(1), "b": rng.choice(list("uvwxyz"), 120), "c": rng.normal(size=120)}
    )
    X.loc[::9, "b"] = None
    X.loc[::11, "a"] = np.nan
    y = np.array(["n", "y", "z"])[rng.integers(0, 3, 120)]
    y[:60] = np.where(y[:60] == "z", "n", y[:60])
    X.loc[60:, "b"] = X.loc[60:, "b"].replace("u", "w")
    weights = rng.integers(0, 3, 120).astype(float)
    folds = [
        (np.arange(60), np.arange(60, 120)),
        (np.arange(60, 120), np.arange(60)),
        (np.arange(0, 120, 2), np.arange(5)),
    ]
    for target, cls in [(y, CartClassifier), (rng.normal(size=120), CartRegressor)]:
        for given in (None, weights):
            models = cls(max_features=2, random_state=3).fit_folds(X, target, folds, sample_weight=given)
            for (train, _), model in zip(folds, models, strict=True):
                part = None if given is None else given[train]
                one = cls(max_features=2, random_state=3).fit(X.iloc[train], target[train], sample_weight=part)
                for name in one.tree_.__dataclass_fields__:
                    np.testing.assert_array_equal(getattr(one.tree_, name), getattr(model.tree_, name))
                np.testing.assert_array_equal(one.missing_seen_, model.missing_seen_)
                assert one.to_text() == model.to_text()
                assert (
                    getattr(one, "classes_", np.array(0)).tolist() == getattr(model, "classes_", np.array(0)).tolist()
                )


# -- showing ---
def test_rules_describe_exactly_the_leaves(noise):
    X, y, _ = noise
    model = CartClassifier(max_depth=3).fit(pd.DataFrame(X, columns=list("abcdef")), y)
    rules = model.to_rules()
    leaves = np.flatnonzero(model.tree_.feature < 0)
    assert len(rules) == len(leaves) == len([line for line in model.to_text().splitlines() if "rows" in line])
    for rule, leaf in zip(rules.rules, leaves, strict=True):
        rows = pd.DataFrame(X, columns=list("abcdef")).query(rules.premise(rule).replace(" AND ", " and "))
        assert len(rows) == model.tree_.n_node_samples[leaf] == rule.rows
        assert rule.conclusion == model.classes_[model.tree_.value[leaf].argmax()]


def test_view_stops_at_depth_five_and_links_children(noise):
    X, y, z = noise
    view = CartRegressor().fit(X, z).view()
    assert view["kind"] == "tree" and view["classes"] is None and max(n["depth"] for n in view["nodes"]) == 5
    assert any(n.get("cut") and not n["children"] for n in view["nodes"])
    for node in view["nodes"]:
        for child in node["children"]:
            assert view["nodes"][child]["parent"] == node["id"] and view["nodes"][child]["condition"]
    assert CartClassifier(max_depth=2).fit(X, y).view()["nodes"][0]["value"] == pytest.approx(np.bincount(y) / 300)


def test_trace_holds_the_best_gain_of_every_column(noise):
    X, y, z = noise
    for cls, target in [(CartClassifier, y), (CartRegressor, z)]:
        for criterion in CLASS_CRITERIA if cls is CartClassifier else NUMBER_CRITERIA:
            model = cls(criterion=criterion, max_depth=2, trace=True).fit(X, target)
            root = model.trace_[0]["values"]
            for j, name in enumerate(model.schema_.names):
                stump = cls(criterion=criterion, max_depth=1).fit(X[:, [j]], target)
                left = stump.apply(X[:, [j]]) == 1
                whole = part_cost(target, criterion, 3)
                assert root["gains"][name] == pytest.approx(whole - split_cost(left, target, criterion, 3), abs=1e-10)
            assert root["test"].startswith(max(root["gains"], key=root["gains"].get))


def test_cost_of_a_huge_table_is_known_before():
    assert CartClassifier().estimate_cost(150_000, 30).seconds < 60
    assert CartRegressor(criterion="absolute_error").estimate_cost(10**6, 10).seconds > 10


def test_dates_are_refused_with_a_way_out():
    X = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=3)})
    with pytest.raises(DataError, match="day"):
        CartClassifier().fit(X, [0, 1, 0])
