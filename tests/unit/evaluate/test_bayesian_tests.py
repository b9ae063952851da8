"""Bayesian tests: identities, agreement with the frequentist twin, decisions. baycomp is in tests/reference."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from assay.base import DataError, ParameterError
from assay.evaluate import bayes_correlated_t, bayes_signed_rank, bayesian_tests, corrected_resampled_t

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
        (lambda: bayes_correlated_t(A, B, rope=np.inf, **SPLIT), ParameterError),
        (lambda: bayes_signed_rank(A, B, rope=np.nan), ParameterError),
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


@pytest.mark.parametrize("sign", [1, -1])
def test_a_constant_difference_is_known_for_sure(sign):
    a, b = np.full(4, 0.5), np.full(4, 0.5 - sign * 0.25)
    better, worse = ("right", "left") if sign > 0 else ("left", "right")
    for rope, inside in ((0.0, 0.0), (0.125, 0.0), (0.25, 1.0), (0.3, 1.0)):
        found = bayes_correlated_t(a, b, rope=rope, **SPLIT)
        assert found.details["probabilities"] == {better: 1.0 - inside, "rope": inside, worse: 0.0}
        assert found.interval == (sign * 0.25, sign * 0.25) and found.statistic == sign * np.inf and not found.valid
    same = bayes_correlated_t(a, a, rope=0.0, **SPLIT)
    assert same.details["probabilities"] == {"left": 0.5, "rope": 0.0, "right": 0.5} and same.statistic == 0
    assert bayes_correlated_t(A, B, **SPLIT).valid


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("strength", "alpha"), [(2.0, 0.2), (0.5, 0.5), (4.0, 0.05)])
def test_the_lead_on_one_data_set_has_a_closed_form(sign, strength, alpha):
    """Without a rope theta_right - theta_left is +-(1 - w^2), w the weight of the prior, and P(w <= x) = x^strength."""
    found = bayes_signed_rank(
        [0.5 + sign * 0.25], [0.5], rope=0.0, prior_strength=strength, alpha=alpha, n_samples=40_000
    )
    ends = sorted(sign * (1 - (1 - p) ** (2 / strength)) for p in (alpha / 2, 1 - alpha / 2))
    assert found.interval == pytest.approx(ends, abs=0.01)
    assert found.effect == pytest.approx(sign * (1 - strength / (strength + 2)), abs=0.01)
    # A pair on the edge of the rope counts half: there theta of the better is 1 - w, that of the rope w.
    edge = bayes_signed_rank([0.5 + sign * 0.25], [0.5], rope=0.125, prior_strength=strength, n_samples=40_000)
    chances, theta = edge.details["probabilities"], edge.details["theta"]
    better, worse = ("right", "left") if sign > 0 else ("left", "right")
    assert chances[better] == pytest.approx(0.5**strength, abs=0.01) and chances[worse] == theta[worse] == 0
    assert theta["rope"] == pytest.approx(strength / (strength + 1), abs=0.01)
    assert edge.statistic == max(chances.values())
    assert edge.sentence.startswith(f"A scored 0.25 {'higher' if sign > 0 else 'lower'} than B in the median;")


def test_draws_in_parts_are_the_same_draws(monkeypatch):
    whole = bayes_signed_rank(A, B, n_samples=500).details
    for chunk in (1, 21 * 7, 21 * 499):
        monkeypatch.setattr(bayesian_tests, "_CHUNK", chunk)
        found = bayes_signed_rank(A, B, n_samples=500).details
        assert found["probabilities"] == whole["probabilities"] and found["decision"] == whole["decision"]
        # A product of fewer rows may end in another last digit.
        assert found["theta"] == pytest.approx(whole["theta"], rel=1e-12)
    assert bayes_signed_rank(A, B, n_samples=1).details["n_samples"] == 1


def test_a_probability_that_reaches_its_level_decides():
    reached = set()
    for seed in range(40):
        found = bayes_signed_rank(A[:4], B[:4], n_samples=4, alpha=0.25, random_state=seed).details
        wanted = [w for w, p in found["probabilities"].items() if p >= 0.75]
        words = {"left": "b", "rope": "equivalent", "right": "a"}
        assert found["decision"] == (words[wanted[0]] if wanted else "undecided")
        reached |= set(found["probabilities"].values())
    assert 0.75 in reached and 0.5 in reached


@pytest.mark.parametrize(
    ("probability", "words"),
    [(0.0, "below 0.001"), (0.0009, "below 0.001"), (0.001, "0.001"), (0.09, "0.09"), (0.999, "0.999")],
)
def test_chances_near_none_and_all_are_said_as_bounds(probability, words):
    assert bayesian_tests._chance(probability) == words
    assert bayesian_tests._chance(0.9995) == bayesian_tests._chance(1.0) == "above 0.999"
