"""Tables: frames of any library, targets and tasks, features and what is set aside, fingerprints."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from assay.base import DataError, ParameterError
from assay.data import Table, load_dataset

COLUMNS = {"x": [1.5, None, 3.5, 4.5], "k": [1, 2, 3, 4], "w": ["a", "b", None, "a"], "b": [True, False, True, True]}


def test_frames_of_every_library_give_the_same_table():
    expected = Table.from_frame(pl.DataFrame(COLUMNS))
    for frame in (pd.DataFrame(COLUMNS), pa.table(COLUMNS), pl.DataFrame(COLUMNS)):
        table = Table.from_frame(frame, name="small")
        assert table.fingerprint == expected.fingerprint
        assert {n: r.role for n, r in table.roles.items()} == {n: r.role for n, r in expected.roles.items()}


def test_pandas_works_without_pyarrow(monkeypatch):
    import narwhals.stable.v1 as nw

    def no_pyarrow(self):
        raise ModuleNotFoundError("pyarrow")

    monkeypatch.setattr(nw.DataFrame, "to_polars", no_pyarrow)
    frame = pd.DataFrame({"x": [1.5, None], "w": ["a", None], "c": pd.Categorical(["u", "v"])})
    assert Table.from_frame(frame).frame.to_dict(as_series=False) == {
        "x": [1.5, None], "w": ["a", None], "c": ["u", "v"],
    }  # fmt: skip


def test_types_become_plain():
    frame = pl.DataFrame(
        {
            "nan": [1.0, float("nan")],
            "infinite": [1.0, float("inf")],
            "small": pl.Series([1, 2], dtype=pl.Int8),
            "half": pl.Series([1.5, 2.5], dtype=pl.Float32),
            "category": pl.Series(["a", "b"], dtype=pl.Categorical),
            "day": [date(2024, 1, 1), date(2024, 1, 2)],
            "zoned": pl.Series(["2024-01-01 12:00"] * 2).str.to_datetime().dt.replace_time_zone("Europe/Berlin"),
            "span": [timedelta(seconds=90), timedelta(0)],
        }
    )
    plain = Table.from_frame(frame)
    assert plain.frame["nan"].to_list() == [1.0, None] and plain.frame["infinite"].to_list() == [1.0, None]
    assert plain.notes["infinite"]["infinite"] == 1
    assert plain.frame["category"].dtype == pl.String and plain.frame["half"].dtype == pl.Float64
    assert plain.frame["zoned"][0].hour == 11 and plain.frame["span"].to_list() == [90.0, 0.0]
    assert plain.roles["day"].role == "datetime"


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pl.DataFrame({"a": [[1], [2]]}), "column 'a' holds nested"),
        (pl.DataFrame({"a": []}), "0 rows"),
        (np.zeros((2, 2)), "must be a pandas"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns named 'a'"),
    ],
)
def test_frames_that_are_no_tables_are_refused(frame, words):
    with pytest.raises(DataError, match=words):
        Table.from_frame(frame)


# -- fingerprints ----------------------------------------------------------------------------------------------
def test_the_fingerprint_depends_on_contents_alone():
    frame = pl.DataFrame(COLUMNS)
    once = Table.from_frame(frame, name="one").fingerprint
    assert once == Table.from_frame(pl.concat([frame[:2], frame[2:]]), name="two").fingerprint
    assert once == Table.from_frame(frame).with_roles({"k": "nominal"}).fingerprint
    assert len(once) == 64


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.with_columns(pl.Series("x", [1.5, None, 3.5, 4.6])),
        lambda f: f.with_columns(pl.Series("x", [None, 1.5, 3.5, 4.5])),
        lambda f: f.with_columns(pl.Series("w", ["ab", "", None, "a"])),
        lambda f: f.with_columns(pl.Series("w", ["a", "b", "", "a"])),
        lambda f: f.rename({"x": "y"}),
        lambda f: f.select("k", "x", "w", "b"),
        lambda f: f[::-1],
        lambda f: f.with_columns(pl.col("k").cast(pl.Float64)),
    ],
)
def test_any_change_of_contents_changes_the_fingerprint(change):
    frame = pl.DataFrame(COLUMNS)
    assert Table.from_frame(frame).fingerprint != Table.from_frame(change(frame)).fingerprint


def test_negative_zero_has_the_fingerprint_of_zero():
    zero, negative = (Table.from_frame(pl.DataFrame({"x": [1.0, value]})) for value in (0.0, -0.0))
    assert zero.fingerprint == negative.fingerprint


# -- targets ---------------------------------------------------------------------------------------------------
def table_with(values, **columns):
    return Table.from_frame(pl.DataFrame({"y": values, "x": np.linspace(0.1, 1, len(values)), **columns}))


@pytest.mark.parametrize(
    ("values", "task", "dtype"),
    [
        (["a", "b", "c"] * 4, "classify", "U"),
        ([True, False] * 6, "classify", "b"),
        ([0, 1] * 6, "classify", "i"),
        ([1, 2, 3] * 10, "classify", "i"),
        ([1, 2, 3, 4], "regress", "f"),
        (list(range(30)) * 10, "regress", "f"),
        ([0.5, 1.5] * 6, "regress", "f"),
        ([1.0, 2.0, 3.0] * 10, "regress", "f"),
        (["low", "high", "medium"] * 4, "classify", "U"),
    ],
)
def test_the_task_follows_from_the_column(values, task, dtype):
    target = table_with(values).target("y")
    assert (target.task, target.values.dtype.kind) == (task, dtype)
    assert target.reason and target.kept.all()


def test_the_task_can_be_given():
    table = table_with([1, 2, 3] * 10)
    assert table.target("y", task="regress").values.dtype == np.float64
    assert table.target("y", task="regress").reason == "the task was given"
    assert table_with([1.0, 2.0] * 6).target("y", task="classify").classes == [1, 2]


def test_rows_without_a_target_are_left_out_and_it_is_said():
    table = table_with(["a", None, "b", "a"])
    target = table.target("y")
    assert target.kept.tolist() == [True, False, True, True] and target.n_missing == 1
    assert "1 of 4 rows have no target" in target.reason
    assert table.features(target).frame.height == 3


def test_a_class_with_one_row_is_allowed_and_reported():
    assert "1 of 2 classes have one row only ('b')" in table_with(["a", "a", "b"]).target("y").reason


@pytest.mark.parametrize(
    ("column", "values", "task", "error", "words"),
    [
        ("Y2", ["a", "b"], None, DataError, "did you mean 'y'"),
        ("nowhere", ["a", "b"], None, DataError, "the columns are 'y', 'x'"),
        ("y", ["a", "a"], None, DataError, "only one class \\('a'\\)"),
        ("y", [2.5, 2.5], None, DataError, "only the value 2.5"),
        ("y", [None, None], None, DataError, "missing in every row"),
        ("y", ["a", "b"], "regress", DataError, "cannot be regressed on"),
        ("y", [0.5, 1.5], "classify", DataError, "not classes"),
        ("y", [date(2024, 1, 1), date(2024, 1, 2)], None, DataError, "holds dates"),
        ("y", ["a", "b"], "cluster", ParameterError, "must be one of classify, regress; got 'cluster'"),
    ],
)
def test_targets_that_cannot_be_learned_are_refused(column, values, task, error, words):
    with pytest.raises(error, match=words):
        table_with(values).target(column, task=task)


# -- features --------------------------------------------------------------------------------------------------
def test_useless_columns_are_set_aside_with_a_reason():
    n = 30
    table = table_with(
        ["a", "b"] * (n // 2),
        nothing=pl.Series([None] * n, dtype=pl.Float64),
        same=[7] * n,
        row_id=list(range(100, 100 + n)),
        prose=[f"a long remark about case number {i}" for i in range(n)],
        half=[1.5, None] * (n // 2),
    )
    features = table.features("y")
    assert [(item["column"], item["reason"].split(":")[0]) for item in features.set_aside] == [
        ("nothing", "every value is missing"),
        ("same", "constant"),
        ("row_id", "an identifier"),
    ]
    kept = ["x", "prose", "half"]
    assert features.frame.columns == kept, "one value beside missing cells still tells something"
    assert list(features.roles) == kept


def test_constancy_is_judged_on_the_rows_with_a_target():
    table = table_with(["a", "b", None], z=[1.5, 1.5, 2.5])
    assert table.features("y").set_aside[0]["column"] == "z"


def test_a_declared_role_brings_a_column_back():
    table = table_with(["a", "b"] * 15, row_id=list(range(30)))
    assert "row_id" in table.with_roles({"row_id": "numeric"}).features("y").frame.columns


def test_a_table_without_usable_columns_is_refused():
    table = Table.from_frame(pl.DataFrame({"y": ["a", "b"], "same": [1, 1]}))
    with pytest.raises(DataError, match="no usable column beside the target 'y'"):
        table.features("y")


def test_the_html_view_escapes_what_comes_from_data():
    table = Table.from_frame(pl.DataFrame({"<script>": ["<b>", "x"]}), name="<i>")
    html = table._repr_html_()
    assert "<script>" not in html and "<b>" not in html and "<i>" not in html
    assert str(load_dataset("weather")).startswith("weather: 14 rows, 5 columns")


def test_sparse_frames_of_pandas_are_read():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 3]), "b": pd.arrays.SparseArray([0.5, np.nan, 2.0])})
    table = Table.from_frame(frame.assign(c=["x", "y", "z"]))
    assert table.frame.rows() == [(0, 0.5, "x"), (0, None, "y"), (3, 2.0, "z")]


def test_objects_that_no_type_holds_together_become_text_or_are_named():
    mixed = Table.from_frame(pd.DataFrame({"a": [2**70, 1], "b": ["x", 2]})).frame
    assert mixed["a"].to_list() == [str(2**70), "1"] and mixed["b"].to_list() == ["x", "2"]
    for cell in (1 + 2j, [1], {}):
        with pytest.raises(DataError, match="column 'odd' must hold numbers, text, dates or truth values"):
            Table.from_frame(pd.DataFrame({"n": [1, 2], "odd": pd.Series(["x", cell], dtype=object)}))


def test_dates_beyond_the_calendar_are_missing_and_said_to_be():
    days = pl.Series("day", [2**30, 0, None]).cast(pl.Int32).cast(pl.Date)
    times = pl.Series("time", [-(2**62), 0, None]).cast(pl.Datetime("us"))
    table = Table.from_frame(pl.DataFrame([days, times]))
    for name in ("day", "time"):
        assert table.frame[name].to_list() == [None, datetime(1970, 1, 1), None]
        assert "1 cell could not be read" in table.roles[name].reason
