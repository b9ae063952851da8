"""Parquet and Arrow (Feather) files as frames: whole, or slice by slice in bounded memory, decoded in a child."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import polars as pl

from ..base import config
from ..base.errors import DataError, plain
from .read_apart import DecoderDied, decoder
from .read_notes import refuse
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
    with decoder() as child:
        job: dict[str, Any] = {"ask": "columnar", "path": str(file.path.absolute()), "kind": file.kind}
        if cells is not None:
            told = ("columns", "whole", "others", "file", "slots", "rows", "first", "free")
            job["cells"] = {name: getattr(cells, name) for name in told}
        if some is not None:
            job["some"] = asdict(some)
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


def _unreadable(file: SourceFile, why: str) -> DataError:
    return refuse(file.shown, f"cannot be read as {file.kind}", plain(why, 120), "check that it was written completely")
