"""What a learner is given: one matrix shared by all folds where nothing is learned from rows, else a preparation
fitted inside the training rows of each fold.

Where a learner takes every column of the table as it is, no fold can leak into another through preparation, and the
rows of one C-ordered float64 matrix serve all folds; its nominal columns hold category codes in sorted order, which the
learner sees as the same categories that it would find in the text. Otherwise `assay.prepare` is fitted on the
training rows alone; learners with equal needs share the prepared folds as long as they fit in `CACHE_BYTES`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..base.estimator import take_rows
from ..prepare import auto_prepare
from .plan import Learner, Plan

CACHE_BYTES = 256e6


class Inputs:
    """The prepared rows of a plan, made when first asked for and safe to share between threads."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.frame = plan.features.frame
        self.roles = {name: plan.features.roles[name] for name in self.frame.columns}
        self._lock = threading.Lock()
        self._prepared: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self._bytes = 0.0

    # -- one matrix for all folds ------------------------------------------------------------------------------
    @cached_property
    def _text(self) -> list[int]:
        """Positions of the columns that are not numbers."""
        return [j for j, dtype in enumerate(self.frame.dtypes) if not dtype.is_numeric()]

    @cached_property
    def matrix(self) -> np.ndarray | None:
        """The whole table as float64 with codes for nominal columns and NaN for missing cells; None if it holds
        columns (dates, ranks) that only a preparation can turn into numbers."""
        if any(role.role not in ("numeric", "binary", "nominal") for role in self.roles.values()):
            return None
        if any(self.roles[self.frame.columns[j]].role == "numeric" for j in self._text):
            return None
        if not self._text and not sum(self.frame.null_count().row(0)):
            return np.ascontiguousarray(self.frame.to_numpy(), dtype=np.float64)
        matrix = np.empty(self.frame.shape, dtype=np.float64)
        for j, name in enumerate(self.frame.columns):
            matrix[:, j] = _codes(self.frame[name]) if j in self._text else _numbers(self.frame[name])
        return matrix

    @cached_property
    def _complete(self) -> bool:
        return self.matrix is not None and bool(np.isfinite(self.matrix).all())

    @cached_property
    def _nominal(self) -> list[int]:
        return [j for j, name in enumerate(self.frame.columns) if self.roles[name].role != "numeric"]

    def shared(self, learner: Learner) -> tuple[np.ndarray, dict[str, Any]] | None:
        """The matrix and the parameters that say which columns are nominal, if this learner needs no preparation."""
        entry = learner.entry
        if entry.scales or self.matrix is None:
            return None
        if not self._complete and "missing" not in entry.native:
            return None
        if not self._nominal:
            return self.matrix, {}
        if "nominal" not in entry.native or not learner.native:
            return None
        params = learner.estimator.get_params(deep=False)
        if "categorical_features" not in params:
            return None if self._text else (self.matrix, {})
        if params["categorical_features"] not in (None, "from_dtype"):
            return None
        # Numeric 0/1 columns stay numbers, as they do when the learner meets the frame itself.
        return self.matrix, {"categorical_features": self._text} if self._text else {}

    # -- preparation inside the training rows ----------------------------------------------------------------
    def fold(self, learner: Learner, split: int) -> tuple[Any, Any]:
        """Training and test rows of a fold, prepared by what the training rows alone say."""

        def make() -> tuple[Any, Any]:
            rows = self.plan.splits[split]
            preparation = auto_prepare(self.roles, learner.entry)
            train = preparation.fit_transform(take_rows(self.frame, rows.train))
            return train, preparation.transform(take_rows(self.frame, rows.test))

        return self._kept((tuple(sorted(learner.entry.native)), learner.entry.scales, split), make)

    def test_rows(self, split: int) -> np.ndarray:
        """Test rows of a fold in the shared matrix."""
        matrix = self.matrix
        assert matrix is not None
        return self._kept((split,), lambda: (np.take(matrix, self.plan.splits[split].test, axis=0),))[0]

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

    def whole(self, learner: Learner) -> tuple[Any, list[str]]:
        """All rows as a frame with names, and the preparation in words."""
        preparation = auto_prepare(self.roles, learner.entry)
        rows = preparation.fit_transform(self.frame)
        if isinstance(rows, np.ndarray):
            rows = type(self.frame)(rows, schema=[str(name) for name in preparation.get_feature_names_out()])
        return rows, [str(words) for words in preparation.explain()]


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
