"""Frequent itemsets: all subsets counted, closed and maximal ones, forms of baskets."""

from __future__ import annotations

from datetime import date
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import examples

from assay.base import DataError, ParameterError
from assay.models.baskets import FrequentItemsets

BASKETS = [["bread", "butter"], ["bread", "butter", "tea"], ["tea"], ["bread"]]


def drawn(n: int = 200, items: int = 9, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    cells = rng.random((n, items)) < np.linspace(0.15, 0.6, items)
    cells[:, 1] |= cells[:, 0]
    return [[f"i{j}" for j in np.flatnonzero(row)] for row in cells]


def counted(baskets, least: float) -> dict[tuple, float]:
    """Every subset of the items, counted one by one."""
    items = sorted({item for basket in baskets for item in basket})
    found = {}
    for size in range(1, len(items) + 1):
        for held in combinations(items, size):
            share = sum(set(held) <= set(basket) for basket in baskets) / len(baskets)
            if share > 0 and share >= least - 1e-12:
                found[held] = share
    return found


@given(
    st.lists(st.lists(st.integers(0, 6), max_size=7), min_size=1, max_size=80),
    st.sampled_from([0.01, 0.1, 0.25, 0.5, 1.0]),
)
@settings(deadline=None, max_examples=examples(40), derandomize=True)
def test_itemsets_equal_all_subsets_counted(baskets, least):
    exact = counted(baskets, least)
    found = dict(FrequentItemsets(min_support=least).fit(baskets).itemsets_)
    assert found.keys() == exact.keys()
    assert all(found[held] == pytest.approx(exact[held]) for held in exact)
    larger = {held: [other for other in exact if set(other) > set(held)] for held in exact}
    closed = {held for held in exact if all(exact[other] < exact[held] - 1e-12 for other in larger[held])}
    assert {h for h, _ in FrequentItemsets(min_support=least, keep="closed").fit(baskets).itemsets_} == closed
    maximal = {held for held in exact if not larger[held]}
    assert {h for h, _ in FrequentItemsets(min_support=least, keep="maximal").fit(baskets).itemsets_} == maximal


def test_every_form_of_baskets_and_any_number_of_threads_gives_the_same():
    baskets = drawn()
    items = sorted({item for basket in baskets for item in basket})
    table = np.array([[item in basket for item in items] for basket in baskets])
    rows = [(number, item) for number, basket in enumerate(baskets) for item in basket]
    long = {"who": [r[0] for r in rows], "what": [r[1] for r in rows]}
    given_ = [basket for basket in baskets if basket]
    exact = FrequentItemsets(min_support=0.1).fit(given_).itemsets_
    held = table.any(axis=1)
    for frame in (pd.DataFrame, pl.DataFrame):
        assert FrequentItemsets(min_support=0.1).fit(frame(long), basket="who", item="what").itemsets_ == exact
    assert FrequentItemsets(min_support=0.1).fit(pd.DataFrame(table[held], columns=items)).itemsets_ == exact
    assert FrequentItemsets(min_support=0.1).fit(pl.DataFrame(table[held], schema=items)).itemsets_ == exact
    for jobs in (1, 3):
        assert FrequentItemsets(min_support=0.1, n_jobs=jobs).fit(given_).itemsets_ == exact


def test_thousands_of_baskets_and_a_bound_on_the_length():
    rng = np.random.default_rng(1)
    cells = rng.random((3000, 30)) < 0.2
    found = dict(FrequentItemsets(min_support=0.03, max_length=2).fit(cells).itemsets_)
    together = cells.T.astype(int) @ cells
    exact = {(f"x{a}", f"x{b}") for a, b in combinations(range(30), 2) if together[a, b] >= 90}
    assert {tuple(sorted(held)) for held in found if len(held) == 2} == {tuple(sorted(held)) for held in exact}
    assert max(map(len, found)) == 2


@pytest.mark.parametrize(
    ("parameters", "baskets", "words"),
    [
        ({"max_itemsets": 3}, BASKETS, "raise min_support"),
        ({}, ["bread", "tea"], "basket 0 must be a list of items"),
        ({}, [], "at least one"),
        ({}, np.array([[2.0, 1.0]]), "true and false"),
        ({"keep": "closed", "max_length": 2}, BASKETS, "must be None for closed or maximal"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(parameters, baskets, words):
    with pytest.raises((DataError, ParameterError)) as caught:
        FrequentItemsets(**{"min_support": 0.2, **parameters}).fit(baskets)
    assert words in str(caught.value)


def test_a_long_table_needs_its_columns():
    with pytest.raises(DataError, match="must be a column of the table"):
        FrequentItemsets().fit(pd.DataFrame({"a": [1], "b": [2]}), basket="a", item="c")


def test_items_are_the_same_by_equality_whatever_objects_hold_them():
    named = [["".join(["te", "a"]), "milk"], ["".join(["t", "ea"])], [np.str_("tea"), "milk"]]
    assert FrequentItemsets(min_support=0.6).fit(named).itemsets_ == [
        (("milk",), pytest.approx(2 / 3)),
        (("tea",), 1.0),
        (("milk", "tea"), pytest.approx(2 / 3)),
    ]
    numbers = [[np.int64(70_000), 5.0], [70_000, 5], (True, 70_000)]
    assert FrequentItemsets(min_support=1.0).fit(numbers).itemsets_ == [((70_000,), 1.0)]


def test_baskets_may_be_made_as_they_are_read():
    rng = np.random.default_rng(0)
    held = [rng.integers(1000, 1020, size=6).tolist() for _ in range(300)]
    made = ((value + 0 for value in basket) for basket in held)
    kinds = [
        set(basket) if k % 3 == 0 else np.array(basket) if k % 3 == 1 else tuple(basket)
        for k, basket in enumerate(held)
    ]
    expected = FrequentItemsets(min_support=0.05).fit(held).itemsets_
    assert FrequentItemsets(min_support=0.05).fit(made).itemsets_ == expected
    assert FrequentItemsets(min_support=0.05).fit(kinds).itemsets_ == expected


@pytest.mark.parametrize("item", [["nested"], None, float("nan"), b"bytes", {"a": 1}])
def test_items_that_are_no_labels_are_named(item):
    with pytest.raises(DataError, match="an item must be text, a number or a date"):
        FrequentItemsets().fit([["tea"], ["milk", item]])


def test_dates_are_items_and_name_baskets():
    days = [date(2020, 1, 31), date(2020, 2, 1)]
    told = [(("2020-01-31",), 1.0), (("2020-02-01",), 0.5), (("2020-01-31", "2020-02-01"), 0.5)]
    model = FrequentItemsets(min_support=0.5)
    assert model.fit([days, days[:1]]).itemsets_ == told
    moments = pd.to_datetime([str(day) for day in (days[0], days[1], days[0])])
    assert model.fit(pd.DataFrame({"b": [7, 7, 8], "i": moments}), basket="b", item="i").itemsets_ == told
    by_day = pl.DataFrame({"b": [days[1], days[1], days[0]], "i": ["x", "y", "x"]})
    assert model.fit(by_day, basket="b", item="i").itemsets_ == [(("x",), 1.0), (("y",), 0.5), (("x", "y"), 0.5)]


def test_more_items_than_two_bytes_can_number_are_counted():
    items = 66_000
    found = FrequentItemsets(min_support=1e-9, max_length=1).fit([[*range(items)], [3, 65_990]])
    counted = {labels[0]: support * 2 for labels, support in found.itemsets_}
    assert len(counted) == items
    assert [label for label, count in counted.items() if count == 2] == [3, 65_990]
