"""Shattering by exhaustive search, and the version space of rectangles.

A class of hypotheses shatters a set of points if for every way of labelling them some hypothesis gives exactly these
labels. For a few points every labelling is tried; whether one is possible is settled exactly for intervals,
rectangles, stumps and polygons, and by a linear program for half-spaces and balls.

>>> square = [[0, 0], [0, 1], [1, 0], [1, 1]]
>>> shatters(square, "half-space").shattered
False
>>> diamond = [[0, 1], [1, 0], [0, -1], [-1, 0]]
>>> shatters(diamond, "rectangle").shattered
True
"""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..base.errors import DataError, ParameterError, UsageError, plain
from .records import Record

Realises = Callable[[np.ndarray, np.ndarray], bool]
MOST_POINTS = 20
# A margin below this, on points scaled to the unit box, is rounding of the linear program.
_MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class Shattering(Record):
    """What `shatters` found; true in a condition if the points are shattered.

    `labellings` counts those that some hypothesis gives (of 2^n; None if the search stopped at the first
    impossible one), `impossible` is one that none gives (None if there is none).
    """

    hypotheses: str
    n_points: int
    shattered: bool
    labellings: int | None
    impossible: np.ndarray | None
    sentence: str

    def __bool__(self) -> bool:
        return self.shattered

    def _facts(self) -> list[tuple[str, str]]:
        return [("class", self.hypotheses), ("points", str(self.n_points)), ("shattered", str(self.shattered))]


def shatters(points: Any, hypotheses: str | Realises, *, n_intervals: int = 1, count: bool = False) -> Shattering:
    """Whether a class of hypotheses shatters these points (one row each, at most 20).

    `hypotheses` is "ray", "interval", "union of intervals" (with `n_intervals`), "rectangle", "half-space",
    "half-space through the origin", "ball", "decision stump" or "convex polygon", or a function of (points, labels)
    that says whether some hypothesis gives these labels (True for inside). With `count` every labelling is tried,
    which gives the growth function at these points.

    >>> result = shatters([[0.0], [1.0], [2.0]], "interval")
    >>> print(result)
    The class 'interval' does not shatter these 3 points: no hypothesis labels them 1, 0, 1.
    >>> shatters([[0.0], [1.0], [2.0]], "interval", count=True).labellings
    7
    """
    rows = _read_points("shatters", points)
    name, realises = _realiser("shatters", hypotheses, rows, n_intervals)
    n = rows.shape[0]
    if n > MOST_POINTS:
        raise DataError(
            "shatters", "points", f"must be at most {MOST_POINTS}", f"got {n}", "each more doubles the labellings"
        )
    possible, impossible = 0, None
    for labels in _labellings(n):
        if realises(rows, labels):
            possible += 1
        elif impossible is None:
            impossible = labels.copy()
            if not count:
                break
    shattered = impossible is None
    text = (
        f"The class '{name}' shatters these {n} points: all {2**n} labellings are possible, so that its VC dimension "
        f"is at least {n}."
        if impossible is None
        else f"The class '{name}' does not shatter these {n} points: no hypothesis labels them "
        f"{', '.join(str(int(label)) for label in impossible)}."
    )
    return Shattering(name, n, shattered, possible if shattered or count else None, impossible, text)


def largest_shattered(points: Any, hypotheses: str | Realises, *, n_intervals: int = 1) -> np.ndarray:
    """The rows of a largest subset of the points that the class shatters (the first one, in order of rows).

    Every subset of a shattered set is shattered, so sets of k + 1 points are grown from those of k, as frequent
    itemsets are. The size of the answer is a lower bound on the VC dimension.

    >>> rng = np.random.default_rng(0)
    >>> largest_shattered(rng.normal(size=(8, 2)), "half-space").size
    3
    """
    rows = _read_points("largest_shattered", points)
    _, realises = _realiser("largest_shattered", hypotheses, rows, n_intervals)
    n = rows.shape[0]

    def is_shattered(chosen: tuple[int, ...]) -> bool:
        part = rows[list(chosen)]
        return all(realises(part, labels) for labels in _labellings(len(chosen)))

    best: tuple[int, ...] = ()
    level: list[tuple[int, ...]] = [(i,) for i in range(n) if is_shattered((i,))]
    while level:
        best = level[0]
        known = set(level)
        joined = ((*a, b[-1]) for a, b in itertools.combinations(level, 2) if a[:-1] == b[:-1])
        level = [
            grown
            for grown in joined
            if all(part in known for part in itertools.combinations(grown, len(grown) - 1)) and is_shattered(grown)
        ]
    return np.array(best, dtype=np.int64)


