"""Every claim of every ranker: scores that put the rows of a group in order; and faults that are caught."""

from __future__ import annotations

import numpy as np
import pytest

from assay.evaluate import pair_accuracy
from assay.models.linear import LinearRank

from .small_methods import entry_of
from .tables import claiming, named, quick

every_ranker = pytest.mark.parametrize(**named(claiming("rank")))


def graded(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with grades 0..3 that follow two columns within groups of ten; each group has its own level."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    groups = np.repeat(np.arange(n // 10), 10)
    worth = X[:, 0] - 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)
    place = np.argsort(np.argsort(worth.reshape(-1, 10), axis=1), axis=1).ravel()
    return X, (place // 3).astype(float) + 10 * (groups % 3), groups


@every_ranker
def test_scores_put_rows_in_order_within_their_groups(entry):
    X, y, groups = graded()
    scores = quick(entry).fit(X, y, groups=groups).predict(X)
    assert scores.shape == y.shape and np.isfinite(scores).all()
    assert pair_accuracy(y, scores, groups) > 0.9


@every_ranker
def test_score_is_the_share_of_pairs_in_order(entry):
    X, y, groups = graded()
    model = quick(entry).fit(X, y, groups=groups)
    assert model.score(X, y, groups=groups) == pytest.approx(pair_accuracy(y, model.predict(X), groups), abs=1e-12)


@every_ranker
def test_only_the_order_of_grades_within_a_group_matters(entry):
    X, y, groups = graded()
    first = quick(entry).fit(X, y, groups=groups).predict(X)
    moved = quick(entry).fit(X, 10.0 * y + 1000.0 * (groups % 5), groups=groups).predict(X)
    assert pair_accuracy(first, moved, groups) > 0.99


@every_ranker
def test_neither_the_order_of_rows_nor_the_names_of_groups_matter(entry):
    X, y, groups = graded()
    order = np.random.default_rng(1).permutation(len(y))
    names = np.array([f"query {9 - g % 10}{g}" for g in groups])
    first = quick(entry).fit(X, y, groups=groups).predict(X)
    second = quick(entry).fit(X[order], y[order], groups=names[order]).predict(X)
    np.testing.assert_allclose(first, second, rtol=1e-3, atol=1e-4)


class ForgetsGroups(LinearRank):
    """Compares rows of different groups."""

    def fit(self, X, y, groups=None, sample_weight=None):
        return super().fit(X, y, None, sample_weight)


class UpsideDown(LinearRank):
    """Gives the best row the lowest score."""

    def predict(self, X):
        return -super().predict(X)


class Accuracy(LinearRank):
    """Scores by something else."""

    def score(self, X, y, groups=None, sample_weight=None):
        return float(np.mean(self.predict(X) > 0))


class FirstRowsCount(LinearRank):
    """Learns from the first half of the rows."""

    def fit(self, X, y, groups=None, sample_weight=None):
        half = len(y) // 2
        return super().fit(X[:half], y[:half], groups[:half])


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (ForgetsGroups, test_only_the_order_of_grades_within_a_group_matters),
        (UpsideDown, test_scores_put_rows_in_order_within_their_groups),
        (Accuracy, test_score_is_the_share_of_pairs_in_order),
        (FirstRowsCount, test_neither_the_order_of_rows_nor_the_names_of_groups_matter),
    ],
)
def test_a_planted_fault_is_caught(fault, check):
    with pytest.raises(AssertionError):
        check(entry_of(fault, "rank", weights=True))
