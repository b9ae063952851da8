"""k-means: Lloyd's labels, starts, weights, empty clusters, float32, more rows later."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans as ScikitKMeans

from assay import _kernels
from assay.base import AssayError, AssayWarning
from assay.evaluate import adjusted_rand
from assay.models.clustering import KMeans
from assay.models.clustering.k_means import STARTS


def mixture(n: int = 1500, d: int = 5, k: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, d))[rng.integers(k, size=n)] * 1.5 + rng.normal(size=(n, d))


def lloyd(X, centres, weights, steps):
    """Lloyd's algorithm in a few lines, as long as no cluster is empty."""
    for _ in range(steps):
        labels = ((X[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.array(
            [np.average(X[labels == j], axis=0, weights=weights[labels == j]) for j in range(len(centres))]
        )
    return ((X[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1), centres


@pytest.mark.parametrize(("n", "d", "k"), [(1500, 5, 12), (700, 2, 3), (900, 33, 17), (400, 1, 5)])
def test_labels_and_centres_are_those_of_scikit_learn_from_the_same_start(n, d, k):
    X = mixture(n, d, k)
    start = X[np.random.default_rng(1).choice(n, k, replace=False)]
    ours = KMeans(k, init=start, tol=0.0).fit(X)
    theirs = ScikitKMeans(k, init=start, n_init=1, tol=0.0, algorithm="lloyd").fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-10, atol=1e-12)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-10)
    assert ours.n_iter_ == theirs.n_iter_ and ours.converged_


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_every_step_is_lloyds_with_weights(steps):
    X = mixture(600)
    weights = np.random.default_rng(2).uniform(0.2, 3.0, size=600)
    start = X[:12]
    model = KMeans(12, init=start, max_iter=steps, tol=0.0).fit(X, sample_weight=weights)
    labels, centres = lloyd(X, start, weights, steps)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.cluster_centers_, centres, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_change_no_label_and_no_step(seed):
    X = mixture(3000, 4, 30, seed)
    found = [KMeans(30, algorithm=name, random_state=seed).fit(X) for name in ("bounds", "lloyd")]
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    assert found[0].n_iter_ == found[1].n_iter_ > 5


def test_rows_far_from_zero_and_near_ties_get_their_float64_labels():
    rng = np.random.default_rng(3)
    X = 1e6 + rng.integers(0, 4, size=(500, 3)) * 1e-3
    centres = 1e6 + rng.integers(0, 4, size=(9, 3)) * 1e-3
    labels = _kernels.nearest_centres(X, centres, 1)[0]
    np.testing.assert_array_equal(labels, ((X[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1))
    far = np.vstack([X - 1e6, [[1e9, 0.0, 0.0]]])
    labels = _kernels.nearest_centres(far, centres - 1e6, 1)[0]
    np.testing.assert_array_equal(labels, ((far[:, None, :] - (centres - 1e6)) ** 2).sum(axis=2).argmin(axis=1))


def test_inertia_never_rises_and_is_traced():
    X = mixture()
    model = KMeans(12, init="random", n_init=3, random_state=0, trace=True).fit(X)
    for restart in range(3):
        values = [r["values"]["inertia"] for r in model.trace_ if r["values"]["restart"] == restart]
        assert len(values) > 2 and (np.diff(values) <= 1e-12 * values[0]).all()


@pytest.mark.parametrize("init", STARTS)
def test_every_start_finds_clusters_that_lie_apart(init):
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(3), 40)
    X = np.array([[0.0, 0.0], [8.0, 1.0], [16.0, 0.0]])[owner] + rng.normal(size=(120, 2))
    assert adjusted_rand(owner, KMeans(3, init=init, random_state=0).fit(X).labels_) == 1.0


def test_parts_along_the_principal_component_have_equal_weight():
    X = np.arange(12.0)[:, None] * [[3.0, 4.0]]
    model = KMeans(3, init="principal-component", max_iter=1).fit(X)
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), np.array([1.5, 5.5, 9.5]) * 3.0)


def test_restarts_keep_the_least_inertia_and_share_nothing_but_the_pass():
    X = mixture(800, 3, 20)
    several = KMeans(20, init="random", n_init=6, random_state=5, trace=True).fit(X)
    starts = [KMeans(20, init="random", n_init=n, random_state=5).fit(X).inertia_ for n in range(1, 7)]
    assert starts == sorted(starts, reverse=True) and several.inertia_ == starts[-1]


def test_an_empty_cluster_takes_the_row_farthest_from_its_centre():
    X = np.array([[0.0], [0.1], [0.2], [10.0], [10.1], [30.0]])
    start = np.array([[0.1], [12.0], [1000.0]])
    model = KMeans(3, init=start).fit(X)
    assert len(np.unique(model.labels_)) == 3 and model.labels_[5] == 2
    np.testing.assert_allclose(model.cluster_centers_[:, 0], [0.1, 10.05, 30.0])


def test_fewer_different_rows_than_clusters_are_said():
    with pytest.warns(UserWarning, match="only 2 different rows were found for n_clusters=3"):
        model = KMeans(3, random_state=0).fit(np.array([[0.0], [0.0], [1.0], [1.0]]))
    assert model.inertia_ == 0.0


def test_rows_without_weight_have_labels_but_no_influence():
    X = np.vstack([mixture(200, 2, 3), [[1e3, 1e3]]])
    weights = np.r_[np.ones(200), 0.0]
    start = X[:3]
    model = KMeans(3, init=start).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.cluster_centers_, KMeans(3, init=start).fit(X[:200]).cluster_centers_, rtol=1e-12)
    assert model.labels_.shape == (201,)


def test_float32_rows_are_not_widened_and_give_the_labels_of_their_values():
    X = mixture(1000).astype(np.float32)
    start = X[:12].astype(np.float64)
    narrow, wide = (KMeans(12, init=start).fit(rows) for rows in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(narrow.labels_, wide.labels_)
    np.testing.assert_allclose(narrow.cluster_centers_, wide.cluster_centers_, rtol=1e-12)


def test_plus_plus_starts_are_rows_far_apart_and_never_twice_the_same():
    X = np.repeat(np.arange(10.0), 30)[:, None] * 100 + np.tile(np.linspace(0, 1, 30), 10)[:, None]
    chosen = _kernels.plus_plus_starts(X, None, 10, 4, 7, 0, 1)
    assert sorted((X[chosen, 0] // 100).astype(int)) == list(range(10))
    np.testing.assert_array_equal(chosen, _kernels.plus_plus_starts(X, None, 10, 4, 7, 0, 2))


def test_rows_may_come_in_parts():
    X = mixture(2000, 3, 4, seed=8)
    whole = KMeans(4, random_state=0).fit(X)
    parts = KMeans(4, random_state=0)
    for _ in range(3):
        for part in np.array_split(X, 10):
            parts.partial_fit(part)
    assert -parts.score(X) < 1.05 * whole.inertia_
    assert parts.predict(X).shape == (2000,)


def test_score_is_minus_the_inertia_of_the_rows():
    X = mixture(300)
    model = KMeans(4, random_state=0).fit(X)
    assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-12)


def test_errors_say_what_to_do():
    X = mixture(20)
    with pytest.raises(AssayError, match="at least n_clusters=30 rows"):
        KMeans(30).fit(X)
    with pytest.raises(AssayError, match=r"parameter 'init' must be a name or finite centres of shape \(2, 5\)"):
        KMeans(2, init=[[1.0]]).fit(X)


def test_the_view_tells_sizes_and_centres():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        view = KMeans(3, random_state=0).fit(mixture(200, 4, 3)).view()
    assert sum(view.sizes) == 200 and len(view.centres) == 3
    assert view.to_svg().startswith("<svg") and "3 clusters" in view.how_to_read


def test_steps_that_do_not_end_are_said():
    X = mixture(400, 3, 6)
    with pytest.warns(AssayWarning, match="W201.*KMeans: not converged after 1 steps"):
        assert not KMeans(6, max_iter=1, random_state=0).fit(X).converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error", AssayWarning)
        assert KMeans(6, random_state=0).fit(X).converged_
