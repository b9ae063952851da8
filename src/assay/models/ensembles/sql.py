"""Sums of trees as SQL, where they are short enough to be read by a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.errors import ParameterError
from ...data.columns import ColumnSchema
from ..rule_sets.sql import identifier, literal, select
from .forest import Forest

MOST_NODES = 20_000


def sums_sql(who: str, forest: Forest, schema: ColumnSchema, base: np.ndarray, scale: float = 1.0) -> list[str]:
    """One expression per output: its base plus `scale` times the sum of its trees, each a CASE."""
    if forest.node_count > MOST_NODES:
        raise ParameterError(
            who,
            "parameter 'n_estimators'",
            f"must be small enough for {MOST_NODES:,} nodes in SQL",
            f"got {forest.node_count:,}",
            "fit fewer or smaller trees, or take to_json",
        )
    outputs, width = base.shape[0], forest.value.shape[1]
    trees: list[list[str]] = [[] for _ in range(outputs)]
    for number in range(forest.n_trees):
        begin, end = int(forest.offsets[number]), int(forest.offsets[number + 1])
        for k in range(width):
            trees[number % (outputs // width) * width + k].append(_tree_sql(forest, schema, begin, end, k))
    found = []
    for start, parts in zip(base.tolist(), trees):
        total = "\n  + ".join(parts) or "0e0"
        total = f"({total})" if scale == 1.0 else f"{double(scale)} * ({total})"
        found.append(f"({double(start)} + {total})" if start else total)
    return found


def double(value: float) -> str:
    """A number with an exponent: without one, databases take it as a decimal number of few digits.

    >>> double(0.25), double(1e-300)
    ('0.25e0', '1e-300')
    """
    text = literal(value)
    return text if "e" in text else f"{text}e0"


def _tree_sql(forest: Forest, schema: ColumnSchema, begin: int, end: int, output: int) -> str:
    # Children come after their parents: written from the last node back, nothing recurses. Databases bound how deep a
    # CASE nests: the child that nests deeper goes on in the same CASE, so that 2^k leaves nest k deep at most.
    arms: list[list[str]] = [[] for _ in range(end - begin)]
    last, depth = [""] * (end - begin), [0] * (end - begin)
    for place in reversed(range(end - begin)):
        node = begin + place
        if forest.feature[node] < 0:
            last[place] = double(float(forest.value[node, output]))
            continue
        left, right = int(forest.children_left[node]), int(forest.children_right[node])
        inner, after = (left, right) if depth[left] <= depth[right] else (right, left)
        first = f"WHEN {_test_sql(forest, schema, node, inner == left)} THEN {_case_sql(arms[inner], last[inner])}"
        arms[place], last[place] = [first, *arms[after]], last[after]
        depth[place] = max(depth[inner] + 1, depth[after])
        arms[inner], arms[after] = [], []
    return _case_sql(arms[0], last[0])


def _case_sql(arms: list[str], last: str) -> str:
    return f"CASE {' '.join(arms)} ELSE {last} END" if arms else last


def _test_sql(forest: Forest, schema: ColumnSchema, node: int, goes_left: bool) -> str:
    """Whether a row goes left, or else whether it goes right."""
    column = int(forest.feature[node])
    name, lost = identifier(schema.names[column]), bool(forest.missing_go_to_left[node]) == goes_left
    known = schema.categories[column]
    if forest.category_offset[node] < 0 or known is None:
        test = f"{name} {'<=' if goes_left else '>'} {double(float(forest.threshold[node]))}"
        return f"({test} OR {name} IS NULL)" if lost else test
    goes = set(forest.categories_left(node))
    # Unknown categories go where missing cells go.
    listed = [literal(one) for c, one in enumerate(known.tolist()) if ((c in goes) == goes_left) != lost]
    if not listed:
        return "TRUE" if lost else "FALSE"
    inside = f"{name} {'NOT IN' if lost else 'IN'} ({', '.join(listed)})"
    return f"({inside} OR {name} IS NULL)" if lost else inside


def logistic_sql(score: str) -> str:
    """The logistic function of an expression.

    >>> logistic_sql("x")
    '1e0 / (1e0 + EXP(-(x)))'
    """
    return f"1e0 / (1e0 + EXP(-({score})))"


def select_sql(columns: Sequence[str], name: str, labels: Sequence[Any], table: str | Sequence[str] | None) -> str:
    """A SELECT (or expressions alone) with one column `name`, or one for each label."""
    names = [name] if len(columns) == 1 else [f"{name}_{label}" for label in labels]
    return select(columns, names, table)
