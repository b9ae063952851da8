"""The drawing of a tree, from left to right, and the same tree as lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ...base.record import Grid
from ...base.svg import CLASSES, class_token, figure, fit, line, num, paint, rect, text, text_width, wrap
from ...base.views import View
from ...base.words import comparison_signs, count, decimals_for, is_number, label, number, percent, rows

_LEAVES = 40
_GAP = 30.0
_PAD = 10.0


class OutlineRow(NamedTuple):
    """One node of the tree as a line of text."""

    depth: int
    condition: str
    test: str
    prediction: str
    rows: str
    cut: bool


class _Node:
    """A node of the view with its place in the drawing."""

    def __init__(self, data: Mapping[str, Any], depth: int):
        self.data = data
        self.depth = depth
        self.children: list[_Node] = []
        self.below = 0
        self.label: list[str] = []
        self.label_full = ""
        self.test: list[str] = []
        self.test_full = ""
        self.box = 0.0
        self.band = 0.0
        self.middle = 0.0
        self.marked = False

    @property
    def cut(self) -> bool:
        return bool(self.data.get("cut"))

    @property
    def height(self) -> float:
        return 14.0 * len(self.label) + 4 + self.box


def _build(view: Mapping[str, Any]) -> _Node | None:
    """The nodes as a tree; a child that is unknown or was met before is left out."""
    known = {node["id"]: node for node in view.get("nodes") or []}
    if not known:
        return None
    first = next((node for node in known.values() if node.get("parent", -1) in (-1, None)), next(iter(known.values())))
    met = {first["id"]}
    root = _Node(first, 0)
    waiting = [root]
    made = [root]
    while waiting:
        node = waiting.pop()
        for child in node.data.get("children") or []:
            if child in known and child not in met:
                met.add(child)
                node.children.append(_Node(known[child], node.depth + 1))
        waiting += node.children
        made += node.children
    for node in sorted(made, key=lambda one: -one.depth):
        node.below = sum(1 + child.below for child in node.children)
    return root


def _walk(node: _Node, depth: int) -> list[_Node]:
    found = [node]
    if node.depth < depth:
        for child in node.children:
            found += _walk(child, depth)
    return found


def _depth_to_draw(root: _Node, most: int) -> int:
    """The greatest depth, at most `most`, at which the drawing stays readable."""
    for depth in range(most, 0, -1):
        leaves = sum(node.depth == depth or not node.children for node in _walk(root, depth))
        if leaves <= _LEAVES:
            return depth
    return 1


def _prediction(node: _Node, places: int) -> str:
    prediction = node.data.get("prediction")
    return number(prediction, places) if is_number(prediction) else label(prediction, 60).short


def tree_outline(view: Mapping[str, Any], limit: int = 200) -> tuple[list[OutlineRow], int]:
    """The tree as indented lines, parents before children, and how many nodes were left out."""
    root = _build(view)
    if root is None:
        return [], 0
    nodes = _walk(root, 64)
    places = decimals_for([node.data.get("prediction") for node in nodes])
    lines = [
        OutlineRow(
            min(node.depth, 8),
            label(comparison_signs(node.data.get("condition") or ""), 300).short,
            label(comparison_signs(node.data.get("test") or ""), 300).short,
            label(node.data["equation"], 300).short if node.data.get("equation") else _prediction(node, places),
            rows(node.data.get("rows")),
            node.cut,
        )
        for node in nodes[:limit]
    ]
    return lines, max(0, len(nodes) - limit)


def tree_figure(
    view: Mapping[str, Any],
    *,
    max_depth: int = 4,
    width: float = 1000,
    title: str = "The tree",
    limit: int = 12,
    branches: Sequence[int] = (),
    marked: bool = False,
) -> str:
    """The tree drawn from left to right down to `max_depth`.

    Above each box stands the condition that leads to it; in the box the prediction, the rows and the class shares
    (or the mean on the scale of all nodes); under the bar the test that splits the node, or the linear model of a leaf
    that has one. Thicker branches carry more rows. At most `limit` branches of one node are drawn. If `marked`, the
    root and the nodes that `branches` lead to (the place of the branch to take at each node) stand out.
    """
    root = _build(view)
    if root is None:
        return figure([text(0, 20, "The tree has no nodes.", "muted")], 300, 32, title, "The tree has no nodes.")
    if marked:
        _mark(root, branches)
    hidden = _limit_branches(root, limit)
    depth = _depth_to_draw(root, max_depth)
    nodes = _walk(root, depth)
    drawn = max(node.depth for node in nodes)
    columns = drawn + 1
    card = min(max((width - _GAP * drawn) / columns, 158.0), 236.0)
    classes = view.get("classes") or None
    predictions = [node.data.get("prediction") for node in nodes]
    places = decimals_for(predictions)
    means = [node.data["value"][0] for node in nodes if not classes and node.data.get("value")]
    for node in nodes:
        _measure(node, card, node.depth < depth)
    _bands(root, depth)
    legend, top = _legend([label(one, 60).short for one in classes or []], columns * card + drawn * _GAP)
    _place(root, top + root.band / 2, depth)
    total = float(root.data.get("rows") or 1) or 1.0
    body = list(legend)
    for node in nodes:
        if node.depth < depth:
            body += [_edge(node, child, card, total) for child in node.children]
    for node in nodes:
        body += _card(node, card, places, classes, means, depth, hidden.get(id(node), 0))
    whole_count = max(int(view.get("n_nodes") or 0), root.below + 1)
    said = f"A tree with {count(whole_count, 'node')}"
    said += f", drawn to depth {drawn}" if whole_count > len(nodes) else ""
    if root.data.get("test"):
        said += f"; the first test is {comparison_signs(root.data['test'])}"
    whole = columns * card + drawn * _GAP
    return figure(body, whole + 2, top + root.band + 6, title, said + ".")


def _mark(node: _Node, branches: Sequence[int]) -> None:
    node.marked = True
    for branch in branches:
        if branch >= len(node.children):
            return
        node = node.children[branch]
        node.marked = True


def _limit_branches(root: _Node, limit: int) -> dict[int, int]:
    """Keep the branches with most rows where a node has very many; the number left out by node."""
    hidden: dict[int, int] = {}
    for node in _walk(root, 64):
        if len(node.children) > limit:
            kept = sorted(node.children, key=lambda one: (not one.marked, -float(one.data.get("rows") or 0)))[:limit]
            hidden[id(node)] = len(node.children) - limit
            node.children = [one for one in node.children if one in kept]
    return hidden


def _measure(node: _Node, card: float, open_: bool) -> None:
    condition = comparison_signs(node.data.get("condition") or "")
    if condition:
        node.label, node.label_full = wrap(condition, card - 6, 11.5, 3)
    test = comparison_signs(node.data.get("test") or "")
    if test and node.children and open_:
        node.test, node.test_full = wrap(f"{test}?", card - 2 * _PAD, 12, 3)
    elif node.data.get("equation") and not node.children:
        node.test, node.test_full = wrap(node.data["equation"], card - 2 * _PAD, 12, 4)
    more = (node.children and not open_) or node.cut
    node.box = 44.0 + (16 * len(node.test) + 5 if node.test else 0) + (16 if more else 0)


def _bands(node: _Node, depth: int) -> None:
    """The height each subtree needs; a node stands in the middle of its band."""
    inside = 0.0
    if node.depth < depth and node.children:
        for child in node.children:
            _bands(child, depth)
        inside = sum(child.band for child in node.children)
    node.band = max(inside, node.height + 14)


def _place(node: _Node, middle: float, depth: int) -> None:
    node.middle = middle
    if node.depth < depth and node.children:
        y = middle - sum(child.band for child in node.children) / 2
        for child in node.children:
            _place(child, y + child.band / 2, depth)
            y += child.band


def _box_top(node: _Node) -> float:
    return node.middle - node.height / 2 + 14.0 * len(node.label) + 4


def _edge(parent: _Node, child: _Node, card: float, total: float) -> str:
    x1 = parent.depth * (card + _GAP) + card
    x2 = child.depth * (card + _GAP)
    y1 = _box_top(parent) + parent.box / 2
    y2 = _box_top(child) + child.box / 2
    middle = (x1 + x2) / 2
    thick = 1.2 + 5 * float(child.data.get("rows") or 0) / total
    path = f"M{num(x1)} {num(y1)}C{num(middle)} {num(y1)} {num(middle)} {num(y2)} {num(x2)} {num(y2)}"
    colour = "accent" if child.marked else "edge"
    return f'<path d="{path}" stroke-width="{num(thick)}"{paint(stroke=colour)}/>'


def _card(
    node: _Node,
    card: float,
    places: int,
    classes: list[Any] | None,
    means: list[float],
    depth: int,
    hidden: int,
) -> list[str]:
    x = node.depth * (card + _GAP)
    top = _box_top(node)
    leaf = not node.children and not node.cut
    body = [
        text(x + 2, top - 6 - 14 * (len(node.label) - 1 - i), piece, "accent", 11.5, weight=500, full=node.label_full)
        for i, piece in enumerate(node.label)
    ]
    edge = "accent" if node.marked else "line"
    body.append(rect(x + 0.5, top, card - 1, node.box, "soft" if leaf else "paper", edge, 5))
    inside = card - 2 * _PAD
    rows_text = rows(node.data.get("rows"))
    room = inside - text_width(rows_text, 11.5) - 8
    name, full = fit(_prediction(node, places), room)
    body.append(text(x + _PAD, top + 18, name, weight=650, full=full))
    body.append(text(x + card - _PAD, top + 18, rows_text, "muted", 11.5, "end"))
    value = node.data.get("value") or []
    y = top + 27
    if classes:
        body += _share_bar(x + _PAD, y, inside, value, [label(one, 60).short for one in classes])
    elif value and is_number(value[0]):
        low, high = min(means), max(means)
        at = x + _PAD + 4 + (inside - 8) * ((value[0] - low) / (high - low) if high > low else 0.5)
        body.append(line(x + _PAD, y + 4, x + card - _PAD, y + 4, "line", 2))
        body.append(f'<circle cx="{num(at)}" cy="{num(y + 4)}" r="4.5"{paint("accent")}/>')
    y += 26
    for i, piece in enumerate(node.test):
        body.append(text(x + _PAD, y + 2 + 16 * i, piece, size=12, full=node.test_full))
    y += 16 * len(node.test)
    if node.cut:
        body.append(text(x + _PAD, y + 2, "… goes on below", "muted", 11.5))
    elif node.children and node.depth >= depth:
        body.append(text(x + _PAD, y + 2, f"… {count(node.below, 'more node')} below", "muted", 11.5))
    if hidden:
        more = f"{count(hidden, 'smaller branch', 'smaller branches')} not drawn"
        body.append(text(x + 2, top + node.box + 14, more, "muted", 11))
    return body


def _share_bar(x: float, y: float, width: float, shares: list[float], names: list[str]) -> list[str]:
    body = [rect(x, y, width, 8, "soft", radius=2)]
    at = x
    for k, share in enumerate(shares):
        if share > 0:
            tip = f"{names[k] if k < len(names) else k}: {percent(share, 1)}"
            wide = width * share
            body.append(rect(at, y, wide - (1 if wide > 3 else 0), 8, class_token(k), tip=tip))
            at += wide
    return body


def _legend(names: list[str], width: float) -> tuple[list[str], float]:
    """Names of the classes beside their colours, and the height this takes."""
    if not names:
        return [], 6.0
    body = []
    x, y = 0.0, 14.0
    shown = names[:CLASSES] + ([f"{len(names) - CLASSES} other classes"] if len(names) > CLASSES else [])
    for k, name in enumerate(shown):
        short, full = fit(name, 220, 12)
        wide = text_width(short, 12) + 36
        if x and x + wide > width:
            x, y = 0.0, y + 20
        body.append(rect(x, y - 10, 11, 11, class_token(k), radius=2))
        body.append(text(x + 17, y, short, size=12, full=full))
        x += wide
    return body, y + 16


@dataclass(frozen=True, kw_only=True)
class TreeView(View):
    """A tree down to some depth: `nodes` are mappings; `n_nodes` and `n_leaves` count the whole tree."""

    kind: ClassVar[str] = "tree"
    nodes: list[dict[str, Any]]
    classes: list[Any] | None = None
    n_nodes: int | None = None
    n_leaves: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The view as plain data; `classes` is None for regression."""
        return {"classes": None, **super().to_dict()}

    def to_svg(self, title: str = "") -> str:
        """The tree from left to right."""
        return tree_figure(self.to_dict(), title=title or "The tree")

    @property
    def how_to_read(self) -> str:
        """The size of the tree and the meaning of its parts."""
        size = f"{count(self.n_nodes, 'node')}, {count(self.n_leaves or 0, 'leaf', 'leaves')}. " if self.n_nodes else ""
        shows = "bar shows the class shares" if self.classes else "dot shows the mean"
        return (
            f"{size}Read from left to right: the condition above a box leads to it, the {shows} of its rows, "
            "thicker branches carry more rows."
        )

    def grid(self) -> Grid:
        """One line per node, parents before children."""
        lines, left_out = tree_outline(self.to_dict())
        shown = [["  " * one.depth + (one.condition or "all rows"), one.prediction, one.rows] for one in lines]
        notes = [f"and {count(left_out, 'more node')}"] if left_out else []
        return Grid(["node", "prediction", "rows"], shown, notes=notes, left=2)
