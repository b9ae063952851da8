"""Parquet and Arrow (Feather) files as frames: whole, or slice by slice in bounded memory, decoded in a child."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from ..base import config
from ..base.errors import DataError, plain
from . import decode
from .forked import polars_is_lost, use_polars
from .parquet_sizes import sound_groups
from .read_apart import DecoderDied, decoder
from .read_notes import WHO, refuse
from .read_source import Cells, Piece, SourceFile, Stretches, too_large
from .table import with_names

_PIECE_BYTES = 1 << 25


def read_columnar(file: SourceFile) -> pl.DataFrame:
    """A Parquet or Arrow file as a frame, unless its own count of rows says that it would not fit."""
    return pl.concat([piece.frame for piece in _pieces(file, whole=True)], rechunk=False)


def columnar_pieces(
    file: SourceFile, cells: Cells | None = None, most: int | None = None, some: Stretches | None = None
) -> Iterator[Piece]:
    """A Parquet or Arrow file as frames of some tens of megabytes each; with `cells`, their columns are written to its
    file instead, if they are numbers here; with `most`, at most so many of the first rows and no more; with `some`,
    these stretches alone."""
    for piece in _pieces(file, whole=False, cells=cells, most=most, some=some):
        if piece.frame.height or piece.written:
            yield piece


def _pieces(
    file: SourceFile,
    *,
    whole: bool,
    cells: Cells | None = None,
    most: int | None = None,
    some: Stretches | None = None,
) -> Iterator[Piece]:
    size = file.path.stat().st_size
    with open(file.path, "rb") as stream:
        streaming = file.kind == "Arrow" and stream.read(6) != b"ARROW1"
    if streaming and 2 * size > config.memory_limit():
        raise too_large(file.shown, 2.0 * size)
    trouble: Exception | None = None
    groups = None if whole or some or (cells is None and not most) else groups_here(file.path, file.kind, cells)
    with HERE if groups else decoder() as child:
        job: dict[str, Any] = {"ask": "columnar", "path": str(file.path.absolute()), "kind": file.kind}
        if cells is not None:
            told = ("columns", "whole", "others", "file", "slots", "rows", "first", "free")
            job["cells"] = {name: getattr(cells, name) for name in told}
        if some is not None:
            job["some"] = asdict(some)
        if groups:
            job["groups"] = groups
        try:
            for facts, frame in child.ask(**job, piece=_PIECE_BYTES, whole=whole, most=most):
                if frame is not None:
                    written, of = facts.get("written"), facts.get("of")
                    yield Piece(file.shown, facts["row"], with_names(frame), written=written, of=of)
                elif "written" in facts:
                    yield Piece(file.shown, facts["row"], pl.DataFrame(), written=facts["written"])
                elif "unwritten" in facts and cells is not None:
                    trouble = cells.unwritten(facts["unwritten"])
                elif "too_large" in facts:
                    trouble = too_large(file.shown, facts["too_large"], facts["why"])
                elif "error" in facts:
                    trouble = _unreadable(file, facts["error"])
        except DecoderDied as died:
            trouble = _unreadable(file, f"{died}: it is damaged, or asks for more memory than the limit")
    if trouble is not None:
        raise trouble


class _Here:
    """Decodes in this process."""

    def __enter__(self) -> _Here:
        use_polars(WHO)
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def ask(self, **job: Any) -> Iterator[tuple[dict[str, Any], pl.DataFrame | None]]:
        """The answers to a job, as those of a `Decoder`."""
        return decode.answers(job, {})


HERE = _Here()


def groups_here(path: Path, kind: str, cells: Cells | None = None) -> tuple[int, ...] | None:
    """The rows of the groups of a file that this process may decode itself: one that is small and sound in its sizes,
    whose numbers go to a file that grows."""
    if kind != "Parquet" or (cells is not None and cells.slots) or polars_is_lost():
        return None
    return sound_groups(path)


def _unreadable(file: SourceFile, why: str) -> DataError:
    return refuse(file.shown, f"cannot be read as {file.kind}", plain(why, 120), "check that it was written completely")
