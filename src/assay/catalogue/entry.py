"""The catalogue entry: everything that is claimed about a method, without importing it."""

from __future__ import annotations

import importlib
from dataclasses import asdict, dataclass
from typing import Any

from .tasks import TASKS

INPUTS = ("numeric", "nominal", "ordinal", "missing", "text", "sparse", "image", "graph", "sequence")


@dataclass(frozen=True)
class Entry:
    """One method. Every claim here is proved by `tests/conformance`.

    `native` lists the inputs the method takes as they are; `fit_cost` and `predict_cost` (of one row) state how time
    grows with n training rows and d columns; `simplicity` orders methods for "the simplest model that is not worse"
    (1 is simplest).
    """

    id: str
    title: str
    class_path: str
    task: str
    native: tuple[str, ...]
    weights: bool
    probabilities: bool
    simplicity: int
    fit_cost: str
    predict_cost: str
    explains: str
    section: str
    references: tuple[str, ...]
    summary: str
    multi_output: bool = False
    joint_outputs: bool = False
    """True if several outputs share what is learned, so that one fit to both differs from a fit to each."""
    incremental: bool = False
    online: bool = False
    """True if `partial_fit` makes steps on the rows it is given, so that repeated passes come near `fit` rather than
    one pass over all rows being equal to it."""
    out_of_core: bool = False
    """True if `fit_batches` fits a table larger than memory and gives the model of `fit` to rounding."""
    deterministic: bool = True
    shares_folds: bool = False
    scales: bool = False
    """True if the method depends on the scale of its columns, so that preparation must standardise them."""
    compared: bool = False
    """True if `assay compare` runs the method when no learners are named."""
    preset: tuple[tuple[str, Any], ...] = ()
    """Parameters with which `assay compare` then runs it, so that it chooses its complexity by its training rows."""
    preset_words: str = ""
    """What the preset does, for the learner's title."""
    space: tuple[tuple[str, Any], ...] = ()
    """Parameters worth tuning: a tuple of values, or a range as pairs (low, high, and log where it goes by ratios)."""

    def __post_init__(self) -> None:
        assert self.task in TASKS, self.task
        assert set(self.native) <= set(INPUTS), self.native

    def load(self) -> type:
        """Import and return the class."""
        module, _, name = self.class_path.rpartition(".")
        return getattr(importlib.import_module(module), name)

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain data; `class` holds the import path."""
        fields = asdict(self)
        path = fields.pop("class_path")
        fields["preset"] = dict(fields.pop("preset"))
        fields["space"] = {
            name: dict(value) if value and isinstance(value[0], tuple) else list(value)
            for name, value in fields.pop("space")
        }
        fields.pop("preset_words")
        head = {"id": fields.pop("id"), "title": fields.pop("title"), "class": path}
        return {**head, **{k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()}}
