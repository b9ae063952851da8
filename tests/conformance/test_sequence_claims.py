"""Every claim of every sequence model: scores add up over sequences, paths, samples; and faults that are caught."""

from __future__ import annotations

import numpy as np
import pytest

from .small_methods import SmallHMM, entry_of
from .tables import claiming, named, quick

every_model = pytest.mark.parametrize(**named(claiming("sequence")))
LENGTHS = [30, 1, 49]


def sequences(entry, n: int = 80, seed: int = 0) -> np.ndarray:
    """Rows that change between two levels now and then; symbols where the model takes no numbers."""
    rng = np.random.default_rng(seed)
    level = np.cumsum(rng.random(n) < 0.1) % 2
    if "numeric" not in entry.native:
        return (2 * level + rng.integers(0, 2, size=n))[:, None]
    return (4.0 * level + rng.normal(size=n))[:, None]


@every_model
def test_the_score_of_several_sequences_is_the_sum_of_theirs(entry):
    X = sequences(entry)
    model = quick(entry).fit(X, LENGTHS)
    parts = np.split(X, np.cumsum(LENGTHS)[:-1])
    alone = [model.score(part) for part in parts]
    assert np.isfinite(alone).all()
    assert model.score(X, LENGTHS) == pytest.approx(sum(alone), rel=1e-10)
    turned = np.concatenate(parts[::-1])
    assert model.score(turned, LENGTHS[::-1]) == pytest.approx(model.score(X, LENGTHS), rel=1e-10)


@every_model
def test_the_best_path_has_one_state_for_each_row_and_no_more_probability_than_all_paths(entry):
    X = sequences(entry)
    model = quick(entry).fit(X, LENGTHS)
    best, states = model.decode(X, LENGTHS)
    assert states.shape == (len(X),) and states.dtype.kind == "i" and states.min() >= 0
    assert best <= model.score(X, LENGTHS) + 1e-9
    np.testing.assert_array_equal(states[30:31], model.decode(X[30:31])[1])


@every_model
def test_long_sequences_do_not_underflow(entry):
    X = sequences(entry)
    model = quick(entry).fit(X, LENGTHS)
    assert np.isfinite(model.score(np.tile(X, (250, 1))))


@every_model
def test_samples_have_their_shape_and_repeat_by_seed(entry):
    X = sequences(entry)
    model = quick(entry).fit(X, LENGTHS)
    drawn, states = model.sample(50, random_state=0)
    assert np.shape(drawn) == (50, X.shape[1]) and np.shape(states) == (50,)
    again, same = model.sample(50, random_state=0)
    np.testing.assert_array_equal(drawn, again)
    np.testing.assert_array_equal(states, same)
    assert np.isfinite(model.score(drawn))


@every_model
def test_same_seed_gives_the_same_bits_whatever_the_number_of_threads(entry):
    X = sequences(entry)
    declared = entry.load().__parameters__
    given = [
        quick(entry, **({"n_jobs": jobs} if "n_jobs" in declared else {})).fit(X, LENGTHS).score(X, LENGTHS)
        for jobs in (1, 2, 5)
    ]
    assert given[0] == given[1] == given[2]


@every_model
def test_the_likelihood_never_falls_along_the_trace(entry):
    if "trace" not in entry.load().__parameters__:
        pytest.skip("keeps no trace")
    X = sequences(entry)
    records = quick(entry, trace=True).fit(X, LENGTHS).trace_
    values = [r["values"]["log_likelihood"] for r in records if "log_likelihood" in r["values"]]
    restarts = [r["values"].get("restart", 0) for r in records if "log_likelihood" in r["values"]]
    assert values
    for before, after, same in zip(values, values[1:], np.diff(restarts) == 0):
        assert not same or after >= before - 1e-8 * abs(before)


class OneLongSequence(SmallHMM):
    """Forgets where sequences end."""

    def score(self, X, lengths=None):
        return super().score(X)

    def decode(self, X, lengths=None):
        best, states = super().decode(X)
        return best, states[:-1]


class Underflows(SmallHMM):
    """Multiplies probabilities."""

    def score(self, X, lengths=None):
        with np.errstate(divide="ignore"):
            return float(np.log(np.exp(super().score(X, lengths))))


class Restless(SmallHMM):
    """Draws anew whatever the seed."""

    def sample(self, n_samples=1, random_state=None):
        return super().sample(n_samples)


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (OneLongSequence, test_the_score_of_several_sequences_is_the_sum_of_theirs),
        (OneLongSequence, test_the_best_path_has_one_state_for_each_row_and_no_more_probability_than_all_paths),
        (Underflows, test_long_sequences_do_not_underflow),
        (Restless, test_samples_have_their_shape_and_repeat_by_seed),
    ],
)
def test_a_planted_fault_is_caught(fault, check):
    with pytest.raises(AssertionError):
        check(entry_of(fault, "sequence"))
