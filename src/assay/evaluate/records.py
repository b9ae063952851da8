"""What the results of evaluation have in common: the records of `base.record` and the way to matplotlib."""

from __future__ import annotations

from ..base.plotting import axes
from ..base.record import Grid, Record, TableRecord, jsonable

__all__ = ["Grid", "Record", "TableRecord", "axes", "jsonable"]
