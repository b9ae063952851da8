"""A small language for formulas over columns: numbers in, numbers out, nothing else can be said in it.

    expression  := or
    or          := and ("or" and)*              and := not ("and" not)*          not := "not" not | comparison
    comparison  := sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)?
    sum         := product (("+" | "-") product)*
    product     := sign (("*" | "/") sign)*
    sign        := "-" sign | "+" sign | power
    power       := atom ("**" | "^") sign | atom
    atom        := number | 'text' | name | `any name` | function "(" expression ("," expression)* ")"
                 | "(" expression ")"

A name is a column; between backquotes it may hold any characters. Comparisons, `and`, `or`, `not` give 1 and 0. Text
may only be compared with == and !=. A missing cell makes the result missing, and so does what does not exist: division
by zero, the logarithm of a negative number, an overflow. The tree is walked over whole columns; no Python is compiled
or called by name, and length and depth are limited.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..base.errors import ParameterError, plain

MAX_LENGTH = 10_000
MAX_DEPTH = 40

Cells = np.ndarray
"""A column: float64 with NaN for missing, or objects (text, None for missing)."""


def _where(condition: Cells, then: Cells, other: Cells) -> Cells:
    chosen = np.where(condition != 0, then, other)
    return np.where(np.isnan(condition), np.nan, chosen)


FUNCTIONS: dict[str, tuple[tuple[int, ...], Callable[..., Any]]] = {
    "sin": ((1,), np.sin),
    "cos": ((1,), np.cos),
    "tan": ((1,), np.tan),
    "arctan": ((1,), np.arctan),
    "tanh": ((1,), np.tanh),
    "exp": ((1,), np.exp),
    "log": ((1,), np.log),
    "log2": ((1,), np.log2),
    "log10": ((1,), np.log10),
    "log1p": ((1,), np.log1p),
    "sqrt": ((1,), np.sqrt),
    "square": ((1,), np.square),
    "abs": ((1,), np.abs),
    "sign": ((1,), np.sign),
    "floor": ((1,), np.floor),
    "ceil": ((1,), np.ceil),
    "round": ((1,), np.round),
    "min": ((2, 3, 4, 5), lambda *cells: reduce(np.minimum, cells)),
    "max": ((2, 3, 4, 5), lambda *cells: reduce(np.maximum, cells)),
    "clip": ((3,), np.clip),
    "where": ((3,), _where),
    "is_missing": ((1,), lambda cells: _missing(cells).astype(np.float64)),
    "coalesce": ((2,), lambda cells, other: np.where(np.isnan(cells), other, cells)),
}
"""Functions by name: how many arguments they take, and what they do to whole columns."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*(?:\.\w+)*)|`(?P<quoted>[^`]*)`"
    r"|'(?P<text>[^']*)'|\"(?P<double>[^\"]*)\"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/^()<>,]))"
)
_WORDS = ("and", "or", "not")


@dataclass(frozen=True)
class Node:
    """A node of the expression: what it is (number, text, column, call, an operator), its value and its parts."""

    kind: str
    value: Any = None
    parts: tuple[Node, ...] = ()

    def columns(self) -> list[str]:
        """Names of the columns it reads, in order of appearance."""
        own = [self.value] if self.kind == "column" else []
        below = [name for part in self.parts for name in part.columns()]
        return list(dict.fromkeys(own + below))


