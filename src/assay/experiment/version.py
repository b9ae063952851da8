"""The code version: a hash of everything that a fold's numbers come from, so that no store outlives a change."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "scikit-learn", "polars", "narwhals")
_PACKAGES = ("base", "numeric", "data", "prepare", "models", "evaluate", "experiment")


@functools.cache
def code_version(*further: str) -> str:
    """sha256 over Assay's sources that folds come from, those of `further` rooms, its kernels and the libraries below
    it."""
    home = Path(__file__).resolve().parent.parent
    seen = hashlib.sha256()
    for name in LIBRARIES:
        seen.update(f"{name} {importlib.metadata.version(name)}\n".encode())
    files = [path for package in (*_PACKAGES, *further) for path in (home / package).rglob("*.py")]
    for path in [*sorted(files), *sorted(home.glob("_kernels*.so")), *sorted(home.glob("_kernels*.pyd"))]:
        content = path.read_bytes()
        seen.update(f"{path.relative_to(home).as_posix()} {len(content)}\n".encode())
        seen.update(content)
    return seen.hexdigest()
