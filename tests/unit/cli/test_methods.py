"""Claims about `assay methods`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from assay import catalogue
from assay.base.errors import UsageError
from assay.cli.main import assay


def listed(*arguments: str):
    result = CliRunner().invoke(assay, ["methods", *arguments, "--json"])
    assert result.exit_code == 0
    return json.loads(result.stdout)


def test_json_is_a_list_with_the_claims_of_every_method():
    methods = listed()
    assert [m["id"] for m in methods] == [entry.id for entry in catalogue.entries()]
    for method in methods:
        assert {"id", "title", "class", "task", "native", "weights", "probabilities", "shares_folds"} <= set(method)
        assert method["schema"] == "assay.method/1"


def test_filters_narrow_the_list():
    assert {m["task"] for m in listed("--task", "regress")} == {"regress"}
    assert all({"nominal", "missing"} <= set(m["native"]) for m in listed("--native", "nominal", "--native", "missing"))
    assert all(m["weights"] for m in listed("--weights")) and all(m["probabilities"] for m in listed("--probabilities"))
    assert "zero-r" in [m["id"] for m in listed("most frequent")]
    assert listed("no such method at all") == []


def test_the_table_names_every_method():
    result = CliRunner().invoke(assay, ["methods"])
    assert result.exit_code == 0
    for entry in catalogue.entries():
        assert entry.id in result.stdout


def test_no_learner_is_loaded():
    code = (
        "import sys\nfrom assay.cli.main import assay\nassay(['methods', '--json'], standalone_mode=False)\n"
        "print([m for m in ('numpy', 'sklearn', 'polars', 'assay.models') if m in sys.modules], file=sys.stderr)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert out.stderr.strip() == "[]"


def test_part_of_a_name_leads_to_the_names_that_hold_it():
    with pytest.raises(UsageError, match="did you mean cart-classifier or cart-regressor?"):
        catalogue.get("CART")


def test_a_search_without_a_hit_says_so_instead_of_an_empty_table():
    result = CliRunner().invoke(assay, ["methods", "no such method at all"])
    assert result.exit_code == 0 and result.stdout == "" and "no method" in result.stderr
