"""Indicators and ranks."""

from __future__ import annotations

import numpy as np
import polars as pl

from assay.prepare.encode import Indicators, as_text, ranks


def coded(labels, fitted=None, most=100, drop_first=False):
    code = Indicators.fit(pl.Series("c", fitted if fitted is not None else labels, dtype=pl.String), most, drop_first)
    out = np.zeros((len(labels), len(code.names)))
    code.write(pl.Series("c", labels, dtype=pl.String), out)
    return code, out


def test_each_row_has_one_indicator():
    code, out = coded(["b", "a", None, "c"])
    assert code.names == ["c=a", "c=b", "c=c", "c=(missing)"] and (out.sum(axis=1) == 1).all()


def test_two_labels_need_one_indicator():
    code, out = coded(["no", "yes", "no"])
    assert code.names == ["c=yes"] and out.ravel().tolist() == [0.0, 1.0, 0.0]
    assert code.explain() == "1 for 'yes' and 0 for 'no'; an unseen category counts as 'no'"


def test_one_label_keeps_its_indicator_and_none_gives_none():
    assert coded(["a", "a"])[1].ravel().tolist() == [1.0, 1.0]
    code, out = coded([None, None])
    assert code.names == ["c=(missing)"] and out.ravel().tolist() == [1.0, 1.0]


def test_missing_that_training_rows_do_not_know_is_all_zeros():
    assert not coded([None, "z"], fitted=["a", "b", "c"])[1].any()


def test_ties_among_frequencies_go_by_label():
    code, _ = coded(["d", "c", "b", "a", "e"], most=3)
    assert code.categories == ("a", "b", "c") and code.others == {"d", "e"}


def test_ranks_follow_the_order_and_numbers_are_labels_too():
    assert ranks(pl.Series(["b", "a", None]), ("b", "a")).to_list() == [0.0, 1.0, None]
    assert ranks(pl.Series([30, 10, 20]), (10, 20, 30)).to_list() == [2.0, 0.0, 1.0]
    assert ranks(pl.Series([30.0, 10.5]), (10.5, 30.0)).to_list() == [1.0, 0.0]
    assert ranks(pl.Series([3.0, 1.0]), (1, 2, 3)).to_list() == [2.0, 0.0]


def test_text_of_numbers_is_the_same_for_integers_and_floats():
    assert as_text(pl.Series([7, 8])).to_list() == as_text(pl.Series([7.0, 8.0])).to_list() == ["7", "8"]
