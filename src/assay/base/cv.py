"""What `cv` means, in one place for every method that validates inside.

A number k is k folds in the order of the rows, without shuffling, as in scikit-learn: blocks of rows for numbers
(`KFold`), blocks of each class for a classifier (`StratifiedKFold`); None is 5. Where rows are compared, equal rows
stay in one fold, so that a weight of 2 means what a repeated row means; with distinct rows the folds are
scikit-learn's. A splitter or a list of pairs (training rows, test rows) is taken as it is.

>>> [test.tolist() for _, test in make_folds("demo", 2, np.array([1.0, 2.0, 3.0, 4.0]))]
[[0, 1], [2, 3]]
>>> [test.tolist() for _, test in make_folds("demo", 2, np.array(["a", "a", "b", "b"]), stratify=True)]
[[0, 2], [1, 3]]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import AssayWarning, DataError, ParameterError, plain
from .folds import Fold
from .parameters import Integer, Kind, Nothing, param
from .randomness import Stream

DEFAULT_FOLDS = 5


class Folds(Kind):
    """A list of (training rows, test rows) pairs, or an object with scikit-learn's `split`."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (list, tuple, np.ndarray)) or (
            hasattr(value, "split") and not isinstance(value, (str, bytes))
        )

    def describe(self) -> str:
        return "a list of (train, test) pairs or a splitter"


def cv_param(default: Any, none_means: str) -> Any:
    """Declare `cv` with the wording used by every learner that validates inside."""
    return param(
        default,
        Integer(2) | Folds() | Nothing(),
        "Folds: how many, in the order of the rows and balanced over the classes of a classifier, equal rows kept "
        f"together; a splitter; or a list of pairs (training rows, test rows); None is {none_means}.",
    )


def choose_on_param() -> Any:
    """Declare `choose_on` with the wording used by every learner that may choose on a sample of its rows."""
    return param(
        None,
        Integer(100) | Nothing(),
        "Rows, drawn from the training rows in a fixed way, on which the choice is made where there are more; the "
        "model itself is fitted to all rows. None chooses on all of them.",
    )


def drawn_rows(n_rows: int, most: int | None, codes: np.ndarray | None = None) -> np.ndarray | None:
    """About `most` of the rows, rising, always the same ones; None where all may be taken.

    With class `codes` each class keeps its share, and at least 10 rows or a tenth of an equal share (all it has, if
    fewer), so that no class is lost.

    >>> drawn_rows(1000, None), drawn_rows(1000, 1000), drawn_rows(1000, 400).shape
    (None, None, (400,))
    >>> np.bincount(np.repeat([0, 1], [990, 10])[drawn_rows(1000, 100, np.repeat([0, 1], [990, 10]))]).tolist()
    [99, 10]
    """
    if most is None or n_rows <= most:
        return None
    order = Stream.of(0).generator().permutation(n_rows)
    if codes is None:
        return np.sort(order[:most])
    sizes = np.bincount(codes)
    least = max(10, most // (10 * max(1, int(np.count_nonzero(sizes)))))
    taken = np.minimum(sizes, np.maximum(np.round(sizes * (most / n_rows)).astype(np.int64), least))
    by_class = order[np.argsort(codes[order], kind="stable")]
    place = np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(by_class[place < np.repeat(taken, sizes)])


def folds_of_sample(folds: list[Fold], n_rows: int, drawn: np.ndarray | None) -> list[Fold]:
    """The folds with the drawn rows only; a part that holds none of them stays whole.

    >>> [[part.tolist() for part in fold] for fold in
    ...  folds_of_sample([(np.arange(4), np.arange(4, 6))], 6, np.array([1, 3]))]
    [[[1, 3], [4, 5]]]
    """
    if drawn is None:
        return folds
    inside = np.zeros(n_rows, dtype=bool)
    inside[drawn] = True

    def some(part: np.ndarray) -> np.ndarray:
        found = part[inside[part]]
        return found if found.size else part

    return [(some(train), some(test)) for train, test in folds]


def make_folds(
    who: str,
    cv: Any,
    y: np.ndarray,
    *,
    stratify: bool = False,
    kept: np.ndarray | None = None,
    copies: Callable[[], np.ndarray] | None = None,
    random_state: Any = None,
) -> list[Fold]:
    """Folds as pairs of positions among the rows that are kept.

    Parameters
    ----------
    who : who asks, for the error sentence
    cv : None, a number, a splitter, or pairs of rows (numbers or masks)
    y : the target of the kept rows
    stratify : whether the target holds classes to balance over the folds
    kept : mask of the rows of positive weight among all rows given; splitters and pairs count all rows given
    copies : gives for each kept row the number of the first row equal to it; None where rows are not compared
    random_state : a seed to deal the rows to the folds in random order; None keeps the order
    """
    if cv is None or (isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)):
        count = DEFAULT_FOLDS if cv is None else int(cv)
        return _numbered(who, count, y, stratify, None if copies is None else copies(), random_state)
    mask = np.ones(y.shape[0], dtype=bool) if kept is None else kept
    if hasattr(cv, "split"):
        given = np.zeros(mask.shape[0], dtype=y.dtype)
        given[mask] = y
        cv = _ask(who, lambda: list(cv.split(np.zeros((mask.shape[0], 1)), given)))
    return _paired(who, cv, mask)


