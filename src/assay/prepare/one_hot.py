"""One-hot code: a column of 0 and 1 for each category."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from ..base import Choice, DataError, Integer, Nothing, Real, param, plain
from .blocks import BlockStep
from .encode import RARE_LABEL, Indicators, as_text, counted_labels, from_text, label_places, text_counts
from .step import CellCost, columns_param, is_label, is_value, kind_of, matrix_of

_NONE = -(2**60)


class OneHot(BlockStep):
    """Gives each category of a column a column of 0 and 1, such as 'region=north'; other columns pass through.

    Missing is a category of its own, 'region=(missing)', if the training rows hold it. Categories seen less often than
    `min_frequency`, or beyond the `max_categories` most frequent, share one column, 'region=(rare)'. A category the
    training rows do not hold (missing among them) is all zeros, an error, or counts as rare. Columns of text and
    booleans are coded; columns of numbers only if `columns` names them. Where `drop` leaves out a column, its
    category and an unseen one are both all zeros.

    Attributes
    ----------
    coded_ : list of the columns that are coded
    categories_ : dict, the categories of each column that have a column of their own, in order
    infrequent_ : dict, the categories of each column that share one
    missing_ : dict, whether missing is a category of the column
    dropped_ : dict, the category of each column that has no column (None if all have one)

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import OneHot
    >>> table = pl.DataFrame({"region": ["north", "south", "east"], "age": [31, 45, 22]})
    >>> step = OneHot().fit(table)
    >>> step.get_feature_names_out().tolist()
    ['region=east', 'region=north', 'region=south', 'age']
    >>> step.transform(table).row(0)
    (0.0, 1.0, 0.0, 31)
    >>> step.inverse_transform(step.transform(table)).equals(table)
    True
    """

    drop: str | None = param(
        None, Choice("first", "if_binary", None), "Leave out the first column of each, or of those with two."
    )
    handle_unknown: str = param(
        "ignore", Choice("ignore", "error", "infrequent"), "An unseen category is all zeros, refused, or rare."
    )
    max_categories: int | None = param(
        None, Integer(1) | Nothing(), "Columns per column at most, that of the rare categories included."
    )
    min_frequency: Any = param(
        None,
        Integer(1) | Real(0, 1, closed="neither") | Nothing(),
        "Rows, or share of the rows, that a category needs for a column of its own.",
    )
    columns: Any = columns_param("Columns to code, by name or position; None for those of text and booleans.")

    categories_: dict[str, list[str]]
    infrequent_: dict[str, list[str]]
    missing_: dict[str, bool]
    dropped_: dict[str, str | None]

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        coded = self._chosen(frame, is_label if self.columns is None else is_value, "labels")
        self._begin_codes({name: kind_of(frame[name]) for name in coded})
        for name in coded:
            text = as_text(frame[name])
            self._learn_column(name, text_counts(text), text.null_count() > 0, text.len())
        self._lay_out(frame.columns, {name: self._indicators(name).names for name in coded}, "category")

    def _by_cells(self) -> bool:
        return True

    def _learn_cells(self, cells: np.ndarray, y: np.ndarray | None) -> None:
        places = self._asked_cells()
        self._begin_codes(dict.fromkeys(places, "number"))
        columns = np.sort(cells.T, axis=1)  # NaN stands last
        for name, place in places.items():
            counts, missing = counted_labels(columns[place])
            self._learn_column(name, counts, missing, cells.shape[0])
        self._lay_out(self.names_in_, {name: self._indicators(name).names for name in places}, "category")

    def _begin_codes(self, kinds: dict[str, str]) -> None:
        self.coded_, self.kinds_ = list(kinds), kinds
        self.categories_, self.infrequent_, self.missing_, self.dropped_ = {}, {}, {}, {}

    def _learn_column(self, name: str, counts: dict[str, int], missing: bool, n_rows: int) -> None:
        """Which categories of a column have a column of their own, from how often each of them is there."""
        labels = sorted(counts)
        rare = np.zeros(len(labels), dtype=bool)
        if self.min_frequency is not None or self.max_categories is not None:
            rare = self._rare(np.array([counts[label] for label in labels]), n_rows)
        own = [label for label, few in zip(labels, rare) if not few]
        self.infrequent_[name] = [label for label, few in zip(labels, rare) if few]
        width = len(own) + bool(self.infrequent_[name]) + missing
        dropped = None
        if own and (self.drop == "first" or (self.drop == "if_binary" and width == 2)):
            dropped = own.pop(0)
        self.categories_[name], self.dropped_[name], self.missing_[name] = own, dropped, missing

    def _rare(self, seen: np.ndarray, n_rows: int) -> np.ndarray:
        """Which categories share a column, from how often they were seen."""
        rare = np.zeros(seen.shape, dtype=bool)
        if self.min_frequency is not None:
            share = not isinstance(self.min_frequency, (int, np.integer))
            rare = seen < self.min_frequency * (n_rows if share else 1)
        if self.max_categories is not None and seen.size - rare.sum() + rare.any() > self.max_categories:
            # As in scikit-learn: of equally frequent categories the later in order are kept.
            order = np.argsort(seen, kind="stable")
            rare[order[: seen.size - (self.max_categories - 1)]] = True
        return rare

    def _indicators(self, name: str) -> Indicators:
        return Indicators(
            name,
            tuple(self.categories_[name]),
            frozenset(self.infrequent_[name]),
            self.missing_[name],
            self.dropped_[name],
        )

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, self.kinds_)
        return self._in_blocks(frame, frame.columns, self._coded)

    def _apply_cells(self, cells: np.ndarray) -> np.ndarray:
        ones, columns = np.empty((cells.shape[0], len(self.blocks_)), dtype=np.int64), cells.T.copy()
        at, passed = 0, []
        for place, name in enumerate(self.names_in_):
            if name not in self.blocks_:
                passed.append((at, place))
                at += 1
                continue
            spots, unseen = self._spots(name, columns[place])
            if self.handle_unknown == "error" and unseen.any():  # which the sentence about a column of a frame tells
                return self._close(self._apply(self._open(cells, reset=False)), cells)
            spots += at
            ones[:, place - len(passed)] = spots
            at += len(self.blocks_[name])
        coded = np.zeros((cells.shape[0], at))
        for to, place in passed:
            coded[:, to] = columns[place]
        # Row by row, as the table lies in memory; where no column stands for a cell the place is below 0.
        ones += np.arange(0, coded.size, at)[:, None]
        coded.reshape(-1)[ones if (ones >= 0).all() else ones[ones >= 0]] = 1.0
        return coded

    def _spots(self, name: str, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which column of its block stands for each cell, one far below 0 where none does, and which cells are no
        category."""
        own, rare, dropped = self.categories_[name], self.infrequent_[name], self.dropped_[name]
        labels = [*own, *rare, *([] if dropped is None else [dropped])]
        spot_of = [*range(len(own)), *[len(own)] * len(rare), *([] if dropped is None else [_NONE]), _NONE]
        places, unseen = label_places(labels, column)
        if self.handle_unknown == "infrequent" and rare:
            spot_of[-1] = len(own)
        spots = np.array(spot_of)[places]
        if self.missing_[name]:
            gone = np.isnan(column)
            spots[gone] = len(self.blocks_[name]) - 1
            unseen &= ~gone
        return spots, unseen

    def _coded(self, frame: pl.DataFrame, name: str) -> list[pl.Series]:
        text, names = as_text(frame[name]), self.blocks_[name]
        block = np.zeros((frame.height, len(names)), order="F")
        self._indicators(name).write(text, block)
        if self.handle_unknown != "ignore":
            self._meet_unseen(text, block)
        return [pl.Series(label, block[:, j]) for j, label in enumerate(names)]

    def _meet_unseen(self, text: pl.Series, block: np.ndarray) -> None:
        name = text.name
        known = [*self.categories_[name], *self.infrequent_[name]]
        known += [] if self.dropped_[name] is None else [str(self.dropped_[name])]
        unseen = ~text.is_in(known).fill_null(self.missing_[name]).to_numpy()
        if not unseen.any():
            return
        if self.handle_unknown == "error":
            row = int(unseen.argmax())
            raise DataError(
                type(self).__name__,
                f"column '{plain(name)}'",
                "holds a category that the training rows do not",
                f"got {'a missing cell' if text[row] is None else repr(plain(text[row], 40))} at row {row}",
                "use handle_unknown='ignore'",
            )
        if self.infrequent_[name]:
            block[unseen, len(self.categories_[name])] = 1.0

    def _way_back(self, frame: pl.DataFrame, name: str) -> list[pl.Series]:
        """The labels: the column with the largest value, the dropped category (or missing) if all are 0."""
        block = np.nan_to_num(matrix_of(frame.select(self.blocks_[name]), frame.height))
        labels: list[str | None] = list(self.categories_[name])
        labels += [RARE_LABEL] if self.infrequent_[name] else []
        labels += [None] if self.missing_[name] else []
        labels.append(self.dropped_[name])
        code = block.argmax(axis=1) if block.shape[1] else np.zeros(frame.height, dtype=np.int64)
        code = np.where(block.any(axis=1), code, len(labels) - 1)
        text = pl.Series(name, labels, dtype=pl.String).gather(code)
        return [from_text(text, self.kinds_[name]).alias(name)]

    def explain(self) -> list[str]:
        """What becomes of each column, in words."""
        check_is_fitted(self)
        unseen = {"ignore": "", "error": "is refused", "infrequent": "counts as rare"}[self.handle_unknown]
        return [f"{plain(name)}: {self._indicators(name).explain(unseen)}." for name in self.coded_]

    # A look-up per cell; the memory counts ten categories per column.
    _cell_cost = CellCost(seconds=6e-8, start=1e-5, bytes=100.0)
