"""Tuning: a search inside the training rows of one fold, and what the searches of all folds tell together.

Each setting is scored on inner folds of the training rows, which respect groups and time like the outer ones; the
preparation is fitted on the inner training rows. The outer test rows are not looked at before the choice is made, so
the score of the tuned learner on them is that of "learner and search together" on new rows. The inner score of the
winner is not: it is the best of many, and the difference is the optimism.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..base.errors import AssayError, DesignError, plain
from ..base.folds import Fold, FoldTransforms, fit_folds, seeds_of, take_rows
from ..base.randomness import Stream
from ..base.record import Record
from ..base.words import compact
from ..data.frames import frame_of
from ..evaluate import TimeSplitter, get_metric, make_design
from ..prepare import Chain
from .inputs import Inputs, PreparedTable
from .plain_values import NotPlain, from_plain, to_plain
from .plan import Learner, Plan
from .predictions import FoldPredictions
from .search import Search
from .store import canonical


# -- one search ---------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class InnerFolds:
    """The training rows of one outer fold, cut again; what settings have in common is made once."""

    plan: Plan
    inputs: Inputs
    learner: Learner
    rows: np.ndarray
    stream: Stream
    threads: int | None = None

    @cached_property
    def folds(self) -> list[Fold]:
        """Pairs of training and test rows, counted within the rows of this search."""
        plan, search = self.plan, self._search
        times, groups = plan.time_values, plan.group_values
        design: Any
        if times is not None:
            units = times[self.rows]
            design = TimeSplitter(min(search.folds, max(2, np.unique(units).size // 2))).design
        else:
            units = None if groups is None else groups[self.rows]
            most = self.rows.shape[0] // 2 if units is None else np.unique(units).size
            design = make_design(f"{max(2, min(search.folds, most))}-fold")
        splits = design.splits(self.y, plan.stratified, self.stream.child(0).key % 2**32, units)
        return [(split.train, split.test) for split in splits]

    @property
    def _search(self) -> Search:
        assert self.learner.search is not None
        return self.learner.search

    @cached_property
    def y(self) -> np.ndarray:
        return self.plan.y[self.rows]

    @cached_property
    def _prepared(self) -> list[tuple[Any, Any, Any]]:
        """For learners that share no matrix: training rows, their targets and test rows of each fold."""
        made = []
        for train, test in self.folds:
            chain = Chain(self.plan.prepare, self.inputs.roles, self.learner.entry)
            rows, target = chain.fit_training(take_rows(self.inputs.frame, self.rows[train]), self.y[train])
            held = chain.transform(take_rows(self.inputs.frame, self.rows[test]))
            made.append((self.learner.named(chain, rows), target, self.learner.named(chain, held)))
        return made

    @cached_property
    def _matrix(self) -> tuple[np.ndarray, FoldTransforms | None, dict[str, Any]] | None:
        shared = self.inputs.shared(self.learner)
        if shared is None:
            return None
        transforms = None
        if isinstance(shared, PreparedTable):
            each = tuple(shared.preparation.fold(self.rows[train]) for train, _ in self.folds)
            transforms = FoldTransforms(each, shared.preparation.fold(self.rows))
        return np.take(shared.matrix, self.rows, axis=0), transforms, shared.params

    def scores(self, parameters: Mapping[str, Any]) -> list[float]:
        """The first metric of the plan on each inner fold, for one setting."""
        metric, classes = self.plan.metrics[0], self.plan.n_classes
        found = []
        for (_, test), (model, rows) in zip(self.folds, self._models(parameters)):
            measured, _ = FoldPredictions.by(model, rows, classes).measure(self.y[test], [metric], classes)
            found.append(float(measured[metric]))
        return found

    def _models(self, parameters: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
        learner = self.learner

        def prototype(fold: int) -> Any:
            seeds = seeds_of(learner.open_seeds, self.stream.child(1).child(fold))
            return learner.prototype(threads=self.threads, seeds=seeds).set_params(**parameters)

        if self._matrix is None:
            for fold, (train, target, test) in enumerate(self._prepared):
                yield prototype(fold).fit(train, target), test
            return
        matrix, transforms, params = self._matrix
        seeds = None
        if learner.open_seeds:
            seeds = [seeds_of(learner.open_seeds, self.stream.child(1).child(k)) for k in range(len(self.folds))]
        estimator = prototype(0).set_params(**params)
        models = fit_folds(estimator, matrix, self.y, self.folds, transforms=transforms, settings=seeds)
        for k, (model, (_, test)) in enumerate(zip(models, self.folds)):
            rows = np.take(matrix, test, axis=0) if transforms is None else transforms.folds[k].apply(matrix, test)
            yield model, rows


def search_trials(inner: InnerFolds, known: Mapping[int, Mapping[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The trials of a search as they are made; those that are `known` already are not made again.

    A trial is plain data: its parameters, the score on each inner fold and their mean (None where it failed, with the
    error). The chance of a trial comes from the plan's seed and its number alone, the same in every outer fold.
    """
    search = inner._search
    better = get_metric(inner.plan.metrics[0]).greater_is_better
    proposals = search.proposals(Stream.of(inner.plan.random_state).child(_DRAWS), better)
    given, tried = given_values(inner.learner), dict[str, dict[str, Any]]()
    number = 0
    while (asked := proposals.ask(number)) is not None:
        said = {name: to_plain(value) for name, value in asked.items()}
        trial = dict(known.get(number) or {})
        if trial.get("parameters") != said:
            twin = tried.get(canonical(given | said))
            # A setting that was tried before would score the same again.
            made = _tried(inner, asked, said) if twin is None else twin | {"parameters": said, "fit_seconds": 0.0}
            trial = made
            yield number, trial
        tried.setdefault(canonical(given | said), trial)
        proposals.tell(number, trial["score"])
        number += 1


