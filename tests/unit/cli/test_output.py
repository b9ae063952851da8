"""Claims about what reaches the terminal."""

from __future__ import annotations

import warnings

import pytest
from click.testing import CliRunner

from assay.base.errors import AssayWarning, DataError
from assay.base.words import duration
from assay.cli.main import assay
from assay.cli.output import console, json_text, messages, progress_bar, table, write_text


def test_markup_and_control_codes_in_data_are_shown_as_text(capsys):
    console().print(table("[red]t[/red]", [("[bold]c", "left")], [["[link=http://x]a\x1b[2Jb"]]))
    shown = capsys.readouterr().out
    assert "[red]t[/red]" in shown and "[bold]c" in shown and "[link=http://x]a[2Jb" in shown and "\x1b" not in shown


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    write_text(tmp_path / "a.json", "one")
    write_text(tmp_path / "a.json", "two")
    assert (tmp_path / "a.json").read_text() == "two" and [p.name for p in tmp_path.iterdir()] == ["a.json"]
    with pytest.raises(DataError, match="cannot be written"):
        write_text(tmp_path / "a.json" / "file", "text")


def test_json_refuses_nan():
    with pytest.raises(ValueError):
        json_text({"a": float("nan")})


def test_warnings_are_told_once_in_plain_words_and_not_at_all_when_quiet(capsys):
    for quiet in (False, True):
        with messages(quiet) as tell:
            warnings.warn(AssayWarning("W1", "Plan: small."), stacklevel=1)
            warnings.warn(AssayWarning("W1", "Plan: small."), stacklevel=1)
            tell("assay: hello")
    assert capsys.readouterr().err == "assay: [W1] Plan: small.\nassay: hello\n"


def test_no_bar_without_a_terminal(capsys):
    with progress_bar(quiet=False) as show:
        assert show is None
    assert capsys.readouterr().err == ""


def test_durations_are_words():
    assert [duration(s) for s in (0.2, 59, 61, 3661)] == ["200 ms", "59 s", "1 min 01 s", "1 h 01 min"]


@pytest.mark.parametrize("arguments", [["methods"], ["methods", "--json"]])
def test_no_colour_codes_outside_a_terminal(arguments, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in CliRunner().invoke(assay, arguments).stdout
