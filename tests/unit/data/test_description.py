"""Descriptions tell what NumPy and Polars tell, by role."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from assay.base import ParameterError
from assay.data import Table, cramer_v, describe, load_dataset

RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {
        "x": [*RNG.normal(size=199), None],
        "n": RNG.integers(0, 6, 200),
        "colour": RNG.choice(["red", "green", "blue"], 200),
        "flag": RNG.random(200) < 0.4,
        "when": pl.Series(RNG.integers(0, 10**15, 200)).cast(pl.Datetime("us")),
        "user_id": [f"secret-{k}" for k in range(200)],
        "prose": [f"this is the secret remark with number {k}" for k in range(200)],
    }
)


@pytest.fixture(scope="module")
def found():
    return describe(FRAME)


def column(found, name):
    return next(c for c in found.columns if c["name"] == name)


def test_numbers_are_told_as_numpy_tells_them(found):
    x = FRAME["x"].drop_nulls().to_numpy()
    told = column(found, "x")
    assert (told["count"], told["missing"], told["distinct"]) == (199, 1, 199)
    assert told["mean"] == pytest.approx(x.mean()) and told["sd"] == pytest.approx(x.std(ddof=1))
    for p, value in told["quantiles"].items():
        assert value == pytest.approx(np.quantile(x, float(p)))
    assert (told["min"], told["max"]) == (x.min(), x.max())


def test_a_histogram_counts_every_present_cell_once(found):
    for name in ("x", "n", "when"):
        told = column(found, name)
        assert sum(told["histogram"]["counts"]) == told["count"]
        assert len(told["histogram"]["edges"]) == len(told["histogram"]["counts"]) + 1
    edges = [float(e) for e in column(found, "x")["histogram"]["edges"]]
    assert column(found, "x")["histogram"]["counts"][3] == int(
        ((FRAME["x"] >= edges[3]) & (FRAME["x"] < edges[4])).sum()
    )


@pytest.mark.parametrize("bins", [5, 30])
def test_bins_say_how_many_bars_there_are(bins):
    assert len(column(describe(FRAME, bins=bins), "x")["histogram"]["counts"]) == bins


def test_labels_are_counted(found):
    counts = FRAME["colour"].value_counts(sort=True)
    top = column(found, "colour")["top"]
    assert [one["count"] for one in top] == counts["count"].to_list()
    assert column(found, "flag")["top"][0]["count"] == max(FRAME["flag"].sum(), 200 - FRAME["flag"].sum())


def test_dates_are_told_as_dates(found):
    assert column(found, "when")["min"][:10] == str(FRAME["when"].min())[:10]


def test_nothing_is_shown_of_identifiers_and_prose(found):
    told = json.dumps(found.to_dict(), allow_nan=False)
    assert "secret" not in told and "secret" not in found.to_html() and "secret" not in str(found)
    assert column(found, "user_id")["length"]["min"] == 8


def test_associations_go_by_role():
    found = describe(FRAME, corrected=False)
    x, n = FRAME["x"], FRAME["n"]
    assert found.association("x", "n") == pytest.approx(pl.select(pl.corr(x, n)).item())
    crossed = FRAME.pivot("flag", index="colour", values="x", aggregate_function=pl.len()).drop("colour").fill_null(0)
    assert found.association("colour", "flag") == pytest.approx(cramer_v(crossed.to_numpy()))
    groups = FRAME.drop_nulls("x").group_by("colour").agg(pl.col("x").mean().alias("m"), pl.len())
    centre = x.mean()
    between = (groups["len"] * (groups["m"] - centre) ** 2).sum()
    total = ((x.drop_nulls() - centre) ** 2).sum()
    assert found.association("x", "colour") == pytest.approx(np.sqrt(between / total))
    assert found.association("x", "colour") == found.association("colour", "x")


def test_the_correction_takes_chance_off_and_associations_can_be_left_out():
    plain, corrected = describe(FRAME, corrected=False), describe(FRAME)
    assert corrected.association("colour", "flag") < plain.association("colour", "flag")
    assert corrected.association("x", "colour") < plain.association("x", "colour")
    assert describe(FRAME, associations=False).associations["names"] == []


def test_labels_without_meaning_are_no_strong_pair():
    """Columns of many labels reach a high V and ratio by chance; corrected, real ties of few labels stand above."""
    rng = np.random.default_rng(0)
    few = rng.integers(0, 2, 600)
    frame = pl.DataFrame({
        "noise": [f"a{k}" for k in rng.integers(0, 60, 600)], "other": [f"b{k}" for k in rng.integers(0, 60, 600)],
        "group": np.where(few, "x", "y"), "twin": np.where(rng.random(600) < 0.7, few, 1 - few).astype(str),
        "number": rng.normal(size=600) + few,
    }).with_columns(pl.col("twin").replace({"0": "p", "1": "q"}))  # fmt: skip
    found, raw = describe(frame), describe(frame, corrected=False)
    assert raw.association("noise", "other") > 0.28 and found.association("noise", "other") < 0.12
    assert found.association("noise", "number") < 0.2 < found.association("group", "twin")


def test_identifiers_have_no_association(found):
    with pytest.raises(ParameterError, match="has no association"):
        found.association("x", "user_id")
    with pytest.raises(ParameterError, match="integer >= 2"):
        describe(FRAME, bins=1)


def test_an_empty_column_and_a_constant_are_described():
    frame = pl.DataFrame({"e": pl.Series([None] * 5, dtype=pl.Float64), "k": [2.5] * 5, "x": [1.0, 2, 3, 4, 5.5]})
    found = describe(frame)
    assert column(found, "e")["count"] == 0 and column(found, "k")["sd"] == 0
    json.dumps(found.to_dict(), allow_nan=False)
    assert "e" in str(found) and "<svg" in found.to_html()


@pytest.mark.parametrize("name", ["iris", "customers", "weather", "digits"])
def test_bundled_tables_are_described(name):
    found = describe(load_dataset(name))
    assert len(found.columns) == len(load_dataset(name).columns) and "<table>" in found._repr_html_()


def test_large_tables_take_the_same_path_by_threads():
    big = pl.DataFrame({"a": np.arange(60_000) % 97 / 7, "b": np.arange(60_000) % 11, "c": ["u", "v", "w"] * 20_000})
    found = describe(Table.from_frame(big))
    small = describe(big[:45_000])
    assert column(found, "a")["distinct"] == 97 and column(small, "a")["distinct"] == 97
    assert found.association("b", "c") == pytest.approx(small.association("b", "c"), abs=0.02)
