"""Regularised discriminants: the corners, the formula, leave-one-out without refitting, and what it chooses."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from assay.base import ParameterError
from assay.data import load_dataset
from assay.experiment import Plan, run
from assay.models.bayes import LDA, QDA, RDA, NearestMean
from assay.numeric.class_scatter import ClassScatter

X, y = load_wine(return_X_y=True)


@pytest.mark.parametrize(
    ("corner", "other"),
    [
        ({"alpha": 0.0, "beta": 0.0}, QDA()),
        ({"alpha": 0.0, "beta": 1.0}, LDA()),
        ({"alpha": 1.0, "beta": 0.0, "priors": "equal"}, NearestMean()),
    ],
)
def test_rda_at_its_corners_is_qda_lda_and_nearest_mean(corner, other):
    np.testing.assert_allclose(
        RDA(**corner).fit(X, y).predict_proba(X), other.fit(X, y).predict_proba(X), rtol=1e-8, atol=1e-12
    )


def test_rda_covariances_are_the_mixture_of_the_formula():
    rows, labels = load_iris(return_X_y=True)
    model = RDA(alpha=0.2, beta=0.3).fit(rows, labels)
    own = np.array([np.cov(rows[labels == k].T) for k in range(3)])
    pooled = own.mean(axis=0)
    sphere = np.trace(pooled) / 4 * np.eye(4)
    np.testing.assert_allclose(model.covariance_, 0.2 * sphere + 0.3 * pooled + 0.5 * own, rtol=1e-10)


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.3), (0.0, 0.0), (1.0, 0.0), (0.5, 0.5)])
def test_leave_one_out_without_refitting_equals_refits(alpha, beta):
    rows, labels = load_iris(return_X_y=True)
    rows, labels = rows[::5].copy(), labels[::5]
    weights = 1.0 + np.arange(len(labels)) % 2
    model = RDA(alpha=alpha, beta=beta).fit(rows, labels, weights)
    sums = ClassScatter.of(rows, labels.astype(np.int32), 3, weights, kind="full")
    mix = beta / (1 - alpha) if alpha < 1 else 0.0
    error = model._left_out(sums, lambda: (rows, labels, weights), mix, np.array([alpha]))[0]
    total = 0.0
    for row in range(len(labels)):
        others = weights - (np.arange(len(labels)) == row)
        p = RDA(alpha=alpha, beta=beta).fit(rows, labels, others).predict_proba(rows[row : row + 1])[0]
        p[labels[row]] -= 1.0
        total += weights[row] * (p @ p)
    assert error == pytest.approx(total / weights.sum(), rel=1e-8)


def test_rda_chooses_qda_where_classes_differ_and_spheres_where_rows_are_few():
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 2
    rows = rng.normal(size=(600, 4)) * np.where(labels[:, None], 3.0, 1.0)
    model = RDA().fit(rows, labels)
    assert model.chosen()["alpha"] + model.chosen()["beta"] < 0.3
    few = rng.normal(size=(30, 20)) + 0.8 * (np.arange(30) % 2)[:, None]
    assert RDA().fit(few, np.arange(30) % 2).alpha_ > 0.4
    assert RDA(alpha=0.25).fit(X, y).alpha_ == 0.25
    assert RDA(beta=0.5).fit(X, y).beta_ == 0.5 and RDA(beta=0.5).fit(X, y).alpha_ <= 0.5
    with pytest.raises(ParameterError, match="must not sum to more than 1"):
        RDA(alpha=0.7, beta=0.7).fit(X, y)


def test_a_comparison_keeps_what_the_folds_chose():
    results = run(Plan(load_dataset("iris"), "species", learners=["rda"], design="3-fold"))
    assert results.choices().height == 3 and {"alpha", "beta"} <= set(results.choices().columns)
    given = run(Plan(load_dataset("iris"), "species", learners=[("rda", {"alpha": 0.1, "beta": 0.5})], design="3-fold"))
    assert given.choices().height == 0
