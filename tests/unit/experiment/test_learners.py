"""Learners of a plan: what combiners of other learners are given."""

from __future__ import annotations

import pytest
from sklearn.tree import DecisionTreeClassifier

from assay import compare
from assay.base.errors import ParameterError
from assay.data import load_dataset
from assay.experiment.learners import settle_learners
from assay.models.bayes import NaiveBayes
from assay.models.ensembles import BaggingClassifier, VotingClassifier
from assay.models.linear import LogisticRegression


def test_what_learners_inside_take_decides_what_a_combiner_gets():
    bags = [BaggingClassifier(), BaggingClassifier(estimator=LogisticRegression())]
    by_default, of_lines = settle_learners(bags, "classify", 0)
    assert set(by_default.entry.native) == {"numeric", "nominal", "missing"} and not by_default.entry.scales
    assert set(of_lines.entry.native) == {"numeric"} and of_lines.entry.scales
    (foreign,) = settle_learners([("voting-classifier", {"estimators": [DecisionTreeClassifier()]})], "classify", 0)
    assert set(foreign.entry.native) == {"numeric", "missing"} and foreign.entry.scales


def test_combiners_of_any_members_run_on_a_mixed_table():
    frame = load_dataset("customers").frame.head(300)
    learners = {
        "bag of lines": BaggingClassifier(estimator=LogisticRegression(), n_estimators=3),
        "vote": VotingClassifier(estimators=[NaiveBayes(), LogisticRegression()]),
        "bag of trees": BaggingClassifier(n_estimators=3),
    }
    results = compare(frame, "churned", learners, design="3-fold")
    assert not results.comparison.left_out and len(results.comparison.summary) == 3


def test_learners_of_one_title_are_told_apart():
    """Tables and sentences call learners by their titles: a name of the user's stays, the other one gets a number."""
    other = type("DecisionTreeClassifier", (DecisionTreeClassifier,), {"__module__": "elsewhere"})
    for given, titles in (
        ([DecisionTreeClassifier(), other()], ["DecisionTreeClassifier", "DecisionTreeClassifier 2"]),
        (["one-r", ("OneR", "zero-r")], ["OneR 2", "OneR"]),
        ([("OneR", "zero-r"), "one-r", ("OneR 2", "naive-bayes")], ["OneR", "OneR 3", "OneR 2"]),
    ):
        settled = settle_learners(given, "classify", 0)
        assert [learner.title for learner in settled] == titles
        assert len({learner.id for learner in settled}) == len(given)


def test_names_that_look_the_same_are_the_same():
    assert settle_learners([(" a ", "zero-r")], "classify", 0)[0].id == "a"
    with pytest.raises(ParameterError, match="'a' is listed twice"):
        settle_learners([("a", "zero-r"), ("a ", "one-r")], "classify", 0)
    with pytest.raises(ParameterError, match="must be 1 to 60 letters"):
        settle_learners([(" ", "zero-r")], "classify", 0)