def given_values(learner: Learner) -> dict[str, Any]:
    """The parameters of a learner's space as the learner stands, as plain data; none where they are not plain."""
    assert learner.search is not None
    values = learner.estimator.get_params(deep=True)
    try:
        return {one.name: to_plain(values[one.name]) for one in learner.search.space.dimensions}
    except NotPlain:
        return {}


_DRAWS = 0x5EA4C4
"""The stream of the settings, apart from those of the folds."""


def _tried(inner: InnerFolds, asked: Mapping[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    begin = time.perf_counter()
    scores: list[float] = []
    error = None
    try:
        scores = inner.scores(asked)
        if not np.isfinite(scores).any():
            error = f"{inner.learner.title}: no inner fold has a {inner.plan.metrics[0]}."
    except Exception as raised:
        text = plain(raised, 300)
        error = text if isinstance(raised, AssayError) else f"{type(raised).__name__}: {text}"
    return {
        "parameters": said,
        "scores": scores,
        # An inner fold without a score (no row of a rare class) is without one for every setting.
        "score": float(np.nanmean(scores)) if error is None else None,
        "error": error,
        "fit_seconds": time.perf_counter() - begin,
    }


def best_trial(trials: Mapping[int, Mapping[str, Any]], greater_is_better: bool) -> int | None:
    """The number of the best trial, the first of equals; None where all failed.

    >>> best_trial({0: {"score": 0.5}, 1: {"score": None}, 2: {"score": 0.7}, 3: {"score": 0.7}}, True)
    2
    """
    scored = [number for number in sorted(trials) if trials[number]["score"] is not None]
    if not scored:
        return None
    sign = 1.0 if greater_is_better else -1.0
    return max(scored, key=lambda number: (sign * trials[number]["score"], -number))


def search_all_rows(plan: Plan, learner: Learner) -> dict[str, Any]:
    """The parameters that a search on all rows chooses, as plain data."""
    inner = InnerFolds(plan, Inputs(plan), learner, np.arange(len(plan.y)), plan.stream(None))
    trials = dict(search_trials(inner, {}))
    best = best_trial(trials, get_metric(plan.metrics[0]).greater_is_better)
    if best is None:
        raise DesignError(learner.title, "every setting of the search", "failed", plain(trials[0]["error"], 300))
    return dict(trials[best]["parameters"])


def with_setting(learner: Learner, parameters: Mapping[str, Any]) -> Learner:
    """The learner with the parameters that a search chose, as plain data, and no search."""
    return learner.settled({name: from_plain(value) for name, value in parameters.items()})


# -- all searches of a learner together ---------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Tuning(Record):
    """What the searches of one tuned learner found, fold by fold and together."""

    search: Search
    metric: str
    greater_is_better: bool
    trials: dict[int | None, dict[int, dict[str, Any]]]
    """Split (None: all rows) -> number -> trial."""
    outer: np.ndarray
    """The score of the tuned learner on the test rows of each split."""
    places: list[tuple[int, int]] = field(default_factory=list)
    """Repetition and fold of each split."""
    given: dict[str, Any] = field(default_factory=dict)
    """The parameters of the space as the learner stood."""

    @property
    def different(self) -> int:
        """How many different settings a search tried, at most."""
        settings = [{canonical(self.given | t["parameters"]) for t in some.values()} for some in self.trials.values()]
        return max(map(len, settings), default=0)

    @cached_property
    def best(self) -> dict[int | None, int | None]:
        """The number of the best trial of each search."""
        return {split: best_trial(trials, self.greater_is_better) for split, trials in self.trials.items()}

    @cached_property
    def inner(self) -> np.ndarray:
        """The inner score of the winner in each split."""
        return np.array([self._score(split) for split in range(len(self.outer))])

    def _score(self, split: int | None) -> float:
        number = self.best.get(split)
        return float("nan") if number is None else float(self.trials[split][number]["score"])

    @property
    def optimism(self) -> float:
        """How much better the winners look on the inner folds than on rows they have not seen: the mean over splits,
        positive where they look too good."""
        sign = 1.0 if self.greater_is_better else -1.0
        return float(np.mean(sign * (self.inner - self.outer)))

    @property
    def naive(self) -> float:
        """The inner score of the best setting on all rows: what a search without outer folds would report."""
        return self._score(None)

    @property
    def final(self) -> dict[str, Any] | None:
        """The parameters chosen on all rows, as plain data."""
        number = self.best.get(None)
        return None if number is None else dict(self.trials[None][number]["parameters"])

    @cached_property
    def importance(self) -> dict[str, float]:
        """The share of the variation between trials (within each search) that goes with each parameter alone.

        Values are put into up to five groups; the share is corrected for the number of groups (epsilon squared), so
        that a parameter without effect has 0 on average. Shares need not add up to 1: parameters act together, and a
        search that follows its own scores tries good regions more often.
        """
        return {one.name: _effect(self._points(one)) for one in self.search.space.dimensions}

    def _points(self, dimension: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each search the places of the parameter's values and the scores."""
        found = []
        for trials in self.trials.values():
            kept = [t for t in trials.values() if t["score"] is not None and dimension.name in t["parameters"]]
            if len(kept) > 2:
                places = np.array([dimension.place(from_plain(t["parameters"][dimension.name])) for t in kept])
                scores = np.array([t["score"] for t in kept])
                found.append((places[np.isfinite(places)], scores[np.isfinite(places)]))
        return found

    def to_frame(self) -> Any:
        """Every trial as a row of a Polars frame: repetition, fold (None: all rows), trial, parameters, score, best."""
        names = [one.name for one in self.search.space.dimensions]
        rows: list[dict[str, Any]] = []
        for split, trials in self.trials.items():
            repetition, fold = (None, None) if split is None else self.places[split]
            for number, trial in sorted(trials.items()):
                said = {name: _cell(trial["parameters"].get(name)) for name in names}
                end = {"score": trial["score"], "best": number == self.best[split], "error": trial["error"]}
                rows.append({"repetition": repetition, "fold": fold, "trial": number, **said, **end})
        columns = ["repetition", "fold", "trial", *names, "score", "best", "error"]
        cells = {name: [row[name] for row in rows] for name in columns}
        for name in names:
            if any(isinstance(value, str) for value in cells[name]):
                cells[name] = [None if value is None else str(value) for value in cells[name]]
        return frame_of(cells)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the single trials."""
        return {
            "method": self.search.method,
            "trials": self.search.count,
            "inner_folds": self.search.folds,
            "space": self.search.space.to_plain(),
            "metric": self.metric,
            "inner": float(np.mean(self.inner)),
            "outer": float(np.mean(self.outer)),
            "optimism": self.optimism,
            "naive": self.naive,
            "importance": self.importance,
            "final": self.final,
            "failed_trials": sum(t["score"] is None for trials in self.trials.values() for t in trials.values()),
            "words": self.sentence,
        }

    def __post_init__(self) -> None:
        object.__setattr__(self, "sentence", self._words())

    def _facts(self) -> list[tuple[str, str]]:
        shares = sorted(self.importance.items(), key=lambda item: -item[1])
        return [
            ("inner score of the winners", f"{np.mean(self.inner):.4f}"),
            ("score on unseen rows", f"{np.mean(self.outer):.4f}"),
            ("optimism", f"{self.optimism:+.4f}"),
            *((f"share of {name}", f"{100 * share:.0f} %") for name, share in shares),
        ]

    def _words(self) -> str:
        said = [
            f"Of {self.search.words(self.different)} the best scored a mean {self.metric} of "
            f"{np.mean(self.inner):.4f} inside the training rows and {np.mean(self.outer):.4f} on rows it had not "
            f"seen: an optimism of {self.optimism:+.4f}."
        ]
        mattered = sorted(self.importance.items(), key=lambda item: -item[1])
        shown = [f"{name} ({100 * share:.0f} %)" for name, share in mattered[:3] if share >= 0.05]
        if shown:
            said.append(f"What mattered, as shares of the variation between settings: {', '.join(shown)}.")
        if self.final is not None:
            chosen = ", ".join(f"{name}={_shown(value)}" for name, value in self.final.items())
            said.append(f"Chosen on all rows: {chosen or 'the settings as given'}.")
        return " ".join(said)


def _effect(points: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Epsilon squared of the groups of one parameter over all searches, each search about its own mean."""
    if not points:
        return 0.0
    everywhere = np.unique(np.concatenate([places for places, _ in points]))
    edges = (
        everywhere
        if everywhere.size <= 5
        else np.quantile(np.concatenate([p for p, _ in points]), [0.2, 0.4, 0.6, 0.8])
    )
    between = within = 0.0
    groups_free = within_free = 0
    for places, scores in points:
        if scores.size < 3:
            continue
        groups = np.searchsorted(edges, places, side="left" if everywhere.size <= 5 else "right")
        centred = scores - scores.mean()
        for group in np.unique(groups):
            own = centred[groups == group]
            between += own.size * own.mean() ** 2
            within += float(((own - own.mean()) ** 2).sum())
            within_free += own.size - 1
        groups_free += np.unique(groups).size - 1
    total = between + within
    if total <= 0 or within_free <= 0 or groups_free <= 0:
        return 0.0
    return float(np.clip((between - groups_free * within / within_free) / total, 0.0, 1.0))


def _cell(value: Any) -> Any:
    """A parameter for a table: numbers and text as they are, the rest in words."""
    if value is None or isinstance(value, (int, float, str)):
        return value
    return _shown(value)


def _shown(value: Any) -> str:
    plain_value = from_plain(value)
    return compact(plain_value) if isinstance(plain_value, float) else plain(plain_value, 40)
