"""Missing cells are left out or filled by what the training rows say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.impute import KNNImputer, SimpleImputer

from assay import config
from assay.base import AssayError, CostError
from assay.prepare import DropMissing, ImputeGroup, ImputeKNN, ImputeSimple

TABLE = pl.DataFrame(
    {
        "age": [20.0, None, 40.0, 60.0, None],
        "calls": [1, 2, None, 2, 5],
        "plan": ["a", "b", None, "b", "c"],
        "ok": [True, None, True, False, None],
    }
)


def holed(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)).round(1)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


# -- DropMissing -------------------------------------------------------------------------------------------------
def test_rows_with_missing_cells_leave_training_only():
    step = DropMissing()
    rows, target = step.fit_resample(TABLE, np.arange(5))
    assert rows["age"].to_list() == [20.0, 60.0] and target.tolist() == [0, 3]
    assert step.transform(TABLE).height == 5
    assert step.explain() == ["Training rows with any cell missing in age, calls, plan, ok are left out."]


@pytest.mark.parametrize(
    ("share", "kept"), [(0.0, [0, 3]), (0.25, [0, 3]), (0.5, [0, 1, 2, 3, 4]), (1.0, [0, 1, 2, 3, 4])]
)
def test_rows_up_to_the_share_stay(share, kept):
    step = DropMissing(max_share=share)
    step.fit_resample(TABLE)
    assert step.sample_indices_.tolist() == kept


def test_only_the_columns_asked_for_count():
    step = DropMissing(columns=["plan"])
    step.fit_resample(TABLE)
    assert step.sample_indices_.tolist() == [0, 1, 3, 4]
    assert DropMissing(axis="columns", columns=["calls"]).fit_transform(TABLE).columns == ["age", "plan", "ok"]


def test_columns_over_the_share_leave_every_table():
    step = DropMissing(axis="columns", max_share=0.3).fit(TABLE)
    assert step.dropped_ == ["age", "ok"] and step.transform(TABLE[:1]).columns == ["calls", "plan"]
    assert step.explain()[0] == "age: left out, 40% of its training cells are missing."
    assert step.fit_resample(TABLE)[0].height == 5, "no row is left out"
    with pytest.raises(AssayError, match="would lose every column"):
        DropMissing(axis="columns").fit(TABLE)


# -- ImputeSimple ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
@pytest.mark.parametrize("indicator", [False, True])
def test_numbers_agree_with_scikit_learn(strategy, indicator):
    X, other = holed(), holed(seed=1)
    peer = SimpleImputer(strategy=strategy, add_indicator=indicator).fit(X)
    step = ImputeSimple(strategy=strategy, add_indicator=indicator).fit(X)
    np.testing.assert_allclose(step.transform(other), peer.transform(other), rtol=1e-14)


def test_text_agrees_with_scikit_learn():
    X = np.array([["b"], ["a"], [None], ["a"], ["b"]], dtype=object)
    peer = SimpleImputer(strategy="most_frequent", missing_values=None).fit_transform(X)
    assert ImputeSimple(strategy="most_frequent").fit_transform(X).tolist() == peer.tolist()


def test_labels_take_the_most_frequent_label():
    step = ImputeSimple(strategy="median").fit(TABLE)
    assert step.fillings_ == {"age": 40.0, "calls": 2.0, "plan": "b", "ok": True}
    assert step.transform(TABLE).null_count().sum_horizontal().item() == 0
    assert step.explain()[2] == "plan: missing cells become 'b' (the most frequent value)."


def test_a_constant_fills_the_columns_of_its_kind():
    numbers = ImputeSimple(strategy="constant", fill_value=-1).fit(TABLE)
    assert numbers.fillings_ == {"age": -1, "calls": -1}
    assert numbers.transform(TABLE)["calls"].dtype == pl.Int64
    text = ImputeSimple(strategy="constant", fill_value="none").fit_transform(TABLE)
    assert text["plan"].to_list()[2] == "none" and text["age"].null_count() == 2
    assert ImputeSimple(strategy="constant", fill_value=0.5).fit_transform(TABLE)["calls"].to_list()[2] == 0.5
    both = ImputeSimple(strategy="constant").fit(TABLE)
    assert both.fillings_ == {"age": 0, "calls": 0, "plan": "(missing)", "ok": False}
    with pytest.raises(AssayError, match="'fill_value' must be text for column 'plan'"):
        ImputeSimple(strategy="constant", fill_value=3, columns=["plan"]).fit(TABLE)


def test_indicators_mark_and_lead_back():
    step = ImputeSimple(add_indicator=True, columns=["age", "plan"]).fit(TABLE)
    out = step.transform(TABLE)
    assert out.columns == ["age", "calls", "plan", "ok", "age missing", "plan missing"]
    assert out["age missing"].to_list() == [0.0, 1.0, 0.0, 0.0, 1.0]
    assert step.inverse_transform(out).equals(TABLE)
    with pytest.raises(AssayError, match="'add_indicator' must be True"):
        ImputeSimple().fit(TABLE).inverse_transform(TABLE)


def test_a_column_without_any_value_gets_a_stand_in():
    frame = pl.DataFrame(
        {"a": pl.Series([None, None], dtype=pl.Float64), "t": pl.Series([None, None], dtype=pl.String)}
    )
    assert ImputeSimple().fit_transform(frame).rows() == [(0.0, "(missing)")] * 2


def test_a_table_of_one_empty_column_at_prediction_is_filled():
    step = ImputeSimple().fit(pd.DataFrame({"age": [1.0, 3.0], "plan": ["a", "b"]}))
    out = step.transform(pd.DataFrame({"age": [None], "plan": [None]}))
    assert out.iloc[0].tolist() == [2.0, "a"]
    with pytest.raises(AssayError, match="column 'age' was numeric in fit"):
        step.transform(pd.DataFrame({"age": ["x"], "plan": ["a"]}))


# -- ImputeGroup -------------------------------------------------------------------------------------------------
PEOPLE = pl.DataFrame(
    {
        "gender": ["f", "f", "m", "f", "m", None, "x"],
        "site": [1, 1, 1, 2, 2, 2, 2],
        "height": [160.0, 170.0, 180.0, None, None, None, None],
        "shoe": ["s", "s", "l", None, None, None, None],
    }
)


@pytest.mark.parametrize("strategy", ["mean", "median"])
def test_groups_agree_with_pandas(strategy):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": rng.choice(list("abc"), 80), "h": rng.integers(0, 3, 80), "v": rng.normal(size=80)})
    frame.loc[rng.random(80) < 0.3, "v"] = np.nan
    expected = (
        frame["v"].fillna(frame.groupby(["g", "h"])["v"].transform(strategy)).fillna(getattr(frame["v"], strategy)())
    )
    out = ImputeGroup(by=["g", "h"], strategy=strategy).fit_transform(frame)
    np.testing.assert_allclose(out["v"], expected, rtol=1e-13, atol=1e-15)


def test_missing_unseen_and_empty_groups_fall_back_to_all_rows():
    step = ImputeGroup(by=["gender"]).fit(PEOPLE)
    assert step.transform(PEOPLE)["height"].to_list() == [160.0, 170.0, 180.0, 165.0, 180.0, 170.0, 170.0]
    later = pl.DataFrame({"gender": ["new", None], "site": [1, 1], "height": [None, None], "shoe": [None, None]})
    assert step.transform(later)["height"].to_list() == [170.0, 170.0]
    assert step.transform(later)["shoe"].to_list() == ["s", "s"]
    assert step.groups_ == {"gender": ["f", "m", "x"]} and step.values_["height"] == [165.0, 180.0, None]


def test_labels_take_the_most_frequent_label_of_the_group():
    out = ImputeGroup(by="gender", strategy="most_frequent").fit_transform(PEOPLE)
    assert out["shoe"].to_list() == ["s", "s", "l", "s", "l", "s", "s"]


def test_columns_and_words_of_group_imputation():
    step = ImputeGroup(by=["gender"], columns=["height"]).fit(PEOPLE)
    assert step.transform(PEOPLE)["shoe"].null_count() == 4
    assert step.explain() == ["height: missing cells become the mean among the rows of the same gender; otherwise 170."]
    with pytest.raises(AssayError, match="parameter 'by' must name columns"):
        ImputeGroup(by=["sex"]).fit(PEOPLE)
    assert ImputeGroup(columns=["height"]).fit_transform(PEOPLE)["height"].to_list()[3:] == [170.0] * 4


# -- ImputeKNN ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("neighbours", [1, 4])
def test_nearest_rows_agree_with_scikit_learn(weights, neighbours):
    # Of two donors at the same distance ours is the earlier row; scikit-learn leaves it open, so there are none here.
    X, other = holed() + 0.01 * np.random.default_rng(5).random(holed().shape), holed(rows=20, seed=1)
    peer = KNNImputer(n_neighbors=neighbours, weights=weights).fit(X)
    step = ImputeKNN(n_neighbors=neighbours, weights=weights).fit(X)
    np.testing.assert_allclose(step.transform(other), peer.transform(other), rtol=1e-9)
    np.testing.assert_allclose(step.transform(X), peer.transform(X), rtol=1e-9)


def test_of_donors_at_the_same_distance_the_earlier_row_counts():
    X = np.array([[0.0, 1.0], [2.0, 5.0], [2.0, 7.0], [1.0, np.nan]])
    assert ImputeKNN(n_neighbors=1).fit_transform(X)[3, 1] == 1.0
    assert ImputeKNN(n_neighbors=2).fit_transform(X)[3, 1] == 3.0


def test_a_missing_label_is_that_of_the_neighbours():
    frame = pl.DataFrame({"x": [0.0, 0.1, 0.2, 5.0, 5.1, 5.2], "side": ["left", "left", None, "right", None, "right"]})
    step = ImputeKNN(n_neighbors=2).fit(frame)
    assert step.transform(frame)["side"].to_list() == ["left"] * 3 + ["right"] * 3
    assert step.transform(pl.DataFrame({"x": [None, 9.0], "side": [None, None]}))["side"].to_list() == ["left", "right"]
    assert "the label most frequent among the 2 nearest" in step.explain()[1]


def test_near_neighbours_outvote_many_when_weighted():
    frame = pl.DataFrame({"x": [0.0, 1.0, 1.1, 0.05], "ok": [True, False, False, None]})
    assert ImputeKNN(n_neighbors=3).fit_transform(frame)["ok"].to_list()[3] is False
    assert ImputeKNN(n_neighbors=3, weights="distance").fit_transform(frame)["ok"].to_list()[3] is True


def test_labels_alone_take_the_most_frequent_and_columns_choose():
    frame = pl.DataFrame({"t": ["a", "b", "b", None], "x": [1.0, None, 2.0, 3.0]})
    assert ImputeKNN(columns=["t"]).fit_transform(frame)["t"].to_list()[3] == "b"
    assert ImputeKNN(columns=["x"]).fit_transform(frame)["t"].null_count() == 1
    assert ImputeKNN(columns=["t"]).fit(frame).explain() == ["t: a missing cell becomes the most frequent label."]


def test_filling_that_would_take_too_long_is_refused_beforehand():
    step = ImputeKNN().fit(holed(2000))
    with config.use(max_seconds=0.01), pytest.raises(CostError, match="impute by group or column"):
        step.transform(holed(2000))
