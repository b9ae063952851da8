"""Reductions, quantiles and distances agree with R 4.2 (facts with their script beside this file).

Directions are compared without their signs, which R leaves to chance.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from assay.data import load_dataset
from assay.prepare import PCA, Embedding, FactorAnalysis, LDAProjection, Outliers

FACTS = json.loads((Path(__file__).parent / "reductions.json").read_text())
FACTORS = FACTS.pop("factanal")
R = {name: np.array(value) for name, value in FACTS.items() if isinstance(value, list)}
TABLES = {
    name: load_dataset(name).frame.drop(target).to_numpy()
    for name, target in (("wine", "cultivar"), ("iris", "species"), ("diabetes", "progression"))
}
ROWS = [0, 59, 177]


def assert_alike(ours: np.ndarray, theirs: np.ndarray, rtol: float = 1e-8) -> None:
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), rtol=rtol, atol=rtol * np.abs(theirs).max())


@pytest.mark.parametrize("matrix", ["covariance", "correlation"])
def test_principal_components_are_those_of_prcomp(matrix):
    X = TABLES["wine"]
    pca = PCA(matrix=matrix).fit(X)
    assert_alike(np.sqrt(pca.explained_variance_), R[f"prcomp_{matrix}_sdev"])
    assert_alike(pca.components_[:3].T, R[f"prcomp_{matrix}_rotation"])
    assert_alike(pca.transform(X)[ROWS, :3], R[f"prcomp_{matrix}_scores"])
    if matrix == "correlation":
        assert_alike(np.sqrt(pca.explained_variance_), R["princomp_correlation_sdev"])


def test_mahalanobis_distances_are_those_of_r():
    X, rows = TABLES["wine"], [0, 59, 121, 177]
    assert_alike(PCA().fit(X).mahalanobis(X)[rows], R["mahalanobis"])
    assert Outliers(method="mahalanobis", threshold=0.999).fit(X).flagged_ == R["mahalanobis_over"][0]


@pytest.mark.parametrize("table", ["wine", "iris"])
def test_discriminants_are_those_of_lda_in_mass(table):
    target = load_dataset(table).frame[{"wine": "cultivar", "iris": "species"}[table]].to_numpy()
    fisher = LDAProjection().fit(TABLES[table], target)
    assert_alike(fisher.components_.T, R[f"lda_{table}_scaling"])
    squared = R[f"lda_{table}_svd"] ** 2
    assert_alike(fisher.explained_variance_ratio_, squared / squared.sum())


@pytest.mark.parametrize(("metric", "name"), [("euclidean", "cmdscale"), ("cityblock", "cmdscale_manhattan")])
def test_places_are_those_of_cmdscale(metric, name):
    """Manhattan distances are not Euclidean: the negative eigenvalues are told, as R's goodness of fit tells them."""
    found = Embedding(n_components=2, input="distances").fit(squareform(pdist(TABLES["iris"], metric)))
    assert_alike(found.embedding_[[0, 50, 100, 149]], R[f"{name}_points"])
    assert_alike(found.eigenvalues_, R[f"{name}_eig"][:2])
    first, second = R[f"{name}_gof"]
    assert found.negative_share_ == pytest.approx(1 - first / second, abs=1e-9)


def test_bounds_are_quantiles_of_type_seven():
    X = TABLES["wine"]
    low, first, third, high = R["quantiles_type7"]
    tails = Outliers(method="percentile", threshold=0.01).fit(X)
    assert_alike(np.stack([tails.low_, tails.high_]), np.stack([low, high]), 1e-12)
    fences = Outliers(method="iqr", threshold=1.5).fit(X)
    assert_alike(fences.high_, third + 1.5 * (third - first), 1e-12)


@pytest.mark.parametrize(
    ("case", "table", "k"), [("wine_3", "wine", 3), ("wine_1", "wine", 1), ("diabetes_2", "diabetes", 2)]
)
def test_factors_are_those_of_factanal(case, table, k):
    """R stops at 1e-6 of the uniquenesses; diabetes_2 has one at its lower bound, 0.005 there as here."""
    X = TABLES[table]
    facts = {name: np.array(value) for name, value in FACTORS[case].items()}
    ours = FactorAnalysis(n_components=k).fit(X)
    np.testing.assert_allclose(ours.noise_variance_ / X.var(axis=0), facts["uniquenesses"], atol=3e-6)
    assert_alike(ours.components_ / X.std(axis=0), facts["loadings"].T, 3e-6)
    assert_alike(ours.transform(X)[ROWS], facts["scores"] * np.sqrt(len(X) / (len(X) - 1)), 3e-6)
    turned = facts["varimax"].T
    turned = turned[np.argsort(-(turned**2).sum(axis=1))]
    assert_alike(FactorAnalysis(n_components=k, rotation="varimax").fit(X).components_ / X.std(axis=0), turned, 3e-6)
