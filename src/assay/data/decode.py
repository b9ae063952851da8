"""Decoders of Parquet, Arrow and workbooks, as a program of its own: it may die of a damaged file, its caller may not.

`read_apart` runs this file in a child with a limit on memory and talks to it in lines: one JSON object asks, others
answer, and one with "frame" is followed by so many bytes of Arrow. Nothing of Assay is imported: it starts fast.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import select
import signal
import sys
from collections.abc import Iterator
from typing import Any

if __name__ == "__main__":
    sys.path[:] = json.loads(sys.argv[1])

import polars as pl

FAILURES = (Exception, pl.exceptions.PanicException)
SLACK = 1 << 30
"""Address space for threads and the allocator, beside what is there at the start."""

IN_CACHE = 1 << 20
"""Bytes of rows that are transposed and written together, so that they are read where they were just written."""

WINDOW, FEW = 1 << 24, 1 << 20
"""Bytes of the rows that are put together from columns of a small file, and of the columns decoded at a time."""

IDLE = 20.0
"""Seconds without a job after which the program ends."""

ERRORS = {
    **{"Div0": "#DIV/0!", "NA": "#N/A", "Name": "#NAME?", "Null": "#NULL!", "Num": "#NUM!", "Ref": "#REF!"},
    **{"Value": "#VALUE!", "GettingData": "#DATA!"},
}
"""Errors of cells as a workbook shows them, by their names in the decoder."""

Answer = tuple[dict[str, Any], pl.DataFrame | None]


def answers(job: dict[str, Any], kept: dict[str, Any]) -> Iterator[Answer]:
    """What a job gives: facts, frames, and at the end {"done"} or {"error"}; `kept` lasts between jobs."""
    ways = {"columnar": columnar, "sheets": sheets, "sheet": sheet}
    ended = False
    try:
        for facts, frame in ways[job["ask"]](job, kept):
            ended = "done" in facts
            yield facts, frame
    except MemoryError:
        yield {"error": "it needs more memory than the limit"}, None
    except FAILURES as error:
        text = str(error).strip()
        yield {"error": text.splitlines()[0] if text else type(error).__name__}, None
    else:
        if not ended:
            yield {"done": True}, None


def columnar(job: dict[str, Any], kept: dict[str, Any]) -> Iterator[Answer]:
    """A Parquet or Arrow file in frames of `job["piece"]` bytes, unless `whole` and too large by its own count. With
    `cells`, columns of numbers go to a file as rows, and only the others are told; with `most`, so many rows alone;
    with `some`, stretches of rows. With `groups`, which are the rows of the groups of a small file of numbers, a few of
    its columns are decoded at a time."""
    lazy = _lazy(job)
    if job.get("groups") and (job.get("most") or _suit(job["cells"], lazy.collect_schema())):
        yield from _few_columns(lazy, job)
        return
    width = sum(32 if kind in (pl.String, pl.Binary) else 8 for kind in lazy.collect_schema().dtypes())
    rows = int(lazy.select(pl.len()).collect().item())
    needed = 2.0 * rows * width
    if job["whole"] and needed > job["limit"]:
        yield {"too_large": needed, "why": f" for {rows} rows"}, None
        return
    step = max(1024, int(job["piece"] / max(width, 1)))
    if job.get("most"):
        yield {"row": 1, "done": True}, lazy.head(job["most"]).collect()
        return
    if job.get("some"):
        yield from _stretches(lazy, job["some"], rows)
        return
    cells = job.get("cells")
    if cells is not None and rows and _suit(cells, lazy.collect_schema()):
        yield from _written(lazy, cells, step)
        return
    if job["whole"] or not rows:
        frame = lazy.collect()
        for start in range(0, max(rows, 1), step):
            yield {"row": start + 1}, frame[start : start + step]
        return
    for start, part in _parts(lazy, step):
        yield {"row": start + 1}, part


def _parts(lazy: pl.LazyFrame, step: int) -> Iterator[tuple[int, pl.DataFrame]]:
    """Frames of at most so many rows with the number of their first row; each group of rows of the file is decoded
    once."""
    start = 0
    try:
        for part in lazy.collect_batches(chunk_size=step, maintain_order=True):
            for begin in range(0, part.height, step):
                yield start + begin, part[begin : begin + step]
            start += part.height
    except FAILURES as error:
        raise ValueError(f"row {start + 1} or later: {error}") from None


def _suit(cells: dict[str, Any], schema: pl.Schema) -> bool:
    """Whether every column of `cells` holds numbers of its kind here: floats, or whole ones that 64 bits take."""
    small = (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32)
    for name, whole in zip(cells["columns"], cells["whole"]):
        if schema.get(name) not in ((*small, pl.Int64) if whole else (*small, pl.Float32, pl.Float64)):
            return False
    return all(name in schema for name in cells["others"]) and os.access(cells["file"], os.W_OK)


def _written(lazy: pl.LazyFrame, cells: dict[str, Any], step: int) -> Iterator[Answer]:
    """The columns of `cells` as rows of float64 at their place in its file; each answer has the others."""
    if cells.get("slots"):
        yield from _in_slots(lazy, cells, step)
        return
    columns, others = list(cells["columns"]), list(cells["others"])
    file = os.open(cells["file"], os.O_WRONLY)
    try:
        for start, part in _parts(lazy.select(list(dict.fromkeys([*columns, *others]))), step):
            numbers = part.select(pl.col(columns).cast(pl.Float64))
            few = max(1024, IN_CACHE // (8 * len(columns)))
            try:
                for begin in range(0, part.height, few):
                    block = numbers[begin : begin + few].to_numpy(order="c")
                    left, place = memoryview(block.data).cast("B"), 8 * len(columns) * (start + begin)
                    while left:
                        done = os.pwrite(file, left, place)
                        left, place = left[done:], place + done
            except OSError as error:
                yield {"unwritten": error.strerror or str(error)}, None
                return
            yield {"row": start + 1, "written": part.height}, part.select(others)
    finally:
        os.close(file)


def _in_slots(lazy: pl.LazyFrame, cells: dict[str, Any], step: int) -> Iterator[Answer]:
    """The columns of `cells` as rows of float64 in slots of memory that the caller shares, filled in turn; one byte
    of the pipe `free` says that a slot may be filled again. Each answer is a full slot, the last what is left."""
    import mmap

    import numpy as np

    columns, others = list(cells["columns"]), list(cells["others"])
    slots, rows, number = cells["slots"], cells["rows"], 0
    few = max(1024, IN_CACHE // (8 * len(columns)))
    with open(cells["file"], "r+b") as file, open(cells["free"], "rb", buffering=0) as free:
        room = np.frombuffer(mmap.mmap(file.fileno(), 0), np.float64).reshape(slots, rows, len(columns))
        beside: list[pl.DataFrame] = []
        filled = begun = 0
        for _, part in _parts(lazy.select(list(dict.fromkeys([*columns, *others]))), step):
            numbers, told, taken = part.select(pl.col(columns).cast(pl.Float64)), part.select(others), 0
            while taken < part.height:
                # Two slots may still be in use by whoever read the file before.
                if filled == 0 and number >= slots - 2 and not free.read(1):
                    return  # nobody is there any more
                count = min(few, rows - filled, part.height - taken)
                slot = room[(cells["first"] + number) % slots]
                slot[filled : filled + count] = numbers[taken : taken + count].to_numpy(order="fortran")
                if others:
                    beside.append(told[taken : taken + count])
                filled, taken = filled + count, taken + count
                if filled == rows:
                    yield {"row": begun + 1, "written": filled}, pl.concat(beside) if others else None
                    begun, filled, number, beside = begun + filled, 0, number + 1, []
        if filled:
            yield {"row": begun + 1, "written": filled}, pl.concat(beside) if others else None


def _few_columns(lazy: pl.LazyFrame, job: dict[str, Any]) -> Iterator[Answer]:
    """The first rows (`most`), or the columns of `cells` as rows of float64 in its file; no more is held at a time than
    some rows and a few of their columns."""
    names = lazy.collect_schema().names()
    most, start = job.get("most"), 0
    if most:
        yield {"row": 1, "done": True}, pl.concat(list(_of_columns(lazy.head(most), names, most)), how="horizontal")
        return
    cells: dict[str, Any] = job["cells"]
    columns, others = list(cells["columns"]), list(cells["others"])
    step = max(1024, WINDOW // (8 * len(columns)))
    with open(cells["file"], "r+b", buffering=0) as file:
        for rows in job["groups"]:
            for begin in range(start, start + rows, step):
                count = min(step, start + rows - begin)
                try:
                    _write_columns(file, lazy.slice(begin, count), columns, begin, count)
                except OSError as error:
                    yield {"unwritten": error.strerror or str(error)}, None
                    return
                yield {"row": begin + 1, "written": count}, lazy.slice(begin, count).select(others).collect()
            start += rows


def _write_columns(file: Any, lazy: pl.LazyFrame, columns: list[str], begin: int, count: int) -> None:
    """Columns as rows of float64 at their place in a file."""
    import mmap

    import numpy as np

    # Memory of its own, which goes back to the system at once.
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    with mmap.mmap(-1, 8 * count * len(columns), **private) as room:
        with contextlib.suppress(AttributeError, OSError):
            room.madvise(mmap.MADV_HUGEPAGE)
        block = np.frombuffer(room, np.float64).reshape(count, len(columns))
        place = 0
        for frame in _of_columns(lazy, columns, count):
            if frame.height != count:
                raise ValueError("it has fewer rows than it states")
            block[:, place : place + frame.width] = frame.select(pl.all().cast(pl.Float64)).to_numpy(order="fortran")
            place += frame.width
        del block
        file.seek(8 * len(columns) * begin)
        with memoryview(room) as left:
            done = 0
            while done < len(left):
                done += file.write(left[done:])


def _of_columns(lazy: pl.LazyFrame, names: list[str], rows: int) -> Iterator[pl.DataFrame]:
    """The columns of a frame, a few at a time."""
    few = max(1, FEW // (8 * rows))
    for first in range(0, len(names), few):
        yield lazy.select(names[first : first + few]).collect()


def _stretches(lazy: pl.LazyFrame, some: dict[str, Any], rows: int) -> Iterator[Answer]:
    """Stretches of rows at equal steps."""
    height = min(some["rows"], rows)
    for number in range(some["count"]):
        middle = (2 * number + 1) * rows // (2 * some["count"])
        begin = min(max(middle - height // 2, 0), rows - height)
        yield {"row": begin + 1, "of": rows}, lazy.select(some["columns"]).slice(begin, height).collect()


def _lazy(job: dict[str, Any]) -> pl.LazyFrame:
    if job["kind"] == "Parquet":
        return pl.scan_parquet(job["path"], glob=False)
    with open(job["path"], "rb") as stream:
        magic = stream.read(6)
    # The streaming form of Arrow has no table of contents and is read whole.
    return pl.scan_ipc(job["path"]) if magic == b"ARROW1" else pl.read_ipc_stream(job["path"]).lazy()


def sheets(job: dict[str, Any], kept: dict[str, Any]) -> Iterator[Answer]:
    """The names of the sheets of a workbook, which stays open for `sheet`."""
    import fastexcel

    kept["book"] = fastexcel.read_excel(job["path"])
    yield {"sheets": list(kept["book"].sheet_names)}, None


def sheet(job: dict[str, Any], kept: dict[str, Any]) -> Iterator[Answer]:
    """The first row of a sheet as text, then the sheet with its types."""
    book, name = kept["book"], job["sheet"]
    top = book.load_sheet(name, header_row=None, n_rows=1, dtypes="string").to_polars()
    yield {"first": ["" if cell is None else str(cell).strip() for cell in (top.row(0) if top.height else ())]}, None
    skip = 0 if job["header"] else None
    loaded = book.load_sheet(name, header_row=skip, schema_sample_rows=None, whitespace_as_null=True)
    if job.get("errors"):
        yield {"errors": error_cells(loaded)}, None
    yield {"row": 1}, loaded.to_polars()


def error_cells(loaded: Any) -> list[list[Any]]:
    """Row, column (from 1) and error of the cells that hold one; without PyArrow the decoder does not tell."""
    try:
        _, told = loaded.to_arrow_with_errors()
    except ImportError:
        return []
    found = []
    for cell in told.errors if told is not None else ():
        kind = re.search(r"Error\((\w+)\)", cell.detail)
        if kind:
            found.append([cell.position[0] + 1, cell.position[1] + 1, ERRORS.get(kind[1], "an error")])
    return found


def limit_memory(job: dict[str, Any]) -> None:
    """No more address space than the job may take beside what the libraries have."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = int(min(address_space() + SLACK + job["limit"], 2.0**62))
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))


def address_space() -> int:
    """Bytes of address space in use; 0 where the system does not say."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def serve() -> None:
    """Answer jobs from stdin until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked, told = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    kept: dict[str, Any] = {}
    while select.select([asked], [], [], IDLE)[0] and (line := asked.readline()):
        job = json.loads(line)
        limit_memory(job)
        for facts, frame in answers(job, kept):
            stream = io.BytesIO()
            if frame is not None:
                frame.write_ipc_stream(stream, compression="uncompressed")
                facts["frame"] = stream.tell()
            told.write(json.dumps(facts).encode() + b"\n")
            told.write(stream.getbuffer())
            told.flush()


if __name__ == "__main__":
    # Whoever asked may be gone; then nobody is left to hear about it.
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        serve()
    os._exit(0)
