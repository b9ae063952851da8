"""The catalogue: one entry per method, searchable without importing any learner.

>>> from assay import catalogue
>>> catalogue.get("zero-r").task
'classify'
>>> [entry.id for entry in catalogue.search(task="classify", native=["sparse"])][:1]
['zero-r']
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ..base.errors import UsageError, plain
from .entry import INPUTS, Entry
from .families import by_id
from .tasks import CLASSIFY, PLANNED, REGRESS, TASKS, Task, check_task, get_task

__all__ = [
    "CLASSIFY", "Entry", "INPUTS", "PLANNED", "REGRESS", "TASKS", "Task", "check_task", "entries", "get", "get_task",
    "of_class", "search",
]  # fmt: skip


def entries() -> list[Entry]:
    """Every entry, in catalogue order."""
    return list(by_id().values())


def get(method: str, task: str | None = None) -> Entry:
    """The entry with this id; an id that is not known gets near ones named, of this task alone if one is given.

    >>> get("zero-r").title
    'ZeroR'
    """
    if method in by_id():
        return by_id()[method]
    word = str(method).lower()
    # Part of a name ("cart") says more than letters in common ("scale").
    among = [name for name, entry in by_id().items() if task is None or entry.task == task]
    near = [name for name in among if len(word) > 2 and word in name][:3]
    near = near or difflib.get_close_matches(word, among, n=3, cutoff=0.4)
    listing = "`assay methods`" if task is None else f"`assay methods --task {task}`"
    hint = f"did you mean {' or '.join(near)}?" if near else f"{listing} lists them all"
    raise UsageError("catalogue", f"method '{plain(method)}'", "is not in the catalogue", way_out=hint)


def of_class(cls: type) -> Entry | None:
    """The entry of a class, or None if it is not in the catalogue."""
    for entry in by_id().values():
        module, _, name = entry.class_path.rpartition(".")
        if cls.__name__ == name and cls.__module__.startswith(module):
            return entry
    return None


def search(
    text: str = "",
    *,
    task: str | None = None,
    native: Iterable[str] = (),
    weights: bool | None = None,
    probabilities: bool | None = None,
    shares_folds: bool | None = None,
) -> list[Entry]:
    """The entries that match every given condition; `text` looks in id, title and summary.

    >>> [entry.id for entry in search("most frequent class")]
    ['zero-r']
    """
    wanted = set(native)
    check_task("catalogue", task, TASKS)
    unknown = wanted - set(INPUTS)
    if unknown:
        raise UsageError("catalogue", f"input '{plain(min(unknown))}'", f"must be one of {', '.join(INPUTS)}")
    needle = text.lower()
    return [
        entry
        for entry in by_id().values()
        if (task is None or entry.task == task)
        and wanted <= set(entry.native)
        and (weights is None or entry.weights == weights)
        and (probabilities is None or entry.probabilities == probabilities)
        and (shares_folds is None or entry.shares_folds == shares_folds)
        and needle in f"{entry.id} {entry.title} {entry.summary}".lower()
    ]
