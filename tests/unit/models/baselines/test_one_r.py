"""OneR: Holte's buckets checked against a slow reading of the paper, and the edges of mixed tables."""

import json

import numpy as np
import polars as pl
import pytest

from assay.base import ParameterError
from assay.models.baselines import OneRClassifier


def slow_rule(column, y, min_bucket):
    """Holte's intervals one value at a time: [(upper value, class counts)] for integer classes and no missing cells."""
    classes = int(y.max()) + 1
    buckets, counts, full, leader = [], np.zeros(classes), False, -1
    values = np.unique(column)
    for position, value in enumerate(values):
        counts += np.bincount(y[column == value], minlength=classes)
        leader = leader if full else int(counts.argmax())
        full = full or counts[leader] >= min_bucket
        following = y[column == values[position + 1]] if position + 1 < len(values) else None
        if following is None or (full and not (following == leader).all()):
            before = int(buckets[-1][2]) if buckets else -1
            winner = before if before >= 0 and counts[before] == counts.max() else int(counts.argmax())
            if winner == before:
                buckets[-1] = (value, buckets[-1][1] + counts, winner)
            else:
                buckets.append((value, counts, winner))
            counts, full = np.zeros(classes), False
    return buckets


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("min_bucket", [1, 3, 6])
def test_intervals_equal_a_slow_reading_of_the_paper(seed, min_bucket):
    rng = np.random.default_rng(seed)
    column = rng.integers(0, 40, size=200).astype(float)
    y = ((column > 12) & (column < 25)).astype(int) + (rng.random(200) < 0.2)
    model = OneRClassifier(min_bucket_size=min_bucket).fit(column[:, None], y)
    expected = slow_rule(column, y, min_bucket)
    np.testing.assert_array_equal(model.counts_[:-1], [counts for _, counts, _ in expected])
    upper = np.array([value for value, _, _ in expected])
    assert ((upper[:-1] < model.cuts_) & (model.cuts_ < upper[:-1] + 1)).all()
    assert [rule["then"] for rule in model.branches_] == [winner for *_, winner in expected]


def test_best_column_wins_and_the_first_on_a_tie():
    X = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 1]], dtype=float)
    model = OneRClassifier(min_bucket_size=1).fit(X, ["a", "a", "b", "b"])
    assert model.column_ == 1 and model.column_name_ == "x1"
    np.testing.assert_allclose(model.column_errors_, [0.25, 0.0, 0.0])


def test_nominal_numeric_and_missing_cells_together():
    frame = pl.DataFrame(
        {"noise": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "colour": ["red", "red", "blue", "blue", None, None]}
    )
    model = OneRClassifier().fit(frame, ["a", "a", "b", "b", "c", "c"])
    assert model.column_name_ == "colour"
    assert model.predict(frame).tolist() == ["a", "a", "b", "b", "c", "c"]
    assert [rule["if"] for rule in model.branches_] == ["colour = blue", "colour = red", "colour is missing"]


def test_unseen_category_and_unseen_missing_get_the_most_frequent_class():
    model = OneRClassifier().fit(pl.DataFrame({"c": ["u", "v", "v", "w"]}), ["no", "yes", "yes", "no"], [1, 1, 1, 3])
    other = pl.DataFrame({"c": ["new", None, "v"]})
    assert model.predict(other).tolist() == ["no", "no", "yes"]
    np.testing.assert_allclose(model.predict_proba(other)[:2], [[4 / 6, 2 / 6]] * 2)


def test_missing_numbers_are_a_branch():
    X = np.array([[np.nan], [np.nan], [1.0], [2.0]])
    model = OneRClassifier().fit(X, [1, 1, 0, 0])
    assert model.predict([[np.nan], [5.0]]).tolist() == [1, 0]
    assert model.branches_[0]["if"] == "x0 is known"


def test_probabilities_are_class_shares_smoothed_by_alpha():
    X, y = [["a"], ["a"], ["a"], ["b"]], [0, 0, 1, 1]
    np.testing.assert_allclose(OneRClassifier().fit(X, y).predict_proba([["a"], ["b"]]), [[2 / 3, 1 / 3], [0, 1]])
    smoothed = OneRClassifier(alpha=1).fit(X, y).predict_proba([["a"], ["b"]])
    np.testing.assert_allclose(smoothed, [[3 / 5, 2 / 5], [1 / 3, 2 / 3]])


def test_the_largest_smoothing_gives_equal_shares():
    X, y = [["a"], ["a"], ["b"]], [0, 1, 1]
    model = OneRClassifier(alpha=1e308).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), np.full((3, 2), 0.5))
    np.testing.assert_array_equal(model.to_rules().predict_proba(X), np.full((3, 2), 0.5))


