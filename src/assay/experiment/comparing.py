"""`assay.compare`: a table and a target in, a comparison that can be defended out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..base.words import seconds
from .plan import Plan
from .results import Results
from .run import Progress, run
from .store import Store


def compare(
    table: Any,
    target: str,
    learners: Any = None,
    *,
    store: Store | str | None = None,
    jobs: int = 1,
    progress: bool | Callable[[Progress], None] = False,
    **options: Any,
) -> Results:
    """Compare learners on a table (a frame, a `Table` or a path); `options` are those of `Plan`.

    `progress` True writes a line with units done and time left to stderr; a function is called with each `Progress`.

    >>> from assay import compare
    >>> from assay.data import load_dataset
    >>> results = compare(load_dataset("iris"), "species", ["zero-r", "naive-bayes"], design="5-fold")
    >>> results.comparison.best
    'naive-bayes'
    >>> results.best_model().predict(load_dataset("iris").frame.head(2)).tolist()
    ['setosa', 'setosa']
    """
    plan = Plan(table, target, learners=learners, **options)
    show = _Line() if progress is True else progress or None
    try:
        return run(plan, store, jobs, show)
    finally:
        if isinstance(show, _Line):
            show.end()


class _Line:
    """Progress as one line of stderr that is written over."""

    def __init__(self) -> None:
        self.longest = 0

    def __call__(self, where: Progress) -> None:
        left = "" if where.eta is None else f", {seconds(where.eta)} left"
        text = f"{where.done}/{where.total} {where.what}{left}"
        self.longest = max(self.longest, len(text))
        print(f"\r{text:<{self.longest}}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self.longest:
            print(file=sys.stderr)
