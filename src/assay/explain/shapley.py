"""Shapley values by their definition: every coalition of a few players."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import TypeVar

from ..base.errors import DataError

MOST_PLAYERS = 20

Player = TypeVar("Player", bound=Hashable)


def shapley_values(worth: Callable[[frozenset[Player]], float], players: Sequence[Player]) -> dict[Player, float]:
    """The fair share of each player in the worth of all, by all 2^n coalitions (at most 20 players).

    The share of i is the mean over coalitions S without i, by |S|! (n - |S| - 1)! / n!, of worth(S and i) - worth(S);
    shares sum to worth(all) - worth(none). `worth` is called once for each coalition, a frozenset.

    >>> table = {"": 50, "J": 100, "G": 48, "JG": 95, "A": 40, "AJ": 85, "AG": 39, "AJG": 83}
    >>> known = {frozenset(name): value for name, value in table.items()}
    >>> round(shapley_values(known.__getitem__, ["A", "J", "G"])["A"], 2)
    -11.33
    """
    count = len(players)
    if not 1 <= count <= MOST_PLAYERS or len(set(players)) != count:
        raise DataError(
            "shapley_values",
            "players",
            f"must be 1 to {MOST_PLAYERS} different ones",
            f"got {count}",
            "group columns, or take tree_shap for trees",
        )
    known = {
        frozenset(some): float(worth(frozenset(some)))
        for size in range(count + 1)
        for some in combinations(players, size)
    }
    weight = [1.0 / (count * math.comb(count - 1, size)) for size in range(count)]
    return {
        player: math.fsum(
            weight[len(some)] * (known[some | {player}] - value) for some, value in known.items() if player not in some
        )
        for player in players
    }
