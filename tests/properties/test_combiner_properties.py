"""Combiners: what must hold for any answers of any members."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evaluate import ambiguity, diversity
from assay.models.ensembles.units import Units, content_order
from assay.models.ensembles.vote_rules import RULES, combine, to_probabilities
from tests.helpers import examples

seeds = st.integers(0, 10_000)


@settings(max_examples=examples(40))
@given(seed=seeds, members=st.integers(1, 6), classes=st.integers(2, 4), sharp=st.booleans())
def test_every_rule_gives_probabilities_and_ignores_the_order_of_members(seed, members, classes, sharp):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(classes, 0.05 if sharp else 1.0), (members, 7))
    weights, order = rng.random(members) + 0.1, rng.permutation(members)
    for rule in RULES:
        found = to_probabilities(combine(rule, shares, weights), shares)
        assert (found >= 0).all() and np.allclose(found.sum(axis=1), 1.0)
        turned = to_probabilities(combine(rule, shares[order], weights[order]), shares[order])
        np.testing.assert_allclose(found, turned, rtol=1e-9, atol=1e-12)


@settings(max_examples=examples(40))
@given(seed=seeds, members=st.integers(2, 5))
def test_rules_lie_between_the_least_and_the_largest_answer(seed, members):
    values = np.random.default_rng(seed).normal(size=(members, 9, 1))
    low, high = values.min(axis=0), values.max(axis=0)
    for rule in ("mean", "median", "minimum", "maximum"):
        found = combine(rule, values)
        assert (found >= low - 1e-12).all() and (found <= high + 1e-12).all()


@settings(max_examples=examples(40))
@given(seed=seeds)
def test_units_stand_in_the_order_of_contents_whatever_the_order_of_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (25, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    turned = rng.permutation(25)
    np.testing.assert_array_equal(X[content_order(X.T, 25)], X[turned][content_order(X[turned].T, 25)])
    units = Units.of(X.T, rng.integers(1, 4, 25).astype(float), 25)
    drawn = rng.integers(0, units.count, 40)
    assert units.weights(drawn).sum() == 40


@settings(max_examples=examples(40))
@given(seed=seeds, members=st.integers(2, 5))
def test_diversity_is_symmetric_and_bounded_and_ambiguity_adds_up(seed, members):
    rng = np.random.default_rng(seed)
    y, votes = rng.integers(0, 3, 30), rng.integers(0, 3, (members, 30))
    found = diversity(votes, y)
    assert (found.disagreement >= 0).all() and (found.disagreement + found.double_fault <= 1 + 1e-12).all()
    assert np.nanmax(np.abs(found.q_statistic)) <= 1 + 1e-9 and np.nanmax(np.abs(found.correlation)) <= 1 + 1e-9
    numbers = rng.normal(size=(members, 30))
    parts = ambiguity(numbers, y.astype(float))
    assert parts.ambiguity >= 0
    np.testing.assert_allclose(parts.ensemble_error, parts.member_error - parts.ambiguity, rtol=1e-9)
