"""The families of methods and how their entries are read: one file `entries/<family>.toml` each.

A file is a list of groups. A group states what its methods have in common, a method states the rest, and what it says
itself counts:

    [[group]]
    package = "assay.models.trees"
    native = ["numeric", "nominal", "missing"]
    weights = true

    [[group.method]]
    id = "cart-classifier"
    class = "CartClassifier"
    task = "classify"

The keys are the fields of `Entry`; `package` and `class` together are its `class_path`.
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

from .entry import Entry

FAMILIES = (
    "baselines",
    "linear",
    "bayes",
    "neighbours",
    "density",
    "kernel_machines",
    "trees",
    "ensembles",
    "rules",
    "neural",
    "clustering",
    "mixtures",
    "graphs",
    "sequences",
    "baskets",
    "agents",
    "prepare",
)
"""Every family, in the order of the catalogue. Nothing else in the project lists the methods."""

HOME = Path(__file__).parent / "entries"


@functools.cache
def by_id() -> dict[str, Entry]:
    """Every entry by its id, in catalogue order; read once, when first asked for."""
    return {
        entry.id: entry for family in FAMILIES for entry in read_family((HOME / f"{family}.toml").read_text("utf-8"))
    }


def read_family(text: str) -> list[Entry]:
    """The entries of one family's file.

    >>> [entry.id for entry in read_family((HOME / "rules.toml").read_text("utf-8"))]
    ['rules-from-tree', 'sequential-covering', 'ripper']
    """
    groups = tomllib.loads(text)["group"]
    return [_entry({**group, **method}) for group in groups for method in group.pop("method")]


def _entry(said: dict[str, Any]) -> Entry:
    path = f"{said.pop('package')}.{said.pop('class')}"
    preset = tuple((name, _plain(value)) for name, value in said.pop("preset", {}).items())
    space = tuple((name, _plain(value)) for name, value in said.pop("space", {}).items())
    return Entry(class_path=path, preset=preset, space=space, **{name: _plain(value) for name, value in said.items()})


def _plain(value: Any) -> Any:
    """An entry is frozen, so its lists are tuples."""
    if isinstance(value, dict):
        return tuple(value.items())
    return tuple(value) if isinstance(value, list) else value
