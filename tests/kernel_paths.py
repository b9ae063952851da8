"""How many of our functions stand between a public method and a kernel.

The functions of the compiled module are replaced by ones that look at the frames of the package below them. The guard
around a public method and the thread count are not part of the path; neither are comprehensions, which are frames of
their own before Python 3.12; a lambda is a function as any other. A kernel is what reads rows: small matrices of
moments are centred, factored and solved where NumPy and LAPACK do it for larger ones (`ASIDE`).

The path starts with the first function of the innermost public object, a learner, a `Graph` or a table in blocks, which
users make and hand on themselves: a learner that calls another's public method (cross-validation, one against the
rest), makes a graph of its rows by `Graph.of_rows`, or asks a table in blocks for sums, which may be made on another
machine, starts a new count there. What stands before the table is counted too, and the longer of the two is the path.
`fit_batches` looks at its table and hands it to the public `fit`, where the count begins as it does for rows in memory.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from assay import _kernels
from assay.base import Estimator
from assay.base.batches import Passes
from assay.data import BatchedTable, Batches
from assay.models.graphs import Graph

MOST = 4
ASIDE = ("max_threads", "all_finite", "far_columns", "centred_moments", "scaled_cholesky", "scaled_solve")
"""Besides the thread count, what stands in the place of NumPy and LAPACK for moments: no row is read there."""
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
BLOCKS = (Batches, BatchedTable, Passes)
"""A table in blocks, what makes it, and its sums for any arguments."""


def _public(frame: FrameType) -> int | None:
    """Which learner, or that it is a graph or a table in blocks, the function of a frame belongs to."""
    owner = frame.f_locals.get(frame.f_code.co_varnames[0]) if frame.f_code.co_argcount else None
    if isinstance(owner, Graph) or owner is Graph:
        return id(Graph)
    if isinstance(owner, BLOCKS) and frame.f_code.co_varnames[0] == "self":
        return id(BatchedTable)
    return id(owner) if isinstance(owner, Estimator) else None


def _path() -> list[str]:
    """Names of our functions, from the public method to the one that calls the kernel; where a table in blocks stands
    between them, the longer of the two parts."""
    frame, frames = sys._getframe(2), []
    while frame is not None:
        module, code = frame.f_globals.get("__name__", ""), frame.f_code
        if module.startswith("assay.") and module != "assay.base.guard" and code.co_name not in COMPREHENSIONS:
            frames.append((f"{module}.{code.co_name}", _public(frame)))
        frame = frame.f_back
    path, before, owner = _innermost(frames)
    if owner == id(BatchedTable):
        path = max(path, _innermost(before)[0], key=len)
    return path


def _innermost(frames: list[tuple[str, int | None]]) -> tuple[list[str], list[tuple[str, int | None]], int | None]:
    """The functions from the first one of the innermost public object on, the frames before them, and that object."""
    first, owner = 0, None
    for place, (_, found) in enumerate(frames):
        if found is not None and owner in (None, found):
            owner, first = found, place + 1
    names = [name for name, _ in frames[:first] if not name.endswith(".fit_batches")]
    return names[::-1], frames[first:], owner


def _counted(found: dict[str, list[str]], name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        path = _path()
        if len(path) > len(found.get(name, [])):
            found[name] = path
        return kernel(*given, **named)

    return call


@contextlib.contextmanager
def kernel_paths() -> Iterator[dict[str, list[str]]]:
    """The longest path to each kernel that was called within."""
    found: dict[str, list[str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in list(vars(_kernels).items()):
            if name.startswith("_") or name in ASIDE:
                continue
            if not isinstance(value, type):
                if callable(value):
                    patch.setattr(_kernels, name, _counted(found, name, value))
                continue
            for method, function in list(vars(value).items()):
                if type(function).__name__ == "nb_method":
                    patch.setattr(value, method, _counted(found, f"{name}.{method}", function))
        yield found


def longest(paths: dict[str, list[str]]) -> list[str]:
    """The longest of the paths to the kernels."""
    return max(paths.values(), key=len, default=[])
