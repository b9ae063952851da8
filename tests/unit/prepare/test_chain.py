"""Chains of steps: each gets what it needs, learns from training rows only, and changes rows only there."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.preprocessing import PowerTransformer

from assay import catalogue
from assay.data import infer_roles, load_dataset
from assay.prepare import Chain, ForwardSelector, Scale

from .test_step import Halve

FRAME = pl.DataFrame(
    {
        "age": [20.0, 35.0, None, 61.0, 44.0, 52.0],
        "plan": ["a", "b", "a", None, "b", "a"],
        "income": [1.0, 2.0, 2.5, 4.0, 3.0, 3.5],
    }
)
Y = np.array([0.0, 1.0, 1.5, 3.0, 2.0, 2.6])


def chain(*steps, learner="least-squares"):
    return Chain(steps, infer_roles(FRAME), catalogue.get(learner))


def test_without_steps_it_is_the_preparation_of_the_learner():
    from assay.prepare import auto_prepare

    rows, y = chain().fit_training(FRAME, Y)
    expected = auto_prepare(infer_roles(FRAME), catalogue.get("least-squares")).fit_transform(FRAME)
    np.testing.assert_array_equal(rows, expected)
    assert y is Y


def test_a_step_that_needs_numbers_gets_them():
    made = chain(ForwardSelector(n_features_to_select=1))
    rows, _ = made.fit_training(FRAME, Y)
    assert rows.shape == (6, 1) and np.isfinite(rows).all()
    assert made.get_feature_names_out().tolist() == ["income"]
    assert any("median" in sentence for sentence in made.explain())


def test_a_transformer_of_another_package_is_taken():
    rows, _ = chain(PowerTransformer()).fit_training(FRAME, Y)
    assert np.isfinite(rows).all() and rows.shape[0] == 6


def test_row_steps_shorten_the_training_rows_and_no_others():
    made = chain(Halve())
    rows, y = made.fit_training(FRAME, Y)
    assert rows.shape[0] == 3 and y.tolist() == [0.0, 1.5, 2.0]
    assert made.transform(FRAME).shape[0] == 6


def test_the_given_steps_are_never_fitted():
    step = Scale()
    chain(step).fit_training(FRAME, Y)
    assert not hasattr(step, "center_")


def test_what_is_learned_comes_from_the_training_rows_alone():
    train, test = FRAME[:4], FRAME[4:]
    made, again = chain(Scale(columns=["age"])), chain(Scale(columns=["age"]))
    made.fit_training(train, Y[:4])
    again.fit_training(train, Y[:4])
    alone = np.vstack([again.transform(test[i : i + 1]) for i in range(2)])
    np.testing.assert_array_equal(made.transform(test), alone)


def test_roles_that_the_user_declared_survive_the_steps():
    table = load_dataset("weather").with_roles({"temperature": ("ordinal", ["cool", "mild", "hot"])})
    made = Chain([Scale()], table.roles, catalogue.get("naive-bayes"))
    made.fit_training(table.frame, None)
    assert made.roles["temperature"].reason == table.roles["temperature"].reason


def test_an_output_that_is_no_table_is_refused():
    class Odd(Scale):
        def transform(self, X):
            return "odd"

    with pytest.raises(ValueError, match="must give a table or an array"):
        chain(Odd()).fit_training(FRAME, Y)
