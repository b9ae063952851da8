"""Shapley values of any model: the axioms, the definition, and errors that are as large as they are said to be."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor

from assay.base.errors import CostError, DataError, ParameterError, UsageError
from assay.explain import (
    exact_shap,
    kernel_shap,
    linear_shap,
    sampling_shap,
    shap_values,
    shapley_values,
    tree_shap,
)
from assay.models.linear import LeastSquares, LogisticRegression
from assay.models.trees import CartRegressor
from tests.unit.explain.models import Plain, mixed_tree

WAYS = [exact_shap, kernel_shap, sampling_shap]


def random_model(seed, d):
    """A smooth function with joint effects of up to three columns; the last column does not count."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=d - 1), rng.normal(size=(d - 1, d - 1)), rng.normal(size=3)

    def f(rows):
        used = rows[:, : d - 1]
        triple = c[0] * np.tanh(used[:, 0] * used[:, 1] * used[:, 2])
        return used @ a + np.einsum("ij,jk,ik->i", used, b, used) + triple

    return f, rng.normal(size=(7, d)), rng.normal(size=(6, d))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
def test_efficiency_and_dummy(way, seed):
    f, background, X = random_model(seed, 5)
    found = way(f, X, background)
    assert np.allclose(found.predictions, f(X), atol=1e-8), "values sum to the output minus the base value"
    assert np.allclose(found.base_values, f(background).mean())
    assert np.abs(found.values[:, -1]).max() < 1e-8, "a column that changes nothing gets nothing"


@pytest.mark.parametrize("seed", range(4))
def test_symmetry_linearity_and_the_definition(seed):
    f, background, X = random_model(seed, 5)
    found = exact_shap(f, X[:2], background)

    def worth(known):
        rows = background.copy()
        rows[:, sorted(known)] = X[0, sorted(known)]
        return float(f(rows).mean())

    by_definition = shapley_values(worth, range(5))
    assert np.allclose(found.values[0], [by_definition[j] for j in range(5)])
    # A model that treats two columns alike, at a row and a background that do so too, gives them alike.
    swapped = background.copy()
    swapped[:, [0, 1]] = background[:, [1, 0]]
    both = np.concatenate([background, swapped])
    row = X[:1].copy()
    row[0, 1] = row[0, 0]

    def alike(rows):
        turned = rows.copy()
        turned[:, [0, 1]] = rows[:, [1, 0]]
        return f(rows) + f(turned)

    values = exact_shap(alike, row, both).values[0]
    assert abs(values[0] - values[1]) < 1e-9
    twice = exact_shap(lambda rows: 2 * f(rows) + alike(rows), X[:1], both).values
    parts = 2 * exact_shap(f, X[:1], both).values + exact_shap(alike, X[:1], both).values
    assert np.allclose(twice, parts)


@pytest.mark.parametrize("way", [kernel_shap, sampling_shap], ids=lambda one: one.__name__)
def test_pairs_of_columns_are_exact_and_triples_lie_within_the_error(way):
    f, background, X = random_model(3, 6)
    truth = exact_shap(f, X, background).values
    found = way(f, X, background, **({"n_permutations": 70} if way is sampling_shap else {"n_coalitions": 40}))
    inside = (found.low <= truth + 1e-9) & (truth - 1e-9 <= found.high)
    assert inside.mean() > 0.8 and np.abs(found.values - truth).max() < 0.6

    def pairs_only(rows):
        return rows[:, 0] * rows[:, 1] + rows[:, 2] * rows[:, 3] + rows[:, 4]

    exact = exact_shap(pairs_only, X, background).values
    assert np.allclose(sampling_shap(pairs_only, X, background).values, exact)
    few = kernel_shap(pairs_only, X, background, n_coalitions=40)
    assert np.allclose(few.values, exact, atol=0.5)


def test_intervals_of_sampling_cover_the_exact_value():
    f, background, X = random_model(5, 6)
    truth = exact_shap(f, X, background).values
    held = []
    for seed in range(30):
        found = sampling_shap(f, X, background, n_permutations=35, random_state=seed)
        # The first three columns act together; what the others bring is known but for rounding.
        held.append(((found.low <= truth) & (truth <= found.high))[:, :3])
        assert np.allclose(found.values[:, 3:], truth[:, 3:], atol=1e-9)
    assert 0.94 <= np.mean(held) <= 1.0


