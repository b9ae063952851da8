"""Voting: rules, weights, agreement with scikit-learn, shared folds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier as PeerVoting
from sklearn.ensemble import VotingRegressor as PeerNumbers
from sklearn.model_selection import KFold

from assay.base import AssayError, ParameterError
from assay.models.bayes import NaiveBayes
from assay.models.ensembles import Cascade, StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor
from assay.models.ensembles.vote_rules import RULES
from assay.models.linear import LeastSquares, LogisticRegression, Perceptron, Ridge
from assay.models.trees import CartClassifier, CartRegressor

from .test_newton_boosting import labels, numbers

MEMBERS = [("bayes", NaiveBayes()), ("tree", CartClassifier(max_depth=3)), ("line", LogisticRegression())]


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5]])
def test_mean_and_majority_are_soft_and_hard_voting_of_scikit_learn(weights):
    X, y = labels(n=200, classes=3)
    ours = VotingClassifier(estimators=MEMBERS, weights=weights).fit(X, y)
    soft = PeerVoting(MEMBERS, voting="soft", weights=weights).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), soft.predict_proba(X), rtol=1e-12)
    ours = VotingClassifier(estimators=MEMBERS, weights=weights, rule="majority").fit(X, y)
    hard = PeerVoting(MEMBERS, voting="hard", weights=weights).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), hard.predict(X))


def test_numbers_agree_with_scikit_learn():
    X, y = numbers(150)
    members = [("tree", CartRegressor(max_depth=4)), ("line", LeastSquares())]
    ours = VotingRegressor(estimators=members, weights=[3, 1]).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), PeerNumbers(members, weights=[3, 1]).fit(X, y).predict(X), rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_identical_members_are_the_member(rule):
    X, y = labels(n=150, classes=3)
    alone = NaiveBayes().fit(X, y)
    model = VotingClassifier(estimators=[NaiveBayes()] * 3, rule=rule).fit(X, y)
    assert model.names_ == ["naivebayes", "naivebayes-2", "naivebayes-3"]
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    if rule == "mean":
        np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), rtol=1e-14)


def test_validated_weights_are_the_accuracies_of_members_that_did_not_see_the_rows():
    X, y = labels(n=150, classes=3)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = VotingClassifier(estimators=MEMBERS, weights="validated", cv=folds).fit(X, y)
    accuracy = np.array(
        [np.mean(np.concatenate([m.fit(X[a], y[a]).predict(X[b]) == y[b] for a, b in folds])) for _, m in MEMBERS]
    )
    np.testing.assert_allclose(model.weights_, accuracy / accuracy.sum(), rtol=1e-12)
    regressor = VotingRegressor(weights="validated", random_state=0).fit(*numbers(120))
    assert abs(regressor.weights_.sum() - 1) < 1e-12 and np.ptp(regressor.weights_) > 0


def test_rows_without_a_majority_are_marked():
    X, y = labels(n=200, classes=4)
    model = VotingClassifier(estimators=MEMBERS, rule="majority").fit(X, y)
    _, rejected = model.predict_with_reject(X)
    votes = model.predict_members(X)
    wanted = [max(list(column).count(v) for v in column) == 1 for column in votes.T]
    np.testing.assert_array_equal(rejected, wanted)


def test_labels_alone_can_be_counted_and_only_counted():
    X, y = labels(n=100, classes=2)
    members = [Perceptron(random_state=0), CartClassifier(max_depth=2)]
    assert VotingClassifier(estimators=members, rule="majority").fit(X, y).score(X, y) > 0.6
    with pytest.raises(AssayError, match="member 'perceptron' must have probabilities for rule 'mean'"):
        VotingClassifier(estimators=members).fit(X, y)


def test_many_rows_are_answered_in_parts(monkeypatch):
    X, y = labels(n=3000, classes=2)
    model = VotingClassifier(estimators=MEMBERS, rule="median").fit(X[:200], y[:200])
    whole = model.predict_proba(X)
    monkeypatch.setattr("assay.models.ensembles.combiner.CELLS", 1)
    np.testing.assert_array_equal(model.predict_proba(X), whole)


def test_bad_weights_are_refused_in_one_sentence():
    X, y = labels(n=60, classes=2)
    for weights, rule in (([1.0], "mean"), ([1, -1, 0], "mean"), (["a", "b", "c"], "mean"), ([1, 1, 1], "maximum")):
        with pytest.raises(AssayError, match="parameter 'weights' must"):
            VotingClassifier(estimators=MEMBERS, weights=weights, rule=rule).fit(X, y)


@pytest.mark.parametrize(
    "made",
    [VotingClassifier, VotingRegressor, StackingClassifier, StackingRegressor, Cascade],
    ids=lambda c: c.__name__,
)
def test_two_members_of_one_name_are_refused(made):
    X, y = numbers(60) if "Regressor" in made.__name__ else labels(n=60, classes=2)
    one = CartRegressor() if "Regressor" in made.__name__ else NaiveBayes()
    model = made(estimators=[("a", one), ("b", one), ("a", one)])
    told = f"{made.__name__}: parameter 'estimators' must give each member a name of its own; got 'a' 2 times; rename"
    with pytest.raises(ParameterError, match=told):
        model.fit(X, y)
    with pytest.raises(ParameterError, match=told):
        list(model.fit_folds(X, y, [(np.arange(40), np.arange(40, 60))]))


def test_members_without_names_keep_clear_of_given_ones():
    X, y = labels(n=60, classes=2)
    bayes = NaiveBayes
    for members, names in (
        ([("a-2", bayes()), ("a", bayes())], ["a-2", "a"]),
        ([bayes(), ("naivebayes", bayes()), bayes()], ["naivebayes-2", "naivebayes", "naivebayes-3"]),
        ([bayes(), bayes(), ("naivebayes-2", bayes())], ["naivebayes", "naivebayes-3", "naivebayes-2"]),
    ):
        assert VotingClassifier(estimators=members).fit(X, y).names_ == names


def test_members_parameters_are_reached_by_name_and_missing_classes_of_folds_are_handled():
    X, y = numbers(120)
    model = VotingRegressor(estimators=[("a", Ridge()), ("b", CartRegressor())])
    model.set_params(a__alpha=7.0, b=CartRegressor(max_depth=1))
    assert model.get_params()["a__alpha"] == 7.0 and model.estimators[1][1].max_depth == 1
    X, y = labels(n=90, classes=3)
    folds = [(np.flatnonzero(y != k), np.flatnonzero(y == k)) for k in (0, 2)]
    fitted = list(VotingClassifier(estimators=MEMBERS).fit_folds(X, y, folds))
    assert [len(model.classes_) for model in fitted] == [2, 2]


def test_members_are_fitted_to_the_table_itself_and_not_to_a_copy(monkeypatch):
    X, y = labels(n=400, classes=2)
    seen, fit = [], NaiveBayes.fit
    monkeypatch.setattr(NaiveBayes, "fit", lambda self, X, y: (seen.append(X), fit(self, X, y))[1])
    members = [("a", NaiveBayes()), ("b", NaiveBayes())]
    VotingClassifier(estimators=members).fit(X, y)
    StackingClassifier(estimators=members, random_state=0).fit(X, y)
    assert sum(np.shares_memory(X, given) for given in seen) == 4
