"""Principal components: agreement with scikit-learn, reconstruction, distances, and the choice of how many."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA as Peer

from assay.base import AssayError
from assay.prepare import PCA

IRIS = load_iris().data


@pytest.mark.parametrize("shape", [(300, 6), (20, 6), (6, 20)])
@pytest.mark.parametrize("whiten", [False, True])
def test_scores_are_those_of_scikit_learn_up_to_sign(shape, whiten):
    X = np.random.default_rng(0).normal(size=shape) * np.arange(1, shape[1] + 1)
    count = min(shape) - 1
    ours, peer = PCA(n_components=count, whiten=whiten).fit(X), Peer(count, whiten=whiten, svd_solver="full").fit(X)
    np.testing.assert_allclose(ours.explained_variance_, peer.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(ours.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(peer.transform(X)), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(X)),
        X if count == shape[1] else peer.inverse_transform(peer.transform(X)),
        atol=1e-9,
    )


def test_components_are_orthonormal_and_scores_uncorrelated():
    pca = PCA().fit(IRIS)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(np.cov(pca.transform(IRIS).T), np.diag(pca.explained_variance_), atol=1e-12)


def test_the_sign_is_settled_and_the_mirror_image_gives_the_mirror_scores():
    pca, mirror = PCA().fit(IRIS), PCA().fit(-IRIS)
    assert (pca.components_[np.arange(4), np.abs(pca.components_).argmax(axis=1)] > 0).all()
    np.testing.assert_allclose(pca.transform(IRIS), -mirror.transform(-IRIS), atol=1e-10)


def test_choice_of_the_number():
    assert PCA(n_components=0.92).fit(IRIS).n_components_ == 1
    assert PCA(n_components=0.97).fit(IRIS).n_components_ == 2
    assert PCA(n_components="gap").fit(IRIS).n_components_ == 1
    assert PCA(n_components=3).fit(IRIS).n_components_ == 3
    flat = np.column_stack([IRIS, IRIS[:, 0] + IRIS[:, 1]])
    assert PCA().fit(flat).n_components_ == 4
    with pytest.raises(AssayError, match="must be at most 4"):
        PCA(n_components=5).fit(IRIS)


def test_correlation_does_not_depend_on_units():
    scaled = IRIS * [1, 1000, 1e-3, 5] + 7
    a, b = PCA(matrix="correlation").fit(IRIS), PCA(matrix="correlation").fit(scaled)
    np.testing.assert_allclose(a.transform(IRIS), b.transform(scaled), atol=1e-9)
    np.testing.assert_allclose(a.explained_variance_, np.linalg.eigvalsh(np.corrcoef(IRIS.T))[::-1], rtol=1e-10)


def test_reconstruction_error_is_the_variance_left_out():
    pca = PCA(n_components=2).fit(IRIS)
    left = pca.variances_[2:].sum() * (len(IRIS) - 1)
    assert pca.reconstruction_error(IRIS).sum() == pytest.approx(left)
    rebuilt = pca.inverse_transform(pca.transform(IRIS))
    np.testing.assert_allclose(((IRIS - rebuilt) ** 2).sum(axis=1), pca.reconstruction_error(IRIS), atol=1e-12)


def test_mahalanobis_distance_in_all_components_is_that_of_the_covariance():
    pca = PCA().fit(IRIS)
    inverse = np.linalg.inv(np.cov(IRIS.T))
    centred = IRIS - IRIS.mean(axis=0)
    np.testing.assert_allclose(pca.mahalanobis(IRIS), np.einsum("ij,jk,ik->i", centred, inverse, centred), rtol=1e-8)


def test_distances_of_gaussian_rows_hold_their_level():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(4000, 5)) @ rng.normal(size=(5, 5))
    far = PCA(n_components=3).fit(X).distances(X, alpha=0.05)
    assert abs((far.mahalanobis > far.limit).mean() - 0.05) < 0.015
    assert far.limit == pytest.approx(scipy.stats.chi2.isf(0.05, 3))
    assert scipy.stats.kstest(far.p_value, "uniform").pvalue > 0.001
    with pytest.raises(AssayError, match="alpha"):
        PCA().fit(X).distances(X, alpha=0)


def test_views_are_svg_and_tables():
    pca = PCA(n_components=0.9).fit(load_digits().data)
    scree = pca.scree()
    assert scree.to_svg().startswith("<svg") and "<table>" in scree._repr_html_() and str(scree).count("\n") > 10
    assert scree.cumulative[-1] == pytest.approx(1)
    outliers = pca.distances(load_digits().data)
    assert outliers.to_svg().count("<rect") >= 1700 and outliers._repr_html_() == outliers.to_svg()
    assert "principal components of 64 columns" in pca.explain()[0]


def test_weights_are_repetition():
    weights = np.random.default_rng(0).integers(0, 3, size=len(IRIS))
    a = PCA(n_components=2, matrix="correlation").fit(IRIS, sample_weight=weights)
    b = PCA(n_components=2, matrix="correlation").fit(np.repeat(IRIS, weights, axis=0))
    np.testing.assert_allclose(a.components_, b.components_, atol=1e-10)
    np.testing.assert_allclose(a.explained_variance_, b.explained_variance_)


def test_views_are_records_with_one_drawing():
    pytest.importorskip("matplotlib").use("Agg")
    X = load_iris().data
    model = PCA().fit(X)
    for view in (model.scree(), model.distances(X)):
        assert set(view.to_dict()) == set(view.__dataclass_fields__)
        assert view.to_svg() in view._repr_html_() and "| --- |" in view.to_markdown()
        assert len(view.plot().patches) + len(view.plot().lines) > 3
    scree, distances = model.scree(), model.distances(X)
    assert str(scree).splitlines()[1].startswith("1 *") and len(scree.grid().rows) == 4
    beyond = [int(line[0]) for line in distances.grid().rows]
    assert sorted(beyond) == np.flatnonzero(distances.mahalanobis > distances.limit).tolist()
