"""The page: whole, closed to the outside, escaped, within its budget, and true to the results."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import os
import re

import fixture
import pytest
from reading import Page

from assay.base.errors import DataError
from assay.base.svg import PALETTE
from assay.data import load_dataset
from assay.experiment import Plan, run
from assay.report import render_report, write_report

CASES = {
    "classification": fixture.classification,
    "many classes": fixture.many_classes,
    "40 classes": lambda: fixture.many_classes(40),
    "regression": fixture.regression,
    "single": fixture.single,
    "minimal": fixture.minimal,
    "nasty": fixture.nasty,
    "large": fixture.large,
}
SECTIONS = ("answer", "data", "preparation", "models", "evaluation", "explanation", "looks", "decision")
SECTIONS += ("limits", "deploy", "provenance")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: render_report(make()) for name, make in CASES.items()}


@pytest.mark.parametrize("case", CASES)
def test_every_element_is_closed_and_ids_are_unique(pages, case):
    page = Page(pages[case])
    assert page.faults == []
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("case", CASES)
def test_the_page_loads_and_runs_nothing(pages, case):
    page = Page(pages[case])
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "iframe", "object", "embed", "form", "base", "use", "image", "foreignobject"}
    for tag, attrs in page.elements:
        assert not [name for name in attrs if name.startswith("on") or name in ("src", "srcset", "action", "style")]
        for name in ("href", "xlink:href"):
            if name in attrs:
                assert attrs[name].startswith("#") or (tag == "link" and attrs[name] == "data:,")
    assert "url(" not in pages[case] and "@import" not in pages[case]
    assert "http://" not in pages[case] and "https://" not in pages[case]


@pytest.mark.parametrize("case", CASES)
def test_the_policy_allows_exactly_the_style_sheet_of_the_page(pages, case):
    page = Page(pages[case])
    policy = next(
        attrs["content"] for tag, attrs in page.elements if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    (style,) = re.findall(r"<style>(.*?)</style>", pages[case], re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"style-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy and "script-src" not in policy


@pytest.mark.parametrize("case", CASES)
def test_every_section_is_there_and_every_link_inside_the_page_leads_somewhere(pages, case):
    page = Page(pages[case])
    ids = {attrs["id"] for _, attrs in page.elements if "id" in attrs}
    assert set(SECTIONS) <= ids
    targets = {attrs["href"][1:] for tag, attrs in page.elements if tag == "a"}
    assert targets <= ids
    assert "Made by Assay" in page.text


@pytest.mark.parametrize("case", CASES)
def test_figures_name_themselves_and_tables_have_headers(pages, case):
    page = Page(pages[case])
    for i, (tag, attrs) in enumerate(page.elements):
        if tag == "svg":
            assert attrs["role"] == "img"
            assert [name for name, _ in page.elements[i + 1 : i + 3]] == ["title", "desc"]
        if tag == "th":
            assert attrs["scope"] in ("col", "row")


def test_hostile_text_stays_text(pages):
    page = Page(pages["nasty"])
    assert "<script" not in pages["nasty"].lower()
    assert "<img" not in pages["nasty"].lower()
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7*7 }}" in page.text
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", pages["nasty"]
    )
    names = [text for tag, text in page.texts_by_tag if tag in ("h1", "h3", "th", "text", "dt", "summary")]
    assert max(len(text) for text in names) <= 130
    assert any(len(attrs.get("title", "")) > 400 for _, attrs in page.elements)


def test_every_text_of_the_results_may_be_hostile_alone():
    """One place after another is given an element as text; the page then has no element more than before."""
    results = fixture.classification()
    results["data"]["class_counts"] = [1098, 398]

    def places(value, path=()):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from places(inner, (*path, key))
        elif isinstance(value, list) and not (path and path[-1] in ("scores", "confusion")):
            for i, inner in enumerate(value[:2]):
                yield from places(inner, (*path, i))
        elif isinstance(value, str) and path != ("schema",):
            yield path

    expected = {tag for tag, _ in Page(render_report(results)).elements}
    assert "x-evil" not in expected
    for path in places(results):
        spoiled = copy.deepcopy(results)
        inner = spoiled
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = "\"'><x-evil a='"
        page = Page(render_report(spoiled))
        assert page.faults == [], path
        assert "x-evil" not in {tag for tag, _ in page.elements}, path


def test_numbers_are_those_of_the_results():
    results = fixture.classification()
    page = Page(render_report(results, fixture.classification_timings()))
    numbers = {float(text) for text in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", json.dumps(results))}
    assert len(page.data) > 80
    for value, text in page.data:
        assert float(value) in numbers
        places = len(text.partition(".")[2])
        assert (
            abs(float(text.replace("−", "-").replace("+", "").replace(",", "")) - float(value)) <= 0.501 * 10**-places
        )
    shown = {float(value) for value, _ in page.data}
    for one in results["learners"]:
        assert {one["mean"], one["sd"], *one["interval"], *one["metrics"].values()} <= shown
    for pair in results["comparison"]["pairs"]:
        assert {pair["difference"], *pair["interval"]} <= shown
    assert results["comparison"]["smallest_detectable_difference"] in shown


def test_counts_shares_and_rows_of_the_views_are_shown():
    page = Page(render_report(fixture.classification()))
    for expected in (
        "5,052",
        "92%",
        "793 rows",
        "330 of 632",
        "+1.214",
        "−0.973",
        "73.4%",
        "Intercept −1.482",
        "tenure_months ≤ 11.5",
    ):
        assert expected in page.text


def test_the_answer_names_the_recommended_model_its_score_and_the_test():
    results = fixture.classification()
    text = Page(render_report(results)).text
    one = next(one for one in results["learners"] if one["id"] == "logistic")
    low, high = one["interval"]
    assert text.index("To predict churned, use Logistic regression .") < text.index("Question and data")
    assert f"Its accuracy is {one['mean']:.3f} (95% interval {low:.3f} to {high:.3f} )" in text
    assert results["comparison"]["sentence"].replace(" %", "%") in text
    assert results["recommendation"]["reason"] in text


def test_a_pair_given_the_other_way_round_changes_its_sign_only():
    results = fixture.classification()
    turned = copy.deepcopy(results)
    for pair in turned["comparison"]["pairs"]:
        pair["a"], pair["b"] = pair["b"], pair["a"]
        pair["difference"] = -pair["difference"]
        pair["interval"] = [-end for end in reversed(pair["interval"])]
    assert render_report(turned) == render_report(results)


def test_learners_that_were_compared_with_the_best_only_have_no_empty_rows():
    results = fixture.classification()
    best = results["comparison"]["best"]
    results["comparison"]["pairs"] = [p for p in results["comparison"]["pairs"] if best in (p["a"], p["b"])]
    page = render_report(results)
    tests = page[page.index('class="panel scroll pairs"') :]
    body = tests[tests.index("<tbody>") : tests.index("</tbody>")]
    assert body.count("<tr>") == 1 and 'class="void"' not in body
    assert body.count("<td") == len(results["comparison"]["pairs"])


def test_results_of_a_run_are_taken_as_they_are():
    results = run(Plan(load_dataset("iris"), "species", learners=["zero-r", "one-r"]))
    assert render_report(results) == render_report(results.to_dict(), results.timings)


def test_learners_stand_best_first_also_where_lower_is_better():
    page = Page(render_report(fixture.regression()))
    table = page.text[page.text.index("Best first by") : page.text.index("Procedure")]
    order = [
        table.index(name)
        for name in ("Least squares", "Regression tree", "ZeroR for regression", "k nearest neighbours")
    ]
    assert order == sorted(order)
    assert "lower is better" in page.text and "further left is better" in page.text


def test_failures_and_warnings_are_shown():
    text = Page(render_report(fixture.regression())).text
    assert "1 learner failed: k nearest neighbours" in text
    assert text.count("must be at most the number of training rows; got 500.") == 2
    assert (
        "Warning. [W204] KNNClassifier: 3 test rows had tied votes"
        in Page(render_report(fixture.classification())).text
    )


def test_a_learner_left_out_of_the_comparison_is_shown_with_the_reason():
    results = fixture.classification()
    results["learners"][5] |= {"mean": None, "sd": None, "interval": None, "group": None}
    results["comparison"]["left_out"] = [{"id": "knn", "reason": "2 of 10 scores are missing"}]
    assert "k nearest neighbours 2 of 10 scores are missing" in Page(render_report(results)).text


def test_the_baseline_as_the_recommendation_is_said_plainly():
    results = fixture.classification()
    results["recommendation"] = {"id": "zero-r", "title": "ZeroR", "reason": "It is the simplest."}
    assert "No learner was shown to beat the baseline for churned" in Page(render_report(results)).text


def test_nothing_finished_is_said_plainly():
    results = fixture.classification()
    for one in results["learners"]:
        one |= {"error": "It broke.", "mean": None, "scores": None, "interval": None}
    results["comparison"] = results["recommendation"] = None
    text = Page(render_report(results)).text
    assert "No learner finished" in text and "6 learners failed" in text and "No learner is recommended." in text


def test_findings_come_by_severity_with_their_remedies():
    text = Page(render_report(fixture.classification())).text
    assert text.index("duplicate rows") < text.index("missing values in income") < text.index("constant column")
    assert "1 high, 1 medium, 1 low" in text
    assert "Remove them, or keep copies in the same fold" in text


def test_no_audit_is_not_called_a_clean_audit():
    assert "The audit found nothing" in Page(render_report(fixture.regression())).text
    assert "These results hold no audit." in Page(render_report(fixture.minimal())).text


def test_class_counts_come_before_the_baseline_shares():
    results = fixture.classification()
    results["data"]["class_counts"] = [900, 100]
    assert "90.0%" in Page(render_report(results)).text


def test_timings_are_shown_only_where_given():
    results = fixture.classification()
    assert "Fit, all folds" not in render_report(results)
    page = render_report(results, fixture.classification_timings())
    assert "Fit, all folds" in page and "34.0 ms" in page
    assert "Fit, all folds" in render_report(results, {"tree": {"fit_seconds": 1.0}})


def test_regression_has_a_target_range_and_no_confusion():
    text = Page(render_report(fixture.regression())).text
    assert "regression (predict a number)" in text and "median 140.5" in text
    assert "Where they go wrong" not in text


def test_many_classes_list_the_most_frequent_confusions(pages):
    assert "The most frequent confusions" in pages["40 classes"]
    assert "The most frequent confusions" not in pages["many classes"]


def test_one_learner_alone(pages):
    text = Page(pages["single"]).text
    assert "alone, nothing to compare with" in text and "nothing to be tested against" in text


def test_the_same_results_give_the_same_page():
    assert render_report(fixture.classification()) == render_report(fixture.classification())


def test_the_report_stays_within_two_megabytes(pages):
    assert len(pages["large"].encode()) < 2_000_000


@pytest.mark.parametrize(
    "part", ["data", "design", "metric", "comparison", "recommendation", "command", "versions", "learners"]
)
def test_missing_parts_are_tolerated(part):
    for left in (None, "gone"):
        results = fixture.classification()
        if left is None:
            results[part] = None
        else:
            del results[part]
        assert Page(render_report(results)).faults == []


@pytest.mark.parametrize("key", sorted(fixture.classification()["learners"][3]))
def test_missing_parts_of_a_learner_are_tolerated(key):
    results = fixture.classification()
    for one in results["learners"]:
        del one[key]
    assert Page(render_report(results)).faults == []


def test_other_things_than_results_are_refused_in_one_sentence():
    with pytest.raises(
        DataError, match=r"^write_report: the results must have the schema 'assay.compare/1'; got 'x/9'\.$"
    ):
        render_report({"schema": "x/9"})
    with pytest.raises(DataError, match="got 'list'"):
        render_report([])


def test_writing_replaces_the_old_file_whole_and_leaves_nothing_beside(tmp_path):
    target = tmp_path / "deep" / "report.html"
    assert write_report(fixture.single(), target) == target
    first = target.read_bytes()
    results = fixture.classification()
    write_report(results, str(target), timings=fixture.classification_timings())
    assert target.read_text(encoding="utf-8") == render_report(results, fixture.classification_timings())
    assert target.read_bytes() != first
    assert os.listdir(target.parent) == ["report.html"]


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    target = write_report(fixture.single(), tmp_path / "report.html")
    before = target.read_bytes()

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(DataError, match=r"cannot be written \(disk full\)"):
        write_report(fixture.classification(), target)
    assert target.read_bytes() == before
    assert os.listdir(tmp_path) == ["report.html"]


def _contrast(one: str, two: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1])
def test_texts_and_marks_have_enough_contrast_in_both_modes(mode):
    """The thresholds of WCAG 2.1 AA: 4.5 for text, 3 for graphics."""
    texts = ("ink", "muted", "accent", "warm", "bad", *(f"g{i}" for i in range(6)))
    for ground in ("paper", "page", "soft"):
        for token in ("ink", "muted", "accent"):
            assert _contrast(PALETTE[token][mode], PALETTE[ground][mode]) >= 4.5, (token, ground)
    for token in texts:
        assert _contrast(PALETTE[token][mode], PALETTE["paper"][mode]) >= 4.5, token
    for i in range(9):
        assert _contrast(PALETTE[f"c{i}"][mode], PALETTE["paper"][mode]) >= 3, i


def test_only_the_baseline_is_said_to_ignore_the_row():
    results = fixture.classification()
    assert render_report(results).count("says the most frequent class for every row") == 1
    results["learners"][2]["view"] = results["learners"][0]["view"]
    assert render_report(results).count("says the most frequent class for every row") == 1


def test_the_page_shows_curves_of_unseen_rows_with_their_numbers():
    results = run(Plan(load_dataset("breast-cancer"), "diagnosis", learners=["zero-r", "naive-bayes"], design="3-fold"))
    html = render_report(results)
    for title in ("ROC curve", "Precision and recall", "Calibration", "Cost by threshold", "How each class fares"):
        assert f"<h4>{title}" in html
    assert html.count("<summary>The numbers</summary>") >= 6 and "What each column says for each class" in html
    numbers = render_report(run(Plan(load_dataset("diabetes"), "progression", learners=["ridge"], design="3-fold")))
    assert "<h4>Residuals</h4>" in numbers and "<h4>Actual against predicted</h4>" in numbers


def test_what_was_chosen_in_each_fold_stands_in_the_card_of_the_learner():
    results = fixture.classification()
    words = ["k in 30 folds: 11 (9 to 17)", "leaves in 30 folds: <4>"]
    results["learners"][0]["choices"] = [{"name": "k", "values": [11], "words": text} for text in words]
    page = render_report(results)
    assert "Chosen inside the training rows: k in 30 folds: 11 (9 to 17); leaves in 30 folds: &lt;4&gt;." in page
    assert page.count("Chosen inside the training rows") == 1


def test_a_pair_shows_the_interval_that_belongs_to_its_adjusted_p():
    results = fixture.classification()
    for pair in results["comparison"]["pairs"]:
        pair["interval"], pair["simultaneous_interval"] = [0.111111, 0.222222], [-0.333333, 0.444444]
    page = render_report(results)
    tests = page[page.index('class="panel scroll pairs"') :]
    tests = tests[: tests.index("</table>")]
    assert "0.333" in tests and "0.444" in tests and "0.111" not in tests and "0.222" not in tests
