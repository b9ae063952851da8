"""Numbers and texts: what is shown never says more than is known."""

from __future__ import annotations

import doctest
import math

import pytest

from assay.base import svg, words
from assay.report import figures


@pytest.mark.parametrize("module", [words, svg, figures])
def test_examples_in_the_documentation_hold(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("value", [None, math.nan, math.inf, "text", True])
def test_what_is_no_number_is_shown_as_a_dash(value):
    assert words.number(value) == words.NOTHING
    assert words.show(value).value is None


def test_a_negative_number_that_rounds_to_zero_has_no_sign():
    assert words.number(-0.0001, 3) == "0.000"


@pytest.mark.parametrize(("share", "text"), [(0.0, "0%"), (0.004, "<1%"), (0.996, ">99%"), (1.0, "100%")])
def test_shares_do_not_pretend_to_be_none_or_all(share, text):
    assert words.percent(share) == text


def test_bidirectional_and_control_characters_and_surrogates_go():
    assert words.clean("a\u202eb\u2066c\u200f\x1b[0m\ud800") == "abc[0m?"


def test_long_names_keep_their_full_form():
    short, full = words.label("n" * 500, 40)
    assert len(short) == 40 and full == "n" * 500


def test_evidence_may_be_text_list_or_mapping():
    assert words.evidence({"values": 1, "first": ["a", 2.5]}) == "values: 1; first: a, 2.5"


def test_a_warning_may_have_a_code():
    assert words.warning({"code": "W1", "text": "x"}) == "W1: x"
    assert words.warning("[W1] x") == "[W1] x"
