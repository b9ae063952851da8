"""Tables larger than memory, as learners see them: blocks of rows, read one after the other, and sums over them.

A learner whose fit needs sums over rows asks a `BatchedTable` for them and holds one block at a time. The blocks are
fixed when the table is opened and their sums are added in their order, so that the bits of a fit depend neither on the
number of threads nor on where the parts of the table lie. Only what has one value per row (target, weights) is held.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from itertools import repeat, starmap
from typing import Any, Protocol

import numpy as np

from .. import _kernels
from .coded_rows import Coding
from .errors import DataError, plain

BLOCK_CELLS = 2**20
"""Cells of a block: 8 megabytes, which stay in the cache of the processor while all columns meet."""

LEAST_BLOCK = 4096
"""Rows of a block at least, so that what each block costs by itself does not count."""

_NO_ROWS = np.empty(0, dtype=np.int64)
_NONE = np.empty(0)


def block_rows(width: int) -> int:
    """Rows of the blocks of a table with so many columns.

    >>> block_rows(16)
    65536
    """
    return max(LEAST_BLOCK, BLOCK_CELLS // max(width, 1))


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """A target of labels as the sorted labels and their number in each row, which is all that a learner needs."""

    labels: np.ndarray
    codes: np.ndarray

    def __len__(self) -> int:
        return int(self.codes.shape[0])


@dataclass(frozen=True, eq=False)
class Along:
    """A work on blocks, the numbers of the classes of their rows and their weights, which is done while the rows are
    first read, for a learner that knows the classes from a sample.

    >>> Along(len, np.array([0, 1])).codes(np.array([1, 0, 1]), None), Along(len, np.array([0])).codes(np.ones(2), None)
    (array([1, 0, 1], dtype=int32), None)
    """

    work: Callable[..., Any]
    labels: np.ndarray
    coding: Coding | None = None
    """How the rows are also kept as codes; None if they are not."""

    def codes(self, values: np.ndarray, own: list[Any] | None) -> np.ndarray | None:
        """Numbers of the classes of some rows, None where one is not known; `own` are labels that values number."""
        known = values if own is None else np.array([str(label) for label in own])
        labels = self.labels if own is None else self.labels.astype(str)
        if not known.size:
            return values.astype(np.int32)
        places = np.minimum(np.searchsorted(labels, known), labels.shape[0] - 1)
        found = labels[places] == known
        if own is None:
            return places.astype(np.int32) if found.all() else None
        codes = np.where(found, places, -1).astype(np.int32)[values]
        return codes if (codes >= 0).all() else None


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows of a table in blocks with their target and weights, and about how many rows the table has."""

    rows: np.ndarray
    target: Any
    weights: np.ndarray | None
    of: int


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """What was seen in each column: smallest and largest number, missing and infinite cells, the first row with one,
    and whether every cell is 0 or 1.

    >>> facts = ColumnFacts.of(np.array([[1.0, 5.0], [0.0, np.nan]]), 0)
    >>> facts.missing.tolist(), facts.high, facts.zero_one
    ([0, 1], array([1., 5.]), array([ True, False]))
    """

    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray
    infinite: np.ndarray
    first_odd: np.ndarray
    zero_one: np.ndarray

    @classmethod
    def of(cls, block: np.ndarray, first_row: int) -> ColumnFacts:
        """The facts of one block, whose first row has this number in the table."""
        low, high, missing, infinite, odd, zero_one = _kernels.column_facts(np.ascontiguousarray(block))
        first = np.where(odd < 0, np.iinfo(np.int64).max, odd + first_row)
        return cls(low, high, missing, infinite, first, zero_one.astype(bool))

    def joined(self, other: ColumnFacts) -> ColumnFacts:
        """The facts of the rows of both."""
        return ColumnFacts(
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            self.missing + other.missing,
            self.infinite + other.infinite,
            np.minimum(self.first_odd, other.first_odd),
            self.zero_one & other.zero_one,
        )

    def moved(self, first_row: int) -> ColumnFacts:
        """The same facts of rows that begin at another number."""
        last = np.iinfo(np.int64).max
        return replace(self, first_odd=np.where(self.first_odd == last, last, self.first_odd + first_row))

    def only(self, chosen: np.ndarray) -> ColumnFacts:
        """The facts of some columns."""
        return ColumnFacts(*(getattr(self, f.name)[chosen] for f in fields(self)))


class Part(Protocol):
    """Rows that lie together: read block by block, or some rows by number."""

    n_rows: int

    def blocks(self) -> Iterator[np.ndarray]: ...

    def rows(self, chosen: np.ndarray) -> np.ndarray: ...


