"""Ranking metrics against scikit-learn (the installed version) and against all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score
from sklearn.mixture import GaussianMixture

from assay.base import DataError, ParameterError
from assay.evaluate import held_out_log_likelihood, mean_average_precision, ndcg, pair_accuracy

RNG = np.random.default_rng(0)
N, QUERIES = 24, 6
RELEVANCE = RNG.integers(0, 4, (QUERIES, N)).astype(float)
SCORES = RNG.normal(size=(QUERIES, N)) + 0.5 * RELEVANCE
GROUPS = np.repeat(np.arange(QUERIES), N)


@pytest.mark.parametrize("k", [None, 1, 5, 100])
@pytest.mark.parametrize("decimals", [0, 8])
def test_ndcg_equals_scikit_learn(k, decimals):
    scores = np.round(SCORES, decimals)
    assert ndcg(RELEVANCE.ravel(), scores.ravel(), GROUPS, k=k) == pytest.approx(ndcg_score(RELEVANCE, scores, k=k))


def test_exponential_gain_is_ndcg_of_transformed_relevance():
    flat = RELEVANCE.ravel()
    assert ndcg(flat, SCORES.ravel(), GROUPS, gain="exponential") == pytest.approx(
        ndcg(2**flat - 1, SCORES.ravel(), GROUPS)
    )


@pytest.mark.parametrize("decimals", [0, 8])
def test_mean_average_precision_is_the_mean_over_queries(decimals):
    relevant, scores = (RELEVANCE > 2).astype(int), np.round(SCORES, decimals)
    expected = np.mean([average_precision_score(r, s) for r, s in zip(relevant, scores) if r.any()])
    assert mean_average_precision(relevant.ravel(), scores.ravel(), GROUPS) == pytest.approx(expected)


def test_the_precision_of_one_relevant_row_is_one_over_its_place():
    for place in range(1, 5):
        relevant = (np.arange(1, 5) == place).astype(int)
        assert mean_average_precision(relevant, [4.0, 3.0, 2.0, 1.0]) == pytest.approx(1 / place)
    # Without any order it is the share of relevant rows.
    assert mean_average_precision([1, 0, 0, 1], np.ones(4)) == pytest.approx(0.5)
    assert mean_average_precision([1], [2.0]) == 1.0


def test_order_of_rows_does_not_matter():
    order = RNG.permutation(N * QUERIES)
    flat = RELEVANCE.ravel(), SCORES.ravel()
    for metric in (ndcg, pair_accuracy):
        assert metric(flat[0][order], flat[1][order], GROUPS[order]) == pytest.approx(metric(*flat, GROUPS))


@pytest.mark.parametrize("decimals", [0, 8])
def test_pair_accuracy_counts_pairs(decimals):
    scores = np.round(SCORES, decimals)
    right = pairs = 0.0
    for r, s in zip(RELEVANCE, scores):
        above = r[:, None] > r
        right += ((s[:, None] > s)[above] + 0.5 * (s[:, None] == s)[above]).sum()
        pairs += above.sum()
    assert pair_accuracy(RELEVANCE.ravel(), scores.ravel(), GROUPS) == pytest.approx(right / pairs)


def test_pair_accuracy_is_the_area_under_the_curve_for_two_grades():
    y, scores, weights = RNG.integers(0, 2, 200), RNG.integers(0, 20, 200) / 4, RNG.integers(0, 3, 200)
    assert pair_accuracy(y, scores) == pytest.approx(roc_auc_score(y, scores), abs=1e-12)
    weighted = roc_auc_score(y, scores, sample_weight=weights)
    assert pair_accuracy(y, scores, sample_weight=weights) == pytest.approx(weighted, abs=1e-12)
    assert pair_accuracy([1, 2], [5, 5]) == 0.5


def test_exponential_gain_tells_orders_apart_and_knows_the_perfect_one():
    y = [3, 2, 1, 0]
    assert ndcg(y, [4, 3, 2, 1]) == ndcg(y, [4, 3, 2, 1], gain="exponential") == 1.0
    assert ndcg(y, [1, 2, 3, 4], gain="exponential") < ndcg(y, [1, 2, 3, 4])


def test_log_likelihood_from_a_model_and_from_numbers():
    X = RNG.normal(size=(50, 2))
    model = GaussianMixture(2, random_state=0).fit(X)
    assert held_out_log_likelihood(model, X) == pytest.approx(model.score(X))
    assert held_out_log_likelihood([-np.inf, 0.0]) == -np.inf


def test_queries_without_anything_relevant():
    assert ndcg([0, 0], [1.0, 2.0]) == 0.0 and np.isnan(mean_average_precision([0, 0], [1.0, 2.0]))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ndcg([1, 2], [1.0]), DataError, "same length"),
        (lambda: ndcg([1, 2], [1.0, np.nan]), DataError, "NaN"),
        (lambda: ndcg([], []), DataError, "at least one row"),
        (lambda: ndcg([-1, 2], [1.0, 2.0]), DataError, "negative"),
        (lambda: ndcg([1, 2], [1.0, 2.0], k=0), ParameterError, "'k'"),
        (lambda: ndcg([1, 2], [1.0, 2.0], gain="cubic"), ParameterError, "'gain'"),
        (lambda: ndcg([1, 2], [1.0, 2.0], groups=[1]), DataError, "groups"),
        (lambda: mean_average_precision([1, 2], [1.0, 2.0]), DataError, "0 or 1"),
        (lambda: pair_accuracy([1, 1], [1.0, 2.0]), DataError, "differ"),
        (lambda: held_out_log_likelihood([]), DataError, "at least one"),
    ],
)
def test_mistakes_get_one_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()
