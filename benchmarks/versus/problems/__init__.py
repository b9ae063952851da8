"""The problems, one file for each family of methods; every file has its `PROBLEMS`."""

from __future__ import annotations

import importlib
import pkgutil

from ..harness import Problem


def all_problems() -> dict[str, Problem]:
    """Every problem of every file, by id."""
    found: dict[str, Problem] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        for problem in importlib.import_module(f"{__name__}.{module}").PROBLEMS:
            assert problem.id not in found, f"two problems are called {problem.id}"
            found[problem.id] = problem
    return found
