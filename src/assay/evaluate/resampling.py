"""Designs: how rows are split into training and test parts, and how often.

A design is known by its name ("5x2", "10-fold", "10x10", "holdout", "leave-one-out"); the test that is valid for
the scores follows from its kind (see `assay.evaluate.compare`). Splits depend on the rows' labels, the seed and
the design alone: repetition r draws from child stream r, so repetition 3 of "5x2" equals repetition 3 of "10x2".
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _kernels
from ..base.errors import AssayWarning, DataError, DesignError, ParameterError, plain
from ..base.folds import Fold, RestFold
from ..base.randomness import Stream

_REPEATED = re.compile(r"([1-9]\d*)\s*[x×]\s*([1-9]\d*)")
_FOLDS = re.compile(r"([1-9]\d*)-?fold")
_HOLDOUT = re.compile(r"hold-?out(?:-(0?\.\d+))?")


class Split:
    """One training and test part: `repetition`, `fold`, and the row indices `train` and `test` (ascending).

    The splits of a repetition share one array of fold numbers and find their rows when asked, so that a
    leave-one-out design over many rows costs no more memory than one split.

    >>> split = Split(0, 1, train=np.array([0, 2]), test=np.array([1]))
    >>> train, test = split.rows
    >>> test
    array([1])
    """

    __slots__ = ("_assignment", "_test", "_train", "fold", "repetition")

    def __init__(
        self,
        repetition: int,
        fold: int,
        train: np.ndarray | None = None,
        test: np.ndarray | None = None,
        *,
        assignment: np.ndarray | None = None,
    ):
        self.repetition, self.fold = repetition, fold
        self._train, self._test, self._assignment = train, test, assignment

    @property
    def train(self) -> np.ndarray:
        """Indices of the training rows."""
        return np.flatnonzero(self._assignment != self.fold) if self._train is None else self._train

    @property
    def test(self) -> np.ndarray:
        """Indices of the test rows."""
        return np.flatnonzero(self._assignment == self.fold) if self._test is None else self._test

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The pair (train, test), as `fit_folds` and scikit-learn take it."""
        return self.train, self.test

    def __repr__(self) -> str:
        return f"Split(repetition={self.repetition}, fold={self.fold})"


def rows_of(splits: Sequence[Split]) -> list[Fold]:
    """`Split.rows` of each of many splits, those of one repetition together; training rows that are all the others are
    listed when asked for.

    >>> dealt = np.array([0, 1, 0], dtype=np.int32)
    >>> [test.tolist() for _, test in rows_of([Split(0, k, assignment=dealt) for k in (0, 1)])]
    [[0, 2], [1]]
    """
    found: list[Fold] = []
    for _, group in itertools.groupby(splits, key=lambda split: id(split._assignment)):
        some = list(group)
        dealt = some[0]._assignment
        if dealt is None or dealt.dtype != np.int32 or any(split._train is not None for split in some):
            found += [split.rows for split in some]
            continue
        rows, ends = _kernels.rows_by_fold(np.ascontiguousarray(dealt), max(split.fold for split in some) + 1)
        edges = [0, *ends.tolist()]
        found += [RestFold(rows[edges[one.fold] : edges[one.fold + 1]], dealt.shape[0]) for one in some]
    return found


