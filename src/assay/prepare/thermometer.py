"""Thermometer code: an ordinal label as the steps it has reached."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from ..base import Choice, param, plain
from ..data.roles import guess_order
from .blocks import BlockStep
from .ordinal import OrderedLabels, in_order
from .step import columns_param


class Thermometer(BlockStep, OrderedLabels):
    """Codes an ordinal label by the steps it has reached: bachelors (1,0,0), masters (1,1,0), PhD (1,1,1).

    The columns are named 'degree>=masters'. Neighbouring labels differ in one column only, so that a linear model
    learns the size of each step. Without `orders`, the columns whose labels stand on a known scale are coded; others
    pass through. A missing label is missing in every column; so is one outside the order, unless it is refused.

    Attributes
    ----------
    orders_ : dict, the labels of each coded column from low to high, as text
    blocks_ : dict, the names of the columns that each of them becomes

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import Thermometer
    >>> table = pl.DataFrame({"degree": ["bachelors", "masters", "PhD"]})
    >>> step = Thermometer(orders={"degree": ["bachelors", "masters", "PhD"]}).fit(table)
    >>> step.transform(table).rows()
    [(1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 1.0, 1.0)]
    >>> step.inverse_transform(step.transform(table)).equals(table)
    True
    """

    drop: str | None = param(None, Choice("first", None), "Leave out the first step, which every label has reached.")
    columns: Any = columns_param(
        "Columns to code, by name or position; None for those of `orders`, or all on a known scale."
    )

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        self._learn_orders(frame, _known_scale, self.columns)
        first = int(self.drop == "first")
        steps = {name: [f"{name}>={label}" for label in order[first:]] for name, order in self.orders_.items()}
        self._lay_out(frame.columns, steps, "step")

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, self.kinds_)
        return self._in_blocks(frame, frame.columns, self._coded)

    def _coded(self, frame: pl.DataFrame, name: str) -> list[pl.Series]:
        codes, first = self._codes(frame, name), int(self.drop == "first")
        return [(codes >= step).cast(pl.Float64).alias(label) for step, label in enumerate(self.blocks_[name], first)]

    def _way_back(self, frame: pl.DataFrame, name: str) -> list[pl.Series]:
        """The labels, by the number of steps reached; missing if any step is."""
        block = frame.select(self.blocks_[name]).cast(pl.Float64)
        reached = pl.Series(name, np.zeros(frame.height))
        if block.width:
            reached = block.select(pl.sum_horizontal(pl.all(), ignore_nulls=False)).to_series()
        return [self._labels(reached - (self.drop != "first"), name)]

    def explain(self) -> list[str]:
        """The steps of each column, in words."""
        check_is_fitted(self)
        unseen = "becomes missing" if self.handle_unknown == "missing" else "is refused"
        return [
            f"{plain(name)}: a column of 0 and 1 for each step reached of {in_order(order)}"
            f"{' (the first has none)' if self.drop == 'first' else ''}; another label {unseen}."
            for name, order in self.orders_.items()
        ]


def _known_scale(text: pl.Series) -> list[str] | None:
    labels = text.drop_nulls().unique().sort().to_list()
    order = guess_order(labels) if labels else None
    return None if order is None else list(order)
