"""Values are replaced as told; columns and repeated rows are left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from assay.base import AssayError
from assay.prepare import DropColumns, DropDuplicates, ReplaceValues

TABLE = pl.DataFrame(
    {
        "region": ["north", "nroth", "?", None],
        "age": [31, -999, 40, None],
        "pay": [1.5, -1.0, 2.0, 3.0],
        "ok": [True] * 4,
    }
)


def test_values_become_others_or_missing():
    step = ReplaceValues(mapping={"region": {"nroth": "north", "?": None}, "age": {"-999": None}, "pay": {-1: 0}}).fit(
        TABLE
    )
    out = step.transform(TABLE)
    assert out["region"].to_list() == ["north", "north", None, None]
    assert out["age"].to_list() == [31, None, 40, None] and out["age"].dtype == pl.Int64
    assert out["pay"].to_list() == [1.5, 0.0, 2.0, 3.0]
    assert step.counts_ == {"region": 2, "age": 1, "pay": 1}
    assert step.explain()[0] == "region: 'nroth' becomes 'north', '?' becomes missing (2 cells in training)."


def test_agrees_with_pandas():
    frame = TABLE.to_pandas()
    mapping = {"region": {"north": "n", "nroth": "n"}, "pay": {2.0: 5.0}}
    out, peer = ReplaceValues(mapping=mapping).fit_transform(frame), frame.replace(mapping)
    pd.testing.assert_frame_equal(out[["region", "pay"]], peer[["region", "pay"]], check_dtype=False)


def test_two_values_can_be_swapped_and_integers_stay_exact():
    frame = pl.DataFrame({"c": ["a", "b"], "big": [2**53 + 1, 5], "ok": [True, False]})
    step = ReplaceValues(mapping={"c": {"a": "b", "b": "a"}, "big": {5: 6, 0.5: 1}, "ok": {"false": True}})
    assert step.fit_transform(frame).rows() == [("b", 2**53 + 1, True), ("a", 6, True)]
    assert ReplaceValues(mapping={"big": {5: 0.5}}).fit_transform(frame)["big"].to_list()[1] == 0.5


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({"age": {"old": 1}}, "a dict of numbers, which the column holds, for column 'age'"),
        ({"age": {1: "young"}}, "a dict of numbers"),
        ({"age": [1]}, "a dict of old value to new value"),
        ({"ok": {"maybe": True}}, "a dict of true and false"),
        ({"region": {None: "north"}}, "impute missing cells instead"),
        ({"nope": {}}, "parameter 'mapping' must name columns"),
    ],
)
def test_wrong_mappings_are_refused(mapping, words):
    with pytest.raises(AssayError, match=words):
        ReplaceValues(mapping=mapping).fit(TABLE)


def test_columns_are_left_out():
    step = DropColumns(columns=["age", 0]).fit(TABLE)
    assert step.transform(TABLE).columns == ["pay", "ok"] and step.explain() == ["age, region: left out."]
    assert DropColumns().fit_transform(TABLE).equals(TABLE) and DropColumns().fit(TABLE).explain() == []
    with pytest.raises(AssayError, match="would lose every column"):
        DropColumns(columns=TABLE.columns).fit(TABLE)


def test_repeated_rows_agree_with_pandas():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, size=(60, 3)), columns=list("abc")).astype({"c": str})
    frame.loc[::7, "a"] = np.nan
    for keys in (None, ["a", "c"]):
        step = DropDuplicates(keys=keys)
        rows, _ = step.fit_resample(frame)
        assert list(rows.index) == list(frame.drop_duplicates(subset=keys).index)
        assert step.duplicates_ == int(frame.duplicated(subset=keys).sum()) > 0
    assert step.transform(frame).shape == frame.shape, "rows to predict all stay"


def test_rows_with_another_target_are_no_copies():
    X, y = np.ones((3, 1)), np.array(["a", "b", "a"], dtype=object)
    step = DropDuplicates()
    assert step.fit_resample(X, y)[1].tolist() == ["a", "b"] and step.duplicates_ == 1
    assert DropDuplicates(keys=[0]).fit_resample(X, y)[1].tolist() == ["a"]
    assert DropDuplicates().fit_resample(X)[0].shape == (1, 1)
    assert "the whole row and the target" in step.explain()[0]
    with pytest.raises(AssayError, match="parameter 'keys' must name"):
        DropDuplicates(keys=[]).fit(X)


def test_dates_are_replaced_by_their_iso_form():
    frame = pl.DataFrame({"born": ["1900-01-01", "1980-05-03", None]}).with_columns(pl.col("born").str.to_datetime())
    step = ReplaceValues(mapping={"born": {"1900-01-01": None, "1980-05-03": "1980-03-05"}}).fit(frame)
    assert step.counts_ == {"born": 2}
    assert [None if v is None else v.date().isoformat() for v in step.transform(frame)["born"]] == [
        None,
        "1980-03-05",
        None,
    ]
    with pytest.raises(AssayError, match="dates such as"):
        ReplaceValues(mapping={"born": {"yesterday": None}}).fit(frame)
