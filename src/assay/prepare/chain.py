"""A chain: the user's steps, then the preparation that the learner needs, all learned from the training rows.

Before a step that cannot take the table as it stands (labels, missing cells), the preparation that this step needs
comes in between, as it would for a learner. Steps that change rows change training rows only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone

from .. import catalogue
from ..base.errors import DataError, plain
from ..catalogue import Entry
from ..data.roles import Role, infer_roles
from ..data.table import plain_types, to_polars
from .auto import Preparation, auto_prepare

_LABELS = (pl.String, pl.Boolean, pl.Datetime("us"))


class Chain:
    """Preparation of one fold for one learner.

    `fit_training(frame, y)` learns from the training rows and returns them prepared, with their targets: steps such as
    dropping outliers or balancing classes change how many there are. `transform(frame)` prepares any other rows, one
    for one. The steps are cloned, so that a chain never shares what it learned.

    Examples
    --------
    >>> import polars as pl
    >>> from assay import catalogue
    >>> from assay.data import infer_roles
    >>> from assay.prepare import Chain, Scale
    >>> frame = pl.DataFrame({"age": [20.0, 30.0, 40.0], "plan": ["a", "b", "a"]})
    >>> chain = Chain([Scale()], infer_roles(frame), catalogue.get("naive-bayes"))
    >>> rows, _ = chain.fit_training(frame, None)
    >>> rows["age"].round(2).to_list()
    [-1.22, 0.0, 1.22]
    """

    def __init__(self, steps: Sequence[Any], roles: Mapping[str, Role], entry: Entry):
        self.steps, self.roles, self.entry = list(steps), dict(roles), entry
        self.links: list[Any] = []

    def fit_training(self, frame: pl.DataFrame, y: np.ndarray | None) -> tuple[Any, np.ndarray | None]:
        """Learn every step in turn from the training rows; returns those rows and their targets as they come out."""
        self.links = []
        for step in self.steps:
            entry = catalogue.of_class(type(step))
            native = ("numeric",) if entry is None else entry.native
            if _needs_numbers(frame, native):
                between = Preparation(
                    roles=self.roles,
                    nominal="native" if "nominal" in native else "one-hot",
                    missing="native" if "missing" in native else "impute",
                    standardise=entry.scales if entry is not None else False,
                )
                frame = self._named(between, between.fit_transform(frame))
                self.links.append(between)
                self.roles = _roles_after(self.roles, frame)
            fitted = clone(step)
            frame, y = self._fit(fitted, frame, y)
            self.links.append(fitted)
            self.roles = _roles_after(self.roles, frame)
        last = auto_prepare(self.roles, self.entry)
        self.links.append(last)
        return last.fit_transform(frame), y

    def transform(self, frame: pl.DataFrame) -> Any:
        """Other rows, by what the training rows said."""
        rows: Any = frame
        for link in self.links[:-1]:
            rows = self._named(link, link.transform(rows))
        return self.links[-1].transform(rows)

    def get_feature_names_out(self) -> np.ndarray:
        """Names of the columns that come out."""
        return self.links[-1].get_feature_names_out()

    def explain(self) -> list[str]:
        """What is done to the table, step by step, in words."""
        words: list[str] = []
        for link in self.links:
            said = [str(sentence) for sentence in link.explain()] if hasattr(link, "explain") else []
            words += said or [f"{type(link).__name__} is applied."] if link is not self.links[-1] else said
        passed = "The columns are passed on as they are."
        return [sentence for sentence in dict.fromkeys(words) if sentence != passed] or [passed]

    def _fit(self, step: Any, frame: pl.DataFrame, y: np.ndarray | None) -> tuple[pl.DataFrame, np.ndarray | None]:
        if hasattr(step, "fit_resample"):
            rows, target = step.fit_resample(frame, y)
            return self._named(step, rows), None if target is None else np.asarray(target)
        return self._named(step, step.fit_transform(frame, y) if y is not None else step.fit_transform(frame)), y

    def _named(self, step: Any, rows: Any) -> pl.DataFrame:
        """What a step gave as a Polars frame; an array gets the names that the step says."""
        if isinstance(rows, pl.DataFrame):
            return rows
        if hasattr(rows, "toarray"):
            rows = rows.toarray()
        if isinstance(rows, np.ndarray):
            names = (
                [str(name) for name in step.get_feature_names_out()] if hasattr(step, "get_feature_names_out") else []
            )
            if len(names) != rows.shape[1] or len(set(names)) != len(names):
                names = [f"{type(step).__name__.lower()}{j}" for j in range(rows.shape[1])]
            if rows.dtype.kind in "biuf":
                return pl.DataFrame(rows.astype(np.float64), schema=names).fill_nan(None)
            return pl.DataFrame({name: rows[:, j].tolist() for j, name in enumerate(names)}, strict=False)
        if hasattr(rows, "columns"):
            return plain_types(to_polars(rows), {})
        raise DataError(
            "Chain", f"step {plain(type(step).__name__)}", "must give a table or an array", f"got {type(rows).__name__}"
        )


def _needs_numbers(frame: pl.DataFrame, native: tuple[str, ...]) -> bool:
    labels = any(dtype in _LABELS for dtype in frame.dtypes)
    missing = any(frame.null_count().row(0)) if frame.width else False
    return (labels and "nominal" not in native) or (missing and "missing" not in native)


def _roles_after(before: Mapping[str, Role], frame: pl.DataFrame) -> dict[str, Role]:
    """Roles of the columns that a step gave: the old one where name and kind are kept, else inferred."""
    fresh = [name for name in frame.columns if name not in before or not _still(before[name], frame[name])]
    inferred = infer_roles(frame.select(fresh)) if fresh else {}
    for name, role in inferred.items():
        # What a step made as a number is a number, however few rows there are to tell.
        if frame[name].dtype.is_numeric() and role.role not in ("numeric", "binary"):
            inferred[name] = Role("numeric", role.confidence, "a step made numbers of it")
    return {name: inferred[name] if name in inferred else before[name] for name in frame.columns}


def _still(role: Role, series: pl.Series) -> bool:
    if role.role == "numeric":
        return series.dtype.is_numeric()
    if role.role == "datetime":
        return series.dtype.is_temporal()
    return not series.dtype.is_temporal()
