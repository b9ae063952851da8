"""Permutation, dropped columns, inference: equal to the definition, to scikit-learn, and honest about error."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor as TheirForest
from sklearn.inspection import permutation_importance as theirs
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay.base.errors import DataError, ParameterError, UsageError
from assay.evaluate import get_metric
from assay.explain import (
    coefficient_importance,
    columns_that_matter,
    drop_column_importance,
    impurity_importance,
    permutation_importance,
    target_importance,
)
from assay.explain.conditional import _design
from assay.models.ensembles import RandomForestClassifier
from assay.models.linear import LeastSquares, LogisticRegression
from tests.unit.explain.models import Plain, mixed_table, mixed_tree


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    return X, 3 * X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=400)


def test_of_a_linear_model_it_is_twice_the_explained_variance():
    """E (b (x' - x))^2 = 2 b^2 Var x for a shuffled column: the known answer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    model = LeastSquares().fit(X, X @ [2.0, 1.0, 0.0])
    found = permutation_importance(model, X, X @ [2.0, 1.0, 0.0], metric="mse")
    assert np.allclose(found.values[0], [8.0, 2.0, 0.0], rtol=0.03, atol=1e-9)
    assert (found.low <= found.values).all() and found.unit == "rise of mean squared error"


def test_scikit_learn_gives_the_same_mean(numbers):
    X, y = numbers
    model = TheirForest(20, random_state=0).fit(X, y)
    ours = permutation_importance(model, X, y, n_repeats=30, metric="r2")
    peer = theirs(model, X, y, n_repeats=30, random_state=0)
    assert np.allclose(ours.values[0], peer.importances_mean, atol=0.04)
    assert ours.values[0, 0] > 0.5 and abs(ours.base_values[0] - model.score(X, y)) < 1e-9


@pytest.mark.parametrize("metric", [None, "accuracy", "log_loss", "roc_auc", "f1_macro", "brier"])
def test_trees_walked_in_part_give_what_plain_predictions_give(metric):
    model, frame, y = mixed_tree()
    fast = permutation_importance(model, frame, y, metric=metric, n_repeats=2)
    slow = permutation_importance(Plain(model), frame, y, metric=metric, n_repeats=2)
    assert np.allclose(fast.values, slow.values) and np.allclose(fast.low, slow.low)
    assert fast.names == frame.columns and fast.values[0, 3] <= 0.05


def test_groups_are_shuffled_together_and_a_copy_hides_alone(numbers):
    X, y = numbers
    twice = np.column_stack([X, X[:, 0]])
    model = LinearRegression().fit(twice, y)
    found = permutation_importance(model, twice, y, groups={"both": [0, 5], "one": ["x0"], "rest": [1, 2, 3, 4]})
    both, one, rest = found.values[0]
    assert both > 1.5 * one > rest and found.names == ["both", "one", "rest"]
    assert permutation_importance(model, twice, y, groups=[[0, 5]]).names == ["x0 + x5"]


def test_conditional_permutation_gives_nothing_to_a_copy_that_says_nothing_more():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1500)
    X = np.column_stack([x, x + 0.05 * rng.normal(size=1500)])
    y = x + 0.1 * rng.normal(size=1500)
    model = TheirForest(20, max_features=1, random_state=0).fit(X, y)
    plain = permutation_importance(model, X, y).values[0]
    conditional = permutation_importance(model, X, y, conditional=True).values[0]
    assert plain[1] > 0.2 and conditional[1] < 0.05


def test_conditional_copies_of_labels_stay_within_what_the_others_say():
    frame, y = mixed_table(400)
    frame = frame.with_columns((pl.col("colour") == "red").alias("is_red"))
    model = RandomForestClassifier(n_estimators=10, random_state=0).fit(frame, y)
    found = permutation_importance(model, frame, y, conditional=True, n_repeats=3, metric="log_loss")
    assert np.isfinite(found.values).all() and found.method == "conditional permutation, 3 times"


def test_the_interval_covers_the_importance_of_the_population():
    """Over drawn tables of new rows, 95 % intervals of one fixed model hold its importance."""
    rng = np.random.default_rng(0)

    def draw(n):
        X = rng.normal(size=(n, 2))
        return X, X[:, 0] + rng.normal(size=n)

    model = LinearRegression().fit(*draw(200))
    truth = permutation_importance(model, *draw(100_000), metric="mse").values[0, 0]
    held = 0
    for trial in range(120):
        found = permutation_importance(model, *draw(150), metric="mse", random_state=trial)
        held += found.low[0, 0] <= truth <= found.high[0, 0]
    assert held >= 106  # 95 % of 120 is 114; fewer than 107 has probability below 0.005


def test_any_metric_and_weights(numbers):
    X, y = numbers
    model = LinearRegression().fit(X, y)
    own = permutation_importance(model, X, y, metric=lambda truth, said: -np.abs(truth - said).max())
    assert own.notes == ["the intervals speak of the shuffling alone, not of other rows"] and own.values[0, 0] > 0
    weights = np.zeros(400)
    weights[:200] = 2.0
    weighted = permutation_importance(model, X, y, sample_weight=weights)
    assert abs(weighted.base_values[0] - model.score(X[:200], y[:200])) < 1e-9
    pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    assert np.allclose(permutation_importance(pipeline, X, y).values, permutation_importance(model, X, y).values)
    assert permutation_importance(model, X, y, metric=get_metric("mae")).unit == "rise of mean absolute error"


def test_the_same_seed_gives_the_same_bits_for_any_threads(numbers):
    X, y = numbers
    model = TheirForest(5, random_state=0).fit(X, y)
    one, two = (permutation_importance(model, X, y, n_jobs=jobs, random_state=3) for jobs in (1, 2))
    assert np.array_equal(one.values, two.values) and np.array_equal(one.low, two.low)


def test_classes_that_the_model_never_saw_count_as_errors():
    X = np.arange(8.0).reshape(-1, 1)
    model = LogisticRegression().fit(X, list("aaaabbbb"))
    for metric in ("accuracy", "log_loss"):
        found = permutation_importance(model, X, list("aaaabbbc"), metric=metric)
        assert np.isfinite(found.values).all()
    assert permutation_importance(model, X, list("aaaabbbc")).base_values[0] == 0.875


def test_bad_questions_get_one_sentence(numbers):
    X, y = numbers
    model = LinearRegression().fit(X, y)
    with pytest.raises(UsageError, match="does not fit"):
        permutation_importance(model, X, y, metric="accuracy")
    with pytest.raises(ParameterError, match="n_repeats"):
        permutation_importance(model, X, y, n_repeats=0)
    with pytest.raises(DataError, match="not in the table"):
        permutation_importance(model, X, y, groups=[["age"]])
    with pytest.raises(DataError, match="same number of rows"):
        permutation_importance(model, X, y[:-1])
    with pytest.raises(DataError, match="sample_weight"):
        permutation_importance(model, X, y, sample_weight=-np.ones(400))
    with pytest.raises(ParameterError, match="groups"):
        permutation_importance(model, X, y, groups={"none": []})


# -- dropped columns ------------------------------------------------------------------------------------------
def test_a_dropped_column_costs_what_it_explains(numbers):
    X, y = numbers
    found = drop_column_importance(LeastSquares(), X, y, design="2x5")
    assert found.values[0, 0] > 0.5 and abs(found.values[0, 3]) < 0.02
    assert found.low[0, 0] > 0 > found.low[0, 3]
    named = drop_column_importance(LeastSquares(), pl.DataFrame(X, schema=list("abcde")), y, groups={"two": ["a", "b"]})
    assert named.names == ["two"] and named.values[0, 0] >= found.values[0, 0] - 0.1


def test_dropping_takes_the_folds_that_cv_means_elsewhere(numbers):
    X, y = numbers
    pairs = [(np.arange(100, 400), np.arange(100)), (np.arange(300), np.arange(300, 400))]
    found = drop_column_importance(LeastSquares(), X, y, cv=pairs)
    fits = [LeastSquares().fit(X[train], y[train]).score(X[test], y[test]) for train, test in pairs]
    assert found.base_values[0] == pytest.approx(np.mean(fits), abs=1e-12) and "2 folds" in found.method
    assert "4 folds" in drop_column_importance(LeastSquares(), X, y, cv=4).method
    for ask in (drop_column_importance, columns_that_matter):
        with pytest.raises(ParameterError, match="design"):
            ask(LeastSquares(), X, y, cv="5-fold")
        with pytest.raises(ParameterError, match="number from 2 on"):
            ask(LeastSquares(), X, y, cv=1)


def test_dropping_needs_something_left_and_a_named_metric(numbers):
    X, y = numbers
    with pytest.raises(ParameterError, match="at least one column"):
        drop_column_importance(LeastSquares(), X, y, groups=[[0, 1, 2, 3, 4]])
    with pytest.raises(ParameterError, match="metric"):
        drop_column_importance(LeastSquares(), X, y, metric=lambda a, b: 0.0)


# -- inference ------------------------------------------------------------------------------------------
def null_rejections(n_tables, make, n=200, cv=None):
    """How often any of the columns that say nothing is called one that matters, and how often the true one is."""
    false = true = 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        common = rng.normal(size=(2 * n, 1))
        X = 0.7 * common + rng.normal(size=(2 * n, 4))  # the null columns go with the one that counts
        y = 1.0 * X[:, 0] + rng.normal(size=2 * n)
        if cv is None:
            found = columns_that_matter(make().fit(X[:n], y[:n]), X[n:], y[n:], n_repeats=5)
        else:
            found = columns_that_matter(make(), X[:n], y[:n], n_repeats=5, cv=cv)
        matters = found.extra["matters"]
        false += bool(matters[1:].any())
        true += bool(matters[0])
    return false, true


def test_columns_that_say_nothing_are_seldom_called_important():
    false, true = null_rejections(60, lambda: TheirForest(10, min_samples_leaf=5, random_state=0), n=120)
    assert false <= 7 and true >= 55  # 5 % of 60 is 3; more than 7 has probability 0.006


@pytest.mark.slow
@pytest.mark.parametrize("cv", [None, 5])
def test_calibration_of_the_tests_over_many_tables(cv):
    make = LeastSquares if cv else (lambda: TheirForest(20, min_samples_leaf=5, random_state=0))
    false, true = null_rejections(400, make, cv=cv)
    assert false <= 31 and true >= 380  # 5 % of 400 is 20; more than 31 has probability 0.005


def test_classes_are_judged_by_their_log_loss_and_groups_as_one():
    frame, y = mixed_table(500)
    model = RandomForestClassifier(n_estimators=20, min_samples_leaf=5, random_state=0).fit(frame[:250], y[:250])
    found = columns_that_matter(model, frame[250:], y[250:], groups={"real": ["size", "colour"], "noise": ["noise"]})
    assert found.extra["matters"].tolist() == [True, False]
    assert "Log loss" in found.unit or "log loss" in found.unit.lower()
    assert (found.extra["adjusted p"] >= found.extra["p"]).all() and "matters" in found.to_text()


def test_inference_needs_a_metric_of_rows_and_enough_folds(numbers):
    X, y = numbers
    with pytest.raises(ParameterError, match="cv"):
        columns_that_matter(LeastSquares(), X, y, cv=1)
    with pytest.raises(UsageError, match="mean over rows"):
        columns_that_matter(LinearRegression().fit(X, y), X, y, metric=lambda a, b: 1.0)


# -- what the model or the table says --------------------------------------------------------------------------------
def test_impurity_coefficients_and_the_target_alone(numbers):
    X, y = numbers
    forest = TheirForest(10, random_state=0).fit(X, y)
    assert np.allclose(impurity_importance(forest).values[0], forest.feature_importances_)
    with pytest.raises(UsageError, match="trees"):
        impurity_importance(LinearRegression().fit(X, y))
    line = LeastSquares().fit(X, y)
    found = coefficient_importance(line, X)
    assert np.allclose(found.values[0], np.abs(line.coef_) * X.std(axis=0))
    assert "raises the prediction" in found.notes[0]
    odds = coefficient_importance(LogisticRegression().fit(X, y > 0), X)
    assert "multiplies the odds of True" in odds.notes[0]
    classes = coefficient_importance(LogisticRegression().fit(X, np.digitize(y, [-1, 1])), X)
    assert "scores of the classes" in classes.notes[0]
    with pytest.raises(UsageError, match="linear"):
        coefficient_importance(forest)
    alone = target_importance(X, y > 0, "total-variation")
    assert alone.values[0].argmax() == 0 and 0 <= alone.values.min() <= alone.values.max() <= 1
    assert target_importance(X, y).extra["p"][0] < 1e-6


def test_every_global_explanation_has_its_forms(numbers):
    X, y = numbers
    found = permutation_importance(LinearRegression().fit(X, y), X, y)
    assert found.is_global and found.rank()[0] == 1
    for text in (found.to_text(), found.to_markdown(), found.to_latex()):
        assert "x0" in text
    page = found.to_html()
    assert page.startswith("<svg") and "<details>" in page and "95%" in found.how_to_read
    assert found.to_dict()["scope"] == "global"


def test_folds_are_given_as_to_every_method_and_open_seeds_come_from_the_folds(numbers):
    X, y = numbers
    pairs = [(np.flatnonzero(np.arange(len(y)) % 3 != k), np.flatnonzero(np.arange(len(y)) % 3 == k)) for k in range(3)]
    one, two = (columns_that_matter(LeastSquares(), X, y, cv=folds) for folds in (pairs, iter(pairs)))
    np.testing.assert_array_equal(one.values, two.values)
    forest = TheirForest(5)  # its seed is open
    told = [columns_that_matter(forest, X, y, cv=3, n_repeats=2, random_state=1).values for _ in range(2)]
    np.testing.assert_array_equal(*told)


def test_a_constant_column_with_missing_cells_says_only_where_they_are():
    column = np.full(31, 0.1)
    column[::3] = np.nan
    design = _design(column[:, None], np.array([False]), [0])
    np.testing.assert_array_equal(design, np.column_stack([np.ones(31), np.zeros(31), np.isnan(column)]))
