"""Weights of classes: scikit-learn's balance, one rule for every classifier."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from assay.base import ParameterError, class_factors, refuse_balance, with_class_weights
from assay.models.linear import GradientDescentClassifier, LogisticCV, LogisticRegression, Perceptron
from assay.models.trees import CartClassifier

CLASSES = np.array(["a", "b", "c"])
CODES = np.array([0, 0, 0, 1, 1, 2])


def test_balance_and_dict_are_those_of_scikit_learn():
    for given in ("balanced", {"a": 2.0, "b": 3.0, "c": 4.0}):
        expected = compute_class_weight(given, classes=CLASSES, y=CLASSES[CODES])
        np.testing.assert_allclose(class_factors("fit", given, CLASSES, CODES, None), expected)
    assert class_factors("fit", None, CLASSES, CODES, None) is None


def test_balance_counts_weights_as_repetition_and_only_the_rows_used():
    weights = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 2.0])
    repeated = np.repeat(CODES, weights.astype(int))
    np.testing.assert_allclose(
        class_factors("fit", "balanced", CLASSES, CODES, weights),
        class_factors("fit", "balanced", CLASSES, repeated, None),
    )
    used = np.array([0, 3, 5])
    np.testing.assert_allclose(with_class_weights("fit", "balanced", CLASSES, CODES, None, used), np.ones(6))
    assert with_class_weights("fit", None, CLASSES, CODES, weights) is weights


@pytest.mark.parametrize("weight", [0, -1.0, np.inf, np.nan, "heavy", None])
def test_bad_weights_get_one_sentence(weight):
    with pytest.raises(ParameterError, match=r"^fit: parameter 'class_weight', label 'b', must have a weight > 0"):
        class_factors("fit", {"b": weight}, CLASSES, CODES, None)


def test_unknown_labels_are_named():
    with pytest.raises(ParameterError, match=r"must name labels of y; got 'z'.*y holds 'a', 'b', 'c'"):
        class_factors("fit", {"z": 1.0}, CLASSES, CODES, None)
    with pytest.raises(ParameterError, match="in partial_fit"):
        refuse_balance("fit", "balanced")


MODELS = [
    LogisticRegression(),
    LogisticCV(cv=2, Cs=[1.0]),
    CartClassifier(max_depth=3),
    GradientDescentClassifier(max_iter=50),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_class_weights_are_row_weights_in_every_classifier(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = CLASSES[np.digitize(X[:, 0] + rng.normal(size=90), [0.0, 1.5])]
    factors = {"a": 1.0, "b": 2.0, "c": 5.0}
    each = np.array([factors[label] for label in y])
    by_class = type(model)(**{**model.get_params(), "class_weight": factors}).fit(X, y)
    by_row = type(model)(**model.get_params()).fit(X, y, sample_weight=each)
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize(
    "model", [Perceptron(max_iter=20, random_state=0), GradientDescentClassifier(max_iter=20, random_state=0)], ids=str
)
def test_online_learners_lean_to_the_heavy_class_and_refuse_to_balance_parts(model):
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 0.5])
    y = np.repeat([0, 1], 100)
    shares = []
    for given in ({0: 100.0, 1: 0.01}, {0: 0.01, 1: 100.0}):
        for method in ("fit", "partial_fit"):
            other = type(model)(**{**model.get_params(), "class_weight": given})
            getattr(other, method)(X, y, **({"classes": [0, 1]} if method == "partial_fit" else {}))
            shares.append((other.predict(X) == 1).mean())
    assert max(shares[:2]) < 0.1 and min(shares[2:]) > 0.9
    with pytest.raises(ParameterError, match="in partial_fit"):
        type(model)(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
