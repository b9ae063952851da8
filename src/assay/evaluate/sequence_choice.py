"""Sequences that were not fitted: cross-validation by sequence and by time, and the number of hidden states.

A model of sequences is tested on what it was not fitted to: on whole sequences (any design, over the sequences), or on
the end of each, given its past (`TimeSplitter`): the log likelihood of a test block is that of the sequence up to the
end of the block minus that up to its begin, under a model of the training rows, all of which are earlier. Nothing later
than a row is used for it, neither in the fit nor in the score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from ..base import DataError, Integer, ParameterError, Stream, UsageError, plain
from ..base.folds import take_rows
from ..base.record import Grid, TableRecord
from ..base.words import listing, number
from ..models.sequences import HiddenMarkovModel
from ..models.sequences.reading import as_table, is_unknown, offsets_of, symbols_of
from .count_choice import CountChoice
from .fits import run_all, seeded
from .splitters import TimeSplitter, as_splitter

CRITERIA = ("bic", "held-out")
Segment = tuple[int, int]


@dataclass(frozen=True)
class SequenceScores(TableRecord):
    """Log likelihoods of what was not fitted, split by split: `per_row` of test rows, `train_per_row` of the others.

    `mean` is that of `per_row`, `standard_error` its error (corrected for training rows that splits share).
    """

    by: str
    per_row: tuple[float, ...]
    train_per_row: tuple[float, ...]
    rows: tuple[int, ...]
    mean: float
    standard_error: float
    sentence: str

    def grid(self) -> Grid:
        """A line for each split."""
        lines = [
            [str(j + 1), str(rows), number(train), number(test)]
            for j, (rows, train, test) in enumerate(zip(self.rows, self.train_per_row, self.per_row))
        ]
        return Grid(["split", "test rows", "training", "held out"], lines, notes=(self.sentence,), left=0)


@dataclass(frozen=True)
class StatesChoice(CountChoice):
    """What each criterion says of each number of hidden states.

    `within_one_error` are the numbers whose held-out likelihood is within one standard error of the best.
    """

    counted: ClassVar[str] = "states"
    meaning: ClassVar[dict[str, str]] = {
        "bic": "BIC on all sequences, least",
        "held-out": "log likelihood per row of what was not fitted, largest",
    }

    within_one_error: tuple[int, ...] = ()


def cross_validate_sequences(
    model: Any,
    X: Any,
    lengths: Any = None,
    *,
    design: Any = None,
    times: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> SequenceScores:
    """Fit a model of sequences to some of them and score it on the others, without looking ahead.

    `X` and `lengths` are as in `fit`: a table, a table with lengths, or a list of sequences. `design` is a design by
    name or a splitter over the sequences, or a `TimeSplitter` over the rows of each sequence (by their places, or by
    `times`, one for each row); None takes up to five folds of the sequences, or five blocks of time if there is one.

    >>> from assay.evaluate import TimeSplitter
    >>> rng = np.random.default_rng(0)
    >>> level = np.cumsum(rng.random(300) < 0.05) % 2
    >>> X = (4.0 * level + rng.normal(size=300))[:, None]
    >>> found = cross_validate_sequences(HiddenMarkovModel(2), X, design=TimeSplitter(3), random_state=0)
    >>> found.by, found.rows
    ('time', (75, 75, 75))
    """
    who = "cross_validate_sequences"
    return _scores(who, *_prepared(who, model, X, lengths), design, times, Stream.of(random_state), n_jobs)


def choose_states(
    X: Any,
    states: Iterable[int] = range(1, 7),
    *,
    model: Any = None,
    lengths: Any = None,
    criteria: Iterable[str] = CRITERIA,
    design: Any = None,
    times: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> StatesChoice:
    """Ask BIC and the likelihood of held-out sequences (or later rows) how many hidden states there are.

    `model` says what the states emit (three restarts of normal emissions if None); its `n_states` is tried at each
    number. `design` and `times` are those of `cross_validate_sequences`; every number has the same splits.

    >>> rng = np.random.default_rng(0)
    >>> walk = [np.cumsum(rng.random(80) < 0.1) % 2 for _ in range(6)]
    >>> X = [(4.0 * level + rng.normal(size=80))[:, None] for level in walk]
    >>> choice = choose_states(X, (1, 2, 3), random_state=0)
    >>> choice.chosen, sorted(choice.values)
    (2, ['bic', 'held-out'])
    """
    who = "choose_states"
    wanted = tuple(criteria)
    counts = tuple(states) if isinstance(states, Iterable) else (states,)
    unknown = [name for name in wanted if name not in CRITERIA]
    if unknown or not wanted:
        raise ParameterError(who, "parameter 'criteria'", f"must name some of {listing(CRITERIA)}", f"got {wanted}")
    if not counts or not all(Integer(1).accepts(k) for k in counts):
        raise ParameterError(
            who, "parameter 'states'", "must hold whole numbers >= 1", f"got {plain(repr(counts), 60)}"
        )
    prototype = HiddenMarkovModel(n_init=3) if model is None else model
    prototype, table, offsets = _prepared(who, prototype, X, lengths)
    root = Stream.of(random_state)
    values: dict[str, tuple[float, ...]] = {}
    best: dict[str, int] = {}
    errors: dict[str, tuple[float, ...]] = {}
    near: tuple[int, ...] = ()
    if "bic" in wanted:
        parts = np.diff(offsets)

        def cost(k: int) -> float:
            fitted = seeded(prototype, root.child(2).child(k), n_states=k).fit(table, parts)
            return float(fitted.bic(table, parts))

        costs = run_all(cost, [(k,) for k in counts], n_jobs)
        values["bic"], best["bic"] = tuple(costs), counts[int(np.argmin(costs))]
    if "held-out" in wanted:
        found = [
            _scores(who, clone(prototype).set_params(n_states=k), table, offsets, design, times, root, n_jobs)
            for k in counts
        ]
        means = np.array([one.mean for one in found])
        if np.isneginf(means).all():
            raise DataError(
                who,
                "held-out sequences",
                "must be possible under some of the models",
                "each holds a symbol or a step that training rows never have",
                "give the model emission_prior and transition_prior",
            )
        top = int(np.argmax(means))
        values["held-out"], best["held-out"] = tuple(means.tolist()), counts[top]
        errors["held-out"] = tuple(one.standard_error for one in found)
        near = tuple(k for k, mean in zip(counts, means) if mean >= means[top] - errors["held-out"][top])
    return StatesChoice.of(counts, values, best, errors, within_one_error=near)


def _prepared(who: str, model: Any, X: Any, lengths: Any) -> tuple[Any, Any, np.ndarray]:
    """The model with the symbols of all sequences, one table, and where its sequences begin."""
    if not isinstance(model, HiddenMarkovModel):
        raise UsageError(who, "model", "must be a HiddenMarkovModel", f"got {plain(repr(model), 60)}")
    symbols = model.emission == "categorical"
    table, lengths = as_table(who, X, lengths, symbols=symbols)
    if not hasattr(table, "shape"):
        table = np.asarray(table, dtype=object if symbols else None)
    if not table.shape:
        raise DataError(who, "X", "must be a table, or a list of sequences", f"got {plain(repr(X), 40)}")
    if symbols and model.categories is None:
        cells = symbols_of(who, table)
        known = cells[~is_unknown(cells)]
        if known.size:
            model = clone(model).set_params(categories=np.unique(np.array(known.tolist())))
    return model, table, offsets_of(who, lengths, table.shape[0])


def _scores(
    who: str,
    model: Any,
    table: Any,
    offsets: np.ndarray,
    design: Any,
    times: Any,
    root: Stream,
    n_jobs: int | None,
) -> SequenceScores:
    n_sequences = len(offsets) - 1
    if design is None:
        design = TimeSplitter(5) if n_sequences == 1 else f"{min(5, n_sequences)}-fold"
    by_time = isinstance(design, TimeSplitter)
    if by_time:
        splits = _time_splits(who, design, offsets, times)
    else:
        splits = _sequence_splits(who, as_splitter(who, design, root.child(0), False), offsets)

    def one(number: int, train: list[Segment], test: list[tuple[int, int, int]]) -> tuple[float, float, int]:
        fitted = seeded(model, root.child(1).child(number))
        rows, lengths = _rows_of(train)
        fitted.fit(take_rows(table, rows), lengths)
        trained = float(fitted.score_samples(take_rows(table, rows), lengths).sum()) / len(rows)
        gained, count = 0.0, 0
        for past, begin, end in test:
            upto = float(fitted.score_samples(take_rows(table, np.arange(past, end))).sum())
            before = (
                float(fitted.score_samples(take_rows(table, np.arange(past, begin))).sum()) if begin > past else 0.0
            )
            gained += upto - before if math.isfinite(before) else -math.inf
            count += end - begin
        return gained / count, trained, count

    found = run_all(one, [(j, *split) for j, split in enumerate(splits)], n_jobs)
    scores = np.array([score for score, _, _ in found])
    error, mean = math.nan, float(scores.mean())
    if len(found) > 1 and np.isfinite(scores).all():
        ratio = float(np.mean([count / len(_rows_of(train)[0]) for (_, _, count), (train, _) in zip(found, splits)]))
        error = float(scores.std(ddof=1)) * math.sqrt(1 / len(scores) + ratio)
    what = "later rows" if by_time else "whole sequences"
    text = f"The mean log likelihood per row of {what} that were not fitted is {number(mean)}"
    text += f" (standard error {number(error)}, {len(scores)} splits)." if math.isfinite(error) else "."
    return SequenceScores(
        "time" if by_time else "sequence",
        tuple(scores.tolist()),
        tuple(score for _, score, _ in found),
        tuple(count for _, _, count in found),
        mean,
        error,
        text,
    )


def _rows_of(segments: list[Segment]) -> tuple[np.ndarray, list[int]]:
    """The rows of stretches of the table, one after the other, and their lengths."""
    return np.concatenate([np.arange(a, b) for a, b in segments]), [b - a for a, b in segments]


Splits = list[tuple[list[Segment], list[tuple[int, int, int]]]]
"""Stretches of rows to fit, and to test: begin of the past, begin, end."""


def _sequence_splits(who: str, splitter: Any, offsets: np.ndarray) -> Splits:
    n = len(offsets) - 1
    if n < 2:
        raise DataError(
            who, "sequences", "must be at least 2 to leave some out", "got 1", "give a TimeSplitter as design"
        )
    ends = offsets.tolist()
    return [
        ([(ends[s], ends[s + 1]) for s in train], [(ends[s], ends[s], ends[s + 1]) for s in test])
        for train, test in splitter.split(np.arange(n))
    ]


def _time_splits(who: str, splitter: TimeSplitter, offsets: np.ndarray, times: Any) -> Splits:
    """Stretches of each sequence before and in each block of time."""
    if splitter.scheme != "forward":
        raise ParameterError(
            who, "the design", "must not look ahead: TimeSplitter with scheme 'forward'", f"got '{splitter.scheme}'"
        )
    n_rows, lengths = int(offsets[-1]), np.diff(offsets)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    if times is None:
        times = np.arange(n_rows) - offsets[owner]
    stamps = np.asarray(times)
    if stamps.shape != (n_rows,):
        raise DataError(who, "times", f"must hold one time for each of {n_rows} rows", f"got shape {stamps.shape}")
    inside = owner[1:] == owner[:-1]
    if (inside & ~(stamps[1:] >= stamps[:-1])).any():
        row = int(np.flatnonzero(inside & ~(stamps[1:] >= stamps[:-1]))[0]) + 1
        raise DataError(who, "times", "must not fall within a sequence", f"got an earlier one at row {row}")

    def stretches(rows: np.ndarray) -> dict[int, Segment]:
        own = owner[rows]
        begins = np.flatnonzero(np.r_[True, own[1:] != own[:-1]])
        ends = np.r_[begins[1:], len(rows)]
        return {int(own[a]): (int(rows[a]), int(rows[b - 1]) + 1) for a, b in zip(begins, ends)}

    splits: Splits = []
    for train, test in splitter.split(np.zeros(n_rows), None, stamps):
        tested = [(int(offsets[s]), a, b) for s, (a, b) in stretches(test).items()]
        splits.append((list(stretches(train).values()), tested))
    return splits
