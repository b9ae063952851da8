"""Clustering metrics against scikit-learn (the installed version) and against all pairs of points."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn import metrics as reference
from sklearn.cluster import KMeans

from assay import _kernels
from assay.base import DataError, ParameterError
from assay.evaluate import (
    METRICS,
    adjusted_mutual_information,
    adjusted_rand,
    elbow,
    gap_statistic,
    inertia,
    mutual_information,
    pair_f1,
    pair_precision,
    pair_recall,
    purity,
    rand_index,
    score_many,
    silhouette,
    silhouette_samples,
)

RNG = np.random.default_rng(0)
PARTITIONS = {
    "alike": (RNG.integers(0, 6, 200), None),
    "random": (RNG.integers(0, 4, 150), RNG.integers(0, 30, 150)),
    "few": (np.array([0, 0, 1]), np.array([1, 2, 2])),
    "one cluster": (RNG.integers(0, 3, 20), np.zeros(20, dtype=int)),
    "all apart": (RNG.integers(0, 3, 20), np.arange(20)),
    "both one": (np.zeros(5, dtype=int), np.zeros(5, dtype=int)),
    "both apart": (np.arange(5), np.arange(5)[::-1].copy()),
    "far labels": (RNG.integers(0, 3, 50) * 10**9, RNG.integers(-5, 5, 50)),
}
PARTITIONS["alike"] = (
    PARTITIONS["alike"][0],
    np.where(RNG.random(200) < 0.8, PARTITIONS["alike"][0], RNG.integers(0, 6, 200)),
)
PARTITION = pytest.mark.parametrize(("truth", "found"), PARTITIONS.values(), ids=PARTITIONS)


@PARTITION
def test_agreement_equals_scikit_learn(truth, found):
    assert rand_index(truth, found) == pytest.approx(reference.rand_score(truth, found))
    assert adjusted_rand(truth, found) == pytest.approx(reference.adjusted_rand_score(truth, found))
    assert mutual_information(truth, found) == pytest.approx(reference.mutual_info_score(truth, found), abs=1e-12)
    assert adjusted_mutual_information(truth, found) == pytest.approx(
        reference.adjusted_mutual_info_score(truth, found), abs=1e-9
    )


@PARTITION
def test_pair_metrics_count_pairs(truth, found):
    i, j = np.triu_indices(truth.size, 1)
    belong, together = truth[i] == truth[j], found[i] == found[j]
    both = (belong & together).sum()
    assert pair_precision(truth, found) == pytest.approx(both / together.sum() if together.any() else 1.0)
    assert pair_recall(truth, found) == pytest.approx(both / belong.sum() if belong.any() else 1.0)
    expected = 2 * both / (belong.sum() + together.sum()) if (belong | together).any() else 1.0
    assert pair_f1(truth, found) == pytest.approx(expected)
    assert rand_index(truth, found) == pytest.approx((belong == together).mean())


@PARTITION
def test_purity_equals_its_definition(truth, found):
    largest = sum(np.unique(truth[found == label], return_counts=True)[1].max() for label in np.unique(found))
    assert purity(truth, found) == pytest.approx(largest / truth.size)


def test_names_of_labels_do_not_matter():
    truth, found = PARTITIONS["alike"]
    words = np.array(list("uvwxyz"))
    for metric in (adjusted_rand, adjusted_mutual_information, purity, pair_f1):
        assert metric(words[truth], found) == pytest.approx(metric(truth, -found))
        assert metric(words[truth].astype(object), found) == pytest.approx(metric(truth, found))


def test_chance_scores_nothing():
    scores = [
        (adjusted_rand(t, f), adjusted_mutual_information(t, f))
        for t, f in ((RNG.integers(0, 5, 100), RNG.integers(0, 5, 100)) for _ in range(200))
    ]
    assert np.abs(np.mean(scores, axis=0)).max() < 4 * np.std(scores, axis=0).max() / np.sqrt(200)


def test_expected_information_equals_the_mean_over_random_labellings():
    truth, found = np.repeat([0, 1, 2], [5, 9, 6]), np.repeat([0, 1], [8, 12])
    draws = [mutual_information(truth, RNG.permutation(found)) for _ in range(4000)]
    ones = np.ones(3, dtype=np.int64)
    expected = _kernels.expected_mutual_information(np.array([5, 9, 6]), ones, np.array([8, 12]), ones[:2], 20, 1)
    assert expected == pytest.approx(np.mean(draws), abs=4 * np.std(draws) / np.sqrt(4000))


def test_many_tiny_clusters_are_no_burden():
    """20,000 clusters of two: scikit-learn would go through 10^8 pairs of clusters."""
    truth = np.arange(40_000) // 2
    assert adjusted_mutual_information(truth, truth) == 1.0
    shuffled = RNG.permutation(truth)
    assert abs(adjusted_mutual_information(truth, shuffled)) < 1e-3


@pytest.mark.parametrize("n_features", [1, 3, 40])
@pytest.mark.parametrize("n", [4, 7, 300])
def test_silhouette_equals_scikit_learn(n, n_features):
    X = RNG.normal(size=(n, n_features))
    labels = np.append(RNG.integers(0, 3, n - 1) * 7 - 3, 99)
    labels[:2] = -3, 4
    expected = reference.silhouette_samples(X, labels)
    assert silhouette_samples(X, labels) == pytest.approx(expected, abs=1e-9)
    assert silhouette(X, labels) == pytest.approx(expected.mean())


def test_silhouette_of_three_points_and_of_equal_points():
    assert silhouette_samples([[0.0], [1.0], [5.0]], [0, 0, 1]) == pytest.approx([0.8, 0.75, 0.0])
    assert silhouette_samples(np.ones((6, 2)), [0, 0, 0, 1, 1, 1]) == pytest.approx(np.zeros(6))


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_silhouette_is_the_same_for_threads_and_close_for_instruction_sets(level):
    X, labels = RNG.normal(size=(500, 5)), RNG.integers(0, 4, 500)
    expected = silhouette_samples(X, labels, n_jobs=1)
    assert np.array_equal(silhouette_samples(X, labels, n_jobs=2), expected)
    best = _kernels.simd_level()
    try:
        _kernels.set_simd_level(level)
        assert silhouette_samples(X, labels) == pytest.approx(expected, abs=1e-12)
    finally:
        _kernels.set_simd_level(best)


def test_inertia_equals_kmeans():
    X = RNG.normal(size=(60, 3))
    model = KMeans(4, n_init=2, random_state=0).fit(X)
    assert inertia(X, model.labels_, model.cluster_centers_) == pytest.approx(model.inertia_)
    assert inertia(X, model.labels_) <= model.inertia_ + 1e-9


def kmeans(X, k):
    return KMeans(k, n_init=2, random_state=0).fit_predict(X)


def test_elbow_and_gap_find_the_blobs_and_tell():
    centres = np.array([[0, 0], [6, 0], [0, 6], [7, 7]])
    X = np.concatenate([RNG.normal(c, 0.7, (25, 2)) for c in centres])
    bend = elbow(X, kmeans, range(1, 7))
    assert bend.best == 4 and list(bend.columns["D(K)"]) == sorted(bend.columns["D(K)"], reverse=True)
    gap = gap_statistic(X, kmeans, range(1, 7), n_references=3, random_state=0)
    assert gap.best == 4 and "K = 4" in str(gap)
    assert json.loads(json.dumps(gap.to_dict()))["k"] == [1, 2, 3, 4, 5, 6] and "<table>" in gap._repr_html_()
    again = gap_statistic(X, kmeans, range(1, 7), n_references=3, random_state=0)
    assert again.columns == gap.columns


@pytest.mark.parametrize("first", [1, 2, 4])
def test_the_elbow_is_the_k_farthest_below_the_line_between_the_ends(first):
    """On logarithms of both, whatever K it begins with; inertias of cuts of a line into K parts of equal sizes."""
    bends = set()
    for seed in range(12):
        points = np.sort(np.random.default_rng(seed).lognormal(0.0, 1.5, 24))[:, None]
        ks = range(first, 10)
        found = elbow(points, lambda X, k: np.arange(24) * k // 24, ks)
        logs, down = np.log(list(ks)), np.log(found.columns["D(K)"])
        below = np.polyval(np.polyfit(logs[[0, -1]], down[[0, -1]], 1), logs) - down
        # A curve above its line has no bend; the least K is taken.
        assert found.best == (ks[int(below.argmax())] if below.max() > 1e-9 else first)
        bends.add(found.best)
    assert len(bends) > 2 and found.k == tuple(ks)


def test_gap_and_its_spread_are_those_of_the_references():
    """With labels that do not depend on the points, D(K) of a reference is known from the reference alone."""
    X = np.random.default_rng(8).normal(size=(30, 2))
    found = gap_statistic(X, lambda points, k: np.arange(len(points)) % k, (1, 2, 3), n_references=4, random_state=0)
    drawn = []

    def keep(points, k):
        drawn.append((points, k))
        return np.arange(len(points)) % k

    gap_statistic(X, keep, (1, 2, 3), n_references=4, random_state=0)
    logs = np.log([inertia(points, np.arange(len(points)) % k) for points, k in drawn]).reshape(5, 3)
    own = np.log([inertia(X, np.arange(30) % k) for k in (1, 2, 3)])
    references = logs[~np.isclose(logs, own).all(axis=1)]
    assert references.shape == (4, 3)
    assert found.columns["gap"] == pytest.approx(references.mean(axis=0) - own)
    assert found.columns["s"] == pytest.approx(references.std(axis=0) * np.sqrt(1.25))


def test_metrics_name_the_ends_of_their_scales():
    for name in ("rand_index", "purity", "pair_precision", "pair_recall", "pair_f1"):
        assert METRICS[name].bounds == (0.0, 1.0)
    for name in ("adjusted_rand", "adjusted_mutual_information"):
        assert METRICS[name].bounds == (-1.0, 1.0)


def test_labels_far_apart_and_below_zero_are_only_names():
    truth = np.array([0, 0, 1, 1, 2, 2])
    for names in ([-5, 7, 10**15], [-(2**62), 0, 2**62], [-3, -2, -1]):
        assert rand_index(truth, np.array(names)[[0, 0, 1, 1, 2, 1]]) == rand_index(truth, [0, 0, 1, 1, 2, 1])


def test_gap_sees_that_there_are_no_clusters():
    X = RNG.uniform(size=(100, 2))
    for rule in ("largest", "first"):
        assert gap_statistic(X, kmeans, range(1, 4), n_references=6, rule=rule, random_state=0).best == 1


@pytest.mark.parametrize("seed", range(6))
def test_the_rules_of_the_gap_take_the_first_that_is_near_enough(seed):
    """Tibshirani's rule: the first K whose gap is at least the next less its spread; or the largest less its own."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(centre, 1.0, (12, 2)) for centre in ([0, 0], [3, 0], [0, 3])])
    deal = rng.integers(0, 60, size=36)
    for rule in ("largest", "first"):
        found = gap_statistic(X, lambda _, k: deal % k, range(1, 7), n_references=4, rule=rule, random_state=seed)
        gap, s = found.columns["gap"], found.columns["s"]
        top = max(range(6), key=gap.__getitem__)
        near = [i for i in range(6) if gap[i] >= gap[top] - s[top]]
        before_next = [i for i in range(5) if gap[i] >= gap[i + 1] - s[i + 1]] + [top]
        assert found.best == 1 + (near[0] if rule == "largest" else before_next[0])
        assert ("still rises at the largest K" in found.sentence) == (found.best == 6)


