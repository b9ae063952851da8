"""What a learner is given: one matrix shared by all folds where nothing is learned from rows, else a preparation
fitted inside the training rows of each fold.

Where a learner takes every column of the table as it is, no fold can leak into another through preparation, and the
rows of one C-ordered float64 matrix serve all folds; its columns of labels hold codes in sorted order, which the
learner sees as the same categories that it would find in the text. Otherwise `assay.prepare` is fitted on the
training rows alone; learners with equal needs share the prepared folds as long as they fit in `CACHE_BYTES`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..base.estimator import take_rows
from ..catalogue import Entry
from ..prepare import Chain, auto_prepare
from ..prepare.impute import NumericBlock
from .plan import Learner, Plan

CACHE_BYTES = 256e6


class Inputs:
    """The prepared rows of a plan, made when first asked for and safe to share between threads."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.frame = plan.features.frame
        self.roles = {name: plan.features.roles[name] for name in self.frame.columns}
        self._lock = threading.Lock()
        self._building = threading.Lock()
        self._prepared: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self._bytes = 0.0

    # -- one matrix for all folds ------------------------------------------------------------------------------
    @cached_property
    def _missing(self) -> bool:
        return any(self.frame.null_count().row(0))

    @cached_property
    def _as_it_is(self) -> tuple[np.ndarray, list[int]]:
        """The whole table as float64 with codes for labels and NaN for missing cells, and the columns of labels.

        The preparation of a learner that takes labels and missing cells puts the columns in order and learns nothing
        from the rows; for a table without labels or missing cells it is that of every learner that needs no scaling.
        """
        takes_all = replace(self.plan.learners[0].entry, native=("numeric", "nominal", "missing"), scales=False)
        rows = auto_prepare(self.roles, takes_all).fit_transform(self.frame)
        if isinstance(rows, np.ndarray):
            return np.ascontiguousarray(rows, dtype=np.float64), []
        labels = [j for j, dtype in enumerate(rows.dtypes) if not dtype.is_numeric()]
        matrix = np.empty(rows.shape, dtype=np.float64)
        for j, name in enumerate(rows.columns):
            matrix[:, j] = _codes(rows[name]) if j in labels else _numbers(rows[name])
        return matrix, labels

    @cached_property
    def _only_numbers(self) -> bool:
        """Whether preparation is standardising complete numbers and nothing else, which needs no frame."""
        numbers = all(role.role == "numeric" for role in self.roles.values())
        return (
            numbers and not self.plan.prepare and not self._missing and all(d.is_numeric() for d in self.frame.dtypes)
        )

    @cached_property
    def _numeric_columns(self) -> list[np.ndarray]:
        return [series.to_numpy() for series in self.frame.get_columns()]

    def _by_column(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of a table of numbers, as one row of memory per column."""
        out = np.empty((len(self._numeric_columns), rows.shape[0]))
        for cells, column in zip(out, self._numeric_columns):
            cells[:] = column[rows]
        return out

    def shared(self, learner: Learner) -> tuple[np.ndarray, dict[str, Any]] | None:
        """The matrix for all folds and the parameters that say which columns hold labels, if the learner needs no
        more; None if its preparation would learn from rows (dates count from the first training date)."""
        entry = learner.entry
        if self.plan.prepare:
            return None
        if any(role.role == "datetime" for role in self.roles.values()):
            return None
        if self._missing and "missing" not in entry.native:
            return None
        with self._building:
            matrix, labels = self._as_it_is
        if not labels:
            return None if entry.scales else (matrix, {})
        # Beside labels the preparation leaves scaling to the learner.
        params = learner.estimator.get_params(deep=False)
        takes_codes = "nominal" in entry.native and params.get("categorical_features", 0) in (None, "from_dtype")
        return (matrix, {"categorical_features": labels}) if takes_codes else None

    # -- preparation inside the training rows ----------------------------------------------------------------
    def fold(self, learner: Learner, split: int) -> tuple[Any, np.ndarray, Any]:
        """Training rows of a fold with their targets, and its test rows, prepared by the training rows alone."""

        def make() -> tuple[Any, Any, Any]:
            rows = self.plan.splits[split]
            if self._only_numbers:
                block, train = NumericBlock.fit(
                    self._by_column(rows.train), False, impute=True, standardise=learner.entry.scales
                )
                return train, self.plan.y[rows.train], block.apply(self._by_column(rows.test), False)
            chain = Chain(self.plan.prepare, self.roles, learner.entry)
            train, target = chain.fit_training(take_rows(self.frame, rows.train), self.plan.y[rows.train])
            return train, target, chain.transform(take_rows(self.frame, rows.test))

        return self._kept((self._needs(learner.entry), split), make)

    def _needs(self, entry: Entry) -> tuple[bool, bool, bool]:
        """What of a learner's abilities changes the preparation of this table; equal needs share their folds."""
        labels = any(role.role != "numeric" for role in self.roles.values())
        return labels and "nominal" in entry.native, self._missing and "missing" in entry.native, entry.scales

    def test_rows(self, split: int) -> np.ndarray:
        """Test rows of a fold in the shared matrix."""
        return self._kept(
            ("shared", split), lambda: (np.take(self._as_it_is[0], self.plan.splits[split].test, axis=0),)
        )[0]

    def _kept(self, key: tuple[Any, ...], make: Callable[[], tuple[Any, ...]]) -> Any:
        """What `make` makes, made once as long as there is room: learners meet the folds in the same order, so
        that keeping the first ones serves better than keeping the latest."""
        with self._lock:
            if key in self._prepared:
                return self._prepared[key]
        made = make()
        size = float(sum(_size(part) for part in made))
        with self._lock:
            if self._bytes + size <= CACHE_BYTES and key not in self._prepared:
                self._prepared[key] = made
                self._bytes += size
        return made

    def whole(self, learner: Learner) -> tuple[Any, np.ndarray, list[str]]:
        """All rows as a frame with names, their targets, and the preparation in words."""
        chain = Chain(self.plan.prepare, self.roles, learner.entry)
        rows, target = chain.fit_training(self.frame, self.plan.labels)
        assert target is not None
        if isinstance(rows, np.ndarray):
            names = [str(name) for name in chain.get_feature_names_out()]
            rows = type(self.frame)(rows, schema=names) if len(set(names)) == len(names) else rows
        return rows, target, chain.explain()


def _codes(series: Any) -> np.ndarray:
    """Categories as their rank in sorted order, NaN where missing."""
    values = series.to_numpy().astype(object)
    missing = series.is_null().to_numpy()
    codes = np.full(values.shape[0], np.nan)
    if not missing.all():
        codes[~missing] = np.unique(values[~missing].astype(str), return_inverse=True)[1]
    return codes


def _numbers(series: Any) -> np.ndarray:
    missing = series.is_null().to_numpy()
    values = series.to_numpy().astype(np.float64)
    values = values.copy() if not values.flags.writeable else values
    values[missing] = np.nan
    return values


def _size(rows: Any) -> int:
    return int(rows.nbytes) if isinstance(rows, np.ndarray) else int(rows.estimated_size())
