"""The walks of subset selection: forward, backward and floating, over anything that scores single steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..base import Trace


class Scores(Protocol):
    """A subset that can grow and shrink and knows its loss; see `subset_scores`."""

    chosen: list[int]
    slack: float

    def loss(self) -> float: ...
    def additions(self, among: np.ndarray) -> np.ndarray: ...
    def removals(self, among: np.ndarray) -> np.ndarray: ...
    def add(self, column: int) -> None: ...
    def remove(self, column: int) -> None: ...
    def redundant(self) -> list[int]: ...
    def row(self) -> dict[str, float]: ...


@dataclass
class Path:
    """The best subset met of each size: its columns in order of entry, its loss, and its row of the table."""

    columns: dict[int, list[int]] = field(default_factory=dict)
    loss: dict[int, float] = field(default_factory=dict)
    rows: dict[int, dict[str, float]] = field(default_factory=dict)
    end: int = 0
    """The size at which the walk stopped."""
    left: list[int] = field(default_factory=list)
    """The columns in order of leaving, of a walk backward."""

    @classmethod
    def of(cls, scores: Scores, loss: float, left: list[int]) -> Path:
        """The subset from which a walk begins."""
        size = len(scores.chosen)
        return cls({size: list(scores.chosen)}, {size: loss}, {size: scores.row()}, left=left)

    def take(self, scores: Scores, trace: Trace, what: str, column: int, losses: np.ndarray) -> float:
        """Add or remove a column and keep the subset if it is the best of its size so far; returns its loss."""
        (scores.add if what == "add" else scores.remove)(column)
        loss, size = float(losses[column]), len(scores.chosen)
        if size not in self.loss or loss < self.loss[size]:
            self.columns[size], self.loss[size], self.rows[size] = list(scores.chosen), loss, scores.row()
        trace.record(what, column=column, loss=_number(loss), **_listed(trace, losses))
        return loss

    def among(self, sizes: list[int]) -> Path:
        """The part of the path with these sizes."""
        return Path(
            {m: self.columns[m] for m in sizes},
            {m: self.loss[m] for m in sizes},
            {m: self.rows[m] for m in sizes},
            self.end,
            self.left,
        )

    def best_size(self, least: int) -> int:
        """The size of smallest loss, the smaller of two that tie; the largest size if all are below `least`."""
        sizes = sorted(size for size in self.loss if size >= least) or [max(self.loss)]
        return min(sizes, key=lambda size: (self.loss[size], size))


@dataclass(frozen=True)
class Rules:
    """When a walk ends and what it may touch."""

    always: np.ndarray
    """Columns that are never removed."""
    allowed: np.ndarray
    """Columns that may be added or removed."""
    least: int
    most: int
    stops: bool
    """Whether the walk ends when a column is no longer worth more than `tol`; else it goes on to the last size."""
    tol: float
    relative: bool
    """Whether `tol` is a share of the present loss."""
    floating: bool

    def worth(self, loss: float) -> float:
        """What a column must bring to be worth having."""
        return self.tol * abs(loss) if self.relative and np.isfinite(loss) else self.tol


def forward(scores: Scores, rules: Rules, trace: Trace) -> Path:
    """From the columns of `always`, add the best column until the rules end it."""
    for fixed in np.flatnonzero(rules.always).tolist():
        scores.add(fixed)
    loss = scores.loss()
    path = Path.of(scores, loss, [])
    trace.record("start", columns=list(scores.chosen), loss=_number(loss))
    while len(scores.chosen) < rules.most:
        losses = scores.additions(rules.allowed)
        column = _smallest(losses, scores.slack)
        if column is None:
            trace.record("stop", reason="every other column depends on the chosen ones", loss=_number(loss))
            break
        gain = loss - losses[column]
        if rules.stops and len(scores.chosen) >= rules.least and not gain > rules.worth(loss) + scores.slack:
            trace.record(
                "stop", reason="no column improves the criterion", loss=_number(loss), **_listed(trace, losses)
            )
            break
        loss = path.take(scores, trace, "add", column, losses)
        while rules.floating and len(scores.chosen) > max(int(rules.always.sum()) + 1, 1):
            movable = rules.allowed.copy()
            movable[column] = False
            losses = scores.removals(movable)
            weakest = _smallest(losses, scores.slack)
            if weakest is None or not losses[weakest] < path.loss[len(scores.chosen) - 1] - scores.slack:
                break
            loss = path.take(scores, trace, "remove", weakest, losses)
    path.end = len(scores.chosen)
    return path


def backward(scores: Scores, rules: Rules, trace: Trace) -> Path:
    """From all columns, remove the weakest until the rules end it."""
    left = []
    for fixed in [*np.flatnonzero(rules.always).tolist(), *np.flatnonzero(rules.allowed & ~rules.always).tolist()]:
        scores.add(fixed)
    trace.record("start", columns=list(scores.chosen), loss=_number(scores.loss()))
    for spare in scores.redundant():
        if not rules.always[spare] and len(scores.chosen) > rules.least:
            scores.remove(spare)
            left.append(spare)
            trace.record("remove", column=spare, reason="depends on other columns", loss=_number(scores.loss()))
    loss = scores.loss()
    path = Path.of(scores, loss, left)
    while len(scores.chosen) > rules.least:
        losses = scores.removals(rules.allowed)
        column = _smallest(losses, scores.slack)
        if column is None:
            break
        cost = losses[column] - loss
        within = len(scores.chosen) <= rules.most
        if rules.stops and within and not cost <= rules.worth(loss) + scores.slack:
            trace.record("stop", reason="every column is worth having", loss=_number(loss), **_listed(trace, losses))
            break
        loss = path.take(scores, trace, "remove", column, losses)
        left.append(column)
        while rules.floating:
            movable = rules.allowed.copy()
            movable[column] = False
            losses = scores.additions(movable)
            missed = _smallest(losses, scores.slack)
            known = path.loss.get(len(scores.chosen) + 1, -np.inf)
            if missed is None or not losses[missed] < known - scores.slack:
                break
            loss = path.take(scores, trace, "add", missed, losses)
            left.remove(missed)
    path.end = len(scores.chosen)
    return path


def _smallest(losses: np.ndarray, slack: float) -> int | None:
    """The column of smallest loss, the first of those that differ by rounding only."""
    if np.isnan(losses).all():
        return None
    least = np.nanmin(losses)
    return int(np.argmax(losses <= least + slack)) if np.isfinite(least) else int(np.nanargmin(losses))


def _listed(trace: Trace, losses: np.ndarray) -> dict[str, Any]:
    """The candidates of a step with their losses, if anybody asked."""
    if not trace.on:
        return {}
    candidates = np.flatnonzero(~np.isnan(losses))
    return {"candidates": candidates.tolist(), "losses": [_number(v) for v in losses[candidates]]}


def _number(loss: float) -> float | None:
    """A loss that JSON can hold."""
    return float(loss) if np.isfinite(loss) else None
