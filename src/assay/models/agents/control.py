"""Worlds of real numbers that come with Assay, to Gymnasium's protocol: cart-pole and mountain-car.

The physics are those of Barto, Sutton & Anderson (IEEE Transactions on Systems, Man, and Cybernetics 13, 1983) and of
Moore (PhD thesis, Cambridge University, 1990), with the constants and the step of Gymnasium's environments.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base import DataError, Stream
from ...base.unsupervised import check_count
from .tabular import Discrete


class Box:
    """Real numbers between two limits, as a space of Gymnasium.

    >>> Box([-1.0, 0.0], [1.0, 2.0]).shape
    (2,)
    """

    def __init__(self, low: Any, high: Any):
        self.low, self.high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        self.shape = self.low.shape


class PhysicalWorld:
    """Base of worlds whose state is an array of numbers and whose actions are few."""

    n_actions = 2
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __init__(self, max_steps: int = 500):
        check_count(type(self).__name__, max_steps, "max_steps")
        self.max_steps = int(max_steps)
        self.observation_space, self.action_space = Box(self.low, self.high), Discrete(self.n_actions)
        self._generator = np.random.default_rng(0)
        self.state: np.ndarray | None = None
        self._steps = 0

    def _first(self) -> np.ndarray:
        raise NotImplementedError  # pragma: no cover

    def _move(self, state: np.ndarray, action: int) -> tuple[np.ndarray, float, bool]:
        raise NotImplementedError  # pragma: no cover

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """Begin a walk; the first state."""
        if seed is not None:
            self._generator = Stream.of(seed).generator()
        self.state, self._steps = self._first(), 0
        return self.state.copy(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Do an action: next state, reward, whether the walk ended, whether it is broken off."""
        if self.state is None:
            raise DataError(type(self).__name__, "step", "needs a walk", way_out="call reset first")
        if not self.action_space.contains(action):
            raise DataError(type(self).__name__, "the action", f"must be from 0 to {self.n_actions - 1}")
        self.state, reward, ends = self._move(self.state, int(action))
        self._steps += 1
        return self.state.copy(), reward, ends, self._steps >= self.max_steps, {}

    def close(self) -> None:
        """Nothing is open; the protocol has it."""


class CartPole(PhysicalWorld):
    """A pole on a cart that is pushed left (0) or right (1); 1 for each step until the pole falls or the track ends.

    The state is place, speed, angle and its speed. A walk is broken off after 200 steps, with which the task counts as
    solved when 100 walks bring 195 on average.

    >>> world = CartPole()
    >>> world.reset(seed=0)[0].shape, world.step(1)[1]
    ((4,), 1.0)
    """

    low, high = (-4.8, -math.inf, -24 * math.pi / 180, -math.inf), (4.8, math.inf, 24 * math.pi / 180, math.inf)

    def __init__(self, max_steps: int = 200):
        super().__init__(max_steps)

    def _first(self) -> np.ndarray:
        return self._generator.uniform(-0.05, 0.05, size=4)

    def _move(self, state: np.ndarray, action: int) -> tuple[np.ndarray, float, bool]:
        place, speed, angle, turning = state.tolist()
        force = 10.0 if action == 1 else -10.0
        sine, cosine = math.sin(angle), math.cos(angle)
        pushed = (force + 0.05 * turning**2 * sine) / 1.1
        turn = (9.8 * sine - cosine * pushed) / (0.5 * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1))
        gained = pushed - 0.05 * turn * cosine / 1.1
        after = (place + 0.02 * speed, speed + 0.02 * gained, angle + 0.02 * turning, turning + 0.02 * turn)
        fallen = abs(after[0]) > 2.4 or abs(after[2]) > 12 * math.pi / 180
        return np.array(after), 1.0, fallen


class MountainCar(PhysicalWorld):
    """A car in a valley, too weak to drive out straight: push left (0), none (1) or right (2); -1 for each step.

    The state is place and speed; the flag stands at 0.5.

    >>> world = MountainCar()
    >>> world.reset(seed=0)[0].shape, world.step(2)[1]
    ((2,), -1.0)
    """

    n_actions = 3
    low, high = (-1.2, -0.07), (0.6, 0.07)

    def __init__(self, max_steps: int = 200):
        super().__init__(max_steps)

    def _first(self) -> np.ndarray:
        return np.array([self._generator.uniform(-0.6, -0.4), 0.0])

    def _move(self, state: np.ndarray, action: int) -> tuple[np.ndarray, float, bool]:
        place, speed = state.tolist()
        speed = min(max(speed + (action - 1) * 0.001 - 0.0025 * math.cos(3 * place), -0.07), 0.07)
        place = min(max(place + speed, -1.2), 0.6)
        if place <= -1.2 and speed < 0:
            speed = 0.0
        return np.array([place, speed]), -1.0, place >= 0.5 and speed >= 0.0
