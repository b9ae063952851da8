"""Catalogue x odd tables, targets, weights and parameters: a case by its number, and what may come of it.

`python -m tests.fuzz.estimators FIRST LAST SEED LOG` runs cases and writes one line for each before it starts, so that
the death of the process names its case. The same number is the same case, on any machine.
"""

from __future__ import annotations

import faulthandler
import inspect
import io
import json
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError

from assay import catalogue, config
from assay.base import AssayError

from .odd import TABLES, TARGETS, WEIGHTS, odd_value, ordinary

ENTRIES = catalogue.entries()
METHODS = ("predict", "predict_proba", "decision_function", "transform", "fit_resample", "score")
# Seconds of processor time for one case on its small table, and for a kernel to stop when asked.
CASE_SECONDS, STOP_SECONDS = 20.0, 4.0
# A number of steps that the user asks for is taken: such a case may be long, but must stop when asked, which is soon.
ASKED_SECONDS = 5.0
BUDGETS = (
    "max_iter",
    "n_iter_no_change",
    "n_init",
    "n_restarts",
    "optimisation_passes",
    "n_imputations",
    "beam_width",
    "degree",
    "tol",
)
# The comparison of names with those of fit is scikit-learn's list, which its own checks ask for word by word.
NAMES = "The feature names should match those that were passed during fit"


class TooLong(BaseException):
    """A case took more processor time than it may; stands outside `Exception` so that nothing swallows it."""


@dataclass
class Case:
    """One number made flesh: a method of the catalogue and what it is given."""

    number: int
    entry: Any
    label: str
    parameters: dict[str, Any]
    table: Any
    target: Any
    weights: Any
    rows: Any