Work = Callable[..., Any]
"""What is done with a block and the values of its rows; it must be importable where the parts lie."""
Moments = tuple[np.ndarray, np.ndarray, float]
"""Mean and variance of the columns, and the total weight."""
Runner = Callable[[Sequence[Part], Work, list[list[np.ndarray | None]], Work], Iterator[Any]]
"""Runs a work on every part and gives what comes of each, in the order of the parts."""


def added(first: Any, second: Any) -> Any:
    """The sum of two results, item by item where they are tuples.

    >>> added((1, np.array([1.0])), (2, np.array([3.0])))
    (3, array([4.]))
    """
    if isinstance(first, tuple):
        return tuple(one if two is None else one + two for one, two in zip(first, second, strict=True))
    return first + second


def run_part(part: Part, work: Work, of_rows: Sequence[np.ndarray | None], merge: Work) -> Any:
    """The merged results of a work on the blocks of a part."""
    return functools.reduce(merge, starmap(work, aligned_blocks(part, of_rows)))


def aligned_blocks(part: Part, of_rows: Sequence[np.ndarray | None]) -> Iterator[tuple[Any, ...]]:
    """Each block of a part with the values of its rows; the next block is read while one is worked on."""
    begin = 0
    for block in read_ahead(part.blocks()):
        end = begin + block.shape[0]
        yield block, *(None if values is None else values[begin:end] for values in of_rows)
        begin = end


def read_ahead(blocks: Iterator[Any]) -> Iterator[Any]:
    """The blocks, each read by another thread while the one before it is worked on.

    >>> list(read_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    with ThreadPoolExecutor(1, "assay-blocks") as reader:
        coming = reader.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = reader.submit(next, blocks, None)
            yield block


def run_here(parts: Sequence[Part], work: Work, of_rows: list[list[np.ndarray | None]], merge: Work) -> Iterator[Any]:
    """The results of `run_part` for the parts, one after the other, in this process; the work is called by whoever asks
    for the next result, with no function of ours in between."""
    return map(functools.reduce, repeat(merge), map(starmap, repeat(work), map(aligned_blocks, parts, of_rows)))


class _Changed:
    """A work on blocks that are changed first."""

    def __init__(self, work: Work, changes: tuple[Callable[[np.ndarray], np.ndarray], ...]) -> None:
        self.work, self.changes = work, changes

    def __call__(self, block: np.ndarray, *values: Any) -> Any:
        for change in self.changes:
            block = change(block)
        return self.work(block, *values)


class _Listed:
    """A work whose results are put into one list."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def __call__(self, block: np.ndarray, *values: Any) -> list[Any]:
        return [self.work(block, *values)]