def _ask(who: str, pairs: Callable[[], Any]) -> Any:
    try:
        return pairs()
    except (TypeError, ValueError, AttributeError) as error:
        raise ParameterError(
            who,
            "parameter 'cv'",
            "must be a number of folds, a splitter or a list of pairs of row lists that makes folds of the rows",
            plain(error),
        ) from None


def _paired(who: str, cv: Any, kept: np.ndarray) -> list[Fold]:
    """Pairs of rows as positions among the kept rows; a fold without test rows of weight is left out."""
    place = np.cumsum(kept) - 1
    folds: list[Fold] = []
    for pair in _ask(who, lambda: [(np.asarray(train), np.asarray(test)) for train, test in cv]):
        try:
            parts = [np.flatnonzero(part) if part.dtype == bool else _numbers(part) for part in pair]
            parts = [place[part[kept[part]]] for part in parts]
        except (TypeError, ValueError, IndexError) as error:
            raise ParameterError(
                who,
                "parameter 'cv'",
                f"must hold pairs of row numbers below {kept.shape[0]}",
                plain(error),
            ) from None
        if not parts[0].size:
            raise DataError(who, "a fold of 'cv'", "must have training rows of positive weight", "got an empty part")
        if parts[1].size:
            folds.append((parts[0], parts[1]))
    if not folds:
        raise ParameterError(
            who, "parameter 'cv'", "must leave rows of positive weight to train and to test on", "got no such fold"
        )
    return folds


def _numbers(part: np.ndarray) -> np.ndarray:
    if part.size and (part.ndim != 1 or part.dtype.kind not in "iu"):
        raise TypeError(f"a part of a fold must be a list of row numbers or a mask, not of {part.dtype}")
    return part.astype(np.int64)


def _numbered(
    who: str, count: int, y: np.ndarray, stratify: bool, group: np.ndarray | None, random_state: Any
) -> list[Fold]:
    n_rows = y.shape[0]
    group = np.arange(n_rows) if group is None else group
    firsts = np.flatnonzero(group == np.arange(n_rows))
    if firsts.shape[0] < 2:
        raise DataError(
            who,
            "X and y",
            "must hold at least 2 distinct rows for cross-validation",
            f"got n_samples={n_rows} with {firsts.shape[0]} distinct",
        )
    if firsts.shape[0] < count:
        text = f"{who}: {count} folds asked for and {firsts.shape[0]} distinct rows there; each of these is a fold."
        warnings.warn(AssayWarning("W122", text), stacklevel=5)
        count = firsts.shape[0]
    if random_state is not None:
        firsts = Stream.of(random_state).generator().permutation(firsts)
    dealt = _balanced(y[firsts], count) if stratify else np.repeat(np.arange(count), _sizes(firsts.shape[0], count))
    block = np.empty(n_rows, dtype=np.int64)
    block[firsts] = dealt
    block = block[group]
    parts = [(np.flatnonzero(block != k), np.flatnonzero(block == k)) for k in range(count)]
    folds: list[Fold] = [(train, test) for train, test in parts if test.size]
    if len(folds) < 2:
        raise DataError(who, "X and y", "must hold at least 2 distinct rows of some class for cross-validation")
    return folds


def _sizes(n_rows: int, count: int) -> np.ndarray:
    sizes = np.full(count, n_rows // count)
    sizes[: n_rows % count] += 1
    return sizes


def _balanced(labels: np.ndarray, count: int) -> np.ndarray:
    """The fold of each row, blocks of each class in order; -1 (never tested) for the only row of a class, without which
    the training rows would lack the class."""
    _, first, codes, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    codes = np.argsort(np.argsort(first))[codes]  # classes by first appearance, as in scikit-learn
    ordered = np.sort(codes)
    fold = np.empty(labels.shape[0], dtype=np.int64)
    shares = [np.bincount(ordered[k::count], minlength=sizes.shape[0]) for k in range(count)]
    for c in range(sizes.shape[0]):
        rows = np.flatnonzero(codes == c)
        fold[rows] = np.repeat(np.arange(count), [share[c] for share in shares]) if rows.shape[0] > 1 else -1
    return fold
