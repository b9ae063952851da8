"""The report as Markdown, and the model card: the same chapters as the page, for repositories and reviews.

Text from data is escaped, so that names of columns and classes stay words wherever the Markdown is shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base import words
from ..base.errors import DataError
from ..base.files import write_whole
from ..base.record import Grid
from ..base.svg import standing
from ..base.words import clean, is_number, number, sentence
from ..catalogue import TASKS
from ..experiment import Results
from .chapters import (
    deployment_of,
    explanation_of,
    limits_of,
    not_worse_of,
    provenance_of,
    recommended,
    thresholds_of,
)
from .figures import by_mean

SCHEMA = "assay.compare/1"
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!~$&])")


def escaped(text: object, limit: int = 400) -> str:
    """Text from data as plain words of Markdown: no markup, no HTML, no links.

    >>> print(escaped("<b>a_b</b>[x](javascript:y)"))
    \\<b\\>a\\_b\\</b\\>\\[x\\](javascript:y)
    """
    return _SPECIAL.sub(r"\\\1", clean(text, limit)).replace("://", ":\u200b//")


def _code(text: str) -> str:
    """A block of code that its own text cannot close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _table(grid: Grid, most: int = 60) -> str:
    rows = [[escaped(cell, 120) for cell in row] for row in grid.rows[:most]]
    shown = Grid([escaped(head, 60) for head in grid.heads], rows, left=grid.left)

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    rule = line(["---" if k < shown.left else "---:" for k in range(len(shown.heads))])
    more = [f"\nAnd {len(grid.rows) - most} more lines."] if len(grid.rows) > most else []
    return "\n".join([line(shown.heads), rule, *map(line, shown.rows), *more])


def _listed(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(text, 600)}" for text in texts)


def _plain(results: Any, who: str) -> Mapping[str, Any]:
    if isinstance(results, Results):
        results = results.to_dict()
    if not isinstance(results, Mapping) or results.get("schema") != SCHEMA:
        came = results.get("schema") if isinstance(results, Mapping) else type(results).__name__
        raise DataError(who, "the results", f"must have the schema '{SCHEMA}'", f"got {clean(came, 40)!r}")
    return results


