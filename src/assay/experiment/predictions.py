"""Out-of-fold predictions: what each learner said of the rows it had not seen, from which every metric follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _kernels
from ..base import Classifier
from ..base.errors import DataError, UsageError, plain
from ..base.folds import cut_at, row_lists
from ..evaluate import Evidence, get_metric
from ..evaluate.batch_metrics import fold_errors, fold_metric


@dataclass(frozen=True, eq=False)
class FoldPredictions:
    """The predictions of one fold's test rows: class codes with class probabilities, or numbers."""

    predicted: np.ndarray
    """Class codes (int64) or numbers (float64), one per test row."""
    probabilities: np.ndarray | None = None
    """Array (test rows, classes), or None for a learner that gives none and for numbers."""

    @classmethod
    def by(cls, model: Any, rows: Any, n_classes: int | None) -> FoldPredictions:
        """What a fitted model says of these rows; a class that its training rows lacked has probability 0. Answers of
        other packages are not trusted: what is no number, no probability or no label is refused."""
        if model is None:
            raise DataError(
                "the learner", "'fit'", "must return the fitted learner", "got None", "end it in return self"
            )
        if n_classes is None:
            return cls(_answers(model, rows, "predict", 1))
        shares = None
        if hasattr(model, "predict_proba"):
            known = np.asarray(getattr(model, "classes_", np.arange(n_classes)), dtype=np.int64)
            shares = _answers(model, rows, "predict_proba", known.shape[0])
            if not isinstance(model, Classifier):
                _check_shares(model, shares)
            if known.shape[0] != n_classes:
                given, shares = shares, np.zeros((shares.shape[0], n_classes))
                shares[:, known] = given
        if shares is not None and isinstance(model, Classifier):
            return cls(np.argmax(shares, axis=1), shares)
        # Other packages may predict by a rule of their own (a margin), which need not be the largest probability.
        labels = _answers(model, rows, "predict", 1)
        strange = labels[~np.isin(labels, np.arange(n_classes))]
        if strange.size:
            raise _refused(model, "predict", "must answer with labels of the training rows", f"got {strange[0]:g}")
        return cls(labels.astype(np.int64), shares)

    @classmethod
    def of(cls, answer: np.ndarray, n_classes: int | None) -> FoldPredictions:
        """Probabilities of all classes, or numbers, as predictions."""
        return cls(answer) if n_classes is None else cls(np.argmax(answer, axis=1), answer)

    # -- as arrays for the store ---------------------------------------------------------------------------------
    def arrays(self) -> dict[str, np.ndarray]:
        """Compact arrays that `read` takes: codes are left out where they are those of the largest probability."""
        kept = {} if self.probabilities is None else {"probabilities": self.probabilities}
        if self.predicted.dtype.kind == "f":
            return {"values": self.predicted}
        if self.probabilities is None or not np.array_equal(self.predicted, self.probabilities.argmax(axis=1)):
            smallest = np.min_scalar_type(int(self.predicted.max(initial=0)))
            kept["codes"] = self.predicted.astype(smallest if smallest.kind == "u" else np.int64)
        return kept

    @classmethod
    def read(cls, arrays: Any, n_rows: int, n_classes: int | None) -> FoldPredictions | None:
        """The predictions that these arrays hold; None if they are not those of so many rows and classes."""
        if not isinstance(arrays, Mapping) or not all(isinstance(array, np.ndarray) for array in arrays.values()):
            return None
        shape = {"values": (n_rows,), "codes": (n_rows,), "probabilities": (n_rows, n_classes)}
        kinds = {"values": "f", "codes": "iu", "probabilities": "f"}
        for name, array in arrays.items():
            if name not in shape or array.shape != shape[name] or array.dtype.kind not in kinds[name]:
                return None
        if n_classes is None:
            return cls(arrays["values"].astype(np.float64, copy=False)) if set(arrays) == {"values"} else None
        shares = arrays.get("probabilities")
        codes = arrays.get("codes")
        if "values" in arrays:
            return None
        if codes is None:
            return None if shares is None else cls(shares.argmax(axis=1), shares)
        if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < n_classes:
            return None
        return cls(codes.astype(np.int64), shares)

    # -- scores ----------------------------------------------------------------------------------------------------
    def measure(self, truth: np.ndarray, metrics: Iterable[str], n_classes: int | None) -> tuple[dict[str, float], Any]:
        """The named metrics, and the confusion matrix as lists (None for numbers)."""
        shares = None if self.probabilities is None else np.ascontiguousarray(self.probabilities)
        if n_classes is None:
            evidence = Evidence(truth, values=self.predicted)
        elif not 0 <= self.predicted.min(initial=0) <= self.predicted.max(initial=0) < n_classes:
            classes = np.arange(n_classes)
            evidence = Evidence(truth, labels=self.predicted, probabilities=shares, classes=classes)
        else:
            evidence = Evidence.of_codes(truth, self.predicted, shares, n_classes)
        scores = {name: get_metric(name).of(evidence) for name in metrics}
        return scores, None if n_classes is None else evidence.confusion.tolist()


