"""What would break a merge is said before it breaks."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.base import DataError
from assay.data import Table, merge_check

N = 60
RNG = np.random.default_rng(0)
LEFT = pl.DataFrame({
    "customer_id": [f"K{k:03d}" for k in range(N)],
    "weight": RNG.normal(70, 5, N),
    "city": RNG.choice(["Rome", "Oslo"], N),
})  # fmt: skip


def check(right, on="customer_id", left=LEFT):
    return merge_check(left, right, on)


def codes(found):
    return {f.code for f in found.findings}


def only(found, code):
    (told,) = [f for f in found.findings if f.code == code]
    return told


def test_two_halves_that_fit_have_no_findings_but_their_own_columns():
    right = pl.DataFrame({"customer_id": LEFT["customer_id"], "score": RNG.normal(size=N)})
    found = check(right)
    assert codes(found) == {"M001"} and found.worst == "low"
    assert found.rows_after == {"inner": N, "left": N, "right": N, "outer": N}


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_the_rows_after_a_join_are_those_that_polars_gives(how):
    left = LEFT[[0, 0, 1, 2, 3]]
    right = pl.DataFrame({"customer_id": ["K000", "K000", "K001", "K999"], "v": [1, 2, 3, 4]})
    found = check(right, left=left)
    assert found.rows_after["outer" if how == "full" else how] == left.join(right, on="customer_id", how=how).height


def test_keys_that_repeat_on_both_sides_are_severe():
    found = check(LEFT[[5, 5, 6]].select("customer_id"), left=LEFT[[5, 5, 6]])
    assert {f.severity for f in found.findings if f.code == "M007"} == {"high"}
    assert "rows from 3" in only(check(LEFT[[5, 5, 6]].select("customer_id")), "M007").evidence.replace("60", "3")


def test_keys_without_partner_are_counted():
    right = LEFT.with_columns(pl.when(pl.arange(0, N) < 45).then("customer_id").otherwise(pl.lit("?") + "customer_id"))
    told = [f for f in check(right.select("customer_id")).findings if f.code == "M008"]
    assert [f.rows["count"] for f in told] == [15, 15] and told[0].rows["first"] == [45, 46, 47, 48, 49]


def test_keys_that_meet_when_cleaned_are_shown():
    right = LEFT.select(pl.col("customer_id").str.to_lowercase() + " ")
    told = only(check(right), "M009")
    assert told.statistics["gained"] == N and "'K000'" in told.evidence


def test_types_units_formats_and_labels_that_differ_are_told():
    right = LEFT.with_columns(
        (pl.col("weight") * 1000).alias("weight"), pl.col("city").str.to_uppercase(),
    )  # fmt: skip
    found = check(right)
    assert only(found, "M004").statistics["factor"] == 1000
    assert only(found, "M005").remedy["parameters"]["mapping"] == {"city": {"OSLO": "Oslo", "ROME": "Rome"}}
    found = check(LEFT.with_columns(pl.lit("heavy").alias("weight"), pl.lit("Bern").alias("city")))
    assert {"M003", "M006"} <= codes(found) and only(found, "M006").severity == "medium"


def test_dates_written_in_another_way_are_told():
    # Days that could be months too stay text, so both sides hold text.
    left = pl.DataFrame({"id": range(24), "d": [f"0{1 + k % 3}/0{1 + k % 4}/2024" for k in range(24)]})
    right = pl.DataFrame({"id": range(24), "d": [f"0{1 + k % 3}-0{1 + k % 4}-2024" for k in range(24)]})
    assert "day-month-year" in only(check(right, "id", left), "M005").evidence


def test_cells_that_contradict_each_other_are_counted():
    right = LEFT.with_columns(pl.when(pl.arange(0, N) < 4).then(pl.lit("Bern")).otherwise("city").alias("city"))
    told = only(check(right), "M010")
    assert told.columns == ["city"] and told.statistics["conflicts"] == {"city": 4}


def test_names_that_nearly_match_are_paired():
    found = check(LEFT.rename({"city": "City "}))
    assert only(found, "M002").columns == ["city", "City "] and "M001" not in codes(found)


def test_a_key_is_looked_for_and_its_faults_are_not_severe():
    found = merge_check(Table.from_frame(LEFT), Table.from_frame(LEFT[:20]))
    assert found.on == ("customer_id",) and found.worst == "low"
    lone = merge_check(LEFT.select("weight"), LEFT.select("weight", "city"))
    assert "M011" in codes(lone) and lone.on == () and lone.rows_after is None


def test_rows_without_a_key_and_keys_of_several_columns():
    left = LEFT.with_columns(pl.when(pl.arange(0, N) == 7).then(None).otherwise("customer_id").alias("customer_id"))
    assert only(check(LEFT.select("customer_id"), left=left), "M012").rows == {"count": 1, "first": [7]}
    found = merge_check(LEFT, LEFT, on=["customer_id", "city"])
    assert found.to_dict()["on"] == ["customer_id", "city"] and found.rows_after["inner"] == N


def test_a_key_of_two_types_stops_the_join():
    left = pl.DataFrame({"id": range(9), "v": range(9)})
    found = merge_check(left, left.with_columns(pl.format("n{}", "id").alias("id")), on="id")
    assert only(found, "M003").severity == "high" and found.rows_after is None


def test_an_unknown_key_gets_a_hint():
    with pytest.raises(DataError, match="did you mean 'customer_id'"):
        merge_check(LEFT, LEFT, on="customerid")