def render_markdown(results: Any) -> str:
    """The report as Markdown text: question, data, preparation, models, evaluation, explanation, decision, limits,
    deployment, provenance.

    >>> from assay.data import load_dataset
    >>> from assay.experiment import Plan, run
    >>> results = run(Plan(load_dataset("iris"), "species", learners=["zero-r", "one-r"], design="3-fold"))
    >>> render_markdown(results).splitlines()[0]
    '# species in iris'
    """
    found = _plain(results, "render_markdown")
    data, metric = found.get("data") or {}, found.get("metric") or {}
    learners = [one for one in found.get("learners") or [] if isinstance(one, Mapping)]
    ranked = by_mean(learners, bool(metric.get("greater_is_better", True)))
    chosen = recommended(found, ranked)
    name, target = escaped(data.get("name") or "the table", 60), escaped(data.get("target") or "target", 60)
    parts = [f"# {target} in {name}", *_answer(found, ranked, chosen, metric)]
    parts += [
        "## Question and data",
        f"Which learner predicts {target} best on rows that it has not seen?",
        _facts(data),
    ]
    parts += ["### Audit", _audit(data), "## Preparation", _preparation(ranked)]
    parts += [
        "## Models",
        _models(ranked),
        "## Evaluation",
        escaped((found.get("design") or {}).get("description"), 400),
    ]
    parts += [_scores(ranked, metric), *_tests(found)]
    parts += ["## Explanation", *_explanation(found), "## Decision", *_decision(found, chosen)]
    parts += ["## Limits", _listed(limits_of(found)), "## How to deploy"]
    parts += [_code("\n".join(deployment_of(found)["commands"])), "## Provenance", *_provenance(found)]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_model_card(results: Any) -> str:
    """A model card: what the recommended model is, for what, how good, by what it goes, and where it ends.

    >>> from assay.data import load_dataset
    >>> from assay.experiment import Plan, run
    >>> results = run(Plan(load_dataset("iris"), "species", learners=["zero-r", "naive-bayes"], design="3-fold"))
    >>> "## Limits" in render_model_card(results)
    True
    """
    found = _plain(results, "render_model_card")
    data, metric = found.get("data") or {}, found.get("metric") or {}
    learners = [one for one in found.get("learners") or [] if isinstance(one, Mapping)]
    ranked = by_mean(learners, bool(metric.get("greater_is_better", True)))
    chosen = recommended(found, ranked)
    target = escaped(data.get("target") or "target", 60)
    if chosen is None:
        reason = sentence(found.get("not_yet") or "No learner is recommended", 800, capital=True)
        return f"# Model card: {target}\n\n{escaped(reason, 900)}\n"
    title = escaped(chosen.get("title") or chosen.get("id"), 80)
    parts = [f"# Model card: {title} for {target}", "## Model", escaped(chosen.get("summary"), 400)]
    parts += [_table(Grid(["parameter", "value"], _parameters(chosen), left=2)) if chosen.get("parameters") else ""]
    parts += ["### Preparation", _listed([clean(step, 300) for step in chosen.get("preparation") or []])]
    task = TASKS.get(str(data.get("task")))
    what = "a number" if task is not None and task.numbers else "a class"
    parts += [
        "## Intended use",
        f"Predict {target} ({what}) for rows that have the columns below and come from where the training rows came "
        "from. It is not meant for other populations, nor as evidence of causes.",
        _table(deployment_of(found)["columns"]),
    ]
    parts += ["## Training data", _facts(data), "## Quality on rows it had not seen", _scores([chosen], metric)]
    parts += [escaped((found.get("design") or {}).get("description"), 400), *_tests(found)]
    parts += ["## What it goes by", *_explanation(found), "## Decision", *_decision(found, chosen)]
    parts += ["## Limits", _listed(limits_of(found)), "## Provenance", *_provenance(found)]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_markdown(results: Any, path: str | os.PathLike[str], *, card: bool = False) -> Path:
    """Write the report as Markdown, or the model card, in one step."""
    text = render_model_card(results) if card else render_markdown(results)
    return write_whole("write_markdown", path, text)


def _parameters(learner: Mapping[str, Any]) -> list[list[str]]:
    given = learner.get("parameters") or {}
    return [[clean(k, 40), words.compact(v) if is_number(v) else clean(v, 80)] for k, v in given.items()]


def _answer(
    found: Mapping[str, Any], ranked: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any] | None, metric: Any
) -> list[str]:
    if found.get("not_yet"):
        return [f"**Not yet.** {escaped(sentence(found['not_yet'], 1200, capital=True), 1300)}"]
    cautions = [f"**Caution:** {escaped(sentence(text), 700)}" for text in (found.get("cautions") or [])[:6]]
    comparison = found.get("comparison") or {}
    if chosen is None:
        return [*cautions, "No learner is recommended."]
    score = escaped(metric.get("title") or metric.get("name"), 60)
    ends = chosen.get("interval") or []
    span = f" ({words.confidence(comparison.get('alpha'))} interval {number(ends[0])} to {number(ends[1])})"
    known = span if len(ends) == 2 and all(is_number(e) for e in ends) else ""
    said = f"**{escaped(chosen.get('title') or chosen.get('id'), 60)}**: {score} {number(chosen['mean'])}{known}."
    return [*cautions, said, escaped(sentence(comparison.get("sentence"), 2000), 2100)]


