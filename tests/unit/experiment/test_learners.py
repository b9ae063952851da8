"""Learners of a plan: what combiners of other learners are given."""

from __future__ import annotations

from sklearn.tree import DecisionTreeClassifier

from assay import compare
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
