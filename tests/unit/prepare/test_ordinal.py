"""Ranks and codes of labels agree with scikit-learn's encoders and lead back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import LabelEncoder, OrdinalEncoder

from assay.base import AssayError
from assay.prepare import LabelCode, OrdinalCode

TABLE = pl.DataFrame(
    {
        "risk": ["high", "low", None, "medium"],
        "plan": ["b", "a", "c", "a"],
        "stars": [3, 1, 2, None],
        "ok": [True, False, None, True],
    }
)


def test_given_orders_and_known_scales_and_the_alphabet():
    given = OrdinalCode(orders={"risk": ["low", "medium", "high"]}).fit(TABLE)
    assert given.transform(TABLE)["risk"].to_list() == [2.0, 0.0, None, 1.0]
    assert given.transform(TABLE)["plan"].to_list() == ["b", "a", "c", "a"], "only what orders name is coded"
    found = OrdinalCode().fit(TABLE)
    assert found.orders_ == {"risk": ["low", "medium", "high"], "plan": ["a", "b", "c"], "ok": ["false", "true"]}
    both = OrdinalCode(orders={"risk": ["low", "medium", "high"]}, columns=["risk", "plan"]).fit_transform(TABLE)
    assert both["plan"].to_list() == [1.0, 0.0, 2.0, 0.0]


def test_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice(list("qwerty"), 50), rng.choice(["one", "two"], 50)]).astype(object)
    np.testing.assert_array_equal(OrdinalCode().fit_transform(X), OrdinalEncoder().fit_transform(X))
    orders = [list("ytrewq"), ["two", "one"]]
    peer = OrdinalEncoder(categories=orders).fit_transform(X)
    np.testing.assert_array_equal(OrdinalCode(orders=dict(enumerate(orders))).fit_transform(X), peer)


def test_labels_outside_the_order_are_missing_or_refused():
    order = {"risk": ["low", "high"]}
    assert OrdinalCode(orders=order).fit_transform(TABLE)["risk"].to_list() == [1.0, 0.0, None, None]
    with pytest.raises(AssayError, match="column 'risk' holds a label outside its order; got 'medium' at row 3"):
        OrdinalCode(orders=order, handle_unknown="error").fit(TABLE).transform(TABLE)


@pytest.mark.parametrize("make", [lambda t: t, pl.DataFrame.to_pandas])
@pytest.mark.parametrize(
    "step", [OrdinalCode(), OrdinalCode(orders={"stars": [1, 2, 3]}), LabelCode(), LabelCode(columns=["stars", "ok"])]
)
def test_the_way_back(step, make):
    X = make(TABLE)
    back = step.fit(X).inverse_transform(step.transform(X))
    assert pl.DataFrame(back).fill_nan(None).equals(TABLE.cast({"stars": pl.Float64}))


def test_what_is_no_rank_leads_back_to_missing():
    step = OrdinalCode(orders={"risk": ["low", "high"]}).fit(TABLE.select("risk"))
    assert step.inverse_transform(np.array([[1.0], [7.0], [-1.0], [np.nan]])).ravel().tolist() == [
        "high",
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("orders", "words"),
    [
        ({"risk": "low"}, "must be a list of labels for column 'risk'"),
        ({"risk": ["low", "low"]}, "must name every label of column 'risk' once"),
        ({"nope": ["a"]}, "parameter 'orders' must name columns"),
    ],
)
def test_wrong_orders_are_refused(orders, words):
    with pytest.raises(AssayError, match=words):
        OrdinalCode(orders=orders).fit(TABLE)


def test_words():
    step = OrdinalCode(orders={"risk": ["low", "medium", "high"]}).fit(TABLE)
    assert step.explain() == [
        "risk: labels become ranks 0, 1, ... in the order low < medium < high; another label becomes missing."
    ]
    assert LabelCode(columns=["plan"]).fit(TABLE).explain() == [
        "plan: 3 labels become the codes 0 to 2, sorted: a, b, c."
    ]
    assert LabelCode().fit([3, 1]).explain() == ["The target: 2 labels become the codes 0 to 1, sorted: 1, 3."]


# -- LabelCode of a target ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "y",
    [
        ["b", "a", "b", "c"],
        np.array([5, 3, 5]),
        np.array([True, False]),
        pd.Series(["x", "y"]),
        np.array(["u", "v"], dtype=object),
    ],
)
def test_targets_agree_with_scikit_learn(y):
    step, peer = LabelCode().fit(y), LabelEncoder().fit(y)
    np.testing.assert_array_equal(step.transform(y), peer.transform(y))
    np.testing.assert_array_equal(step.inverse_transform(step.transform(y)), np.asarray(y))
    assert step.transform(y).dtype == np.int64 and step.classes_.tolist() == peer.classes_.tolist()


def test_unseen_labels_are_refused_or_missing():
    with pytest.raises(AssayError, match="the target holds a label that the training rows do not; got 'z' at row 1"):
        LabelCode().fit(["a", "b"]).transform(["a", "z"])
    assert LabelCode(handle_unknown="missing").fit(["a", "b"]).transform(["z", "b"]).tolist() == [-1, 1]
    with pytest.raises(AssayError, match="column 'plan' holds a label"):
        LabelCode().fit(TABLE).transform(TABLE.with_columns(pl.lit("new").alias("plan")))
    lenient = LabelCode(handle_unknown="missing").fit(TABLE)
    assert lenient.transform(TABLE.with_columns(pl.lit("new").alias("plan")))["plan"].null_count() == 4


def test_wrong_targets_are_refused():
    with pytest.raises(AssayError, match="missing labels; first at row 1"):
        LabelCode().fit(["a", None])
    with pytest.raises(AssayError, match="must hold codes from 0 to 1; got 2 at row 0"):
        LabelCode().fit(["a", "b"]).inverse_transform([2])
    with pytest.raises(AssayError, match="1D array of other values"):
        LabelCode().fit([0.5, 1.5])
    with pytest.raises(AssayError, match="must be one-dimensional"):
        LabelCode().fit(["a", "b"]).transform(TABLE)
    with pytest.raises(NotFittedError):
        LabelCode().transform(["a"])
