"""Fitting many times: seeds that depend on the stream alone, and scores of models that lack a class."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from assay.base import Stream, UsageError
from assay.evaluate.fits import choose_metric, score_model, seeded
from assay.evaluate.metrics import get_metric


def test_open_seeds_are_set_from_the_stream_and_given_ones_kept():
    learner = make_pipeline(StandardScaler(), BaggingClassifier(DecisionTreeClassifier(random_state=5)))
    first, again, other = (seeded(learner, Stream.of(seed)).get_params() for seed in (1, 1, 2))
    assert first["baggingclassifier__random_state"] == again["baggingclassifier__random_state"]
    assert first["baggingclassifier__random_state"] != other["baggingclassifier__random_state"]
    assert first["baggingclassifier__estimator__random_state"] == 5
    assert learner.get_params()["baggingclassifier__random_state"] is None


def test_settings_are_applied():
    assert seeded(DecisionTreeClassifier(), Stream.of(0), max_depth=3).max_depth == 3


def test_a_class_unseen_in_training_has_probability_zero():
    X = np.arange(6.0)[:, None]
    model = GaussianNB().fit(X[:4], [0, 0, 1, 1])
    loss = score_model(model, get_metric("log_loss"), X, np.array([0, 0, 1, 1, 2, 2]))
    assert loss == pytest.approx(-np.log(np.finfo(float).eps) / 3, rel=0.05)


def test_a_metric_of_probabilities_needs_them():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    with pytest.raises(UsageError, match="needs predict_proba"):
        score_model(LinearSVC().fit(X, y), get_metric("log_loss"), X, y)


def test_the_metric_follows_the_task():
    assert choose_metric("test", GaussianNB(), None).name == "accuracy"
    assert choose_metric("test", GaussianNB(), "f1_macro").name == "f1_macro"
