"""Conformal prediction: intervals and sets of classes with a coverage that needs no model of the errors.

The score of a row is how far its prediction was off: |y - prediction| for numbers, 1 - P(its class) for classes. If a
later row is exchangeable with n scored rows, its score is at most the ceil((n + 1) c)-th smallest of theirs with
probability c or more (Vovk, Gammerman & Shafer, Algorithmic Learning in a Random World, 2005). Scores of a row come
from a model that has not seen it: held out (split conformal, where the guarantee is exact), or out of fold
(cross-conformal; Vovk 2015, Barber et al. 2021), where the model in use was fitted on all rows and is as a rule no
worse than those of the folds; the coverage that the folds showed is kept beside.

>>> import numpy as np
>>> conformal = Conformal.of(np.arange(1.0, 100.0))
>>> conformal.reach(0.9), conformal.reach(0.999)
(90.0, inf)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.errors import ParameterError, plain
from ..base.record import Record

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
_KEPT = 20_000


@dataclass(frozen=True)
class Conformal(Record):
    """Scores of rows that their model had not seen, and what they promise.

    Parameters
    ----------
    scores : scores in ascending order; of many, those whose `ranks` are kept
    ranks : the rank of each kept score among all
    n : how many rows were scored
    classes : whether the scores are of classes
    coverage : by level, the share of rows that fell inside when the scores of the other folds set the bounds
    """

    scores: np.ndarray
    ranks: np.ndarray
    n: int
    classes: bool = False
    coverage: dict[float, float] = field(default_factory=dict)

    @classmethod
    def of(cls, scores: Any, folds: Any = None, *, classes: bool = False) -> Conformal:
        """From one score for each row, and the fold in which it was held out (None: there is nothing to try)."""
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 1 or not values.size or np.isnan(values).any():
            raise ParameterError("Conformal", "parameter 'scores'", "must be one number for each of some rows")
        ordered = np.sort(values)
        n = ordered.shape[0]
        ranks = (
            np.arange(1, n + 1) if n <= _KEPT else np.unique(np.ceil(np.linspace(0, n, _KEPT + 1)[1:]).astype(np.int64))
        )
        shown = {} if folds is None else _coverage(values, np.asarray(folds))
        return cls(ordered[ranks - 1], ranks.astype(np.int64), n, classes, shown)

    @classmethod
    def of_predictions(
        cls, truth: np.ndarray, predicted: np.ndarray, probabilities: Any, folds: Any
    ) -> Conformal | None:
        """From out-of-fold predictions; None for classes without probabilities."""
        if predicted.dtype.kind == "f":
            return cls.of(np.abs(truth - predicted), folds)
        if probabilities is None:
            return None
        return cls.of(1.0 - probabilities[np.arange(truth.shape[0]), truth], folds, classes=True)

    def reach(self, level: float) -> float:
        """The score that a later row stays within with probability `level` or more; infinite where rows are too few."""
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
            raise ParameterError("Conformal", "parameter 'level'", "must lie between 0 and 1", f"got {plain(level)}")
        rank = math.ceil((self.n + 1) * level - 1e-9)
        place = int(np.searchsorted(self.ranks, rank))
        return math.inf if place == self.ranks.shape[0] else float(self.scores[place])

    def interval(self, predicted: Any, level: float = 0.9) -> np.ndarray:
        """Lower and upper end for each predicted number, (rows, 2).

        >>> Conformal.of([1.0, 2.0, 3.0, 4.0]).interval([10.0], 0.8)
        array([[ 6., 14.]])
        """
        middle, reach = np.asarray(predicted, dtype=np.float64), self.reach(level)
        return np.stack([middle - reach, middle + reach], axis=1)

    def members(self, probabilities: Any, level: float = 0.9) -> np.ndarray:
        """Which classes belong to the set of each row, (rows, classes).

        >>> Conformal.of([0.1, 0.2, 0.3, 0.4], classes=True).members([[0.55, 0.45], [0.75, 0.25]], 0.6)
        array([[False, False],
               [ True, False]])
        """
        return 1.0 - np.asarray(probabilities, dtype=np.float64) <= self.reach(level)

    def _loaded(self) -> None:
        """Refuse scores out of order, of a file."""
        arrays = isinstance(self.scores, np.ndarray) and isinstance(self.ranks, np.ndarray)
        if not arrays or self.scores.ndim != 1 or self.scores.shape != self.ranks.shape or not self.scores.size:
            raise ParameterError("Conformal", "the scores", "must be a vector with one rank each")
        if self.scores.dtype.kind != "f" or np.isnan(self.scores).any() or (np.diff(self.scores) < 0).any():
            raise ParameterError("Conformal", "the scores", "must ascend")
        if self.ranks.dtype.kind != "i" or (np.diff(self.ranks) < 1).any() or self.ranks[-1] != self.n:
            raise ParameterError("Conformal", "the ranks", "must ascend to the number of rows")

    @property
    def sentence(self) -> str:  # type: ignore[override]
        """What the scores promise, in words."""
        said = f"Bounds from {self.n:,} rows that their model had not seen"
        shown = ", ".join(f"{share:.1%} at {level:.0%}" for level, share in self.coverage.items())
        return f"{said}; they held for {shown} when the other folds set them." if shown else f"{said}."


def _coverage(scores: np.ndarray, folds: np.ndarray) -> dict[float, float]:
    """By level, the share of rows whose score is within what the rows of the other folds promise."""
    names = np.unique(folds)
    if names.shape[0] < 2:
        return {}
    inside = dict.fromkeys(LEVELS, 0)
    for name in names:
        others = Conformal.of(scores[folds != name])
        for level in LEVELS:
            inside[level] += int((scores[folds == name] <= others.reach(level)).sum())
    return {level: count / scores.shape[0] for level, count in inside.items()}
