"""Learners, one folder per family. The catalogue lists them, and every class can be had from here by its name.

>>> from assay.models import CartClassifier
>>> CartClassifier.__module__
'assay.models.trees.cart'
"""

from __future__ import annotations

import importlib
from typing import Any

from .. import catalogue

_PREFIX = "assay.models."


def _homes() -> dict[str, str]:
    """Class name -> module, for the classes of this package in the catalogue."""
    paths = [entry.class_path for entry in catalogue.search() if entry.class_path.startswith(_PREFIX)]
    return {name: module for module, _, name in (path.rpartition(".") for path in paths)}


def __getattr__(name: str) -> Any:
    homes = _homes()
    if name == "__all__":
        return sorted(homes)
    if name in homes:
        return getattr(importlib.import_module(homes[name]), name)
    raise AttributeError(f"module 'assay.models' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(_homes())
