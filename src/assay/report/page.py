"""From the results of a comparison (`assay compare --json`) to one HTML page.

The page loads nothing and runs nothing: its policy allows the one style sheet it carries, by hash, and no script.
What is shown is what the results say; this module only sorts, shortens and formats.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..base import words
from ..base.chart import Chart
from ..base.errors import DataError
from ..base.files import write_whole
from ..base.record import Grid
from ..base.svg import CLASSES, GROUPS, NAMESPACE, PALETTE, standing
from ..base.views import Shares, view_of
from ..base.words import Label, clean, decimals_for, is_number, label, number, show
from ..catalogue import TASKS
from ..experiment import Results
from ..experiment.diagnostics import Diagnostics
from ..models.trees.svg import TreeView, tree_outline
from .chapters import (
    deployment_of,
    explanation_of,
    limits_of,
    not_worse_of,
    provenance_of,
    thresholds_of,
)
from .figures import (
    by_mean,
    confusion_figure,
    is_baseline,
    score_plot,
    shares_figure,
)

SCHEMA = "assay.compare/1"
_GRID_CLASSES = 12
_FINDINGS = 100
_COLUMNS = 400
_SEVERITIES = ("high", "medium", "low")
_ROLES = ("numeric", "binary", "nominal", "ordinal", "datetime", "text", "id")
_METRIC_TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "F1 (macro)",
    "log_loss": "log loss",
    "roc_auc": "area under ROC",
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "MAE",
}


def render_report(results: Any, timings: Mapping[str, Any] | None = None) -> str:
    """The report as HTML text; the same results always give the same text.

    `results` is what `assay.experiment.run` returns, or its `to_dict()` as `results.json` holds it; `timings` adds the
    seconds of each learner to the latter.

    >>> from assay.data import load_dataset
    >>> from assay.experiment import Plan, run
    >>> results = run(Plan(load_dataset("iris"), "species", learners=["zero-r", "one-r"]))
    >>> render_report(results).lstrip()[:15]
    '<!doctype html>'
    """
    if isinstance(results, Results):
        results, timings = results.to_dict(), timings or results.timings
    if not isinstance(results, Mapping) or results.get("schema") != SCHEMA:
        came = results.get("schema") if isinstance(results, Mapping) else type(results).__name__
        raise DataError("write_report", "the results", f"must have the schema '{SCHEMA}'", f"got {clean(came, 40)!r}")
    style, policy = _policy()
    page = _environment().get_template("report.html.j2")
    return page.render(policy=policy, style=Markup(style), **_contents(results, timings or {})) + "\n"


def write_report(results: Any, path: str | os.PathLike[str], timings: Mapping[str, Any] | None = None) -> Path:
    """Write the report (see `render_report`) to `path` in one step: readers see the old file or the whole new one."""
    return write_whole("write_report", path, render_report(results, timings))


def simple_page(title: str, parts: Sequence[tuple[str, str]]) -> str:
    """A page of headings and HTML that records made of themselves, in the style and under the policy of the report."""
    style, policy = _policy()
    page = _environment().get_template("simple.html.j2")
    shown = [(clean(head, 80), Markup(body.replace(NAMESPACE, ""))) for head, body in parts]
    return page.render(policy=policy, style=Markup(style), title=clean(title, 80), parts=shown) + "\n"


def _policy() -> tuple[str, str]:
    """The style sheet, and the policy that allows it by its hash and nothing else."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    rest = "img-src data:; base-uri 'none'; form-action 'none'"
    return style, f"default-src 'none'; style-src 'sha256-{digest}'; {rest}"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("assay.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    made.filters["count"] = words.count
    return made


@cache
def _style() -> str:
    sheet = _environment().get_template("style.css.j2")
    return sheet.render(palette=PALETTE, groups=GROUPS, classes=CLASSES).replace("\r", "")


def _svg(figure: str) -> Markup:
    """A figure for use inside the page, where the namespace is known. The figures escape what they show."""
    return Markup(figure.replace(NAMESPACE, "", 1))


def _contents(results: Mapping[str, Any], timings: Mapping[str, Any]) -> dict[str, Any]:
    data = results.get("data") or {}
    design = results.get("design") or {}
    metric = results.get("metric") or {}
    comparison = results.get("comparison") or {}
    learners = [one for one in results.get("learners") or [] if isinstance(one, Mapping)]
    greater = bool(metric.get("greater_is_better", True))
    ranked = by_mean(learners, greater)
    failed = [one for one in learners if one.get("error")]
    others = [one for one in learners if one not in ranked and one not in failed]
    recommendation = results.get("recommendation") or comparison.get("recommendation") or {}
    if results.get("not_yet"):
        recommendation = {}
    chosen = next((one for one in ranked if one.get("id") == recommendation.get("id")), None)
    level = words.confidence(comparison.get("alpha"))
    metric_title = clean(metric.get("title") or metric.get("name") or "score", 60)
    context = {
        "title": _page_title(data),
        "answer": _answer(data, comparison, recommendation, ranked, chosen, failed, metric_title, level)
        | _objections(results),
        "data": _data(data, learners),
        "preparation": _preparation([*ranked, *others, *failed]),
        "models": [_model(one, recommendation.get("id")) for one in [*ranked, *others, *failed]],
        "design": _design(design, comparison, ranked),
        "scores": _scores(ranked, recommendation.get("id"), metric, level),
        "table": _table([*ranked, *others], failed, metric, comparison, timings, recommendation.get("id")),
        "pairs": _pairs(ranked, comparison, greater),
        "confusions": _confusions(ranked, chosen, data.get("classes")),
        "works": _works(ranked, chosen, level),
        "views": [view for one in _chosen_first(ranked, chosen) if (view := _view(one)) is not None],
        "explanation": _explanation(results),
        "explained": "explanation" in results,
        "decision": _decision(results, recommendation, chosen),
        "limits": limits_of(results),
        "deployment": {**(found := deployment_of(results)), "columns": _numbers(found["columns"], _COLUMNS)},
        "provenance": provenance_of(results),
        "level": level,
        "metric": metric_title,
        "metric_low_is_good": not greater,
        "task": clean(data.get("task") or "", 20),
    }
    return context


def _page_title(data: Mapping[str, Any]) -> str:
    return f"{clean(data.get('target') or 'target', 60)} in {clean(data.get('name') or 'the table', 60)}"


def _name(learner: Mapping[str, Any], limit: int = 48) -> Label:
    return label(learner.get("title") or learner.get("id") or "learner", limit)


def _interval(learner: Mapping[str, Any], places: int) -> list[Any] | None:
    ends = learner.get("interval") or []
    return [show(end, places) for end in ends] if len(ends) == 2 and all(is_number(end) for end in ends) else None


def _chosen_first(ranked: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    return sorted(ranked, key=lambda one: one is not chosen)


def _answer(
    data: Mapping[str, Any],
    comparison: Mapping[str, Any],
    recommendation: Mapping[str, Any],
    ranked: Sequence[Mapping[str, Any]],
    chosen: Mapping[str, Any] | None,
    failed: Sequence[Mapping[str, Any]],
    metric: str,
    level: str,
) -> dict[str, Any]:
    """The headline, the score behind it, and the test in words."""
    places = decimals_for([one["mean"] for one in ranked])
    best = next((one for one in ranked if one.get("id") == comparison.get("best")), ranked[0] if ranked else None)
    base = next((one for one in ranked if is_baseline(one)), None)
    target = label(data.get("target") or "the target", 40)
    bet = bool(recommendation.get("unbeaten")) and chosen is not None and not is_baseline(chosen)
    if ranked and recommendation.get("unbeaten"):
        head, kind = Label("No learner was shown to beat the baseline", ""), "none" if chosen is None else "baseline"
    elif chosen is None:
        head, kind = Label("No learner finished" if not ranked else "No recommendation", ""), "none"
    elif len(ranked) == 1:
        head, kind = _name(chosen), "single"
    elif is_baseline(chosen):
        head, kind = Label("No learner was shown to beat the baseline", ""), "baseline"
    else:
        head, kind = _name(chosen), "chosen"
    cards, said = [], "Best bet" if bet else "Recommended"
    for role, one in (("Recommended", chosen), ("Best mean" if best is not chosen else "", best), ("Baseline", base)):
        if one is not None and role and not (role == "Baseline" and one is chosen):
            cards.append(
                {
                    "role": role if one is not chosen else "Only learner" if kind == "single" else said,
                    "name": _name(one),
                    "mean": show(one["mean"], places),
                    "interval": _interval(one, places),
                    "group": f"group {clean(one['group'], 6)}" if one.get("group") else clean(standing(one)[0], 12),
                    "token": standing(one)[1],
                }
            )
    return {
        "head": head,
        "kind": kind,
        "target": target,
        "cards": cards,
        "score": show(chosen["mean"], places) if chosen is not None else None,
        "interval": _interval(chosen, places) if chosen is not None else None,
        "metric": metric,
        "level": level,
        "sentence": words.sentence(comparison.get("sentence")),
        "reason": words.sentence(recommendation.get("reason")) if chosen is not best or kind == "baseline" else "",
        "failed": [_name(one).short for one in failed],
        "compared": len(ranked),
    }


def _objections(results: Mapping[str, Any]) -> dict[str, Any]:
    """What the audit says before any answer: why there is none yet, and what to know before reading on."""
    metric = results.get("metric") or {}
    found: dict[str, Any] = {
        "not_yet": words.sentence(results.get("not_yet"), 1200, capital=True) if results.get("not_yet") else "",
        "cautions": [words.sentence(text, 600, capital=True) for text in (results.get("cautions") or [])[:6]],
        "why_metric": words.sentence(metric.get("reason"), capital=True) if metric.get("reason") else "",
    }
    if found["not_yet"]:
        found |= {"head": Label("Not yet", ""), "kind": "none", "sentence": ""}
    return found


def _data(data: Mapping[str, Any], learners: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    roles = data.get("roles") or []
    if isinstance(roles, Mapping):
        roles = [{"column": column, **role} for column, role in roles.items()]
    findings = sorted(data.get("findings") or [], key=lambda one: _severity(one)[1])
    classes = data.get("classes")
    facts = [
        ("Table", label(data.get("name"), 60)),
        ("Source", label(data.get("source"), 90)),
        ("Rows", Label(words.compact(data["rows"]) if is_number(data.get("rows")) else "", "")),
        ("Columns", Label(_column_count(data.get("columns"), roles), "")),
        ("Target", label(data.get("target"), 60)),
        ("Task", Label(_task(data, classes), "")),
    ]
    if data.get("rows_without_target"):
        facts.append(("Left out", Label(f"{words.rows(data['rows_without_target'])} without a target value", "")))
    found = {str(role.get("role")) for role in roles}
    kinds = [(role, sum(one.get("role") == role for one in roles)) for role in [*_ROLES, *sorted(found - set(_ROLES))]]
    return {
        "facts": [(name, value) for name, value in facts if value.short],
        "balance": _balance(data, learners),
        "range": _target_range(data),
        "roles": [
            {
                "column": label(one.get("column"), 40),
                "role": clean(one.get("role"), 20),
                "confidence": words.percent(one["confidence"])
                if is_number(one.get("confidence"))
                else clean(one.get("confidence"), 20),
                "reason": label(one.get("reason"), 160),
                "target": one.get("column") == data.get("target"),
            }
            for one in roles[:_COLUMNS]
        ],
        "audited": data.get("findings") is not None,
        "roles_more": max(0, len(roles) - _COLUMNS),
        "kinds": ", ".join(f"{many} {clean(role, 20)}" for role, many in kinds if many),
        "set_aside": [
            {"column": label(one.get("column"), 40), "reason": label(one.get("reason"), 200)}
            for one in (data.get("set_aside") or [])[:_COLUMNS]
        ],
        "set_aside_more": max(0, len(data.get("set_aside") or []) - _COLUMNS),
        "findings": [_finding(one) for one in findings[:_FINDINGS]],
        "findings_more": max(0, len(findings) - _FINDINGS),
        "severities": [(level, n) for level in _SEVERITIES if (n := sum(_severity(f)[0] == level for f in findings))],
    }


def _column_count(columns: Any, roles: Sequence[Any]) -> str:
    if is_number(columns):
        return words.compact(columns)
    return f"{len(columns):,}" if isinstance(columns, list | tuple) else f"{len(roles):,}" if roles else ""


def _task(data: Mapping[str, Any], classes: Any) -> str:
    task = TASKS.get(str(data.get("task")))
    if task is not None and task.numbers:
        return "regression (predict a number)"
    if classes:
        return f"classification into {words.count(len(classes), 'class', 'classes')}"
    return clean(data.get("task"), 40)


def _balance(data: Mapping[str, Any], learners: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The class shares, drawn and as a table: from the counts in the results, or as the baseline learned them."""
    classes = data.get("classes") or []
    counts = data.get("class_counts")
    if isinstance(counts, Mapping):
        counts = [counts.get(str(one), counts.get(one)) for one in classes]
    if counts and len(counts) == len(classes) and all(is_number(one) for one in counts) and sum(counts):
        return _shares(classes, [one / sum(counts) for one in counts], counts)
    for one in learners:
        view = view_of(one.get("view"))
        if isinstance(view, Shares) and view.classes and view.shares:
            return _shares(view.classes, view.shares, None)
    return None


def _shares(classes: Sequence[Any], shares: Sequence[float], counts: Sequence[Any] | None) -> dict[str, Any]:
    lines = [
        [clean(one, 60), words.percent(share, 1)] + ([] if counts is None else [words.compact(counts[k])])
        for k, (one, share) in enumerate(zip(classes, shares))
    ]
    drawn = _svg(shares_figure(classes, list(shares), title="Share of the rows in each class", width=480))
    return {"figure": drawn, "numbers": _numbers(Grid(["class", "share", *(["rows"] if counts else [])], lines))}


def _target_range(data: Mapping[str, Any]) -> list[tuple[str, words.Shown]]:
    summary = data.get("target_summary")
    if not isinstance(summary, Mapping):
        return []
    places = decimals_for(summary.values())
    return [(clean(k, 30).replace("_", " "), show(v, places)) for k, v in list(summary.items())[:12] if is_number(v)]


def _severity(finding: Mapping[str, Any]) -> tuple[str, int]:
    level = str(finding.get("severity"))
    return (level, _SEVERITIES.index(level)) if level in _SEVERITIES else ("low", 2)


def _finding(one: Mapping[str, Any]) -> dict[str, Any]:
    columns = [label(column, 40) for column in (one.get("columns") or [])]
    evidence = words.evidence(one.get("evidence"))
    starts_with_column = evidence.startswith(tuple(str(column) for column in one.get("columns") or ()))
    where = one.get("rows")
    many = where.get("count") if isinstance(where, Mapping) else where
    remedy = one.get("remedy")
    return {
        "severity": _severity(one)[0],
        "code": clean(one.get("code"), 20),
        "kind": clean(one.get("kind") or one.get("code") or "finding", 80).replace("_", " ").replace("-", " "),
        "columns": columns[:12],
        "columns_more": max(0, len(columns) - 12),
        "rows": words.rows(many) if is_number(many) and many else "",
        "evidence": words.sentence(evidence, 400, capital=not starts_with_column),
        "remedy": words.sentence(remedy.get("words") if isinstance(remedy, Mapping) else remedy, 400, capital=True),
    }


def _preparation(learners: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Learners that are prepared in the same way stand together."""
    together: dict[tuple[str, ...], list[Label]] = {}
    for one in learners:
        steps = one.get("preparation") or []
        steps = [steps] if isinstance(steps, str) else steps
        together.setdefault(tuple(clean(step, 2000) for step in steps), []).append(_name(one))
    return [{"names": names, "steps": [label(step, 420) for step in steps]} for steps, names in together.items()]


def _model(one: Mapping[str, Any], recommended: Any) -> dict[str, Any]:
    found = one.get("warnings") or []
    return {
        "name": _name(one),
        "id": clean(one.get("id"), 60),
        "summary": words.sentence(one.get("summary")),
        "parameters": words.parameters(one.get("parameters")),
        "choices": [clean(found.get("words"), 200) for found in one.get("choices") or []],
        "search": clean((one.get("search") or {}).get("words"), 1000),
        "race": clean((one.get("race") or {}).get("words"), 400),
        "warnings": [words.warning(text) for text in found[:10]],
        "warnings_more": max(0, len(found) - 10),
        "error": words.sentence(one.get("error")) if one.get("error") else "",
        "recommended": one.get("id") == recommended,
    }


def _design(
    design: Mapping[str, Any], comparison: Mapping[str, Any], ranked: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    smallest = comparison.get("smallest_detectable_difference")
    places = max(decimals_for([one["mean"] for one in ranked]), 3 if is_number(smallest) and abs(smallest) < 1 else 0)
    sizes = ""
    if is_number(design.get("n_train")) and is_number(design.get("n_test")):
        sizes = (
            f"Each model learns from {words.rows(design['n_train'])} and is scored on {words.compact(design['n_test'])}"
        )
        sizes += " that it has not seen."
    return {
        "name": clean(design.get("name"), 30),
        "description": words.sentence(design.get("description"), capital=True),
        "sizes": sizes,
        "stratified": bool(design.get("stratified")),
        "procedure": clean(comparison.get("procedure"), 200),
        "correction": clean(comparison.get("correction"), 100),
        "alpha": words.compact(comparison.get("alpha")),
        "smallest": show(smallest, places) if is_number(smallest) else None,
        "groups": _groups_in_words(comparison) if any(standing(one)[0] for one in ranked) else "",
        "reason": words.sentence(design.get("reason"), capital=True) if design.get("reason") else "",
        "lettered": any(one.get("group") for one in ranked),
    }


def _groups_in_words(comparison: Mapping[str, Any]) -> str:
    """What the letters or the verdicts mean: they depend on which pairs were tested."""
    if comparison.get("comparisons") == "best":
        margin = comparison.get("margin")
        within = f" (within {words.compact(margin)})" if is_number(margin) else ""
        return (
            f"Each learner is held against the best: worse, equivalent{within}, or, drawn hollow, undecided. Colour "
            "and shape follow the verdict."
        )
    if comparison.get("comparisons") == "baseline":
        return "The verdicts are against the baseline. Colour and shape follow the verdict."
    return "Learners that share a letter cannot be told apart by the tests; colour and shape follow the first letter."


def _against_best(one: Mapping[str, Any], places: int) -> dict[str, Any] | None:
    """The difference from the best with its simultaneous interval."""
    ends = one.get("difference_interval") or []
    if not is_number(one.get("difference")) or len(ends) != 2:
        return None
    return {"value": show(one["difference"], places, True), "span": [show(end, places, True) for end in ends]}


def _of_folds(learner: Mapping[str, Any]) -> list[float]:
    """The scores of all folds, repetition after repetition."""
    rows = learner.get("scores") or []
    listed = [v for row in rows for v in (row if isinstance(row, list | tuple) else [row])]
    return [float(v) for v in listed if is_number(v)]


def _scores(
    ranked: Sequence[Mapping[str, Any]], recommended: Any, metric: Mapping[str, Any], level: str
) -> dict[str, Any] | None:
    if not ranked:
        return None
    chosen = None if recommended is None else str(recommended)
    places = decimals_for([one["mean"] for one in ranked])
    lines = [
        [_name(one).short, number(one["mean"], places)]
        + [number(end, places) for end in (one.get("interval") or [None, None])[:2]]
        + [", ".join(number(v, places) for v in _of_folds(one)[:60])]
        for one in ranked
    ]
    return {
        "numbers": _numbers(Grid(["learner", "mean", "low", "high", "folds"], lines)),
        "wide": _svg(score_plot(ranked, metric, recommended=chosen, level=level)),
        "narrow": _svg(score_plot(ranked, metric, recommended=chosen, level=level, width=380)),
    }


def _table(
    learners: Sequence[Mapping[str, Any]],
    failed: Sequence[Mapping[str, Any]],
    metric: Mapping[str, Any],
    comparison: Mapping[str, Any],
    timings: Mapping[str, Any],
    recommended: Any,
) -> dict[str, Any]:
    names: list[str] = []
    for one in learners:
        names += [name for name in one.get("metrics") or {} if name not in names and name != metric.get("name")]
    places = decimals_for([one.get("mean") for one in learners])
    metric_places = {name: decimals_for([(one.get("metrics") or {}).get(name) for one in learners]) for name in names}
    timed = {key: value for key, value in timings.items() if isinstance(value, Mapping)}
    left_out = {one.get("id"): one.get("reason") for one in comparison.get("left_out") or []}
    lines = []
    for one in learners:
        time = timed.get(str(one.get("id")), {})
        lines.append(
            {
                "name": _name(one),
                "note": clean(left_out.get(one.get("id")), 200),
                "mean": show(one.get("mean"), places),
                "sd": show(one.get("sd"), places),
                "interval": _interval(one, places),
                "metrics": [show((one.get("metrics") or {}).get(name), metric_places[name]) for name in names],
                "group": clean(standing(one)[0], 12),
                "token": standing(one)[1],
                "difference": _against_best(one, places),
                "simplicity": words.compact(one.get("simplicity")),
                "fit": words.seconds(time.get("fit_seconds")),
                "predict": words.seconds(time.get("predict_seconds")),
                "recommended": one.get("id") == recommended,
            }
        )
    return {
        "metrics": [_METRIC_TITLES.get(name, clean(name, 30).replace("_", " ")) for name in names],
        "lines": lines,
        "timed": bool(timed),
        "failed": [{"name": _name(one), "error": words.sentence(one.get("error"))} for one in failed],
        "width": 7 + len(names) + (2 if timed else 0),
    }


def _pairs(ranked: Sequence[Mapping[str, Any]], comparison: Mapping[str, Any], greater: bool) -> dict[str, Any] | None:
    """The tests as a triangle, better learner in the row, without rows and columns in which nothing was tested; a
    pair given the other way round changes its sign."""
    tests = {(one.get("a"), one.get("b")): one for one in comparison.get("pairs") or []}
    if not tests or len(ranked) < 2:
        return None
    places = max(3, decimals_for([one.get("difference") for one in tests.values()]))
    if any(is_number(one.get("difference")) and abs(one["difference"]) >= 10 for one in tests.values()):
        places = decimals_for([one.get("difference") for one in tests.values()])
    lines, below = [], ranked[1:]
    for i, first in enumerate(ranked[:-1]):
        cells: list[dict[str, Any] | None] = [None] * i
        for second in ranked[i + 1 :]:
            test, sign = tests.get((first.get("id"), second.get("id"))), 1
            if test is None:
                test, sign = tests.get((second.get("id"), first.get("id"))), -1
            cells.append(_pair(test, sign, places) if test is not None else None)
        if any(cells):
            lines.append({"name": _name(first, 32), "cells": cells})
    tested = [any(line["cells"][j] for line in lines) for j in range(len(below))]
    for line in lines:
        line["cells"] = [cell for cell, kept in zip(line["cells"], tested) if kept]
    columns = [_name(one, 32) for one, kept in zip(below, tested) if kept]
    sentences = [words.sentence(one.get("sentence")) for one in tests.values() if one.get("sentence")]
    return {"columns": columns, "lines": lines, "sentences": sentences[:200]}


def _pair(test: Mapping[str, Any], sign: int, places: int) -> dict[str, Any]:
    ends = test.get("simultaneous_interval") or test.get("interval") or []
    known = len(ends) == 2 and all(is_number(end) for end in ends)
    turned = [sign * end for end in (ends if sign > 0 else reversed(ends))] if known else []
    difference = test.get("difference")
    adjusted = test.get("p_adjusted") if is_number(test.get("p_adjusted")) else test.get("p_value")
    return {
        "difference": show(sign * difference if is_number(difference) else None, places, True),
        "interval": [show(end, places, True) for end in turned],
        "p": words.p_value(adjusted),
        "reject": bool(test.get("reject")),
        "tip": words.sentence(test.get("sentence")),
    }


_ABOUT_CHARTS = {
    "roc": "How many of the class are found against how many others are called so by mistake, as the threshold falls; "
    "the number is the area with its {level} interval, the dashed line is guessing.",
    "precision_recall": "How many of those called so are right against how many of the class are found; the number is "
    "the average precision with its {level} interval.",
    "calibration": "In bins of equal numbers of rows, what was predicted against what happened; on the dashed line "
    "probabilities mean what they say.",
    "costs": "What a row costs on average if it is called positive from this probability on, for three prices of a "
    "miss; a false alarm costs 1. The dashed lines are the cheapest thresholds.",
    "residuals": "What is left by the size of the prediction: the middle of the rows and the band that holds 80% of "
    "them; a good fit lies around the dashed line without a trend.",
    "agreement": "The mean of the actual values in bins of the prediction; a prediction without bias lies on the "
    "dashed line.",
}


def _works(ranked: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any] | None, level: str) -> dict[str, Any] | None:
    """The charts of the out-of-fold predictions: curves of all learners together, the rest of the chosen one first."""
    known = [
        (one, Diagnostics.from_dict(data)) for one in ranked if isinstance(data := one.get("diagnostics"), Mapping)
    ]
    known.sort(key=lambda pair: pair[0] is not chosen)
    if not known:
        return None
    (first, lead), others = known[0], known[1:]
    charts = dict(lead.charts())
    if lead.positive is not None:
        for name in ("roc", "precision_recall"):
            bands = [(one, found) for one, found in known if not is_baseline(one) and getattr(found, name)][:6]
            if name in charts and bands:
                charts[name] = replace(charts[name], lines=tuple(_overlaid(bands, name)))
    positive = f" The class is {clean(lead.positive, 40)}." if lead.positive is not None else ""
    return {
        "name": _name(first),
        "recommended": first is chosen,
        "panels": [_chart_panel(name, chart, level, positive) for name, chart in charts.items()],
        "sentence": words.sentence((lead.calibration or {}).get("sentence")),
        "classes": _numbers(lead.grid()) if lead.classes or lead.residuals else None,
        "prices": _prices(lead),
        "others": [
            {
                "name": _name(one),
                "panels": [
                    _chart_panel(name, chart, level, positive, about=False)
                    for name, chart in found.charts().items()
                    if name not in charts or lead.positive is None or name not in ("roc", "precision_recall")
                ],
            }
            for one, found in others
            if not is_baseline(one)
        ],
    }


def _overlaid(bands: Sequence[tuple[Mapping[str, Any], Diagnostics]], name: str) -> list[Any]:
    """One line per learner, the first with its limits."""
    lines = []
    for k, (one, found) in enumerate(bands):
        band = replace(getattr(found, name)[0], name=_name(one, 28).short)
        lines.append(band.line(k, limits=k == 0))
    return lines


def _chart_panel(name: str, chart: Chart, level: str, positive: str, about: bool = True) -> dict[str, Any]:
    note = _ABOUT_CHARTS[name].format(level=level) + (positive if name in ("roc", "precision_recall", "costs") else "")
    rows = 18 * max(0, sum(bool(one.label) for one in chart.lines) - 1)
    return {
        "title": chart.title,
        "figure": _svg(chart.to_svg(460, 360 + rows)),
        "note": note if about else "",
        "numbers": _numbers(chart.grid(most=21)),
    }


def _prices(found: Diagnostics) -> dict[str, Any] | None:
    """The cheapest thresholds as a table."""
    if not found.costs:
        return None
    lines = [
        [number(one["miss"], 0), number(one["threshold"], 2), words.percent(one["missed"], 1)]
        + [words.percent(one["alarms"], 1), number(one["least"], 3), number(one["at_half"], 3)]
        for one in found.costs
    ]
    heads = ["a miss costs", "best threshold", "missed", "false alarms", "cost per row", "cost at 0.5"]
    return _numbers(Grid(heads, lines, left=0))


def _confusions(
    ranked: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any] | None, classes: Any
) -> list[dict[str, Any]]:
    made = []
    for one in _chosen_first(ranked, chosen):
        counts = one.get("confusion")
        if not counts:
            continue
        names = list(classes or range(len(counts)))
        title = f"Confusion matrix of {_name(one).short}"
        if len(names) <= _GRID_CLASSES:
            grid, pairs = _svg(confusion_figure(counts, names, title=title)), []
        else:
            grid, pairs = None, _confused(counts, names)
        lines = [[clean(names[i], 60), *(words.compact(hits) for hits in line)] for i, line in enumerate(counts)]
        numbers = _numbers(Grid(["actual", *(clean(n, 40) for n in names)], lines)) if grid is not None else None
        shown = {"grid": grid, "pairs": pairs, "classes": len(names), "numbers": numbers}
        made.append({"name": _name(one), "recommended": one is chosen, **shown})
    return made


def _confused(counts: Sequence[Sequence[float]], names: Sequence[Any], limit: int = 15) -> list[dict[str, Any]]:
    """The most frequent confusions, for tables with too many classes to draw."""
    wrong = [(hits, i, j) for i, line in enumerate(counts) for j, hits in enumerate(line) if i != j and hits]
    wrong.sort(key=lambda one: (-one[0], one[1], one[2]))
    return [
        {
            "actual": label(names[i], 40),
            "predicted": label(names[j], 40),
            "rows": words.compact(hits),
            "share": words.percent(hits / sum(counts[i])),
        }
        for hits, i, j in wrong[:limit]
    ]


def _view(one: Mapping[str, Any]) -> dict[str, Any] | None:
    view = view_of(one.get("view"))
    if view is None:
        return None
    outline, more = tree_outline(view.to_dict()) if isinstance(view, TreeView) else ([], 0)
    note = view.how_to_read
    if isinstance(view, Shares) and is_baseline(one):
        note = f"{note.removesuffix('.')}; it says the most frequent class for every row."
    title = f"The tree of {_name(one).short}" if isinstance(view, TreeView) else ""
    return {
        "name": _name(one),
        "kind": view.kind,
        "figure": _svg(view.to_svg(title)),
        "note": note,
        "outline": outline,
        "outline_more": more,
        "numbers": None if outline else _numbers(view.grid()),
    }


def _numbers(grid: Grid, most: int = 200) -> dict[str, Any]:
    """The table behind a figure."""
    rows = [[clean(cell, 120) for cell in row] for row in grid.rows[:most]]
    return {
        "heads": [clean(head, 60) for head in grid.heads],
        "rows": rows,
        "left": grid.left,
        "more": len(grid.rows) - len(rows),
    }


def _decision(
    results: Mapping[str, Any], recommendation: Mapping[str, Any], chosen: Mapping[str, Any] | None
) -> dict[str, Any]:
    return {
        "title": label(recommendation.get("title") or recommendation.get("id"), 60),
        "reason": words.sentence(recommendation.get("reason")),
        "not_worse": not_worse_of(results) if not results.get("not_yet") else "",
        "thresholds": thresholds_of(chosen),
        "command": clean(results.get("command"), 2000),
    }


def _explanation(results: Mapping[str, Any]) -> dict[str, Any] | None:
    """The chapter on what the recommended learner goes by, its drawings ready for the page."""
    found = explanation_of(results)
    if found is None:
        return None
    curves = [
        {"title": one["title"], "figure": _svg(one["chart"].to_svg(460, 300)), "numbers": _numbers(one["grid"])}
        for one in found["curves"]
    ]
    imitation = found["imitation"]
    if imitation is not None:
        view = imitation["view"]
        outline, _ = tree_outline(view.to_dict()) if isinstance(view, TreeView) else ([], 0)
        lines = [["· " * row.depth + row.condition, row.prediction, row.rows] for row in outline]
        table = _numbers(Grid(["test", "says", "rows"], lines, left=2)) if lines else _numbers(view.grid())
        imitation = {"figure": _svg(view.to_svg("A tree that imitates it")), "numbers": table, **imitation}
    shown = {"bars": _svg(found["bars"]), "numbers": _numbers(found["numbers"], _COLUMNS)}
    return found | shown | {"curves": curves, "imitation": imitation}
