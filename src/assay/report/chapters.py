"""The later chapters of the report as plain texts and tables: explanation, decision, limits, deployment, provenance.

The page and the Markdown form show the same contents; nothing is computed that the results do not hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base import words
from ..base.chart import Chart, Line
from ..base.drawings import intervals_figure
from ..base.record import Grid
from ..base.svg import class_token
from ..base.views import view_of
from ..base.words import clean, is_number, number, sentence

_BARS, _CURVES, _OUTPUTS = 20, 8, 6


def explanation_of(results: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the recommended learner goes by: bars of importance, curves, and an imitation, each with its numbers."""
    found = results.get("explanation")
    if not isinstance(found, Mapping) or not isinstance(found.get("importance"), Mapping):
        return None
    importance = found["importance"]
    return {
        "title": clean(found.get("title"), 80),
        "rows": clean(found.get("rows"), 120),
        "unit": clean(importance.get("unit"), 80),
        "bars": importance_bars(importance),
        "numbers": importance_grid(importance),
        "sentence": importance_sentence(importance),
        "curves": [
            {"title": chart.title, "chart": chart, "grid": chart.grid(most=24)}
            for one in (found.get("dependence") or [])[:_CURVES]
            if isinstance(one, Mapping) and (chart := curve_of(one)) is not None
        ],
        "imitation": _imitation(found.get("surrogate")),
        "notes": [sentence(note, 300, capital=True) for note in (found.get("notes") or [])[:5]],
    }


def _line(found: Any) -> list[float]:
    """The one line of values of a global explanation."""
    rows = found if isinstance(found, list) else []
    return [value if is_number(value) else float("nan") for value in (rows[0] if rows else [])]


def _order(importance: Mapping[str, Any]) -> list[int]:
    values = _line(importance.get("values"))
    return sorted(range(len(values)), key=lambda j: (-(values[j] if is_number(values[j]) else -1e300), j))


def importance_bars(importance: Mapping[str, Any]) -> str:
    """Bars of the largest importances with their intervals, as SVG."""
    values, low, high = (_line(importance.get(name)) for name in ("values", "low", "high"))
    names, order = list(importance.get("names") or []), _order(importance)[:_BARS]
    ends = [(low[j], high[j]) for j in order] if len(low) == len(values) == len(high) else None
    title = "Importance of columns by permutation"
    unit = clean(importance.get("unit"), 80)
    return intervals_figure([names[j] for j in order], [values[j] for j in order], ends, title=title, label=unit)


def importance_grid(importance: Mapping[str, Any]) -> Grid:
    """Every column with its importance and interval."""
    values, low, high = (_line(importance.get(name)) for name in ("values", "low", "high"))
    names = list(importance.get("names") or [])
    limits = len(low) == len(values) == len(high)
    lines = []
    for j in _order(importance):
        cells = [clean(names[j], 60), number(values[j], 4)]
        lines.append(cells + ([number(low[j], 4), number(high[j], 4)] if limits else []))
    return Grid(["column", "importance", *(["low", "high"] if limits else [])], lines)


def importance_sentence(importance: Mapping[str, Any]) -> str:
    """Which columns count for certain, and how many are not told from nothing."""
    values, low = _line(importance.get("values")), _line(importance.get("low"))
    names = [clean(one, 40) for one in importance.get("names") or []]
    sure = [j for j in _order(importance) if j < len(low) and is_number(low[j]) and low[j] > 0]
    if not sure:
        return "No column's importance is told from zero on these rows."
    rest = len(values) - len(sure)
    listed = words.listing([names[j] for j in sure[:5]])
    more = f" and {len(sure) - 5} more" if len(sure) > 5 else ""
    tail = f" The intervals of the other {words.count(rest, 'column')} reach zero." if rest else ""
    return f"Its predictions rest most on {listed}{more}.{tail}"


def curve_of(one: Mapping[str, Any]) -> Chart | None:
    """A curve of partial dependence as a chart."""
    names, grids = one.get("names") or [], one.get("grid_values") or []
    values = one.get("values") or []
    if len(names) != 1 or len(grids) != 1 or len(values) != len(grids[0]) or not values:
        return None
    labels = tuple(clean(v, 40) for v in grids[0]) if any(isinstance(v, str) for v in grids[0]) else ()
    x = [float(k) for k in range(len(values))] if labels else [float(v) for v in grids[0]]
    low, high = one.get("low") or [], one.get("high") or []
    several = len(values[0]) > 1
    outputs = list(one.get("outputs") or [])
    lines = []
    for k in range(min(len(values[0]), _OUTPUTS)):
        ends: dict[str, Any] = {}
        if len(low) == len(values) == len(high):
            ends = {"low": [row[k] for row in low], "high": [row[k] for row in high], "band": not labels}
        name = clean(outputs[k], 40) if several and k < len(outputs) else ""
        token = class_token(k) if several else "accent"
        look: dict[str, Any] = {"style": "points"} if labels else {}
        lines.append(Line(x, [row[k] for row in values], name, token, **look, **ends))
    unit = clean(one.get("unit"), 60)
    return Chart(clean(names[0], 60), clean(names[0], 60), unit, tuple(lines), x_names=labels)


def _imitation(found: Any) -> dict[str, Any] | None:
    if not isinstance(found, Mapping) or not is_number(found.get("fidelity")):
        return None
    view = view_of(found.get("view"))
    if view is None:
        return None
    share = str(found.get("measure", "")).startswith("share")

    def said(value: Any) -> str:
        return words.percent(value, 1) if share else number(value)

    text = (
        f"A tree of {clean(found.get('size'), 30)} says what the model says with a {clean(found.get('measure'), 40)} "
        f"of {said(found['fidelity'])} ({said(found.get('low'))} to {said(found.get('high'))}) on "
        f"{words.compact(found.get('rows'))} rows it was not grown on. Read it as a sketch of the model."
    )
    return {"view": view, "sentence": text}


