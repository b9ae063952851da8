"""Generators: data whose truth is known, each from one `random_state`.

Points and curves come as a `Table`; baskets, sequences, graphs, worlds and images as small records that hold the
data together with the truth that made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import coo_matrix, csr_matrix

from ..base.errors import ParameterError, plain
from ..base.randomness import Stream
from .table import Table


def _at_least(who: str, name: str, value: Any, low: float, *, whole: bool = False) -> None:
    if not isinstance(value, (int, float, np.number)) or not value >= low or (whole and int(value) != value):
        kind = "an integer" if whole else "a number"
        raise ParameterError(who, f"parameter '{name}'", f"must be {kind} >= {low:g}", f"got {plain(repr(value))}")


def _share(who: str, name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ParameterError(who, f"parameter '{name}'", "must be in [0, 1]", f"got {plain(repr(value))}")


def _points(name: str, points: np.ndarray, labels: np.ndarray) -> Table:
    columns: dict[str, Any] = {f"x{j + 1}": points[:, j] for j in range(points.shape[1])}
    return Table.build(pl.DataFrame({**columns, "class": labels}), name=name, source="generated")


def gaussian_classes(
    means: Any = ((0.0, 0.0), (2.0, 2.0)),
    covariances: Any = None,
    n_rows: int = 200,
    priors: Any = None,
    random_state: Any = 0,
) -> Table:
    """Rows from one Gaussian per class; columns x1, x2, ... and `class` (c1, c2, ...).

    `covariances` holds one matrix per class, or one for all; None is the identity. The class of a row is drawn with
    the given `priors` (equal when None).

    >>> gaussian_classes(n_rows=5, random_state=1).columns
    ['x1', 'x2', 'class']
    """
    who = "gaussian_classes"
    _at_least(who, "n_rows", n_rows, 1, whole=True)
    centres = np.atleast_2d(np.asarray(means, dtype=np.float64))
    n_classes, width = centres.shape
    spread = np.eye(width) if covariances is None else np.asarray(covariances, dtype=np.float64)
    spread = np.broadcast_to(spread, (n_classes, width, width))
    shares = np.full(n_classes, 1 / n_classes) if priors is None else np.asarray(priors, dtype=np.float64)
    if shares.shape != (n_classes,) or (shares < 0).any() or abs(shares.sum() - 1) > 1e-9:
        raise ParameterError(who, "parameter 'priors'", f"must be {n_classes} shares that sum to 1", f"got {priors!r}")
    try:
        roots = np.linalg.cholesky(spread)
    except np.linalg.LinAlgError:
        raise ParameterError(who, "parameter 'covariances'", "must be positive definite matrices") from None
    rng = Stream.of(random_state).generator()
    codes = rng.choice(n_classes, size=n_rows, p=shares)
    noise = rng.standard_normal((n_rows, width))
    points = centres[codes] + np.einsum("nij,nj->ni", roots[codes], noise)
    return _points("gaussian-classes", points, np.array([f"c{code + 1}" for code in codes]))


def circles(n_rows: int = 200, noise: float = 0.05, factor: float = 0.5, random_state: Any = 0) -> Table:
    """Two circles around the origin, radius 1 ("outer") and `factor` ("inner"), with Gaussian noise.

    >>> circles(4, noise=0.0).frame["class"].to_list()
    ['outer', 'outer', 'inner', 'inner']
    """
    _at_least("circles", "n_rows", n_rows, 2, whole=True)
    _at_least("circles", "noise", noise, 0)
    _share("circles", "factor", factor)
    rng = Stream.of(random_state).generator()
    n_outer = n_rows // 2
    angle = rng.uniform(0, 2 * np.pi, n_rows)
    radius = np.where(np.arange(n_rows) < n_outer, 1.0, factor)
    points = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    points += noise * rng.standard_normal(points.shape)
    return _points("circles", points, np.where(np.arange(n_rows) < n_outer, "outer", "inner"))


def moons(n_rows: int = 200, noise: float = 0.05, random_state: Any = 0) -> Table:
    """Two interleaving half circles of radius 1, the lower shifted by (1, 0.5), with Gaussian noise.

    >>> moons(100).frame.shape
    (100, 3)
    """
    _at_least("moons", "n_rows", n_rows, 2, whole=True)
    _at_least("moons", "noise", noise, 0)
    rng = Stream.of(random_state).generator()
    n_upper = n_rows // 2
    angle = rng.uniform(0, np.pi, n_rows)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])
    above = np.arange(n_rows) < n_upper
    points = np.where(above[:, None], upper, lower) + noise * rng.standard_normal((n_rows, 2))
    return _points("moons", points, np.where(above, "upper", "lower"))


def polynomial_curve(
    coefficients: Sequence[float] = (1.0, -2.0, 0.0, 1.0),
    n_rows: int = 100,
    noise: float = 0.5,
    low: float = -2.0,
    high: float = 2.0,
    random_state: Any = 0,
) -> Table:
    """y = c0 + c1 x + c2 x^2 + ... plus Gaussian noise of standard deviation `noise`, x uniform in [low, high].

    >>> polynomial_curve([0.0, 2.0], n_rows=3, noise=0.0).frame.select("y").to_series().len()
    3
    """
    who = "polynomial_curve"
    _at_least(who, "n_rows", n_rows, 1, whole=True)
    _at_least(who, "noise", noise, 0)
    if not low < high:
        raise ParameterError(who, "parameter 'low'", "must be below 'high'", f"got {low:g} and {high:g}")
    rng = Stream.of(random_state).generator()
    x = rng.uniform(low, high, n_rows)
    y = np.polynomial.polynomial.polyval(x, np.asarray(coefficients, dtype=np.float64))
    y = y + noise * rng.standard_normal(n_rows)
    return Table.build(pl.DataFrame({"x": x, "y": y}), name="polynomial-curve", source="generated")


@dataclass(frozen=True)
class Baskets:
    """Transactions (sorted item names each) and the planted rules (if, then, confidence, share of baskets)."""

    transactions: list[tuple[str, ...]]
    items: tuple[str, ...]
    rules: tuple[tuple[str, str, float, float], ...]


def baskets(
    n_baskets: int = 500,
    n_items: int = 20,
    rules: Sequence[tuple[str, str, float, float]] = (
        ("item01", "item02", 0.8, 0.2),
        ("item03", "item04", 0.6, 0.3),
    ),
    background: float = 0.1,
    random_state: Any = 0,
) -> Baskets:
    """Shopping baskets with planted rules.

    Items that stand in no rule come into a basket independently with chance `background`. A rule (a, b, confidence,
    support of a) puts `a` in that share of the baskets and `b` in that share of the baskets with `a`; without `a`,
    `b` comes with chance `background`. An item may stand in one rule only.

    >>> made = baskets(3, 5, rules=[("item01", "item02", 1.0, 1.0)])
    >>> all({"item01", "item02"} <= set(basket) for basket in made.transactions)
    True
    """
    who = "baskets"
    _at_least(who, "n_baskets", n_baskets, 1, whole=True)
    _at_least(who, "n_items", n_items, 1, whole=True)
    _share(who, "background", background)
    items = tuple(f"item{j + 1:02d}" for j in range(n_items))
    named = [item for rule in rules for item in rule[:2]]
    if len(set(named)) != len(named) or not set(named) <= set(items):
        raise ParameterError(who, "parameter 'rules'", f"must use each of {items[0]}..{items[-1]} at most once")
    rng = Stream.of(random_state).generator()
    held = rng.random((n_baskets, n_items)) < background
    for cause, effect, confidence, support in rules:
        _share(who, "rules", confidence)
        _share(who, "rules", support)
        first = rng.random(n_baskets) < support
        held[:, items.index(cause)] = first
        followed = rng.random(n_baskets) < np.where(first, confidence, background)
        held[:, items.index(effect)] = followed
    transactions = [tuple(items[j] for j in np.flatnonzero(row)) for row in held]
    return Baskets(transactions, items, tuple(tuple(rule) for rule in rules))  # type: ignore[misc]


@dataclass(frozen=True)
class HmmSequences:
    """Observations and hidden states of each sequence, and the model that made them.

    `emission` holds the chances of the symbols of each state, or (mean, standard deviation) of each state.
    """

    observations: list[np.ndarray]
    states: list[np.ndarray]
    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray
    kind: str


def hmm_sequences(
    n_sequences: int = 20,
    length: int = 100,
    start: Any = (0.6, 0.4),
    transition: Any = ((0.9, 0.1), (0.2, 0.8)),
    emission: Any = ((0.7, 0.2, 0.1), (0.1, 0.3, 0.6)),
    kind: str = "categorical",
    random_state: Any = 0,
) -> HmmSequences:
    """Sequences of a hidden Markov model; `kind` is "categorical" or "gaussian" (emission rows: mean, deviation).

    >>> made = hmm_sequences(2, 5)
    >>> [len(observed) for observed in made.observations]
    [5, 5]
    """
    who = "hmm_sequences"
    _at_least(who, "n_sequences", n_sequences, 1, whole=True)
    _at_least(who, "length", length, 1, whole=True)
    if kind not in ("categorical", "gaussian"):
        raise ParameterError(who, "parameter 'kind'", "must be 'categorical' or 'gaussian'", f"got {plain(repr(kind))}")
    first, moves, emits = (np.asarray(part, dtype=np.float64) for part in (start, transition, emission))
    shares = [("start", first[None]), ("transition", moves)] + ([("emission", emits)] if kind == "categorical" else [])
    for name, rows in shares:
        if (rows < 0).any() or not np.allclose(rows.sum(axis=1), 1):
            raise ParameterError(who, f"parameter '{name}'", "must hold rows of chances that sum to 1")
    root = Stream.of(random_state)
    observations, states = [], []
    for index in range(n_sequences):
        rng = root.child(index).generator()
        draws = rng.random(length)
        path = np.empty(length, dtype=np.int64)
        path[0] = _pick(first, draws[0])
        for t in range(1, length):
            path[t] = _pick(moves[path[t - 1]], draws[t])
        if kind == "gaussian":
            observed = emits[path, 0] + emits[path, 1] * rng.standard_normal(length)
        else:
            edges = np.cumsum(emits, axis=1)[:, :-1]
            observed = (rng.random(length)[:, None] > edges[path]).sum(axis=1)
        observations.append(observed)
        states.append(path)
    return HmmSequences(observations, states, first, moves, emits, kind)


def _pick(chances: np.ndarray, draw: float) -> int:
    return min(int(np.searchsorted(np.cumsum(chances), draw, side="right")), chances.shape[0] - 1)


@dataclass(frozen=True)
class CommunityGraph:
    """A symmetric adjacency matrix (0/1, no loops) and the community of each node."""

    adjacency: csr_matrix
    communities: np.ndarray


def community_graph(
    sizes: Sequence[int] = (30, 30, 30), within: float = 0.3, between: float = 0.02, random_state: Any = 0
) -> CommunityGraph:
    """A planted-partition graph: nodes of one community are joined with chance `within`, others with `between`.

    >>> graph = community_graph([3, 2], within=1.0, between=0.0)
    >>> int(graph.adjacency.sum()) // 2
    4
    """
    who = "community_graph"
    for size in sizes:
        _at_least(who, "sizes", size, 1, whole=True)
    _share(who, "within", within)
    _share(who, "between", between)
    rng = Stream.of(random_state).generator()
    communities = np.repeat(np.arange(len(sizes)), sizes)
    n_nodes = communities.shape[0]
    left, right = np.triu_indices(n_nodes, k=1)
    chance = np.where(communities[left] == communities[right], within, between)
    joined = rng.random(left.shape[0]) < chance
    left, right = left[joined], right[joined]
    ones = np.ones(2 * left.shape[0])
    both = (np.concatenate([left, right]), np.concatenate([right, left]))
    return CommunityGraph(coo_matrix((ones, both), shape=(n_nodes, n_nodes)).tocsr(), communities)


@dataclass(frozen=True)
class GridWorld:
    """A Markov decision process on a grid. States are cells row by row; actions are up, right, down, left.

    `transition[s, a, t]` is the chance of going from s to t under a; `reward[s, a]` the mean reward; a state in
    `terminal` keeps to itself and pays nothing.
    """

    shape: tuple[int, int]
    transition: np.ndarray
    reward: np.ndarray
    start: int
    terminal: tuple[int, ...]
    walls: tuple[int, ...]

    actions = ("up", "right", "down", "left")

    @property
    def transitions(self) -> np.ndarray:
        """`transition`, as planners and agents ask for it."""
        return self.transition

    @property
    def rewards(self) -> np.ndarray:
        """`reward`, as planners and agents ask for it."""
        return self.reward


def grid_world(
    rows: int = 4,
    columns: int = 4,
    slip: float = 0.0,
    step_reward: float = -1.0,
    goal_reward: float = 0.0,
    wall_share: float = 0.0,
    random_state: Any = 0,
) -> GridWorld:
    """A grid world: start in the top left cell, goal in the bottom right one.

    With chance `slip` a move goes to one of the two sides of its direction (half each); a move off the grid or into
    a wall stays. Each move pays `step_reward`, and `goal_reward` more with the chance of reaching the goal. Walls
    are drawn over `wall_share` of the other cells, never so that the goal cannot be reached.

    >>> world = grid_world(2, 2)
    >>> world.transition[0, 1].tolist()
    [0.0, 1.0, 0.0, 0.0]
    """
    who = "grid_world"
    _at_least(who, "rows", rows, 1, whole=True)
    _at_least(who, "columns", columns, 1, whole=True)
    _share(who, "slip", slip)
    _share(who, "wall_share", wall_share)
    n_states = rows * columns
    if n_states < 2:
        raise ParameterError(who, "parameter 'rows'", "must make at least 2 cells with 'columns'")
    goal = n_states - 1
    walls = _draw_walls(rows, columns, int(wall_share * (n_states - 2)), Stream.of(random_state).generator())
    steps = ((-1, 0), (0, 1), (1, 0), (0, -1))

    def reached(state: int, action: int) -> int:
        row, column = state // columns + steps[action][0], state % columns + steps[action][1]
        inside = 0 <= row < rows and 0 <= column < columns
        return row * columns + column if inside and row * columns + column not in walls else state

    transition = np.zeros((n_states, 4, n_states))
    reward = np.zeros((n_states, 4))
    for state in range(n_states):
        for action in range(4):
            if state == goal or state in walls:
                transition[state, action, state] = 1.0
                continue
            for turn, chance in ((0, 1 - slip), (1, slip / 2), (3, slip / 2)):
                transition[state, action, reached(state, (action + turn) % 4)] += chance
            reward[state, action] = step_reward + goal_reward * transition[state, action, goal]
    return GridWorld((rows, columns), transition, reward, 0, (goal,), tuple(sorted(walls)))


def _draw_walls(rows: int, columns: int, count: int, rng: np.random.Generator) -> set[int]:
    """Up to `count` walls, each kept only if the goal can still be reached from the start."""
    walls: set[int] = set()
    for cell in rng.permutation(np.arange(1, rows * columns - 1)).tolist():
        if len(walls) == count:
            break
        walls.add(cell)
        if not _open_path(rows, columns, walls):
            walls.remove(cell)
    return walls


def _open_path(rows: int, columns: int, walls: set[int]) -> bool:
    seen, frontier = {0}, [0]
    while frontier:
        row, column = divmod(frontier.pop(), columns)
        for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            cell = r * columns + c
            if 0 <= r < rows and 0 <= c < columns and cell not in walls and cell not in seen:
                seen.add(cell)
                frontier.append(cell)
    return rows * columns - 1 in seen


@dataclass(frozen=True)
class RecoilTracks:
    """Images (n, size, size) of light, the kind of recoil ("electron" or "nuclear"), energy in keV and start angle."""

    images: np.ndarray
    labels: np.ndarray
    energy: np.ndarray
    angle: np.ndarray


def recoil_tracks(
    n_images: int = 100,
    size: int = 32,
    energy: tuple[float, float] = (1.0, 30.0),
    noise: float = 0.5,
    nuclear_share: float = 0.5,
    random_state: Any = 0,
) -> RecoilTracks:
    """Simulated recoil tracks as a gas time projection chamber sees them: the light of one particle per image.

    A toy of the physics, not a detector simulation. The light of a track is proportional to its energy (uniform in
    `energy`, 10 units per keV). A helium nucleus loses its energy over a short, straight, dense path, most of it at
    the start; an electron travels several times as far, scatters, and loses more at the end, where it curls. Charge
    diffuses on the way (Gaussian blur) and the camera adds Gaussian `noise` to every pixel. At low energy both kinds
    are small blobs, and hard to tell apart.

    >>> made = recoil_tracks(4, size=16)
    >>> made.images.shape, sorted(set(made.labels.tolist())) <= ["electron", "nuclear"]
    ((4, 16, 16), True)
    """
    who = "recoil_tracks"
    _at_least(who, "n_images", n_images, 1, whole=True)
    _at_least(who, "size", size, 8, whole=True)
    _at_least(who, "noise", noise, 0)
    _share(who, "nuclear_share", nuclear_share)
    if not 0 < energy[0] <= energy[1]:
        raise ParameterError(who, "parameter 'energy'", "must be (low, high) with 0 < low <= high", f"got {energy!r}")
    root = Stream.of(random_state)
    images = np.empty((n_images, size, size))
    labels, energies, angles = np.empty(n_images, dtype="<U8"), np.empty(n_images), np.empty(n_images)
    for index in range(n_images):
        rng = root.child(index).generator()
        nuclear = bool(rng.random() < nuclear_share)
        kev, angle = rng.uniform(*energy), rng.uniform(0, 2 * np.pi)
        points, deposits = _track(nuclear, kev, angle, size, rng)
        images[index] = _expose(points, deposits, size) + noise * rng.standard_normal((size, size))
        labels[index], energies[index], angles[index] = "nuclear" if nuclear else "electron", kev, angle
    return RecoilTracks(images, labels, energies, angles)


_STEPS = 60
_LIGHT_PER_KEV = 10.0
_DIFFUSION = 0.035
"""Blur of the drifting charge, as a share of the image's width."""