@dataclass(frozen=True)
class Design:
    """A way of splitting: its kind settles which test is valid for the scores it gives.

    `kind` is "5x2", "kfold", "repeated", "holdout" or "leave-one-out"; `folds` is None for leave-one-out, where
    every row is a fold; `test_share` is the share of rows held out, for "holdout" only.

    >>> design = make_design("5x2")
    >>> design.kind, design.repetitions, design.folds
    ('5x2', 5, 2)
    >>> [split.test.tolist() for split in make_design("2-fold").splits([0, 0, 1, 1], True, random_state=0)]
    [[1, 3], [0, 2]]
    """

    name: str
    kind: str
    repetitions: int
    folds: int | None
    test_share: float | None = None

    def describe(self) -> str:
        """The design in words."""
        if self.kind == "holdout":
            return f"one split that holds out {100 * self._share:.3g} % of the rows for testing"
        if self.kind == "leave-one-out":
            return "leave-one-out: every row is tested once by a model of all the others"
        if self.repetitions == 1:
            return f"{self.folds}-fold cross-validation: every row is tested once"
        return (
            f"{self.repetitions} repetitions of {self.folds}-fold cross-validation: "
            f"every row is tested {self.repetitions} times"
        )

    @property
    def _share(self) -> float:
        return 0.25 if self.test_share is None else self.test_share

    def n_splits(self, n_rows: int) -> int:
        """How many splits the design has for a table of `n_rows` rows."""
        return self.repetitions * (n_rows if self.folds is None else self.folds)

    def sizes(self, n_rows: int) -> tuple[float, float]:
        """Training and test rows per split (the mean over folds where they differ by a row)."""
        if self.kind == "holdout":
            held_out = _held_out(n_rows, self._share)
            return float(n_rows - held_out), float(held_out)
        test = n_rows / (n_rows if self.folds is None else self.folds)
        return n_rows - test, test

    def splits(self, y: Any, stratified: bool, random_state: Any = None, groups: Any = None) -> list[Split]:
        """The splits for rows with the targets `y`.

        Stratified: the count of every class differs by at most one row between folds, and so does the size of the
        folds. With `groups`, all rows of a group fall into the same fold, and classes are balanced as well as the
        groups allow.
        """
        codes, labels = _codes(y) if stratified else (np.zeros(_length(y), dtype=np.int64), None)
        n_rows = codes.shape[0]
        self._check(n_rows)
        root = Stream.of(random_state)
        if self.folds is None:
            if groups is not None:
                raise DesignError(
                    "make_design", "leave-one-out", "takes no groups", way_out="use as many folds as there are groups"
                )
            assignment = np.arange(n_rows, dtype=np.int32)
            return [Split(0, row, assignment=assignment) for row in range(n_rows)]
        if groups is not None:
            return self._grouped(codes, _group_codes(groups, n_rows), root)
        if self.kind == "holdout":
            assignment = _hold_out(codes, _held_out(n_rows, self._share), root.child(0).generator())
            return [Split(0, 0, assignment=assignment)]
        if stratified:
            _warn_small_classes(codes, labels, self.folds)
        return self._collect(
            stratified_assignment(codes, self.folds, root.child(r).generator()) for r in range(self.repetitions)
        )

    def _grouped(self, codes: np.ndarray, groups: np.ndarray, root: Stream) -> list[Split]:
        n_groups = int(groups.max()) + 1
        folds = self.folds or 1
        if self.kind == "holdout":
            # The nearest whole number of parts, of which the first is held out.
            folds = max(2, round(1 / self._share))
        if n_groups < folds:
            raise DesignError(
                "make_design",
                f"design '{self.name}'",
                f"needs at least {folds} groups",
                f"got {n_groups}",
                "choose fewer folds" if n_groups > 1 else "choose a column with more groups, or none",
            )
        drawn = (grouped_assignment(codes, groups, folds, root.child(r).generator()) for r in range(self.repetitions))
        return self._collect(drawn)

    def _collect(self, assignments: Iterator[np.ndarray]) -> list[Split]:
        return [
            Split(repetition, fold, assignment=assignment)
            for repetition, assignment in enumerate(assignments)
            for fold in range(self.folds or 1)
        ]

    def _check(self, n_rows: int) -> None:
        needed = max(2, self.folds or 2)
        if n_rows < needed:
            raise DesignError(
                "make_design",
                f"design '{self.name}'",
                f"needs at least {needed} rows",
                f"got {n_rows}",
                "choose fewer folds or bring more rows",
            )


