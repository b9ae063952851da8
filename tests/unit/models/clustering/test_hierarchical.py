"""Hierarchies: SciPy's merges, ties, cuts, inversions, given distances, memory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform

from assay import _kernels
from assay.base import AssayError, CostError, config
from assay.evaluate import adjusted_rand
from assay.models.clustering import Hierarchical
from assay.models.clustering.hierarchical import _CODES, LINKAGES
from assay.numeric.distances import get

X = np.random.default_rng(0).normal(size=(300, 4))


@pytest.mark.parametrize("name", LINKAGES)
@pytest.mark.parametrize("d", [1, 4, 11])
def test_merges_are_those_of_scipy_on_rows_without_ties(name, d):
    rows = np.random.default_rng(d).normal(size=(250, d))
    ours, theirs = Hierarchical(linkage=name).fit(rows).merges_, linkage(rows, name)
    np.testing.assert_allclose(ours[:, 2:], theirs[:, 2:], rtol=1e-9)
    np.testing.assert_array_equal(ours[:, :2], np.sort(theirs[:, :2], axis=1))


@pytest.mark.parametrize(("metric", "p"), [("manhattan", 2.0), ("chebyshev", 2.0), ("minkowski", 3.0), ("cosine", 2.0)])
@pytest.mark.parametrize("name", ["single", "complete", "average", "weighted"])
def test_other_metrics(metric, p, name):
    names = {"manhattan": "cityblock"}
    options = {"p": p} if metric == "minkowski" else {}
    theirs = linkage(pdist(X, names.get(metric, metric), **options), name)
    ours = Hierarchical(linkage=name, metric=metric, p=p).fit(X)
    np.testing.assert_allclose(ours.heights_, theirs[:, 2], rtol=1e-7, atol=1e-12)
    assert adjusted_rand(fcluster(theirs, 7, "maxclust"), ours.cut(7)) == 1.0


@pytest.mark.parametrize("name", ["complete", "average", "weighted"])
@pytest.mark.parametrize("ties", [False, True])
def test_lines_made_one_by_one_give_the_merges_of_the_whole_square(name, ties):
    rows = np.random.default_rng(5).normal(size=(900, 3))
    rows = np.round(2 * rows) if ties else rows
    square = _kernels.distance_square(rows, get("euclidean").code, 2.0, False, 1)
    whole = _kernels.matrix_linkage(square, _CODES[name])
    for threads in (1, 2):
        found = Hierarchical(2, linkage=name, n_jobs=threads).fit(rows).merges_
        np.testing.assert_array_equal(found, whole)


@pytest.mark.parametrize("name", [n for n in LINKAGES if n != "ward"])
def test_given_distances(name):
    square = squareform(pdist(X))
    found = Hierarchical(3, linkage=name, metric="precomputed").fit(square)
    np.testing.assert_allclose(found.heights_, Hierarchical(3, linkage=name).fit(X).heights_, rtol=1e-9)
    with pytest.raises(AssayError, match="must be a square of distances"):
        Hierarchical(metric="precomputed", linkage="average").fit(square[:, :5])


@pytest.mark.parametrize("name", LINKAGES)
def test_cuts_by_number_and_height(name):
    model = Hierarchical(5, linkage=name).fit(X)
    assert len(np.unique(model.labels_)) == 5
    if name in ("centroid", "median"):
        return
    np.testing.assert_array_equal(model.cut(height=model.heights_[-5]), model.labels_)
    by_height = Hierarchical(None, distance_threshold=float(model.heights_[-5]), linkage=name).fit(X)
    np.testing.assert_array_equal(by_height.labels_, model.labels_)
    assert adjusted_rand(fcluster(model.merges_, 5, "maxclust"), model.labels_) == 1.0
    with pytest.raises(AssayError, match="one of 'n_clusters' and 'height'"):
        model.cut()


def test_ties_are_broken_by_the_smaller_number_whatever_the_linkage():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    for name in ("single", "complete", "average", "weighted", "ward"):
        merges = Hierarchical(linkage=name).fit(square).merges_
        assert merges[0].tolist() == [0.0, 1.0, 1.0, 2.0] and merges[1, 2] == 1.0


def test_a_centroid_inversion_is_told_and_drawn_below_its_parts():
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])
    model = Hierarchical(1, linkage="centroid").fit(triangle)
    np.testing.assert_allclose(model.heights_, [1.0, 0.9])
    view = model.view()
    assert view.inversions() == 1 and "inversions" in view.how_to_read
    # The bracket of the second merge lies lower (a larger y) than that of the first.
    across = [part for part in view.to_svg().split("<line")[1:] if 'stroke-width="1.5"' in part]
    levels = [float(p.split('y1="')[1].split('"')[0]) for p in across if p.split('y1="')[1].split('"')[0] == p.split('y2="')[1].split('"')[0]]  # fmt: skip  # noqa: E501
    assert len(levels) == 2 and levels[1] > levels[0]


def test_the_dendrogram_shows_every_row_of_a_small_table_and_the_top_of_a_large_one():
    small = Hierarchical(2).fit(X[:12]).view()
    svg = small.to_svg()
    assert all(f">{row}<" in svg for row in range(12)) and small.inversions() == 0
    large = Hierarchical(2).fit(X).view()
    assert len(large.grid().rows) == 40 and "last 40 of 299 merges" in large.to_svg()
    assert Hierarchical(1).fit(X[:1]).view().to_svg().startswith("<svg")


def test_the_square_of_distances_is_announced_and_ward_needs_none():
    with config.use(max_bytes=1e6):
        with pytest.raises(CostError, match="use linkage='ward' or 'single'"):
            Hierarchical(linkage="average").fit(np.zeros((1000, 2)) + np.arange(1000)[:, None])
        assert Hierarchical(linkage="ward").fit(X).labels_.shape == (300,)


def test_choices_that_do_not_go_together():
    with pytest.raises(AssayError, match="'ward' needs metric='euclidean'"):
        Hierarchical(metric="manhattan").fit(X)
    with pytest.raises(AssayError, match="must be given, or be None with a distance_threshold"):
        Hierarchical(None).fit(X)
    with pytest.raises(AssayError, match="at least n_clusters=9 rows"):
        Hierarchical(9).fit(X[:4])


@pytest.mark.parametrize("columns", [1, 5])
def test_single_linkage_of_many_equal_distances_is_that_of_scipy(columns):
    """Rows on a grid, repeated rows among them; a sweep for few rows, boxes for more."""
    X = np.random.default_rng(7).integers(0, 9, size=(1100, columns)).astype(float)
    for rows in (X[:2], X[:300], X[:1000], X):
        wanted = linkage(rows, "single")
        np.testing.assert_array_equal(Hierarchical(linkage="single").fit(rows).heights_, wanted[:, 2])
    far = np.array([[0.0], [1e200], [-1e200]])  # whose squares float64 does not hold
    assert _kernels.spanning_hierarchy(far, None, get("euclidean").code, 2.0, False, 1).shape == (2, 4)
