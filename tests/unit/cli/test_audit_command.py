"""`assay audit` and `assay describe`: records, pages and exit codes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from assay.cli.main import assay


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, shift, start in (("train", 0.0, 1000), ("test", 1.5, 5000), ("other", 0.0, 1000)):
        rows = [
            f"C{start + 3 * k},{rng.normal(shift):.4f},{20 + k % 50},{'ab'[int(rng.integers(2))]}" for k in range(300)
        ]
        (tmp_path / f"{name}.csv").write_text("case_id,x,age,y\n" + "\n".join(rows) + "\n")
    return tmp_path


def run(*words):
    return CliRunner().invoke(assay, [str(word) for word in words])


def record(*words):
    result = run(*words, "--json")
    return json.loads(result.stdout), result.exit_code


def test_a_finding_has_its_fields(tables):
    told, code = record("audit", "train.csv", "-t", "y")
    assert code == 0 and told["schema"] == "assay.audit/1" and told["data"]["target"] == "y"
    for finding in told["findings"]:
        assert set(finding) == {
            "code", "kind", "column", "columns", "severity", "rows", "evidence", "statistics", "remedy"
        }  # fmt: skip
        assert set(finding["rows"]) == {"count", "first", "counted_from"} and finding["remedy"]["words"]


@pytest.mark.parametrize(("level", "code"), [("high", 0), ("medium", 0), ("low", 1), ("never", 0)])
def test_the_exit_code_goes_by_severity(tables, level, code):
    assert run("audit", "train.csv", "--fail-on", level, "-q").exit_code == code


def test_rules_are_severe(tables):
    told, code = record("audit", "train.csv", "--rule", "age=0..60", "--rule", "y=a|b", "--fail-on", "high")
    (broken,) = [f for f in told["findings"] if f["code"] == "A027"]
    assert code == 1 and broken["column"] == "age" and broken["rows"]["count"] > 0
    assert run("audit", "train.csv", "--rule", "age=0..60", "--fail-on", "never").exit_code == 0


@pytest.mark.parametrize("rule", ["age", "age=", "age=a..b", "=3"])
def test_a_rule_that_is_not_understood_is_a_usage_error(tables, rule):
    result = run("audit", "train.csv", "--rule", rule)
    assert result.exit_code in (2, 3) and "rule" in result.stderr


def test_another_table_brings_drift_and_the_merge(tables):
    told, _ = record("audit", "train.csv", "--against", "test.csv")
    assert "A036" in {f["code"] for f in told["findings"]} and told["against"]["on"] == ["case_id"]
    told, code = record("audit", "train.csv", "--against", "test.csv", "--on", "case_id")
    assert {f["severity"] for f in told["findings"] if f["code"] == "M008"} == {"high"} and code == 1
    told, code = record("audit", "train.csv", "--against", "other.csv", "--on", "case_id")
    assert told["against"]["rows_after"]["inner"] == 300


def test_a_key_needs_another_table(tables):
    result = run("audit", "train.csv", "--on", "case_id")
    assert result.exit_code == 2 and "--against" in result.stderr


def test_pages_are_written(tables):
    assert run("audit", "train.csv", "--html", "audit.html").exit_code == 0
    assert run("describe", "train.csv", "--html", "described.html").exit_code == 0
    for name in ("audit.html", "described.html"):
        assert (tables / name).read_text().startswith("<!doctype html>")


def test_describe_tells_columns_and_pairs(tables):
    told, code = record("describe", "train.csv")
    assert code == 0 and told["schema"] == "assay.describe/1"
    assert [c["name"] for c in told["columns"]] == ["case_id", "x", "age", "y"]
    shown = run("describe", "train.csv")
    assert "numeric" in shown.stdout and "strongest pairs" in shown.stdout


def test_an_ordinary_join_is_no_severe_matter(tmp_path):
    """One row of people for several visits, with other columns: nothing that would stop a pipeline."""
    people = "".join(f"{i},{20 + i % 50},{i * 37 % 101}\n" for i in range(100))
    visits = "".join(f"{i % 90},{i % 7},{i * 31 % 97}\n" for i in range(200))
    (tmp_path / "people.csv").write_text("id,age,score\n" + people)
    (tmp_path / "visits.csv").write_text("id,cost,length\n" + visits)
    words = ["audit", str(tmp_path / "people.csv"), "--against", str(tmp_path / "visits.csv"), "--on", "id", "--json"]
    result = CliRunner().invoke(assay, words)
    assert result.exit_code == 0, result.output
    found = {finding["code"]: finding for finding in json.loads(result.stdout)["findings"]}
    assert found["M007"]["severity"] == "medium" and found["M008"]["severity"] == "low"
    assert not any(code.startswith("M001") or code == "A037" for code in found)


def test_the_words_of_an_error_are_options_of_the_command(tmp_path):
    (tmp_path / "t.csv").write_text("a,a\n1,2\n3,4\n")
    refused = CliRunner().invoke(assay, ["audit", str(tmp_path / "t.csv")])
    assert refused.exit_code == 3 and "pass --read duplicates=rename." in refused.stderr
    assert CliRunner().invoke(assay, ["audit", str(tmp_path / "t.csv"), "--read", "duplicates=rename"]).exit_code == 0
    wrong = CliRunner().invoke(assay, ["describe", str(tmp_path / "t.csv"), "--read", "colour=red"])
    assert wrong.exit_code == 2 and "must read HOW=VALUE" in wrong.stderr
