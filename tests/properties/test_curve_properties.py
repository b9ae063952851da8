"""What must hold for all curves, splitters, decompositions and bounds."""

from __future__ import annotations

import json
import math

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assay.evaluate import (
    BootstrapSplitter,
    LeavePOutSplitter,
    RectangleVersionSpace,
    TimeSplitter,
    best_threshold,
    decompose_predictions,
    fit_power_law,
    gain_curve,
    growth_bound,
    pac_epsilon,
    pac_sample_size,
    precision_recall_curve,
    rejection_curve,
    roc_curve,
    shatters,
    threshold_curve,
)
from tests.helpers import examples

ROWS = st.lists(st.tuples(st.booleans(), st.integers(-5, 5)), min_size=2, max_size=40)
SEED = st.integers(0, 2**31)


def split_rows(rows):
    y, scores = (np.array(column) for column in zip(*rows))
    assume(y.any() and not y.all())
    return y.astype(int), scores.astype(float)


@given(ROWS)
def test_curves_are_monotone_agree_with_each_other_and_are_plain_data(rows):
    y, scores = split_rows(rows)
    roc, pr = roc_curve(y, scores, drop_inner=False), precision_recall_curve(y, scores)
    gain, rejection = gain_curve(y, scores), rejection_curve(y, scores)
    for rising in (roc.false_positive_rate, roc.true_positive_rate, pr.recall, gain.share, gain.gain):
        assert (np.diff(rising) >= 0).all() and rising[0] == 0 and rising[-1] == 1
    assert np.array_equal(roc.true_positive_rate, rejection.efficiency)
    finite = np.isfinite(rejection.rejection)
    assert (np.diff(finite.astype(int)) >= 0).all() and (np.diff(rejection.rejection[finite]) <= 0).all()
    assert math.isclose(gain.gini, 2 * roc.auc - 1, abs_tol=1e-12)
    for curve in (roc, pr, gain, rejection):
        json.dumps(curve.to_dict(), allow_nan=False)


@given(ROWS)
def test_areas_do_not_change_under_increasing_maps_and_mirror_under_negation(rows):
    y, scores = split_rows(rows)
    area = roc_curve(y, scores).auc
    assert roc_curve(y, np.exp(scores)).auc == area
    assert math.isclose(roc_curve(y, -scores).auc, 1 - area, abs_tol=1e-12)
    pairs = scores[y == 1][:, None] - scores[y == 0]
    assert math.isclose(area, np.mean((pairs > 0) + 0.5 * (pairs == 0)), abs_tol=1e-12)


@given(ROWS, st.sampled_from(["f1", "accuracy", "mcc", "youden"]))
def test_no_threshold_beats_the_best_one(rows, metric):
    y, scores = split_rows(rows)
    best = best_threshold(y, scores, metric=metric)
    values = threshold_curve(y, scores, metrics=metric)[metric]
    assert best.value == values.max()


@given(st.integers(1, 12), st.integers(1, 10), st.integers(2, 4), st.integers(0, 1000), st.booleans())
def test_the_decomposition_of_01_loss_is_exact_for_any_votes(n_sets, n_rows, n_labels, seed, with_noise):
    rng = np.random.default_rng(seed)
    votes, truth = rng.integers(0, n_labels, (n_sets, n_rows)), rng.integers(0, n_labels, n_rows)
    labels = np.unique(np.concatenate([votes.ravel(), truth])).size
    noise = rng.dirichlet(np.ones(labels), n_rows) if with_noise else None
    parts = decompose_predictions(votes, truth, loss="zero_one", noise=noise)
    left, right = parts.identity
    assert math.isclose(left, right, abs_tol=1e-12)
    assert 0 <= parts.total <= 1 + 1e-12 and parts.net_variance <= parts.variance + 1e-12
    if noise is None:
        assert math.isclose(parts.total, (votes != truth).mean(), abs_tol=1e-12)


