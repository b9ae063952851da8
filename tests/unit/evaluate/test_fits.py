"""Fitting many times: seeds that depend on the stream alone, and scores of models that lack a class."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from assay.base import DataError, ParameterError, Stream, UsageError
from assay.evaluate.fits import choose_metric, fit_rows, read_target, run_all, score_folds, score_model, seeded
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


# -- targets --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "y",
    [[0, 1, 1], [0.5, 1.5, -2.0], ["a", "b", "a"], np.array(["a", "b", "a"], dtype=object), [True, False, True]],
)
@pytest.mark.parametrize("X", [np.zeros((3, 2)), [[0.0], [1.0], [2.0]]])
def test_a_target_with_one_value_per_row_is_read_as_it_is(X, y):
    assert read_target("test", X, y, True).tolist() == list(y)


def test_targets_of_several_columns_are_read_and_two_rows_are_enough():
    assert read_target("test", np.zeros((2, 1)), [[1.0, 2.0], [3.0, 4.0]], False).shape == (2, 2)


@pytest.mark.parametrize(
    ("n", "y", "words"),
    [
        (3, [0, 1], "same number of rows; got 3 and 2"),
        (3, 7, "same number of rows; got 3 and one value"),
        (1, [0], "at least 2 rows; got 1"),
        (4, [0.0, 1.0, np.nan, np.inf], "must be finite; first missing or infinite value at row 2"),
        (3, [[0.0, 1.0], [0.0, np.inf], [np.nan, 0.0]], "at row 1"),
        (3, np.array(["a", None, "b"], dtype=object), "must not hold missing labels"),
        (3, np.array(["a", float("nan"), "b"], dtype=object), "must not hold missing labels"),
    ],
)
def test_targets_that_cannot_be_are_refused_with_the_row(n, y, words):
    with pytest.raises(DataError, match=words):
        read_target("test", np.zeros((n, 1)), y, True)


def test_objects_that_no_classifier_predicts_may_hold_what_they_like():
    assert read_target("test", np.zeros((2, 1)), np.array([None, 1.0], dtype=object), False)[0] is None


# -- metrics and scores ---------------------------------------------------------------------------------------------
def test_a_regressor_is_scored_by_the_share_explained_and_a_classifier_not_by_errors():
    assert choose_metric("test", DecisionTreeRegressor(), None).name == "r2"
    assert choose_metric("test", DecisionTreeRegressor(), "rmse").name == "rmse"
    with pytest.raises(UsageError, match="is for regression"):
        choose_metric("test", GaussianNB(), "rmse")
    with pytest.raises(UsageError, match="must have a fit method"):
        choose_metric("test", object(), None)


def test_scores_are_those_of_the_predictions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
    model = GaussianNB().fit(X, y)
    assert score_model(model, get_metric("accuracy"), X, y) == model.score(X, y)
    assert score_model(model, get_metric("log_loss"), X, y) == pytest.approx(log_loss(y, model.predict_proba(X)))
    tree = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 1])
    assert score_model(tree, get_metric("r2"), X, X[:, 1]) == pytest.approx(tree.score(X, X[:, 1]))


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1, np.int64(3)])
def test_scores_of_folds_are_those_of_fits_one_by_one_for_any_number_of_threads(n_jobs):
    """Also of folds of unequal sizes, of more threads than folds, and of a learner whose seed is open."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3))
    y = (X[:, 0] + rng.normal(size=50) > 0).astype(int)
    order = rng.permutation(50)
    folds = [(np.sort(order[:k]), np.sort(order[k:])) for k in (20, 30, 41)]
    streams = [Stream.of(9).child(k) for k in range(3)]
    learner, accuracy = DecisionTreeClassifier(max_features=1), get_metric("accuracy")
    found = score_folds(learner, accuracy, X, y, folds, streams, n_jobs, max_depth=3)
    for row, (train, test), stream in zip(found, folds, streams, strict=True):
        model = fit_rows(learner, X, y, train, stream, max_depth=3)
        assert model.get_depth() <= 3
        assert row.tolist() == [model.score(X[train], y[train]), model.score(X[test], y[test])]
    again = score_folds(learner, accuracy, X, y, folds, [Stream.of(10).child(k) for k in range(3)], n_jobs)
    assert (again[:, 0] == 1).all()  # a tree of any depth knows its rows


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1, np.int64(2)])
def test_all_calls_are_answered_in_their_order(n_jobs):
    assert run_all(lambda a, b: a - b, [(5, 1), (7, 1), (9, 1)], n_jobs) == [4, 6, 8]


def test_two_jobs_are_two_threads_and_one_is_none():
    import threading

    both = threading.Barrier(2, timeout=60)
    assert sorted(run_all(lambda _: both.wait(), [(0,), (1,)], 2)) == [0, 1]  # each waits for the other
    names = run_all(lambda _: threading.current_thread().name, [(0,), (1,)], 1)
    assert names == [threading.current_thread().name] * 2


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "two", np.int64(0)])
def test_a_number_of_jobs_that_cannot_be_is_refused(n_jobs):
    with pytest.raises(ParameterError, match="must be None or an integer other than 0"):
        run_all(lambda: None, [()], n_jobs)
