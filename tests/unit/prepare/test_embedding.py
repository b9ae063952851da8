"""Embedding: distances are kept, wide tables give the scores of PCA, new rows fall where they belong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.decomposition import PCA as Peer

from assay.base import AssayError
from assay.prepare import Embedding

WIDE = np.random.default_rng(0).normal(size=(12, 200))


def test_a_wide_table_gives_the_scores_of_pca():
    ours, peer = Embedding(n_components=4).fit_transform(WIDE), Peer(4).fit_transform(WIDE)
    np.testing.assert_allclose(np.abs(ours), np.abs(peer), atol=1e-9)


def test_all_dimensions_keep_every_distance():
    step = Embedding(n_components=None).fit(WIDE)
    np.testing.assert_allclose(pdist(step.embedding_), pdist(WIDE), rtol=1e-9)
    assert step.stress_ < 1e-7 and step.negative_share_ < 1e-12 and "off by 0.0%" in step.explain()[0]


@pytest.mark.parametrize("kind", ["table", "distances", "similarities"])
def test_the_three_inputs_agree_and_new_rows_fall_where_they_belong(kind):
    X, new = WIDE[:8, :5], WIDE[8:, :5]
    centre = X.mean(axis=0)
    given = {
        "table": (X, new),
        "distances": (squareform(pdist(X)), cdist(new, X)),
        "similarities": ((X - centre) @ (X - centre).T, (new - centre) @ (X - centre).T),
    }[kind]
    step = Embedding(n_components=5, input=kind).fit(given[0])
    np.testing.assert_allclose(step.transform(given[0]), step.embedding_, atol=1e-9)
    np.testing.assert_allclose(cdist(step.transform(given[1]), step.embedding_), cdist(new, X), rtol=1e-8)


def test_distances_that_are_not_euclidean_are_noticed():
    odd = np.array([[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0.0]])
    assert Embedding(input="distances").fit(odd).negative_share_ > 0.01


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.ones((2, 3)), "must be square"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), "must be symmetric"),
        (np.array([[1.0, 1.0], [1.0, 1.0]]), "zero from a row to itself"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "not negative"),
    ],
)
def test_what_are_no_distances_is_refused(given, words):
    with pytest.raises(AssayError, match=words):
        Embedding(input="distances").fit(given)