@given(st.integers(1, 12), st.integers(1, 10), st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.integers(0, 1000))
def test_the_decomposition_of_squared_loss_is_exact_anywhere(n_sets, n_rows, centre, scale, seed):
    rng = np.random.default_rng(seed)
    f, t = centre + scale * rng.normal(size=(n_sets, n_rows)), centre + scale * rng.normal(size=n_rows)
    parts = decompose_predictions(f, t, loss="squared", noise=scale)
    assert math.isclose(parts.total, parts.bias + parts.variance + parts.noise, rel_tol=1e-6)


@given(st.integers(2, 40), SEED)
def test_bootstrap_splits_partition_the_rows(n_rows, seed):
    for train, test in BootstrapSplitter(3, random_state=seed).split(range(n_rows)):
        assert train.size == n_rows and test.size > 0
        assert np.array_equal(np.sort(np.concatenate([np.unique(train), test])), np.arange(n_rows))


@given(st.integers(3, 12), st.integers(1, 2), st.integers(1, 20), SEED)
def test_leave_p_out_sets_are_different_and_of_size_p(n_rows, p, n_samples, seed):
    tests = [tuple(t) for _, t in LeavePOutSplitter(p, n_samples=n_samples, random_state=seed).split(range(n_rows))]
    assert len(set(tests)) == len(tests) == min(n_samples, math.comb(n_rows, p))
    assert all(len(test) == p for test in tests)


@given(st.integers(1, 5), st.integers(0, 3), st.lists(st.integers(0, 30), min_size=15, max_size=60))
def test_no_training_row_is_as_late_as_its_test_rows(n_splits, gap, times):
    steps = np.unique(times)
    assume(steps.size - n_splits * (steps.size // (n_splits + 1)) > gap and steps.size > n_splits)
    times = np.array(times)
    for train, test in TimeSplitter(n_splits, gap=gap).split(times, None, times):
        first = np.searchsorted(steps, times[test].min())
        assert np.searchsorted(steps, times[train].max()) < first - gap


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.booleans()), min_size=1, max_size=12))
def test_the_version_space_answers_as_its_members_do(rows):
    X, y = np.array([row[:2] for row in rows], dtype=float), np.array([row[2] for row in rows], dtype=int)
    space = RectangleVersionSpace(X, y)
    if space.empty:
        return
    assert (space.classify(X[y == 1]) == 1).all() if y.any() else True
    assert (space.classify(X[y == 0]) == -1).all() if (1 - y).any() else True
    for box in space.general:
        assert not box.contains(X[y == 0]).any() if (1 - y).any() else True
        assert box.contains(X[y == 1]).all() if y.any() else True


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5))
def test_no_class_gives_more_labellings_than_sauer_allows(points):
    for name, dimension in (("rectangle", 4), ("half-space", 3), ("decision stump", 3)):
        result = shatters(np.array(points, dtype=float), name, count=True)
        assert result.labellings <= growth_bound(len(points), dimension)
        assert result.shattered == (result.labellings == 2 ** len(points))


@given(st.floats(0.001, 0.5), st.floats(0.001, 0.5), st.integers(1, 20))
def test_sample_sizes_shrink_as_less_is_asked_and_keep_their_promise(epsilon, delta, dimension):
    n = pac_sample_size("vc", dimension=dimension, epsilon=epsilon, delta=delta)
    assert n >= pac_sample_size("vc", dimension=dimension, epsilon=min(0.9, 1.5 * epsilon), delta=delta)
    assert pac_epsilon("vc", dimension=dimension, n=n, delta=delta) <= epsilon * (1 + 1e-9)


@settings(max_examples=examples(50))
@given(st.floats(0.3, 0.95), st.floats(0.1, 2), st.floats(0.2, 2))
def test_a_power_law_is_reproduced_within_its_range(a, b, c):
    sizes = np.array([20, 40, 80, 160, 320])
    scores = a - b * sizes**-c
    law = fit_power_law(sizes, scores, metric="mcc")
    assert np.abs(law.predict(sizes) - scores).max() < 2e-4 * max(1.0, b)