def test_the_table_of_metrics_has_them():
    truth, found = PARTITIONS["alike"]
    names = [n for n, m in METRICS.items() if m.task == "cluster"]
    scores = score_many(names, truth, clusters=found)
    assert scores["adjusted_rand"] == adjusted_rand(truth, found) and len(names) == 7
    with pytest.raises(DataError, match="sample_weight"):
        score_many(names, truth, clusters=found, sample_weight=np.ones(truth.size))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: adjusted_rand([0, 1], [0]), DataError, "each of 2 points"),
        (lambda: purity([], []), DataError, "at least one point"),
        (lambda: purity([0.0, np.nan], [0, 1]), DataError, "NaN"),
        (lambda: purity([[0], [1]], [0, 1]), DataError, "one label per point"),
        (lambda: silhouette([[1.0], [2.0]], [0, 0]), DataError, "at least 2 clusters"),
        (lambda: silhouette([[1.0], [2.0]], [0, 1]), DataError, "fewer than there are points"),
        (lambda: silhouette([[1.0], [np.nan], [3.0]], [0, 0, 1]), DataError, "finite"),
        (lambda: silhouette([1.0, 2.0], [0, 1]), DataError, "table of points"),
        (lambda: inertia([[1.0], [2.0]], [0, 1], [[1.0]]), DataError, "shape"),
        (lambda: elbow([[1.0], [2.0]], kmeans, [1, 2]), ParameterError, "at least 3"),
        (lambda: gap_statistic([[1.0], [2.0]], kmeans, [2, 1]), ParameterError, "rising"),
        (lambda: gap_statistic([[1.0], [2.0]], kmeans, [1, 2], n_references=1), ParameterError, "n_references"),
        (lambda: gap_statistic([[1.0], [2.0]], kmeans, [1, 2], rule="x"), ParameterError, "'largest' or 'first'"),
    ],
)
def test_mistakes_get_one_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_gap_that_still_rises_is_said_to():
    X = np.random.default_rng(4).normal(size=(60, 2)) + 20.0 * (np.arange(60) % 3)[:, None]
    three = gap_statistic(X, kmeans, (1, 2, 3), n_references=4, random_state=0)
    assert three.best == 3 and "still rises at the largest K" in three.sentence
    more = gap_statistic(X, kmeans, (1, 2, 3, 4), n_references=4, random_state=0)
    assert more.best == 3 and "still rises" not in more.sentence
