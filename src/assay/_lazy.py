"""Lazy names for packages (PEP 562): a name is imported from its module when it is first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package, from {module: "Name Name ..."}."""
    home = {name: module for module, names in modules.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return sorted(home)
        if name in home:
            return getattr(importlib.import_module(f"{package}.{home[name]}"), name)
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    def __dir__() -> list[str]:
        # At the top the packages are names to complete as well.
        return sorted({*home, *(() if "." in package else modules)})

    return __getattr__, __dir__


def later(module: str, name: str) -> Any:
    """A name of a room that stands to the right, for methods that hand their object on to it (`model.save`).

    >>> later("assay.deploy", "save").__name__
    'save'
    """
    return getattr(importlib.import_module(module), name)
