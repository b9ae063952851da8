"""Rules from trees: without pruning they are the tree, with pruning they are fewer and not worse by much."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import cross_val_score

from assay.base import ParameterError
from assay.models.linear import LeastSquares
from assay.models.rules import RulesFromTree
from assay.models.trees import CartClassifier


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    n = 300
    colour = rng.choice(list("abcdef"), n).astype(object)
    X = pd.DataFrame({"colour": colour, "size": rng.normal(size=n), "flag": rng.random(n) < 0.5})
    X.loc[rng.random(n) < 0.1, "size"] = np.nan
    X.loc[rng.random(n) < 0.1, "colour"] = None
    y = np.where((X["size"] > 0.3) & X["colour"].isin(["a", "b"]), "x", np.where(X["flag"], "y", "z"))
    y[rng.random(n) < 0.1] = "x"
    return X, y


def test_without_pruning_the_rules_predict_what_the_tree_predicts(mixed):
    X, y = mixed
    tree = CartClassifier(criterion="entropy", min_samples_leaf=2).fit(X, y)
    model = RulesFromTree(prune=False).fit(X, y)
    assert len(model.rules_) == model.n_leaves_ == tree.get_n_leaves()
    np.testing.assert_array_equal(model.predict(X), tree.predict(X))
    new = pd.DataFrame({"colour": ["new", None, "a"], "size": [np.nan, 5.0, -5.0], "flag": [True, False, True]})
    np.testing.assert_array_equal(model.predict(new), tree.predict(new))


def test_pruning_leaves_fewer_and_shorter_rules(mixed):
    X, y = mixed
    whole, pruned = RulesFromTree(prune=False).fit(X, y), RulesFromTree().fit(X, y)
    assert len(pruned.rules_) < len(whole.rules_) / 2
    assert pruned.score(X, y) > 0.8
    mean = [np.mean([len(r.conditions) for r in m.rules_.rules]) for m in (whole, pruned)]
    assert mean[1] < mean[0]


def test_another_tree_may_be_given(mixed):
    X, y = mixed
    tree = CartClassifier(max_depth=2)
    model = RulesFromTree(estimator=tree, prune=False).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), tree.fit(X, y).predict(X))
    with pytest.raises(ParameterError, match="tree classifier with to_rules"):
        RulesFromTree(estimator=LeastSquares()).fit(X, y)


@pytest.mark.parametrize(
    "change",
    [
        {"criterion": "gini"},
        {"max_depth": 2},
        {"min_samples_leaf": 20},
        {"prune": False},
        {"confidence": 0.01},
        {"alpha": 0.0},
        {"categorical_features": ["flag"]},
        {"estimator": CartClassifier(max_depth=1)},
    ],
)
def test_every_parameter_matters(mixed, change):
    X, y = mixed
    X = X.assign(flag=X["flag"].astype(float), colour=X["colour"].fillna("none"))
    usual = RulesFromTree().fit(X, y)
    assert RulesFromTree(**change).fit(X, y).rules_ != usual.rules_


def test_weights_equal_repetition(mixed):
    X, y = mixed
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = RulesFromTree(trace=True).fit(X, y, sample_weight=weights)
    assert weighted.rules_ == RulesFromTree().fit(X.iloc[rows], y[rows]).rules_
    assert weighted.trace_[0]["what"] == "rule of a leaf"


def test_hard_tables_give_an_answer():
    assert RulesFromTree().fit([[1.0]], ["a"]).predict([[2.0]]).tolist() == ["a"]
    assert len(RulesFromTree().fit(np.arange(9.0)[:, None], ["a"] * 9).rules_) == 0
    y = np.repeat(np.arange(300), 3)
    assert RulesFromTree().fit(y[:, None].astype(float), y).score(y[:, None], y) > 0.9
    X = pd.DataFrame({"level": [f"l{k % 1000}" for k in range(4000)]})
    target = np.where(np.arange(4000) % 1000 < 500, "low", "high")
    model = RulesFromTree().fit(X, target)
    assert model.score(X, target) == 1.0 and model.predict(pd.DataFrame({"level": ["new"]})).shape == (1,)


@pytest.mark.parametrize(("load", "least"), [(load_iris, 0.92), (load_wine, 0.87), (load_breast_cancer, 0.9)])
def test_known_tables_are_learned_well(load, least):
    assert cross_val_score(RulesFromTree(), *load(return_X_y=True), cv=5).mean() > least
