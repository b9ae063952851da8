"""LDA and QDA against R's MASS on the wine table (see make_discriminants.R), and leave-one-out against its CV = TRUE.

RDA against the definition of klaR's rda, computed in R (see make_rda.R).

`method = "mle"` divides by the number of rows; R's lda with CV = TRUE keeps the priors of all rows.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_wine

from assay.models.bayes import LDA, QDA, RDA
from assay.numeric.class_scatter import ClassScatter

RDA_TOLD = json.loads((Path(__file__).parent / "rda.json").read_text())
TOLD = json.loads((Path(__file__).parent / "discriminants.json").read_text())
X, y = load_wine(return_X_y=True)


@pytest.mark.parametrize("name", ["lda", "lda equal", "lda mle", "qda", "qda equal", "qda mle"])
def test_posteriors_equal_those_of_mass(name):
    method, *option = name.split()
    model = {"lda": LDA, "qda": QDA}[method](
        priors="equal" if option == ["equal"] else None, unbiased=option != ["mle"]
    ).fit(X, y)
    # MASS takes the smallest posteriors from differences of large numbers.
    np.testing.assert_allclose(model.predict_proba(X[TOLD["rows"]]), TOLD[name], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(("place", "corner"), [(0, {"alpha": 0.0, "beta": 1.0}), (1, {"alpha": 0.0, "beta": 0.0})])
def test_leave_one_out_of_rda_at_its_corners_equals_that_of_mass(place, corner):
    shares = np.bincount(y) / len(y)
    model = RDA(**corner, priors=shares).fit(X, y)
    sums = ClassScatter.of(X, y.astype(np.int32), 3, None, kind="full")
    error = model._left_out(sums, lambda: (X, y, None), corner["beta"], np.zeros(1))[0]
    assert error == pytest.approx(TOLD["squared error of leave-one-out"][place], rel=1e-6)


@pytest.mark.parametrize(
    ("gamma", "share", "shares"),
    [
        ("0", "0", (0.0, 0.0)),
        ("0", "0.3", (0.0, 0.3)),
        ("0", "0.8", (0.0, 0.8)),
        ("0", "1", (0.0, 1.0)),
        ("0.25", "1", (0.25, 0.75)),
        ("0.6", "1", (0.6, 0.4)),
    ],
)
def test_posteriors_of_rda_are_those_of_its_definition_in_klar(gamma, share, shares):
    """klaR's gamma and lambda are alpha = gamma, beta = (1 - gamma) lambda here where both have one sphere: without it
    (gamma = 0), or where it is that of the pooled covariance (lambda = 1)."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    model = RDA(alpha=shares[0], beta=shares[1]).fit(Z, y)
    found = model.predict_proba(Z[RDA_TOLD["rows"]])
    np.testing.assert_allclose(found, RDA_TOLD[f"{gamma} {share}"], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(("gamma", "share"), [(0.25, 0.4), (0.6, 0.0)])
def test_elsewhere_klar_has_a_sphere_for_each_class_and_gives_the_same_classes(gamma, share):
    """Its sphere is the mean variance of the class after mixing, ours that of all classes."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    told = np.array(RDA_TOLD[f"{gamma:g} {share:g}"])
    model = RDA(alpha=gamma, beta=(1 - gamma) * share).fit(Z, y)
    found = model.predict_proba(Z[RDA_TOLD["rows"]])
    np.testing.assert_array_equal(found.argmax(axis=1), told.argmax(axis=1))
    assert 1e-6 < np.abs(found - told).max() < 0.2
    # With its own sphere it is the same.
    own, pooled = QDA().fit(Z, y), LDA().fit(Z, y).covariance_[0]
    scores = []
    for k in range(3):
        mixed = (1 - share) * own.covariance_[k] + share * pooled
        mixed = (1 - gamma) * mixed + gamma * np.diag(mixed).mean() * np.eye(13)
        apart = Z[RDA_TOLD["rows"]] - own.means_[k]
        form = np.einsum("ij,jk,ik->i", apart, np.linalg.inv(mixed), apart)
        scores.append(np.log(own.priors_[k]) - 0.5 * (np.linalg.slogdet(mixed)[1] + form))
    np.testing.assert_allclose(softmax(np.array(scores).T, axis=1), told, rtol=1e-7, atol=1e-12)