class _Reader:
    """Reads one expression from left to right."""

    def __init__(self, who: str, source: str):
        self.who, self.source = who, source
        if len(source) > MAX_LENGTH:
            raise ParameterError(
                who, "a formula", f"must be at most {MAX_LENGTH} characters long", f"got {len(source)}", "split it"
            )
        self.tokens: list[tuple[str, str, int]] = []
        at = 0
        end = len(source.rstrip())
        while at < end:
            found = _TOKEN.match(source, at)
            if found is None:
                start = at + len(source[at:]) - len(source[at:].lstrip())
                raise self.error(f"has {source[start]!r} at character {start + 1}, which means nothing there")
            kind = str(found.lastgroup)
            self.tokens.append((kind, found.group(kind), found.start(kind)))
            at = found.end()
        self.position = self.depth = 0

    def error(self, rule: str) -> ParameterError:
        return ParameterError(
            self.who, f"formula '{plain(self.source, 80)}'", rule, way_out="see assay.prepare.Formula"
        )

    def _peek(self) -> tuple[str, str]:
        if self.position >= len(self.tokens):
            return "end", ""
        kind, text, _ = self.tokens[self.position]
        return ("word", text) if kind == "name" and text in _WORDS else (kind, text)

    def _take(self, *texts: str) -> str | None:
        kind, text = self._peek()
        if kind in ("sign", "word") and text in texts:
            self.position += 1
            return text
        return None

    def read(self) -> Node:
        node = self._or()
        kind, text = self._peek()
        if kind != "end":
            at = self.tokens[self.position][2]
            raise self.error(f"has '{plain(text, 20)}' at character {at + 1}, where it should end")
        return node

    def _or(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"is nested deeper than {MAX_DEPTH} levels")
        node = self._chain(self._and, "or")
        self.depth -= 1
        return node

    def _and(self) -> Node:
        return self._chain(self._not, "and")

    def _chain(self, part: Callable[[], Node], *signs: str) -> Node:
        """Parts joined by operators of one rank: one node for all of them, so that long sums are not deep."""
        parts, taken = [part()], []
        while sign := self._take(*signs):
            taken.append(sign)
            parts.append(part())
        return Node("chain", tuple(taken), tuple(parts)) if taken else parts[0]

    def _not(self) -> Node:
        flips = 0
        while self._take("not"):
            flips += 1
        node = self._comparison()
        for _ in range(flips and 2 - flips % 2):
            node = Node("not", None, (node,))
        return node

    def _comparison(self) -> Node:
        node = self._sum()
        sign = self._take("<", "<=", ">", ">=", "==", "!=")
        if sign:
            node = Node(sign, None, (node, self._sum()))
        for part in node.parts if sign else ():
            if part.kind == "text" and sign not in ("==", "!="):
                raise self.error(f"compares text with {sign}; only == and != are possible")
        return node

    def _sum(self) -> Node:
        return self._chain(self._product, "+", "-")

    def _product(self) -> Node:
        return self._chain(self._sign, "*", "/")

    def _sign(self) -> Node:
        negative = False
        while sign := self._take("-", "+"):
            negative ^= sign == "-"
        node = self._power()
        return Node("negative", None, (node,)) if negative else node

    def _power(self) -> Node:
        node = self._atom()
        if self._take("**", "^"):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise self.error(f"is nested deeper than {MAX_DEPTH} levels")
            node = Node("**", None, (node, self._sign()))
            self.depth -= 1
        return node

    def _atom(self) -> Node:
        kind, text = self._peek()
        if kind in ("number", "text", "double", "quoted", "name"):
            self.position += 1
        if kind == "number":
            number = float(text)
            if not math.isfinite(number):
                raise self.error(f"has the number {plain(text, 20)}, which is too large")
            return Node("number", number)
        if kind in ("text", "double"):
            return Node("text", text)
        if kind == "quoted":
            return Node("column", text)
        if kind == "name":
            return self._call(text) if self._take("(") else Node("column", text)
        if self._take("("):
            node = self._or()
            self._close("(")
            return node
        raise self.error("ends too early" if kind == "end" else f"has '{plain(text, 20)}' where a value should stand")

    def _call(self, name: str) -> Node:
        if name not in FUNCTIONS:
            known = ", ".join(FUNCTIONS)
            raise self.error(f"calls '{plain(name, 30)}', which is not one of {known}")
        arguments = [self._or()]
        while self._take(","):
            arguments.append(self._or())
        self._close(f"{name}(")
        counts = FUNCTIONS[name][0]
        if len(arguments) not in counts:
            wanted = " or ".join(map(str, counts)) if len(counts) < 3 else f"{counts[0]} to {counts[-1]}"
            raise self.error(f"gives {name} {len(arguments)} arguments; it takes {wanted}")
        return Node("call", name, tuple(arguments))

    def _close(self, opened: str) -> None:
        if not self._take(")"):
            raise self.error(f"does not close '{opened}'")


def parse(who: str, source: str) -> Node:
    """The tree of an expression; a sentence says where it is wrong.

    >>> parse("demo", "(gain - cost) / cost").columns()
    ['gain', 'cost']
    """
    node = _Reader(who, source).read()
    _check_text(who, source, node, allowed=False)
    return node


def _check_text(who: str, source: str, node: Node, *, allowed: bool) -> None:
    if node.kind == "text" and not allowed:
        raise ParameterError(
            who, f"formula '{plain(source, 80)}'", "has text where a number should stand", way_out="compare it with =="
        )
    for part in node.parts:
        _check_text(who, source, part, allowed=node.kind in ("==", "!="))


def evaluate(node: Node, columns: Mapping[str, Cells], n_rows: int) -> Cells:
    """The expression over whole columns, float64 with NaN where it does not exist.

    >>> evaluate(parse("demo", "x / y"), {"x": np.array([1.0, 2.0]), "y": np.array([4.0, 0.0])}, 2)
    array([0.25,  nan])
    """
    with np.errstate(all="ignore"):
        result = np.broadcast_to(_value(node, columns, n_rows), (n_rows,)).astype(np.float64)
    return np.where(np.isfinite(result), result, np.nan)


def _value(node: Node, columns: Mapping[str, Cells], n_rows: int) -> Any:
    if node.kind in ("number", "text"):
        return np.asarray(node.value, dtype=None if node.kind == "number" else object)
    if node.kind == "column":
        return columns[node.value]
    parts = [_value(part, columns, n_rows) for part in node.parts]
    if node.kind == "call":
        return _finite(FUNCTIONS[node.value][1](*parts))
    if node.kind == "chain":
        result = parts[0]
        for sign, part in zip(node.value, parts[1:]):
            result = _finite(_OPERATORS[sign](result, part))
        return result
    if node.kind in ("==", "!="):
        return _equal(parts[0], parts[1], node.kind)
    return _finite(_OPERATORS[node.kind](*parts))


def _finite(cells: Cells) -> Cells:
    return np.where(np.isfinite(cells), cells, np.nan)


def _missing(cells: Cells) -> np.ndarray:
    if cells.dtype == object:
        return np.array([value is None for value in np.atleast_1d(cells)])
    return np.isnan(cells)


def _equal(left: Cells, right: Cells, sign: str) -> Cells:
    gone = _missing(left) | _missing(right)
    equal = np.asarray(left == right, dtype=bool)
    return np.where(gone, np.nan, (equal if sign == "==" else ~equal).astype(np.float64))


def _compared(compare: Callable[[Cells, Cells], Any]) -> Callable[[Cells, Cells], Cells]:
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, compare(a, b))


_OPERATORS: dict[str, Callable[..., Cells]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, np.power(a, b)),  # NumPy: nan ** 0 == 1 ** nan == 1
    "negative": np.negative,
    "<": _compared(np.less),
    "<=": _compared(np.less_equal),
    ">": _compared(np.greater),
    ">=": _compared(np.greater_equal),
    "and": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, (a != 0) & (b != 0)),
    "or": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, (a != 0) | (b != 0)),
    "not": lambda a: np.where(np.isnan(a), np.nan, a == 0),
}