def _labellings(n: int) -> Any:
    bits = np.arange(n)
    # Alternating labels are the hardest for most classes: mixing the bits finds an impossible one early.
    alternating = int(sum(1 << i for i in range(0, n, 2)))
    for code in range(2**n):
        yield ((code ^ alternating) >> bits & 1).astype(bool)


def _read_points(who: str, points: Any) -> np.ndarray:
    try:
        rows = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(who, "points", "must be numeric, one row each") from None
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] == 0:
        raise DataError(who, "points", "must be a matrix with one row per point", f"got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise DataError(who, "points", "must be finite")
    return rows


def _realiser(who: str, hypotheses: str | Realises, rows: np.ndarray, n_intervals: int) -> tuple[str, Realises]:
    if callable(hypotheses):
        return getattr(hypotheses, "__name__", "given"), hypotheses
    text = str(hypotheses).strip().lower()
    name = {"line": "half-space", "box": "rectangle", "circle": "ball", "stump": "decision stump"}.get(text, text)
    if name not in _CLASSES:
        near = difflib.get_close_matches(name, _CLASSES, n=2, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(_CLASSES)}"
        raise ParameterError(who, f"class '{plain(hypotheses)}'", "cannot be searched", way_out=hint)
    if name in ("ray", "interval", "union of intervals") and rows.shape[1] != 1:
        raise DataError(who, "points", f"must have one column for the class '{name}'", f"got {rows.shape[1]}")
    if name == "union of intervals":
        if not isinstance(n_intervals, (int, np.integer)) or n_intervals < 1:
            raise ParameterError(who, "parameter 'n_intervals'", "must be an integer >= 1", f"got {n_intervals!r}")
        return f"union of {n_intervals} intervals", partial(_union_of_intervals, most=int(n_intervals))
    return name, _CLASSES[name]


# -- what each class can label ------------------------------------------------------------------------------------
def _ray(points: np.ndarray, labels: np.ndarray) -> bool:
    inside, outside = points[labels, 0], points[~labels, 0]
    return inside.size == 0 or outside.size == 0 or bool(inside.min() > outside.max())


def _union_of_intervals(points: np.ndarray, labels: np.ndarray, most: int = 1) -> bool:
    order = np.lexsort((labels, points[:, 0]))
    x, ordered = points[order, 0], labels[order]
    if ((x[1:] == x[:-1]) & (ordered[1:] != ordered[:-1])).any():
        return False
    return int(np.count_nonzero(np.diff(ordered.astype(int), prepend=0) == 1)) <= most


def _rectangle(points: np.ndarray, labels: np.ndarray) -> bool:
    if not labels.any():
        return True
    inside = points[labels]
    outside = points[~labels]
    return not ((outside >= inside.min(axis=0)) & (outside <= inside.max(axis=0))).all(axis=1).any()


def _decision_stump(points: np.ndarray, labels: np.ndarray) -> bool:
    if labels.all() or not labels.any():
        return True
    low, high = points[labels], points[~labels]
    return bool(((low.max(axis=0) < high.min(axis=0)) | (high.max(axis=0) < low.min(axis=0))).any())


def _half_space(points: np.ndarray, labels: np.ndarray) -> bool:
    return _separable(np.column_stack([_scaled(points), np.ones(points.shape[0])]), labels)


def _half_space_through_origin(points: np.ndarray, labels: np.ndarray) -> bool:
    return _separable(points / max(float(np.abs(points).max()), np.finfo(float).tiny), labels)


def _ball(points: np.ndarray, labels: np.ndarray) -> bool:
    """|x|^2 + a x + b <= 0 for the points inside: linear in (|x|^2, x, 1), with no negative weight on |x|^2.

    Weight zero is a half-space, which a large enough ball equals on finitely many points.
    """
    x = _scaled(points)
    lifted = np.column_stack([-(x**2).sum(axis=1), x, np.ones(x.shape[0])])
    return _separable(lifted, labels, first_not_negative=True)


def _convex_polygon(points: np.ndarray, labels: np.ndarray) -> bool:
    """Possible if no point outside lies in the convex hull of those inside: each can be cut off alone."""
    x = np.column_stack([_scaled(points), np.ones(points.shape[0])])
    inside = np.flatnonzero(labels)
    if inside.size == 0:
        return True
    for row in np.flatnonzero(~labels):
        chosen = np.append(inside, row)
        if not _separable(x[chosen], chosen != row):
            return False
    return True


def _scaled(points: np.ndarray) -> np.ndarray:
    low, high = points.min(axis=0), points.max(axis=0)
    return (2 * points - low - high) / np.where(high > low, high - low, 1.0)


def _separable(lifted: np.ndarray, labels: np.ndarray, first_not_negative: bool = False) -> bool:
    """Whether some w has w.x > 0 for labels 1 and < 0 for labels 0: the largest margin over |w_j| <= 1 is positive."""
    if (labels.all() or not labels.any()) and not first_not_negative and (lifted[:, -1] == 1).all():
        return True
    from scipy.optimize import linprog

    signed = np.where(labels, 1.0, -1.0)[:, None] * lifted
    n, d = signed.shape
    found = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([-signed, np.ones(n)]),
        b_ub=np.zeros(n),
        bounds=[(0 if first_not_negative and j == 0 else -1, 1) for j in range(d)] + [(None, 1)],
        method="highs",
    )
    if found.status != 0:  # pragma: no cover
        raise DataError("shatters", "points", "led to a linear program without solution", found.message)
    return bool(-found.fun > _MARGIN)


