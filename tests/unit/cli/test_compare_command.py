"""Claims about what `assay compare` makes of its options, and what it shows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from assay.base.errors import UsageError
from assay.cli.compare import _role, default_jobs, file_word, listed, load
from assay.cli.main import assay


@pytest.fixture
def folder(tmp_path, monkeypatch):
    generator = np.random.default_rng(2)
    rows = [
        f"{generator.normal():.4f},{generator.choice(['u', 'v'])},{'' if i == 3 else 'yn'[i % 2]}" for i in range(40)
    ]
    (tmp_path / "my data.csv").write_text("x,k,is it?\n" + "\n".join(rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_roles_are_read_from_the_last_equals_sign():
    assert _role("a=b=nominal") == ("a=b", "nominal")
    assert _role("size=ordinal:S<M<L") == ("size", ("ordinal", ["S", "M", "L"]))
    assert _role("size=ordinal:S, M, L") == ("size", ("ordinal", ["S", "M", "L"]))
    for bad in ("size", "=nominal", "size=", "size=nominal:S<M"):
        with pytest.raises(UsageError, match="--role"):
            _role(bad)


def test_lists_are_repeated_or_separated_by_commas():
    assert listed(("a, b", "c")) == ["a", "b", "c"]
    assert listed(()) is None and listed((" ,",)) is None


def test_folder_names_hold_no_odd_characters():
    assert file_word("is it?/../x y") == "is-it-..-x-y" and file_word("???") == "table"


def test_data_is_a_file_or_a_bundled_table(folder):
    assert load("iris").n_rows == 150
    assert load("my data.csv").n_rows == 40
    (folder / "iris").mkdir()
    assert default_jobs() >= 1


def test_results_go_to_stdout_and_messages_to_stderr(folder):
    result = CliRunner().invoke(assay, ["compare", "my data.csv", "-t", "is it?", "-m", "zero-r"])
    assert result.exit_code == 0, result.stderr
    assert "ZeroR" in result.stdout and "Recommendation: ZeroR" in result.stdout
    assert "Recommended" not in result.stdout and "-0.0000" not in result.stdout
    assert "1 row without a target left out" in result.stderr and "1 learner," in result.stderr
    out = folder / "assay-run" / "my-data-is-it"
    assert result.stdout.rstrip().endswith("report.html") and (out / "report.html").exists()
    assert json.loads((out / "results.json").read_text())["data"]["rows_without_target"] == 1


def test_a_failing_learner_is_exit_code_5_and_said(folder, monkeypatch):
    from assay.models.baselines import OneRClassifier

    def fit(self, X, y, sample_weight=None):
        raise ValueError("not today")

    monkeypatch.setattr(OneRClassifier, "fit", fit)
    result = CliRunner().invoke(assay, ["compare", "my data.csv", "-t", "is it?", "-m", "one-r"])
    assert result.exit_code == 5, result.stderr
    assert "assay: OneR: ValueError: not today." in result.stderr and "failed" in result.stdout


def test_a_role_that_is_none_is_refused_with_those_there_are(folder):
    result = CliRunner().invoke(assay, ["compare", "my data.csv", "-t", "is it?", "--role", "x=foo"])
    assert result.exit_code != 0 and "text, id or ignore; got 'foo'" in result.output + str(result.stderr)


def test_findings_name_their_column_and_infinite_targets_are_said(folder):
    rng = np.random.default_rng(0)
    y = [f"{value:.4f}" for value in rng.normal(size=60)]
    cells = [f"{k},{y[k]},{'inf' if k in (3, 9) else y[k]}" for k in range(60)]
    (folder / "leak.csv").write_text("k,twin,y\n" + "\n".join(cells) + "\n")
    result = CliRunner().invoke(assay, ["compare", "leak.csv", "-t", "y", "-m", "zero-r-regressor"])
    assert "A006 copy of the target ('twin'): its correlation" in result.stderr
    assert "2 rows without a target left out; of their cells 2 could not be read ('inf')." in result.stderr