def limits_of(results: Mapping[str, Any]) -> list[str]:
    """What these results do not say."""
    data, design = results.get("data") or {}, results.get("design") or {}
    comparison = results.get("comparison") or {}
    rows = words.compact(data["rows"]) if is_number(data.get("rows")) else "these"
    found = [
        f"Everything here speaks of rows like the {rows} rows of {clean(data.get('name') or 'the table', 60)}. Where "
        "new rows come from another place or time, measure again."
    ]
    smallest = comparison.get("smallest_detectable_difference")
    metric = clean((results.get("metric") or {}).get("title") or "the score", 60)
    if is_number(smallest):
        found.append(
            f"Differences in {metric} below about {number(smallest)} could not have been seen with this design."
        )
    if design.get("groups"):
        found.append(
            f"Rows of one {clean(design['groups'], 40)} stayed together, so that the scores speak of new ones."
        )
    else:
        found.append(
            "Rows were taken as independent: if one person, machine or site has several rows, say so with --group and "
            "run again, or the scores are too good."
        )
    if not design.get("time"):
        found.append("Nothing was held back by time: if the future is to be predicted, run again with --time.")
    grave = [one for one in data.get("findings") or [] if one.get("severity") == "high"]
    if grave:
        kinds = words.listing(list(dict.fromkeys(clean(one.get("kind"), 60) for one in grave))[:5])
        found.append(f"The audit has {words.count(len(grave), 'grave finding')} ({kinds}); they are not repaired.")
    failed = [one for one in results.get("learners") or [] if one.get("error")]
    if failed:
        names = words.listing([clean(one.get("title") or one.get("id"), 40) for one in failed][:5])
        found.append(f"{names} did not finish and may have done better.")
    if results.get("explanation"):
        found.append(
            "Importances and curves describe the model, not the world: they say what it goes by, not what would happen "
            "if a column were changed. Columns that say the same share their importance."
        )
    return found + [sentence(text, 400, capital=True) for text in (results.get("cautions") or [])[:4]]


def thresholds_of(chosen: Mapping[str, Any] | None) -> list[str]:
    """The cheapest thresholds of the recommended learner in words, by the price of a miss."""
    diagnostics = (chosen or {}).get("diagnostics")
    costs = diagnostics.get("costs") if isinstance(diagnostics, Mapping) else None
    positive = clean(diagnostics.get("positive"), 40) if isinstance(diagnostics, Mapping) else ""
    found = []
    for one in costs or []:
        if all(is_number(one.get(name)) for name in ("miss", "threshold", "least", "at_half")):
            price = words.count(round(one["miss"]), "false alarm")
            cost = f"{number(one['least'], 3)} per row instead of {number(one['at_half'], 3)} at 0.5"
            found.append(
                f"If missing a {positive or 'positive'} row costs {price}, say {positive or 'positive'} from a "
                f"probability of {number(one['threshold'], 2)} on: {cost}."
            )
    return found


def not_worse_of(results: Mapping[str, Any]) -> str:
    """The learners that no test shows to be worse than the best, simplest first."""
    comparison = results.get("comparison") or {}
    learners = {one.get("id"): one for one in results.get("learners") or []}
    kept = [learners[one] for one in comparison.get("not_worse") or [] if one in learners]
    kept.sort(key=lambda one: (one.get("simplicity") or 0, str(one.get("id"))))
    if len(kept) < 2:
        return ""
    listed = words.listing([clean(one.get("title") or one.get("id"), 40) for one in kept[:6]])
    more = f" and {len(kept) - 6} more" if len(kept) > 6 else ""
    return f"Not shown to be worse than the best, simplest first: {listed}{more}."


def deployment_of(results: Mapping[str, Any]) -> dict[str, Any]:
    """Commands that put the model to work, and the columns that it needs."""
    data = results.get("data") or {}
    command = clean(results.get("command"), 1500)
    aside = {one.get("column") for one in data.get("set_aside") or []}
    roles = data.get("roles") or []
    if isinstance(roles, Mapping):
        roles = [{"column": column, **role} for column, role in roles.items()]
    needed = [one for one in roles if one.get("column") not in aside and one.get("column") != data.get("target")]
    lines = [[clean(one.get("column"), 60), clean(one.get("role"), 20)] for one in needed]
    started = f"{command} --save best.assay" if command.startswith("assay ") else ""
    return {
        "commands": [one for one in (started,) if one]
        + ["assay predict best.assay new.csv --out predictions.csv", "assay explain best.assay new.csv --row 0"]
        + ["assay serve best.assay --port 8000"],
        "columns": Grid(["column", "role"], lines, left=2),
    }


def provenance_of(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What must be the same for the same numbers."""
    data, design = results.get("data") or {}, results.get("design") or {}
    found = [("Seed", clean(design.get("seed"), 40)), ("Data (SHA-256)", clean(data.get("fingerprint"), 128))]
    found.append(("Source", clean(data.get("source"), 200)))
    found += [(clean(k, 30), clean(v, 40)) for k, v in (results.get("versions") or {}).items()]
    found.append(("Schema", clean(results.get("schema"), 40)))
    return [(name, value) for name, value in found if value]


def recommended(results: Mapping[str, Any], learners: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The learner that the results recommend, if they do."""
    if results.get("not_yet"):
        return None
    wanted = (results.get("recommendation") or (results.get("comparison") or {}).get("recommendation") or {}).get("id")
    return next((one for one in learners if one.get("id") == wanted), None)
