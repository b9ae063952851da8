"""Whether the texts of a stored run are what was put there: JSON of the shape that plans and results have.

Units of work carry a digest; the texts of runs have none, and are read back here before anything is told from them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

Span = tuple[float | None, float | None] | None


class _PlanData(msgspec.Struct):
    source: str
    target: str
    fingerprint: str


class _Name(msgspec.Struct):
    name: str


class _PlanText(msgspec.Struct):
    """What is told of every plan; the rest of it must be tables and lists of them."""

    schema: str
    metrics: list[str]
    data: _PlanData
    design: _Name
    learners: list[dict[str, Any]]
    prepare: list[dict[str, Any]] | None = None
    test: dict[str, Any] | None = None
    limits: dict[str, Any] | None = None


class _ResultsData(msgspec.Struct):
    name: str
    target: str
    fingerprint: str


class _Metric(msgspec.Struct):
    name: str
    title: str
    greater_is_better: bool
    reason: str | None = None


class _Words(msgspec.Struct):
    words: str


class _Row(msgspec.Struct):
    id: str
    title: str
    mean: float | None
    metrics: dict[str, float | None]
    interval: Span
    group: str | None
    verdict: str | None
    difference: float | None
    difference_interval: Span
    error: str | None
    search: _Words | None = None


class _Comparison(msgspec.Struct):
    sentence: str | None = None
    comparisons: str | None = None
    alpha: float | None = None


class _Recommendation(msgspec.Struct):
    title: str
    reason: str


class _Ledger(msgspec.Struct):
    plans: int
    words: str


class _ResultsText(msgspec.Struct):
    """What is told of all results."""

    schema: str
    data: _ResultsData
    metric: _Metric
    learners: list[_Row]
    comparison: _Comparison | None
    recommendation: _Recommendation | None
    not_yet: str | None = None
    cautions: list[str] | None = None
    ledger: _Ledger | None = None


def damaged_texts(row: Mapping[str, Any], results: str | None = None) -> list[str]:
    """What of a row of a store's runs, and of its results if they are given, cannot be what was put there."""
    found = []
    plan = _read(row["plan"], _PlanText)
    if plan is None or plan.data.fingerprint != row["data"]:
        found.append("plan")
    if _read(row["versions"], dict[str, str]) is None:
        found.append("versions")
    if not (_is_time(row["started"]) and (row["finished"] is None or _is_time(row["finished"]))):
        found.append("times")
    if not (row["fingerprint"] and row["code"]):
        found.append("fingerprints")
    if results is not None:
        told = _read(results, _ResultsText)
        if told is None or told.data.fingerprint != row["data"]:
            found.append("results")
    return found


def _read(text: str, shape: Any) -> Any:
    """A text as what it should be; None where it is something else."""
    try:
        return msgspec.convert(json.loads(text), shape)
    except (ValueError, RecursionError):
        return None


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
