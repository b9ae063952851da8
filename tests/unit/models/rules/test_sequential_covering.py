"""Sequential covering: qualities, beam, order, pruning, and hard tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from assay.models.rules import SequentialCovering


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 4)), 1)
    return X, np.where((X[:, 0] > 0) == (X[:, 1] > 0), "same", "other")


def brute_force_best_test(X, y, label, quality):
    """The best single test by trying every cut between neighbouring values."""
    P, N = (y == label).sum(), (y != label).sum()
    best = -np.inf
    for j in range(X.shape[1]):
        for cut in np.unique(X[:, j])[:-1]:
            for mask in (X[:, j] <= cut, X[:, j] > cut):
                p, n = (mask & (y == label)).sum(), (mask & (y != label)).sum()
                if p:
                    best = max(best, quality(p, n, P, N))
    return best


QUALITIES = {
    "laplace": lambda p, n, P, N: (p + 1) / (p + n + 2),
    "precision": lambda p, n, P, N: p / (p + n),
    "wracc": lambda p, n, P, N: (p + n) / (P + N) * (p / (p + n) - P / (P + N)),
}


@pytest.mark.parametrize("quality", QUALITIES)
def test_the_first_rule_of_one_test_is_the_best_there_is(noise, quality):
    X, y = noise
    model = SequentialCovering(quality=quality, prune=False, max_conditions=1, max_rules=1, trace=True).fit(X, y)
    label = model.trace_[0]["values"]["class"]
    expected = brute_force_best_test(X, y, label, QUALITIES[quality])
    assert model.trace_[0]["values"]["quality"] == pytest.approx(expected, abs=1e-12)


def test_without_pruning_labels_that_the_columns_decide_are_learned_to_the_last_row(noise):
    X, y = noise
    assert SequentialCovering(quality="precision", prune=False).fit(X, y).score(X, y) == 1.0


def test_a_wider_beam_finds_exclusive_or(noise):
    X, y = noise
    narrow = SequentialCovering(prune=False, quality="laplace", beam_width=1, max_rules=2).fit(X, y)
    wide = SequentialCovering(prune=False, quality="laplace", beam_width=20, max_rules=2).fit(X, y)
    assert wide.score(X, y) > narrow.score(X, y)


def test_unordered_rules_vote_and_every_class_has_rules(noise):
    X, y = noise
    model = SequentialCovering(ordered=False, prune=False, quality="laplace", beam_width=5).fit(X, y)
    assert model.rules_.semantics == "vote"
    assert {rule.conclusion for rule in model.rules_.rules} == {"same", "other"}
    assert model.score(X, y) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.rules_.predict(X))


@pytest.mark.parametrize(
    "change",
    [
        {"quality": "laplace"},
        {"quality": "precision"},
        {"quality": "wracc"},
        {"beam_width": 6},
        {"ordered": False},
        {"prune": False},
        {"folds": 6},
        {"min_samples_rule": 40},
        {"max_conditions": 1},
        {"max_rules": 1},
        {"max_p_value": 1e-6},
        {"alpha": 0.0},
        {"random_state": 5},
    ],
)
def test_every_parameter_matters(noise, change):
    X, y = noise
    usual = SequentialCovering(random_state=0).fit(X, y)
    assert SequentialCovering(**{"random_state": 0, **change}).fit(X, y).rules_ != usual.rules_


def test_categorical_features_make_numbers_nominal():
    X = np.tile([[0.0], [1.0], [2.0]], (40, 1))
    y = np.where(X[:, 0] == 1, "mid", "end")
    model = SequentialCovering(categorical_features=[0], prune=False).fit(X, y)
    assert model.to_text() == "IF x0 = 1.0 THEN mid (40 of 40)\nOTHERWISE end (80 of 80)"


def test_rules_do_not_depend_on_the_order_of_rows_or_on_repetition(noise):
    X, y = noise
    rng = np.random.default_rng(1)
    order, weights = rng.permutation(300), rng.integers(0, 3, 300)
    repeated = np.repeat(np.arange(300), weights)
    for options in ({}, {"ordered": False, "beam_width": 3, "quality": "laplace"}):
        usual = SequentialCovering(random_state=0, **options)
        assert usual.fit(X, y).rules_ == SequentialCovering(random_state=0, **options).fit(X[order], y[order]).rules_
        weighted = SequentialCovering(random_state=0, **options).fit(X, y, sample_weight=weights)
        assert weighted.rules_ == SequentialCovering(random_state=0, **options).fit(X[repeated], y[repeated]).rules_


def test_hard_tables_give_an_answer():
    assert SequentialCovering().fit([[1.0]], ["a"]).predict([[2.0]]).tolist() == ["a"]
    assert len(SequentialCovering(ordered=False).fit(np.arange(9.0)[:, None], ["a"] * 9).rules_) == 0
    y = np.repeat(np.arange(300), 3)
    assert SequentialCovering(prune=False, max_rules=2).fit(y[:, None].astype(float), y).score(y[:, None], y) > 0.95
    X = pd.DataFrame({"level": [f"l{k % 1000}" for k in range(4000)]})
    target = np.where(np.arange(4000) % 1000 == 7, "lucky", "usual")
    assert SequentialCovering(prune=False).fit(X, target).to_text().startswith("IF level = l7 THEN lucky (4 of 4)")


def test_iris_is_learned_well():
    assert cross_val_score(SequentialCovering(random_state=0), *load_iris(return_X_y=True), cv=5).mean() > 0.88
