"""Diversity: formulas on tables of four, identities, and what ensembles show."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

from assay.base import AssayError
from assay.evaluate import ambiguity, diversity, error_by_members, margin_distribution


@pytest.fixture(scope="module")
def votes():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 400)
    given = np.array([np.where(rng.random(400) < 0.7, y, rng.choice(["a", "b", "c"], 400)) for _ in range(6)])
    return given, y


def test_measures_are_their_formulas_pair_by_pair(votes):
    given, y = votes
    found = diversity(given, y)
    for i, j in ((0, 1), (2, 5)):
        right = given == y
        a, d = np.mean(right[i] & right[j]), np.mean(~right[i] & ~right[j])
        b, c = np.mean(right[i] & ~right[j]), np.mean(~right[i] & right[j])
        assert found.disagreement[i, j] == pytest.approx(b + c)
        assert found.double_fault[i, j] == pytest.approx(d)
        assert found.q_statistic[i, j] == pytest.approx((a * d - b * c) / (a * d + b * c))
        assert found.correlation[i, j] == pytest.approx(matthews_corrcoef(right[i], right[j]))
        assert found.kappa[i, j] == pytest.approx(cohen_kappa_score(given[i], given[j]))
    np.testing.assert_allclose(found.errors, (given != y).mean(axis=1))
    for name in ("disagreement", "q_statistic", "correlation", "double_fault", "kappa"):
        np.testing.assert_allclose(getattr(found, name), getattr(found, name).T)


def test_weights_are_repetitions(votes):
    given, y = votes
    weights = np.random.default_rng(1).integers(0, 4, 400)
    one = diversity(given, y, sample_weight=weights)
    two = diversity(np.repeat(given, weights, axis=1), np.repeat(y, weights))
    np.testing.assert_allclose(one.kappa, two.kappa)
    np.testing.assert_allclose(one.q_statistic, two.q_statistic)
    assert one.ensemble_error == pytest.approx(two.ensemble_error)


def test_independent_members_have_no_correlation_and_equal_ones_agree():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 20_000)
    given = np.array([np.where(rng.random(20_000) < 0.8, y, 1 - y) for _ in range(4)])
    found = diversity(given, y)
    assert abs(found.means["correlation"]) < 0.02 and abs(found.means["q_statistic"]) < 0.06
    same = diversity(given[[0, 0]], y)
    assert same.kappa[0, 1] == pytest.approx(1) and same.disagreement[0, 1] == 0
    perfect = diversity(np.array([y, y]), y)
    assert np.isnan(perfect.correlation[0, 1]) and perfect.to_dict()["means"]["correlation"] is None


def test_majority_error_is_that_of_the_binomial_for_independent_members():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 40_000)
    given = np.array([np.where(rng.random(40_000) < 0.7, y, 1 - y) for _ in range(5)])
    curve = error_by_members(given, y)
    assert curve.error[4] == pytest.approx(1 - 0.83692, abs=0.008)
    assert curve.error[0] == pytest.approx(0.3, abs=0.01) and curve.single_error == pytest.approx(0.3, abs=0.01)


def test_ambiguity_is_an_identity():
    rng = np.random.default_rng(4)
    y = rng.normal(size=100)
    given, weights, rows = y + rng.normal(size=(7, 100)), rng.random(7), rng.random(100)
    found = ambiguity(given, y, weights=weights, sample_weight=rows)
    assert found.ensemble_error == pytest.approx(found.member_error - found.ambiguity, rel=1e-12)
    curve = error_by_members(given, y)
    assert curve.error[-1] == pytest.approx(np.mean((given.mean(axis=0) - y) ** 2))
    assert curve.error[-1] < curve.single_error


def test_probabilities_are_averaged_as_members_join():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 50)
    given = rng.dirichlet(np.ones(3), (4, 50))
    curve = error_by_members(given, y, classes=[0, 1, 2])
    wanted = [np.mean(given[: m + 1].mean(axis=0).argmax(axis=1) != y) for m in range(4)]
    np.testing.assert_allclose(curve.error, wanted)


def test_negative_margins_are_the_errors():
    rng = np.random.default_rng(6)
    p, y = rng.dirichlet(np.ones(3), 200), rng.choice(["x", "y", "z"], 200)
    found = margin_distribution(p, y, classes=["x", "y", "z"])
    assert found.negative == pytest.approx(np.mean(np.array(["x", "y", "z"])[p.argmax(axis=1)] != y))
    assert (np.diff(found.margins) >= 0).all() and found.shares[-1] == pytest.approx(1)
    assert -1 <= found.least <= found.mean <= 1


def test_records_draw_themselves_and_survive_json(votes):
    given, y = votes
    shares = np.eye(3)[np.searchsorted(["a", "b", "c"], given[0])]
    for record in (diversity(given, y), error_by_members(given, y), margin_distribution(shares, y)):
        assert ElementTree.fromstring(record.to_svg()).tag.endswith("svg")
        json.dumps(record.to_dict(), allow_nan=False)
        assert record.sentence and record.to_text()
    assert "squared error" in ambiguity([[1.0], [2.0]], [1.5]).sentence


@pytest.mark.parametrize(
    "call",
    [
        lambda: diversity([["a", "b"]], ["a", "b"]),
        lambda: diversity([["a"], ["b"]], ["a", "b"]),
        lambda: ambiguity([["a"], ["b"]], ["a"]),
        lambda: margin_distribution([[0.5, 0.5]], ["a"], classes=["a"]),
        lambda: margin_distribution([[0.5, 0.5]], ["c"], classes=["a", "b"]),
        lambda: error_by_members([[np.nan]], [1.0]),
    ],
)
def test_bad_input_gets_one_sentence(call):
    with pytest.raises(AssayError) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_the_diagram_has_one_point_for_each_pair_at_the_mean_of_its_errors(votes):
    given, y = votes
    found = diversity(given[:3], y)
    (line,) = found.chart().lines
    errors = (given[:3] != y).mean(axis=1)
    assert list(line.x) == pytest.approx([cohen_kappa_score(given[i], given[j]) for i, j in ((0, 1), (0, 2), (1, 2))])
    assert list(line.y) == pytest.approx([errors[[i, j]].mean() for i, j in ((0, 1), (0, 2), (1, 2))])


def test_a_row_whose_label_ties_has_the_margin_0_which_is_not_negative():
    found = margin_distribution([[0.5, 0.5], [0.25, 0.75], [0.75, 0.25], [0.75, 0.25]], [0, 0, 0, 0], classes=[0, 1])
    assert found.negative == 0.25 and found.margins.tolist() == [-0.5, 0.0, 0.5, 0.5] and found.mean == 0.125


@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_of_the_ensemble_is_that_of_most_votes_and_of_the_first_of_equal_labels(votes, weighted):
    given, y = votes
    weights = np.random.default_rng(1).uniform(0.5, 2.0, y.size) if weighted else None
    most = [max(sorted(set(column)), key=column.count) for column in map(list, given.T)]
    error = np.average(np.array(most) != y, weights=weights)
    assert diversity(given, y, sample_weight=weights).ensemble_error == pytest.approx(error)
    assert error < np.average((given != y).mean(axis=0), weights=weights)
    assert error_by_members(given, y, sample_weight=weights).error[-1] == pytest.approx(error)
