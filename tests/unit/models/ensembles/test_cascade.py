"""Cascades: who is asked, what it costs, what later stages learn from."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from assay.base import AssayError
from assay.models.bayes import NaiveBayes
from assay.models.ensembles import Cascade, RandomForestClassifier
from assay.models.linear import Perceptron
from assay.models.neighbours import KNNClassifier
from assay.models.trees import CartClassifier

from .test_newton_boosting import labels

STAGES = [("bayes", NaiveBayes()), ("tree", CartClassifier(max_depth=4)), ("nearest", KNNClassifier())]


@pytest.fixture(scope="module")
def fitted():
    X, y = labels(n=600, classes=3)
    model = Cascade(estimators=STAGES, threshold=[0.9, 0.8], costs=[1.0, 3.5, 40.0], calibrate=False)
    model.fit(X[:400], y[:400])
    return model, X[400:], y[400:]


def test_a_row_is_answered_by_the_first_stage_that_is_sure(fitted):
    model, X, _ = fitted
    shares = [model.estimators_[k].predict_proba(X) for k in range(3)]
    for row, stage in enumerate(model.stage_of(X)):
        confident = [shares[0][row].max() >= 0.9, shares[1][row].max() >= 0.8, True]
        assert stage == confident.index(True)
        np.testing.assert_array_equal(model.predict_proba(X[row : row + 1])[0], shares[stage][row])


def test_every_row_pays_for_the_stages_it_reaches(fitted):
    model, X, y = fitted
    account, stage = model.account(X, y), model.stage_of(X)
    paid = np.cumsum(model.costs_)[stage]
    assert account.total == paid.sum() and account.expected_cost == paid.sum() / len(X)
    assert account.reached == [len(X), (stage >= 1).sum(), (stage >= 2).sum()]
    assert sum(account.right) == (model.predict(X) == y).sum()
    assert account.cost_of_all_stages == 44.5 and 0 < account.expected_cost < 44.5


def test_the_view_counts_rows_by_probabilities_of_models_that_did_not_see_them(fitted):
    model, _, _ = fitted
    view = model.view()
    assert view.reached[0] == 400 and view.reached == sorted(view.reached, reverse=True)
    assert "on average" in view.how_to_read and len(view.grid().rows) == 3


def test_later_stages_learn_from_the_rows_left_unsure(fitted):
    model = fitted[0]
    assert model.estimators_[1].tree_.weighted_n_node_samples[0] == model.reached_[1] < 400
    X, y = labels(n=200, classes=2)
    everything = Cascade(estimators=STAGES[:2], train_on="all", trace=True).fit(X, y)
    assert everything.estimators_[1].tree_.weighted_n_node_samples[0] == 200
    assert [record["values"]["rows"] for record in everything.trace_] == [200, 200]


def test_a_threshold_of_zero_asks_the_first_alone_and_one_above_all_asks_the_last():
    X, y = labels(n=200, classes=2)
    first = Cascade(estimators=STAGES[:2], threshold=0.0).fit(X, y)
    assert (first.stage_of(X) == 0).all()
    # No stage can be unsure of a row, so the second one had none to learn from and got all.
    assert first.estimators_[1].tree_.weighted_n_node_samples[0] == 200


def test_more_confidence_never_costs_less():
    X, y = labels(n=300, classes=2)
    costs = [
        Cascade(estimators=STAGES[:2], threshold=t, costs=[1, 10], train_on="all").fit(X, y).account(X).total
        for t in (0.5, 0.7, 0.9, 1.0)
    ]
    assert costs == sorted(costs)


def test_a_cascade_comes_near_its_best_stage_for_less():
    X, y = labels(n=1500, classes=2)
    forest = RandomForestClassifier(n_estimators=50, random_state=0).fit(X[:700], y[:700]).score(X[700:], y[700:])
    stages = [NaiveBayes(), RandomForestClassifier(n_estimators=50, random_state=0)]
    cascade = Cascade(estimators=stages, threshold=0.85, costs=[1, 50], train_on="all").fit(X[:700], y[:700])
    assert cascade.score(X[700:], y[700:]) > forest - 0.02
    assert cascade.account(X[700:]).expected_cost < 50


def test_a_stage_that_is_surer_than_right_is_not_believed():
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 900), slice(900, None)
    error = {}
    for calibrate in (True, False):
        model = Cascade(threshold=0.95, calibrate=calibrate, random_state=0).fit(X[train], y[train])
        error[calibrate] = np.mean(model.predict(X[test]) != y[test])
        answered = model.stage_of(X[test]) == 0
        assert calibrate == (answered.mean() < 0.5)
    assert error[True] < 0.09 and error[False] > 0.14


def test_the_confidence_asked_for_is_how_often_a_stage_is_right():
    rng = np.random.default_rng(3)
    X, y = labels(n=3000, classes=2)
    X = np.column_stack(
        [X] + [X[:, :2] + 0.01 * rng.normal(size=(3000, 2)) for _ in range(4)]
    )  # evidence counted often
    for wanted in (0.8, 0.9):
        model = Cascade(threshold=wanted, random_state=0).fit(X[:1500], y[:1500])
        assert model.thresholds_[0] > wanted
        first = model.stage_of(X[1500:]) == 0
        assert 0.1 < first.mean() < 0.9
        assert np.mean((model.predict(X[1500:]) == y[1500:])[first]) > wanted


def test_bad_thresholds_costs_and_stages_are_refused_in_one_sentence():
    X, y = labels(n=60, classes=2)
    for name, value in (
        ("threshold", [0.5, 0.5, 0.5]),
        ("threshold", [2.0, 0.1]),
        ("costs", [1]),
        ("costs", ["a"] * 3),
    ):
        with pytest.raises(AssayError, match=f"parameter '{name}' must hold"):
            Cascade(estimators=STAGES, **{name: value}).fit(X, y)
    with pytest.raises(AssayError, match="stage 'perceptron' must have probabilities"):
        Cascade(estimators=[Perceptron()]).fit(X, y)
