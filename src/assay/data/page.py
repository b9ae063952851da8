"""The pages of `describe` and `audit`: one file of HTML with its own style, no script, nothing loaded from elsewhere.

A page shows aggregates: counts, shares, quantiles, the most frequent labels, and the few examples that findings name.
Every text from data is cleaned and escaped. What grows with the number of columns is cut at a stated number.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..base import svg
from ..base.files import write_whole
from ..base.svg import PALETTE
from ..base.words import clean, compact, count, label, listing, number, percent, rows, sentence
from .description import Description, describe_survey
from .findings.finding import SEVERITIES, Audit, Finding
from .findings.survey import Survey

MOST_CARDS = 120
MOST_PAIRS = 60
MOST_FINDINGS = 300
MOST_GAPS = 60


def write_page(html: str, file: str | Path | None) -> str:
    """Write the page in one step, if a file is given: readers see the old one or the whole new one."""
    if file is not None:
        write_whole("assay", file, html)
    return html


def describe_page(description: Description) -> str:
    """The page of a description."""
    title = clean(description.name, 80)
    lead = _size(description)
    return _page(f"{title} described", "Description", title, lead, _described(description), [])


def audit_page(audit: Audit) -> str:
    """The page of an audit: the findings first, then the table they are about."""
    title = clean(audit.name, 80)
    survey = audit.survey
    if survey is None and audit.table is not None:
        survey = Survey.of(audit.table)
    description = describe_survey(survey, corrected=True) if survey is not None else None
    counts = {level: sum(f.severity == level for f in audit.findings) for level in SEVERITIES}
    lead = _size(description) if description is not None else count(audit.n_rows, "row")
    if audit.target:
        lead += f" The target is <strong>{escape(clean(audit.target, 60))}</strong>."
    sections = [("findings", "Findings", _findings(audit.findings, counts))]
    if description is not None:
        sections += _described(description, audit.findings)
    cards = [(level, str(counts[level]), "finding" if counts[level] == 1 else "findings") for level in SEVERITIES]
    return _page(f"Audit of {title}", "Audit", title, lead, sections, cards)


def _size(description: Description) -> str:
    cells = sum(column["count"] + column["missing"] for column in description.columns)
    gone = sum(column["missing"] for column in description.columns)
    kinds: dict[str, int] = {}
    for column in description.columns:
        kinds[column["role"]] = kinds.get(column["role"], 0) + 1
    told = listing([f"{many} {role}" for role, many in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))])
    empty = f"{percent(gone / cells, 1)} of the cells are missing" if gone else "no cell is missing"
    return f"{rows(description.n_rows)} and {count(len(description.columns), 'column')} ({told}); {empty}."


def _described(description: Description, findings: Sequence[Finding] = ()) -> list[tuple[str, str, str]]:
    sections = [("columns", "Columns", _cards(description, findings))]
    if description.missing_map["shares"]:
        sections.append(("missing", "Missing cells", _missing(description)))
    if len(description.associations["names"]) > 1:
        sections.append(("associations", "Associations", _associations(description)))
    return sections


# -- findings ---------------------------------------------------------------------------------------------------
def _findings(findings: list[Finding], counts: dict[str, int]) -> str:
    if not findings:
        return '<p class="about">Nothing was found.</p>'
    body = []
    for finding in findings[:MOST_FINDINGS]:
        columns = "".join(
            f"<code{_tip(name.full)}>{escape(name.short)}</code> "
            for name in (label(column, 32) for column in finding.columns[:6])
        )
        more = len(finding.columns) - 6
        if more > 0:
            columns += f'<span class="quiet">and {more} more</span>'
        starts = tuple(finding.columns) or ("",)
        many = finding.rows["count"]
        first = [str(row + 1) for row in finding.rows["first"]]
        listed = ", ".join([*first, "…"] if many > len(first) else first) if first else ""
        where = f'{compact(many)}<div class="quiet">{listed}</div>'
        step = finding.remedy.get("step")
        chip = f' <span class="chip">{escape(step)}</span>' if step else ""
        body.append(
            f'<tr class="{finding.severity}"><td><span class="tag {finding.severity}">{finding.severity}</span></td>'
            f'<th scope="row"><span class="code">{escape(finding.code)}</span> {escape(finding.kind)}</th>'
            f'<td>{columns}</td><td class="n">{where if many else ""}</td>'
            f"<td>{escape(sentence(finding.evidence, 400, capital=not finding.evidence.startswith(starts)))}"
            f'<div class="remedy">{escape(sentence(finding.remedy["words"], 300, capital=True))}{chip}</div></td></tr>'
        )
    more = len(findings) - MOST_FINDINGS
    note = f'<p class="note">{more} more findings are not shown here.</p>' if more > 0 else ""
    return (
        '<div class="panel scroll"><table class="findings"><thead><tr><th>severity</th><th>finding</th><th>columns</th>'
        '<th class="n">rows</th><th>evidence and remedy</th></tr></thead><tbody>'
        + "".join(body) + f"</tbody></table></div>{note}"
    )  # fmt: skip


def _tip(full: str) -> str:
    return f' title="{escape(full)}"' if full else ""


# -- columns ----------------------------------------------------------------------------------------------------
def _cards(description: Description, findings: Sequence[Finding]) -> str:
    worst: dict[str, str] = {}
    for finding in findings:
        for first in finding.columns[:1]:
            worst.setdefault(first, finding.severity)
    cards = []
    for column in description.columns[:MOST_CARDS]:
        name = label(column["name"], 30)
        mark = worst.get(column["name"])
        dot = f'<span class="dot {mark}" title="{mark} finding"></span>' if mark else ""
        cards.append(
            f'<li><div class="top"><h3{_tip(name.full)}>{escape(name.short)}{dot}</h3>'
            f'<span class="role {escape(column["role"])}">{escape(column["role"])}</span></div>'
            f'<div class="fig">{_picture(column)}</div>{_facts(column)}</li>'
        )
    more = len(description.columns) - MOST_CARDS
    note = f'<p class="note">{more} more columns are not shown here.</p>' if more > 0 else ""
    return f'<ul class="grid">{"".join(cards)}</ul>{note}'


def _facts(column: dict[str, Any]) -> str:
    total = column["count"] + column["missing"]
    parts = [f"{compact(column['distinct'])} distinct"]
    if column["missing"]:
        parts.append(f'<span class="gap">{percent(column["missing"] / max(total, 1), 1)} missing</span>')
    if column.get("mean") is not None and column["role"] == "numeric":
        parts.append(f"mean {number(column['mean'])}")
        parts.append(f"sd {number(column['sd'])}")
    if column.get("length"):
        ends = list(dict.fromkeys(compact(column["length"][end]) for end in ("min", "max")))
        parts.append(f"{' to '.join(ends)} characters")
    return f'<p class="facts">{" · ".join(parts)}</p>'


WIDE, TALL = 300.0, 104.0


def _picture(column: dict[str, Any]) -> str:
    """The histogram of a number or date, bars of the most frequent labels, or nothing to see."""
    title = f"{clean(column['name'], 60)}: distribution"
    histogram = column.get("histogram")
    if histogram and column["role"] not in ("binary", "nominal", "ordinal", "id"):
        return _small(_bars(histogram, column["min"], column["max"]), title, clean(_told(column), 300))
    if column.get("top"):
        return _small(_labels(column), title, clean(_told(column), 300))
    why = "every cell is missing" if column["count"] == 0 else f"{column['role']}: nothing is shown of its cells"
    body = [svg.rect(0, 0, WIDE, TALL, "soft", radius=6), svg.text(WIDE / 2, TALL / 2 + 4, why, "muted", 12, "middle")]
    return _small(body, title, why)


def _told(column: dict[str, Any]) -> str:
    if column.get("min") is not None:
        return f"from {_end(column['min'])} to {_end(column['max'])}"
    return ", ".join(f"{clean(one['value'], 30)} {one['count']}" for one in column.get("top", [])[:5])


def _end(value: Any) -> str:
    return value[:10] if isinstance(value, str) else compact(float(f"{value:.5g}"))


def _small(body: list[str], title: str, description: str) -> str:
    return svg.figure(body, WIDE, TALL, title, description).replace(svg.NAMESPACE, "", 1)


def _bars(histogram: dict[str, Any], low_end: Any, high_end: Any) -> list[str]:
    counts = histogram["counts"]
    highest = max([*counts, 1])
    floor, step = TALL - 20, WIDE / len(counts)
    body = []
    for k, many in enumerate(counts):
        height = (floor - 4) * many / highest
        if many:
            low, high = _end(histogram["edges"][k]), _end(histogram["edges"][k + 1])
            tip = f"{low} to {high}: {compact(many)}"
            body.append(
                svg.rect(k * step + 0.75, floor - max(height, 1), step - 1.5, max(height, 1), "accent", tip=tip)
            )
    body.append(svg.line(0, floor + 0.5, WIDE, floor + 0.5, "edge"))
    body.append(svg.text(0, TALL - 5, _end(low_end), "muted", 11))
    body.append(svg.text(WIDE, TALL - 5, _end(high_end), "muted", 11, "end"))
    return body


def _labels(column: dict[str, Any]) -> list[str]:
    top = column["top"][: 6 if column["distinct"] <= 6 else 5]
    if column.get("order") and len(top) == column["distinct"]:
        place = {str(value): k for k, value in enumerate(column["order"])}
        top = sorted(top, key=lambda one: place.get(str(one["value"]), len(place)))
    shown = sum(one["count"] for one in top)
    rest = column["count"] - shown
    lines = [(clean(one["value"], 60), one["count"], "accent") for one in top]
    if rest > 0:
        others = column["distinct"] - len(top)
        lines.append((f"{compact(others)} more", rest, "edge"))
    step = TALL / 6
    room = 104.0
    highest = max(many for _, many, _ in lines)
    body = []
    for k, (name, many, fill) in enumerate(lines):
        y = k * step
        text, full = svg.fit(name, room - 8, 11.5)
        body.append(svg.text(room - 8, y + step / 2 + 4, text, "ink" if fill == "accent" else "muted", 11.5, "end",
                             full=full))  # fmt: skip
        width = max((WIDE - room - 44) * many / highest, 1.5)
        body.append(svg.rect(room, y + 3, width, step - 6, fill, radius=2, tip=f"{name}: {compact(many)}"))
        body.append(svg.text(room + width + 6, y + step / 2 + 4, percent(many / column["count"]), "muted", 11))
    return body


# -- missing cells ----------------------------------------------------------------------------------------------
def _missing(description: Description) -> str:
    shares = description.missing_map["shares"]
    total = {column["name"]: column["missing"] / description.n_rows for column in description.columns}
    names = sorted(shares, key=lambda name: -total[name])[:MOST_GAPS]
    blocks = len(description.missing_map["row_ends"]) - 1
    left, cell, line_height = 190.0, 760.0 / max(blocks, 1), 20.0
    height = 26 + line_height * len(names) + 8
    ends = description.missing_map["row_ends"]
    body = [
        svg.text(left, 14, "first row", "muted", 11.5),
        svg.text(left + cell * blocks, 14, f"row {compact(ends[-1])}", "muted", 11.5, "end"),
    ]
    for k, name in enumerate(names):
        y = 24 + k * line_height
        text, full = svg.fit(clean(name, 80), left - 16, 12.5)
        body.append(svg.text(left - 10, y + 14, text, "ink", 12.5, "end", full=full))
        body.append(svg.rect(left, y + 2, cell * blocks, line_height - 4, "soft"))
        for b, share in enumerate(shares[name]):
            if share > 0:
                tip = f"rows {compact(ends[b] + 1)} to {compact(ends[b + 1])}: {percent(share)} missing"
                body.append(svg.rect(left + b * cell, y + 2, cell, line_height - 4, "warm",
                                     opacity=0.15 + 0.85 * share, tip=tip if len(names) <= 30 else ""))  # fmt: skip
        body.append(svg.text(left + cell * blocks + 10, y + 14, percent(total[name], 1), "muted", 12))
    width = left + cell * blocks + 62
    figure = svg.figure(
        body, width, height, "Missing cells by row", "Each line is a column, each cell a block of rows."
    )
    more = len(shares) - len(names)
    note = f" {more} more columns have gaps." if more > 0 else ""
    return (
        f'<p class="about">Each line is a column, from the first row to the last in {count(blocks, "block")}; '
        f"the stronger a block, the larger the share of missing cells in it.{note}</p>"
        f'<div class="panel scroll"><div class="fig wide">{figure.replace(svg.NAMESPACE, "", 1)}</div></div>'
    )


# -- associations -----------------------------------------------------------------------------------------------
def _associations(description: Description) -> str:
    found = description.associations
    names, kinds, strength = found["names"], found["kinds"], found["strength"]
    chosen = list(range(len(names)))
    if len(chosen) > MOST_PAIRS:
        most = [max((abs(v) for j, v in enumerate(row) if v is not None and j != i), default=0.0)
                for i, row in enumerate(strength)]  # fmt: skip
        chosen = sorted(sorted(chosen, key=lambda k: -most[k])[:MOST_PAIRS])
    size = 30.0 if len(chosen) <= 24 else 20.0 if len(chosen) <= 40 else 14.0
    left, top = 170.0, 128.0
    body = []
    split = sum(kinds[k] == "numeric" for k in chosen)
    for i, a in enumerate(chosen):
        text, full = svg.fit(clean(names[a], 80), left - 14, min(12.5, size))
        body.append(svg.text(left - 8, top + (i + 0.5) * size + 4, text, "ink", min(12.5, size), "end", full=full))
        short, _ = svg.fit(clean(names[a], 80), top - 14, min(12.5, size))
        x, y = left + (i + 0.5) * size + 4, top - 8
        body.append(
            f'<text transform="translate({svg.num(x)} {svg.num(y)}) rotate(-55)" font-size="{svg.num(min(12.5, size))}"'
            f"{svg.paint('ink')}>{escape(short)}</text>"
        )
        for j, b in enumerate(chosen):
            value = strength[a][b]
            gap = 1 if size > 14 else 0.5
            place = left + j * size, top + i * size, size - gap, size - gap
            if a == b or value is None:
                body.append(svg.rect(*place, "soft"))
                continue
            tip = f"{clean(names[a], 40)}, {clean(names[b], 40)}: {number(value, 2)}" if len(chosen) <= 40 else ""
            body.append(svg.rect(*place, "warm" if value < 0 else "accent", opacity=0.04 + 0.96 * abs(value), tip=tip))
            if size >= 30 and abs(value) >= 0.3:
                ink = "paper" if abs(value) > 0.55 else "ink"
                body.append(svg.text(left + (j + 0.5) * size, top + (i + 0.5) * size + 4, f"{abs(value):.2f}"[1:]
                                     if abs(value) < 0.995 else "1", ink, 10.5, "middle"))  # fmt: skip
    if 0 < split < len(chosen):
        at = split * size - 0.5
        end = len(chosen) * size
        body += [
            svg.line(left + at, top, left + at, top + end, "ink"),
            svg.line(left, top + at, left + end, top + at, "ink"),
        ]
    width, height = left + len(chosen) * size + 90, top + len(chosen) * size + 8
    figure = svg.figure(body, width, height, "Associations", "Strength of association of every pair of columns.")
    more = len(names) - len(chosen)
    note = f" The {len(chosen)} columns with the strongest associations are shown." if more > 0 else ""
    return (
        '<p class="about">Pearson’s r between two numbers (<span class="key accent"></span> positive, '
        '<span class="key warm"></span> negative), Cramér’s V between two columns of labels, the correlation ratio '
        f"between a number and a label; the line parts numbers from labels.{note}</p>"
        f'<div class="panel scroll"><div class="fig fixed">{figure.replace(svg.NAMESPACE, "", 1)}</div></div>'
        + _strongest(names, strength)
    )


def _strongest(names: list[str], strength: list[list[float | None]]) -> str:
    pairs = sorted(
        ((abs(v), i, j) for i, row in enumerate(strength) for j, v in enumerate(row) if v is not None and j < i),
        reverse=True,
    )[:8]
    lines = "".join(
        f'<tr><th scope="row">{escape(clean(names[j], 40))}</th><th scope="row">{escape(clean(names[i], 40))}</th>'
        f'<td class="n">{number(strength[i][j], 3)}</td></tr>'
        for size, i, j in pairs
        if size >= 0.1
    )
    if not lines:
        return ""
    return (
        '<div class="panel scroll"><table><caption>The strongest pairs</caption><thead><tr><th>column</th>'
        f'<th>column</th><th class="n">strength</th></tr></thead><tbody>{lines}</tbody></table></div>'
    )


# -- the frame --------------------------------------------------------------------------------------------------
def _page(
    title: str,
    eyebrow: str,
    head: str,
    lead: str,
    sections: list[tuple[str, str, str]],
    cards: list[tuple[str, str, str]],
) -> str:
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    links = "".join(f'<li><a href="#{key}">{escape(name)}</a></li>' for key, name, _ in sections)
    boxes = "".join(
        f'<li class="{level}"><div class="big">{many}</div><div class="small">{level} {noun}</div></li>'
        for level, many, noun in cards
    )
    body = "".join(f'<section id="{key}"><h2>{escape(name)}</h2>{html}</section>' for key, name, html in sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>"
        f'<header class="top"><p class="eyebrow"><span class="mark">Assay</span> {escape(eyebrow)}</p>'
        f'<h1>{escape(head)}</h1><p class="lead">{lead}</p>'
        + (f'<ul class="cards">{boxes}</ul>' if boxes else "")
        + f"<nav><ol>{links}</ol></nav></header><main>{body}</main>"
        "<footer>Made by Assay. This page holds aggregates of the table and no rows of it.</footer></body></html>\n"
    )


def _style() -> str:
    def tokens(place: int) -> str:
        return "".join(f"--{name}:{pair[place]};" for name, pair in PALETTE.items())

    used = ("ink", "muted", "line", "soft", "edge", "accent", "warm", "bad", "paper")
    marks = "".join(f".f-{name}{{fill:var(--{name})}}.s-{name}{{stroke:var(--{name})}}" for name in used)
    return (
        f":root{{color-scheme:light dark;{tokens(0)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{tokens(1)}}}}}"
        f"@media print{{:root{{{tokens(0)}}}}}{marks}" + _SHEET
    )


_SHEET = """
*,*::before,*::after{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 Inter,system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:break-word}
main,header.top,footer{max-width:1120px;margin:0 auto;padding:0 32px}
header.top{padding-top:40px}
.eyebrow{margin:0 0 10px;font-size:13px;color:var(--muted);display:flex;gap:10px;align-items:center}
.mark{font-weight:700;letter-spacing:.08em;text-transform:uppercase;color:var(--accent);font-size:12px}
h1{margin:0 0 12px;font-size:38px;line-height:1.15;font-weight:700;letter-spacing:-.02em}
.lead{margin:0 0 10px;font-size:18px;line-height:1.5;max-width:52em}
.cards{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:14px;margin:24px 0 6px;padding:0;list-style:none}
.cards li{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:12px 18px 13px}
.cards li.high{box-shadow:inset 0 3px 0 var(--bad)}
.cards li.medium{box-shadow:inset 0 3px 0 var(--warm)}
.cards li.low{box-shadow:inset 0 3px 0 var(--edge)}
.big{font-size:30px;line-height:1.25;font-weight:650;letter-spacing:-.015em}
.small{font-size:13px;color:var(--muted)}
nav{margin:24px 0 0;border-top:1px solid var(--line);border-bottom:1px solid var(--line)}
nav ol{list-style:none;margin:0;padding:9px 0;display:flex;flex-wrap:wrap;gap:4px 22px;font-size:14px}
nav a{color:var(--muted);text-decoration:none}
nav a:hover{color:var(--accent);text-decoration:underline}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
section{margin:40px 0 0}
h2{font-size:24px;line-height:1.25;margin:0 0 10px;font-weight:680;letter-spacing:-.012em}
h3{font-size:15.5px;margin:0;font-weight:620;overflow-wrap:anywhere}
.about{margin:0 0 14px;color:var(--muted);max-width:56em}
.panel{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:16px 20px;margin:12px 0}
.scroll{overflow-x:auto}
.note,.quiet{font-size:13px;color:var(--muted)}
table{border-collapse:collapse;width:100%;font-size:14.5px}
caption{text-align:left;color:var(--muted);font-size:13.5px;padding:0 0 8px}
th,td{text-align:left;padding:9px 14px 9px 0;border-bottom:1px solid var(--line);vertical-align:top}
thead th{font-size:13px;font-weight:550;color:var(--muted);border-bottom-color:var(--edge)}
tbody th{font-weight:550}
tr:last-child>*{border-bottom:0}
th.n,td.n{text-align:right;white-space:nowrap}
th:last-child,td:last-child{padding-right:0}
.findings td:nth-child(5){width:50%;min-width:22em}
.findings td:nth-child(4){width:11%;white-space:normal;min-width:6em}
.findings th[scope]{min-width:9.5em}
.code{font-weight:500;color:var(--muted);font-size:13px}
.remedy{color:var(--muted);font-size:13.5px;margin-top:3px}
code{font:13px/1.5 ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;
background:var(--soft);border-radius:4px;padding:1px 5px;display:inline-block;margin:0 0 3px}
.chip{display:inline-block;font:12px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;
border:1px solid var(--edge);border-radius:99px;padding:0 8px;color:var(--accent);white-space:nowrap}
.tag{display:inline-block;min-width:5em;text-align:center;font-size:12px;line-height:1.5;padding:1px 8px;
border-radius:99px;background:var(--soft);color:var(--muted)}
.tag.high{background:var(--bad);color:var(--paper);font-weight:600}
.tag.medium{background:color-mix(in srgb,var(--warm) 18%,var(--paper));color:var(--warm);font-weight:600}
.grid{list-style:none;margin:0;padding:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(290px,1fr));gap:14px}
.grid li{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:13px 16px 11px;min-width:0}
.top{display:flex;justify-content:space-between;gap:10px;align-items:baseline}
header.top{display:block}
.role{font-size:12px;color:var(--muted);white-space:nowrap}
.facts{margin:8px 0 0;font-size:13px;color:var(--muted)}
.gap{color:var(--warm);font-weight:550}
.dot{display:inline-block;width:8px;height:8px;border-radius:50%;margin-left:7px;background:var(--edge)}
.dot.high{background:var(--bad)}
.dot.medium{background:var(--warm)}
.fig svg{display:block;width:100%;height:auto;margin-top:8px}
.fig.fixed svg{width:auto;max-width:none;margin:0}
.fig.wide svg{min-width:760px;margin:0}
.fig svg text{font-family:inherit;font-variant-numeric:tabular-nums}
.key{display:inline-block;width:12px;height:12px;border-radius:2px;vertical-align:-1px}
.key.accent{background:var(--accent)}
.key.warm{background:var(--warm)}
footer{color:var(--muted);font-size:13px;padding-top:36px;padding-bottom:40px}
@media (max-width:720px){.findings thead{display:none}.findings tr{display:block;padding:10px 0;
border-bottom:1px solid var(--line)}.findings td,.findings th[scope],.findings td:nth-child(4){display:block;border:0;
padding:2px 0;text-align:left;width:auto;min-width:0}.findings td:empty{display:none}
.findings td.n:not(:empty)::before{content:"rows ";color:var(--muted)}}
@media (max-width:640px){main,header.top,footer{padding-left:16px;padding-right:16px}h1{font-size:30px}}
@media print{.panel,.grid li{break-inside:avoid}}
"""
