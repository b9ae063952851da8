"""Random forests: what averaging trees must do, by two routes where there are two."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier as PeerClassifier
from sklearn.ensemble import RandomForestRegressor as PeerRegressor

from assay import _kernels
from assay.base import AssayError, AssayWarning
from assay.models.ensembles import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from assay.models.ensembles.forest import Forest
from assay.models.ensembles.random_forest import drawn_contrasts, left_out_contrasts
from assay.models.trees import CartClassifier, CartRegressor

from .test_newton_boosting import labels, mixed, numbers, score_from_plain_data


@pytest.mark.parametrize("classes", [2, 3])
def test_one_tree_on_all_rows_and_columns_is_cart_where_every_value_has_a_bin(classes):
    X, y = labels(n=250, classes=classes)
    X = np.round(X, 1)
    forest = RandomForestClassifier(n_estimators=1, bootstrap=False, max_features=None, max_depth=4, random_state=0)
    tree = CartClassifier(max_depth=4).fit(X, y)
    np.testing.assert_allclose(forest.fit(X, y).predict_proba(X), tree.predict_proba(X), atol=1e-12)


def test_one_regression_tree_is_cart_too():
    X, y = numbers(250)
    X = np.round(X, 1)
    forest = RandomForestRegressor(n_estimators=1, bootstrap=False, max_features=None, max_depth=4, random_state=0)
    np.testing.assert_allclose(forest.fit(X, y).predict(X), CartRegressor(max_depth=4).fit(X, y).predict(X), rtol=1e-10)


def test_rows_in_any_order_and_any_threads_give_the_same_bits():
    X, y = labels(n=400, classes=3)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    shuffled = np.random.default_rng(2).permutation(len(y))
    settings = {"n_estimators": 8, "oob_score": True, "oob_importance": True, "random_state": 3}
    one = RandomForestClassifier(**settings, n_jobs=1).fit(X, y)
    two = RandomForestClassifier(**settings, n_jobs=2).fit(X[shuffled], y[shuffled])
    for name in ("feature", "threshold", "value", "offsets"):
        np.testing.assert_array_equal(getattr(one.forest_, name), getattr(two.forest_, name))
    np.testing.assert_array_equal(one.oob_prediction_[shuffled], two.oob_prediction_)
    np.testing.assert_array_equal(one.oob_importances_, two.oob_importances_)


def test_few_rows_are_predicted_as_among_many_missing_and_unknown_cells_too():
    """Few rows are walked by their cells, many by codes of a plan of the forest."""
    rng = np.random.default_rng(0)
    X, y = mixed(600)
    forest = RandomForestRegressor(n_estimators=10, min_samples_leaf=1, random_state=0).fit(X, y).forest_
    assert (forest.category_offset >= 0).any() and forest.node_count > 4 * 10 * 50
    cells = np.column_stack(
        [rng.integers(-1, c + 2, 4000) if c else rng.normal(size=4000) for c in forest.n_categories]
    )
    cells[rng.random(cells.shape) < 0.1] = np.nan
    many = forest.sums(cells, 1, 2)
    for begin, end in ((0, 1), (1, 18), (18, 68)):
        np.testing.assert_array_equal(forest.sums(cells[begin:end], 1, 2), many[begin:end])


def test_whole_weights_are_repetitions():
    X, y = labels(n=150)
    weights = np.random.default_rng(4).integers(1, 4, size=len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    by_weight = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y, sample_weight=weights)
    by_rows = RandomForestClassifier(n_estimators=5, random_state=0).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(by_weight.predict_proba(X), by_rows.predict_proba(X), rtol=1e-12)


def test_out_of_bag_score_is_near_the_score_on_new_rows():
    X, y = labels(n=3000)
    model = RandomForestClassifier(n_estimators=60, oob_score=True, random_state=0).fit(X[:1500], y[:1500])
    assert model.oob_score_ == pytest.approx(model.score(X[1500:], y[1500:]), abs=0.03)
    X, y = numbers(1500)
    regressor = RandomForestRegressor(n_estimators=60, oob_score=True, random_state=0).fit(X[:800], y[:800])
    assert regressor.oob_score_ == pytest.approx(regressor.score(X[800:], y[800:]), abs=0.12)
    assert regressor.score(X[:800], y[:800]) > regressor.oob_score_ + 0.1


def out_of_bag(model, X, keys):
    """For each tree the rows it did not draw, found again from its stream."""
    table = _kernels.make_bins(X, np.zeros(X.shape[1], dtype=np.int32), None, 255, 1)
    order = _kernels.content_order(table, np.ascontiguousarray(keys[:, None], dtype=np.float64), 1)
    counts = _kernels.bootstrap_counts(len(X), None, model._key_, model.n_estimators)
    return [order[own == 0] for own in counts]


def test_out_of_bag_predictions_are_the_means_of_the_trees_that_did_not_draw_the_row():
    X, y = labels(n=300, classes=3)
    model = RandomForestClassifier(n_estimators=20, oob_score=True, random_state=3).fit(X, y)
    values, total, trees = model._by_tree(X), np.zeros((300, 3)), np.zeros(300)
    for t, rows in enumerate(out_of_bag(model, X, y)):
        total[rows] += values[rows, t]
        trees[rows] += 1
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(model.oob_prediction_, total / trees[:, None], rtol=1e-12)
    known = trees > 0
    assert model.oob_score_ == np.mean(total[known].argmax(axis=1) == y[known])


def test_out_of_bag_importance_is_the_rise_of_the_error_of_permuted_columns():
    X, y = numbers(400)
    model = RandomForestRegressor(n_estimators=80, oob_importance=True, random_state=0).fit(X, y)
    draws, rng = out_of_bag(model, X, y), np.random.default_rng(0)
    for j in range(4):
        rises = []
        for t, rows in enumerate(draws):
            moved = X[rows].copy()
            before = model.forest_.sums(moved, 1, 1, first=t, last=t + 1)[:, 0]
            moved[:, j] = moved[rng.permutation(len(rows)), j]
            after = model.forest_.sums(moved, 1, 1, first=t, last=t + 1)[:, 0]
            rises.append(np.mean((y[rows] - after) ** 2) - np.mean((y[rows] - before) ** 2))
        # Two independent sets of permutations of the same trees and rows.
        assert abs(model.oob_importances_[j] - np.mean(rises)) < 4 * model.oob_importance_errors_[j]
    assert model.oob_importances_.argmax() in (0, 1) and model.oob_importances_[:2].min() > 0.1


def tree_loss(forest, tree, cells, y):
    """Errors of one tree, or its squared error."""
    leaves = forest.offsets[tree] + forest.leaves(cells, 1)[:, tree]
    values = forest.value[leaves]
    return np.mean(values.argmax(axis=1) != y) if y.ndim == 1 else np.mean((values - y) ** 2)


@pytest.mark.parametrize("target", ["labels", "numbers"])
def test_of_two_rows_out_of_bag_each_takes_the_cell_of_the_other(target):
    # The only permutation that keeps no cell in its place: every tree can be checked by predicting the swapped rows.
    rng = np.random.default_rng(5)
    n, n_trees = 9, 600
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.normal(size=n), rng.integers(0, 2, n)])
    X[[1, 4], 2] = np.nan
    n_categories = np.array([0, 3, 0, 0], dtype=np.int32)
    y = rng.integers(0, 3, n).astype(np.int32) if target == "labels" else rng.normal(size=(n, 1))
    width = 3 if target == "labels" else 1
    table = _kernels.make_bins(X, n_categories, None, 255, 1)
    grown = _kernels.grow_forest(
        table, y if width == 3 else None, y if width == 1 else None, width, None, True, n_trees=n_trees, first_tree=0,
        columns_per_node=2, max_depth=-1, min_split=2.0, min_leaf=1.0, bootstrap=True, extra=False, out_of_bag=False,
        permute=True, key=11, threads=2,
    )  # fmt: skip
    before, after = grown["oob_loss"], grown["permuted_loss"]
    forest = Forest.of({k: v for k, v in grown.items() if "oob" not in k and "permuted" not in k}, n_categories)

    checked = 0
    for t, own in enumerate(_kernels.bootstrap_counts(n, None, 11, n_trees)):
        rows = np.flatnonzero(own == 0)
        if len(rows) != 2:
            continue
        checked += 1
        assert before[t] == pytest.approx(tree_loss(forest, t, X[rows], y[rows]), rel=1e-12)
        for j in range(X.shape[1]):
            swapped = X[rows].copy()
            swapped[:, j] = swapped[::-1, j]
            assert after[t, j] == pytest.approx(tree_loss(forest, t, swapped, y[rows]), rel=1e-12, abs=1e-15)
    assert checked > 50
    assert (after != before[:, None]).any(axis=0).all()


@pytest.mark.filterwarnings("error")
def test_where_every_tree_drew_every_row_nothing_is_known_out_of_bag():
    model = RandomForestClassifier(n_estimators=3, oob_importance=True, oob_score=True).fit([[1.0, 2.0]], ["a"])
    assert np.isnan(model.oob_importances_).all() and np.isnan(model.oob_importance_errors_).all()
    assert np.isnan(model.oob_score_)


def test_columns_are_drawn_by_the_rule():
    rules = {"third": 4, "sqrt": 3, "log2": 3, 5: 5, 40: 12, 0.5: 6, None: 12}
    for rule, count in rules.items():
        assert RandomForestRegressor(max_features=rule)._columns_to_try(12) == count
    assert RandomForestRegressor()._columns_to_try(12) == 4 and RandomForestClassifier()._columns_to_try(12) == 3
    # One column drawn at each node: the root tests each of ten equally good columns about as often.
    rng = np.random.default_rng(0)
    signal = rng.normal(size=400)
    X = signal[:, None] + 0.1 * rng.normal(size=(400, 10))
    model = RandomForestRegressor(n_estimators=300, max_features=1, max_depth=1, random_state=0).fit(X, signal)
    roots = np.bincount(model.forest_.feature[model.forest_.offsets[:-1]], minlength=10)
    assert roots.min() >= 12 and roots.max() <= 55


def test_several_outputs_share_trees_that_lower_the_squared_error_of_all():
    X, y = numbers(300)
    both = np.column_stack([y, np.sign(X[:, 2]) + 0.1 * X[:, 3]])
    forest = RandomForestRegressor(n_estimators=1, bootstrap=False, max_features=None, max_depth=3, random_state=0)
    cart = CartRegressor(max_depth=3).fit(np.round(X, 1), both)
    model = forest.fit(np.round(X, 1), both)
    np.testing.assert_allclose(model.predict(np.round(X, 1)), cart.predict(np.round(X, 1)), rtol=1e-9)
    assert model.n_outputs_ == 2 and set(model.forest_.feature) >= {2}
    many = RandomForestRegressor(n_estimators=40, random_state=0, oob_score=True).fit(X, both)
    assert many.oob_prediction_.shape == both.shape and many.score(X, both) > 0.8


def test_permuting_a_column_that_says_nothing_changes_nothing_much():
    X, y = labels(n=800)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=len(y))])
    model = RandomForestClassifier(n_estimators=50, oob_importance=True, random_state=0).fit(X, y)
    assert model.oob_importances_.argmax() in (0, 1, 2)
    assert abs(model.oob_importances_[-1]) < 4 * model.oob_importance_errors_[-1] + 1e-3
    assert model.oob_importances_[1] > 10 * abs(model.oob_importances_[-1])


def test_plain_data_predicts_what_the_model_predicts_missing_and_unknown_cells_too():
    X, y = mixed(200)
    model = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y)
    rows = [*X.to_dicts(), {"size": None, "colour": None}]
    trees = model.to_dict()["trees"]
    by_hand = [np.mean([score_from_plain_data(tree, row) for tree in trees]) for row in rows]
    np.testing.assert_allclose(model.predict(pl.DataFrame(rows)), by_hand, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_do_not_depend_on_the_order_of_rows_or_on_weights_for_copies(weighted):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(150, 3)).round(1), rng.normal(size=150).round(1)
        count = rng.integers(1, 4, size=150)
        model = RandomForestRegressor(n_estimators=20, max_features=1.0, quantiles=True, random_state=0)
        if weighted:
            rows, other = np.repeat(np.arange(150), count), {"sample_weight": count}
            one = model.fit(X[rows], y[rows]).predict_quantiles(X, (0.1, 0.25, 0.5, 0.9))
            two = model.fit(X, y, **other).predict_quantiles(X, (0.1, 0.25, 0.5, 0.9))
        else:
            order = rng.permutation(150)
            one = model.fit(X, y).predict_quantiles(X, (0.1, 0.25, 0.5, 0.9))
            two = model.fit(X[order], y[order]).predict_quantiles(X, (0.1, 0.25, 0.5, 0.9))
        np.testing.assert_array_equal(one, two)


def test_quantiles_cover_new_rows():
    X, y = numbers(1200)
    model = RandomForestRegressor(n_estimators=40, min_samples_leaf=5, quantiles=True, random_state=0)
    found = model.fit(X[:800], y[:800]).predict_quantiles(X[800:], (0.1, 0.5, 0.9))
    assert (np.diff(found, axis=1) >= 0).all()
    inside = (y[800:] >= found[:, 0]) & (y[800:] <= found[:, 2])
    assert inside.mean() == pytest.approx(0.8, abs=0.07)
    with pytest.raises(AssayError, match="must be True for predict_quantiles"):
        RandomForestRegressor(n_estimators=2).fit(X, y).predict_quantiles(X)


def test_the_jackknife_finds_the_spread_over_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    probe = np.array([[0.0]])
    means, variances = [], []
    for seed in range(40):
        y = X[:, 0] + rng.normal(size=40)
        model = RandomForestRegressor(n_estimators=400, min_samples_leaf=5, random_state=seed).fit(X, y)
        means.append(model.predict(probe)[0])
        variances.append(model.prediction_variance(probe)[0, 0])
    assert 0.4 < np.mean(variances) / np.var(means) < 2.5
    low, high = model.predict_interval(probe)[0]
    assert low < model.predict(probe)[0] < high


def coverage(trees: int, leaf: int, sets: int, seed: int = 1) -> tuple[float, float]:
    """The share of intervals at 0.9 that hold the mean forecast over training sets, and their least width."""
    rng = np.random.default_rng(seed)
    probe, said, found = rng.uniform(size=(30, 4)), [], []
    for k in range(sets):
        X = rng.uniform(size=(200, 4))
        y = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + 0.4 * rng.normal(size=200)
        model = RandomForestRegressor(n_estimators=trees, min_samples_leaf=leaf, random_state=k).fit(X, y)
        said.append(model.predict(probe))
        found.append(model.predict_interval(probe, 0.9))
    centre, found = np.mean(said, axis=0), np.array(found)
    inside = (found[:, :, 0] <= centre) & (centre <= found[:, :, 1])
    return float(inside.mean()), float((found[:, :, 1] - found[:, :, 0]).min())


@pytest.mark.filterwarnings("ignore::assay.base.AssayWarning")
def test_intervals_of_few_trees_hold_the_mean_forecast():
    share, narrowest = coverage(100, 1, 12)
    assert share >= 0.85 and narrowest > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::assay.base.AssayWarning")
@pytest.mark.parametrize(("trees", "leaf"), [(100, 1), (250, 1), (500, 1), (500, 3), (500, 10), (2000, 1)])
def test_intervals_hold_the_mean_forecast_as_often_as_they_say(trees, leaf):
    share, narrowest = coverage(trees, leaf, 40)
    assert 0.87 <= share <= 0.99 and narrowest > 0


def test_too_few_trees_for_an_interval_are_said():
    X, y = numbers(300)
    model = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y)
    with pytest.warns(AssayWarning, match="W208.*n_estimators=20 is few for intervals from 300 training rows"):
        few = model.predict_interval(X[:40], 0.9)
    more = RandomForestRegressor(n_estimators=1000, random_state=0).fit(X, y).predict_interval(X[:40], 0.9)
    assert np.diff(few).mean() > np.diff(more).mean() > 0
    with pytest.raises(AssayError, match="'n_estimators' must be at least 2 for the jackknife"):
        RandomForestRegressor(n_estimators=1).fit(X, y).predict_interval(X)


def test_left_out_copies_of_a_weighted_row_are_those_of_repeated_rows():
    # Two draws of a row of weight 2 leave out each copy with chance 1/4: the mean over all draws of the two copies.
    counts = np.array([[2, 1], [1, 3], [0, 2]])
    contrasts, copies = left_out_contrasts(counts, np.array([2.0, 1.0]))
    left_out = np.array([0.25, 0.5, 1.0])
    np.testing.assert_allclose(contrasts[:, 0], left_out / left_out.sum() - 1 / 3)
    assert copies.tolist() == [2.0, 1.0] and not contrasts[:, 1].any()


def test_draws_of_a_weighted_row_are_those_of_its_copies():
    # The covariance of a tree's value with the draws of each of two copies is half of that with the draws of the row.
    rng = np.random.default_rng(0)
    counts, values = rng.poisson(1.0, size=(50, 3)), rng.normal(size=50)
    found = values @ drawn_contrasts(counts, np.array([2.0, 1.0, 1.0]))
    expected = [np.cov(values, counts[:, k], ddof=0)[0, 1] for k in range(3)]
    np.testing.assert_allclose(found, np.array(expected) / [2, 1, 1])


def test_the_variance_is_that_over_training_samples():
    # Trees grown to the end: the jackknife after the bootstrap finds 1.5 times the variance, the infinitesimal one 0.7.
    rng = np.random.default_rng(0)
    probe, means, variances = rng.normal(size=(40, 2)), [], []
    for seed in range(40):
        X = rng.normal(size=(150, 2))
        y = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + 0.4 * rng.normal(size=150)
        model = RandomForestRegressor(n_estimators=300, random_state=seed).fit(X, y)
        means.append(model.predict(probe))
        variances.append(model.prediction_variance(probe))
    assert 0.8 < np.mean(variances) / np.var(means, axis=0, ddof=1).mean() < 1.25


@pytest.mark.filterwarnings("ignore::assay.base.AssayWarning")
def test_intervals_of_several_targets_are_those_of_each():
    X, y = numbers(120)
    model = RandomForestRegressor(n_estimators=60, random_state=0).fit(X, np.column_stack([y, -y]))
    found = model.predict_interval(X[:9])
    assert found.shape == (9, 2, 2)
    np.testing.assert_allclose(found[:, 0], -found[:, 1, ::-1], atol=1e-9)


@pytest.mark.parametrize("level", [95, 0, 1, 1.5, -0.1, np.nan, "a", None, (0.5, 0.6)])
def test_levels_of_intervals_are_shares(level):
    X, y = numbers(40)
    model = RandomForestRegressor(n_estimators=5, quantiles=True, random_state=0).fit(X, y)
    with pytest.raises(AssayError, match="parameter 'level' must be one number above 0 and below 1; got"):
        model.predict_interval(X, level)
    with pytest.raises(AssayError, match="parameter 'levels' must be numbers from 0 to 1; got"):
        model.predict_quantiles(X, (1.5, -0.1, np.nan) if level == 0 else np.nan if level == 1 else [[0.5]])
    lowest, highest = model.predict_quantiles(X, (0, 1)).T
    assert (lowest <= highest).all()


def test_warm_start_goes_on_with_what_is_known_out_of_bag():
    X, y = numbers(300)
    measured = {"oob_score": True, "oob_importance": True, "random_state": 5}
    grown = RandomForestRegressor(n_estimators=6, warm_start=True, **measured).fit(X, y)
    grown.set_params(n_estimators=9).fit(X, y).set_params(n_estimators=15).fit(X, y)
    at_once = RandomForestRegressor(n_estimators=15, **measured).fit(X, y)
    assert np.allclose(grown.oob_prediction_, at_once.oob_prediction_, rtol=1e-12, equal_nan=True)
    assert np.isclose(grown.oob_score_, at_once.oob_score_, rtol=1e-12)
    assert np.array_equal(grown.oob_importances_, at_once.oob_importances_)
    plain = RandomForestRegressor(n_estimators=3, random_state=5, warm_start=True).fit(X, y)
    with pytest.raises(AssayError, match="needs the out-of-bag measures of the trees that are kept"):
        plain.set_params(n_estimators=6, oob_score=True).fit(X, y)


def test_warm_start_adds_the_trees_that_a_larger_forest_has():
    X, y = numbers(200)
    whole = RandomForestRegressor(n_estimators=9, random_state=5).fit(X, y)
    grown = RandomForestRegressor(n_estimators=4, random_state=5, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=9).fit(X, y)
    np.testing.assert_array_equal(grown.forest_.threshold, whole.forest_.threshold)
    np.testing.assert_allclose(grown.predict(X), whole.predict(X), rtol=1e-12)
    with pytest.raises(AssayError, match="must not be less than the 9 trees"):
        grown.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(AssayError, match="needs the table of the last fit; got columns of other number"):
        grown.set_params(n_estimators=12).fit(X[:, :2], y)


def test_leaves_of_an_infinite_cell_or_of_other_columns_are_refused_in_one_sentence():
    X, y = numbers(60)
    model = RandomForestRegressor(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(AssayError, match="RandomForestRegressor: X cannot be used as it is; X has 2 features"):
        model.apply(X[:, :2])
    X[7, 1] = np.inf
    with pytest.raises(AssayError, match="RandomForestRegressor: column 'x1' must be finite .* first at row 7"):
        model.apply(X)


def test_balanced_classes_shift_shares_to_the_rare_one():
    X, y = labels(n=600)
    y = np.where(np.random.default_rng(1).random(600) < 0.85, 0, y)
    plain = RandomForestClassifier(n_estimators=30, min_samples_leaf=5, random_state=0).fit(X, y)
    weighed = RandomForestClassifier(n_estimators=30, min_samples_leaf=5, class_weight="balanced", random_state=0)
    assert weighed.fit(X, y).predict_proba(X)[:, 1].mean() > 1.5 * plain.predict_proba(X)[:, 1].mean()


def test_leaves_hold_enough_rows_and_depth_is_limited():
    X, y = labels(n=500, classes=3)
    model = RandomForestClassifier(n_estimators=5, min_samples_leaf=9, max_depth=3, random_state=0).fit(X, y)
    assert model.forest_.n_node_samples[model.forest_.feature < 0].min() >= 9
    assert np.diff(model.forest_.offsets).max() <= 15


def test_as_good_as_the_peer():
    X, y = labels(n=4000, classes=3)
    ours = RandomForestClassifier(n_estimators=60, random_state=0).fit(X[:2000], y[:2000])
    peer = PeerClassifier(n_estimators=60, random_state=0).fit(X[:2000], y[:2000])
    assert ours.score(X[2000:], y[2000:]) > peer.score(X[2000:], y[2000:]) - 0.012
    X, y = numbers(3000)
    lead = []
    for seed in range(4):
        ours = RandomForestRegressor(n_estimators=60, random_state=seed).fit(X[:1500], y[:1500])
        peer = PeerRegressor(n_estimators=60, max_features=1 / 3, random_state=seed).fit(X[:1500], y[:1500])
        lead.append(ours.score(X[1500:], y[1500:]) - peer.score(X[1500:], y[1500:]))
    assert np.mean(lead) > -0.015


def test_out_of_bag_needs_the_bootstrap():
    X, y = labels(n=60)
    with pytest.raises(AssayError, match="needs rows that a tree did not draw"):
        RandomForestClassifier(oob_score=True, bootstrap=False).fit(X, y)
    with pytest.raises(AssayError, match="must be True for the jackknife"):
        RandomForestRegressor(n_estimators=3, bootstrap=False).fit(X, y).prediction_variance(X)


@pytest.mark.parametrize("power", [-64, 40, 200])
def test_weights_that_no_bootstrap_can_count_are_weights(power):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    one = RandomForestRegressor(n_estimators=3, random_state=0).fit(X, y, sample_weight=np.full(80, 1.5))
    far = RandomForestRegressor(n_estimators=3, random_state=0).fit(X, y, sample_weight=np.full(80, 1.5 * 2.0**power))
    np.testing.assert_array_equal(far.predict(X), one.predict(X))


@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_a_single_row_that_counts_has_no_score_out_of_bag(cls):
    X, weights = np.arange(20.0)[:, None], np.eye(20)[3]
    assert np.isnan(cls(oob_score=True, random_state=0).fit(X, np.arange(20) % 2, sample_weight=weights).oob_score_)


@pytest.mark.parametrize("cls", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_counts_of_classes_in_one_word_and_sums_of_weights_find_the_same_splits(cls, classes):
    rng = np.random.default_rng(classes)
    y = rng.integers(classes, size=900)
    X = rng.normal(size=(900, 5)) + rng.normal(size=(classes, 5))[y]
    X[rng.random(X.shape) < 0.05] = np.nan
    one, half = (
        cls(n_estimators=5, max_depth=5, min_samples_leaf=8, random_state=3).fit(X, y, sample_weight=np.full(900, w))
        for w in (1.0, 0.5)
    )
    for name in ("feature", "threshold", "missing_go_to_left", "n_node_samples"):
        assert np.array_equal(getattr(one.forest_, name), getattr(half.forest_, name)), name
    assert np.allclose(one.forest_.value, half.forest_.value, rtol=1e-12)
    assert np.allclose(one.forest_.gain, half.forest_.gain, rtol=1e-9)


def labelled(n_rows, n_labels, worth, seed):
    """Numbers of which one counts a little, and labels that count by `worth`; of two classes."""
    rng = np.random.default_rng(seed)
    label, x = rng.integers(n_labels, size=n_rows), rng.normal(size=(n_rows, 5))
    score = worth * np.random.default_rng(n_labels).normal(size=n_labels)[label] + 0.5 * x[:, 0]
    return np.column_stack([x, label]), (rng.random(n_rows) < 1 / (1 + np.exp(-score))).astype(int)


@pytest.mark.parametrize("learner", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_label_that_a_node_lacks_goes_with_those_like_it(learner, classes):
    # Labels 0 to 3 are low and 4 to 7 high; 0 and 7 were never seen where x is negative.
    rng = np.random.default_rng(0)
    label, x = rng.integers(8, size=600), rng.uniform(0.1, 1, size=600)
    x[(label % 7 > 0) & (rng.random(600) < 0.5)] *= -1
    y = np.where(label > 3, classes - 1, 0)
    if classes == 3:
        y[rng.random(600) < 0.2] = 1
    model = learner(n_estimators=80, categorical_features=[1], random_state=0).fit(np.column_stack([x, label]), y)
    low, high = model.predict_proba([[-0.5, 0], [-0.5, 7]])[:, -1]
    assert low < 0.1 and high > 0.9


@pytest.mark.parametrize("learner", [RandomForestClassifier, ExtraTreesClassifier])
def test_few_rows_of_many_labels_are_learned(learner):
    scores, rules = [], []
    for seed in range(3):
        X, y = labelled(2400, 61, 3.0, seed)
        model = learner(n_estimators=60, categorical_features=[5], random_state=seed).fit(X[:400], y[:400])
        scores.append(model.score(X[400:], y[400:]))
        counts = np.zeros((61, 2))
        np.add.at(counts, (X[:400, 5].astype(int), y[:400]), 1)
        rules.append(
            (counts.argmax(axis=1)[X[400:, 5].astype(int)] == y[400:]).mean()
        )  # the class of most rows of the label
    assert np.mean(scores) > np.mean(rules) - 0.01


def test_labels_without_meaning_cost_a_forest_little():
    losses = []
    for seed in range(3):
        X, y = labelled(2400, 61, 0.0, seed)
        for columns, nominal in ((X, [5]), (X[:, :5], None)):
            model = RandomForestClassifier(n_estimators=60, categorical_features=nominal, random_state=seed)
            chance = model.fit(columns[:400], y[:400]).predict_proba(columns[400:])[np.arange(2000), y[400:]]
            losses.append(-np.log(np.maximum(chance, 1e-3)).mean())
    assert np.mean(losses[::2]) < 1.06 * np.mean(losses[1::2])
