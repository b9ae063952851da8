"""Typing mistakes are near by letters; what language sets apart is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data.findings.typos import edit_distance, is_slip, likely_typos

words = st.text("abcd", max_size=7)


@given(words, words)
def test_the_distance_is_symmetric_and_zero_only_for_equals(one, other):
    assert edit_distance(one, other, 9) == edit_distance(other, one, 9)
    assert (edit_distance(one, other, 9) == 0) == (one == other)


@given(words, words)
def test_the_distance_is_bounded_by_the_longer_word_and_cut_at_the_limit(one, other):
    whole = edit_distance(one, other, 9)
    assert abs(len(one) - len(other)) <= whole <= max(len(one), len(other))
    assert edit_distance(one, other, 2) == min(whole, 3)


@given(st.text("abcdef", min_size=4, max_size=12), st.data())
def test_one_slip_is_at_distance_one(word, data):
    k = data.draw(st.integers(0, len(word) - 2))
    swapped = word[:k] + word[k + 1] + word[k] + word[k + 2 :]
    assert edit_distance(word, swapped) <= 1 and edit_distance(word, word[:k] + word[k + 1 :]) <= 1
    assert edit_distance(word, word[:k] + "z" + word[k:]) == 1


@pytest.mark.parametrize(
    ("rare", "frequent"),
    [("Berln", "Berlin"), ("Hambrug", "Hamburg"), ("femlae", "female"), ("yse", "yes"), ("bachellor", "bachelor"),
     ("recoverred", "recovered"), ("Unted States", "United States")],
)  # fmt: skip
def test_slips_are_seen(rare, frequent):
    assert is_slip(rare, frequent)


@pytest.mark.parametrize(
    ("one", "other"),
    [("male", "female"), ("A1", "A2"), ("type 1", "type 2"), ("unlikely", "likely"), ("complete", "incomplete"),
     ("north", "south"), ("cat", "car"), ("class a", "class b"), ("type ii", "type iii"), ("Austria", "Australia"),
     ("Yes", "yes"), ("red", "bed"), ("2023-01-05", "2023-01-06")],
)  # fmt: skip
def test_pairs_that_are_meant_are_left_alone(one, other):
    assert not is_slip(one, other) and not is_slip(other, one)


def test_only_rare_labels_are_suspected():
    assert list(likely_typos(["reading", "heading"], [500, 400])) == []
    assert list(likely_typos(["reading", "heading"], [500, 2])) == [("heading", "reading")]
    assert list(likely_typos(["reading", "reding"], [15, 1])) == []
