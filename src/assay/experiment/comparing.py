"""`assay.compare` and `assay.tune`: a table and a target in, a comparison that can be defended out."""

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
from .search import Tuned
from .store import Store


def compare(
    table: Any,
    target: str,
    learners: Any = None,
    *,
    store: Store | str | None = None,
    n_jobs: int = 1,
    progress: bool | Callable[[Progress], None] = False,
    engine: str = "threads",
    scheduler: str | None = None,
    **options: Any,
) -> Results:
    """Compare learners on a table (a frame, a `Table` or a path); `options` are those of `Plan`.

    `learners` is a list of catalogue ids, pairs (id, parameters), scikit-learn estimators or pairs (name, any of
    these), or a mapping of names to any of these: `{"tree": CartClassifier(), "mine": my_pipeline}`.
    `engine` says who does the work: "threads", "processes" or "dask" (see `run`); the results are the same.
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
    _check_options("compare", options)
    plan = Plan(table, target, learners=learners, **options)
    return _run(plan, store, n_jobs, progress, engine=engine, scheduler=scheduler)


def tune(
    table: Any,
    target: str,
    learners: Any,
    space: Any = None,
    *,
    method: str = "random",
    trials: int = 20,
    levels: int = 3,
    folds: int = 5,
    store: Store | str | None = None,
    n_jobs: int = 1,
    progress: bool | Callable[[Progress], None] = False,
    engine: str = "threads",
    scheduler: str | None = None,
    **options: Any,
) -> Results:
    """Tune learners inside the training rows of each fold, and compare each with its settings as given.

    `learners` is one learner or a list of them, as for `compare`; `space`, `method`, `trials`, `levels` and `folds` are
    those of `Tuned`, and a space that is None is that of the catalogue. `options` are those of `Plan`; `engine` and
    `scheduler` are as for `compare`.

    >>> from assay import tune
    >>> from assay.data import load_dataset
    >>> results = tune(load_dataset("iris"), "species", "cart-classifier", {"max_depth": [1, 3]}, method="grid",
    ...                folds=2, design="3-fold")
    >>> [one.id for one in results.learners]
    ['cart-classifier', 'cart-classifier-tuned']
    >>> results.best_model("cart-classifier-tuned").estimator.max_depth
    3
    """
    _check_options("tune", options)
    given = [learners] if isinstance(learners, (str, tuple)) or hasattr(learners, "fit") else list(learners)
    pairs = [(one, Tuned(one, space, method, trials, levels, folds)) for one in given]
    plan = Plan(table, target, learners=[one for pair in pairs for one in pair], **options)
    return _run(plan, store, n_jobs, progress, engine=engine, scheduler=scheduler)


def _check_options(who: str, options: dict[str, Any]) -> None:
    known = [item.name for item in fields(Plan) if item.init]
    for name in options:
        if name not in known:
            near = get_close_matches(name, [*known, "store", "n_jobs", "progress", "engine", "scheduler"], 1)
            raise UsageError(
                who,
                f"parameter '{plain(name)}'",
                "is not known",
                way_out=f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(known[3:])}",
            )


def _run(
    plan: Plan, store: Store | str | None, n_jobs: int, progress: bool | Callable[[Progress], None], **how: Any
) -> Results:
    show = _Line() if progress is True else progress or None
    try:
        return run(plan, store, n_jobs, show, **how)
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
