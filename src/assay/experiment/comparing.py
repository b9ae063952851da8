"""`assay.compare`: a table and a target in, a comparison that can be defended out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from ..base.errors import UsageError, plain
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
    n_jobs: int = 1,
    progress: bool | Callable[[Progress], None] = False,
    **options: Any,
) -> Results:
    """Compare learners on a table (a frame, a `Table` or a path); `options` are those of `Plan`.

    `learners` is a list of catalogue ids, pairs (id, parameters), scikit-learn estimators or pairs (name, any of
    these), or a mapping of names to any of these: `{"tree": CartClassifier(), "mine": my_pipeline}`.
    `progress` True writes a line with units done and time left to stderr; a function is called with each `Progress`.

    >>> from assay import compare
    >>> from assay.data import load_dataset
    >>> results = compare(load_dataset("iris"), "species", ["zero-r", "naive-bayes"], design="5-fold")
    >>> results.comparison.best
    'naive-bayes'
    >>> results.best_model().predict(load_dataset("iris").frame.head(2)).tolist()
    ['setosa', 'setosa']
    """
    if not isinstance(target, str):
        raise UsageError(
            "compare",
            "parameter 'target'",
            "must be the name of a column of the table",
            f"got a {type(target).__name__}",
            "put the target into the table as a column and give its name",
        )
    known = [item.name for item in fields(Plan) if item.init]
    for name in options:
        if name not in known:
            near = get_close_matches(name, [*known, "store", "n_jobs", "progress"], 1)
            raise UsageError(
                "compare",
                f"parameter '{plain(name)}'",
                "is not known",
                way_out=f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(known[3:])}",
            )
    plan = Plan(table, target, learners=learners, **options)
    show = _Line() if progress is True else progress or None
    try:
        return run(plan, store, n_jobs, show)
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
