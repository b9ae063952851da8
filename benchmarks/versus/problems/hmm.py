"""Hidden Markov models: twenty steps of Baum and Welch's algorithm from the same beginning.

hmmlearn is run with implementation="scaling", which is several times faster than its default.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

STEPS = 20
LENGTH = 1000


def _lengths(X: np.ndarray) -> list[int]:
    return [LENGTH] * (len(X) // LENGTH)


def _make_gaussian(rows: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    states = np.cumsum(rng.random(rows) < 0.05) % 4
    return np.stack([2.0 * states, 3.0 * (states % 2)], axis=1) + rng.normal(size=(rows, 2))


def _make_symbols(rows: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    states = np.cumsum(rng.random(rows) < 0.1) % 8
    return ((6 * states + rng.integers(0, 12, size=rows)) % 50)[:, None]


_MEANS = np.array([[0.0, 0.5], [1.5, 2.5], [4.5, 0.5], [5.5, 2.5]])
_START = np.full(4, 0.25)
_MOVES = np.full((4, 4), 0.05) + 0.8 * np.eye(4)


def _symbol_start() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return np.full(8, 0.125), rng.dirichlet(np.ones(8), size=8), rng.dirichlet(np.ones(50), size=8)


def _our_gaussian(X: np.ndarray) -> float:
    from assay.models.sequences import HiddenMarkovModel

    model = HiddenMarkovModel(
        4, start=_START, transitions=_MOVES, emissions=_MEANS, max_iter=STEPS, tol=0, n_jobs=-1
    ).fit(X, _lengths(X))
    return model.log_likelihood_


def _their_gaussian(X: np.ndarray) -> float:
    from hmmlearn.hmm import GaussianHMM

    model = GaussianHMM(4, "full", n_iter=STEPS, tol=-np.inf, init_params="c", implementation="scaling")
    model.startprob_, model.transmat_, model.means_ = _START, _MOVES, _MEANS
    return float(model.fit(X, _lengths(X)).monitor_.history[-1])


def _our_symbols(X: np.ndarray) -> float:
    from assay.models.sequences import HiddenMarkovModel

    start, moves, table = _symbol_start()
    model = HiddenMarkovModel(
        8,
        emission="categorical",
        start=start,
        transitions=moves,
        emissions=table,
        categories=np.arange(50),
        max_iter=STEPS,
        tol=0,
        n_jobs=-1,
    ).fit(X, _lengths(X))
    return model.log_likelihood_


def _their_symbols(X: np.ndarray) -> float:
    from hmmlearn.hmm import CategoricalHMM

    model = CategoricalHMM(8, n_iter=STEPS, tol=-np.inf, init_params="", implementation="scaling")
    model.n_features = 50
    model.startprob_, model.transmat_, model.emissionprob_ = _symbol_start()
    return float(model.fit(X, _lengths(X)).monitor_.history[-1])


def _per_row(X: np.ndarray, found: Any) -> float:
    return float(found) / len(X)


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="hmm-gaussian",
        title="hidden Markov model, 4 normal states, 20 steps",
        make=_make_gaussian,
        sizes=by_rows("{n} x 2 in sequences of 1,000", 5_000, 20_000, 100_000),
        ours=Contender("assay HiddenMarkovModel", "assay", _our_gaussian),
        peers=(Contender("hmmlearn GaussianHMM", "hmmlearn", _their_gaussian, aim=10.0),),
        quality=_per_row,
        gate=5e-3,
        tried='implementation="scaling", several times as fast as the default "log".',
        quality_name="log likelihood per row",
        limit="two recursions of 16 multiply-adds and 4 exponentials per row and step",
    ),
    Problem(
        id="hmm-categorical",
        title="hidden Markov model, 8 states, 50 symbols, 20 steps",
        make=_make_symbols,
        sizes=by_rows("{n} symbols in sequences of 1,000", 5_000, 20_000, 100_000),
        ours=Contender("assay HiddenMarkovModel", "assay", _our_symbols),
        peers=(Contender("hmmlearn CategoricalHMM", "hmmlearn", _their_symbols, aim=10.0),),
        quality=_per_row,
        gate=5e-3,
        tried='implementation="scaling", several times as fast as the default "log".',
        quality_name="log likelihood per row",
        limit="two recursions of 64 multiply-adds per row and step",
    ),
)
