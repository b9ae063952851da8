"""What holds for the steps of preparation whatever the table."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.prepare import (
    Balance,
    DropDuplicates,
    ImputeGroup,
    ImputeKNN,
    ImputeSimple,
    LabelCode,
    OneHot,
    OrdinalCode,
    Outliers,
    Thermometer,
)
from tests.helpers import examples

LABEL = st.one_of(st.none(), st.text("abcü '=\"", max_size=3))
NUMBER = st.one_of(st.none(), st.floats(-1e6, 1e6, allow_nan=False))


@st.composite
def tables(draw, label=LABEL, number=NUMBER):
    rows = draw(st.integers(1, 12))
    kinds = {
        "c": (label, pl.String),
        "x": (number, pl.Float64),
        "ok": (st.sampled_from([None, True, False]), pl.Boolean),
    }
    columns = {
        name: pl.Series(draw(st.lists(cell, min_size=rows, max_size=rows)), dtype=dtype)
        for name, (cell, dtype) in kinds.items()
    }
    return pl.DataFrame(columns)


@settings(max_examples=examples(60))
@given(tables(), st.sampled_from([None, "first", "if_binary"]))
def test_one_hot_leads_back(table, drop):
    step = OneHot(drop=drop).fit(table)
    out = step.transform(table)
    assert out.columns == step.get_feature_names_out().tolist()
    assert step.inverse_transform(out).equals(table)
    if drop is None:
        sums = out.select(step.blocks_["c"]).sum_horizontal()
        assert sums.to_list() == [1.0] * table.height


@settings(max_examples=examples(40))
@given(tables(), st.sampled_from([OrdinalCode(), LabelCode(), OrdinalCode(columns=["c", "x"])]))
def test_codes_lead_back(table, step):
    # Minus zero is a number like zero and comes back as zero.
    table = table.with_columns(pl.col("x") + 0.0)
    step = step.fit(table)
    assert step.inverse_transform(step.transform(table)).equals(table)


@settings(max_examples=examples(40))
@given(tables(label=st.one_of(st.none(), st.sampled_from(["low", "mid", "high"]))), st.sampled_from([None, "first"]))
def test_thermometers_lead_back_and_never_rise(table, drop):
    step = Thermometer(orders={"c": ["low", "mid", "high"]}, drop=drop).fit(table)
    out = step.transform(table)
    assert step.inverse_transform(out).equals(table)
    steps = out.select(step.blocks_["c"]).fill_null(0.0).to_numpy()
    assert (np.diff(steps, axis=1) <= 0).all()


@settings(max_examples=examples(60))
@given(
    tables(),
    st.sampled_from(
        [ImputeSimple(), ImputeSimple(strategy="median"), ImputeGroup(by=["ok"]), ImputeKNN(n_neighbors=2)]
    ),
)
def test_imputing_fills_every_hole_and_touches_nothing_else(table, step):
    out = step.fit(table).transform(table)
    for name in out.columns:
        if name in getattr(step, "by_", []):
            continue
        assert out[name].null_count() == 0
        present = table[name].is_not_null()
        assert out[name].filter(present).to_list() == table[name].filter(present).to_list()


@settings(max_examples=examples(40))
@given(tables())
def test_dropping_duplicates_twice_is_dropping_them_once(table):
    once, _ = DropDuplicates().fit_resample(table)
    twice, _ = DropDuplicates().fit_resample(once)
    assert once.equals(twice) and once.height == table.unique().height


@settings(max_examples=examples(40))
@given(tables(), st.sampled_from(["percentile", "iqr", "z", "mahalanobis"]))
def test_winsorised_rows_are_no_outliers_any_more(table, method):
    step = Outliers(method=method, action="winsorise").fit(table)
    flag = Outliers(method=method, action="flag").fit(table)
    drawn = step.transform(table)
    if method == "mahalanobis":
        assert (step._squared(drawn.select("x").to_numpy()) <= step.cut_ * (1 + 1e-6) + 1e-6).all()
    else:
        assert (drawn["x"].drop_nulls() <= step.high_[0]).all() and (drawn["x"].drop_nulls() >= step.low_[0]).all()
    assert flag.flagged_ == step.flagged_ == flag.transform(table)["outlier"].sum()


@settings(max_examples=examples(40))
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.integers(0, 5))
def test_balanced_classes_have_one_size(labels, seed):
    y, X = np.array(labels), np.arange(len(labels), dtype=float).reshape(-1, 1)
    sizes = np.unique(y, return_counts=True)[1]
    for strategy, size in (("down", sizes.min()), ("over", sizes.max())):
        rows, target = Balance(strategy=strategy, random_state=seed).fit_resample(X, y)
        assert set(np.unique(target, return_counts=True)[1].tolist()) == {int(size)}
        assert (y[rows[:, 0].astype(int)] == target).all()
    weights = Balance().fit(X, y).sample_weight(y)
    totals = [weights[y == label].sum() for label in np.unique(y)]
    np.testing.assert_allclose(totals, len(y) / len(totals))
