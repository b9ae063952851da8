"""The profile of a table: how its columns were distributed, in aggregates, for those who meet later rows.

A profile travels with a model. It says which cells fit a column, gives rows to try the model with, and is what later
rows are measured against: a numeric column by the shares of later cells between its deciles, a column of labels by the
shares of its categories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from .roles import Role

MOST_CATEGORIES = 1000
"""Categories that are kept by name; the rarer ones share the rest."""
_DECILES = [k / 10 for k in range(11)]


def profile_table(frame: pl.DataFrame, roles: Mapping[str, Role]) -> dict[str, dict[str, Any]]:
    """What is known of each column, as plain data.

    Each column has `kind` ("number", "boolean", "label", "date" or "text"), `role`, `whole` (whether its numbers are
    whole), `missing` (the share of missing cells) and `values`, some cells that fit it; numbers and dates have
    `edges` (deciles) and `bins` (the shares between them), labels and booleans `shares` (by category, the commonest
    first).

    >>> import polars as pl
    >>> from assay.data import infer_roles
    >>> frame = pl.DataFrame({"age": [20.0, 30.0, None, 60.0], "plan": ["a", "b", "a", "a"]})
    >>> found = profile_table(frame, infer_roles(frame))
    >>> found["age"]["kind"], found["age"]["missing"], found["plan"]["shares"]
    ('number', 0.25, {'a': 0.75, 'b': 0.25})
    """
    return {name: _column(frame[name], roles[name]) for name in frame.columns}


def _column(series: pl.Series, role: Role) -> dict[str, Any]:
    kind = _kind(series, role)
    about: dict[str, Any] = {"kind": kind, "role": role.role, "missing": series.null_count() / max(1, series.len())}
    known = series.drop_nulls()
    if kind in ("number", "date"):
        about["whole"] = series.dtype.is_integer()
        edges = [known.quantile(at, interpolation="nearest") for at in _DECILES] if known.len() else []
        about["edges"] = edges
        about["bins"] = _bins(known, edges)
        about["values"] = list(dict.fromkeys(_plain(edge, about["whole"]) for edge in edges))
        return about
    if kind == "text":
        return {**about, "values": ["", "some text"]}
    counts = known.value_counts(sort=True)
    labels, sizes = counts.columns
    total = max(1, known.len())
    ordered = sorted(zip(counts[labels].to_list(), counts[sizes].to_list()), key=lambda pair: (-pair[1], str(pair[0])))
    kept = ordered[:MOST_CATEGORIES]
    about["shares"] = {label: size / total for label, size in kept}
    about["more"] = max(0, len(ordered) - len(kept))
    return {**about, "values": [label for label, _ in kept[:20]]}


def _bins(known: pl.Series, edges: list[Any]) -> list[float]:
    """The share of cells up to each inner edge and above the last; edges that coincide share one bin."""
    if not edges:
        return []
    counts = [int((known <= edge).sum()) for edge in edges[1:-1]] + [known.len()]
    return [(after - before) / known.len() for before, after in zip([0, *counts], counts)]


def _plain(edge: Any, whole: bool) -> Any:
    return int(edge) if whole else edge


def _kind(series: pl.Series, role: Role) -> str:
    if series.dtype.is_temporal():
        return "date"
    if series.dtype == pl.Boolean:
        return "boolean"
    if series.dtype.is_numeric():
        return "number"
    return "text" if role.role == "text" else "label"