_CLASSES: dict[str, Realises] = {
    "ray": _ray,
    "interval": _union_of_intervals,
    "union of intervals": _union_of_intervals,
    "rectangle": _rectangle,
    "half-space": _half_space,
    "half-space through the origin": _half_space_through_origin,
    "ball": _ball,
    "decision stump": _decision_stump,
    "convex polygon": _convex_polygon,
}


# -- version space ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Box:
    """A box with sides along the axes; `open` leaves its boundary out.

    >>> Box(np.array([0.0, 0.0]), np.array([1.0, 2.0])).contains([[1, 2], [1, 3]])
    array([ True, False])
    """

    low: np.ndarray
    high: np.ndarray
    open: bool = False

    def contains(self, X: Any) -> np.ndarray:
        """Which rows lie inside."""
        rows = np.asarray(X, dtype=np.float64)
        inside = (rows > self.low) & (rows < self.high) if self.open else (rows >= self.low) & (rows <= self.high)
        return np.asarray(inside.all(axis=1))

    def to_dict(self) -> dict[str, Any]:
        """Plain data; an endless side is None."""
        return {
            "low": [None if math.isinf(v) else float(v) for v in self.low],
            "high": [None if math.isinf(v) else float(v) for v in self.high],
            "open": self.open,
        }


