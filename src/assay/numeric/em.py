"""One driver of expectation-maximisation: restarts on child streams, a trace, a likelihood that never falls.

A method brings two functions: `start(stream)` makes parameters, and `step(parameters)` does an expectation and a
maximisation step and returns the new parameters with the log likelihood of the ones it was given, which the expectation
step knows anyway. The driver stops, compares restarts, and watches the theorem of Dempster, Laird & Rubin (1977): no
step lowers the likelihood. A fall beyond rounding is a defect or a breakdown of the numbers, and is said.

>>> import numpy as np
>>> heads = np.array([5, 9, 8, 4, 7])  # of ten throws each with one of two coins
>>> def start(stream):
...     return np.array([0.6, 0.5])
>>> def step(bias):
...     logs = heads[:, None] * np.log(bias) + (10 - heads)[:, None] * np.log(1 - bias)
...     share = np.exp(logs - logs.max(axis=1, keepdims=True))
...     share /= share.sum(axis=1, keepdims=True)
...     return heads @ share / (10 * share.sum(axis=0)), float(np.logaddexp.reduce(logs, axis=1).sum())
>>> found = expectation_maximisation("Coins", start, step, Stream.of(0), tol=1e-10)
>>> found.parameters.round(2), found.converged
(array([0.8 , 0.52]), True)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from ..base import AssayWarning, DataError, Stream, Trace

Parameters = TypeVar("Parameters")

# A fall of less than this share of the likelihood's size is rounding.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Run(Generic[Parameters]):
    """The best of the restarts: its parameters, the log likelihood after each step, and how it ended."""

    parameters: Parameters
    log_likelihood: np.ndarray
    """Of the parameters before each step; the last value belongs to `parameters`."""
    converged: bool
    restart: int
    fell: bool
    """Whether some step of this run lowered the likelihood beyond rounding."""

    @property
    def n_iter(self) -> int:
        """Steps taken."""
        return self.log_likelihood.shape[0] - 1


def expectation_maximisation(
    who: str,
    start: Callable[[Stream], Parameters],
    step: Callable[[Parameters], tuple[Parameters, float]],
    stream: Stream,
    *,
    restarts: int = 1,
    max_iter: int = 1000,
    tol: float = 1e-6,
    scale: float = 1.0,
    trace: Trace | None = None,
    warns: bool = True,
    settled: Callable[[Parameters, Parameters], bool] | None = None,
) -> Run[Parameters]:
    """Climb from `restarts` starts, each on its own child stream, and keep the likeliest end (the first of equals).

    A run ends when a step gains at most `tol` times `scale` (the number of rows, say, for a gain per row), or after
    `max_iter` steps, which warning W201 tells (unless 0 were asked for). Priors and floors belong into the likelihood
    that `step` returns, for it is that which must rise. Where a few steps only choose among starts, `warns` is false.
    Where parameters are wanted to more digits than the likelihood tells apart, `settled(before, after)` says of a step
    that it was the last, in place of the gain.
    """
    best: Run[Parameters] | None = None
    for restart in range(restarts):
        following, fell, ended = start(stream.child(restart)), False, False
        values: list[float] = []
        kept = following
        while not ended:
            before, kept = kept, following
            following, value = step(kept)
            if trace is not None:
                trace.record("em", restart=restart, iteration=len(values), log_likelihood=value)
            gain = value - values[-1] if values else np.inf
            values.append(value)
            fell |= not gain >= -_ROUNDING * max(abs(value), 1.0)
            converged = gain <= tol * scale if settled is None else len(values) > 1 and settled(before, kept)
            ended = converged or len(values) > max_iter or not np.isfinite(value)
        if best is None or np.isnan(best.log_likelihood[-1]) or values[-1] > best.log_likelihood[-1]:
            best = Run(kept, np.array(values), converged, restart, fell)
    assert best is not None
    _tell(who, best, max_iter, warns)
    return best


def _tell(who: str, best: Run[Parameters], max_iter: int, warns: bool) -> None:
    """Refuse a likelihood that is not a number; warn of one that fell, and of steps that ran out."""
    if np.isnan(best.log_likelihood[-1]):
        raise DataError(
            who,
            "X",
            "must have a log likelihood in float64",
            "it is not a number",
            "bring the columns to a common scale first (`assay.prepare.Scale`)",
        )
    if best.fell and warns:
        values = best.log_likelihood
        worst = int(np.argmin(np.diff(values)))
        text = (
            f"{who}: the log likelihood fell from {values[worst]:.6g} to {values[worst + 1]:.6g} in step {worst + 1}, "
            "which exact arithmetic does not allow; rescale the columns or raise the smallest variance allowed."
        )
        warnings.warn(AssayWarning("W205", text), stacklevel=4)
    if not best.converged and max_iter > 0 and warns:
        end = f"not converged after {best.n_iter} steps (the last still gained more than tol)"
        text = f"{who}: {end}; raise max_iter or tol."
        warnings.warn(AssayWarning("W201", text), stacklevel=4)
