"""Ensembles as SQL: a database predicts what the model predicts, missing and unknown cells too."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from assay.base.errors import ParameterError
from assay.models.ensembles import (
    AdaBoostClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    RandomForestClassifier,
)


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    n = 300
    frame = pl.DataFrame(
        {
            'the "size"': np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "kind": np.array(["it's", "b", "c", "d"])[rng.integers(0, 4, n)],
            "age": rng.integers(0, 9, n).astype(float),
        }
    ).fill_nan(None)
    y = (frame["age"].to_numpy() > 4) + (frame["kind"].to_numpy() == "b") + rng.integers(0, 2, n)
    other = frame.with_columns(kind=pl.when(pl.col("age") == 3).then(pl.lit("new")).otherwise(pl.col("kind")))
    return frame, y, other.with_columns(kind=pl.when(pl.col("age") == 5).then(None).otherwise(pl.col("kind")))


def in_duckdb(frame, text):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(config={"threads": 1})
    connection.register("rows", frame.to_arrow())
    return connection.sql(text).pl()


@pytest.mark.parametrize(
    "model",
    [
        NewtonBoostingClassifier(n_estimators=6, min_samples_leaf=5),
        AdaBoostClassifier(n_estimators=6, max_depth=2),
        RandomForestClassifier(5, max_depth=5, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_database_gives_the_same_probabilities(model, tables):
    frame, y, other = tables
    two = model.fit(frame, y > 1)
    found = in_duckdb(other, two.to_sql("rows", "p"))
    name = "p_True" if "p_True" in found.columns else "p"
    assert np.allclose(found[name].to_numpy(), two.predict_proba(other)[:, 1], atol=1e-12)
    many = model.fit(frame, y)
    found = in_duckdb(other, many.to_sql("rows", "p"))
    scores = found.select([f"p_{label}" for label in many.classes_]).to_numpy()
    assert (many.classes_[scores.argmax(axis=1)] == many.predict(other)).all()


@pytest.mark.parametrize(
    "model",
    [GradientBoostingRegressor(n_estimators=6, loss="poisson"), ExtraTreesRegressor(5, max_depth=5, random_state=0)],
    ids=lambda m: type(m).__name__,
)
def test_a_database_gives_the_same_means(model, tables):
    frame, y, other = tables
    model.fit(frame, y.astype(float))
    assert np.allclose(in_duckdb(other, model.to_sql("rows"))["prediction"].to_numpy(), model.predict(other))
    assert json.loads(model.to_json())["trees"]


def test_long_models_are_refused(tables):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    forest = RandomForestClassifier(40, random_state=0).fit(X, rng.integers(0, 2, 2000))
    with pytest.raises(ParameterError, match="20,000 nodes"):
        forest.to_sql()