class RectangleVersionSpace:
    """All boxes that hold every positive row and no negative one, between S and G.

    `specific` is S, the tightest box around the positive rows (None if there are none). `general` is the list of the
    most general boxes G; in general there are several, since each negative row may be cut off on different sides.
    Their boundaries run through negative rows and do not belong to them. Found by candidate elimination (Mitchell).
    If no box fits, the version space is `empty`.

    >>> space = RectangleVersionSpace([[1, 1], [2, 2], [4, 1.5], [1.5, 5]], ["family", "family", "sport", "sport"],
    ...                               positive="family")
    >>> space.specific.low, space.specific.high
    (array([1., 1.]), array([2., 2.]))
    >>> [(box.low.tolist(), box.high.tolist()) for box in space.general]
    [([-inf, -inf], [4.0, 5.0])]
    >>> space.classify([[1.5, 1.5], [3, 3], [9, 9]]).tolist()
    [1, 0, -1]
    >>> print(space)
    2 positive rows and 2 negative ones leave a version space between S and 1 most general box.
    """

    MOST_BOXES = 20_000

    def __init__(self, X: Any, y: Any, *, positive: Any = None):
        rows = _read_points("RectangleVersionSpace", X)
        labels = np.asarray(y)
        if labels.shape != (rows.shape[0],):
            raise DataError(
                "RectangleVersionSpace",
                "y",
                f"must have one label for each of {rows.shape[0]} rows",
                f"got shape {labels.shape}",
            )
        if positive is None:
            if not np.isin(labels, [0, 1]).all():
                raise ParameterError(
                    "RectangleVersionSpace", "parameter 'positive'", "must name the positive class unless y is 0 or 1"
                )
            positive = 1
        inside = labels == positive
        self.n_features = rows.shape[1]
        self.n_positive, self.n_negative = int(inside.sum()), int((~inside).sum())
        self._positive, self._negative = rows[inside], np.unique(rows[~inside], axis=0)
        self.specific: Box | None = None
        if self.n_positive:
            self.specific = Box(self._positive.min(axis=0), self._positive.max(axis=0))
        self.empty = self.specific is not None and bool(self.specific.contains(self._negative).any())
        self.general: list[Box] = [] if self.empty else self._most_general()

    def _most_general(self) -> list[Box]:
        d = self.n_features
        low = np.full((1, d), -np.inf)
        high = np.full((1, d), np.inf)
        s_low = np.full(d, np.inf) if self.specific is None else self.specific.low
        s_high = np.full(d, -np.inf) if self.specific is None else self.specific.high
        # Near rows first: they cut most and keep the list short.
        distance = np.maximum(s_low - self._negative, self._negative - s_high).max(axis=1) if self.n_positive else None
        order = range(len(self._negative)) if distance is None else np.argsort(distance, kind="stable")
        for row in self._negative[list(order)]:
            hit = ((row > low) & (row < high)).all(axis=1)
            if not hit.any():
                continue
            kept_low, kept_high = [low[~hit]], [high[~hit]]
            for j in range(d):
                for side, possible in ((high, row[j] > s_high[j]), (low, row[j] < s_low[j])):
                    if possible:
                        new_low, new_high = low[hit].copy(), high[hit].copy()
                        (new_high if side is high else new_low)[:, j] = row[j]
                        kept_low.append(new_low)
                        kept_high.append(new_high)
            low, high = _maximal(np.concatenate(kept_low), np.concatenate(kept_high))
            if low.shape[0] > self.MOST_BOXES:
                raise DataError(
                    "RectangleVersionSpace",
                    "the list of most general boxes",
                    f"grew beyond {self.MOST_BOXES}",
                    way_out="use fewer columns or fewer negative rows",
                )
        order = np.lexsort(np.column_stack([high, low])[:, ::-1].T)
        return [Box(low[i], high[i], open=True) for i in order]

    def classify(self, X: Any) -> np.ndarray:
        """1 where every consistent box holds the row, -1 where none does, 0 where they differ (doubt)."""
        self._require()
        rows = _read_points("RectangleVersionSpace", X)
        if rows.shape[1] != self.n_features:
            raise DataError(
                "RectangleVersionSpace", "X", f"must have {self.n_features} columns", f"got {rows.shape[1]}"
            )
        answer = np.full(rows.shape[0], -1)
        reach = np.zeros(rows.shape[0], dtype=bool)
        for box in self.general:
            reach |= box.contains(rows)
        answer[reach] = 0
        if self.specific is not None:
            answer[self.specific.contains(rows)] = 1
        return answer

    def contains(self, low: Any, high: Any) -> bool:
        """Whether the closed box from `low` to `high` is a member: consistent with every row."""
        box = Box(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
        if box.low.shape != (self.n_features,) or box.high.shape != (self.n_features,):
            raise DataError("RectangleVersionSpace", "the box", f"must have {self.n_features} sides")
        return bool(box.contains(self._positive).all() and not box.contains(self._negative).any())

    def halfway(self, index: int = 0) -> Box:
        """The box midway between S and the most general box of this index, for the largest margin.

        A side on which no negative row limits the box stays endless.
        """
        self._require()
        if self.specific is None:
            raise UsageError("RectangleVersionSpace", "halfway", "needs at least one positive row")
        general = self.general[index]
        return Box((self.specific.low + general.low) / 2, (self.specific.high + general.high) / 2)

    @property
    def sentence(self) -> str:
        """The version space in words."""
        lead = f"{self.n_positive} positive rows and {self.n_negative} negative ones"
        if self.empty:
            return f"{lead} leave an empty version space: a negative row lies within the tightest box."
        boxes = f"{len(self.general)} most general box{'' if len(self.general) == 1 else 'es'}"
        return f"{lead} leave a version space between S and {boxes}."

    def to_dict(self) -> dict[str, Any]:
        """The version space as plain data."""
        return {
            "empty": self.empty,
            "specific": self.specific.to_dict() if self.specific else None,
            "general": [box.to_dict() for box in self.general],
            "sentence": self.sentence,
        }

    def __str__(self) -> str:
        return self.sentence

    def _require(self) -> None:
        if self.empty:
            raise DataError(
                "RectangleVersionSpace",
                "the version space",
                "is empty: no box holds every positive row and no negative one",
                way_out="use more columns or another class of hypotheses",
            )


def _maximal(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The boxes that lie inside no other one."""
    both = np.unique(np.column_stack([low, high]), axis=0)
    d = low.shape[1]
    keep = np.ones(len(both), dtype=bool)
    for i, box in enumerate(both):
        inside = ((both[:, :d] <= box[:d]) & (both[:, d:] >= box[d:])).all(axis=1)
        inside[i] = False
        keep[i] = not inside.any()
    return both[keep, :d], both[keep, d:]
