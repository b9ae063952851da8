"""The ledger: which rows each fit saw, which scored rows it had seen already, and how often the test rows were used.

A score is honest for rows that a fit has not seen. The ledger counts, split by split, the test rows that were among the
training rows themselves (a splitter of the user's own may do that) and those of which a copy was: the same values in
every column that learners see. It also counts the looks: every plan that was ever scored on rows of this table, as far
as the store knows, is one, and every setting of a learner in them is a chance to be best by luck.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..base.errors import UsageError, plain
from ..base.record import Grid, Record
from ..base.words import count, percent
from ..data.frames import frame_of
from .plan import Plan, describe_value
from .store import digest

MANY_COPIES = 0.03
"""Share of the scored rows with a copy in training above which a reader is warned."""


@dataclass(frozen=True)
class Looks:
    """How often the rows of a table were scored on: plans, and settings of learners in them."""

    plans: int = 1
    settings: int = 1

    def words(self) -> str:
        """The looks in a sentence; empty where this is the first."""
        if self.plans < 2:
            return ""
        return (
            f"this is plan {self.plans} that is scored on these rows, and {count(self.settings, 'setting')} of "
            "learners have been by now: the best of them looks better than it is; rows set aside with holdout "
            "(--holdout) are judged once"
        )


@dataclass(frozen=True, eq=False)
class Ledger(Record):
    """What a plan's fits saw and were scored on.

    >>> from assay.data import load_dataset
    >>> from assay.experiment import Plan
    >>> ledger = Ledger.of(Plan(load_dataset("iris"), "species", learners=["zero-r"], design="5-fold"))
    >>> ledger.seen, ledger.copies, ledger.tested
    (0, 2, 150)
    """

    plan: Plan = field(repr=False)
    looks: Looks = field(default_factory=Looks)

    @classmethod
    def of(cls, plan: Plan, looks: Looks | None = None) -> Ledger:
        """The ledger of a plan."""
        return cls(plan, looks or Looks())

    def __post_init__(self) -> None:
        object.__setattr__(self, "sentence", self._words())

    @cached_property
    def _row_keys(self) -> np.ndarray:
        """A number for each row that is equal for rows that are equal in what learners see."""
        return self.plan.features.frame.hash_rows(seed=0).to_numpy()

    @cached_property
    def marks(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each split the test rows that the fit saw, and those of which it saw a copy, as marks."""
        found = []
        for split in self.plan.splits:
            seen = np.isin(split.test, split.train)
            copies = np.isin(self._row_keys[split.test], self._row_keys[split.train]) & ~seen
            found.append((seen, copies))
        return found

    @property
    def tested(self) -> int:
        """Rows that were scored, counted once for each split that tests them."""
        return sum(len(split.test) for split in self.plan.splits)

    @property
    def seen(self) -> int:
        """Scored rows that were among the training rows of their own split."""
        return int(sum(seen.sum() for seen, _ in self.marks))

    @property
    def copies(self) -> int:
        """Scored rows that equal a training row of their split in every column."""
        return int(sum(copies.sum() for _, copies in self.marks))

    def rows_seen(self, repetition: int, fold: int) -> np.ndarray:
        """Numbers of the rows of the table, counted from 0, that the fits of a split saw."""
        for split in self.plan.splits:
            if (split.repetition, split.fold) == (repetition, fold):
                return np.flatnonzero(np.asarray(self.plan.target.kept))[split.train]
        raise UsageError("ledger", f"repetition {repetition}, fold {fold}", "is not part of the design")

    def to_frame(self) -> Any:
        """One row per split: rows trained on and tested, those seen, those with copies, a digest of the rows seen."""
        columns: dict[str, list[Any]] = {
            name: [] for name in ("repetition", "fold", "trained", "tested", "seen", "copies", "digest")
        }
        for split, (seen, copies) in zip(self.plan.splits, self.marks):
            rows = np.ascontiguousarray(self.rows_seen(split.repetition, split.fold), dtype="<i8")
            cells = (
                split.repetition, split.fold, len(split.train), len(split.test), int(seen.sum()), int(copies.sum()),
                hashlib.sha256(rows.tobytes()).hexdigest()[:16],
            )  # fmt: skip
            for name, cell in zip(columns, cells, strict=True):
                columns[name].append(cell)
        return frame_of(columns)

    def grid(self) -> Grid:
        """The splits as a table."""
        frame = self.to_frame()
        return Grid(frame.columns, [[str(cell) for cell in row] for row in frame.rows()], left=0)

    @property
    def objections(self) -> list[str]:
        """What makes scores of this design look too good, in sentences."""
        said = []
        if self.seen:
            said.append(
                f"{self.seen:,} of {self.tested:,} scored rows were among the training rows of their own fit "
                f"(design {plain(self.plan.design.name)}): their scores show memory, not learning"
            )
        if self.copies > MANY_COPIES * self.tested:
            said.append(
                f"{self.copies:,} of {self.tested:,} scored rows ({percent(self.copies / self.tested, 1)}) have a copy "
                "among the training rows of their fit: keep copies in one fold (groups), or drop them"
            )
        return said

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "tested": self.tested,
            "seen": self.seen,
            "copies": self.copies,
            "plans": self.looks.plans,
            "settings": self.looks.settings,
            "held_out": len(self.plan.held),
            "words": self.sentence,
        }

    def _words(self) -> str:
        said = [
            f"Of {self.tested:,} scored rows {self.seen:,} were seen in training and {self.copies:,} have a copy there"
        ]
        said += [self.looks.words()] if self.looks.words() else []
        if len(self.plan.held):
            said.append(f"{count(len(self.plan.held), 'row')} are set aside for one look at the end")
        return "; ".join(said) + "."


def looks_of(plan: Plan, known: Iterable[Mapping[str, str]]) -> Looks:
    """The looks at the rows of a plan's table, this one included, from those that a store knows."""
    plans, settings = set(), set(settings_of(plan))
    for look in known:
        if is_look_at(plan, look):
            plans.add(look["plan"])
            settings |= set(json.loads(look["settings"]))
    return Looks(len(plans | {plan.fingerprint}) if plans else 1, len(settings))


def is_look_at(plan: Plan, look: Mapping[str, str]) -> bool:
    """Whether a look was at the rows of a plan's table and its target; earlier stores know them in one order only."""
    return look["data"] in (plan.table.rows_fingerprint, plan.table.fingerprint) and look["target"] == plan.target.name


def held_rows(plan: Plan) -> list[int]:
    """The rows that a plan sets aside, as places in an order of the table that its rows settle, not the file."""
    places = np.empty(plan.table.n_rows, dtype=np.int64)
    places[np.argsort(plan.table.row_keys, kind="stable")] = np.arange(plan.table.n_rows)
    return sorted(places[plan.held].tolist())


def held_digest(plan: Plan) -> str:
    """Which rows a plan sets aside, as a digest; empty where it scores all."""
    return digest(held_rows(plan))[:16] if len(plan.held) else ""


def settings_of(plan: Plan) -> list[str]:
    """The learners of a plan with their preparation and parameters, whatever they are called, as digests."""
    before = [describe_value(step) for step in plan.prepare]
    return sorted({digest(before, learner.identity)[:16] for learner in plan.learners})