class BatchedTable:
    """A table of float64 that is read in blocks: nominal columns hold codes of `categories`, NaN is missing.

    `Batches.table` makes one; `fit_batches`, and `fit` of a method that the catalogue calls out_of_core, take it. What
    is asked of it are sums over rows (`total`; `passes` for any arguments), values of rows (`values`), and a few rows
    by number. A work gets a block and the values of its rows; on a cluster it runs where the block lies.

    `target` (numbers, `CodedLabels` or None) and `weights` are held. `along` are the sums of an `Along`, if they are
    those of all rows; what a learner makes of them it keeps in `first`.

    Examples
    --------
    >>> import polars as pl
    >>> from assay.data import Batches
    >>> frames = [pl.DataFrame({"x": [1.0, 2.0], "y": [2.0, 4.0]}), pl.DataFrame({"x": [3.0], "y": [6.0]})]
    >>> table = Batches(frames, "y").table
    >>> table.shape, table.names, table.target
    ((3, 1), ('x',), array([2., 4., 6.]))
    >>> table.total(lambda block, y: block.T @ y, table.target)
    array([28.])
    >>> table.values(lambda block: block[:, 0] ** 2), table[1:]
    (array([1., 4., 9.]), array([[2.],
           [3.]]))
    """

    first: Any
    coded: BatchedTable | None = None
    """The same rows as codes, where they were kept."""

    ndim = 2

    def __init__(
        self,
        parts: Sequence[Part],
        names: tuple[str, ...],
        categories: tuple[np.ndarray | None, ...],
        facts: ColumnFacts,
        target: Any = None,
        weights: np.ndarray | None = None,
        *,
        named: bool = True,
        runner: Runner = run_here,
        changes: tuple[Callable[[np.ndarray], np.ndarray], ...] = (),
        moments: Moments | None = None,
        along: Any = None,
    ) -> None:
        self._moments = moments
        self.along, self.first = along, None
        self.parts, self.names, self.categories, self.facts = parts, names, categories, facts
        self.target, self.weights, self.named, self._runner, self._changes = target, weights, named, runner, changes
        self.starts = np.concatenate([[0], np.cumsum([part.n_rows for part in parts])]).astype(np.int64)
        self.shape: tuple[int, int] = (int(self.starts[-1]), len(names))

    @property
    def nominal(self) -> np.ndarray:
        """Which columns hold codes."""
        return np.array([labels is not None for labels in self.categories], dtype=bool)

    def read_by(self, estimator: Any) -> BatchedTable:
        """The table for an estimator that takes its cells as they are; columns that it cannot take are refused."""
        who = type(estimator).__name__
        labelled = np.array([labels is not None and labels.dtype.kind != "b" for labels in self.categories], dtype=bool)
        if labelled.any() and not hasattr(estimator, "categorical_features"):
            j = int(np.flatnonzero(labelled)[0])
            labels = self.categories[j]
            came = f"got labels such as '{plain(labels[0], 40)}'" if labels is not None and len(labels) else ""
            way_out = "leave the column out, or encode it in the file first"
            raise DataError(who, f"column '{plain(self.names[j])}'", "must hold numbers", came, way_out)
        wrong = self.facts.infinite > 0
        if not estimator._allow_nan:
            wrong = wrong | (self.facts.missing > 0)
        if wrong.any():
            j = int(np.flatnonzero(wrong)[0])
            kind = "missing" if self.facts.missing[j] else "infinite"
            raise DataError(
                who,
                f"column '{plain(self.names[j])}'",
                "must hold finite numbers",
                f"got {int(self.facts.missing[j] + self.facts.infinite[j])} {kind} cells, the first in row "
                f"{int(self.facts.first_odd[j]) + 1}",
                "fill them in the file first, or leave the column out",
            )
        estimator.n_features_in_ = self.shape[1]
        if self.named:
            estimator.feature_names_in_ = np.array(self.names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return self

    # -- reading -----------------------------------------------------------------------------------------------------
    def total(self, work: Work, *of_rows: np.ndarray | None, merge: Work = added) -> Any:
        """The results of `work(block, *values of its rows)` for all blocks, added (or merged) in their order."""
        return functools.reduce(merge, self._of_parts(work, of_rows, merge))

    def passes(self, work: Work, *of_rows: np.ndarray | None, merge: Work = added) -> Passes:
        """The same results for any arguments of a work, of a search that asks for them at every step."""
        return Passes(self, work, of_rows, merge)

    def values(self, work: Work, *of_rows: np.ndarray | None) -> np.ndarray:
        """What `work(block, *values of its rows)` gives for each row."""
        return np.concatenate(self.total(_Listed(work), *of_rows))

    def _of_parts(self, work: Work, of_rows: Sequence[np.ndarray | None], merge: Work) -> Iterator[Any]:
        """The results of the parts in their order, each worked out when it is asked for."""
        changed = _Changed(work, self._changes) if self._changes else work
        by_part = [
            [None if values is None else values[begin:end] for values in of_rows]
            for begin, end in zip(self.starts[:-1], self.starts[1:])
        ]
        return self._runner(self.parts, changed, by_part, merge)

    def __getitem__(self, chosen: Any) -> np.ndarray:
        """Some rows, by a slice or by their numbers."""
        numbers = np.arange(*chosen.indices(self.shape[0])) if isinstance(chosen, slice) else np.asarray(chosen)
        out: np.ndarray | None = None
        for number, part in enumerate(self.parts):
            inside = np.flatnonzero((numbers >= self.starts[number]) & (numbers < self.starts[number + 1]))
            if inside.size:
                rows = part.rows(numbers[inside] - self.starts[number])
                for change in self._changes:
                    rows = change(rows)
                if inside.size == numbers.shape[0]:
                    return np.ascontiguousarray(rows, dtype=np.float64)
                if out is None:
                    out = np.empty((numbers.shape[0], len(self.names)))
                out[inside] = rows
        return np.empty((0, len(self.names))) if out is None else out

    def sample(self, most: int) -> np.ndarray:
        """Up to about so many rows in equal steps."""
        return self[:: max(1, self.shape[0] // most)]

    # -- other tables of the same rows -----------------------------------------------------------------------------
    def through(self, change: Callable[[np.ndarray], np.ndarray], facts: ColumnFacts | None = None) -> BatchedTable:
        """The table whose blocks are those of this one after a change that keeps the columns."""
        return self._like(self.names, self.categories, self.facts if facts is None else facts, change)

    def columns(self, chosen: np.ndarray) -> BatchedTable:
        """The table of some columns."""
        picked = np.asarray(chosen, dtype=np.int64)
        return self._like(
            tuple(self.names[j] for j in picked),
            tuple(self.categories[j] for j in picked),
            self.facts.only(picked),
            functools.partial(_take_columns, picked),
        )

    def _like(
        self, names: tuple[str, ...], categories: tuple[np.ndarray | None, ...], facts: ColumnFacts, change: Any
    ) -> BatchedTable:
        return BatchedTable(
            self.parts,
            names,
            categories,
            facts,
            self.target,
            self.weights,
            named=self.named,
            runner=self._runner,
            changes=(*self._changes, change),
        )

    # -- sums that many learners ask for -----------------------------------------------------------------------------
    def moments(self, weights: np.ndarray | None, threads: int) -> tuple[np.ndarray, np.ndarray, float]:
        """(mean, variance, total weight) of the columns."""
        if weights is None and self._moments is not None:
            return self._moments
        mean, variance, weight = self.total(
            functools.partial(block_moments, threads=threads), weights, merge=joint_moments
        )
        return mean, variance, float(weight)

    def __matmul__(self, v: Any) -> np.ndarray:
        return self.values(functools.partial(_product, v=np.asarray(v)))

    def __mul__(self, scale: np.ndarray) -> BatchedTable:
        """Every column times its factor."""
        ends = self.facts.low * scale, self.facts.high * scale
        facts = replace(self.facts, low=np.fmin(*ends), high=np.fmax(*ends), zero_one=np.zeros(len(self.names), bool))
        return self.through(functools.partial(_scaled, np.asarray(scale, dtype=np.float64)), facts)

    def tallies(self) -> list[np.ndarray]:
        """For each nominal column how many rows have each category."""
        sizes = [-1 if labels is None else labels.shape[0] for labels in self.categories]
        found = self.total(functools.partial(_tallies, sizes=tuple(sizes)))
        return list(found)


class Passes:
    """Sums over the blocks of a table for any arguments, as a problem asks for them at every step of a search.

    >>> import polars as pl
    >>> from assay.data import Batches
    >>> table = Batches([pl.DataFrame({"x": [0.0, 2.0]}), pl.DataFrame({"x": [4.0]})]).table
    >>> passes = table.passes(lambda block, weights, power: weights @ block**power, np.array([1.0, 0.0, 3.0]))
    >>> passes.sums(power=1), passes.sums(power=2)
    (array([12.]), array([48.]))
    """

    def __init__(
        self, table: BatchedTable, work: Work, of_rows: tuple[np.ndarray | None, ...], merge: Work = added
    ) -> None:
        self.table, self.work, self.of_rows, self.merge = table, work, of_rows, merge

    def sums(self, *of_rows: np.ndarray | None, **asked: Any) -> Any:
        """The results of `work(block, *values of its rows, **asked)`, merged; of a list in a tuple of them, which holds
        values of rows, one array. `of_rows` are values of rows behind those that the passes hold."""
        work = functools.partial(self.work, **asked)
        found = functools.reduce(self.merge, self.table._of_parts(work, (*self.of_rows, *of_rows), self.merge))
        if not isinstance(found, tuple):
            return found
        return tuple(np.concatenate(part) if isinstance(part, list) else part for part in found)


def _take_columns(chosen: np.ndarray, block: np.ndarray) -> np.ndarray:
    return np.take(block, chosen, axis=1)


def _scaled(scale: np.ndarray, block: np.ndarray) -> np.ndarray:
    return block * scale


def _product(block: np.ndarray, v: np.ndarray) -> np.ndarray:
    return block @ v


def block_moments(block: np.ndarray, weights: np.ndarray | None, threads: int) -> Moments:
    """(mean, variance, total weight) of the columns of a block."""
    return _kernels.column_moments(block, _NO_ROWS, _NONE if weights is None else weights, threads)


def joint_moments(first: Moments, second: Moments) -> Moments:
    """Mean, variance and weight of two sets of rows (Chan, Golub & LeVeque 1983)."""
    total = first[2] + second[2]
    share = second[2] / total
    with np.errstate(over="ignore", invalid="ignore"):
        apart = second[0] - first[0]
        variance = first[1] * (1.0 - share) + second[1] * share + apart**2 * (share * (1.0 - share))
        return first[0] + apart * share, variance, total


def _tallies(block: np.ndarray, sizes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    found = []
    for j, size in enumerate(sizes):
        if size >= 0:
            column = block[:, j]
            found.append(np.bincount(column[column >= 0].astype(np.int64), minlength=size))
    return tuple(found)


def joined_facts(facts: Iterable[ColumnFacts]) -> ColumnFacts:
    """The facts of all rows, part after part."""
    return functools.reduce(ColumnFacts.joined, facts)
