"""RIPPER: what its rules are, what each parameter does, and hard tables."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import cross_val_score

from assay.models.rules import Ripper


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = np.where((X[:, 0] > 0.2) & (X[:, 1] <= 0.5), "in", "out")
    flipped = rng.random(600) < 0.08
    return X, np.where(flipped, np.where(y == "in", "out", "in"), y)


def same(one, other) -> bool:
    return one.rules_ == other.rules_


def test_a_box_in_two_columns_is_found(noisy):
    X, y = noisy
    model = Ripper(random_state=0).fit(X, y)
    assert model.rules_.rules[0].conclusion == "in" and model.rules_.default == "out"
    said = {c.column for c in model.rules_.rules[0].conditions}
    assert said == {"x0", "x1"} and model.score(X, y) > 0.88 and len(model.rules_) <= 3


def test_classes_come_by_increasing_frequency():
    rng = np.random.default_rng(1)
    y = np.repeat(["common", "middle", "rare"], [200, 100, 40])
    X = rng.normal(size=(340, 1)) * 0.3 + np.repeat([0.0, 3.0, 6.0], [200, 100, 40])[:, None]
    model = Ripper(random_state=0).fit(X, y)
    said = [rule.conclusion for rule in model.rules_.rules]
    assert said == sorted(said, key=["rare", "middle"].index) and model.rules_.default == "common"
    assert model.score(X, y) > 0.98


def test_rules_do_not_depend_on_the_order_of_rows_or_on_repetition(noisy):
    X, y = noisy
    rng = np.random.default_rng(2)
    order = rng.permutation(len(y))
    assert same(Ripper(random_state=3).fit(X, y), Ripper(random_state=3).fit(X[order], y[order]))
    weights = rng.integers(0, 4, size=len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    weighted = Ripper(random_state=3).fit(X, y, sample_weight=weights)
    assert same(weighted, Ripper(random_state=3).fit(X[repeated], y[repeated]))
    assert not same(weighted, Ripper(random_state=3).fit(X, y))


def test_weights_that_are_not_whole_are_taken(noisy):
    X, y = noisy
    model = Ripper(random_state=0).fit(X, y, sample_weight=np.random.default_rng(0).random(len(y)))
    assert model.score(X, y) > 0.85


def test_counts_are_those_of_the_training_rows(noisy):
    X, y = noisy
    model = Ripper(random_state=0).fit(X, y)
    taken = model.rules_.first_match(X)
    for number, rule in enumerate(model.rules_.rules):
        rows = y[taken == number]
        assert rule.counts == ((rows == "in").sum(), (rows == "out").sum())
    assert sum(model.rules_.total) == 600
    shares = model.predict_proba(X[taken == 0])[0]
    counts = np.array(model.rules_.rules[0].counts)
    np.testing.assert_allclose(shares, (counts + 1) / (counts.sum() + 2))


def test_missing_cells_and_categories_are_used():
    rng = np.random.default_rng(3)
    n = 400
    colour = rng.choice(["red", "green", "blue"], n).astype(object)
    size = rng.normal(size=n)
    y = np.where((colour == "red") | (size > 1.2), "a", "b")
    size[y == "a"] = np.where(rng.random((y == "a").sum()) < 0.5, np.nan, size[y == "a"])
    X = pl.DataFrame({"colour": colour.tolist(), "size": [None if np.isnan(v) else v for v in size]})
    model = Ripper(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.97
    assert "size is missing" in model.to_text() and "colour = red" in model.to_text()
    assert model.predict(pl.DataFrame({"colour": ["never seen"], "size": [0.0]})).tolist() == ["b"]


# -- parameters ---
@pytest.mark.parametrize(
    "change",
    [
        {"optimisation_passes": 0},
        {"prune": False},
        {"folds": 5},
        {"min_samples_rule": 60},
        {"max_conditions": 1},
        {"alpha": 0.0},
        {"random_state": 8},
    ],
)
def test_every_parameter_matters(change):
    X, y = load_breast_cancer(return_X_y=True)
    usual = Ripper(random_state=0).fit(X, y)
    other = Ripper(**{"random_state": 0, **change}).fit(X, y)
    assert not same(usual, other)


def test_check_error_stops_at_a_rule_that_is_wrong_half_the_time():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.where(rng.random(300) < 0.3, "rare", "usual")
    events = [
        [r["what"] for r in Ripper(random_state=0, check_error=check, trace=True).fit(X, y).trace_]
        for check in (True, False)
    ]
    assert events[0] != events[1] and len(events[1]) > len(events[0])


def test_max_conditions_and_min_samples_hold(noisy):
    X, y = noisy
    short = Ripper(random_state=0, max_conditions=1, prune=False).fit(X, y)
    assert all(len(rule.conditions) == 1 for rule in short.rules_.rules)
    broad = Ripper(random_state=0, min_samples_rule=100, prune=False).fit(X, y)
    assert all(max(rule.counts) >= 50 for rule in broad.rules_.rules)


def test_categorical_features_make_numbers_nominal():
    X = np.tile([[0.0], [1.0], [2.0]], (40, 1))
    y = np.where(X[:, 0] == 1, "mid", "end")
    model = Ripper(random_state=0, categorical_features=[0]).fit(X, y)
    assert model.to_text().startswith("IF x0 = 1.0 THEN mid (40 of 40)")
    numeric = Ripper(random_state=0).fit(X, y)
    assert "<=" in numeric.to_text() and numeric.score(X, y) == 1.0


def test_trace_tells_description_lengths(noisy):
    X, y = noisy
    records = Ripper(random_state=0, trace=True).fit(X, y).trace_
    assert records[0]["what"] == "rule added" and records[0]["values"]["bits"] > 0
    assert records[-1]["what"] == "rule set"


@pytest.mark.parametrize("conditions", [1, 2, 3])
def test_description_length_counts_the_tests_of_a_rule_as_cohen_does(conditions):
    """Half of (log2 k + 2 log2 log2 k + the bits to name k of m possible tests), and the bits of no exceptions."""
    cells = np.array(list(itertools.product([0.0, 1.0], repeat=conditions)) * 30)
    y = np.where(cells.all(axis=1), "all", "not")
    X = np.column_stack([cells, np.resize([0.0, 1.0, 2.0, 3.0, 1.0], len(cells))])
    labels = list(range(X.shape[1]))
    model = Ripper(random_state=0, categorical_features=labels, prune=False, optimisation_passes=0, trace=True).fit(
        X, y
    )
    first = next(r["values"] for r in model.trace_ if r["what"] == "rule added" and r["values"]["class"] == "all")
    k, m = conditions, 2 * conditions + 4
    name = -k * np.log2(k / m) - (m - k) * np.log2(1 - k / m)
    length = np.log2(k) + (2 * np.log2(np.log2(k)) if k > 2 else 0.0)
    assert first["conditions"] == k
    assert first["bits"] == pytest.approx(0.5 * (length + name) + np.log2(len(y) + 1))


def _subset_bits(total, chosen, p):
    return -chosen * np.log2(p) - (total - chosen) * np.log2(1 - p)


@pytest.mark.parametrize("counts", [(20, 5, 3, 72), (45, 30, 2, 23), (30, 20, 5, 45)], ids=["few", "most", "half"])
@pytest.mark.parametrize("weighted", [False, True])
def test_description_length_counts_exceptions_as_weka_does(counts, weighted):
    """RuleStats.dataDL of WEKA: of the larger side the errors are coded against what the class frequency expects."""
    right, wrong, missed, rest = counts
    X = np.repeat([1.0, 1.0, 0.0, 0.0], counts)[:, None]
    y = np.repeat(["rare", "common", "rare", "common"], counts)
    weights = None
    if weighted:
        X, y, weights = np.array([[1.0], [1.0], [0.0], [0.0]]), y[np.cumsum(counts) - 1], np.array(counts, dtype=float)
    model = Ripper(random_state=0, categorical_features=[0], prune=False, optimisation_passes=0, trace=True)
    first = next(r["values"] for r in model.fit(X, y, weights).trace_ if r["what"] == "rule added")
    covered, left, errors, total = right + wrong, missed + rest, wrong + missed, sum(counts)
    share = (right + missed) / total
    if covered > left:
        exceptions = _subset_bits(covered, wrong, share * errors / covered) + _subset_bits(left, missed, missed / left)
    else:
        expected = (1 - share) * errors / left
        exceptions = _subset_bits(covered, wrong, wrong / covered) + _subset_bits(left, missed, expected)
    assert first["bits"] == pytest.approx(0.5 * _subset_bits(2, 1, 0.5) + np.log2(total + 1) + exceptions)


def three_boxes(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(500, 5)).astype(float)
    concept = ((X[:, 0] == 1) & (X[:, 1] == 2)) | ((X[:, 2] == 3) & (X[:, 3] == 0)) | ((X[:, 1] == 0) & (X[:, 4] == 1))
    return X, np.where(concept ^ (rng.random(500) < 0.04), "in", "out")


def test_rules_compete_with_others_in_as_many_passes_as_asked():
    """No rule is replaced or revised without a pass, and what a pass does follows on what was done before it."""
    changed = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 4)).round(2)
        boxes = ((X[:, 0] > 0.5) & (X[:, 1] < 0.3)) | ((X[:, 2] > 0.8) & (X[:, 3] > -0.2))
        y = np.where(boxes ^ (rng.random(400) < 0.1), "in", "out")
        models = [Ripper(random_state=seed, optimisation_passes=k, trace=True).fit(X, y) for k in range(3)]
        said = [[(r["what"], r["values"]) for r in model.trace_ if r["what"] != "rule set"] for model in models]
        assert said[1][: len(said[0])] == said[0] and said[2][: len(said[1])] == said[1]
        changes = [sum(what in ("rule replaced", "rule revised") for what, _ in events) for events in said]
        assert changes[0] == 0
        changed += changes[1]
    assert changed > 2


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("prune", [False, True])
def test_the_last_description_is_that_of_the_rules(seed, prune):
    """However rules were added, deleted, replaced and revised: the bits of their tests and of their errors."""
    X, y = three_boxes(seed)
    model = Ripper(random_state=seed, categorical_features=list(range(5)), prune=prune, trace=True).fit(X, y)
    records = [r["values"]["bits"] for r in model.trace_ if r["what"] not in ("search stopped", "rule set")]
    taken = model.rules_.first_match(X)
    covered, positive, m = taken >= 0, y == "in", 20
    bits = np.log2(500 + 1)
    for rule in model.rules_.rules:
        k = len(rule.conditions)
        length = np.log2(k) + (2 * np.log2(np.log2(k)) if k > 2 else 0.0)
        bits += 0.5 * (length + _subset_bits(m, k, k / m))
    wrong, missed, share = (covered & ~positive).sum(), (~covered & positive).sum(), positive.mean()
    total, left = covered.sum(), (~covered).sum()
    assert 0 < total < left and missed > 0
    bits += _subset_bits(total, wrong, wrong / total) if wrong > 0 else 0.0
    bits += _subset_bits(left, missed, (1 - share) * (wrong + missed) / left)
    assert records[-1] == pytest.approx(bits, rel=1e-12)
    assert len(model.rules_) >= 3


def test_a_rule_that_is_wrong_on_half_of_its_rows_ends_the_rules():
    X = np.repeat([1.0, 1.0, 0.0], [10, 10, 40])[:, None]
    y = np.repeat(["rare", "common", "common"], [10, 10, 40])
    options = {"random_state": 0, "categorical_features": [0], "prune": False, "optimisation_passes": 0}
    assert len(Ripper(**options).fit(X, y).rules_) == 0
    assert len(Ripper(**options).fit(X[1:], y[1:]).rules_) == 0
    better = Ripper(**options).fit(np.delete(X, 19, axis=0), np.delete(y, 19))
    assert len(better.rules_) == 1 and better.rules_.rules[0].conclusion == "rare"


# -- hard tables ---
def test_three_hundred_classes():
    y = np.repeat(np.arange(300), 4)
    X = np.column_stack([y + 0.1 * np.tile(range(4), 300), -y])
    model = Ripper(random_state=0, prune=False).fit(X, y)
    assert model.classes_.shape == (300,) and model.score(X, y) > 0.95


def test_a_nominal_column_of_a_thousand_levels():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 1000, 5000)
    y = np.where(levels < 3, "few", "many")
    X = pd.DataFrame({"level": [f"l{v}" for v in levels], "noise": rng.normal(size=5000)})
    model = Ripper(random_state=0, min_samples_rule=1).fit(X, y)
    assert model.score(X, y) > 0.998
    assert np.isfinite(model.predict_proba(pd.DataFrame({"level": ["new"], "noise": [0.0]}))).all()


def test_one_row_and_one_class():
    assert Ripper().fit([[1.0]], ["a"]).predict([[2.0]]).tolist() == ["a"]
    model = Ripper().fit(np.arange(10.0)[:, None], ["a"] * 10)
    assert len(model.rules_) == 0 and model.to_text() == "OTHERWISE a (10 of 10)"


def test_columns_that_say_nothing_give_the_default():
    X = np.column_stack([np.full(50, np.nan), np.full(50, 3.0)])
    model = Ripper(random_state=0).fit(X, ["a"] * 30 + ["b"] * 20)
    assert len(model.rules_) == 0 and model.rules_.default == "a"


@pytest.mark.parametrize(("load", "least"), [(load_iris, 0.91), (load_breast_cancer, 0.92)])
def test_known_tables_are_learned_well(load, least):
    assert cross_val_score(Ripper(random_state=0), *load(return_X_y=True), cv=5).mean() > least
