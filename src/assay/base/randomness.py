"""One `random_state` makes one tree of streams; every fold, tree, restart and replicate has its own child.

A stream is a path of integers below a 64-bit root. Children are found by index, so results do not depend on the
order of completion or on the number of threads. Kernels receive the 64-bit `key` and count on from there with the
Philox generator; Python code takes `generator()`.

>>> root = Stream.of(7)
>>> root.child(3).key == Stream.of(7).child(3).key
True
>>> root.child(0).key == root.child(1).key
False
"""

from __future__ import annotations

import numbers
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np

_MASK = (1 << 64) - 1


def _mix(value: int) -> int:
    """SplitMix64 finaliser: a bijection of 64-bit integers that spreads every input bit."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


@dataclass(frozen=True)
class Stream:
    """A node of the stream tree, known by its 64-bit key."""

    key: int

    @classmethod
    def of(cls, random_state: Any) -> Stream:
        """The root for a `random_state`: None (fresh entropy), an integer, or a NumPy generator (drawn from)."""
        if random_state is None:
            return cls(secrets.randbits(64))
        if isinstance(random_state, Stream):
            return random_state
        if isinstance(random_state, numbers.Integral):
            return cls(_mix(int(random_state) & _MASK))
        if isinstance(random_state, np.random.Generator):
            return cls(_mix(int(random_state.integers(0, 1 << 63))))
        return cls(_mix(int(random_state.randint(0, 1 << 31)) ^ (int(random_state.randint(0, 1 << 31)) << 31)))

    def child(self, index: int) -> Stream:
        """The stream of the `index`-th fold, tree, restart or replicate."""
        return Stream(_mix(self.key ^ _mix(index & _MASK)))

    def generator(self) -> np.random.Generator:
        """A NumPy generator on this stream."""
        return np.random.Generator(np.random.Philox(key=self.key))
