"""Every method of the catalogue, interrupted in the middle of a long call: how long until it answers.

`python -m tests.fuzz.interrupts ID...` prints what each does. A timer of the process counts processor time, so that
what else the machine does plays no part: after `AFTER` seconds of it a signal raises KeyboardInterrupt in Python, which
a kernel hears when it asks whether it should stop, as it does of Ctrl-C. Rows are added until the call lasts so long,
or the table has `MOST_CELLS` cells; a call that is over before it can be interrupted needs no answer.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from assay import catalogue, config
from assay.base import AssayError

ROOT = Path(__file__).parents[2]
AFTER = 0.5
MOST_CELLS = 8_000_000
COLUMNS = 10


def table(entry: Any, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of which two matter; labels are noisy, so that no method is done at once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, COLUMNS))
    score = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=rows)
    classes = entry.task == "classify" or bool(getattr(entry.load(), "_needs_classes", False))
    return X, np.digitize(score, [-0.7, 0.7]) if classes else score


class World:
    """A world of random moves to five states each, for planners and, by `reset` and `step`, for learners."""

    def __init__(self, n_states: int) -> None:
        rng = np.random.default_rng(0)
        self.transitions = [
            csr_array(
                (np.full(5 * n_states, 0.2), rng.integers(0, n_states, 5 * n_states), np.arange(n_states + 1) * 5),
                shape=(n_states, n_states),
            )
            for _ in range(2)
        ]
        self.rewards = rng.normal(size=(n_states, 2))
        self.observation_space, self.action_space = SimpleNamespace(n=n_states), SimpleNamespace(n=2)
        self._rng = rng

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict]:
        self.state = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict]:
        reward = float(self.rewards[self.state, action])
        self.state = int(self._rng.choice(self.transitions[action][[self.state]].indices))
        return self.state, reward, False, False, {}


def given(entry: Any, rows: int) -> tuple[Any, ...]:
    """What `fit` takes: a table and a target, or what the task has instead."""
    X, y = table(entry, rows)
    if entry.task == "control":
        return (World(rows),)
    if entry.task == "sequence":
        return (X if "numeric" in entry.native else np.digitize(X[:, :1], [-1.0, 0.0, 1.0]),)
    if entry.task == "rules":
        return (X > 0,)
    if entry.task == "image":
        return np.random.default_rng(0).normal(size=(rows, 8, 8)), np.digitize(y, [-0.7, 0.7])
    return X, y


def used(entry: Any, X: Any, longer: bool) -> Any:
    """What `predict` or `transform` takes, long enough to be interrupted where that is asked for."""
    if entry.task == "control":
        X = np.arange(X.observation_space.n)
    return np.concatenate([X] * max(1, MOST_CELLS // X.size)) if longer else X


def call(work: Any) -> tuple[str, float]:
    """How a call ended, and the seconds of processor time between the signal and the answer."""
    ended, begin = "finished", time.process_time()
    signal.setitimer(signal.ITIMER_PROF, AFTER)
    try:
        work()
    except KeyboardInterrupt:
        ended = "interrupted"
    except AssayError as error:
        ended = f"refused: {error}"
    finally:
        taken = time.process_time() - begin
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return ended, taken - AFTER


def try_method(entry: Any) -> dict[str, tuple[str, float, int]]:
    """What fit, and predict or transform, do on the smallest table on which they last long enough."""
    outcome: dict[str, tuple[str, float, int]] = {}
    cls = entry.load()
    parameters = {name: value for name, value in (("n_jobs", 1), ("random_state", 0)) if name in cls.__parameters__}
    uses = [name for name in ("predict", "transform") if hasattr(cls, name)][:1]
    rows = 500
    while len(outcome) < 1 + len(uses) and rows * COLUMNS <= MOST_CELLS:
        arguments = given(entry, rows)
        model = cls(**parameters)
        ended, late = call(lambda model=model, arguments=arguments: model.fit(*arguments))
        if ended != "finished":
            outcome.setdefault("fit", (ended, late, rows))
            break
        if late > 0:
            outcome.setdefault("fit", (ended, late, rows))
        for use in uses:
            if use not in outcome:
                many = used(entry, arguments[0], "fit" in outcome)
                ended, late = call(lambda model=model, many=many, use=use: getattr(model, use)(many))
                if ended != "finished" or late > 0:
                    outcome[use] = (ended, late, many.shape[0])
        rows *= 4
    return outcome


def main(ids: list[str]) -> None:
    warnings.simplefilter("ignore")

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGPROF, interrupt)
    config.set(max_seconds=1e9)
    for entry in catalogue.entries():
        if not ids or entry.id in ids:
            try:
                print(json.dumps({"id": entry.id, **try_method(entry)}), flush=True)
            except KeyboardInterrupt:
                print(json.dumps({"id": entry.id, "late": ["the signal came after the call", 0.0, 0]}), flush=True)


def run(ids: list[str]) -> list[dict[str, Any]]:
    """The lines of a process of its own."""
    words = [sys.executable, "-m", "tests.fuzz.interrupts", *ids]
    told = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    if told.returncode:
        raise RuntimeError(f"exit {told.returncode}: {told.stderr[-2000:]}")
    return [json.loads(line) for line in told.stdout.splitlines()]


if __name__ == "__main__":
    main(sys.argv[1:])
