"""Curves along columns: equal to scikit-learn's and to their definitions."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor as TheirForest
from sklearn.inspection import partial_dependence as theirs

from assay.base.errors import DataError, ParameterError
from assay.explain import accumulated_effects, individual_curves, partial_dependence
from tests.unit.explain.models import Plain, mixed_tree


@pytest.fixture(scope="module")
def forest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32).astype(float)
    y = X[:, 0] ** 2 + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=200)
    return TheirForest(15, random_state=0).fit(X, y), X


@pytest.mark.parametrize("kind", ["average", "individual"])
def test_scikit_learn_draws_the_same_curves(forest, kind):
    model, X = forest
    grid = np.linspace(-1, 1, 7)
    peer = theirs(model, X, [1], custom_values={1: grid}, method="brute", kind=kind)
    ours = individual_curves(model, X, 1, grid=grid)
    found = ours.values[:, 0] if kind == "average" else ours.curves[:, :, 0]
    assert np.allclose(found, peer[kind][0], atol=1e-9)
    assert (ours.low <= ours.values).all() and ours.grid_values[0] == grid.tolist()


def test_many_columns_in_one_walk_are_the_means_of_all_changed_tables(forest):
    model, X = forest
    columns = [0, 3, (1, 2), 2, 2]
    grids = {0: [2.0, -1.0, 0.5], 2: np.linspace(-2, 2, 9), 1: [0.0, 1.0], 3: [float(X[7, 3]), 0.1]}
    found = individual_curves(model, X, columns, grid=grids)
    for column, one in zip(columns, found):
        places = list(column) if isinstance(column, tuple) else [column]
        points = np.stack([part.ravel() for part in np.meshgrid(*(grids[j] for j in places), indexing="ij")], axis=1)
        for values, mean, rows in zip(points, one.values.reshape(len(points), -1), one.curves.reshape(200, -1).T):
            changed = X.copy()
            changed[:, places] = values
            assert np.allclose(rows, model.predict(changed), rtol=1e-12)
            assert np.isclose(mean[0], model.predict(changed).mean(), rtol=1e-12)
    alone = partial_dependence(model, X, 2, grid=grids[2])
    assert np.array_equal(alone.values, found[3].values) and np.array_equal(alone.low, found[4].low)
    with pytest.raises(ParameterError, match="mapping of columns"):
        partial_dependence(model, X, [0, 1], grid=[1.0])


def test_two_columns_are_changed_together(forest):
    model, X = forest
    pair = partial_dependence(model, X, (1, 2), n_points=5)
    for a, one in enumerate(pair.grid_values[0]):
        for b, other in enumerate(pair.grid_values[1]):
            changed = X.copy()
            changed[:, 1], changed[:, 2] = one, other
            assert abs(pair.values[a, b, 0] - model.predict(changed).mean()) < 1e-9
    assert "x2" in pair.to_text() and pair.to_svg().startswith("<svg")


def test_labels_have_a_point_each_and_trees_agree_with_plain_predictions():
    model, frame, _ = mixed_tree()
    fast, slow = (
        partial_dependence(one, frame, ["colour", "age"], output="probability") for one in (model, Plain(model))
    )
    for a, b in zip(fast, slow):
        assert dict(zip(map(str, a.grid_values[0]), a.values[:, 0].round(9))) == dict(
            zip(map(str, b.grid_values[0]), b.values[:, 0].round(9))
        )
    assert sorted(fast[0].grid_values[0]) == ["blue", "green", "red"] and fast[0].nominal
    only = partial_dependence(model, frame, "colour", grid=["red"])
    assert only.values.shape == (1, 1) and only.unit == "probability of yes"


def test_an_additive_effect_is_found_by_every_curve():
    X = np.random.default_rng(0).normal(size=(300, 2))

    def f(rows):
        return np.sin(rows[:, 0]) + rows[:, 1]

    curve = partial_dependence(f, X, 0)
    local = accumulated_effects(f, X, 0)
    x = np.array(curve.grid_values[0])
    assert np.allclose(curve.values[:, 0] - np.sin(x), X[:, 1].mean())
    edges = np.array(local.grid_values[0])
    difference = local.values[:, 0] - np.sin(edges)
    assert np.ptp(difference) < 1e-9 and curve.span > 1.5


def test_accumulated_effects_do_not_follow_rows_that_cannot_be():
    """Two columns that are the same: the model's wild answers off the diagonal are never asked for."""
    x = np.random.default_rng(0).uniform(size=2000)
    X = np.column_stack([x, x])

    def f(rows):
        return rows[:, 0] + 100.0 * (np.abs(rows[:, 0] - rows[:, 1]) > 0.2)

    local = accumulated_effects(f, X, 0)
    assert abs(local.values[-1, 0] - local.values[0, 0] - 1.0) < 0.01
    assert partial_dependence(f, X, 0).values.max() > 40