def make_design(name: str | Design, *, test_share: float | None = None) -> Design:
    """The design with this name: "5x2", "10-fold", "RxK" (R repetitions of K folds), "holdout", "leave-one-out".

    `test_share` is for "holdout" (a quarter of the rows by default; "holdout-0.3" says it in the name).

    >>> make_design("10x10").kind
    'repeated'
    >>> make_design("10-fold").describe()
    '10-fold cross-validation: every row is tested once'
    """
    if isinstance(name, Design):
        return name
    text = str(name).strip().lower()
    if match := _HOLDOUT.fullmatch(text):
        share = float(match[1]) if match[1] else (0.25 if test_share is None else float(test_share))
        if not 0 < share < 1:
            raise ParameterError("make_design", "parameter 'test_share'", "must be between 0 and 1", f"got {share:g}")
        return Design(text, "holdout", 1, 1, share)
    if test_share is not None:
        raise ParameterError("make_design", "parameter 'test_share'", "is for the design 'holdout' only")
    if text in ("leave-one-out", "loo"):
        return Design("leave-one-out", "leave-one-out", 1, None)
    if match := _FOLDS.fullmatch(text):
        repetitions, folds = 1, int(match[1])
    elif match := _REPEATED.fullmatch(text):
        repetitions, folds = int(match[1]), int(match[2])
    else:
        raise DesignError(
            "make_design",
            f"design '{plain(name)}'",
            "is not known",
            way_out="use 5x2, 10-fold, RxK such as 10x10, holdout or leave-one-out",
        )
    if folds < 2:
        raise DesignError(
            "make_design", f"design '{plain(name)}'", "needs at least 2 folds", way_out="use holdout for one split"
        )
    if repetitions == 1:
        return Design(f"{folds}-fold", "kfold", 1, folds)
    kind = "5x2" if (repetitions, folds) == (5, 2) else "repeated"
    return Design(f"{repetitions}x{folds}", kind, repetitions, folds)


class DesignSplitter:
    """A design as a scikit-learn splitter: pass it as `cv` to anything there.

    `stratified` is True, False or "auto" (stratify if y looks like class labels).

    >>> from sklearn.model_selection import cross_val_score
    >>> from assay.models.baselines import ZeroRClassifier
    >>> X, y = [[0]] * 8, ["yes", "no"] * 4
    >>> cross_val_score(ZeroRClassifier(), X, y, cv=DesignSplitter("5x2", random_state=0)).shape
    (10,)
    """

    def __init__(self, design: str | Design = "10-fold", *, stratified: bool | str = "auto", random_state: Any = None):
        self.design = design
        self.stratified = stratified
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (train, test) index arrays."""
        n_rows = _length(X)
        stratified = self.stratified
        if stratified == "auto":
            stratified = y is not None and _looks_like_classes(y)
        target = np.zeros(n_rows) if y is None else y
        if _length(target) != n_rows:
            raise DataError(
                "DesignSplitter", "X and y", "must have the same number of rows", f"got {n_rows} and {_length(target)}"
            )
        for split in make_design(self.design).splits(target, bool(stratified), self.random_state, groups):
            yield split.rows

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many splits there are; leave-one-out has to see X for that."""
        design = make_design(self.design)
        if design.folds is None and X is None:
            raise DataError("DesignSplitter", "X", "is needed to count the splits of leave-one-out")
        return design.n_splits(0 if X is None else _length(X))

    def __repr__(self) -> str:
        return f"DesignSplitter({make_design(self.design).name!r}, random_state={self.random_state!r})"


def stratified_assignment(codes: np.ndarray, folds: int, generator: np.random.Generator) -> np.ndarray:
    """A fold number for every row, such that class counts and fold sizes differ by at most one between folds.

    Rows are shuffled, brought into class order and dealt to the folds in turn; a run of consecutive positions
    deals any two folds numbers of rows that differ by at most one, and a class is such a run.
    """
    shuffled = generator.permutation(codes.shape[0])
    # A random renumbering, so that it is not always the first folds that hold the extra rows.
    turn = generator.permutation(folds).astype(np.int32)
    return _kernels.deal_rows(shuffled, np.ascontiguousarray(codes, dtype=np.int64), turn)


