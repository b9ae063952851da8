"""Rules between items of a table of baskets: what `assay rules` shows and the page that it writes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

from ..base.chart import Chart, Line
from ..base.errors import DataError, plain
from ..base.record import Grid, TableRecord
from ..base.words import clean, compact, count, number, p_value, percent
from ..data import Table
from ..models.baskets import AssociationRules
from .cluster_report import STYLE

MOST_LINES = 2000
_HEADS = ["if", "then", "support", "confidence", "lift", "leverage", "conviction", "adjusted p", "baskets"]
_PAGE_STYLE = STYLE + (
    "th{cursor:pointer}td:nth-child(2),th:nth-child(2){text-align:left}"
    "input{font:inherit;padding:.3rem .6rem;width:100%}"
)
_SCRIPT = """
const table = document.querySelector("#rules table"), body = table.tBodies[0];
const filter = document.querySelector("#filter");
const lines = [...body.rows];
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const line of lines) {
    const text = (line.cells[0].textContent + " " + line.cells[1].textContent).toLowerCase();
    line.hidden = !words.every(word => text.includes(word));
  }
});
const value = cell => {
  const read = parseFloat(cell.textContent.replace("\\u2212", "-").replace(/[<\\s,]/g, ""));
  return Number.isNaN(read) ? (cell.textContent === "infinite" ? Infinity : cell.textContent) : read;
};
[...table.tHead.rows[0].cells].forEach((head, column) => {
  let up = column > 1;
  head.addEventListener("click", () => {
    up = !up;
    const sign = up ? 1 : -1;
    lines.sort((a, b) => {
      const [x, y] = [value(a.cells[column]), value(b.cells[column])];
      return sign * (typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === "number" ? -1 : 1);
    });
    body.append(...lines);
  });
});
"""


@dataclass(frozen=True)
class RulesReport(TableRecord):
    """Rules by falling lift, each as plain data with its measures; `n_tested` were looked at."""

    name: str
    n_baskets: int
    n_tested: int
    parameters: dict[str, Any]
    rules: list[dict[str, Any]]
    sentence: str = ""

    def grid(self, most: int | None = None) -> Grid:
        """A line for each rule."""
        lines = []
        for rule in self.rules[:most]:
            conviction = rule["conviction"]
            lines.append(
                [
                    " and ".join(clean(one, 60) for one in rule["if"]),
                    " and ".join(clean(one, 60) for one in rule["then"]),
                    percent(rule["support"], 2),
                    percent(rule["confidence"], 1),
                    number(rule["lift"], 2),
                    number(rule["leverage"], 4),
                    "infinite" if conviction is None else number(conviction, 2),
                    p_value(rule["adjusted_p_value"]),
                    compact(rule["baskets"]),
                ]
            )
        return Grid(list(_HEADS), lines, left=2)

    def chart(self) -> Chart:
        """Support against confidence."""
        points = Line(
            [rule["support"] for rule in self.rules], [rule["confidence"] for rule in self.rules], style="points"
        )
        return Chart("Support against confidence", "support", "confidence", (points,))

    def to_page(self) -> str:
        """One file of HTML: rules in a table that sorts by a click on its heads and filters by words, and a chart."""
        title = f"Rules of {escape(clean(self.name, 80))}"
        parts = [f"<h1>{title}</h1>", f"<p>{escape(self.sentence)}</p>"]
        if self.rules:
            more = len(self.rules) - MOST_LINES
            parts += [
                "<h2>Support against confidence</h2>",
                self.chart().to_svg(),
                '<h2>Rules</h2><p><label>Items that a rule must name: <input id="filter" type="search"></label></p>',
                f'<div id="rules">{self.grid(MOST_LINES).to_html()}</div>',
                f"<p>And {compact(more)} more rules.</p>" if more > 0 else "",
                f"<script>{_SCRIPT}</script>",
            ]
        digests = [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in (_PAGE_STYLE, _SCRIPT)]
        policy = f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'"
        head = (
            f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
            f"<title>{title}</title><style>{_PAGE_STYLE}</style>"
        )
        return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'


def rules_table(
    table: Table,
    basket: str | None = None,
    item: str | None = None,
    *,
    attributes: Iterable[str] = (),
    min_support: float = 0.01,
    min_confidence: float = 0.5,
    min_lift: float = 1.0,
    max_length: int | None = 5,
    max_p_value: float = 0.05,
    prune_redundant: bool = True,
) -> RulesReport:
    """Rules between the items of a long table with a row for each basket and item, or of a table of true and false.

    `attributes` name columns that say something of the basket, such as its customer; they stand on the left of rules.
    A rule is kept if its p-value, corrected for every rule that was looked at, is at most `max_p_value`.

    >>> import polars as pl
    >>> goods = ["tea", "milk", "tea", "milk", "salt", "salt"]
    >>> frame = pl.DataFrame({"bill": [1, 1, 2, 2, 3, 4] * 20, "good": goods * 20})
    >>> frame = frame.with_columns(bill=pl.col("bill") + 10 * (pl.int_range(pl.len()) // 6))
    >>> found = rules_table(Table.from_frame(frame, name="bills"), "bill", "good", min_support=0.1)
    >>> found.rules[0]["if"], found.rules[0]["then"], found.rules[0]["lift"]
    (['milk'], ['tea'], 2.0)
    """
    who = "rules_table"
    for name in (basket, item, *attributes):
        if name is not None and name not in table.columns:
            raise DataError(
                who,
                f"column '{plain(name, 40)}'",
                "must be a column of the table",
                way_out=f"it has {', '.join(plain(c, 30) for c in table.columns[:10])}",
            )
    if (basket is None) != (item is None):
        raise DataError(
            who, "basket and item", "must be named together", way_out="name both, or none for true and false"
        )
    attributes = list(attributes)
    frame: Any = table.frame
    by_basket: Any = None
    left_out = 0
    if basket is not None and item is not None:
        frame = frame.drop_nulls([basket, item])
        left_out = table.n_rows - frame.height
        by_basket = attributes or None
    elif attributes:
        by_basket = {name: frame[name].to_list() for name in attributes}
        frame = frame.drop(attributes)
    model = AssociationRules(
        min_support=min_support,
        min_confidence=min_confidence,
        min_lift=min_lift,
        max_length=max_length,
        max_p_value=max_p_value,
        prune_redundant=prune_redundant,
    ).fit(frame, basket=basket, item=item, attributes=by_basket)
    measures = {name: values.tolist() for name, values in model.measures_.items()}
    rules = []
    for k, (left, right) in enumerate(zip(model.antecedents_, model.consequents_)):
        rule: dict[str, Any] = {"if": [str(one) for one in left], "then": [str(one) for one in right]}
        for name, values in measures.items():
            rule[name] = values[k] if values[k] == values[k] and abs(values[k]) != float("inf") else None
        rules.append({**rule, "baskets": round(measures["support"][k] * model.n_baskets_)})
    said = (
        f"{count(len(rules), 'rule')} of {compact(model.n_tested_)} looked at, in {count(model.n_baskets_, 'basket')}"
    )
    if rules:
        best = rules[0]
        said += (
            f"; highest lift: {percent(best['confidence'])} of the baskets with {' and '.join(best['if'])} hold "
            f"{' and '.join(best['then'])}, {number(best['lift'], 1)} times as many as of all"
        )
    else:
        said += "; lower the support or the confidence to see more"
    if left_out:
        said += f"; {count(left_out, 'row')} without a basket or an item left out"
    asked = model.get_params()
    shown = ("min_support", "min_confidence", "min_lift", "max_length", "max_p_value", "prune_redundant")
    return RulesReport(
        table.name,
        model.n_baskets_,
        model.n_tested_,
        {name: asked[name] for name in shown},
        rules,
        clean(said, 600) + ".",
    )