def test_gaps_are_kept_and_outputs_of_classes_are_named():
    model, frame, _ = mixed_tree()
    found = accumulated_effects(model, frame, "age", n_bins=5)
    assert found.rows < len(frame) and found.unit == "probability of yes"
    page = found.to_html()
    assert "<details>" in page and json.dumps(found.to_dict()) and "around 0" in found.how_to_read


def test_bad_questions_get_one_sentence(forest):
    model, X = forest
    with pytest.raises(DataError, match="at least two different"):
        accumulated_effects(model, np.ones_like(X), 0)
    with pytest.raises(DataError, match="not in the table"):
        partial_dependence(model, X, "age")
    with pytest.raises(ParameterError, match="n_points"):
        partial_dependence(model, X, 0, n_points=1)
    with pytest.raises(ParameterError, match="grid"):
        partial_dependence(model, X, [0, 1], grid=[1.0])
    with pytest.raises(ParameterError, match="grid"):
        partial_dependence(model, X, 0, grid=["a"])
    with pytest.raises(ParameterError, match="pairs"):
        partial_dependence(model, X, (0, 1, 2))
    with pytest.raises(DataError, match="two different values"):
        accumulated_effects(lambda rows: rows[:, 0], np.ones((5, 1)), 0)


def test_accumulated_effects_of_labels_are_differences_between_neighbours():
    """Effects of labels that add up come out exactly, whatever the order; impossible rows are not asked about."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 4, 800)
    frame = pl.DataFrame(
        {"kind": pl.Series(["w", "x", "y", "z"]).gather(level), "size": 10.0 * level + rng.uniform(-8, 8, 800)}
    )
    effect = {"w": 0.0, "x": 5.0, "y": -1.0, "z": 2.0}

    def f(rows):
        gap = np.abs(rows["size"].to_numpy() - 10.0 * np.array(["wxyz".index(k) for k in rows["kind"]]))
        return np.array([effect[k] for k in rows["kind"]]) + 100.0 * (gap > 18.5)

    found = accumulated_effects(f, frame, "kind")
    # The sizes of neighbours are alike, so that the order follows them.
    assert found.grid_values[0] in (["w", "x", "y", "z"], ["z", "y", "x", "w"]) and found.nominal
    centred = np.array([effect[k] for k in found.grid_values[0]])
    shares = np.array([(frame["kind"] == k).mean() for k in found.grid_values[0]])
    np.testing.assert_allclose(found.values[:, 0], centred - shares @ centred, atol=1e-9)
    assert partial_dependence(f, frame, "kind").values.max() > 20 and "alike" in found.notes[0]
    # Rows move to a neighbour alone: two labels apart would be impossible here.


def test_accumulated_effects_of_dates_follow_their_order():
    days = [datetime(2024, 1, 1) + timedelta(days=int(k)) for k in np.random.default_rng(0).permutation(200)]
    frame = pl.DataFrame({"day": days, "x": np.arange(200.0)})

    def f(rows):
        return np.array([(d - datetime(2024, 1, 1)).days for d in rows["day"]], dtype=float)

    found = accumulated_effects(f, frame, "day", n_bins=10)
    assert found.grid_values[0][0].startswith("2024-01-01") and found.grid_values[0] == sorted(found.grid_values[0])
    assert abs(found.values[-1, 0] - found.values[0, 0] - 199.0) < 1e-9


def test_labels_that_trees_hold_and_gaps_are_taken():
    model, frame, _ = mixed_tree()
    found = accumulated_effects(model, frame, "colour")
    assert sorted(found.grid_values[0]) == ["blue", "green", "red"] and np.isfinite(found.values).all()