def grouped_assignment(codes: np.ndarray, groups: np.ndarray, folds: int, generator: np.random.Generator) -> np.ndarray:
    """A fold number for every row with groups kept whole: largest groups first, each to the fold that lacks it most.

    A fold's lack is measured in every class: the group goes where the sum over classes of the squared share of the
    class, after adding it, is smallest, an empty fold first.
    """
    n_groups, n_classes = int(groups.max()) + 1, int(codes.max()) + 1
    counts = np.bincount(groups * n_classes + codes, minlength=n_groups * n_classes).reshape(n_groups, n_classes)
    shares = counts / counts.sum(axis=0)
    shuffled = generator.permutation(n_groups)
    order = shuffled[np.argsort(-counts.sum(axis=1)[shuffled], kind="stable")]
    held = np.zeros((folds, n_classes))
    sizes = np.zeros(folds)
    fold_of = np.empty(n_groups, dtype=np.int32)
    for group in order:
        # Adding g to h changes the sum of squares by 2 h.g plus a constant; a fold without rows has the least of both.
        fold = int(np.lexsort((sizes, held @ shares[group]))[0])
        fold_of[group] = fold
        held[fold] += shares[group]
        sizes[fold] += counts[group].sum()
    return fold_of[groups]


def _class_order(codes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    shuffled = generator.permutation(codes.shape[0])
    # NumPy sorts 16 bits by counting.
    narrow = codes.astype(np.int16) if codes.max(initial=0) < 2**15 and codes.min(initial=0) >= 0 else codes
    return shuffled[np.argsort(narrow[shuffled], kind="stable")]


def _held_out(n_rows: int, share: float) -> int:
    return min(max(1, round(share * n_rows)), n_rows - 1)


def _hold_out(codes: np.ndarray, held_out: int, generator: np.random.Generator) -> np.ndarray:
    """0 for test rows and 1 for training rows: systematic sampling in class order, from a random start."""
    n_rows = codes.shape[0]
    order = _class_order(codes, generator)
    steps = (np.arange(n_rows, dtype=np.int64) + int(generator.integers(n_rows))) * held_out % n_rows
    assignment = np.empty(n_rows, dtype=np.int32)
    assignment[order] = steps >= held_out
    return assignment


def _codes(y: Any) -> tuple[np.ndarray, list[Any]]:
    """Class labels as codes, and the labels in the order of the codes."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError("make_design", "y", "must be one-dimensional to stratify by", f"got shape {labels.shape}")
    if labels.dtype == np.int64 and labels.size and labels.min() >= 0 and labels.max() < labels.size:
        counts = np.bincount(labels)
        if counts.all():  # codes already
            return labels, list(range(counts.size))
    try:
        classes, codes = np.unique(labels, return_inverse=True)
        return codes.astype(np.int64), classes.tolist()
    except TypeError:
        seen: dict[Any, int] = {}
        codes = np.array([seen.setdefault(label, len(seen)) for label in labels.tolist()], dtype=np.int64)
        return codes, list(seen)


def _group_codes(groups: Any, n_rows: int) -> np.ndarray:
    codes, _ = _codes(groups)
    if codes.shape[0] != n_rows:
        raise DataError(
            "make_design", "groups", f"must have one value for each of {n_rows} rows", f"got {codes.shape[0]}"
        )
    return codes


def _length(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _looks_like_classes(y: Any) -> bool:
    from sklearn.utils.multiclass import type_of_target

    return type_of_target(np.asarray(y)) in ("binary", "multiclass")


def _warn_small_classes(codes: np.ndarray, labels: list[Any] | None, folds: int) -> None:
    counts = np.bincount(codes)
    small = np.flatnonzero(counts < folds)
    if small.size == 0:
        return
    names = ", ".join(f"'{plain(labels[c] if labels else c)}' ({counts[c]})" for c in small[:3])
    more = f" and {small.size - 3} more" if small.size > 3 else ""
    subject = f"class {names} has" if small.size == 1 else f"classes {names}{more} have"
    lonely = " A class of one row is never in training when it is tested." if (counts[small] == 1).any() else ""
    warnings.warn(
        AssayWarning(
            "W401",
            f"make_design: {subject} fewer rows than there are folds ({folds}), so that some test parts hold none of "
            f"them.{lonely}",
        ),
        stacklevel=3,
    )
