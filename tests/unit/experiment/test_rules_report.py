"""`assay rules`: the rules of a long table by hand, attributes, the page, the command."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from assay.base import DataError
from assay.cli.main import assay
from assay.data import Table
from assay.experiment import rules_table


def bills(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for bill in range(n):
        age = "young" if rng.random() < 0.5 else "old"
        goods = {good for good in ("milk", "tea", "<i>salt</i>") if rng.random() < 0.4}
        goods |= {"bread", "butter"} if rng.random() < 0.4 else set()
        goods |= {"beer"} if age == "young" and rng.random() < 0.7 else set()
        # Bills in an order of their own: labels that sort otherwise than they come.
        rows += [(f"b{(bill * 7919) % 100_003}", good, age) for good in sorted(goods)]
    return pl.DataFrame(rows, schema=["bill", "good", "age"], orient="row")


@pytest.fixture(scope="module")
def long():
    return Table.from_frame(bills(), name="bills")


def test_measures_are_those_counted_in_the_table(long):
    report = rules_table(long, "bill", "good", min_support=0.05)
    held = bills().group_by("bill").agg("good")["good"].to_list()
    assert report.rules and report.n_baskets == len(held)
    for rule in report.rules:
        left = [set(rule["if"]) <= set(one) for one in held]
        both = [set(rule["if"] + rule["then"]) <= set(one) for one in held]
        assert rule["baskets"] == sum(both) and rule["confidence"] == pytest.approx(sum(both) / sum(left))
        assert rule["adjusted_p_value"] <= 0.05 and rule["lift"] >= 1.0
    assert {("bread", "butter"), ("butter", "bread")} <= {(*r["if"], *r["then"]) for r in report.rules}
    assert "looked at" in report.sentence


def test_attributes_of_the_basket_stand_on_the_left(long):
    report = rules_table(long, "bill", "good", attributes=["age"], min_support=0.05)
    rule = next(r for r in report.rules if r["if"] == ["age = young"] and r["then"] == ["beer"])
    held = bills().group_by("bill").agg(pl.col("good"), pl.col("age").first())
    young = held.filter(pl.col("age") == "young")["good"].to_list()
    assert rule["confidence"] == pytest.approx(np.mean(["beer" in one for one in young]))
    assert not any("age" in " ".join(r["then"]) for r in report.rules)


def test_a_table_of_true_and_false_gives_the_same_rules(long):
    wide = bills().with_columns(here=True).pivot("good", index="bill", values="here").fill_null(False).drop("bill")
    by_cells = rules_table(Table.from_frame(wide, name="wide"), min_support=0.05)
    assert by_cells.rules == rules_table(long, "bill", "good", min_support=0.05).rules


def test_the_page_sorts_filters_and_escapes(long):
    page = rules_table(long, "bill", "good", min_support=0.01, min_confidence=0.1, max_p_value=1.0).to_page()
    assert "<svg" in page and 'id="filter"' in page and "addEventListener" in page and "script-src 'sha256-" in page
    assert "&lt;i&gt;salt&lt;/i&gt;" in page and "<i>salt</i>" not in page
    none = rules_table(long, "bill", "good", min_support=0.9)
    assert none.rules == [] and "lower the support" in none.sentence and "<table" not in none.to_page()


def test_the_command_prints_and_writes(tmp_path):
    file, page = tmp_path / "bills.csv", tmp_path / "rules.html"
    bills(200).write_csv(file)
    asked = ["rules", str(file), "--basket", "bill", "--item", "good", "--attribute", "age", "--support", "0.05"]
    shown = CliRunner().invoke(assay, [*asked, "--html", str(page)])
    assert shown.exit_code == 0 and "butter" in shown.output and page.read_text().startswith("<!doctype html>")
    data = json.loads(CliRunner().invoke(assay, [*asked, "--json", "--quiet"]).stdout)
    assert data["schema"] == "assay.rules/1" and data["rules"][0]["lift"] > 1
    wrong = CliRunner().invoke(assay, ["rules", str(file), "--basket", "bil", "--item", "good"])
    assert wrong.exit_code == 3 and "must be a column" in wrong.output


@pytest.mark.parametrize(("basket", "item", "words"), [("bill", None, "named together"), ("x", "good", "column 'x'")])
def test_columns_that_are_not_there_are_named(long, basket, item, words):
    with pytest.raises(DataError, match=words):
        rules_table(long, basket, item)


def test_rows_without_a_basket_or_an_item_are_counted():
    frame = pl.DataFrame({"bill": ["1", "1", None, "2", "2"], "good": ["a", "b", "a", None, "a"]})
    found = rules_table(Table.from_frame(frame), "bill", "good", min_support=0.1)
    assert "2 rows without a basket or an item left out" in found.sentence
