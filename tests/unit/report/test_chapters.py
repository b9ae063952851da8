"""The later chapters and the Markdown forms: true to the results, escaped, whole."""

from __future__ import annotations

import re

import fixture
import pytest

from assay.base.errors import DataError
from assay.report import render_markdown, render_model_card, render_report, write_markdown
from assay.report.chapters import (
    curve_of,
    deployment_of,
    explanation_of,
    importance_sentence,
    limits_of,
    provenance_of,
    thresholds_of,
)
from assay.report.markdown import escaped

CHAPTERS = [
    "Question and data", "Preparation", "Models", "Evaluation", "Explanation", "Decision", "Limits", "How to deploy",
    "Provenance",
]  # fmt: skip


def explained():
    return fixture.classification() | {"explanation": fixture.explanation()}


def test_the_page_shows_importances_curves_and_the_imitation_with_their_numbers():
    page = render_report(explained())
    part = page[page.index('id="explanation"') : page.index('id="looks"')]
    assert part.count("<svg") == 4 and part.count("<details") == 4, "every figure has its numbers behind it"
    assert "rest most on income and plan" in part and "90.0%" in part and "fall of accuracy" in part


def test_without_an_explanation_the_page_says_so():
    assert "hold no explanation" in render_report(fixture.classification())
    assert "no model to explain" in render_report(fixture.classification() | {"explanation": None})


@pytest.mark.parametrize("case", [fixture.classification, fixture.regression, fixture.minimal, fixture.nasty])
def test_every_figure_of_the_page_has_a_table_behind_it(case):
    page = render_report(case())
    for part in re.split(r"<(?:figure|div) class=\"panel", page)[1:]:
        part = part[: part.find("</section>")] if "</section>" in part else part
        if "<svg" in part:
            assert "<details" in part or "<table" in part or "<ul" in part, part[:200]


def test_limits_are_those_of_the_design_and_the_data():
    results = explained()
    said = " ".join(limits_of(results))
    assert "--group" in said and "--time" in said and "not the world" in said
    grouped = results | {"design": results["design"] | {"groups": "patient", "time": "day"}}
    other = " ".join(limits_of(grouped))
    assert "patient stayed together" in other and "--time" not in other


def test_decision_names_thresholds_and_deployment_names_columns():
    results = explained()
    chosen = {
        "diagnostics": {"positive": "yes", "costs": [{"miss": 5.0, "threshold": 0.2, "least": 0.4, "at_half": 0.6}]}
    }
    assert thresholds_of(chosen) == [
        "If missing a yes row costs 5 false alarms, say yes from a probability of 0.20 on: 0.400 per row instead of "
        "0.600 at 0.5."
    ]
    assert thresholds_of(None) == [] and thresholds_of({"diagnostics": None}) == []
    found = deployment_of(results)
    assert any("assay predict" in one for one in found["commands"]) and results["data"]["target"] not in [
        row[0] for row in found["columns"].rows
    ]
    assert dict(provenance_of(results))["Data (SHA-256)"] == results["data"]["fingerprint"]


def test_odd_explanations_do_not_break_the_page():
    assert explanation_of({}) is None and explanation_of({"explanation": {"notes": []}}) is None
    assert (
        curve_of({"names": ["a", "b"]}) is None
        and curve_of({"names": ["a"], "grid_values": [[1.0]], "values": []}) is None
    )
    bare = {"importance": {"names": ["a"], "values": [[None]], "unit": "x"}}
    assert "told from zero" in importance_sentence(bare["importance"])
    assert "<svg" in render_report(fixture.classification() | {"explanation": bare})


# -- Markdown ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", [explained, fixture.regression, fixture.minimal, fixture.single, fixture.nasty])
def test_markdown_has_every_chapter_and_a_card_its_own(case):
    text, card = render_markdown(case()), render_model_card(case())
    assert [head for head in re.findall(r"^## (.*)$", text, re.MULTILINE) if head in CHAPTERS] == CHAPTERS
    assert card.startswith("# Model card")


def test_text_from_data_stays_text_in_markdown():
    for text in (render_markdown(fixture.nasty()), render_model_card(fixture.nasty())):
        outside = re.sub(r"^(`{3,})\n.*?\n\1$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r"(?<!\\)<", outside), "no HTML"
        assert not re.search(r"(?<!\\)\[[^\]]*\]\(", outside), "no links"
    assert escaped("=cmd|'/c calc'!A1") == "=cmd\\|'/c calc'\\!A1"
    fenced = render_markdown(explained() | {"command": "assay compare ```x``` <b>"})
    assert "````\nassay compare ```x``` <b>\n````" in fenced


def test_the_card_says_what_it_is_for_how_good_and_where_it_ends(tmp_path):
    card = render_model_card(explained())
    for head in ("Intended use", "Training data", "Quality on rows it had not seen", "What it goes by", "Limits"):
        assert f"## {head}" in card
    assert "not recommended" in render_model_card(explained() | {"not_yet": "there is a leak"}) or "leak" in (
        render_model_card(explained() | {"not_yet": "there is a leak"})
    )
    path = write_markdown(explained(), tmp_path / "card.md", card=True)
    assert path.read_text(encoding="utf-8") == card
    with pytest.raises(DataError, match="schema"):
        render_markdown({"schema": "other"})
