"""What results have in common: plain data for programs, a sentence for people, and tables in five forms.

A result is a dataclass on `Record`. One that is a table says so by `grid()`: the same cells then give its text, its
HTML for notebooks, Markdown and LaTeX.

>>> grid = Grid(["learner", "accuracy"], [["OneR", "0.72"], ["CART", "0.81"]])
>>> print(grid.to_text())
learner  accuracy
OneR         0.72
CART         0.81
>>> print(grid.to_markdown())
| learner | accuracy |
| --- | ---: |
| OneR | 0.72 |
| CART | 0.81 |
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from html import escape
from typing import Any


def jsonable(value: Any, digits: int | None = None) -> Any:
    """Plain data for JSON: arrays and tuples as lists, NumPy scalars as Python's, NaN and infinities as None, numbers
    with so many `digits`, or with all.

    >>> jsonable({"a": (1.0, float("nan")), 2: {"b"}}), jsonable([2 / 3, 7], 3)
    ({'a': [1.0, None], '2': ['b']}, [0.667, 7])
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return float(value) if digits is None else float(f"{value:.{digits}g}")
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(k): jsonable(v, digits) for k, v in value.items()}
    if hasattr(value, "tolist"):
        return jsonable(value.tolist(), digits)
    if isinstance(value, (set, frozenset)):
        return sorted(jsonable(v, digits) for v in value)
    if isinstance(value, Iterable):
        return [jsonable(v, digits) for v in value]
    return str(value)


@dataclass(frozen=True)
class Grid:
    """A table of texts: headings, rows of cells, a caption above, notes below; the first `left` columns are words."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    notes: Sequence[str] = ()
    left: int = 1

    def to_text(self) -> str:
        """Columns side by side, words to the left and numbers to the right."""
        table = [list(self.heads), *map(list, self.rows)]
        widths = [max(len(line[k]) for line in table) for k in range(len(self.heads))]
        lines = [
            "  ".join(c.ljust(w) if k < self.left else c.rjust(w) for k, (c, w) in enumerate(zip(line, widths)))
            for line in table
        ]
        lines = [line.rstrip() for line in lines]
        return "\n".join([*([self.caption] if self.caption else []), *lines, *self.notes])

    def to_html(self) -> str:
        """A table element with everything escaped."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.heads)
        lines = ["".join(self._cell(k, cell) for k, cell in enumerate(row)) for row in self.rows]
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        top = f"<thead><tr>{head}</tr></thead>" if any(self.heads) else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table>{caption}{top}<tbody>{body}</tbody></table>{notes}"

    def _cell(self, place: int, cell: str) -> str:
        return f"<th>{escape(cell)}</th>" if place == 0 < self.left else f"<td>{escape(cell)}</td>"

    def to_markdown(self) -> str:
        """A table of Markdown."""

        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

        rule = "| " + " | ".join("---" if k < self.left else "---:" for k in range(len(self.heads))) + " |"
        return "\n".join([line(self.heads), rule, *map(line, self.rows)])

    def to_latex(self) -> str:
        """A tabular environment with the rules of the booktabs package.

        >>> print(Grid(["column", "share"], [["x_1", "5 %"]]).to_latex())
        \\begin{tabular}{lr}
        \\toprule
        column & share \\\\
        \\midrule
        x\\_1 & 5 \\% \\\\
        \\bottomrule
        \\end{tabular}
        """

        def line(cells: Sequence[str]) -> str:
            return " & ".join(map(_latex, cells)) + r" \\"

        kinds = "".join("l" if k < self.left else "r" for k in range(len(self.heads)))
        top = rf"\begin{{tabular}}{{{kinds}}}"
        lines = [top, r"\toprule", line(self.heads), r"\midrule", *map(line, self.rows), r"\bottomrule"]
        return "\n".join([*lines, r"\end{tabular}"])


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "²": "$^2$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def _latex(cell: str) -> str:
    return "".join(_LATEX.get(ch, f"\\{ch}" if ch in "&%$#_{}" else ch) for ch in cell)


class Record:
    """Base of results: `str` gives the sentence, `to_dict` plain data, a notebook the table and the sentence."""

    sentence: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, ready for JSON; infinite and undefined numbers become None."""
        assert is_dataclass(self)
        return {f.name: jsonable(getattr(self, f.name)) for f in fields(self) if not f.name.startswith("_")}

    def grid(self) -> Grid:
        """The result as a table of texts; by default two columns of facts."""
        return Grid(["", ""], self._facts(), left=2)

    def _facts(self) -> list[tuple[str, str]]:
        """Name and value of what a reader looks for first."""
        return []

    def to_text(self) -> str:
        """The table as text."""
        return self.grid().to_text()

    def to_markdown(self) -> str:
        """The table as Markdown."""
        return self.grid().to_markdown()

    def to_latex(self) -> str:
        """The table as LaTeX (booktabs)."""
        return self.grid().to_latex()

    def to_html(self) -> str:
        """The table, with the sentence below, as HTML."""
        said = f"<p>{escape(self.sentence)}</p>" if self.sentence else ""
        return self.grid().to_html() + said

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.sentence or self.to_text()


class TableRecord(Record):
    """Base of results that are tables before they are sentences: `str` gives the table."""

    def __str__(self) -> str:
        return self.to_text()
