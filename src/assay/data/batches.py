"""Tables larger than memory for learners: read once batch by batch, checked, coded and kept as plain numbers on disk.

The first pass over the source (files of `scan_table`, or frames) finds the categories of columns of labels, takes the
target and the weights, and writes the other columns as rows of float64 to a scratch file without a name, which the
system removes with the process. Every later pass of a fit reads that file, at the speed of the disk or of the page
cache, whatever the source was.
"""

from __future__ import annotations

import functools
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..base.batches import (
    Along,
    BatchedTable,
    CodedLabels,
    ColumnFacts,
    Moments,
    Sample,
    added,
    block_moments,
    block_rows,
    joined_facts,
    joint_moments,
    read_ahead,
    run_here,
)
from ..base.errors import DataError, ParameterError, plain
from .batches_decoded import Assembled, DecodedPart, Ring, SumsAlong
from .columns import UNSEEN, number_codes
from .read import scan_table
from .read_scan import Scan
from .read_source import Cells, Stretches
from .table import Table, plain_types, to_polars

WHO = "Batches"
_AHEAD = getattr(mmap, "MAP_POPULATE", None)
DECODED_BYTES = 2**30
"""Bytes of files from which a learner of two passes decodes them twice rather than keeping a copy on disk."""
MAPPED_AHEAD = 2**26
"""Bytes of a scratch file from which the pages of the next block are mapped ahead."""
STRETCHES = 8
"""Stretches of rows that a sample of files is taken in."""
MOST_LABELS = 1_000_000
"""Categories of one column beyond which it is no column of categories."""


