"""Bayesian tests: identities, agreement with the frequentist twin, decisions. baycomp is in tests/reference."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from assay.base import DataError, ParameterError
from assay.evaluate import bayes_correlated_t, bayes_signed_rank, corrected_resampled_t

RNG = np.random.default_rng(0)
A = RNG.normal(0.82, 0.02, 20)
B = RNG.normal(0.80, 0.02, 20)
SPLIT = {"n_train": 90, "n_test": 10}


def test_without_a_rope_it_is_the_one_sided_corrected_test():
    ours = bayes_correlated_t(A, B, rope=0.0, **SPLIT)
    twin = corrected_resampled_t(A, B, alternative="greater", **SPLIT)
    assert ours.details["probabilities"]["left"] == pytest.approx(twin.p_value)
    assert ours.interval == pytest.approx(corrected_resampled_t(A, B, **SPLIT).interval)
    assert ours.statistic == pytest.approx(twin.statistic)


@pytest.mark.parametrize("test", [lambda *a, **k: bayes_correlated_t(*a, **SPLIT, **k), bayes_signed_rank])
def test_probabilities_add_up_and_turn_with_the_learners(test):
    for rope in (0.0, 0.01, 0.05):
        one, other = test(A, B, rope=rope), test(B, A, rope=rope)
        chances = one.details["probabilities"]
        assert sum(chances.values()) == pytest.approx(1.0) and min(chances.values()) >= 0
        assert chances["left"] == pytest.approx(other.details["probabilities"]["right"], abs=0.01)
        assert math.isnan(one.p_value) and json.loads(json.dumps(one.to_dict(), allow_nan=False))["p_value"] is None


@pytest.mark.parametrize("test", [lambda *a, **k: bayes_correlated_t(*a, **SPLIT, **k), bayes_signed_rank])
def test_the_four_decisions(test):
    noise = RNG.normal(0, 0.001, 20)
    for shift, rope, decision in ((0.05, 0.01, "a"), (-0.05, 0.01, "b"), (0.0, 0.05, "equivalent")):
        result = test(A + shift + noise, A, rope=rope)
        assert result.details["decision"] == decision and result.reject == (decision in "ab")
    undecided = test(A, A + RNG.normal(0.0, 0.05, 20), rope=0.001)
    assert undecided.details["decision"] == "undecided" and "no decision" in undecided.sentence
    assert "practically equivalent" in test(A, A + noise, rope=0.05).sentence


def test_a_wider_rope_holds_more():
    inside = [bayes_correlated_t(A, B, rope=r, **SPLIT).details["probabilities"]["rope"] for r in (0, 0.01, 0.02, 0.05)]
    assert inside == sorted(inside) and inside[0] == pytest.approx(0.0, abs=1e-12) and inside[-1] > 0.9


def test_scores_that_are_equal_or_differ_by_a_constant():
    same = bayes_correlated_t(A, A, **SPLIT)
    assert same.details["probabilities"] == {"left": 0.0, "rope": 1.0, "right": 0.0} and not same.valid
    assert bayes_correlated_t(A, A, rope=0.0, **SPLIT).details["decision"] == "undecided"
    assert bayes_correlated_t(A + 0.1, A, **SPLIT).details["decision"] == "a"
    assert bayes_signed_rank(A, A).details["decision"] == "equivalent"
    assert bayes_signed_rank(A, A, rope=0.0).details["probabilities"]["left"] == pytest.approx(0.5)


def test_signed_rank_theta_equals_its_expectation():
    """E[w_i w_j] of a Dirichlet with strengths a is a_i (a_j + [i = j]) / (s (s + 1))."""
    d = A - B
    z, a = np.concatenate([[0.0], d]), np.concatenate([[0.5], np.ones(20)])
    s = a.sum()
    expected = (np.outer(a, a) + np.diag(a)) / (s * (s + 1))
    sums = z[:, None] + z
    theta = bayes_signed_rank(A, B, rope=0.01, n_samples=100_000).details["theta"]
    assert theta["right"] == pytest.approx(expected[sums > 0.02].sum(), abs=2e-3)
    assert theta["left"] == pytest.approx(expected[sums < -0.02].sum(), abs=2e-3)


def test_every_parameter_of_signed_rank_matters():
    plain = bayes_signed_rank(A, B).details
    assert bayes_signed_rank(A, B).details == plain
    assert bayes_signed_rank(A, B, random_state=1).details["theta"] != plain["theta"]
    assert bayes_signed_rank(A, B, prior_strength=30.0).details["theta"]["rope"] > plain["theta"]["rope"]
    assert bayes_signed_rank(A, B, n_samples=10).details["n_samples"] == 10


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: bayes_correlated_t(A, B, rope=-1, **SPLIT), ParameterError),
        (lambda: bayes_correlated_t(A, B, n_train=0, n_test=1), ParameterError),
        (lambda: bayes_correlated_t(A[:1], B[:1], **SPLIT), DataError),
        (lambda: bayes_signed_rank(A, B, prior_strength=0), ParameterError),
        (lambda: bayes_signed_rank(A, B, n_samples=0), ParameterError),
        (lambda: bayes_signed_rank([], []), DataError),
    ],
)
def test_mistakes_get_one_sentence(call, error):
    with pytest.raises(error):
        call()