def test_balanced_orders_leave_little_error_of_joint_effects_of_three():
    """Orders drawn alone would err by their standard error; chosen together they err by less than half of it."""
    rng = np.random.default_rng(0)
    background, X = rng.normal(size=(20, 9)), rng.normal(size=(4, 9))

    def three(rows):
        return rows[:, 0] * rows[:, 1] * rows[:, 2] + rows[:, 3] * rows[:, 4] * rows[:, 8]

    truth = exact_shap(three, X, background).values
    squares, expected = [], []
    for seed in range(5):
        found = sampling_shap(three, X, background, n_permutations=20 * 12, random_state=seed)
        half = (found.high - found.low) / 2 / 1.97
        squares.append((found.values - truth) ** 2)
        expected.append(half**2)
    assert np.mean(squares) < 0.25 * np.mean(expected)


def test_of_a_linear_model_every_way_gives_the_closed_form():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    model = LeastSquares().fit(X, X @ [1.0, -2.0, 0.5, 0.0] + 3)
    closed = linear_shap(model, X[:5], X)
    for way in (exact_shap, sampling_shap, kernel_shap):
        found = way(model, X[:5], X)
        assert np.allclose(found.values, closed.values, atol=1e-8) and np.allclose(
            found.base_values, closed.base_values
        )
    odds = LogisticRegression().fit(X, X[:, 0] > 0)
    log_odds = np.log(odds.predict_proba(X[:5])[:, 1] / odds.predict_proba(X[:5])[:, 0])
    assert np.allclose(linear_shap(odds, X[:5], X).predictions, log_odds)
    assert np.allclose(exact_shap(odds, X[:5], X).values, linear_shap(odds, X[:5], X).values, atol=1e-6)
    many = LogisticRegression().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    assert linear_shap(many, X[:5], X).values.shape == (5, 4, 3)


def test_trees_by_their_own_way_equal_all_coalitions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    model = CartRegressor(max_depth=4).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    assert np.allclose(tree_shap(model, X[:4], X[:20]).values, exact_shap(model, X[:4], X[:20]).values)
    tree, frame, _ = mixed_tree()
    quick = tree_shap(tree, frame[:3], frame[:30])
    slow = exact_shap(Plain(tree), frame[:3], frame[:30], output="probability")
    assert np.allclose(quick.values, slow.values) and slow.names == frame.columns
    assert "red" in slow[0].to_text() or "green" in slow[0].to_text() or "blue" in slow[0].to_text()


def test_groups_are_players_and_the_rest_is_one():
    f, background, X = random_model(1, 6)
    found = exact_shap(f, X, background, groups={"pair": [0, 1], "third": [2]})
    assert found.names == ["pair", "third", "other columns"] and np.allclose(found.predictions, f(X))
    assert np.allclose(sampling_shap(f, X, background, groups=[[0, 1], [2]]).predictions, f(X))
    with pytest.raises(ParameterError, match="twice"):
        exact_shap(f, X, background, groups=[[0], [0, 1]])


def test_a_model_of_another_library_and_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 20))
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
    model = MLPRegressor(hidden_layer_sizes=(16,), max_iter=200, random_state=0).fit(X, y)
    found = shap_values(model, X[:2], X[:25])
    assert found.method.startswith("Shapley values by 25 orders") and found.low is not None
    assert np.allclose(found.predictions, model.predict(X[:2]))
    again = shap_values(model, X[:2], X[:25])
    assert np.array_equal(found.values, again.values)
    assert shap_values(LinearRegression().fit(X, y), X[:2]).method == "linear SHAP"
    assert shap_values(Plain(LinearRegression().fit(X[:, :3], y)), X[:2, :3]).method.startswith("exact")


def test_too_much_or_too_little_is_refused_by_a_sentence():
    X = np.random.default_rng(0).normal(size=(5, 16))
    with pytest.raises(ParameterError, match="at most 15"):
        exact_shap(lambda rows: rows[:, 0], X)
    with pytest.raises(CostError, match="fewer rows"):
        exact_shap(lambda rows: rows[:, 0], np.zeros((100_000, 15)), X[:, :15])
    with pytest.raises(ParameterError, match="n_permutations"):
        sampling_shap(lambda rows: rows[:, 0], X, n_permutations=1)
    with pytest.raises(UsageError, match="linear"):
        linear_shap(CartRegressor().fit(X, X[:, 0]), X)
    model = LeastSquares().fit(X[:, :2], X[:, 0])
    with pytest.raises(DataError, match="numbers"):
        linear_shap(model, [["a", 1.0]])
    with pytest.raises(DataError, match="columns"):
        linear_shap(model, [[1.0]])


def test_one_column_and_one_row():
    found = kernel_shap(lambda rows: rows[:, 0], [[3.0]], [[1.0], [2.0]])
    assert found.values.tolist() == [[1.5]]
    assert sampling_shap(lambda rows: rows[:, 0], [[3.0]], [[1.0], [2.0]]).values.tolist() == [[1.5]]
