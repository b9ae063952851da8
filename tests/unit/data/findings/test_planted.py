"""The deliberately dirty table: every planted fault is found, and the clean original raises no alarm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.data import audit, read_table

DATA = Path(__file__).parents[3] / "data"
KEY = json.loads((DATA / "dirty.json").read_text())


@pytest.fixture(scope="module")
def dirty():
    return audit(read_table(DATA / "dirty.csv"), target=KEY["target"])


@pytest.fixture(scope="module")
def clean():
    return audit(read_table(DATA / "clean.csv"), target=KEY["target"])


def matching(result, fault):
    column = fault["columns"][:1]
    return [f for f in result.findings if f.code == fault["code"] and set(column) <= set(f.columns)]


def test_thirty_faults_of_fifteen_kinds_are_planted():
    assert len(KEY["faults"]) >= 30 and len({fault["code"] for fault in KEY["faults"]}) >= 15


@pytest.mark.parametrize("fault", KEY["faults"], ids=lambda f: f"{f['code']} {f['fault']}")
def test_every_planted_fault_is_found_in_its_rows(dirty, fault):
    found = matching(dirty, fault)
    assert found, f"{fault['fault']} in {fault['columns']} was not found"
    if "rows" not in fault:
        return
    # Faults of one kind in one column are told as one finding.
    same = [f for f in KEY["faults"] if f["code"] == fault["code"] and f["columns"][:1] == fault["columns"][:1]]
    rows = sorted(row for one in same for row in one["rows"])
    assert any(f.rows == {"count": len(rows), "first": rows[:5]} for f in found), (rows, [f.rows for f in found])


@pytest.mark.parametrize("fault", KEY["faults"], ids=lambda f: f"{f['code']} {f['fault']}")
def test_no_planted_fault_is_seen_in_the_clean_original(clean, fault):
    # Free text, identifiers and many categories are facts about a column, not faults of cells.
    assert not [f for f in matching(clean, fault) if f.columns and f.severity != "low"]


def test_the_clean_original_raises_no_alarm(clean):
    assert clean.at_least("high") == []
    assert {finding.code for finding in clean.at_least("medium")} <= {"A008"}


def test_the_dirty_table_is_what_its_maker_makes(tmp_path):
    import importlib.util

    spec = importlib.util.spec_from_file_location("make_tables", DATA / "make_tables.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    clean_table = maker.make_clean()
    dirty_table, key = maker.make_dirty(clean_table)
    maker.write(clean_table, tmp_path / "clean.csv")
    maker.write(dirty_table, tmp_path / "dirty.csv")
    assert (tmp_path / "clean.csv").read_bytes() == (DATA / "clean.csv").read_bytes()
    assert (tmp_path / "dirty.csv").read_bytes() == (DATA / "dirty.csv").read_bytes()
    assert key == KEY["faults"]


def test_every_remedy_is_a_sentence_and_a_step_or_nothing(dirty):
    steps = {
        None, "drop-missing", "impute-simple", "impute-group", "impute-knn", "impute-multiple", "range-rules",
        "outliers", "replace-values", "drop-columns", "drop-duplicates", "balance", "discretise", "scale",
    }  # fmt: skip
    for finding in dirty.findings:
        assert finding.remedy["words"] and finding.remedy["step"] in steps
        assert set(finding.remedy) == {"words", "step", "columns", "parameters"}
    json.dumps(dirty.to_dict(), allow_nan=False)
