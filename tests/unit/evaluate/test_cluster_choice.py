"""The choice of K: criteria agree on five blobs, pictures, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base import AssayError
from assay.evaluate import choose_k
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
