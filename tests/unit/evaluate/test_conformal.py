"""Conformal bounds hold at their level, whatever the errors are; ranks are exact; thinning only widens."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.base import ParameterError
from assay.evaluate.conformal import Conformal
from assay.models.linear import LeastSquares


def test_the_reach_is_the_order_statistic_of_the_theory():
    scores = np.random.default_rng(0).permutation(np.arange(1.0, 20.0))
    conformal = Conformal.of(scores)
    for level in (0.1, 0.5, 0.8, 0.9, 0.95):
        assert conformal.reach(level) == math.ceil(20 * level)
    assert conformal.reach(0.96) == math.inf


@pytest.mark.parametrize("errors", ["normal", "cauchy", "exponential"])
def test_split_conformal_intervals_cover_at_their_level(errors):
    rng = np.random.default_rng(1)
    covered, tried = 0, 0
    for _ in range(400):
        X = rng.normal(size=(120, 2))
        y = X @ [1.0, -1.0] + getattr(rng, {"normal": "normal", "cauchy": "standard_cauchy"}.get(errors, errors))(
            size=120
        )
        model = LeastSquares().fit(X[:50], y[:50])
        ends = Conformal.of(np.abs(y[50:99] - model.predict(X[50:99]))).interval(model.predict(X[99:]), 0.9)
        covered += int(((y[99:] >= ends[:, 0]) & (y[99:] <= ends[:, 1])).sum())
        tried += 21
    # 49 scores: the exact coverage is 45/50; its share over 400 repetitions has a deviation of about 0.003.
    assert abs(covered / tried - 0.9) < 0.012


def test_sets_of_classes_hold_the_class_at_their_level():
    rng = np.random.default_rng(2)
    shares = rng.dirichlet([1.0, 1.0, 1.0], size=20_000)
    truth = (rng.random((20_000, 1)) > shares.cumsum(axis=1)).sum(axis=1)
    conformal = Conformal.of_predictions(truth[:5000], truth[:5000], shares[:5000], np.arange(5000) % 5)
    inside = conformal.members(shares[5000:], 0.8)[np.arange(15_000), truth[5000:]]
    assert abs(inside.mean() - 0.8) < 0.02 and abs(conformal.coverage[0.8] - 0.8) < 0.02


def test_many_scores_are_thinned_to_the_safe_side():
    scores = np.random.default_rng(3).exponential(size=100_003)
    conformal = Conformal.of(scores)
    assert conformal.scores.size <= 20_001
    for level in (0.5, 0.9, 0.99, 0.99999):
        exact = np.sort(scores)[math.ceil(100_004 * level) - 1]
        assert exact <= conformal.reach(level) <= exact * 1.001 + 1e-3


@pytest.mark.parametrize("n", [20_000, 20_001, 39_999, 100_003])
def test_thinning_moves_a_bound_by_less_than_one_kept_rank(n):
    """Scores 1 to n are their own ranks: the bound is never below the exact one and never a step of ranks above it."""
    conformal = Conformal.of(np.arange(1.0, n + 1))
    for level in (1e-7, 1e-5, 0.01, 0.3333, 0.5, 0.9, 0.999):
        exact = math.ceil((n + 1) * level - 1e-9)
        assert exact <= conformal.reach(level) < exact + n / 20_000
    assert conformal.reach(n / (n + 1)) == n and conformal.reach(1 - 1e-9) == math.inf


def test_coverage_of_the_folds_by_hand():
    """Four rows in two folds: each fold's bound is the order statistic of the other fold's two scores."""
    found = Conformal.of([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1])
    # At 0.5 the bounds are the 2nd of (2, 4) and of (1, 3): rows 1, 3 and 2 are inside; above, two scores are too few.
    assert found.coverage == {0.5: 0.75, 0.8: 1.0, 0.9: 1.0, 0.95: 1.0, 0.99: 1.0}
    assert Conformal.of([1.0, 2.0], [7, 7]).coverage == {} == Conformal.of([1.0, 2.0]).coverage


def test_scores_of_numbers_are_absolute_errors_and_of_classes_one_less_the_probability():
    numbers = Conformal.of_predictions(np.array([1.0, 5.0]), np.array([2.0, 2.0]), None, None)
    assert numbers.scores.tolist() == [1.0, 3.0] and not numbers.classes
    codes, shares = np.array([0, 1]), np.array([[0.75, 0.25], [0.5, 0.5]])
    classes = Conformal.of_predictions(codes, codes, shares, None)
    assert classes.scores.tolist() == [0.25, 0.5] and classes.classes
    assert Conformal.of_predictions(codes, codes, None, None) is None


@pytest.mark.parametrize("level", [0, 1, -1, 1.5, True, "x", float("nan")])
def test_levels_outside_are_refused(level):
    with pytest.raises(ParameterError, match="must lie between 0 and 1"):
        Conformal.of([1.0]).reach(level)


@pytest.mark.parametrize(
    ("scores", "ranks", "n"),
    [
        ([[1.0]], [[1]], 1),
        ([], [], 0),
        ([1.0, 2.0], [1], 1),
        ([2.0, 1.0], [1, 2], 2),
        ([1, 2], [1, 2], 2),
        ([1.0, np.nan], [1, 2], 2),
        ([1.0, 2.0], [1.0, 2.0], 2),
        ([1.0, 2.0], [1, 1], 1),
        ([1.0, 2.0], [1, 2], 3),
    ],
)
def test_scores_of_a_file_that_cannot_be_are_refused(scores, ranks, n):
    with pytest.raises(ParameterError, match="must"):
        Conformal(np.array(scores), np.array(ranks), n)._loaded()


def test_scores_of_a_file_may_be_tied_and_thinned():
    Conformal(np.array([1.0, 1.0]), np.array([2, 4]), 4)._loaded()
    Conformal(np.array([1.0, 1.0]), np.array([1, 2]), 2)._loaded()
    with pytest.raises(ParameterError, match="vector"):
        Conformal([1.0, 2.0], np.array([1, 2]), 2)._loaded()  # type: ignore[arg-type]


def test_a_class_whose_score_is_the_bound_belongs_to_the_set():
    conformal = Conformal.of([0.25, 0.5, 0.75], classes=True)
    assert conformal.reach(0.5) == 0.5
    assert conformal.members([[0.5, 0.25], [0.75, 0.5]], 0.5).tolist() == [[True, False], [True, True]]
    assert conformal.interval([1.0, 2.0], 0.5).tolist() == [[0.5, 1.5], [1.5, 2.5]]
    for wrong in (5.0, [[1.0, 2.0]], [1.0, np.nan]):
        with pytest.raises(ParameterError, match="one number for each"):
            Conformal.of(wrong)
    said = Conformal.of([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1]).sentence
    assert "75.0% at 50%" in said and "100.0% at 95%" in said