@dataclass
class Outcome:
    """What came of a run of cases."""

    cases: int = 0
    calls: int = 0
    refused: int = 0
    stopped: int = 0
    findings: list[str] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        for name in ("cases", "calls", "refused", "stopped"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.findings += other.findings


def case(number: int, seed: int) -> Case:
    """The case of this number: ordinary but for one to three odd things."""
    rng = np.random.default_rng([seed, number])
    entry = ENTRIES[number % len(ENTRIES)]
    cls: Any = entry.load()
    classes = entry.task == "classify" or bool(getattr(cls, "_needs_classes", False))
    X, y = ordinary(rng, classes)
    table, target, weights, rows, parameters = X, y, None, X, {}
    if "random_state" in cls.__parameters__:
        parameters["random_state"] = 0
    label = [entry.id]
    chosen = rng.choice(["X", "y", "weights", "rows", "parameters"], size=int(rng.integers(1, 4)), replace=False)
    if "X" in chosen:
        name = str(rng.choice(list(TABLES)))
        table, rows = TABLES[name](rng, X), TABLES[name](rng, X)
        label.append(f"X={name}")
    if "rows" in chosen:
        name = str(rng.choice(list(TABLES)))
        rows = TABLES[name](rng, X)
        label.append(f"rows={name}")
    if "y" in chosen:
        name = str(rng.choice(list(TARGETS)))
        target = TARGETS[name](rng, y)
        label.append(f"y={name}")
    if "weights" in chosen and "sample_weight" in inspect.signature(cls.fit).parameters:
        name = str(rng.choice(list(WEIGHTS)))
        weights = WEIGHTS[name](rng, y)
        label.append(f"weights={name}")
    if "parameters" in chosen and cls.__parameters__:
        for name in rng.choice(list(cls.__parameters__), size=int(rng.integers(1, 3))):
            parameters[str(name)] = odd_value(rng, cls.__parameters__[name])
            label.append(f"{name}={parameters[str(name)]!r:.40}")
    return Case(number, entry, " ".join(label).replace("\n", " "), parameters, table, target, weights, rows)


def run_case(given: Case) -> Outcome:
    """Fit, then call every method; each gives finite numbers or one sentence of ours."""
    outcome = Outcome(cases=1)
    started = time.process_time()
    asked = any(f" {name}=" in given.label for name in BUDGETS)
    allowed = ASKED_SECONDS if asked else CASE_SECONDS
    signal.setitimer(signal.ITIMER_PROF, allowed, STOP_SECONDS)
    try:
        # A fit that says it takes longer is refused, in a sentence.
        with warnings.catch_warnings(), config.use(max_seconds=CASE_SECONDS):
            warnings.simplefilter("ignore")
            _fit_and_use(given, outcome)
    except TooLong:
        taken = time.process_time() - started
        if taken > allowed + 2 * STOP_SECONDS:
            outcome.findings.append(f"{given.number} {given.label}: did not stop when asked, {taken:.0f} s")
        elif asked:
            outcome.stopped += 1
        else:
            outcome.findings.append(f"{given.number} {given.label}: took more than {CASE_SECONDS:g} s")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return outcome


def _fit_and_use(given: Case, outcome: Outcome) -> None:
    extra = {} if given.weights is None else {"sample_weight": given.weights}
    try:
        model = given.entry.load()(**given.parameters)
        outcome.calls += 1
        model.fit(given.table, given.target, **extra)
    except Exception as error:
        _judge_error(given, "fit", error, outcome)
        return
    _judge_finite(given, "fitted state", _state(model), outcome)
    for name in METHODS:
        if not hasattr(model, name):
            continue
        outcome.calls += 1
        arguments = (given.rows,) if name not in ("fit_resample", "score") else (given.rows, given.target)
        try:
            result = getattr(model, name)(*arguments)
        except Exception as error:
            _judge_error(given, name, error, outcome)
            continue
        if name == "predict_proba" and not np.allclose(np.asarray(result).sum(axis=1), 1.0):
            outcome.findings.append(f"{given.number} {given.label}: probabilities do not sum to 1")
        if name != "fit_resample" and name != "score":
            _judge_finite(given, name, result, outcome)


def _state(model: Any) -> list[Any]:
    return [
        value
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_") and name not in model._open_state
    ]


def _judge_finite(given: Case, name: str, value: Any, outcome: Outcome) -> None:
    """Numbers that came of finite numbers are finite; a missing cell may be handed on, an infinite one was refused."""
    if isinstance(value, list):
        for part in value:
            _judge_finite(given, name, part, outcome)
        return
    if issparse(value):
        value = value.data
    if isinstance(value, pl.DataFrame):
        value = value.select(pl.selectors.float()).to_numpy()
    elif hasattr(value, "select_dtypes"):
        value = value.select_dtypes("float").to_numpy()
    if not isinstance(value, (np.ndarray, float)) or np.asarray(value).dtype.kind != "f":
        return
    bad = np.isinf(value) if name == "transform" else ~np.isfinite(value)
    if np.any(bad):
        outcome.findings.append(f"{given.number} {given.label}: {name} gave numbers that are not finite")


def _judge_error(given: Case, name: str, error: Exception, outcome: Outcome) -> None:
    """A refusal is one sentence of ours: who, then what; any other exception is a finding."""
    text = str(error)
    ours = isinstance(error, (AssayError, ValueError, TypeError)) and re.match(r"[A-Za-z0-9_.]+: ", text)
    if (ours and "\n" not in text) or isinstance(error, NotFittedError) or (ours and f"\n{NAMES}" in text):
        outcome.refused += 1
        return
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    words = text.replace("\n", " | ")[:160]
    outcome.findings.append(f"{given.number} {given.label}: {name} raised {type(error).__name__} at {where}: {words}")


def _raise_too_long(*_: Any) -> None:
    raise TooLong


def main(first: int, last: int, seed: int, log: Path) -> None:
    """Run cases in this process; the log has a line before each, and the outcome at the end."""
    faulthandler.enable()
    signal.signal(signal.SIGPROF, _raise_too_long)
    total = Outcome()
    with log.open("a") as out:
        for number in range(first, last):
            given = case(number, seed)
            out.write(f"start {number} {given.label}\n".encode("ascii", "backslashreplace").decode())
            out.flush()
            total.add(run_case(given))
        out.write("done " + json.dumps(vars(total)) + "\n")


def run_batch(first: int, last: int, seed: int, folder: Path, memory: int | None = 6 << 30) -> Outcome:
    """Run cases in processes of their own; a process that dies is a finding, and the next case goes on in a new one."""
    total = Outcome()
    while first < last:
        log = folder / f"cases-{first}.log"
        command = [sys.executable, "-m", "tests.fuzz.estimators", str(first), str(last), str(seed), str(log)]
        with (folder / f"said-{first}.txt").open("w+") as said:
            process = subprocess.run(
                command,
                stdout=said,
                stderr=subprocess.STDOUT,
                check=False,
                cwd=Path(__file__).parents[2],
                preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))) if memory else None,
            )
            said.seek(0)
            words = said.read()
        lines = log.read_text().splitlines() if log.exists() else []
        if lines and lines[-1].startswith("done "):
            total.add(Outcome(**json.loads(lines[-1][5:])))
            if "On entry to" in words or "runtime error" in words:
                total.findings.append(f"cases {first} to {last} printed: {words[:400]}")
            return total
        started = [line for line in lines if line.startswith("start ")]
        tail = " | ".join(words.splitlines()[-12:])[-1500:]
        if not started:
            raise RuntimeError(f"no case could be run: exit {process.returncode}: {tail}")
        total.findings.append(f"{started[-1][6:]}: the process ended with {process.returncode}: {tail}")
        total.cases += len(started)
        first = int(started[-1].split()[1]) + 1
    return total


if __name__ == "__main__":
    sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", errors="backslashreplace")
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
