"""The tree as one HTML page: nodes that fold, rows and class mix of every node, and the path of one row.

Nothing is loaded from elsewhere, text from data is escaped, and folding needs no script: every inner node is a
`details` element. The script adds buttons, and marks the path to a leaf that is clicked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from ...base.errors import DataError, plain
from ...base.svg import CLASSES, FONT, NAMESPACE, PALETTE, class_token, num, paint
from ...base.words import clean, compact, comparison_signs, count, decimals_for, is_number, number, percent, rows
from ...data.columns import ColumnSchema, read_columns
from ._engine import Tree

_DEEPEST = 64
_OPEN = 24
_BAR = 150.0


@dataclass(frozen=True)
class TreeText:
    """A fitted tree with the words for it: for each inner node one condition per branch, and what a node predicts.

    `equations` are the linear models of leaves that have one.
    """

    tree: Tree
    schema: ColumnSchema
    conditions: Mapping[int, Sequence[str]]
    predictions: Sequence[str]
    classes: Sequence[Any] | None
    equations: Mapping[int, str] = field(default_factory=dict)


@dataclass
class _Page:
    """What is drawn: the nodes shown, those open at first, and those on the path of the row."""

    text: TreeText
    shown: set[int]
    opened: set[int]
    path: list[int]
    sizes: np.ndarray
    means: tuple[float, float]
    names: list[str] = field(default_factory=list)


def one_row(owner: Any, row: Any, schema: ColumnSchema) -> np.ndarray:
    """One row as the tree reads it, from a mapping of column names to cells, a sequence, or a table of one row.

    A column that the mapping does not name is missing.
    """
    if isinstance(row, Mapping):
        unknown = [str(name) for name in row if str(name) not in schema.names]
        if unknown:
            raise DataError(
                type(owner).__name__,
                "row",
                "must name columns of the tree",
                f"got {plain(unknown[0])!r}",
                f"the columns are {plain(', '.join(schema.names), 200)}",
            )
        cells = {str(name): cell for name, cell in row.items()}
        table: Any = np.array([[cells.get(name) for name in schema.names]], dtype=object)
    elif hasattr(row, "columns") or (isinstance(row, np.ndarray) and row.ndim == 2):
        table = row
    else:
        table = np.empty((1, len(row)), dtype=object)
        table[0, :] = list(row)
    if table.shape != (1, len(schema.names)):
        raise DataError(
            type(owner).__name__,
            "row",
            f"must be one row of {len(schema.names)} columns",
            f"got shape {tuple(table.shape)}",
        )
    return read_columns(owner, table, schema)


def row_path(tree: Tree, cells: np.ndarray) -> list[int]:
    """The nodes from the root to the leaf that the row reaches."""
    parents = tree.parents()
    path = [int(tree.apply(cells, 1)[0])]
    while parents[path[-1]] >= 0:
        path.append(int(parents[path[-1]]))
    return path[::-1]


def tree_html(
    text: TreeText, cells: np.ndarray | None = None, title: str = "The tree", max_nodes: int = 3000, page: bool = True
) -> str:
    """A whole page, or with `page=False` a part of one without the script."""
    made = _prepare(text, cells, max_nodes)
    body = f'<div class="assay-tree">{_top(made, title, cells)}<div class="nodes">{_nodes(made)}</div></div>'
    style = f"<style>{_style()}</style>"
    if not page:
        return style + body
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(clean(title, 300))}</title>{style}</head>"
        f'<body class="assay-page">{body}<script>{_SCRIPT}</script></body></html>'
    )


def _prepare(text: TreeText, cells: np.ndarray | None, max_nodes: int) -> _Page:
    tree = text.tree
    sizes = np.ones(tree.node_count, dtype=np.int64)
    for node in range(tree.node_count - 1, -1, -1):
        sizes[node] += sum(int(sizes[child]) for child in tree.children(node))
    path = [] if cells is None else row_path(tree, cells)
    shown, opened, waiting = {0}, set(path), deque([(0, 0)])
    visible = 1
    for node in path:
        shown.update(tree.children(node))
    while waiting:  # level by level, so that what is left out lies deep
        node, depth = waiting.popleft()
        below = tree.children(node)
        fits = len(shown) + len(below) <= max_nodes and depth < _DEEPEST
        if not below or not (fits or node in opened):
            continue
        shown.update(below)
        waiting.extend((child, depth + 1) for child in below)
        if not path and visible + len(below) <= _OPEN:
            opened.add(node)
            visible += len(below)
    means = tree.value[:, 0]
    names = [] if text.classes is None else [clean(one, 60) for one in text.classes]
    return _Page(text, shown, opened, path, sizes, (float(means.min()), float(means.max())), names)


def _top(made: _Page, title: str, cells: np.ndarray | None) -> str:
    tree = made.text.tree
    facts = [rows(float(tree.weighted_n_node_samples[0])), count(tree.n_leaves, "leaf", "leaves")]
    facts.append(f"depth {int(tree.depths().max())}")
    legend = "".join(
        f"<li>{_swatch(class_token(k))}{escape(name)}</li>"
        for k, name in enumerate(
            made.names[:CLASSES] + ([f"{len(made.names) - CLASSES} other classes"] if len(made.names) > CLASSES else [])
        )
    )
    parts = [
        f'<div class="head"><h1>{escape(clean(title, 300))}</h1><p>{" · ".join(facts)}</p>'
        '<p class="tools" hidden><button type="button" data-do="open">Unfold all</button>'
        '<button type="button" data-do="more">One level more</button>'
        '<button type="button" data-do="close">Fold all</button></p></div>'
    ]
    if legend:
        parts.append(f'<ul class="legend">{legend}</ul>')
    if cells is not None:
        parts.append(_sentence(made, cells))
    return "".join(parts)


def _sentence(made: _Page, cells: np.ndarray) -> str:
    """The row in the columns that its path tests, and what the tree says of it."""
    tree, schema = made.text.tree, made.text.schema
    inner = [node for node in made.path if tree.feature[node] >= 0]
    tested = dict.fromkeys(j for node in inner for j in tree.columns_of(node))
    said = []
    for j in tested:
        cell, categories = float(cells[0, j]), schema.categories[j]
        if cell != cell:
            value = "missing"
        elif categories is None:
            value = compact(cell)
        else:
            value = str(categories[int(cell)]) if 0 <= cell < categories.shape[0] else "never seen"
        said.append(f"<li>{escape(clean(schema.names[j], 60))} <b>{escape(clean(value, 60))}</b></li>")
    prediction = escape(_prediction(made, made.path[-1]))
    return f'<div class="row"><span>This row</span><ul>{"".join(said)}</ul><strong>{prediction}</strong></div>'


def _nodes(made: _Page) -> str:
    """Every node before its children; a branch is opened before and closed after what is below it."""
    tree, out = made.text.tree, []
    on = set(made.path)
    stack: list[tuple[int, str, bool]] = [(0, "all rows", False)]
    while stack:
        node, condition, close = stack.pop()
        if close:
            out.append("</div></details>")
            continue
        below = tree.children(node)
        marks = " on" if node in on else ""
        line = _line(made, node, condition)
        if below and below[0] in made.shown:
            state = " open" if node in made.opened else ""
            out.append(f'<details class="n{marks}"{state}><summary>{line}</summary><div class="kids">')
            stack.append((node, "", True))
            for child, words in reversed(list(zip(below, made.text.conditions[node], strict=True))):
                stack.append((child, words, False))
        else:
            kind = "leaf" if not below else "cut"
            more = "" if not below else f'<p class="more">{count(int(made.sizes[node]) - 1, "more node")} below</p>'
            out.append(f'<div class="n {kind}{marks}"><div class="line">{line}</div>{more}</div>')
    return "".join(out)


def _prediction(made: _Page, node: int) -> str:
    if node in made.text.equations:
        return clean(made.text.equations[node], 300)
    value = made.text.tree.value[node]
    if made.text.classes is None and value.shape[0] == 1 and is_number(float(value[0])):
        return number(float(value[0]), decimals_for(list(made.means)))
    return clean(made.text.predictions[node], 120)


def _line(made: _Page, node: int, condition: str) -> str:
    tree = made.text.tree
    weight = float(tree.weighted_n_node_samples[node])
    share = weight / float(tree.weighted_n_node_samples[0])
    words = comparison_signs(clean(condition, 600))
    return (
        f'<span class="if">{escape(words)}</span><span class="then">{escape(_prediction(made, node))}</span>'
        f"{_mix(made, node)}"
        f'<span class="rows" title="{escape(percent(share, 1))} of all rows">{escape(rows(weight))}'
        f"{_svg(_rect(0, 90 * share, 'edge'), 90, 3)}</span>"
    )


def _mix(made: _Page, node: int) -> str:
    """Class shares as a bar, or the mean on the scale of all nodes."""
    value = made.text.tree.value[node]
    impurity = f"impurity {compact(float(f'{made.text.tree.impurity[node]:.4g}'))}"
    if made.names:
        at, marks, said = 0.0, [], []
        for k in np.flatnonzero(value > 0).tolist():
            wide = _BAR * float(value[k])
            marks.append(_rect(at, wide - (1 if wide > 3 else 0), class_token(k)))
            at += wide
        for k in np.argsort(-value, kind="stable")[:CLASSES].tolist():
            if value[k] > 0:
                said.append(f"{made.names[k]} {percent(float(value[k]), 1)}")
        tip = ", ".join([*said, impurity])
        return f'<span class="mix" title="{escape(tip)}">{_svg("".join(marks), _BAR, 10)}</span>'
    low, high = made.means
    at = 5 + (_BAR - 10) * ((float(value[0]) - low) / (high - low) if high > low else 0.5)
    marks = [_rect(0, _BAR, "line", 4, 2), f'<circle cx="{num(at)}" cy="5" r="4.5"{paint("accent")}/>']
    return f'<span class="mix" title="{escape(impurity)}">{_svg("".join(marks), _BAR, 10)}</span>'


def _svg(marks: str, width: float, height: float) -> str:
    size = f'width="{num(width)}" height="{num(height)}" viewBox="0 0 {num(width)} {num(height)}"'
    return f'<svg{NAMESPACE} {size} aria-hidden="true">{marks}</svg>'


def _rect(x: float, width: float, colour: str, y: float = 0, height: float = 10) -> str:
    return f'<rect x="{num(x)}" y="{num(y)}" width="{num(width)}" height="{num(height)}"{paint(colour)}/>'


def _swatch(colour: str) -> str:
    return _svg(f'<rect width="11" height="11" rx="2"{paint(colour)}/>', 11, 11)


def _style() -> str:
    light = "".join(f"--{name}:{pair[0]};" for name, pair in PALETTE.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in PALETTE.items())
    paints = "".join(
        f".assay-tree .f-{name}{{fill:var(--{name})}}.assay-tree .s-{name}{{stroke:var(--{name})}}" for name in PALETTE
    )
    return (
        f".assay-tree,.assay-page{{color-scheme:light dark;{light}}}"
        f"@media (prefers-color-scheme:dark){{.assay-tree,.assay-page{{{dark}}}}}"
        f".assay-tree{{font:14px/1.45 {FONT};{_RULES}{paints}"
    )


_RULES = """
color:var(--ink);background:var(--paper);border:1px solid var(--line);border-radius:12px;padding:22px 24px 18px;
font-variant-numeric:tabular-nums;overflow-x:auto}
.assay-page{margin:0;background:var(--page);padding:28px 16px}
.assay-page .assay-tree{max-width:1040px;margin:0 auto}
.assay-tree *{box-sizing:border-box}
.assay-tree h1{font-size:22px;line-height:1.2;font-weight:680;letter-spacing:-.012em;margin:0;color:var(--ink)}
.assay-tree .head{display:flex;flex-wrap:wrap;align-items:baseline;gap:4px 16px;margin:0 0 10px}
.assay-tree .head p{margin:0;color:var(--muted)}
.assay-tree .tools{margin-left:auto!important;display:flex;gap:6px}
.assay-tree .tools[hidden]{display:none}
.assay-tree button{font:inherit;font-size:12.5px;color:var(--ink);background:var(--soft);border:1px solid var(--line);
border-radius:6px;padding:3px 10px;cursor:pointer}
.assay-tree button:hover{border-color:var(--accent);color:var(--accent)}
.assay-tree .legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 12px;padding:0;font-size:13px}
.assay-tree .legend li{display:flex;align-items:center;gap:7px;margin:0}
.assay-tree .row{display:flex;flex-wrap:wrap;align-items:baseline;gap:4px 14px;margin:0 0 14px;padding:9px 14px;
background:var(--soft);border-radius:8px;border-left:3px solid var(--accent)}
.assay-tree .row>span{color:var(--accent);font-weight:600}
.assay-tree .row ul{list-style:none;display:flex;flex-wrap:wrap;gap:2px 16px;margin:0;padding:0;color:var(--muted)}
.assay-tree .row li{margin:0}
.assay-tree .row b{color:var(--ink);font-weight:600}
.assay-tree .row strong{margin-left:auto}
.assay-tree .row strong::before{content:"→ ";color:var(--muted);font-weight:400}
.assay-tree .nodes{min-width:560px}
.assay-tree summary,.assay-tree .line{display:flex;align-items:center;gap:14px;padding:5px 8px 5px 24px;
border-radius:6px;position:relative;list-style:none}
.assay-tree summary{cursor:pointer}
.assay-tree summary::-webkit-details-marker{display:none}
.assay-tree summary::before{content:"";position:absolute;left:9px;top:50%;width:6px;height:6px;
border-right:1.6px solid var(--muted);border-bottom:1.6px solid var(--muted);transform:translateY(-55%) rotate(-45deg);
transition:transform .12s}
.assay-tree details[open]>summary::before{transform:translateY(-70%) rotate(45deg)}
.assay-tree .line::before{content:"";position:absolute;left:9px;top:50%;width:6px;height:6px;border-radius:50%;
background:var(--edge);transform:translateY(-50%)}
.assay-tree summary:hover,.assay-tree .line:hover{background:var(--soft)}
.assay-tree summary:focus-visible{outline:2px solid var(--accent);outline-offset:-2px}
.assay-tree .kids{margin-left:12px;padding-left:10px;border-left:1px solid var(--line)}
.assay-tree .if{flex:1 1 auto;min-width:90px;overflow-wrap:anywhere}
.assay-tree .then{flex:0 0 130px;overflow-wrap:anywhere;color:var(--muted)}
.assay-tree .leaf>.line>.then{color:var(--ink);font-weight:620}
.assay-tree .mix{flex:0 0 150px;display:flex}
.assay-tree .mix svg{border-radius:3px}
.assay-tree .rows{flex:0 0 90px;text-align:right;color:var(--muted);font-size:12.5px;line-height:1.25}
.assay-tree .rows svg{display:block;border-radius:2px;background:var(--soft)}
.assay-tree .more{margin:0 0 4px 24px;font-size:12.5px;color:var(--muted)}
.assay-tree .on>summary>.if,.assay-tree .on>.line>.if{color:var(--accent);font-weight:620}
.assay-tree .on>.kids{border-left-color:var(--accent);border-left-width:2px;padding-left:9px}
.assay-tree .on>.line{background:var(--soft);box-shadow:inset 3px 0 0 var(--accent)}
.assay-tree .on>.line::before{background:var(--accent)}
.assay-tree .on>summary::before{border-color:var(--accent)}
@media (max-width:700px){.assay-tree{padding:16px 12px}.assay-tree .then{flex-basis:90px}
.assay-tree .mix{flex-basis:110px}.assay-tree .mix svg{width:110px}}
@media (prefers-reduced-motion:reduce){.assay-tree summary::before{transition:none}}
@media print{.assay-tree .tools{display:none}.assay-tree{border:0}}
"""

_SCRIPT = """
for (const tree of document.querySelectorAll(".assay-tree")) {
  const all = () => [...tree.querySelectorAll("details")];
  const shut = (d) => { for (let p = d.parentElement; p && p !== tree; p = p.parentElement)
    if (p.tagName === "DETAILS" && !p.open) return true; return false; };
  const deeds = {
    open: () => all().forEach((d) => { d.open = true; }),
    close: () => all().forEach((d) => { d.open = false; }),
    more: () => all().filter((d) => !d.open && !shut(d)).forEach((d) => { d.open = true; }),
  };
  const tools = tree.querySelector(".tools");
  tools.hidden = all().length === 0;
  tools.addEventListener("click", (event) => { const deed = deeds[event.target.dataset.do]; if (deed) deed(); });
  tree.addEventListener("click", (event) => {
    const leaf = event.target.closest(".leaf");
    if (!leaf) return;
    const again = leaf.classList.contains("on");
    tree.querySelectorAll(".on").forEach((n) => n.classList.remove("on"));
    for (let p = again ? null : leaf; p && p !== tree; p = p.parentElement)
      if (p.classList.contains("n")) p.classList.add("on");
  });
}
"""
