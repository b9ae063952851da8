"""Polars in forked children: its threads do not live on there, and its next call would wait for them without end.

Whatever works through Polars calls `use_polars` first. The kernels need no such refusal: in a forked child they work on
one thread.
"""

from __future__ import annotations

import os

from ..base.errors import UsageError


class _State:
    used = False
    lost = False


def use_polars(who: str) -> None:
    """Note that Polars is at work; refuse in a child forked from a process in which it was.

    >>> use_polars("Scale")
    """
    if _State.lost:
        raise UsageError(
            who,
            "this process",
            "was forked from one in which Polars had started its threads, which do not live on in a child",
            way_out="start it with multiprocessing's 'spawn' or 'forkserver', or with joblib's 'loky'",
        )
    _State.used = True


def polars_is_lost() -> bool:
    """Whether this is such a child."""
    return _State.lost


def _in_child() -> None:
    _State.lost = _State.used


os.register_at_fork(after_in_child=_in_child)
