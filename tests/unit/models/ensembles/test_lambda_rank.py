"""LambdaRank: gradients by definition, NDCG rises, invariances, and LightGBM's own quality."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from assay import _kernels
from assay.base.errors import DataError
from assay.evaluate import ndcg
from assay.explain import tree_shap
from assay.models.ensembles import LambdaRank
from assay.models.ensembles.lambda_rank import levels_in_groups


def queries(count=120, rows=15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count * rows, 5))
    worth = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=count * rows)
    return X, np.digitize(worth, [0.3, 1.2, 2.2]).astype(float), np.repeat(np.arange(count), rows)


def gradients_by_definition(gains, scores, truncation):
    order = np.argsort(-scores, kind="stable")
    n = gains.shape[0]
    discount = 1 / np.log2(np.arange(n) + 2)
    best = np.sort(gains)[::-1][:truncation] @ discount[: min(n, truncation)]
    g, h, total = np.zeros(n), np.zeros(n), 0.0
    spread = scores.max() > scores.min()
    for a in range(min(n, truncation)):
        for b in range(a + 1, n):
            i, j = order[a], order[b]
            if gains[i] == gains[j]:
                continue
            up, low = (i, j) if gains[i] > gains[j] else (j, i)
            gap = scores[up] - scores[low]
            delta = abs(gains[i] - gains[j]) * (discount[a] - discount[b]) / best
            delta = delta / (0.01 + abs(gap)) if spread else delta
            p = 1 / (1 + np.exp(gap))
            g[up] -= p * delta
            g[low] += p * delta
            h[[up, low]] += p * (1 - p) * delta
            total += 2 * p * delta
    scale = np.log2(1 + total) / total if total > 0 else 1.0
    reached = gains[order][:truncation] @ discount[: min(n, truncation)]
    return g * scale, h * scale, reached / best


@pytest.mark.parametrize("truncation", [3, 50])
def test_gradients_are_those_of_the_definition(truncation):
    rng = np.random.default_rng(1)
    sizes = [7, 1, 12, 5, 40, 150]  # the last is sorted by comparing, the others by counting
    begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    gains = np.exp2(rng.integers(0, 4, begin[-1])) - 1.0
    gains[:7] = np.maximum(gains[:7], [1, 0, 0, 0, 0, 0, 0])
    gains[20:25] = 0.0
    scores = np.round(rng.normal(size=begin[-1]), 1)
    scores[8:20] = 0.0
    largest = _kernels.largest_gains(gains, begin, truncation, 2)
    g, h, found = _kernels.lambda_gradients(gains, largest, scores, begin, truncation, 2)
    for q, (low, high) in enumerate(pairwise(begin)):
        if not gains[low:high].any():
            assert not g[low:high].any() and not h[low:high].any() and found[q] == 1.0
            continue
        eg, eh, en = gradients_by_definition(gains[low:high], scores[low:high], truncation)
        assert np.allclose(g[low:high], eg, atol=1e-13) and np.allclose(h[low:high], eh, atol=1e-13)
        assert found[q] == pytest.approx(en)
        assert abs(g[low:high].sum()) < 1e-12


def test_the_order_of_training_queries_gets_better_and_losses_are_ndcg():
    X, y, groups = queries()
    model = LambdaRank(n_estimators=30, gain="exponential", truncation=None).fit(X, y, groups=groups)
    assert model.train_loss_.shape == (31,) and model.train_loss_[-1] < 0.5 * model.train_loss_[0]
    assert 1 - model.train_loss_[-1] == pytest.approx(ndcg(y, model.predict(X), groups, gain="exponential"), abs=2e-3)


def test_rows_in_any_order_and_any_threads_give_the_same_bits():
    X, y, groups = queries(60)
    order = np.random.default_rng(0).permutation(y.shape[0])
    one = LambdaRank(n_estimators=10, n_jobs=1).fit(X, y, groups=groups)
    two = LambdaRank(n_estimators=10, n_jobs=2).fit(X[order], y[order], groups=(1000 - groups)[order])
    assert np.array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("count", [5, 40])
@pytest.mark.parametrize("options", [{}, {"early_stopping": True}])
def test_few_queries_are_all_fitted_for_a_hundred_rounds(count, options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y, groups = (X[:, 0] + rng.normal(size=1200) > 1) * 1, np.arange(1200) % count
    model = LambdaRank(random_state=0, **options).fit(X, y, groups=groups)
    if count >= 20 and options:
        assert model.validation_loss_.shape[0] > 1
    else:
        assert model.n_estimators_ == 100 and model.validation_loss_.shape == (0,)


def test_many_queries_end_the_rounds_by_themselves():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 2))
    y, groups = (X[:, 0] + rng.normal(size=3000) > 0) * 1, np.repeat(np.arange(1000), 3)
    model = LambdaRank(random_state=0, max_leaf_nodes=4).fit(X, y, groups=groups)
    assert model.validation_loss_.shape[0] > 1 and model.n_estimators_ < 1000


def test_queries_held_out_end_the_rounds():
    X, y, groups = queries(150)
    model = LambdaRank(random_state=3, early_stopping=True).fit(X, y, groups=groups)
    assert 1 <= model.n_estimators_ < 1000
    assert int(np.argmin(model.validation_loss_)) == model.n_estimators_
    assert model.chosen() == {"rounds": model.n_estimators_}


def test_as_good_as_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    ours, theirs = [], []
    for seed in (1, 2, 3):
        X, y, groups = queries(150, 20, seed)
        train, test = groups < 100, groups >= 100
        model = LambdaRank(n_estimators=40, gain="exponential").fit(X[train], y[train], groups=groups[train])
        peer = lightgbm.LGBMRanker(n_estimators=40, n_jobs=1, verbose=-1)
        peer.fit(X[train], y[train].astype(int), group=np.bincount(groups[train]))
        for kept, one in ((ours, model), (theirs, peer)):
            kept.append(ndcg(y[test], one.predict(X[test]), groups[test], k=10, gain="exponential"))
    assert np.mean(ours) > np.mean(theirs) - 0.01


def test_missing_cells_categories_monotone_columns_and_explanations_work():
    X, y, groups = queries(40)
    X = X.copy()
    X[::7, 3] = np.nan
    X[:, 4] = np.arange(X.shape[0]) % 4
    model = LambdaRank(n_estimators=10, categorical_features=[4], monotone={"x2": 1}).fit(X, y, groups=groups)
    line = np.zeros((30, 5))
    line[:, 2] = np.linspace(-2, 2, 30)
    assert (np.diff(model.predict(line)) >= 0).all()
    found = tree_shap(model, X[:20])
    assert found.unit == "score of the ranking" and np.allclose(found.predictions, model.predict(X[:20]))


def test_levels_count_the_grades_of_a_group():
    assert levels_in_groups(np.array([3.0, 9.0, 3.0, 1.0]), np.array([0, 0, 0, 7])).tolist() == [0, 1, 0, 0]
    X, _, _ = queries(4)
    continuous = X[:, 0] * 10
    assert LambdaRank(n_estimators=30, min_samples_leaf=2).fit(X, continuous).score(X, continuous) > 0.9


def test_refusals_are_one_sentence():
    X, y, groups = queries(4)
    with pytest.raises(DataError, match="no pairs|there are pairs"):
        LambdaRank().fit(X, groups.astype(float), groups=groups)
    with pytest.raises(DataError, match="gain='order'"):
        LambdaRank(gain="exponential").fit(X, y * 50, groups=groups)
    with pytest.raises(DataError, match="0 or more"):
        LambdaRank(gain="linear").fit(X, y - 2, groups=groups)
    with pytest.raises(DataError, match="name the query"):
        LambdaRank().fit(X, y, groups=groups[:-1])
