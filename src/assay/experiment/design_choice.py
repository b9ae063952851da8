"""The design that suits a table: by its rows, its smallest class, its groups, and what the fits are expected to cost.

Many folds cost much and show little more than few; few show too little. So: ten times ten folds where all of them take
less than a second, three times ten or else ten folds where they take less than a minute of one core, and one hold-out
part with tests on its rows where the table is so large that its rows alone settle the question: a fourth of 150,000
rows gives an accuracy with a standard error of 0.2 points. A table too small for that gets its ten folds, whatever
they take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..base.estimator import Estimator
from ..base.words import count
from ..base.words import seconds as seconds_words
from ..evaluate import Design, make_design

AT_ONCE, A_WHILE = 0.3, 60.0
"""Seconds of one core that ten times ten folds, and fewer, may take when no budget is given."""

ENOUGH_TEST_ROWS = 5000
"""Test rows that settle a comparison by themselves: an accuracy is then known to a percent."""

VIEWED_ROWS = 30_000
"""Rows, drawn from longer tables, to which a learner is fitted once more for its picture."""

HELD_OUT = "holdout-0.25"


def expected_seconds(estimator: Any, n_train: int, n_test: int, columns: int) -> float:
    """Rough seconds of one fit and its predictions."""
    if not isinstance(estimator, Estimator):
        return 1e-3 + 1e-6 * (n_train + n_test) * columns
    try:
        fitted = estimator.estimate_cost(n_train, columns).seconds
        return 1e-3 + float(fitted + estimator.estimate_predict_cost(n_train, columns, n_test).seconds)
    except Exception:
        return 1e-3


@dataclass(frozen=True)
class DesignChoice:
    """A design with the reason for it and what it is expected to cost."""

    design: Design
    reason: str
    seconds: float
    by_learner: tuple[float, ...] = ()

    def words(self) -> str:
        """The choice in a sentence."""
        return (
            f"{self.design.name} was chosen: {self.reason}; expected to take {seconds_words(self.seconds)} of one core"
        )

    def longest(self, titles: Sequence[str]) -> str | None:
        """The learner that is expected to take longer than all the others together, in words."""
        if len(self.by_learner) < 2:
            return None
        longest = max(range(len(self.by_learner)), key=self.by_learner.__getitem__)
        own = self.by_learner[longest]
        others = sum(self.by_learner) - own
        if own <= others or own < 5.0:
            return None
        return (
            f"{titles[longest]} is expected to take {seconds_words(own)}, longer than all others together "
            f"({seconds_words(others)}); a budget, or naming the learners, leaves it out"
        )


def viewed_seconds(estimator: Any, rows: int, columns: int) -> float:
    """Rough seconds of the fit for the picture."""
    return expected_seconds(estimator, min(rows, VIEWED_ROWS), 0, columns)


def choose_design(
    rows: int,
    columns: int | Sequence[int],
    estimators: Sequence[Any],
    *,
    smallest_class: int | None = None,
    n_groups: int | None = None,
    cases: int | None = None,
    budget: float | None = None,
    work: Sequence[float] | None = None,
) -> DesignChoice:
    """The design for a table, by what it holds and what it costs; columns as each learner meets them, or all; `work`
    is how many fits a learner makes of one, where it searches its parameters.

    `cases` is the number of different rows where copies stay in one fold; `smallest_class` then counts cases as well.

    >>> choose_design(200, 4, [object()], smallest_class=80).design.name
    '10x10'
    >>> choose_design(200, 4, [object()], smallest_class=7).design.name
    '10x5'
    >>> choose_design(10_000_000, 50, [object()], smallest_class=5_000_000).design.name
    'holdout-0.25'
    """
    folds, why = 10, ""
    what, separate = ("rows", rows) if cases is None else ("cases", cases)
    limits = {
        "groups": n_groups,
        f"{what} in the smallest class": smallest_class,
        # A number is scored by R², which needs two rows in each fold.
        f"pairs of {what}" if smallest_class is None else what: separate // 2 if smallest_class is None else separate,
    }
    limit, of = min((limit, of) for of, limit in limits.items() if limit is not None)
    if limit < 10:
        folds = max(2, min(5, limit))
        why = f"{folds} folds because there are only {limit} {of}"

    widths = [columns] * len(estimators) if isinstance(columns, int) else list(columns)

    fits = [1.0] * len(estimators) if work is None else list(work)

    def cost(times: int, test: int) -> list[float]:
        return [
            many * (times * expected_seconds(one, rows - test, test, width) + viewed_seconds(one, rows, width))
            for one, width, many in zip(estimators, widths, fits, strict=True)
        ]

    tested = max(1, rows // folds)
    choices = ((10, AT_ONCE), (3, A_WHILE), (1, A_WHILE))
    same = n_groups is not None and n_groups <= folds
    for repetitions, most in choices[2:] if same else choices:
        each = cost(repetitions * folds, tested)
        if sum(each) <= (most if budget is None else min(budget, most) if repetitions > 3 else budget):
            name = f"{repetitions}x{folds}" if repetitions > 1 else f"{folds}-fold"
            reason = {
                10: "the fits are cheap, and repeated folds show more",
                3: "three repetitions are affordable, and steady the answer",
                1: "every repetition would make the same folds" if same else "more repetitions would take too long",
            }[repetitions]
            return DesignChoice(make_design(name), f"{reason}{'; ' + why if why else ''}", sum(each), tuple(each))
    held = rows // 4
    if held >= ENOUGH_TEST_ROWS and n_groups is None:
        once = cost(1, held)
        reason = f"{count(held, 'test row')} settle the question by themselves"
        return DesignChoice(make_design(HELD_OUT), reason, sum(once), tuple(once))
    each = cost(folds, tested)
    over = " although that is over the budget" if budget is not None else ""
    reason = f"the table is too small for a hold-out part{over}{'; ' + why if why else ''}"
    return DesignChoice(make_design(f"{folds}-fold"), reason, sum(each), tuple(each))
