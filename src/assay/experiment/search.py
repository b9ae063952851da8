"""Search for parameters inside the training rows: which settings are tried, in which order, and which one wins.

A `Search` says how: every combination of levels ("grid"), settings drawn at random ("random"), one parameter after
the other at the best of the others ("one-factor"), or Optuna's sampler ("optuna", asked and told one by one). What is
asked for next depends on the number of the trial and the scores of those before it alone, and its chance comes from a
stream of the trial's own; so a search that was interrupted, of which the store holds the first trials, goes on as if
nothing had happened. The learner as it stands ("best guess") is the first trial, except in a grid.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import ParameterError, UsageError, plain
from ..base.randomness import Stream
from ..base.words import count
from .space import Space

METHODS = ("random", "grid", "one-factor", "optuna")

MOST_TRIALS = 10_000


@dataclass(frozen=True)
class Tuned:
    """A learner of a plan whose parameters are chosen inside the training rows of each fold.

    Parameters
    ----------
    learner : as in the list of a plan: a catalogue id, a pair (id, parameters), an estimator or an import path
    space : parameters and their values (see `assay.experiment.space`); None for the space of the catalogue entry
    method : "random", "grid", "one-factor" or "optuna"
    trials : settings to try (random, optuna); a grid tries all, one factor at a time each level once
    levels : values that a grid and one factor at a time take from a range
    folds : inner folds on which a setting is scored

    Examples
    --------
    >>> from assay import compare
    >>> from assay.data import load_dataset
    >>> tuned = Tuned("knn-classifier", {"n_neighbors": [1, 5, 15]}, "grid", folds=3)
    >>> results = compare(load_dataset("iris"), "species", ["knn-classifier", tuned], design="3-fold")
    >>> [one.id for one in results.learners]
    ['knn-classifier', 'knn-classifier-tuned']
    >>> results.tuning("knn-classifier-tuned").to_frame().height
    12
    """

    learner: Any
    space: Any = None
    method: str = "random"
    trials: int = 20
    levels: int = 3
    folds: int = 5


@dataclass(frozen=True)
class Search:
    """How the parameters of a learner are searched, checked."""

    space: Space
    method: str = "random"
    trials: int = 20
    levels: int = 3
    folds: int = 5

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(
                "search",
                "parameter 'method'",
                f"must be one of {', '.join(METHODS)}",
                f"got {plain(repr(self.method))}",
            )
        for name, least in (("trials", 1), ("levels", 2), ("folds", 2)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
                raise ParameterError(
                    "search", f"parameter '{name}'", f"must be an integer >= {least}", f"got {plain(repr(value))}"
                )
        if self.count > MOST_TRIALS:
            raise UsageError(
                "search",
                f"the {self.method} search",
                f"must not have more than {MOST_TRIALS:,} trials",
                f"got {self.count:,}",
                "give fewer parameters or levels, or draw settings with the method random",
            )
        if self.method == "optuna":
            _optuna()

    @property
    def count(self) -> int:
        """How many trials one search makes."""
        if self.method == "grid":
            return self.space.size(self.levels)
        if self.method == "one-factor":
            return 1 + sum(len(one.levels(self.levels)) for one in self.space.dimensions)
        return int(self.trials)

    @property
    def version(self) -> str:
        """The version of the package that chooses, where it is not Assay."""
        return importlib.metadata.version("optuna") if self.method == "optuna" else ""

    def to_dict(self) -> dict[str, Any]:
        """As it is written in a plan."""
        said: dict[str, Any] = {"method": self.method, "folds": int(self.folds)}
        said |= {"trials": int(self.trials)} if self.method in ("random", "optuna") else {"levels": int(self.levels)}
        return said | {"space": self.space.to_plain()}

    def words(self, different: int | None = None) -> str:
        """The search in words; `different` is how many settings were not equal to earlier ones."""
        how = {
            "grid": "every combination of levels",
            "random": "settings drawn at random",
            "one-factor": "one parameter at a time",
            "optuna": "Optuna's choice",
        }[self.method]
        all_differ = different is None or different == self.count
        settings = f"{self.count} settings" if all_differ else count(different or 0, "different setting")
        return f"{settings} ({how}) on {self.folds} inner folds"

    def proposals(self, stream: Stream, greater_is_better: bool) -> Proposals:
        """The settings in the order in which they are tried."""
        kinds = {"grid": _Grid, "random": _Random, "one-factor": _OneFactor, "optuna": _Optuna}
        return kinds[self.method](self, stream, greater_is_better)


class Proposals:
    """Settings one by one: `ask` gives that of trial `number`, None when there are no more; `tell` its score."""

    def __init__(self, search: Search, stream: Stream, greater_is_better: bool):
        self.search, self.stream, self.sign = search, stream, 1.0 if greater_is_better else -1.0

    def ask(self, number: int) -> dict[str, Any] | None:
        raise NotImplementedError  # pragma: no cover

    def tell(self, number: int, score: float | None) -> None:
        """Take the score of the trial that was asked for last; None where it failed."""


class _Grid(Proposals):
    def ask(self, number: int) -> dict[str, Any] | None:
        settings = self.search.space.grid(self.search.levels)
        return settings[number] if number < len(settings) else None


class _Random(Proposals):
    def ask(self, number: int) -> dict[str, Any] | None:
        if number >= self.search.trials:
            return None
        if number == 0:
            return {}
        draw = self.stream.child(number).generator()
        return self.search.space.draw(draw.uniform(size=len(self.search.space.dimensions)).tolist())


class _OneFactor(Proposals):
    """Each parameter in turn takes its levels, the others staying at the best so far."""

    def __init__(self, search: Search, stream: Stream, greater_is_better: bool):
        super().__init__(search, stream, greater_is_better)
        self.best: dict[str, Any] = {}
        self.best_score = -np.inf
        self.asked: dict[str, Any] = {}
        self.order = [
            (one.name, value, k == 0)
            for one in search.space.dimensions
            for k, value in enumerate(one.levels(search.levels))
        ]
        self.fixed: dict[str, Any] = {}

    def ask(self, number: int) -> dict[str, Any] | None:
        if number == 0:
            self.asked = {}
        elif number <= len(self.order):
            name, value, first = self.order[number - 1]
            if first:
                self.fixed = dict(self.best)
            self.asked = {**self.fixed, name: value}
        else:
            return None
        return dict(self.asked)

    def tell(self, number: int, score: float | None) -> None:
        if score is not None and self.sign * score > self.best_score:
            self.best, self.best_score = dict(self.asked), self.sign * score


class _Optuna(Proposals):
    def __init__(self, search: Search, stream: Stream, greater_is_better: bool):
        super().__init__(search, stream, greater_is_better)
        optuna = _optuna()
        self.optuna = optuna
        sampler = optuna.samplers.TPESampler(seed=stream.key % 2**31, n_startup_trials=min(10, search.trials))
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        self.lists = {one.name: one.values for one in search.space.dimensions if one.values}
        self.distributions = {one.name: _distribution(optuna, one) for one in search.space.dimensions}
        self.trial: Any = None

    def ask(self, number: int) -> dict[str, Any] | None:
        if number >= self.search.trials:
            return None
        if number == 0:
            return {}
        self.trial = self.study.ask(self.distributions)
        return {
            name: self.lists[name][int(value)] if name in self.lists else value
            for name, value in self.trial.params.items()
        }

    def tell(self, number: int, score: float | None) -> None:
        if number == 0:
            return
        if score is None:
            self.study.tell(self.trial, state=self.optuna.trial.TrialState.FAIL)
        else:
            self.study.tell(self.trial, self.sign * score)


def _distribution(optuna: Any, one: Any) -> Any:
    """A list is chosen by its number, since Optuna takes plain values alone."""
    kinds = optuna.distributions
    if one.values:
        return kinds.CategoricalDistribution(tuple(range(len(one.values))))
    if one.whole:
        return kinds.IntDistribution(one.low, one.high, log=one.log)
    return kinds.FloatDistribution(one.low, one.high, log=one.log)


def _optuna() -> Any:
    try:
        optuna = importlib.import_module("optuna")
    except ImportError:
        raise UsageError(
            "search", "the method optuna", "needs the package optuna", way_out="install assay[search], or use random"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
