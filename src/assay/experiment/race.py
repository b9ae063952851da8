"""The race: between two repetitions a learner that is shown to be worse than the best stops.

After each repetition but the last, the learners that are left are compared by the test of the design so far, at a level
of `alpha / 5` over the number of looks; the comparison at the end takes the other four fifths of `alpha`. A statement
"worse", made early or at the end, is therefore wrong with a probability of at most `alpha` for all of them together.
What happens depends on the scores alone, so that a race that was interrupted goes on as if it had not been.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from ..evaluate import make_design
from .plan import Plan
from .results import Results, Stopped
from .work import Unit


@dataclass
class Race:
    """Who is still in the race. Without one, all units are one round and nobody stops."""

    plan: Plan

    def __post_init__(self) -> None:
        self.out: dict[int, Stopped] = {}
        self._done = 0

    def rounds(self, units: list[Unit]) -> list[list[Unit]]:
        """The units between two looks: one repetition each, and the fits on all rows with the last."""
        last = self.plan.design.repetitions - 1
        if not self.plan.race:
            return [units]
        found: list[list[Unit]] = [[] for _ in range(last + 1)]
        for unit in units:
            found[last if unit.split is None else self.plan.splits[unit.split].repetition].append(unit)
        return found

    def look(self, values: Mapping[Unit, Mapping[str, Any]], failed: Mapping[int, Any]) -> None:
        """Compare those that are left after one more repetition, and stop those that are worse than the best."""
        self._done += 1
        design = self.plan.design
        if not self.plan.race or self._done >= design.repetitions:
            return
        left = [n for n in range(len(self.plan.learners)) if n not in self.out and n not in failed]
        if len(left) < 2:
            return
        folds = len(self.plan.splits) // design.repetitions
        so_far = copy(self.plan)
        name = f"{self._done}x{folds}" if self._done > 1 else f"{folds}-fold"
        changes = {
            "learners": tuple(self.plan.learners[n] for n in left),
            "design": make_design(name),
            "splits": self.plan.splits[: self._done * folds],
            "alpha": self.plan.race_level,
            "race": False,
            "pairs": "best",
        }
        for key, value in changes.items():
            object.__setattr__(so_far, key, value)
        place = {n: k for k, n in enumerate(left)}
        found: dict[tuple[int, int | None], Mapping[str, Any]] = {
            (place[unit.learner], unit.split): value
            for unit, value in values.items()
            if unit.learner in place
            and unit.trial is None
            and unit.split is not None
            and unit.split < len(so_far.splits)
        }
        comparison = Results.of(so_far, found, {}, 0).plain_comparison
        if comparison is None:
            return
        for n in left:
            row = comparison.summary.get(self.plan.learners[n].id)
            if row is not None and row["verdict"] == "worse":
                best = next(one.title for one in self.plan.learners if one.id == comparison.best)
                self.out[n] = Stopped(
                    self._done, float(row["mean"]), best, row["difference"], list(row["difference_interval"])
                )
