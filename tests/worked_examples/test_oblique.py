"""Linear tests worked by hand: one line where single columns need a staircase."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.trees import CartClassifier, ObliqueTreeClassifier

GRID = np.array([[a, b] for a in range(5) for b in range(5) if a != b], dtype=float)
ABOVE = GRID[:, 1] - GRID[:, 0] > 0


@pytest.mark.parametrize("direction", ["lda", "logistic", "coordinate"])
def test_the_diagonal_is_one_test(direction):
    model = ObliqueTreeClassifier(direction=direction, random_state=0).fit(GRID, ABOVE)
    assert model.get_n_leaves() == 2 and model.score(GRID, ABOVE) == 1.0
    assert CartClassifier().fit(GRID, ABOVE).get_n_leaves() > 4


def test_fishers_direction_of_the_grid_is_the_diagonal():
    """By symmetry both columns weigh the same: means (1, 3) and (3, 1), so the direction is (1, -1), the cut 0."""
    tree = ObliqueTreeClassifier().fit(GRID, ABOVE).tree_
    assert GRID[ABOVE].mean(axis=0).tolist() == [1.0, 3.0]
    np.testing.assert_allclose(tree.linear_weight[0] / tree.linear_weight[0, 0], [1.0, -1.0], rtol=1e-6)
    np.testing.assert_allclose(tree.threshold[0], 0.0, atol=1e-6)


def test_exclusive_or_takes_two_levels_and_no_line_does_it_in_one():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 1, 0]
    assert ObliqueTreeClassifier().fit(X, y).get_depth() == 2
    assert ObliqueTreeClassifier(max_depth=1).fit(X, y).score(X, y) <= 0.75
