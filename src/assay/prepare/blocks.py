"""Steps in which a column becomes a block of columns: where the block stands, what it is called, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from ..base import DataError
from .step import TableStep, free_name


class BlockStep(TableStep):
    """Puts blocks of columns where the coded columns were; the classes below say what is in them."""

    blocks_: dict[str, list[str]]

    def _lay_out(self, names: Iterable[str], blocks: Mapping[str, Iterable[str]], single: str) -> None:
        """Name the columns of each block, in place of its column; a name that is taken gets a number."""
        names = list(names)
        kept = [name for name in names if name not in blocks]
        taken = set(kept)
        self.blocks_, self.names_out_ = {}, []
        for name in names:
            if name not in blocks:
                self.names_out_.append(name)
                continue
            self.blocks_[name] = []
            for label in blocks[name]:
                self.blocks_[name].append(free_name(label, taken))
                self.names_out_.append(self.blocks_[name][-1])
                taken.add(self.names_out_[-1])
        if not self.names_out_:
            raise DataError(
                type(self).__name__,
                "the table",
                f"would lose every column: each has a single {single}, which 'drop' leaves out",
                way_out="use drop=None",
            )

    def _in_blocks(
        self, frame: pl.DataFrame, names: Iterable[str], made: Callable[[pl.DataFrame, str], list[pl.Series]]
    ) -> pl.DataFrame:
        """The columns by name, those that are coded as `made` makes them."""
        columns: list[pl.Series] = []
        for name in names:
            columns += made(frame, name) if name in self.blocks_ else [frame[name]]
        return pl.DataFrame(columns)

    def inverse_transform(self, X: Any) -> Any:
        """The columns again that the blocks were made of."""
        frame = self._open_prepared(X)
        return self._close(self._in_blocks(frame, self.names_in_, self._way_back), X)

    def _way_back(self, frame: pl.DataFrame, name: str) -> list[pl.Series]:
        """The column of this name, from its block."""
        raise NotImplementedError  # pragma: no cover
