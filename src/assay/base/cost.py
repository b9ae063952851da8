"""Cost: seconds and bytes of a fit, known before it starts.

Each learner states `estimate_cost(n_rows, n_features, ...)` as an order of magnitude, with constants taken from
`benchmarks/`. `fit` refuses work over the limit of `assay.config`, naming the way out.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import config
from .errors import CostError
from .words import duration


@dataclass(frozen=True)
class Cost:
    """Seconds and peak bytes of one fit on one core.

    >>> print(Cost(seconds=90, bytes=3e9))
    about 1 min 30 s and 3.0 GB
    """

    seconds: float
    bytes: float

    def __str__(self) -> str:
        return f"about {duration(self.seconds)} and {_size(self.bytes)}"


_SMALL = 2.0**24


def check_cost(who: str, cost: Cost, way_out: str) -> None:
    """Raise `CostError` if the fit would go over a limit of `assay.config`."""
    settings = config.get()
    seconds_allowed = settings.max_seconds
    # The free memory of the machine is read only where a fit could come near it.
    asks = settings.max_bytes is not None or cost.bytes > _SMALL
    bytes_allowed = config.memory_limit() if asks else float("inf")
    if cost.bytes > bytes_allowed:
        raise CostError(
            who,
            f"this fit needs about {_size(cost.bytes)} of memory and",
            f"the limit is {_size(bytes_allowed)}",
            way_out=f"{way_out}, or raise the limit with assay.config.set(max_bytes=...)",
        )
    if cost.seconds > seconds_allowed:
        raise CostError(
            who,
            f"this fit would take about {duration(cost.seconds)} and",
            f"the limit is {duration(seconds_allowed)}",
            way_out=f"{way_out}, or raise the limit with assay.config.set(max_seconds=...)",
        )


def _size(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} B"
