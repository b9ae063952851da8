"""Boosting: what trees of rounds must do, by two routes where there are two."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from assay.base import AssayError
from assay.models.ensembles import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
)

LOSSES = ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]


def numbers(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.exp(0.5 * X[:, 0] + np.sin(X[:, 1])) * rng.gamma(2.0, 0.5, size=n) + 0.01


def labels(n: int = 600, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    score = np.stack([X[:, k] * X[:, (k + 1) % 5] + X[:, k] for k in range(classes)], axis=1)
    return X, (score + 0.3 * rng.gumbel(size=score.shape)).argmax(axis=1)


def mixed(n: int = 500) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    size = rng.normal(size=n)
    colour = rng.choice(["red", "green", "blue", "grey"], size=n)
    y = size + np.where(colour == "red", 2.0, 0.0) - np.where(colour == "grey", 1.0, 0.0) + 0.1 * rng.normal(size=n)
    holes = rng.random(n) < 0.15
    y = y + np.where(holes, 1.5, 0.0)
    frame = {
        "size": [None if hole else float(v) for v, hole in zip(size, holes, strict=True)],
        "colour": [None if rng.random() < 0.05 else str(c) for c in colour],
    }
    return pl.DataFrame(frame), y


def score_from_plain_data(tree: dict, row: dict) -> float:
    while "value" not in tree:
        cell = row[tree["column"]]
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            side = tree["missing"]
        elif "one_of" in tree:
            side = "left" if cell in tree["one_of"] else "right"
        else:
            side = "left" if cell <= tree["at_most"] else "right"
        tree = tree[side]
    return tree["value"]


@pytest.mark.parametrize("cls", [NewtonBoostingRegressor, GradientBoostingRegressor])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_training_loss_never_rises(cls, loss, rate):
    X, y = numbers()
    model = cls(loss=loss, learning_rate=rate, n_estimators=25, min_samples_leaf=5, quantile=0.8).fit(X, y)
    losses = model.train_loss_
    assert losses.shape[0] == model.n_estimators_ + 1 and losses[-1] < losses[0]
    assert (np.diff(losses) <= 1e-12 * np.maximum(1.0, np.abs(losses[:-1]))).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("cls", [NewtonBoostingClassifier, GradientBoostingClassifier])
def test_training_loss_of_classifiers_never_rises_and_is_the_log_loss(cls, classes):
    X, y = labels(classes=classes)
    model = cls(learning_rate=1.0, n_estimators=20, min_samples_leaf=2).fit(X, y)
    assert (np.diff(model.train_loss_) <= 1e-12).all()
    assert model.train_loss_[-1] == pytest.approx(log_loss(y, model.predict_proba(X)), rel=1e-9, abs=1e-12)


def test_rows_in_any_order_and_any_threads_give_the_same_bits():
    X, y = labels(n=1500)
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    shuffled = np.random.default_rng(2).permutation(len(y))
    settings = {"n_estimators": 30, "subsample": 0.7, "early_stopping": True, "random_state": 1}
    one = NewtonBoostingClassifier(**settings, n_jobs=1).fit(X, y)
    two = NewtonBoostingClassifier(**settings, n_jobs=2).fit(X[shuffled], y[shuffled])
    for name in ("feature", "threshold", "value", "offsets", "gain"):
        np.testing.assert_array_equal(getattr(one.forest_, name), getattr(two.forest_, name))
    np.testing.assert_array_equal(one.train_loss_, two.train_loss_)


def test_whole_weights_are_repetitions():
    X, y = numbers(200)
    weights = np.random.default_rng(4).integers(1, 4, size=len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    by_weight = NewtonBoostingRegressor(n_estimators=15).fit(X, y, sample_weight=weights)
    by_rows = NewtonBoostingRegressor(n_estimators=15).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(by_weight.predict(X), by_rows.predict(X), rtol=1e-12)


@pytest.mark.parametrize("rows", [300, 1100], ids=["folds", "held out"])
def test_whole_weights_are_repetitions_where_rows_are_drawn(rows):
    rng = np.random.default_rng(7)
    X, counts = rng.normal(size=(rows, 3)), rng.integers(0, 5, size=rows)
    y = X[:, 0] + rng.normal(size=rows)
    own = np.repeat(np.arange(rows), counts)
    settings = {"max_leaf_nodes": 8, "random_state": 0, "learning_rate": 0.2}
    weighted = NewtonBoostingRegressor(**settings).fit(X, y, sample_weight=counts)
    repeated = NewtonBoostingRegressor(**settings).fit(X[own], y[own])
    assert weighted.n_estimators_ == repeated.n_estimators_ > 1
    assert np.array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_training_loss_never_rises_where_rows_are_drawn(rate):
    X, y = labels(n=200)
    y = np.where(np.random.default_rng(1).random(200) < 0.3, 1 - y, y)
    model = NewtonBoostingClassifier(n_estimators=150, learning_rate=rate, subsample=0.3, min_samples_leaf=2).fit(X, y)
    assert model.n_estimators_ == 150
    assert np.diff(model.train_loss_).max() <= 1e-12
    assert np.isclose(model.train_loss_[-1], log_loss(y, model.predict_proba(X)), rtol=1e-9)


def test_one_leaf_value_is_the_regularised_newton_step():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.repeat([1.0, 5.0], 50)
    model = NewtonBoostingRegressor(
        n_estimators=1, learning_rate=1.0, l2_regularization=10.0, l1_regularization=20.0
    ).fit(X, y)
    # The mean is 3, the gradients sum to 100 and -100, the Hessians to 50: (100 - 20) / (50 + 10).
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [3 - 80 / 60, 3 + 80 / 60], rtol=1e-9)


def test_splits_are_those_of_exact_search_where_every_value_has_a_bin():
    X, y = numbers(250)
    X = np.round(X, 1)
    model = NewtonBoostingRegressor(
        n_estimators=1, learning_rate=1.0, l2_regularization=0.0, max_leaf_nodes=2, min_samples_leaf=1
    ).fit(X, y)
    best = (np.inf, 0, 0.0)
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for low, high in itertools.pairwise(values):
            left = X[:, j] <= low
            cost = y[left].var() * left.sum() + y[~left].var() * (~left).sum()
            best = min(best, (cost, j, 0.5 * (low + high)))
    assert model.forest_.feature[0] == best[1]
    assert model.forest_.threshold[0] == pytest.approx(best[2])
    left = X[:, best[1]] <= best[2]
    np.testing.assert_allclose(model.predict(X[left][:1]), y[left].mean(), rtol=1e-9)


def test_leaves_hold_enough_hessian_and_splits_bring_enough_gain():
    X, y = labels(n=900)
    settings = {"n_estimators": 12, "max_leaf_nodes": None, "min_samples_leaf": 1}
    model = NewtonBoostingClassifier(**settings, min_child_weight=9.0).fit(X, y)
    scores = np.full(len(y), model.base_score_[0])
    for t, (first, last) in enumerate(itertools.pairwise(model.forest_.offsets)):
        p = 1 / (1 + np.exp(-scores))
        leaf = model.forest_.leaves(X, 1)[:, t]
        # Hessians are rounded to whole numbers in the search.
        assert np.bincount(leaf, p * (1 - p), minlength=last - first)[np.unique(leaf)].min() >= 9.0 - 1e-3
        scores += model.forest_.value[first + leaf, 0]
    free = NewtonBoostingClassifier(**settings).fit(X, y)
    assert free.forest_.node_count > 2 * model.forest_.node_count
    costly = NewtonBoostingClassifier(**settings, min_split_gain=3.0).fit(X, y)
    inner = costly.forest_.feature >= 0
    assert (
        inner.any()
        and costly.forest_.gain[inner].min() >= 3.0 - 1e-6 > free.forest_.gain[free.forest_.feature >= 0].min()
    )


def test_rows_and_columns_are_drawn():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=1000)
    X = signal[:, None] + 0.1 * rng.normal(size=(1000, 8))
    half = NewtonBoostingRegressor(n_estimators=40, subsample=0.5, random_state=0).fit(X, signal)
    roots = half.forest_.n_node_samples[half.forest_.offsets[:-1]]
    assert 460 < roots.mean() < 540 and len(set(roots.tolist())) > 20
    for name in ("max_features", "max_features_node"):
        model = NewtonBoostingRegressor(n_estimators=40, max_depth=3, random_state=0, **{name: 0.25}).fit(X, signal)
        used = [set(part[part >= 0]) for part in np.split(model.forest_.feature, model.forest_.offsets[1:-1])]
        assert len(set().union(*used)) == 8
        assert (max(map(len, used)) <= 2) == (name == "max_features")


def test_leaves_hold_enough_rows():
    X, y = labels(n=900)
    model = NewtonBoostingClassifier(n_estimators=30, min_samples_leaf=37, max_leaf_nodes=None).fit(X, y)
    leaves = model.forest_.feature < 0
    assert model.forest_.n_node_samples[leaves].min() >= 37
    assert leaves.sum() > 60


@pytest.mark.parametrize("growth", ["leaf_wise", "depth_wise"])
def test_depth_and_leaves_are_limited(growth):
    X, y = numbers(800)
    deep = NewtonBoostingRegressor(n_estimators=5, max_depth=3, max_leaf_nodes=None, growth=growth, min_samples_leaf=1)
    few = NewtonBoostingRegressor(n_estimators=5, max_leaf_nodes=6, growth=growth, min_samples_leaf=1)
    assert (np.diff(deep.fit(X, y).forest_.offsets) == 15).all()
    assert (np.diff(few.fit(X, y).forest_.offsets) == 11).all()


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "huber"])
def test_monotone_columns_are_monotone_on_random_probes(loss):
    X, y = numbers(1200)
    y = y + np.random.default_rng(6).normal(size=1200)
    shape = {"n_estimators": 60, "learning_rate": 0.3, "min_samples_leaf": 5, "loss": loss, "quantile": 0.8}
    model = NewtonBoostingRegressor(monotone=[1, 0, -1, 0], **shape).fit(X, y)
    assert (np.diff(model.train_loss_) <= 1e-12).all()
    probes = np.random.default_rng(7).normal(size=(200, 4))
    for column, sign in ((0, 1), (2, -1)):
        steps = np.sort(np.random.default_rng(8).normal(size=50))
        rows = np.repeat(probes, len(steps), axis=0)
        rows[:, column] = np.tile(steps, len(probes))
        curve = model.predict(rows).reshape(len(probes), -1)
        assert (sign * np.diff(curve, axis=1) >= -1e-12).all()
    assert np.ptp(model.predict(np.column_stack([steps, np.zeros((50, 3))]))) > 0.1
    free = NewtonBoostingRegressor(**shape).fit(X, y).predict(rows).reshape(len(probes), -1)
    assert (sign * np.diff(free, axis=1) < -1e-6).any()  # without the constraint it is not kept


def test_interaction_groups_bound_every_path():
    X, y = numbers(800)
    model = NewtonBoostingRegressor(n_estimators=20, interactions=[[0, 1]], min_samples_leaf=5).fit(X, y)
    for number in range(model.forest_.n_trees):
        tree = model.forest_.tree(number)
        stack = [(0, frozenset())]
        while stack:
            node, used = stack.pop()
            assert used <= {0, 1} or len(used) == 1
            column = int(tree["feature"][node])
            if column >= 0:
                below = used | {column}
                stack += [(int(tree["children_left"][node]), below), (int(tree["children_right"][node]), below)]


@pytest.mark.parametrize("cls", [NewtonBoostingRegressor, GradientBoostingRegressor])
def test_plain_data_predicts_what_the_model_predicts_missing_and_unknown_cells_too(cls):
    X, y = mixed()
    model = cls(n_estimators=12, min_samples_leaf=5).fit(X, y)
    plain = json.loads(model.to_json())
    rows = [*X.to_dicts(), {"size": None, "colour": None}]
    by_hand = [plain["base_score"][0] + sum(score_from_plain_data(t, row) for t in plain["trees"]) for row in rows]
    np.testing.assert_allclose(model.predict(pl.DataFrame(rows)), by_hand, rtol=1e-12)
    assert model.score(X, y) > 0.75


def test_stages_end_at_the_prediction():
    X, y = labels(classes=3)
    model = NewtonBoostingClassifier(n_estimators=7).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == model.n_estimators_ == 7
    np.testing.assert_allclose(stages[-1], model.predict_proba(X), rtol=1e-12)
    losses = [log_loss(y, stage) for stage in stages]
    np.testing.assert_allclose(losses, model.train_loss_[1:], rtol=1e-9)


def test_big_and_small_trees_are_evaluated_alike():
    X, y = numbers(3000)
    X[::7, 0] = np.nan
    for leaves in (8, 40, 64, None):
        model = NewtonBoostingRegressor(n_estimators=3, max_leaf_nodes=leaves, min_samples_leaf=2).fit(X, y)
        reached = model.apply(X)
        first = model.forest_.offsets[:-1]
        by_leaf = model.base_score_[0] + model.forest_.value[reached + first, 0].sum(axis=1)
        np.testing.assert_allclose(model.predict(X), by_leaf, rtol=1e-12)
        np.testing.assert_array_equal(model.predict(X)[:1], model.predict(X[:1]))


def test_own_loss_by_gradient_and_hessian_equals_the_built_in_one():
    X, y = numbers()

    def squared(truth, scores):
        return scores - truth, np.ones_like(truth)

    own = NewtonBoostingRegressor(loss=squared, n_estimators=10).fit(X, y)
    built_in = NewtonBoostingRegressor(n_estimators=10).fit(X, y)
    np.testing.assert_allclose(own.predict(X), built_in.predict(X), rtol=1e-12)
    with pytest.raises(AssayError, match=r"parameter 'loss' must return"):
        NewtonBoostingRegressor(loss=lambda truth, scores: 3, n_estimators=2).fit(X, y)


def poisson_loss(truth, scores):
    with np.errstate(over="ignore"):
        return np.exp(scores) - truth, np.exp(scores)


@pytest.mark.parametrize("mean", [0.2, 30.0, 700.0, 1e5])
@pytest.mark.parametrize("options", [{}, {"early_stopping": True}])
def test_own_loss_begins_where_its_gradients_sum_to_zero(mean, options):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2))
    y = rng.poisson(mean * np.exp(0.3 * X[:, 0])).astype(float)
    own = NewtonBoostingRegressor(loss=poisson_loss, n_estimators=40, **options).fit(X, y)
    if not options:
        built_in = NewtonBoostingRegressor(loss="poisson", n_estimators=40).fit(X, y)
        np.testing.assert_allclose(own.base_score_, built_in.base_score_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(np.exp(own.predict(X)), built_in.predict(X), rtol=1e-4)
    assert np.exp(own.predict(X)).mean() == pytest.approx(y.mean(), rel=0.05)


def test_own_loss_begins_at_a_finite_score_whatever_its_shape():
    X, y = numbers()

    def bounded(truth, scores):  # falls back to zero far out: a root of the slope that is no minimum
        gap = (scores - truth) / 0.5
        return gap * np.exp(-0.5 * gap**2), np.exp(-0.5 * gap**2)

    def flat(truth, scores):
        return np.sign(scores - truth), np.zeros_like(truth)

    for loss in (bounded, flat):
        model = NewtonBoostingRegressor(loss=loss, n_estimators=3).fit(X, y)
        assert y.min() <= model.base_score_[0] <= y.max()
    with pytest.raises(AssayError, match=r"finite gradients and Hessians >= 0; got nan and 1 in row 0"):
        NewtonBoostingRegressor(loss=lambda truth, scores: (truth * np.nan, truth * 0 + 1), n_estimators=2).fit(X, y)


@pytest.mark.parametrize("options", [{}, {"subsample": 0.5}, {"early_stopping": True}])
@pytest.mark.parametrize("weighted", [False, True])
def test_own_loss_sees_the_rows_as_they_came(options, weighted):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    exposure = rng.uniform(0.1, 10.0, size=300)
    y = rng.poisson(exposure * np.exp(X[:, 0])).astype(float)
    weights = rng.integers(1, 4, size=300) if weighted else None

    def rates(truth, scores):
        np.testing.assert_array_equal(truth, y)
        return exposure * np.exp(scores) - truth, exposure * np.exp(scores)

    settings = {"n_estimators": 30, "random_state": 0, **options}
    own = NewtonBoostingRegressor(loss=rates, **settings).fit(X, y, sample_weight=weights)
    if not options:
        built_in = NewtonBoostingRegressor(loss="poisson", **settings)
        built_in.fit(X, y, sample_weight=weights, offset=np.log(exposure))
        np.testing.assert_allclose(np.exp(own.predict(X)), built_in.predict(X), rtol=1e-3)


def test_stages_take_an_offset():
    X, y = numbers()
    shift = np.linspace(-1.0, 1.0, y.shape[0])
    model = NewtonBoostingRegressor(n_estimators=5).fit(X, y, offset=shift)
    np.testing.assert_allclose(
        list(model.staged_predict(X, offset=shift))[-1], model.predict(X, offset=shift), rtol=1e-12
    )


def test_exposure_as_offset_scales_the_mean():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, size=(3000, 1)).astype(float)
    exposure = rng.uniform(0.2, 5.0, size=3000)
    y = rng.poisson(exposure * np.exp(X[:, 0] - 1)).astype(float)
    settings = {"loss": "poisson", "n_estimators": 100, "l2_regularization": 0.0, "learning_rate": 0.3}
    model = NewtonBoostingRegressor(**settings).fit(X, y, offset=np.log(exposure))
    for level in range(3):
        rows = X[:, 0] == level
        rate = y[rows].sum() / exposure[rows].sum()
        assert model.predict([[level]])[0] == pytest.approx(rate, rel=1e-3)
        assert model.predict([[level]], offset=[math.log(2.0)])[0] == pytest.approx(2 * rate, rel=1e-3)


def test_quantiles_cover_their_share():
    X, y = numbers(2000)
    for level in (0.1, 0.9):
        model = NewtonBoostingRegressor(loss="quantile", quantile=level, n_estimators=50).fit(X, y)
        assert (y <= model.predict(X)).mean() == pytest.approx(level, abs=0.03)


def test_early_stopping_keeps_the_best_round_and_can_be_turned_off():
    X, y = labels(n=1200)
    y = np.where(np.random.default_rng(9).random(len(y)) < 0.3, 1 - y, y)
    model = NewtonBoostingClassifier(random_state=0).fit(X, y)
    assert model.n_estimators_ < 1000
    assert model.validation_loss_.argmin() == model.n_estimators_
    off = NewtonBoostingClassifier(n_estimators=12).fit(X, y)
    assert off.n_estimators_ == 12 and not off.validation_loss_.shape[0]


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_folds_choose_the_rounds_and_all_rows_are_fitted(classes):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 3))
    worth = X[:, 0] + 0.5 * rng.normal(size=400)
    cls = NewtonBoostingClassifier if classes else NewtonBoostingRegressor
    y = np.digitize(worth, [-0.4, 0.6][: classes - 1]) if classes else worth
    model = cls(learning_rate=0.3, random_state=0).fit(X, y)
    assert model.n_estimators_ == max(1, int(np.argmin(model.validation_loss_))) < 100
    assert model.chosen() == {"rounds": model.n_estimators_, "leaves": model.max_leaf_nodes_}
    few = {"min_samples_leaf": 5, "min_samples_category": 2, "subsample": 0.7, "l2_regularization": 3.0}
    few |= {"max_bins": 64, "max_leaf_nodes": model.max_leaf_nodes_, "learning_rate": 0.3}
    same = cls(n_estimators=model.n_estimators_, random_state=0, **few).fit(X, y)
    assert np.array_equal(model.predict(X), same.predict(X))
    order = rng.permutation(400)
    shuffled = cls(learning_rate=0.3, random_state=0, n_jobs=2).fit(X[order], y[order])
    assert np.array_equal(model.predict(X), shuffled.predict(X))
    with pytest.raises(AssayError, match="early_stopping"):
        NewtonBoostingRegressor(early_stopping="folds", loss=lambda y, f: (f - y, np.ones_like(y))).fit(X, worth)


def test_as_good_as_the_peer_at_equal_settings():
    settings, ours, peers = {"max_leaf_nodes": 15, "learning_rate": 0.1}, [], []
    for seed in range(3):
        X, y = labels(n=6000, seed=seed)
        train, test = slice(0, 2500), slice(2500, None)
        own = NewtonBoostingClassifier(n_estimators=60, l2_regularization=0.0, **settings).fit(X[train], y[train])
        with threadpool_limits(limits=1, user_api="openmp"):  # its threads wait for each other where cores are busy
            peer = HistGradientBoostingClassifier(max_iter=60, early_stopping=False, **settings).fit(X[train], y[train])
        ours.append(log_loss(y[test], own.predict_proba(X[test])))
        peers.append(log_loss(y[test], peer.predict_proba(X[test])))
    assert np.mean(ours) < 1.01 * np.mean(peers)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_penalty_does_not_draw_rare_classes_to_the_others(classes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4000, 5))
    chance = np.minimum(0.02 * np.exp(1.2 * X[:, 0] + 0.8 * X[:, 1] * X[:, 2] - 1.0), 1.0)
    y = np.where(
        rng.random(4000) < chance, "rare", np.where((rng.normal(size=4000) < X[:, 3]) & (classes == 3), "a", "b")
    )
    share, shape = np.mean(y == "rare"), {"n_estimators": 40, "l2_regularization": 5.0}
    mean = {}
    for name, penalty in (("free", 0.0), ("penalised", 1e-9)):  # with L1 the constant of a tree is penalised too
        model = NewtonBoostingClassifier(l1_regularization=penalty, **shape).fit(X, y)
        mean[name] = model.predict_proba(X)[:, list(model.classes_).index("rare")].mean()
    assert 0.95 < mean["free"] / share < 1.03 and mean["penalised"] / share < 0.96


def test_categories_of_noise_are_not_gained_by_being_sorted():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 300, size=2000)
    X, y = pl.DataFrame({"noise": [f"v{c}" for c in codes]}), rng.normal(size=2000)
    for options in ({}, {"min_samples_category": 0, "category_smoothing": 0.0}):
        model = NewtonBoostingRegressor(n_estimators=30, **options).fit(X[:1000], y[:1000])
        assert np.mean((model.predict(X[1000:]) - y[1000:]) ** 2) < 1.02 * y[1000:].var()


def test_many_categories_of_few_rows_are_learned():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 300, size=6000)
    X = pl.DataFrame({"label": [f"v{c}" for c in codes], "x": rng.normal(size=6000)})
    y = rng.normal(size=300)[codes] + X["x"].to_numpy() + rng.normal(size=6000)
    error = {}
    for least in ("auto", 20):
        model = NewtonBoostingRegressor(min_samples_category=least, random_state=0).fit(X[:4000], y[:4000])
        error[least] = float(np.sqrt(np.mean((model.predict(X[4000:]) - y[4000:]) ** 2)))
    assert error["auto"] < 1.25 < 1.35 < error[20]
    few = NewtonBoostingRegressor(random_state=0).fit(X[:1500], y[:1500])  # 64 bins are for numbers alone
    assert np.sqrt(np.mean((few.predict(X[4000:]) - y[4000:]) ** 2)) < 1.3


def test_refusals_are_one_sentence():
    X, y = numbers(60)
    for settings, words in [
        ({"monotone": {"nowhere": 1}}, "must name columns of X"),
        ({"monotone": [1, 2, 0, 0]}, "must hold -1, 0 and 1"),
        ({"monotone": [1]}, "one sign for each of 4 columns"),
        ({"interactions": [["x9"]]}, "must name columns of X"),
    ]:
        with pytest.raises(AssayError, match=words):
            NewtonBoostingRegressor(n_estimators=2, **settings).fit(X, y)
    with pytest.raises(AssayError, match="must be > 0 for loss='gamma'"):
        NewtonBoostingRegressor(loss="gamma").fit(X, y - y.min())
    with pytest.raises(AssayError, match="needs a target of two classes"):
        NewtonBoostingClassifier(monotone=[1, 0, 0, 0, 0]).fit(*labels(classes=3))


@pytest.mark.parametrize("leaves", [2, 16, 17, 33, 64, 65])
def test_rows_together_get_the_scores_of_rows_one_by_one(leaves):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    X[:, 4] = rng.integers(0, 12, 3000)
    X[rng.random(X.shape) < 0.05] = np.nan
    known = np.nan_to_num(X)
    y = known[:, 0] * known[:, 1] + known[:, 4] % 5 + 0.1 * rng.normal(size=3000)
    model = NewtonBoostingRegressor(n_estimators=12, max_leaf_nodes=leaves, categorical_features=[4]).fit(X, y)
    alone = np.concatenate([model.predict(X[i : i + 1]) for i in range(0, 1300, 9)])
    np.testing.assert_array_equal(model.predict(X[:1300])[::9], alone)
    shuffled = model.predict(X[::-1])[::-1]
    np.testing.assert_array_equal(model.predict(X), shuffled)