def test_categorical_features_makes_numbers_nominal():
    X, y = np.array([[1.0], [2.0], [3.0]] * 4), ["a", "b", "a"] * 4
    assert OneRClassifier(min_bucket_size=6).fit(X, y).score(X, y) < 1.0
    assert OneRClassifier(categorical_features=[0]).fit(X, y).score(X, y) == 1.0


def test_weights_equal_repetition():
    rng = np.random.default_rng(4)
    X, y, weights = rng.normal(size=(200, 3)).round(1), rng.integers(0, 3, 200), rng.integers(0, 4, 200)
    weighted = OneRClassifier().fit(X, y, sample_weight=weights)
    repeated = OneRClassifier().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.column_errors_, repeated.column_errors_)
    np.testing.assert_array_equal(weighted.cuts_, repeated.cuts_)
    np.testing.assert_array_equal(weighted.counts_, repeated.counts_)


def test_order_of_rows_does_not_matter():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 4)).round(1), rng.integers(0, 2, 300)
    order = rng.permutation(300)
    one, other = OneRClassifier().fit(X, y), OneRClassifier().fit(X[order], y[order])
    assert one.to_text() == other.to_text()


def test_number_of_threads_does_not_matter():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(500, 9)), rng.integers(0, 2, 500)
    one, two = (OneRClassifier(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.column_errors_.tobytes() == two.column_errors_.tobytes() and one.to_text() == two.to_text()


def test_prediction_is_the_rule_that_is_printed():
    rng = np.random.default_rng(7)
    X, y = rng.integers(0, 30, size=(200, 1)).astype(float), rng.integers(0, 3, 200)
    model = OneRClassifier(min_bucket_size=3).fit(X, y)
    right = sum(rule["correct"] for rule in model.branches_)
    assert right == (model.predict(X) == y).sum() == round(200 * (1 - model.column_errors_[0]))
    assert model.to_text().endswith(f"{right:g} of 200 right")


def test_trace_holds_the_error_of_every_column():
    model = OneRClassifier(trace=True).fit([["a", 1.0], ["b", 1.0]], [0, 1])
    assert [(r["what"], r["values"]["column"], r["values"]["error"]) for r in model.trace_] == [
        ("column", "x0", 0.0),
        ("column", "x1", 0.5),
    ]
    assert not hasattr(OneRClassifier().fit([["a"], ["b"]], [0, 1]), "trace_")


def test_view_is_ready_to_draw_and_bounded():
    model = OneRClassifier().fit([["a"], ["b"]], ["no", "yes"])
    view = json.loads(json.dumps(model.view().to_dict()))
    assert view["kind"] == "rules" and view["default"] == "no"
    assert view["rules"][0] == {"if": "x0 = a", "then": "no", "rows": 1.0, "correct": 1.0}
    rng = np.random.default_rng(8)
    long = OneRClassifier(min_bucket_size=1).fit(rng.normal(size=(2000, 1)), rng.integers(0, 2, 2000))
    assert len(long.branches_) > 100 >= len(long.view()["rules"]) and long.view()["cut"]


def test_bad_bucket_size_is_refused():
    with pytest.raises(ParameterError, match="'min_bucket_size' must be"):
        OneRClassifier(min_bucket_size=0).fit([[0.0], [1.0]], [0, 1])


def test_cost_grows_with_rows():
    assert OneRClassifier().estimate_cost(10**6, 5).seconds > OneRClassifier().estimate_cost(10**3, 5).seconds


@pytest.mark.parametrize("kind", ["numeric", "nominal", "unseen missing"])
def test_the_rule_set_predicts_what_the_model_predicts(kind):
    rng = np.random.default_rng(0)
    number = rng.normal(size=80)
    y = np.where(np.abs(number) < 0.6, "in", "out")
    if kind == "nominal":
        X = pl.DataFrame({"c": [None if v > 1.5 else str(round(v)) for v in number]})
        new = pl.DataFrame({"c": ["never seen", None, "0"]})
    else:
        cells = number.copy()
        if kind == "numeric":
            cells[::7] = np.nan
        X, new = cells[:, None], np.array([[np.nan], [0.0], [9.0]])
    model = OneRClassifier(min_bucket_size=3).fit(X, y)
    rules = model.to_rules()
    for table in (X, new):
        np.testing.assert_array_equal(rules.predict(table), model.predict(table))
    assert sum(rules.total) == 80 and model.to_sql("t").startswith("SELECT *, CASE")
