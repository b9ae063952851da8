"""The choice of K: criteria agree on five blobs, pictures, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.base import AssayError
from assay.evaluate import choose_k, cluster_choice, silhouette
from assay.models.clustering import KMeans
from assay.models.mixtures import GaussianMixture


def blobs(k: int = 5, each: int = 50, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(k) / k
    centres = 5.0 * np.c_[np.cos(angles), np.sin(angles)]
    return np.concatenate([c + 0.5 * rng.normal(size=(each, 2)) for c in centres])


@pytest.fixture(scope="module")
def choice():
    return choose_k(blobs(), range(1, 9), random_state=0)


def test_all_criteria_find_the_five_blobs(choice):
    assert choice.best == dict.fromkeys(("elbow", "silhouette", "gap", "bic"), 5)
    assert choice.chosen == 5 and "5 clusters have most votes" in choice.sentence


def test_it_is_a_table_and_a_picture(choice):
    assert str(choice).count("*") == 5 and len(choice.charts()) == 4
    svg = choice.to_svg()
    assert svg.count("<svg") == 5 and "silhouette: K = 5" in svg and svg in choice.to_html()
    assert choice.to_dict()["best"]["gap"] == 5


def test_any_clustering_can_be_asked():
    found = choose_k(
        blobs(3), range(1, 6), criteria=["silhouette"], random_state=0,
        cluster=lambda X, k: GaussianMixture(k, random_state=0).fit(X).labels_,
    )  # fmt: skip
    assert found.best == {"silhouette": 3}


def test_large_tables_are_sampled_for_what_is_quadratic():
    found = choose_k(blobs(3, 400), range(2, 5), criteria=["silhouette", "gap"], most_rows=150, random_state=0)
    assert found.chosen == 3


def test_unknown_criteria_are_refused():
    with pytest.raises(AssayError, match="choose_k: parameter 'criteria' must name some of"):
        choose_k(blobs(), criteria=["luck"])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 10])
def test_few_rows_are_asked_as_far_as_they_go(n):
    X = np.random.default_rng(n).normal(size=(n, 2))
    found = choose_k(X, random_state=0)
    assert 1 <= found.chosen <= n and found.k[-1] == max(1, n - 1 if n > 3 else 1)
    assert found.sentence and found.grid() is not None and found.to_html()


def test_equal_rows_are_one_cluster():
    assert choose_k(np.ones((30, 2)), random_state=0).chosen == 1


def test_a_silhouette_of_one_cluster_or_of_single_rows_is_none():
    X = blobs(3, 4)
    for labels in (np.zeros(12, int), np.arange(12)):
        assert cluster_choice._silhouette(X, labels) == 0
    for labels in (np.arange(12) % 2, np.arange(12) // 4, np.minimum(np.arange(12), 10)):
        assert cluster_choice._silhouette(X, labels) == silhouette(X, labels) != 0


@pytest.mark.parametrize(
    "X", [np.zeros(5), np.zeros((2, 2, 2)), np.zeros((0, 2)), [[1.0], [np.nan]], [[1.0], [np.inf]]]
)
def test_what_is_no_table_of_numbers_is_refused(X):
    with pytest.raises(AssayError, match="must be a table of finite numbers"):
        choose_k(X)
    with pytest.raises(AssayError, match="must name some of"):
        choose_k(blobs(), criteria=[])


@pytest.mark.parametrize(("distinct", "most"), [(3, 1), (4, 3), (10, 9), (11, 10), (30, 10)])
def test_as_many_clusters_are_tried_as_distinct_rows_allow_up_to_ten(distinct, most):
    X = np.repeat(np.random.default_rng(0).normal(size=(distinct, 3)), 2, axis=0)
    found = choose_k(X, criteria=["silhouette"], cluster=lambda rows, k: np.arange(len(rows)) % k)
    assert found.k == tuple(range(1, most + 1))
    one = choose_k(X[:1], criteria=["silhouette"])
    assert (one.k, one.chosen, one.best) == ((1,), 1, {}) and one.sentence.startswith("One cluster: 1 distinct row ")
    assert choose_k(X, [1, 2], criteria=["silhouette"], random_state=0).k == (1, 2)


def test_bic_of_clusters_far_apart_is_that_of_their_normal_distributions():
    """Variances within the clusters are a hundredth of the whole; five parameters each and a share."""
    X = blobs(2, 40)
    densities = np.zeros(80)
    for part in (X[:40], X[40:]):
        densities += 0.5 * stats.multivariate_normal(part.mean(axis=0), np.cov(part.T, ddof=0)).pdf(X)
    found = choose_k(X, [1, 2, 3], criteria=["bic"], random_state=0)
    assert found.values["bic"][1] == pytest.approx(-2 * np.log(densities).sum() + 11 * np.log(80), rel=1e-6)
    assert found.best["bic"] == 2


def test_k_means_has_ten_starts_and_mixtures_three_and_only_pairs_of_rows_are_sampled(monkeypatch):
    starts, seen = {}, []

    class Means(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            starts["means"] = self.n_init
            return super().fit(X)

    class Mixture(GaussianMixture):
        def fit(self, X, y=None):
            starts["mixture"] = self.n_init
            seen.append(len(X))
            return super().fit(X)

    monkeypatch.setattr(cluster_choice, "KMeans", Means)
    monkeypatch.setattr(cluster_choice, "GaussianMixture", Mixture)
    choose_k(blobs(2, 10), [1, 2, 3], random_state=0)
    assert starts == {"means": 10, "mixture": 3} and set(seen) == {20}

    def watched(rows, k):
        seen.append(len(rows))
        return np.arange(len(rows)) % k

    for most, want in ((19, 19), (20, 20), (21, 20)):
        seen.clear()
        choose_k(blobs(2, 10), [1, 2, 3], criteria=["silhouette"], cluster=watched, most_rows=most, random_state=0)
        assert set(seen) == {want}