def _track(
    nuclear: bool, kev: float, angle: float, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Points along one track in pixels, centred on its light, and the light deposited at each."""
    progress = (np.arange(_STEPS) + 0.5) / _STEPS
    if nuclear:
        length = size * (0.04 + 0.006 * kev)
        turning, weight = np.full(_STEPS, 0.02), 1.5 - progress
    else:
        length = size * (0.08 + 0.028 * kev)
        turning, weight = 0.12 + 0.35 * progress**2, 0.5 + progress**2
    direction = angle + np.cumsum(turning * rng.standard_normal(_STEPS))
    step = length / _STEPS
    points = np.cumsum(step * np.column_stack([np.cos(direction), np.sin(direction)]), axis=0)
    deposits = _LIGHT_PER_KEV * kev * weight / weight.sum()
    centre = (deposits[:, None] * points).sum(axis=0) / deposits.sum()
    return points - centre + (size - 1) / 2 + rng.uniform(-1, 1, 2), deposits


def _expose(points: np.ndarray, deposits: np.ndarray, size: int) -> np.ndarray:
    """The image of Gaussian spots, one per point; the light inside the frame sums to the deposits."""
    pixels = np.arange(size)
    spread = max(_DIFFUSION * size, 0.7)
    across = np.exp(-0.5 * ((pixels[None, :] - points[:, 0:1]) / spread) ** 2)
    along = np.exp(-0.5 * ((pixels[None, :] - points[:, 1:2]) / spread) ** 2)
    scale = deposits / (2 * np.pi * spread**2)
    return np.einsum("k,ki,kj->ij", scale, along, across)
