"""Constructed columns: formulas by name, monomials as scikit-learn has them, basis functions."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import PolynomialFeatures

from assay.base import AssayError, CostError
from assay.prepare import Formula, Polynomial

DEALS = pl.DataFrame({"gain": [120.0, 90.0, None], "cost": [100.0, 0.0, 5.0], "kind": ["a", "b", "a"]})


def test_formulas_by_name():
    out = Formula(formulas={"roi": "(gain - cost) / cost"}).fit_transform(DEALS)
    assert out.columns == ["gain", "cost", "kind", "roi"] and out["roi"].to_list() == [0.2, None, None]


def test_later_formulas_use_earlier_ones_and_may_replace_a_column():
    out = Formula(formulas=["cost = cost + 1", "twice = 2 * cost"]).fit_transform(DEALS)
    assert out["cost"].to_list() == [101.0, 1.0, 6.0] and out["twice"].to_list() == [202.0, 2.0, 12.0]


def test_keep_false_leaves_the_new_columns_alone():
    out = Formula(formulas=["`a b` = gain"], keep=False).fit_transform(DEALS.to_pandas())
    assert isinstance(out, pd.DataFrame) and list(out.columns) == ["a b"]


@pytest.mark.parametrize(
    ("formulas", "words"),
    [
        (["roi = gian / cost"], "did you mean 'gain'"),
        (["roi"], "must have a name"),
        (["gain == 3"], "must have a name"),
        (["x = kind + 1"], "must hold numbers"),
        ([3], "must be text"),
        ({"x": 3}, "must be text"),
    ],
)
def test_wrong_formulas_are_refused(formulas, words):
    with pytest.raises(AssayError, match=words):
        Formula(formulas=formulas).fit(DEALS).transform(DEALS)


def test_formulas_are_explained():
    assert Formula(formulas={"r": "gain / cost"}).fit(DEALS).explain() == ["r is computed as gain / cost."]


@pytest.mark.parametrize("degree", [1, 2, 4])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("include_bias", [False, True])
def test_monomials_are_those_of_scikit_learn(degree, interaction_only, include_bias):
    X = np.random.default_rng(0).normal(size=(20, 4))
    arguments = {"degree": degree, "interaction_only": interaction_only, "include_bias": include_bias}
    ours, peer = Polynomial(**arguments).fit(X), PolynomialFeatures(**arguments).fit(X)
    np.testing.assert_allclose(ours.transform(X), peer.transform(X), rtol=1e-13)
    np.testing.assert_array_equal(ours.powers_, peer.powers_)
    assert ours.get_feature_names_out().tolist() == peer.get_feature_names_out().tolist()


def test_basis_functions_and_pairs():
    X = np.array([[1.0, 2.0], [4.0, 0.0]])
    step = Polynomial(degree=1, functions=["log", "reciprocal", "sqrt"], pairs=["ratio", "difference_of_squares"]).fit(
        X
    )
    names = step.get_feature_names_out().tolist()
    assert names[2:] == ["log x0", "log x1", "1 / x0", "1 / x1", "sqrt x0", "sqrt x1", "x0 / x1", "x0^2 - x1^2"]
    expected = [
        [0, np.log(2), 1, 0.5, 1, np.sqrt(2), 0.5, -3],
        [np.log(4), np.nan, 0.25, np.nan, 2, 0, np.nan, 16],
    ]
    np.testing.assert_allclose(step.transform(X)[:, 2:], expected)
    other = Polynomial(
        degree=1, functions=["sin", "cos", "exp", "square"], pairs=["product", "sum_of_squares", "sum", "difference"]
    )
    out = other.fit_transform(X)
    np.testing.assert_allclose(out[0, -4:], [2, 5, 3, -1])
    np.testing.assert_allclose(out[0, 2:10], [*np.sin(X[0]), *np.cos(X[0]), *np.exp(X[0]), *X[0] ** 2])


def test_labels_pass_through_and_names_are_said():
    step = Polynomial(columns=["cost"]).fit(DEALS)
    assert step.transform(DEALS).columns == ["gain", "kind", "cost", "cost^2"]
    assert step.explain() == ["cost: all monomials up to degree 2 (2 columns)."]


def test_refusals():
    with pytest.raises(AssayError, match="parameter 'functions' must be a list of sin"):
        Polynomial(functions=["sinh"]).fit(np.ones((2, 2)))
    with pytest.raises(AssayError, match="would come out twice"):
        Polynomial().fit(pl.DataFrame({"a": [1.0], "a^2": [2.0]}))
    with pytest.raises(CostError, match="lower degree"):
        Polynomial(degree=8).fit(np.ones((1000, 60)))


def test_one_formula_may_stand_alone():
    assert Formula(formulas="roi = gain / 2").fit_transform(DEALS)["roi"].to_list() == [60.0, 45.0, None]


def test_the_names_of_an_array_s_monomials_are_those_of_the_last_fit():
    step = Polynomial().fit(np.ones((1, 2)))
    assert step.names_out_ == ["x0", "x1", "x0^2", "x0 x1", "x1^2"]
    assert step.fit(np.ones((1, 1))).names_out_ == ["x0", "x0^2"]
    assert pickle.loads(pickle.dumps(step)).names_out_ == ["x0", "x0^2"]
