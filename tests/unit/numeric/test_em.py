"""The EM driver: restarts, stopping, the trace, and the watch over the likelihood."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base import AssayWarning, DataError, Stream, Trace
from assay.numeric.em import expectation_maximisation

VALUES = np.concatenate([np.random.default_rng(0).normal(-3, 1, 150), np.random.default_rng(1).normal(2, 0.5, 250)])


def start(stream):
    centres = stream.generator().choice(VALUES, 2, replace=False)
    return np.array([0.5, 0.5]), centres, np.full(2, VALUES.std())


def step(parameters):
    shares, means, spreads = parameters
    gaps = (VALUES[:, None] - means) / spreads
    logs = np.log(shares) - 0.5 * gaps**2 - np.log(spreads) - 0.5 * np.log(2 * np.pi)
    whole = np.logaddexp.reduce(logs, axis=1)
    responsibilities = np.exp(logs - whole[:, None])
    weights = responsibilities.sum(axis=0)
    means = VALUES @ responsibilities / weights
    spreads = np.sqrt(((VALUES[:, None] - means) ** 2 * responsibilities).sum(axis=0) / weights)
    return (weights / weights.sum(), means, spreads), float(whole.sum())


def test_the_likelihood_never_falls_and_the_mixture_is_found():
    found = expectation_maximisation("Mixture", start, step, Stream.of(0), restarts=3, tol=1e-12, scale=VALUES.size)
    assert found.converged and not found.fell
    assert (np.diff(found.log_likelihood) >= -1e-9).all()
    order = np.argsort(found.parameters[1])
    assert found.parameters[1][order] == pytest.approx([-3, 2], abs=0.2)
    assert found.log_likelihood[-1] == step(found.parameters)[1]


def test_the_best_restart_is_kept_and_each_has_its_own_stream():
    alone = [
        expectation_maximisation("Mixture", lambda _, k=k: start(Stream.of(4).child(k)), step, Stream.of(9), max_iter=3)
        for k in range(4)
    ]
    together = expectation_maximisation("Mixture", start, step, Stream.of(4), restarts=4, max_iter=3)
    ends = [run.log_likelihood[-1] for run in alone]
    assert together.log_likelihood[-1] == max(ends)
    assert together.restart == int(np.argmax(ends))
    assert together.n_iter == 3 and not together.converged


def test_the_trace_has_every_step_of_every_restart():
    trace = Trace(on=True)
    expectation_maximisation("Mixture", start, step, Stream.of(0), restarts=2, max_iter=4, tol=0.0, trace=trace)
    assert len(trace.records) == 2 * 5
    assert {record["values"]["restart"] for record in trace.records} == {0, 1}


def test_a_likelihood_that_falls_is_said():
    values = iter([0.0, 1.0, 0.5])
    with pytest.warns(AssayWarning, match=r"Broken: the log likelihood fell from 1 to 0\.5 in step 2"):
        found = expectation_maximisation("Broken", lambda _: 0, lambda k: (k + 1, next(values)), Stream.of(0))
    assert found.fell


def test_rounding_is_no_fall():
    values = iter([-1e6, -1e6 - 1e-5, -1e6])
    found = expectation_maximisation("Rounded", lambda _: 0, lambda k: (k + 1, next(values)), Stream.of(0), tol=1e-3)
    assert found.converged and not found.fell


def test_a_likelihood_that_is_not_a_number_is_refused():
    with pytest.raises(DataError, match="must have a log likelihood in float64"):
        expectation_maximisation("Mixture", lambda _: 0.0, lambda p: (p, float("nan")), Stream(0))


def test_steps_that_run_out_are_told_with_the_way_out():
    with pytest.warns(AssayWarning, match=r"W201.*Mixture: not converged after 2 steps .*raise max_iter or tol"):
        found = expectation_maximisation("Mixture", start, step, Stream.of(0), max_iter=2, tol=0.0)
    assert not found.converged


def test_parameters_may_say_which_step_was_the_last():
    """The likelihood is flat at its top: parameters have half its digits, and may be asked for more."""

    def little(before, after):
        return max(np.abs(a - b).max() for a, b in zip(before, after, strict=True)) <= 1e-13

    begin = (np.array([0.5, 0.5]), np.array([-1.0, 1.0]), np.full(2, 3.0))
    found = expectation_maximisation("Mixture", lambda _: begin, step, Stream.of(0), settled=little)
    by_gain = expectation_maximisation("Mixture", lambda _: begin, step, Stream.of(0), tol=1e-6)
    assert found.converged and not found.fell and found.n_iter > by_gain.n_iter
    again = step(found.parameters)[0]
    assert max(np.abs(a - b).max() for a, b in zip(again, found.parameters, strict=True)) <= 1e-12