class Batches:
    """A table on disk with its target, for `fit_batches` of the learners that the catalogue calls `out_of_core`.

    The source is a path or pattern (CSV, Parquet and all that `scan_table` streams), a `Scan`, or a list of frames (or
    a function that gives them). It is read once, when a learner first needs it; several learners share what was read.
    Rows without a target or with weight 0 are left out, and so are columns that the roles call ids, free text or dates.

    Parameters
    ----------
    source : path, pattern, `Scan`, list of frames with the same columns, or a function that gives such frames
    target : name of the column to predict; None for a clustering
    weight : name of a column of sample weights
    columns : names of the columns to use; None for all that are of use
    nominal : names of columns of numbers that are categories
    scratch : folder for the scratch file, 8 bytes a cell; None for the system's folder of temporary files
    client : a `dask.distributed.Client` or the address of a scheduler: the files are then read, kept and summed by its
        workers, which must see them under the same paths; the models are the same bit for bit

    Attributes
    ----------
    left_out : {column: reason} of columns that are not used, after the first pass
    rows_left_out : rows without a target or weight, after the first pass

    Examples
    --------
    >>> import polars as pl
    >>> from assay.models.linear import Ridge
    >>> frames = [pl.DataFrame({"x": [1.0, 2.0], "y": [2.0, 4.0]}), pl.DataFrame({"x": [3.0], "y": [6.0]})]
    >>> model = Ridge(alpha=0.0).fit_batches(Batches(frames, "y"))
    >>> model.coef_.round(9), model.predict(pl.DataFrame({"x": [10.0]})).round(9)
    (array([2.]), array([20.]))
    """

    def __init__(
        self,
        source: Any,
        target: str | None = None,
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        nominal: Sequence[str] = (),
        scratch: str | Path | None = None,
        client: Any = None,
    ):
        for name, value in (("target", target), ("weight", weight)):
            if value is not None and not isinstance(value, str):
                raise ParameterError(WHO, f"parameter '{name}'", "must be the name of a column", f"got {value!r:.40}")
        self.target, self.weight, self.client = target, weight, client
        self.scratch = None if scratch is None else str(scratch)
        self.left_out: dict[str, str] = {}
        self.rows_left_out = 0
        self._used = False
        self._wanted = None if columns is None else _listed(columns)
        self._nominal = _listed(nominal)
        self._sources = _sources(source)

    def sample(self, most: int) -> Sample | None:
        """About so many rows in stretches at equal steps, from files that are large enough for two passes which decode
        them; None where the table is smaller, of other kinds of columns, or was read before."""
        scans = [source for source in self._sources if isinstance(source, Scan)]
        if self._used or not self._sources or len(scans) < len(self._sources) or not Ring.possible():
            return None
        signs = [scan.signs for scan in scans]
        if not all(signs) or sum(sign[0][0] for sign in signs if sign) < DECODED_BYTES:
            return None
        spec = self._spec()
        if spec.target is None or any(spec.labelled) or any(spec.declared):
            return None
        wanted = tuple(dict.fromkeys([*spec.names, *(n for n in (spec.target, spec.weight) if n is not None)]))
        chosen = [(2 * k + 1) * len(scans) // (2 * STRETCHES) for k in range(STRETCHES)]
        reader, rows = _Reader(spec), []
        for number in sorted(set(chosen)):
            some = Stretches(wanted, chosen.count(number), max(1, most // STRETCHES))
            for frame, of in scans[number].stretches(some):
                rows.append(of)
                for block in reader.take(frame):
                    reader.examine(block)
        for block in reader.rest():
            reader.examine(block)
        read = reader.done()
        if read.target is None or read.facts is None:
            return None
        target = _joined_target([read.target], [read.target_labels])
        cells = read.part.rows(np.arange(read.part.n_rows))
        read.part.close()
        return Sample(cells, target, read.weights, int(np.mean(rows) * len(scans)))

    def decoded(self, along: Along) -> BatchedTable:
        """The table as one that is decoded at every pass, with some sums over its rows from the first; on a cluster
        the workers keep what they read."""
        if self.client is None:
            spec = replace(self._spec(), along=along, ring=Ring(len(self._spec().names)))
            self._used = True
            return self._joined(
                spec, [OpenedPart.of(source, part) for source, part in spec.parts(self._sources)], run_here
            )
        return self._on_workers(replace(self._spec(), along=along))

    @functools.cached_property
    def table(self) -> BatchedTable:
        """The table that learners read, made in one pass over the source."""
        spec, self._used = self._spec(), True
        if self.client is None:
            return self._joined(
                spec, [OpenedPart.of(source, part) for source, part in spec.parts(self._sources)], run_here
            )
        return self._on_workers(spec)

    def _on_workers(self, spec: Spec) -> BatchedTable:
        self._used = True
        from .batches_dask import client_of, open_on_workers, run_on_workers

        self.client = client_of(WHO, self.client)
        return self._joined(spec, open_on_workers(self.client, self._sources, spec), run_on_workers)

    # -- what is read ------------------------------------------------------------------------------------------------
    def _spec(self) -> Spec:
        """Which columns are used and how, from the roles of the scan or the types of the first frame."""
        first = self._sources[0]
        if isinstance(first, Scan):
            known, roles = list(first.columns), first.roles
            types = dict(first._types)
        else:
            frame = next(iter(_frames(first)), None)
            if frame is None:
                raise DataError(WHO, "the source", "must have at least one frame", "got none")
            known, roles, types = frame.columns, {}, dict(frame.schema)
        for what, names in (
            ("target", [self.target]),
            ("weight", [self.weight]),
            ("columns", self._wanted or []),
            ("nominal", self._nominal),
        ):
            missing = [name for name in names if name is not None and name not in known]
            if missing:
                few = ", ".join(plain(name, 30) for name in known[:8]) + (", ..." if known[8:] else "")
                raise ParameterError(
                    WHO,
                    f"parameter '{what}'",
                    "must name columns of the table",
                    f"got {plain(repr(missing[0]))}",
                    f"the table has {few}",
                )
        used = []
        for name in known if self._wanted is None else self._wanted:
            if name in (self.target, self.weight):
                continue
            reason = _no_use(types[name], roles.get(name), name in self._nominal, asked=self._wanted is not None)
            if reason:
                self.left_out[name] = reason
            else:
                used.append(name)
        if not used:
            raise DataError(
                WHO, "the table", "has no usable column beside the target", f"{len(self.left_out)} left out"
            )
        labels = tuple(not types[name].is_numeric() for name in used)
        as_labels = self.target is not None and not types[self.target].is_numeric()
        return Spec(
            tuple(used),
            labels,
            tuple(name in self._nominal for name in used),
            self.target,
            as_labels,
            self.weight,
            self.scratch,
        )

    def _joined(self, spec: Spec, read: Sequence[OpenedPart], runner: Any) -> BatchedTable:
        self.rows_left_out = sum(part.left_out for part in read)
        opened = [part for part in read if part.facts is not None]
        if not opened:
            what = "with a target and weight " if self.rows_left_out else ""
            raise DataError(WHO, "the table", f"must have at least one row {what}".rstrip(), "got none")
        categories: list[np.ndarray | None] = []
        for j, name in enumerate(spec.names):
            found = [part.labels[j] for part in opened]
            if found[0] is None:
                categories.append(None)
                continue
            labels = _sorted_labels([label for labels in found for label in labels])  # type: ignore[union-attr]
            if len(labels) > MOST_LABELS:
                raise DataError(
                    WHO,
                    f"column '{plain(name)}'",
                    f"must have at most {MOST_LABELS:,} categories",
                    f"got {len(labels):,}",
                    "leave the column out",
                )
            categories.append(labels)
        facts = []
        start = 0
        for part in opened:
            assert part.facts is not None
            facts.append(part.facts.moved(start))
            start += part.part.n_rows
        if any(labels is not None for labels in categories):
            for part in opened:
                part.part.recode = _recodings(spec, part.labels, categories)
        moments = None
        if all(labels is None for labels in categories):
            moments = functools.reduce(joint_moments, [part.moments for part in opened if part.moments is not None])
        target: Any = None
        if spec.target is not None:
            known = None if spec.along is None or any(part.along is None for part in opened) else spec.along.labels
            target = _joined_target([part.target for part in opened], [part.target_labels for part in opened], known)
        weights = None if spec.weight is None else np.concatenate([part.weights for part in opened])
        sums = [part.along for part in opened]
        table = BatchedTable(
            [part.part for part in opened],
            spec.names,
            tuple(categories),
            _without_codes(joined_facts(facts), categories),
            target,
            weights,
            runner=runner,
            moments=moments,
            along=None if any(found is None for found in sums) else functools.reduce(added, sums),
        )
        coded = [part.coded for part in opened if part.coded is not None]
        if len(coded) == len(opened):
            table.coded = BatchedTable(coded, spec.names, table.categories, table.facts, runner=runner)
        return table


@dataclass(frozen=True)
class Spec:
    """How a batch becomes numbers: the columns, which hold labels, which numbers are categories, target and weight."""

    names: tuple[str, ...]
    labelled: tuple[bool, ...]
    declared: tuple[bool, ...]
    target: str | None
    target_is_label: bool
    weight: str | None
    scratch: str | None
    along: Along | None = None
    """What is summed while the rows are first read."""
    number: int = 0
    """That of the part which is read."""
    ring: Ring | None = None
    """Where the decoder puts blocks, if they are to be decoded anew at every pass."""

    def parts(self, sources: Sequence[Any]) -> Iterator[tuple[Any, Spec]]:
        """The sources, each with what it is read by."""
        for number, source in enumerate(sources):
            yield source, replace(self, number=number)


class ScratchPart:
    """Rows of float64 in a file without a name."""

    def __init__(self, scratch: str | None, width: int) -> None:
        self.width, self.n_rows = width, 0
        self.recode: list[tuple[int, np.ndarray | None, np.ndarray | None]] = []
        self._scratch = scratch
        try:
            self._file = tempfile.TemporaryFile(prefix="assay-", dir=scratch, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise _no_scratch(scratch, error.strerror or error) from None
        self._let_go = weakref.finalize(self, self._file.close)

    def close(self) -> None:
        """Let the file go; so does the end of the part."""
        self._let_go()

    @property
    def path(self) -> str:
        """Under which other processes of this user can open the file, where the system has such a path."""
        return f"/proc/{os.getpid()}/fd/{self._file.fileno()}"

    def unwritten(self, why: str) -> DataError:
        """That the file cannot take more."""
        return _no_scratch(self._scratch, why)

    def write(self, block: np.ndarray) -> None:
        """Add rows at the end."""
        self.overwrite(self.n_rows, block)
        self.n_rows += block.shape[0]

    def written(self, begin: int, count: int, *, soon: bool = True) -> np.ndarray:
        """Rows as they lie in the file, read-only: its pages are mapped (all at once, if they are read `soon`) for as
        long as the array lives, which takes no copy."""
        if not count:
            return np.empty((0, self.width))
        at, size = 8 * self.width * begin, 8 * self.width * count
        base = at - at % mmap.ALLOCATIONGRANULARITY
        try:
            if _AHEAD is None:
                pages = mmap.mmap(self._file.fileno(), at - base + size, access=mmap.ACCESS_READ, offset=base)
            else:
                flags = mmap.MAP_SHARED | (_AHEAD if soon else 0)
                pages = mmap.mmap(self._file.fileno(), at - base + size, flags, mmap.PROT_READ, offset=base)
        except ValueError:  # the file ends before
            raise DataError(WHO, "the scratch file", "must not change while it is read", "it became shorter") from None
        return np.frombuffer(pages, np.float64, count * self.width, at - base).reshape(count, self.width)

    def without_infinite(self, begin: int, block: np.ndarray) -> None:
        """Rows whose infinite cells became missing."""
        self.overwrite(begin, block)

    def overwrite(self, begin: int, block: np.ndarray) -> None:
        """Rows of the file anew."""
        if not block.size:
            return
        view, at = memoryview(np.ascontiguousarray(block).data).cast("B"), 8 * self.width * begin
        try:
            while view:
                done = os.pwrite(self._file.fileno(), view, at)
                view, at = view[done:], at + done
        except OSError as error:
            raise self.unwritten(error.strerror or str(error)) from None

    def blocks(self) -> Iterator[np.ndarray]:
        """The rows, some at a time."""
        size = block_rows(self.width)
        for begin in range(0, self.n_rows, size):
            yield self._recoded(self.written(begin, min(size, self.n_rows - begin), soon=self._large))

    @property
    def _large(self) -> bool:
        """Whether it helps that pages of the next block are mapped while one is worked on; they count as memory."""
        return 8 * self.width * self.n_rows > MAPPED_AHEAD

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        """Some rows by number."""
        out, size = np.empty((chosen.shape[0], self.width)), block_rows(self.width)
        if not self._large:
            size = -(-size // 8)  # all of its pages are touched where the rows lie close together
        order = np.argsort(chosen, kind="stable")
        places = chosen[order] // size
        for at in np.split(order, np.flatnonzero(np.diff(places)) + 1) if order.size else ():
            begin = int(chosen[at[0]]) // size * size
            block = self.written(begin, min(size, self.n_rows - begin), soon=False)
            if at[-1] - at[0] == at.shape[0] - 1 and (np.diff(at) == 1).all():  # rows in order need no copy of theirs
                np.take(block, chosen[at] - begin, axis=0, out=out[at[0] : at[-1] + 1], mode="clip")
            else:
                out[at] = block[chosen[at] - begin]
        return self._recoded(out)

    def _recoded(self, block: np.ndarray) -> np.ndarray:
        if self.recode and not block.flags.writeable:
            block = block.copy()
        for j, places, numbers in self.recode:
            column = block[:, j]
            if numbers is not None:
                block[:, j] = number_codes(column, numbers)
            elif places is not None:
                present = ~np.isnan(column)
                block[present, j] = places[column[present].astype(np.int64)]
        return block


@dataclass
class OpenedPart:
    """What the first pass over one source gives."""

    part: Any
    facts: ColumnFacts | None
    moments: Moments | None
    labels: list[list[Any] | None]
    target: np.ndarray | None
    target_labels: list[Any] | None
    weights: np.ndarray | None
    left_out: int
    along: Any = None
    coded: Any = None

    @classmethod
    def of(cls, source: Any, spec: Spec) -> OpenedPart:
        """Read a source to its end."""
        reader, sums = _Reader(spec), SumsAlong(spec.along, spec.target_is_label, spec.number, spec.scratch)
        for block in reader.blocks_of(source, sums):
            cells, facts = reader.examine(block)
            sums.add(cells, facts, reader.target_codes)
            del block, cells  # not held while more rows are decoded
        sums.end()
        return replace(reader.done(), along=sums.result, coded=sums.coded)


class _Reader:
    """Turns frames into rows of numbers on disk, and gathers what is held of them."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._part: Any = None
        self._assembled = Assembled(len(spec.names), copied=False)
        self.facts: ColumnFacts | None = None
        self.moments: Moments | None = None
        self.codes: list[dict[Any, int] | None] = [
            {} if label or declared else None for label, declared in zip(spec.labelled, spec.declared)
        ]
        self.target_codes: dict[Any, int] = {}
        self.targets: list[np.ndarray] = []
        self.weights: list[np.ndarray] = []
        self.seen = self.left_out = self.looked = 0
        self._here = False

    def cells_of(self, source: Scan) -> Cells | None:
        """What a decoder may write to the scratch file itself; None where a column holds labels."""
        spec = self.spec
        if any(spec.labelled):
            return None
        whole = tuple(source._types[name].is_integer() for name in spec.names)
        others = tuple(name for name in dict.fromkeys((spec.target, spec.weight)) if name is not None)
        return Cells(spec.names, whole, others, self.part.path, self.part.unwritten)

    @property
    def part(self) -> Any:
        """Where the rows are kept: a scratch file, unless they are decoded anew."""
        if self._part is None:
            self._part = ScratchPart(self.spec.scratch, len(self.spec.names))
        return self._part

    def blocks_of(self, source: Any, sums: SumsAlong) -> Iterator[np.ndarray]:
        """The blocks of a source, each as soon as it is complete; they are to be examined as they come."""
        spec, held = self.spec, 0
        cells = self.cells_of(source) if isinstance(source, Scan) else None
        for blocks in self._taken(source, cells):
            if spec.along is not None:
                for number in range(held, len(self.targets)):
                    sums.hold(self.targets[number], self.weights[number] if self.weights else None)
                held = len(self.targets)
            yield from blocks
        yield from self.rest()

    def rest(self) -> Iterator[np.ndarray]:
        """The rows that are left when all are taken, as a block."""
        return self._assembled.rest() if isinstance(self._part, DecodedPart) else self._complete(end=True)

    def _taken(self, source: Any, cells: Cells | None) -> Iterator[Iterator[np.ndarray]]:
        """The pieces of a source, taken one after the other: the blocks that each of them completes."""
        spec, ring, compare = self.spec, self.spec.ring, getattr(source, "compare_labels", None)
        if cells is None:
            yield from (self.take(frame) for frame in read_ahead(_frames(source)))
        elif ring is not None:
            part = DecodedPart(source, cells, ring, lambda: ScratchPart(spec.scratch, len(spec.names)))
            for frame, written, rows in read_ahead(ring.fill(source, cells)):
                yield self.take(frame) if written is None else self.take_decoded(frame, rows, part, compare)
        else:
            # What is decoded in this process is small; then memory counts for more than doing two things at once.
            pieces, self._here = source.pieces_beside(cells), source.decoded_here
            for frame, written in pieces if self._here else read_ahead(pieces):
                yield self.take(frame) if written is None else self.take_written(frame, written, compare)

    def take_decoded(
        self, frame: pl.DataFrame, cells: np.ndarray, part: DecodedPart, compare: Any
    ) -> Iterator[np.ndarray]:
        """Add rows that a decoder put into memory and will put there again."""
        self._part, rows = part, cells.shape[0]
        for j, name in enumerate(self.spec.names):
            compare(name, cells[:, j], self.seen + 1)
        kept = self._kept(frame)
        if kept is not None:
            self.left_out += int((~kept).sum())
            frame, cells = frame.filter(pl.Series(kept)), cells[kept]
        self._hold(frame)
        part.add(rows, kept)
        self.seen += rows
        return self._assembled.take(cells)

    def take_written(self, frame: pl.DataFrame, rows: int, compare: Any) -> Iterator[np.ndarray]:
        """Add rows that a decoder wrote to the scratch file, where they follow all rows seen before."""
        block = self.part.written(self.seen, rows, soon=False)
        for j, name in enumerate(self.spec.names):
            compare(name, block[:, j], self.seen + 1)
        kept = self._kept(frame)
        if kept is not None:
            self.left_out += int((~kept).sum())
            frame = frame.filter(pl.Series(kept))
        self._hold(frame)
        # Rows that were left out make room before these, never after.
        if kept is not None:
            self.part.write(block[kept])
        elif self.part.n_rows < self.seen:
            self.part.write(block.copy())
        else:
            self.part.n_rows += rows
        self.seen += rows
        return self._complete()

    def _complete(self, *, end: bool = False) -> Iterator[np.ndarray]:
        """The blocks that are complete and were not yet examined."""
        size = block_rows(self.part.width)
        while self.looked + size <= self.part.n_rows or (end and self.looked < self.part.n_rows):
            yield self.part.written(self.looked, min(size, self.part.n_rows - self.looked), soon=not self._here)

    def examine(self, block: np.ndarray) -> tuple[np.ndarray, ColumnFacts]:
        """Gather what is known of a block; infinite cells become missing, as in whole files."""
        facts = ColumnFacts.of(block, self.looked)
        if facts.infinite.any():
            block = np.where(np.isinf(block), np.nan, block)
            self.part.without_infinite(self.looked, block)
            facts = ColumnFacts.of(block, self.looked)
        self._declare(block)
        moments = block_moments(block, None, 1)
        self.facts = facts if self.facts is None else self.facts.joined(facts)
        self.moments = moments if self.moments is None else joint_moments(self.moments, moments)
        self.looked += block.shape[0]
        return block, facts

    def take(self, frame: pl.DataFrame) -> Iterator[np.ndarray]:
        """Add the rows of a frame."""
        spec = self.spec
        needed = [*spec.names, *(name for name in (spec.target, spec.weight) if name is not None)]
        for name in needed:
            if name not in frame.columns:
                raise DataError(
                    WHO,
                    f"column '{plain(name)}'",
                    "must be in every batch",
                    f"it is missing in the batch after row {self.seen}",
                )
        self._add(frame)
        self.seen += frame.height
        return self._complete()

    def _add(self, frame: pl.DataFrame) -> None:
        kept = self._kept(frame)
        if kept is not None:
            self.left_out += int((~kept).sum())
            frame = frame.filter(pl.Series(kept))
        if not frame.height:
            return
        self._hold(frame)
        self.part.write(self._numbers(frame))

    def _hold(self, frame: pl.DataFrame) -> None:
        """Keep what is held of the rows: target and weight."""
        if self.spec.target is not None:
            self.targets.append(self._target(frame[self.spec.target]))
        if self.spec.weight is not None:
            self.weights.append(frame[self.spec.weight].cast(pl.Float64).to_numpy().astype(np.float64))

    def _kept(self, frame: pl.DataFrame) -> np.ndarray | None:
        """Which rows have a target and a weight; None for all."""
        names = [name for name in (self.spec.target, self.spec.weight) if name is not None]
        if self.spec.weight is None and not any(frame[n].null_count() or frame[n].dtype.is_float() for n in names):
            return None
        kept = np.ones(frame.height, dtype=bool)
        if self.spec.target is not None:
            series = frame[self.spec.target]
            kept &= series.is_not_null().to_numpy()
            if series.dtype.is_float():
                kept &= ~series.fill_null(0.0).is_nan().to_numpy()
        if self.spec.weight is not None:
            weight = self._as_numbers(frame[self.spec.weight])
            if not (np.isfinite(weight) & (weight >= 0)).all():
                row = int(np.argmin(np.isfinite(weight) & (weight >= 0)))
                raise DataError(
                    WHO,
                    f"column '{plain(self.spec.weight)}'",
                    "must hold weights >= 0",
                    f"got {weight[row]:g} in row {self.seen + row + 1}",
                )
            kept &= weight > 0
        return None if kept.all() else kept

    def _as_numbers(self, series: pl.Series) -> np.ndarray:
        if not series.dtype.is_numeric() and series.dtype not in (pl.Boolean, pl.Null):
            raise DataError(
                WHO,
                f"column '{plain(series.name)}'",
                "must hold numbers in every batch",
                f"got {series.dtype} after row {self.seen}",
            )
        return series.cast(pl.Float64).to_numpy().astype(np.float64)

    def _target(self, series: pl.Series) -> np.ndarray:
        if not self.spec.target_is_label:
            return _numbers_of(series, narrow=self.spec.along is not None)
        return _codes_of(series, self.target_codes).astype(np.int32)

    def _numbers(self, frame: pl.DataFrame) -> np.ndarray:
        numeric = [name for name, label in zip(self.spec.names, self.spec.labelled) if not label]
        for name in numeric:
            if not frame[name].dtype.is_numeric():
                self._as_numbers(frame[name])
        if len(numeric) == len(self.spec.names):
            block = frame.select(pl.col(numeric).cast(pl.Float64)).to_numpy(order="c")
        else:
            block = np.empty((frame.height, len(self.spec.names)))
            for j, (name, label) in enumerate(zip(self.spec.names, self.spec.labelled)):
                codes = self.codes[j]
                if label and codes is not None:
                    block[:, j] = _codes_of(frame[name], codes)
                else:
                    block[:, j] = frame[name].cast(pl.Float64).to_numpy()
        return block

    def _declare(self, block: np.ndarray) -> None:
        """Remember the numbers of columns whose numbers are categories."""
        for j, (label, declared) in enumerate(zip(self.spec.labelled, self.spec.declared)):
            codes = self.codes[j]
            if declared and not label and codes is not None:
                for value in np.unique(block[:, j]).tolist():
                    if value == value:
                        codes.setdefault(value, len(codes))

    def done(self) -> OpenedPart:
        """All that is held."""
        labels = [None if codes is None else list(codes) for codes in self.codes]
        return OpenedPart(
            self.part,
            self.facts,
            self.moments,
            labels,
            np.concatenate(self.targets) if self.targets else None,
            list(self.target_codes) if self.spec.target_is_label else None,
            np.concatenate(self.weights) if self.weights else None,
            self.left_out,
        )


def _codes_of(series: pl.Series, codes: dict[Any, int]) -> np.ndarray:
    """Numbers of the labels in the order in which they were first seen, NaN for missing cells; new ones join."""
    if series.dtype == pl.Boolean:
        codes.setdefault(False, 0)
        codes.setdefault(True, 1)
        return series.cast(pl.Float64).to_numpy().astype(np.float64)
    text = series.cast(pl.String)
    for label in text.drop_nulls().unique(maintain_order=True).to_list():
        codes.setdefault(label, len(codes))
    if not codes:
        return np.full(series.len(), np.nan)
    found = text.cast(pl.Enum(list(codes))).to_physical().cast(pl.Float64)
    return found.to_numpy().astype(np.float64)


def _sorted_labels(labels: list[Any]) -> np.ndarray:
    """Distinct labels in order: text, booleans or numbers."""
    distinct = set(labels)
    if distinct and all(isinstance(label, bool) for label in distinct):
        return np.array([False, True])
    if any(isinstance(label, str) for label in distinct) or not distinct:
        return np.array(sorted({str(label).rstrip("\0") for label in distinct}), dtype=str)
    return np.array(sorted(distinct), dtype=np.float64)


def _recodings(
    spec: Spec, labels: list[list[Any] | None], categories: Sequence[np.ndarray | None]
) -> list[tuple[int, np.ndarray | None, np.ndarray | None]]:
    """For each column of categories how its cells on disk become places among the sorted categories."""
    found: list[tuple[int, np.ndarray | None, np.ndarray | None]] = []
    for j, (own, whole) in enumerate(zip(labels, categories)):
        if own is None or whole is None:
            continue
        if spec.declared[j] and not spec.labelled[j]:
            found.append((j, None, whole.astype(np.float64)))
            continue
        place = {label: number for number, label in enumerate(whole.tolist())}
        seen: list[float] = [place[label if isinstance(label, bool) else label.rstrip("\0")] for label in own]
        found.append((j, np.array(seen if seen else [UNSEEN], dtype=np.float64), None))
    return found


def _numbers_of(series: pl.Series, *, narrow: bool) -> np.ndarray:
    """A target of numbers; those of classes as bytes where they are small whole ones, as each row holds one."""
    values = (series if series.dtype.is_integer() else series.cast(pl.Float64)).to_numpy()
    with np.errstate(invalid="ignore"):
        few = values.astype(np.int8)
    if narrow and np.array_equal(values, few):
        return few
    return values.astype(np.int64 if series.dtype.is_integer() else np.float64)


def _joined_target(
    parts: list[np.ndarray | None], labels: list[list[Any] | None], known: np.ndarray | None = None
) -> Any:
    """The target of all parts: numbers, or codes of labels in sorted order; `known` are all the numbers that it has."""
    held = [part for part in parts if part is not None]
    if labels[0] is None and known is not None:
        return CodedLabels(known, np.concatenate([np.searchsorted(known, part).astype(np.int32) for part in held]))
    if labels[0] is None:
        return np.concatenate(held)
    whole = _sorted_labels([label for own in labels if own is not None for label in own])
    place = {label: number for number, label in enumerate(whole.tolist())}
    found = []
    for part, own in zip(parts, labels):
        assert part is not None and own is not None
        places = np.array([place[label if isinstance(label, bool) else label.rstrip("\0")] for label in own])
        found.append(places.astype(np.int32)[part])
    return CodedLabels(whole, np.concatenate(found))


def _without_codes(facts: ColumnFacts, categories: Sequence[np.ndarray | None]) -> ColumnFacts:
    """Facts in which columns of categories span their codes."""
    low, high = facts.low.copy(), facts.high.copy()
    for j, labels in enumerate(categories):
        if labels is not None:
            low[j], high[j] = 0.0, max(len(labels) - 1.0, 0.0)
    return ColumnFacts(low, high, facts.missing, facts.infinite, facts.first_odd, facts.zero_one)


def _no_use(kind: pl.DataType, role: Any, declared: bool, *, asked: bool) -> str:
    """Why a column is not used; empty if it is."""
    if kind.is_temporal():
        return "a date or time"
    if not kind.is_numeric() and kind not in (pl.String, pl.Boolean, pl.Null, pl.Categorical, pl.Enum):
        return f"of type {kind}"
    if kind == pl.Null:
        return "missing in every row looked at"
    if role is None or asked or declared:
        return ""
    return {"id": "an id", "text": "free text", "datetime": "a date or time"}.get(role.role, "")


def _no_scratch(scratch: str | None, why: object) -> DataError:
    folder = scratch or tempfile.gettempdir()
    return DataError(
        WHO,
        f"the scratch file in '{plain(folder, 200)}'",
        "could not be written",
        plain(why, 100),
        "give a folder with room for 8 bytes a cell as scratch=",
    )


def _listed(names: Sequence[str] | str) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _sources(source: Any) -> list[Any]:
    """The parts that a source is read in: scans of one file each, or one that gives frames."""
    if isinstance(source, Scan):
        return list(source.parts())
    if isinstance(source, Table) or hasattr(source, "columns"):
        source = [source]
    if isinstance(source, (list, tuple)) and source and not isinstance(source[0], (str, os.PathLike)):
        return [functools.partial(list, source)]
    if callable(source):
        return [source]
    return list(scan_table(source).parts())


def _frames(source: Any) -> Iterator[pl.DataFrame]:
    """The frames of a part with plain types, of some tens of megabytes where they come from files."""
    if isinstance(source, Scan):
        yield from source.pieces()
        return
    for item in source():
        yield plain_types(to_polars(getattr(item, "frame", item)), {})
