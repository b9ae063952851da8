"""What tests of every kind share."""

from __future__ import annotations

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "repeatable")
# `make fuzz` tries so many times what `make test` repeats.
MORE = 20 if PROFILE == "fuzz" else 1


def examples(count: int) -> int:
    """How many examples a property is tried on: `count` in `make test`, which repeats the same, more in `make fuzz`."""
    return count * MORE
