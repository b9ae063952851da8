"""Kernel k-means: k-means for the linear kernel, rings, the objective, new rows, memory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial import cKDTree

from assay import _kernels
from assay.base import AssayWarning, CostError, DataError, config
from assay.data import generators
from assay.evaluate import adjusted_rand
from assay.models.clustering import KernelKMeans, KMeans, KMedians
from assay.models.graphs import Graph
from assay.numeric.kernels import Function, Gaussian, Linear


def test_the_linear_kernel_is_k_means():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 1.0, (60, 3)) for m in (0, 4, 8)])
    ours = KernelKMeans(3, kernel="linear", random_state=0).fit(X)
    plain = KMeans(3, n_init=5, random_state=0).fit(X)
    assert adjusted_rand(plain.labels_, ours.labels_) == 1.0
    assert ours.inertia_ == pytest.approx(plain.inertia_, rel=1e-6)


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_the_origin_does_not_matter_to_the_linear_kernel(offset):
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(m, 1.0, (30, 2)) for m in (0, 8)])
    here, far = (KernelKMeans(2, kernel="linear", random_state=0).fit(X + at) for at in (0, offset))
    assert far.inertia_ == pytest.approx(here.inertia_, rel=1e-6) and (far.predict(X + offset) == far.labels_).all()
    assert adjusted_rand(far.labels_, here.labels_) == 1.0


@pytest.mark.parametrize(("times", "offset", "words"), [(1e80, 0, "overflow"), (1.0, 1e9, "last digits")])
def test_kernel_values_without_digits_are_refused(times, offset, words):
    X = np.random.default_rng(2).normal(size=(40, 2)) * times + offset
    with pytest.raises(DataError, match=words):
        KernelKMeans(2, kernel="polynomial", random_state=0).fit(X)


def test_too_few_different_rows_are_told():
    X = np.repeat([[0.0, 0.0], [5.0, 1.0]], 6, axis=0)
    for clusterer in (KernelKMeans(3, random_state=0), KMedians(3, random_state=0)):
        with pytest.warns(AssayWarning, match=f"W206.*{type(clusterer).__name__}: only 2 different rows"):
            labels = clusterer.fit(X).labels_
        assert len(set(labels)) == 2 and adjusted_rand(labels, np.repeat([0, 1], 6)) == 1.0


def test_rings_where_k_means_fails():
    frame = generators.circles(300, noise=0.04, random_state=0).frame
    X, owner = frame[:, :2].to_numpy(), frame[:, 2].to_numpy()
    radius = Function(lambda a, b: (a**2).sum(axis=1)[:, None] * (b**2).sum(axis=1))
    assert adjusted_rand(owner, KernelKMeans(2, kernel=radius, random_state=0).fit(X).labels_) > 0.95
    assert adjusted_rand(owner, KMeans(2, random_state=0).fit(X).labels_) < 0.1


@pytest.mark.parametrize("shape", ["moons", "circles"])
def test_the_heat_kernel_of_near_rows_finds_shapes_where_k_means_fails(shape):
    """exp(-t L) of the graph of near rows: rows are alike if heat flows between them."""
    frame = getattr(generators, shape)(300, noise=0.04, random_state=0).frame
    X, owner = frame[:, :2].to_numpy(), frame[:, 2].to_numpy()
    heat = expm(-20.0 * Graph.of_rows(X, "knn", n_neighbors=8, weighted=False).laplacian().toarray())
    places = cKDTree(X)
    kernel = Function(lambda a, b: heat[np.ix_(places.query(a)[1], places.query(b)[1])])
    model = KernelKMeans(2, kernel=kernel, random_state=0).fit(X)
    assert adjusted_rand(owner, model.labels_) > 0.99
    assert adjusted_rand(owner, KMeans(2, random_state=0).fit(X).labels_) < 0.4
    np.testing.assert_array_equal(model.predict(X + 1e-9), model.labels_)


def test_the_objective_never_rises_and_kernels_add():
    X = np.random.default_rng(2).normal(size=(150, 2))
    model = KernelKMeans(4, kernel=Gaussian(gamma=0.5) + 0.1 * Linear(), n_init=2, random_state=0, trace=True).fit(X)
    for restart in range(2):
        values = [r["values"]["inertia"] for r in model.trace_ if r["values"]["restart"] == restart]
        assert (np.diff(values) <= 1e-9).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_the_kernel_matrix_is_announced():
    X = np.random.default_rng(0).normal(size=(2100, 1))
    with config.use(max_bytes=1e6):
        for kernel, rows in (("gaussian", X[:2000]), ("polynomial", X)):
            with pytest.raises(CostError, match="use k-means or dbscan"):
                KernelKMeans(2, kernel=kernel).fit(rows)
        KernelKMeans(2, n_init=1, random_state=0).fit(X)  # lines made anew need none


@pytest.mark.parametrize("shape", [(2050, 3), (2300, 16)])
def test_lines_made_anew_are_those_of_the_matrix(shape):
    rng = np.random.default_rng(3)
    X, share = rng.normal(size=shape), rng.integers(0, 3, shape[0]).astype(float)
    kernel = Gaussian(gamma=0.2)
    starts = np.stack([rng.choice(shape[0], 9, replace=False) for _ in range(2)])
    kept = _kernels.kernel_k_means(kernel(X), share, starts, 40, True, 2)
    for threads in (1, 3):
        anew = _kernels.gaussian_k_means(X, 0.2, share, starts, 40, True, threads)
        np.testing.assert_array_equal(kept[0], anew[0])
        np.testing.assert_array_equal(kept[1], anew[1])
        assert kept[2] == anew[2]


def test_rows_that_the_gaussian_kernel_cannot_tell_apart_are_refused():
    X = np.random.default_rng(4).normal(size=(2100, 2))
    for rows in (X, X[:100]):
        with pytest.raises(DataError, match="last digits"):
            KernelKMeans(2, gamma=1e-12, random_state=0).fit(rows)


def plain_kernel_k_means(gram: np.ndarray, share: np.ndarray, start: np.ndarray, steps: int = 100) -> np.ndarray:
    """The definition, with every product made anew."""
    own, k = np.diag(gram), len(start)
    labels = (own[:, None] - 2 * gram[:, start] + own[start]).argmin(axis=1)
    for _ in range(steps):
        groups = np.eye(k)[labels] * share[:, None]
        groups /= groups.sum(axis=0)
        products = gram @ groups
        away = own[:, None] - 2 * products + (groups * products).sum(axis=0)
        if (away.argmin(axis=1) == labels).all():
            return labels
        labels = away.argmin(axis=1)
    raise AssertionError("no end")


def test_sums_that_follow_the_rows_that_moved_are_those_made_anew():
    """More rows than a strip, more steps than between two fresh sums."""
    rng = np.random.default_rng(0)
    X, share = rng.normal(size=(1500, 2)), rng.random(1500)
    gram = Gaussian(gamma=0.3)(X)
    starts = np.stack([rng.choice(1500, 12, replace=False) for _ in range(3)])
    labels, norms, ends = _kernels.kernel_k_means(gram, share, starts, 500, False, 1)
    assert max(end[1] for end in ends) > 32 and all(end[2] for end in ends)
    for r in range(3):
        np.testing.assert_array_equal(labels[r], plain_kernel_k_means(gram, share, starts[r], 500))
        groups = np.eye(12)[labels[r]] * share[:, None]
        groups /= groups.sum(axis=0)
        np.testing.assert_allclose(norms[r], (groups * (gram @ groups)).sum(axis=0), rtol=1e-10)
    again = _kernels.kernel_k_means(gram, share, starts, 500, False, 3)
    np.testing.assert_array_equal(labels, again[0])
    np.testing.assert_array_equal(norms, again[1])


def test_steps_that_run_out_are_told_and_the_inertia_is_that_of_the_labels():
    X = np.random.default_rng(2).normal(size=(300, 2))
    with pytest.warns(AssayWarning, match="W201.*KernelKMeans: not converged after 1 steps"):
        model = KernelKMeans(5, kernel="linear", max_iter=1, n_init=1, random_state=0).fit(X)
    means = np.stack([X[model.labels_ == c].mean(axis=0) for c in range(5)])
    assert not model.converged_
    assert model.inertia_ == pytest.approx(((X - means[model.labels_]) ** 2).sum())


def test_an_empty_cluster_takes_the_farthest_row():
    X = np.array([[0.0], [0.1], [0.2], [0.3], [9.0]])
    labels, _, ends = _kernels.kernel_k_means(X @ X.T, None, np.array([[0, 0]]), 100, False, 1)
    assert labels[0].tolist() == [0, 0, 0, 0, 1] and ends[0][2]