def _facts(data: Mapping[str, Any]) -> str:
    roles = data.get("roles") or []
    facts = [
        ["rows", words.compact(data.get("rows"))],
        ["columns", words.compact(data.get("columns"))],
        ["source", clean(data.get("source"), 200)],
        ["classes", ", ".join(clean(one, 40) for one in (data.get("classes") or [])[:20])],
        ["set aside", ", ".join(clean(one.get("column"), 40) for one in (data.get("set_aside") or [])[:20])],
    ]
    listed = [[clean(one.get("column"), 60), clean(one.get("role"), 20)] for one in roles if isinstance(one, Mapping)]
    table = _table(Grid(["fact", ""], [fact for fact in facts if fact[1] not in ("", words.NOTHING)], left=2))
    return table + ("\n\n" + _table(Grid(["column", "role"], listed, left=2)) if listed else "")


def _audit(data: Mapping[str, Any]) -> str:
    findings = data.get("findings")
    if findings is None:
        return "These results hold no audit."
    lines = [
        f"{clean(one.get('severity'), 10)}: {clean(one.get('kind'), 60)}"
        f"{' in ' + ', '.join(clean(c, 40) for c in (one.get('columns') or [])[:5]) if one.get('columns') else ''}"
        f" ({words.evidence(one.get('evidence'))})"
        for one in findings[:30]
    ]
    return _listed(lines) or "The audit found nothing to report."


def _preparation(ranked: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for one in ranked:
        steps = [clean(step, 200) for step in one.get("preparation") or []]
        lines.append(
            f"{clean(one.get('title') or one.get('id'), 60)}: {'; '.join(steps) or 'takes the columns as they are'}"
        )
    return _listed(lines)


def _models(ranked: Sequence[Mapping[str, Any]]) -> str:
    return _listed(
        [f"{clean(one.get('title') or one.get('id'), 60)}: {clean(one.get('summary'), 300)}" for one in ranked]
    )


def _scores(ranked: Sequence[Mapping[str, Any]], metric: Mapping[str, Any]) -> str:
    lines = []
    for one in ranked:
        ends = one.get("interval") or [None, None]
        others = [number(v) for name, v in (one.get("metrics") or {}).items() if name != metric.get("name")]
        lines.append([clean(one.get("title") or one.get("id"), 60), number(one.get("mean")), *map(number, ends[:2])])
        lines[-1] += [*others, clean(standing(one)[0], 20)]
    named = [clean(n, 30) for n in (ranked[0].get("metrics") or {}) if n != metric.get("name")] if ranked else []
    return _table(Grid(["learner", clean(metric.get("title"), 40), "low", "high", *named, "verdict"], lines))


def _tests(found: Mapping[str, Any]) -> list[str]:
    comparison = found.get("comparison") or {}
    texts = [sentence(one.get("sentence"), 500) for one in (comparison.get("pairs") or [])[:30] if one.get("sentence")]
    head = clean(comparison.get("procedure"), 200)
    return [f"Tests: {escaped(head)}.", _listed(texts)] if head and texts else []


def _explanation(found: Mapping[str, Any]) -> list[str]:
    told = explanation_of(found)
    if told is None:
        return ["There is no model beyond guessing to explain." if "explanation" in found else "Not made."]
    parts = [escaped(told["sentence"], 600), f"Importance: {escaped(told['unit'])}, on {escaped(told['rows'])}."]
    parts.append(_table(told["numbers"]))
    for one in told["curves"]:
        parts += [f"Partial dependence of {escaped(one['title'], 60)}:", _table(one["grid"], 24)]
    return parts + ([escaped(told["imitation"]["sentence"], 500)] if told["imitation"] else [])


def _decision(found: Mapping[str, Any], chosen: Mapping[str, Any] | None) -> list[str]:
    recommendation = found.get("recommendation") or {}
    if found.get("not_yet") or not recommendation:
        return ["No learner is recommended."]
    texts = [sentence(recommendation.get("reason"), 800), not_worse_of(found)]
    return [*(escaped(text, 900) for text in texts if text), _listed(thresholds_of(chosen))]


def _provenance(found: Mapping[str, Any]) -> list[str]:
    command = clean(found.get("command"), 2000)
    table = _table(Grid(["what", "value"], [list(pair) for pair in provenance_of(found)], left=2))
    return [_code(command) if command else "", table]
