"""The tests of classifiers agree with mlxtend 0.25.0 (numbers made by make_numbers.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.evaluate import cochran_q, five_by_two_f, five_by_two_t, mcnemar, paired_t, permutation_test

NUMBERS = json.loads((Path(__file__).parent / "numbers.json").read_text())


def test_mcnemar_corrected_and_exact():
    y, a, c = NUMBERS["truth"], NUMBERS["guesses"]["a"], NUMBERS["guesses"]["c"]
    ours = mcnemar(y, a, c, exact=False)
    assert [ours.statistic, ours.p_value] == pytest.approx(NUMBERS["mcnemar_corrected"])
    assert mcnemar(y, a, c, exact=True).p_value == pytest.approx(NUMBERS["mcnemar_exact_p"])


def test_cochran_q():
    ours = cochran_q(NUMBERS["truth"], NUMBERS["guesses"])
    assert [ours.statistic, ours.p_value] == pytest.approx(NUMBERS["cochran_q"])


@pytest.mark.parametrize("label", ["trees", "linear"])
@pytest.mark.parametrize(
    ("name", "test"), [("five_by_two_f", five_by_two_f), ("five_by_two_t", five_by_two_t), ("paired_t", paired_t)]
)
def test_fold_tests_on_the_scores_that_mlxtend_made(name, test, label):
    theirs = NUMBERS[f"{name}_{label}"]
    ours = test(*theirs["scores"])
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs["statistic"], theirs["p"]))


def test_exact_paired_permutation():
    theirs = NUMBERS["paired_permutation"]
    ours = permutation_test(*theirs["scores"])
    assert ours.details["exact"] and ours.p_value == pytest.approx(theirs["p"])
    assert ours.statistic == pytest.approx(np.mean(theirs["scores"][0]) - np.mean(theirs["scores"][1]))
