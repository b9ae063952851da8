"""Limits of one unit of work, and the sentences of learners that go over them."""

from __future__ import annotations

import numbers
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import ParameterError, plain
from ..base.words import seconds as seconds_words

_UNITS = {"": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12,
          "kib": 2**10, "mib": 2**20, "gib": 2**30}  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What one fit with its predictions may take: seconds, and bytes of memory beyond the table; None is no limit.

    >>> Limits(seconds=5.0).too_long("Slow")
    'Slow: a fit went over the time limit of 5.0 s and was stopped; raise the limit or leave it out.'
    """

    seconds: float | None = None
    bytes: int | None = None

    def too_long(self, title: str) -> str:
        """The sentence of a learner that took too long."""
        return self._stopped(title, f"time limit of {seconds_words(self.seconds or 0.0)}")

    def too_large(self, title: str) -> str:
        """The sentence of a learner that took too much memory."""
        return self._stopped(title, f"memory limit of {(self.bytes or 0) / 1e6:,.0f} MB")

    def _stopped(self, title: str, limit: str) -> str:
        return f"{title}: a fit went over the {limit} and was stopped; raise the limit or leave it out."


def bytes_of(given: Any) -> int | None:
    """An amount of memory as bytes: a number, or text such as "2 GB"; None stays None.

    >>> bytes_of("1.5 GB"), bytes_of(2048), bytes_of("512MiB")
    (1500000000, 2048, 536870912)
    """
    if given is None:
        return None
    amount: float | None = None
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        amount = float(given)
    elif isinstance(given, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([a-z]*)\s*", given.lower())
        if found is not None and found[2] in _UNITS:
            amount = float(found[1]) * _UNITS[found[2]]
    if amount is None or not 1 <= amount < np.inf:
        raise ParameterError(
            "Plan",
            "parameter 'memory_limit'",
            "must be a number of bytes or text such as '2 GB'",
            f"got {plain(repr(given))}",
        )
    return int(amount)
