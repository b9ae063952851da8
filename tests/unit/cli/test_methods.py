"""Claims about `assay methods`."""

from __future__ import annotations

import json
import subprocess
import sys

from click.testing import CliRunner

from assay import catalogue
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
