"""The Bayesian tests agree with baycomp 1.0.3 (numbers made by make_numbers.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.evaluate import bayes_correlated_t, bayes_signed_rank

NUMBERS = json.loads((Path(__file__).parent / "numbers.json").read_text())


def in_their_order(result) -> list[float]:
    """First better, equivalent, second better; without a rope they give two."""
    chances = result.details["probabilities"]
    three = [chances["right"], chances["rope"], chances["left"]]
    return three if result.details["rope"] else [three[0], three[2]]


@pytest.mark.parametrize("rope", [0.0, 0.01, 0.02])
def test_correlated_t(rope):
    """Ten runs of ten folds: n_test / n_train is 1 / 9."""
    ours = bayes_correlated_t(*NUMBERS["folds"], n_train=9, n_test=1, rope=rope)
    assert in_their_order(ours) == pytest.approx(NUMBERS["correlated_t"][str(rope)], abs=1e-12)


@pytest.mark.parametrize("rope", [0.0, 0.01, 0.02])
def test_signed_rank_to_the_noise_of_both_samples(rope):
    ours = bayes_signed_rank(*NUMBERS["data_sets"], rope=rope, n_samples=100_000)
    assert in_their_order(ours) == pytest.approx(NUMBERS["signed_rank"][str(rope)], abs=0.008)