SLACK = 1e-3
"""By how much probabilities in single precision may miss the range from 0 to 1, and their sum 1."""


def _refused(model: Any, method: str, rule: str, came: str) -> DataError:
    return DataError(type(model).__name__, f"'{method}'", rule, came)


def _answers(model: Any, rows: Any, method: str, width: int) -> np.ndarray:
    """The answers of a model as numbers, one for each row, or `width` for each: one that says NaN has not predicted."""
    given = np.asarray(getattr(model, method)(rows))
    try:
        answers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        first = plain(repr(given.ravel()[0].item() if given.size else given), 40)
        raise _refused(
            model, method, "must answer with what it was trained on, coded as numbers", f"got {first}"
        ) from None
    if width == 1 and method == "predict" and answers.shape == (rows.shape[0], 1):
        answers = answers[:, 0]  # one column is as good as none
    wanted = (rows.shape[0],) if method == "predict" else (rows.shape[0], width)
    if answers.shape != wanted:
        each = f"each of {rows.shape[0]:,} rows"
        rule = f"must answer for {each}" if len(wanted) == 1 else f"must give {width} probabilities for {each}"
        raise _refused(model, method, rule, f"got an array of shape {answers.shape}")
    missing = np.isnan(answers.reshape(answers.shape[0], -1)).any(axis=1)
    if missing.any():
        came = f"got NaN for {int(missing.sum()):,} of {len(answers):,} rows"
        raise _refused(model, method, "must answer with numbers", came)
    return answers


def _check_shares(model: Any, shares: np.ndarray) -> None:
    """Refuse probabilities that are none."""
    low, high = float(shares.min(initial=0.0)), float(shares.max(initial=0.0))
    if low < -SLACK or high > 1.0 + SLACK:
        came = f"got {low if low < -SLACK else high:g}"
        raise _refused(model, "predict_proba", "must give probabilities between 0 and 1", came)
    sums = shares.sum(axis=1)
    worst = float(sums[np.argmax(np.abs(sums - 1.0))]) if sums.size else 1.0
    if abs(worst - 1.0) > SLACK:
        raise _refused(model, "predict_proba", "must give probabilities that sum to 1 in each row", f"got {worst:g}")


_COPIED = 2**15
"""Numbers that are copied at a time to be scored together (of one fold any number)."""


