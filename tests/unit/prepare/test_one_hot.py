"""One-hot code agrees with scikit-learn's and leads back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import OneHotEncoder

from assay.base import AssayError
from assay.prepare import OneHot

RNG = np.random.default_rng(0)
LABELS = np.column_stack(
    [RNG.choice(list("abcdef"), 200, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03]), RNG.choice(["x", "y"], 200)]
)


FEW = [
    {},
    {"max_categories": 3},
    {"min_frequency": 30},
    {"min_frequency": 0.1},
    {"min_frequency": 30, "max_categories": 3},
]


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
@pytest.mark.parametrize("few", FEW)
def test_agrees_with_scikit_learn(drop, few):
    X = LABELS.astype(object)
    peer = OneHotEncoder(drop=drop, sparse_output=False, **few).fit(X)
    np.testing.assert_array_equal(OneHot(drop=drop, **few).fit_transform(X), peer.transform(X))


def test_as_many_categories_as_allowed_all_keep_their_column():
    """scikit-learn calls one of them infrequent though nothing is gained by it."""
    X = LABELS[:, 1:].astype(object)
    assert OneHot(max_categories=2).fit(X).get_feature_names_out().tolist() == ["x0=x", "x0=y"]
    assert OneHot(max_categories=1).fit(X).get_feature_names_out().tolist() == ["x0=(rare)"]


@pytest.mark.parametrize("unknown", ["ignore", "infrequent"])
def test_unseen_categories_agree_with_scikit_learn(unknown):
    X, later = LABELS[:, :1].astype(object), np.array([["a"], ["zzz"]], dtype=object)
    name = "infrequent_if_exist" if unknown == "infrequent" else unknown
    peer = OneHotEncoder(handle_unknown=name, max_categories=4, sparse_output=False).fit(X)
    step = OneHot(handle_unknown=unknown, max_categories=4).fit(X)
    np.testing.assert_array_equal(step.transform(later), peer.transform(later))
    without = OneHot(handle_unknown="infrequent").fit(X).transform(later)
    assert not without[1].any(), "no column of rare ones, so all zeros"


def test_an_unseen_category_can_be_refused():
    step = OneHot(handle_unknown="error").fit(pl.DataFrame({"c": ["a", "b"]}))
    with pytest.raises(AssayError, match="column 'c' holds a category .* 'z' at row 1"):
        step.transform(pl.DataFrame({"c": ["a", "z"]}))
    with pytest.raises(AssayError, match="a missing cell at row 0"):
        step.transform(pl.DataFrame({"c": [None, "a"]}))
    assert OneHot(handle_unknown="error", drop="first").fit_transform(pl.DataFrame({"c": ["a", "b", None]})).width == 2


def test_missing_is_a_category_if_training_holds_it():
    frame = pl.DataFrame({"c": ["a", None, "b"]})
    step = OneHot().fit(frame)
    assert step.get_feature_names_out().tolist() == ["c=a", "c=b", "c=(missing)"]
    assert step.transform(frame).rows() == [(1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)]
    assert not any(OneHot().fit(frame.drop_nulls()).transform(frame).row(1)), "missing is unseen there"


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
@pytest.mark.parametrize("kind", ["polars", "pandas", "numpy"])
def test_the_way_back(drop, kind):
    table = pl.DataFrame(
        {
            "c": ["a", "b", "c", "a"],
            "ok": [True, False, True, True],
            "x": [1.0, 2.0, 3.0, 4.0],
            "zip": [101, 202, 101, 303],
        }
    )
    X = {"polars": table, "pandas": table.to_pandas(), "numpy": table.to_pandas().to_numpy()}[kind]
    step = OneHot(drop=drop, columns=[0, 1, 3]).fit(X)
    back = step.inverse_transform(step.transform(X))
    assert type(back) is type(X) and np.asarray(back, dtype=object).tolist() == [list(row) for row in table.rows()]


def test_missing_and_rare_on_the_way_back():
    frame = pl.DataFrame({"c": ["a", "a", "b", "c", None]})
    step = OneHot(max_categories=2).fit(frame)
    assert step.inverse_transform(step.transform(frame))["c"].to_list() == ["a", "a", "(rare)", "(rare)", None]
    assert step.infrequent_ == {"c": ["b", "c"]}
    full = OneHot().fit(frame.drop_nulls())
    assert full.inverse_transform(full.transform(pl.DataFrame({"c": ["?"]})))["c"].to_list() == [None]
    with pytest.raises(AssayError, match="column 'c=a' is not in the prepared table"):
        full.inverse_transform(frame)
    with pytest.raises(AssayError, match="must have 3 columns"):
        full.inverse_transform(np.zeros((2, 2)))


def test_names_never_collide():
    step = OneHot().fit(pl.DataFrame({"c": ["a", "b"], "c=a": [1, 2]}))
    assert step.get_feature_names_out().tolist() == ["c=a'", "c=b", "c=a"]


def test_numbers_pass_unless_named_and_frames_keep_their_index():
    frame = pd.DataFrame({"zip": [101.0, 202.0], "c": ["a", "b"]}, index=[7, 9])
    assert list(OneHot().fit_transform(frame).columns) == ["zip", "c=a", "c=b"]
    named = OneHot(columns=["zip"]).fit_transform(frame)
    assert list(named.columns) == ["zip=101", "zip=202", "c"] and list(named.index) == [7, 9]


def test_words_and_a_single_category():
    frame = pl.DataFrame({"c": ["a", "b", None], "d": ["x"] * 3})
    assert OneHot().fit(frame).explain()[0] == (
        "c: one-hot: 2 columns of 0 and 1, missing is a category of its own; an unseen category is all zeros."
    )
    assert "is refused" in OneHot(handle_unknown="error").fit(frame).explain()[0]
    with pytest.raises(AssayError, match="would lose every column"):
        OneHot(drop="first").fit(frame.select("d"))
