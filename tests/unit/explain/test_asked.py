"""A model as a function of cells: trees walked in part say what the model says, in any kind of table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.linear_model import RidgeClassifier

from assay.base.errors import ParameterError, UsageError
from assay.explain.asked import Asked, log_odds
from assay.models.ensembles import (
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tests.unit.explain.models import Plain, mixed_table, mixed_tree


def brute(asked, source, groups, donors):
    """Every changed copy of the table, predicted whole."""
    n = asked.cells.shape[0]
    found = []
    for g, group in enumerate(groups):
        for k in range(donors.shape[1]):
            changed = asked.cells.copy()
            rows = np.broadcast_to(donors[g, k], (n,))
            changed[:, group] = source[rows][:, group]
            found.append(asked.outputs(changed))
    return np.stack(found).reshape(len(groups), donors.shape[1], n, -1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("outputs", [1, 3])
def test_replaced_cells_have_the_bits_of_a_plain_prediction(outputs, threads):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]), [-0.5, 0.5]) if outputs == 3 else X[:, 2] > 0
    model = RandomForestClassifier(n_estimators=12, random_state=0).fit(X, y)
    asked = Asked.of("test", model, X, output="probability", n_jobs=threads)
    assert asked.trees is not None
    groups = [[0], [1, 2], [5], [0, 3]]  # the last shares a column with the first
    donors = np.stack([np.stack([rng.permutation(150) for _ in range(3)]) for _ in groups])
    assert np.array_equal(
        asked.replaced(asked.cells, asked.cells, groups, donors), brute(asked, asked.cells, groups, donors)
    )
    for_all = np.array([[[3], [7]]])
    assert np.array_equal(
        asked.replaced(asked.cells, asked.cells, [[1]], for_all), brute(asked, asked.cells, [[1]], for_all)
    )


def test_more_alternatives_than_a_mask_has_bits():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4))
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
    asked = Asked.of("test", model, X, output="probability")
    groups = [[0], [1, 3]]
    donors = np.stack([np.stack([rng.permutation(60) for _ in range(70)]) for _ in groups])
    found = asked.replaced(asked.cells, asked.cells, groups, donors)
    assert np.array_equal(found, brute(asked, asked.cells, groups, donors))


@pytest.mark.parametrize("seed", range(6))
def test_any_groups_donors_and_gaps_have_the_bits_of_a_plain_prediction(seed):
    """Groups of several columns, donors in any order, gaps among them, for all rows and for each."""
    rng = np.random.default_rng(seed)
    n, d, m = int(rng.integers(1, 120)), int(rng.integers(2, 8)), int(rng.integers(1, 60))
    train = rng.integers(0, 4, size=(150, d)).astype(float) if seed % 2 else rng.normal(size=(150, d))
    train[rng.random(train.shape) < 0.1] = np.nan
    target = np.nan_to_num(train).sum(axis=1)
    model = RandomForestRegressor(n_estimators=3, random_state=0).fit(train, target)
    asked = Asked.of("test", model, train[rng.integers(0, 150, n)])
    source = rng.normal(size=(m, d)) * 2
    source[rng.random(source.shape) < 0.1] = np.nan
    cut = int(rng.integers(1, d + 1))
    groups = [part.tolist() for part in np.array_split(rng.permutation(d)[:cut], min(cut, 3))]
    for columns in (1, n):
        donors = rng.integers(0, m, size=(len(groups), int(rng.integers(1, 40)), columns))
        assert np.array_equal(asked.replaced(asked.cells, source, groups, donors), brute(asked, source, groups, donors))


def test_labels_and_gaps_are_replaced_in_trees_and_in_frames_alike():
    model, frame, _ = mixed_tree()
    fast, slow = Asked.of("test", model, frame), Asked.of("test", Plain(model), frame)
    assert fast.trees is not None and slow.trees is None
    donors = np.random.default_rng(0).permutation(len(frame))[None, None, :]
    for j in range(4):
        a = fast.replaced(fast.cells, fast.cells, [[j]], donors)
        b = slow.replaced(slow.cells, slow.cells, [[j]], donors)
        assert np.allclose(a, b)


@pytest.mark.parametrize("output", ["auto", "margin", "probability"])
@pytest.mark.parametrize("make", [NewtonBoostingClassifier, TheirForest])
@pytest.mark.parametrize("classes", [2, 3])
def test_trees_say_what_the_model_says(make, output, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)).astype(np.float32).astype(float)
    y = np.digitize(X[:, 0], [0.0] if classes == 2 else [-0.5, 0.5])
    model = make(n_estimators=8, random_state=0).fit(X, y)
    asked, plain = (Asked.of("test", model, X, output=output, fast=fast) for fast in (True, False))
    assert asked.trees is not None and asked.answers.unit == plain.answers.unit
    assert np.allclose(asked.outputs(X), plain.outputs(X), atol=1e-6)


def test_numbers_with_a_logarithmic_link_are_explained_as_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    model = NewtonBoostingRegressor(loss="poisson", n_estimators=5).fit(X, rng.poisson(np.exp(X[:, 0])))
    asked = Asked.of("test", model, X)
    assert asked.trees is not None and np.allclose(asked.outputs(X)[:, 0], model.predict(X))


def test_classes_without_probabilities_are_asked_by_their_scores():
    frame, y = mixed_table()
    X = frame.select("size", "noise").to_numpy()
    model = RidgeClassifier().fit(X, y)
    assert Asked.of("test", model, X).answers.unit == "decision score of yes"
    votes = Asked.of("test", model, X, output="probability")
    assert set(np.unique(votes.outputs(X))) <= {0.0, 1.0}


def test_log_odds_of_many_classes_sum_to_zero():
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 5)
    assert np.allclose(log_odds(p).sum(axis=1), 0)
    assert np.isfinite(log_odds(np.array([[1.0, 0.0]]))).all()


def test_what_cannot_be_asked_is_refused_by_a_sentence():
    with pytest.raises(UsageError, match="must have predict"):
        Asked.of("test", object(), [[1.0]])
    with pytest.raises(ParameterError, match="output"):
        Asked.of("test", lambda rows: rows[:, 0], [[1.0]], output="odds")
    with pytest.raises(UsageError, match="numbers"):
        Asked.of("test", lambda rows: ["a"] * len(rows), pl.DataFrame({"x": [1.0]})).outputs(np.ones((1, 1)))