def below_each_other(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Tables of the same columns as one, in C order also where each part is one row repeated.

    >>> below_each_other([np.broadcast_to([0.5, 0.5], (2, 2))]).flags.c_contiguous
    True
    """
    first = parts[0]
    whole = np.empty((sum(part.shape[0] for part in parts), *first.shape[1:]), dtype=np.result_type(*parts))
    return np.concatenate(parts, out=whole)


def _stacked(answers: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, slice]]:
    """The answers of consecutive folds one below the other, and which folds: not copied where they lie so already, as
    `cut_at` leaves them, else some of them at a time."""
    begin = 0
    while begin < len(answers):
        base, end = answers[begin].base, begin + 1
        while end < len(answers) and answers[end].base is base:
            end += 1
        if not isinstance(base, np.ndarray) or not _in_turn(answers[begin:end], base):
            end, held = begin + 1, answers[begin].size
            while end < len(answers) and held + answers[end].size <= _COPIED:
                held += answers[end].size
                end += 1
            base = below_each_other(answers[begin:end])
        yield base, slice(begin, end)
        begin = end


def _in_turn(parts: Sequence[np.ndarray], base: np.ndarray) -> bool:
    """Whether the parts are the rows of a float64 array in their order."""
    if base.dtype != np.float64 or not base.flags.c_contiguous or base.shape[1:] != parts[0].shape[1:]:
        return False
    at = base.__array_interface__["data"][0]
    for part in parts:
        if part.__array_interface__["data"][0] != at or part.dtype != np.float64 or not part.flags.c_contiguous:
            return False
        at += part.nbytes
    return bool(at == base.__array_interface__["data"][0] + base.nbytes)


def _measure_numbers(
    answers: Sequence[np.ndarray], tests: Sequence[np.ndarray], y: np.ndarray, metrics: Sequence[str]
) -> list[tuple[FoldPredictions, dict[str, float], Any]]:
    """The same for numbers: folds of one size together."""
    said = [FoldPredictions.of(answer, None) for answer in answers]
    batches = {name: fold_errors(name) for name in metrics}
    rest = [name for name, batch in batches.items() if batch is None]
    scores: list[dict[str, float]] = [{} for _ in said]
    places: dict[int, list[int]] = {}
    for k, answer in enumerate(answers):
        if answer.ndim == 1:
            places.setdefault(answer.shape[0], []).append(k)
        else:
            scores[k] = said[k].measure(y[tests[k]], metrics, None)[0]
    for some in places.values():
        truth, values = y[np.array([tests[k] for k in some])], np.array([answers[k] for k in some])
        for name, batch in batches.items():
            if batch is not None:
                for k, score in zip(some, batch(truth, values).tolist()):
                    scores[k][name] = score
        for k in some if rest else ():
            scores[k] |= said[k].measure(y[tests[k]], rest, None)[0]
    return [(one, {name: found[name] for name in metrics}, None) for one, found in zip(said, scores, strict=True)]


def measure_folds(
    answers: Sequence[np.ndarray],
    tests: Sequence[np.ndarray],
    y: np.ndarray,
    metrics: Sequence[str],
    n_classes: int | None,
    threads: int = 1,
) -> list[tuple[FoldPredictions, dict[str, float], Any]]:
    """What `FoldPredictions.of` and `measure` give for each of many folds, bit for bit, with one call for all of them.

    `answers` are class probabilities (or numbers) for the rows `tests` of each fold, `y` the codes (or numbers) of all
    rows.
    """
    if n_classes is None or not answers:
        return _measure_numbers(answers, tests, y, metrics)
    codes: list[np.ndarray] = []
    counted: list[np.ndarray] = []
    for shares, some in _stacked(answers):
        predicted, stacked = _kernels.fold_tables(shares, y, row_lists(tests[some]), threads)
        codes += cut_at(predicted, tests[some])
        counted.append(stacked.reshape(-1, n_classes, n_classes))
    tables = np.concatenate(counted)
    # A class that no row of a fold has may be left out of its means.
    whole = (tables.sum(axis=2) > 0).all(axis=1)
    batches = {name: fold_metric(name, n_classes) for name in metrics}
    columns = {name: batch(tables[whole]).tolist() for name, batch in batches.items() if batch is not None}
    rest = [name for name, batch in batches.items() if batch is None]
    place = (np.cumsum(whole) - 1).tolist()
    found = []
    for k, (answer, test, predicted) in enumerate(zip(answers, tests, codes, strict=True)):
        said = FoldPredictions(predicted, answer)
        scores = {name: values[place[k]] for name, values in columns.items()} if whole[k] else {}
        if rest or not whole[k]:
            evidence = Evidence.of_codes(y[test], predicted, np.ascontiguousarray(answer), n_classes, tables[k])
            scores |= {name: get_metric(name).of(evidence) for name in (rest if whole[k] else metrics)}
        found.append((said, {name: scores[name] for name in metrics}, tables[k].tolist()))
    return found


@dataclass(frozen=True, eq=False)
class Predictions:
    """What one learner predicted for the rows it had not seen, fold after fold in the order of the design.

    A row is there once for each time that it was tested: once in a k-fold, five times in a 5x2 design. Classes are
    codes that point into `classes`; without classes `truth` and `predicted` are numbers.
    """

    rows: np.ndarray
    """Row numbers among the rows of the table that have a target, counted from 0."""
    repetition: np.ndarray
    fold: np.ndarray
    truth: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray | None
    """Array (n, classes); None for numbers and for learners without probabilities."""
    classes: np.ndarray | None

    @classmethod
    def gather(cls, plan: Any, title: str, folds: Mapping[int, FoldPredictions]) -> Predictions:
        """The folds of one learner together; refused where some are missing."""
        if len(folds) < len(plan.splits):
            raise UsageError(
                "Results",
                f"learner '{title}'",
                "has no predictions for every fold",
                f"got {len(folds)} of {len(plan.splits)}",
                "see its error, or run the plan again",
            )
        parts = [folds[index] for index in range(len(plan.splits))]
        rows = np.concatenate([split.test for split in plan.splits])
        sizes = [split.test.shape[0] for split in plan.splits]
        shares = [part.probabilities for part in parts if part.probabilities is not None]
        return cls(
            rows=rows,
            repetition=np.repeat([split.repetition for split in plan.splits], sizes),
            fold=np.repeat([split.fold for split in plan.splits], sizes),
            truth=plan.y[rows],
            predicted=np.concatenate([part.predicted for part in parts]),
            probabilities=below_each_other(shares) if len(shares) == len(parts) else None,
            classes=plan.classes,
        )

    def of_repetition(self, repetition: int) -> Predictions:
        """The predictions of one repetition, in which every row is tested at most once."""
        kept = self.repetition == repetition
        return Predictions(
            self.rows[kept],
            self.repetition[kept],
            self.fold[kept],
            self.truth[kept],
            self.predicted[kept],
            None if self.probabilities is None else self.probabilities[kept],
            self.classes,
        )

    def __len__(self) -> int:
        return int(self.rows.shape[0])
