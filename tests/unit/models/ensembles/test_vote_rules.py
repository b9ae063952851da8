"""Table 6 of 001: every rule by its formula."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.ensembles.vote_rules import NUMBER_RULES, RULES, combine, to_probabilities


@pytest.fixture
def given():
    return np.random.default_rng(0).dirichlet(np.ones(3), size=(5, 40))


FORMULAS = {
    "mean": lambda g: g.mean(axis=0),
    "median": lambda g: np.median(g, axis=0),
    "minimum": lambda g: g.min(axis=0),
    "maximum": lambda g: g.max(axis=0),
    "product": lambda g: g.prod(axis=0),
}


@pytest.mark.parametrize("rule", FORMULAS)
def test_each_rule_of_the_table_is_its_formula(rule, given):
    wanted = FORMULAS[rule](given)
    found = to_probabilities(combine(rule, given), given)
    np.testing.assert_allclose(found, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-12)


def test_majority_counts_the_members_best_classes(given):
    votes = np.stack([(given.argmax(axis=2) == k).sum(axis=0) for k in range(3)], axis=1)
    np.testing.assert_allclose(combine("majority", given), votes / 5, atol=1e-15)


@pytest.mark.parametrize("rule", ["mean", "median", "product", "majority"])
def test_whole_weights_are_repeated_members(rule, given):
    weights = np.array([2.0, 0.0, 1.0, 3.0, 1.0])
    repeated = np.repeat(given, weights.astype(int), axis=0)
    weighted = to_probabilities(combine(rule, given, weights), given)
    # The exponents of the product are relative: the number of members sets their common size.
    if rule == "product":
        logs = np.log(weighted) * (len(repeated) / len(given))
        weighted = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weighted, to_probabilities(combine(rule, repeated), repeated), rtol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_identical_members_say_what_one_says(rule, given):
    same = np.repeat(given[:1], 4, axis=0)
    found = to_probabilities(combine(rule, same), same)
    assert (found.argmax(axis=1) == given[0].argmax(axis=1)).all()
    if rule in NUMBER_RULES:
        np.testing.assert_allclose(found, given[0], rtol=1e-14)


def test_one_zero_is_a_veto_and_vetoes_everywhere_leave_the_mean():
    given = np.array([[[0.0, 1.0], [0.0, 1.0]], [[0.9, 0.1], [1.0, 0.0]]])
    found = to_probabilities(combine("product", given), given)
    np.testing.assert_allclose(found, [[0.0, 1.0], [0.5, 0.5]])


def test_products_of_many_small_probabilities_do_not_vanish():
    given = np.tile(np.array([[1e-200, 2e-200, 1 - 3e-200]]), (50, 1, 1))
    given = np.minimum(given, [[1e-200, 2e-200, 1e-220]])
    np.testing.assert_allclose(to_probabilities(combine("product", given), given)[0].argmax(), 1)
