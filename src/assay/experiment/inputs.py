"""What a learner is given: one matrix that all folds share, or a preparation fitted in each fold by itself.

Where a learner takes every column of the table as it is, the rows of one C-ordered float64 matrix serve all folds; its
columns of labels hold codes in sorted order, which the learner sees as the same categories that it would find in the
text. Where it needs numbers completed, standardised or encoded, each fold sees one shared matrix through what its own
training rows say (`assay.prepare.shared`), so that nothing leaks and the learner can still share its work. Where the
user's steps come first, or dates or free text, `assay.prepare` is fitted on the training rows alone; learners with
equal needs then share the prepared folds as long as they fit in `CACHE_BYTES`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..base.folds import Fold, FoldTransform, FoldTransforms, StandardisedFolds, take_rows
from ..catalogue import Entry
from ..prepare import Chain, auto_prepare
from ..prepare.shared import SharedPreparation
from .plan import Learner, Plan

CACHE_BYTES = 256e6


@dataclass(frozen=True, eq=False)
class SharedTable:
    """One matrix for all folds, and the parameters that tell the learner which columns hold labels."""

    matrix: np.ndarray
    params: dict[str, Any]

    def transforms(
        self, splits: Sequence[int], threads: int = 1, folds: Sequence[Fold] | None = None
    ) -> FoldTransforms | None:
        """What the training rows of each split say about the columns; None where nothing is learned from them.

        `folds` are the rows of the splits, where they are at hand."""
        return None

    def rows(self, split: int, wanted: np.ndarray) -> np.ndarray:
        """Rows of the matrix as this split sees them."""
        return np.take(self.matrix, wanted, axis=0)


@dataclass(frozen=True, eq=False)
class PreparedTable(SharedTable):
    """One matrix that each fold sees through its own preparation."""

    preparation: SharedPreparation
    plan: Plan
    _folds: dict[int | None, FoldTransform] = field(default_factory=dict)

    def transforms(
        self, splits: Sequence[int], threads: int = 1, folds: Sequence[Fold] | None = None
    ) -> FoldTransforms:
        if not self.preparation.standardises:
            return self._transforms(splits, threads, folds)
        return StandardisedFolds(self.matrix.shape[1], partial(self._transforms, splits, threads, folds))

    def _transforms(self, splits: Sequence[int], threads: int, folds: Sequence[Fold] | None) -> FoldTransforms:
        # Two threads may both find a fold: what they find is the same.
        new = [split for split in [*splits, None] if split not in self._folds]
        known = {} if folds is None else dict(zip(splits, folds, strict=True))
        trains = [
            None if split is None else known[split][0] if split in known else self.plan.splits[split].train
            for split in new
        ]
        self._folds.update(zip(new, self.preparation.folds(trains, threads) if new else [], strict=True))
        return FoldTransforms(tuple(self._folds[split] for split in splits), self._folds[None])

    def rows(self, split: int, wanted: np.ndarray) -> np.ndarray:
        return self.transforms([split]).folds[0].apply(self.matrix, wanted)


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
        self._tables: dict[tuple[bool, bool, bool], PreparedTable | None] = {}

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
        numbers = all(role.role in ("numeric", "binary") for role in self.roles.values())
        if numbers and not self._missing and all(dtype.is_float() for dtype in self.frame.dtypes):
            cells = np.ascontiguousarray(self.frame.to_numpy(order="c"), dtype=np.float64)
            return cells if cells.flags.writeable else cells.copy(), []
        takes_all = replace(self.plan.learners[0].entry, native=("numeric", "nominal", "missing"), scales=False)
        rows = auto_prepare(self.roles, takes_all).fit_transform(self.frame)
        if isinstance(rows, np.ndarray):
            return np.ascontiguousarray(rows, dtype=np.float64), []
        labels = [j for j, dtype in enumerate(rows.dtypes) if not dtype.is_numeric()]
        matrix = np.empty(rows.shape, dtype=np.float64)
        for j, name in enumerate(rows.columns):
            matrix[:, j] = _codes(rows[name]) if j in labels else _numbers(rows[name])
        return matrix, labels

    def shared(self, learner: Learner) -> SharedTable | None:
        """The matrix for all folds; None where the user's steps, dates or words come first, or where the learner was
        told which of its columns are labels."""
        entry = learner.entry
        if not learner.native:
            return None  # other libraries' estimators get frames with column names
        if self.plan.prepare or any(role.role in ("datetime", "text") for role in self.roles.values()):
            return None
        with self._building:
            matrix, labels = self._as_it_is
            if not getattr(learner.estimator, "_reads_cells", True):
                return SharedTable(matrix, {})
            params = learner.estimator.get_params(deep=False)
            takes_codes = "nominal" in entry.native and params.get("categorical_features", 0) in (None, "from_dtype")
            if labels and "nominal" in entry.native and not takes_codes:
                return None
            if not self._missing or "missing" in entry.native:
                if not labels and not entry.scales:
                    return SharedTable(matrix, {})
                # Beside labels the preparation leaves scaling to the learner.
                if labels and takes_codes:
                    return SharedTable(matrix, {"categorical_features": labels})
            return self._through_preparation(entry, matrix)

    def _through_preparation(self, entry: Entry, matrix: np.ndarray) -> SharedTable | None:
        needs = self._needs(entry)
        if needs not in self._tables:
            preparation = auto_prepare(self.roles, entry)
            near = [table for other, table in self._tables.items() if other[:2] == needs[:2]]
            if near:
                found = None if near[0] is None else near[0].preparation.like(preparation)
            else:
                found = SharedPreparation.of(self.frame, preparation, matrix)
            self._tables[needs] = None if found is None else PreparedTable(found.matrix, {}, found, self.plan)
        return self._tables[needs]

    # -- preparation inside the training rows ----------------------------------------------------------------
    def fold(self, learner: Learner, split: int) -> tuple[Any, np.ndarray, Any]:
        """Training rows of a fold with their targets, and its test rows, prepared by the training rows alone."""

        def make() -> tuple[Any, Any, Any]:
            rows = self.plan.splits[split]
            chain = Chain(self.plan.prepare, self.roles, learner.entry)
            train, target = chain.fit_training(take_rows(self.frame, rows.train), self.plan.y[rows.train])
            test = chain.transform(take_rows(self.frame, rows.test))
            return learner.named(chain, train), target, learner.named(chain, test)

        return self._kept((self._needs(learner.entry), learner.native, split), make)

    def _needs(self, entry: Entry) -> tuple[bool, bool, bool]:
        """What of a learner's abilities changes the preparation of this table; equal needs share their folds."""
        labels = any(role.role != "numeric" for role in self.roles.values())
        return labels and "nominal" in entry.native, self._missing and "missing" in entry.native, entry.scales

    def _kept(self, key: tuple[Any, ...], make: Callable[[], tuple[Any, ...]]) -> Any:
        """What `make` makes, made once as long as there is room: learners meet the folds in the same order, so
        that keeping the first ones serves better than keeping the latest."""
        with self._lock:
            if key in self._prepared:
                return self._prepared[key]
        made = make()
        size = float(sum(_size(part) for part in made if hasattr(part, "shape")))
        with self._lock:
            if self._bytes + size <= CACHE_BYTES and key not in self._prepared:
                self._prepared[key] = made
                self._bytes += size
        return made

    def whole(self, learner: Learner, drawn: np.ndarray | None = None) -> tuple[Any, np.ndarray, list[str]]:
        """All rows, or those drawn, as a frame with names, their targets, and the preparation in words."""

        def make() -> tuple[Any, Any, Any]:
            chain = Chain(self.plan.prepare, self.roles, learner.entry)
            frame, labels = self.frame, self.plan.labels
            if drawn is not None:
                frame, labels = take_rows(frame, drawn), labels[drawn]
            rows, target = chain.fit_training(frame, labels)
            assert target is not None
            if isinstance(rows, np.ndarray):
                names = [str(name) for name in chain.get_feature_names_out()]
                rows = type(self.frame)(rows, schema=names) if len(set(names)) == len(names) else rows
            return rows, target, chain.explain()

        # A run draws the rows of its pictures by one rule.
        return self._kept((self._needs(learner.entry), "whole", drawn is None), make)


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
    if isinstance(rows, np.ndarray):
        return int(rows.nbytes)
    return int(rows.estimated_size() if hasattr(rows, "estimated_size") else 8 * np.prod(rows.shape))
