"""`assay cluster`: tables, JSON, the page, refusals."""

from __future__ import annotations

import json

from click.testing import CliRunner

from assay.cli.main import assay


def run(*words):
    return CliRunner().invoke(assay, ["cluster", "iris", "--drop", "species", *map(str, words)])


def test_it_tells_methods_profiles_and_agreement_and_writes_a_page(tmp_path):
    page = tmp_path / "page.html"
    result = run("--k", 3, "--method", "k-means", "--method", "hierarchical", "--html", page)
    assert result.exit_code == 0, result.output
    for words in ("Methods side by side", "What tells the clusters apart", "Agreement of the methods", "petal_length"):
        assert words in result.output
    assert "<h2>Methods side by side</h2>" in page.read_text()


def test_json_has_a_schema():
    result = run("--k", 2, "--method", "k-means", "--json", "--quiet")
    told = json.loads(result.stdout)
    assert told["schema"] == "assay.cluster/1" and told["k"] == 2 and len(told["labels"]) == 150


def test_unknown_methods_and_columns_are_refused_in_one_sentence():
    for words in (("--method", "tea-leaves"), ("--drop", "weight"), ("--k", 0)):
        result = run(*words)
        assert result.exit_code in (2, 3) and result.output.strip().count("\n") == 0, result.output
