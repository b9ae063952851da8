"""Worlds that come with Assay: grids drawn with letters, cliff walking, the frozen lake, the windy grid, bandits.

Actions on a grid are up, right, down, left. A grid is drawn by lines of letters:

| letter | cell |
| --- | --- |
| S | where walks begin |
| . | free |
| # | wall: who walks into it stays |
| G | goal: ends the walk |
| H | hole: ends the walk |
| C | cliff: pays `cliff_reward` and throws back to a start |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import DataError, ParameterError, Stream, plain
from .tabular import TabularWorld

ACTIONS = ("up", "right", "down", "left")
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
LAKES = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": ("SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"),
}
"""The maps of the frozen lake, as Gymnasium has them."""


def grid_of(
    lines: Sequence[str],
    *,
    step_reward: float = -1.0,
    goal_reward: float = 0.0,
    hole_reward: float = 0.0,
    cliff_reward: float = -100.0,
    slip: float = 0.0,
    wind: Sequence[int] = (),
    max_steps: int = 10_000,
    title: str = "grid",
) -> TabularWorld:
    """A world from lines of letters (see the module).

    A move pays `step_reward`, and the reward of the goal or hole besides; a cliff pays `cliff_reward` instead. With
    chance `slip` a move goes to one of the two sides of its direction, half each. `wind` pushes up by so many cells in
    each column.

    >>> grid_of(["S.", "#G"]).transitions.shape
    (16, 4)
    """
    who = "grid_of"
    text = [str(line) for line in lines] if isinstance(lines, (Sequence, np.ndarray)) else []
    if not text or not text[0] or any(len(line) != len(text[0]) for line in text):
        raise DataError(who, "lines", "must be texts of one length", f"got {plain(repr(lines), 60)}")
    cells = "".join(text).replace("F", ".")
    if set(cells) - set("S.#GHC"):
        raise DataError(who, "lines", "must hold the letters S . # G H C alone", f"got {sorted(set(cells))}")
    if "S" not in cells:
        raise DataError(who, "lines", "must have a start S")
    if not 0 <= slip <= 1:
        raise ParameterError(who, "parameter 'slip'", "must be from 0 to 1", f"got {slip!r}")
    rows, columns = len(text), len(text[0])
    blown = [*wind, *([0] * (columns - len(wind)))]
    begins = [place for place, letter in enumerate(cells) if letter == "S"]

    def reached(state: int, action: int) -> int:
        row, column = divmod(state, columns)
        down, right = MOVES[action]
        row = min(max(row + down - blown[column], 0), rows - 1)
        place = row * columns + min(max(column + right, 0), columns - 1)
        return state if cells[place] == "#" else place

    def outcome(chance: float, place: int) -> list[tuple[float, int, float, bool]]:
        letter = cells[place]
        if letter == "C":
            return [(chance / len(begins), start, cliff_reward, False) for start in begins]
        paid = step_reward + {"G": goal_reward, "H": hole_reward}.get(letter, 0.0)
        return [(chance, place, paid, letter in "GH")]

    outcomes = []
    for state in range(rows * columns):
        for action in range(4):
            if cells[state] in "GHC#":
                outcomes.append([(1.0, state, 0.0, True)])
                continue
            turns = ((0, 1.0 - slip), (1, slip / 2), (3, slip / 2))
            outcomes.append(
                [one for turn, p in turns if p > 0 for one in outcome(p, reached(state, (action + turn) % 4))]
            )
    return TabularWorld(
        rows * columns,
        4,
        outcomes,
        first=np.array(begins),
        max_steps=max_steps,
        shape=(rows, columns),
        cells=cells,
        action_names=ACTIONS,
        title=title,
    )


def cliff_walking(max_steps: int = 10_000) -> TabularWorld:
    """Sutton and Barto's cliff: 4 x 12 cells, -1 a step, -100 and back to the start for a step off the edge.

    The shortest way runs along the edge (return -13); who explores there falls.

    >>> cliff_walking()
    TabularWorld(cliff walking: 48 states, 4 actions)
    """
    lines = ["." * 12] * 3 + ["S" + "C" * 10 + "G"]
    return grid_of(lines, max_steps=max_steps, title="cliff walking")


def frozen_lake(lines: str | Sequence[str] = "4x4", slip: float = 2 / 3, max_steps: int = 0) -> TabularWorld:
    """The frozen lake: 1 for the goal, nothing else; holes end the walk, and with chance `slip` a step goes aside.

    `lines` is "4x4", "8x8" or a map of your own. The slip of two thirds is Gymnasium's: each of three directions is
    as likely. Walks are broken off after 100 steps (200 for larger maps) unless `max_steps` says otherwise.

    >>> frozen_lake().rewards.sum().round(6)
    np.float64(1.0)
    """
    if isinstance(lines, str) and lines not in LAKES:
        raise ParameterError(
            "frozen_lake", "parameter 'lines'", f"must be one of {', '.join(LAKES)}, or lines of letters"
        )
    drawn = LAKES[lines] if isinstance(lines, str) else lines
    limit = max_steps or (100 if len(drawn) <= 4 else 200)
    return grid_of(drawn, step_reward=0.0, goal_reward=1.0, slip=slip, max_steps=limit, title="frozen lake")


def windy_grid(max_steps: int = 10_000) -> TabularWorld:
    """Sutton and Barto's windy grid: 7 x 10 cells, -1 a step, and a wind that blows up in the columns of the middle.

    The best way takes 15 steps.

    >>> windy_grid()
    TabularWorld(windy grid: 70 states, 4 actions)
    """
    lines = ["." * 10] * 3 + ["S......G.."] + ["." * 10] * 3
    wind = (0, 0, 0, 1, 1, 1, 2, 2, 1, 0)
    return grid_of(lines, wind=wind, max_steps=max_steps, title="windy grid")


def bandit(means: Any = 10, sd: float = 1.0, random_state: Any = 0) -> TabularWorld:
    """A bandit with an arm for each of the `means`: a pull pays a normal reward and ends the walk.

    A number asks for so many arms with standard normal means. One episode is one pull.

    >>> bandit([0.1, 0.5]).rewards.tolist()
    [[0.1, 0.5]]
    """
    try:
        given = np.asarray(means, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.full(1, np.nan)
    if given.ndim == 0:
        if not (given >= 1 and given == int(given)):
            raise ParameterError("bandit", "parameter 'means'", "must be a number of arms or their means")
        given = Stream.of(random_state).generator().normal(size=int(given))
    if given.ndim != 1 or not given.size or not np.isfinite(given).all():
        raise ParameterError("bandit", "parameter 'means'", "must be finite numbers, one for each arm")
    if not (np.isfinite(sd) and sd >= 0):
        raise ParameterError("bandit", "parameter 'sd'", "must be a number >= 0", f"got {sd!r}")
    pulls = [[(1.0, 0, float(mean), True)] for mean in given]
    return TabularWorld(1, given.size, pulls, noise=sd, max_steps=1, title="bandit")
