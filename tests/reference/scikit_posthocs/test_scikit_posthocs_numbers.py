"""Comparisons of pairs agree with scikit-posthocs 0.17.1 (numbers made by make_numbers.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.evaluate import anova, compare, nemenyi

NUMBERS = json.loads((Path(__file__).parent / "numbers.json").read_text())


def index(name: str) -> int:
    return int(name.split()[-1]) - 1


def test_nemenyi_after_friedman():
    for pair in nemenyi(np.array(NUMBERS["matrix"])).details["pairs"]:
        theirs = NUMBERS["nemenyi_friedman"][index(pair["a"])][index(pair["b"])]
        assert pair["p_value"] == pytest.approx(theirs, abs=1e-6)


def test_compare_over_data_sets_uses_it():
    for pair in compare(np.array(NUMBERS["matrix"]), "datasets").pairs:
        theirs = NUMBERS["nemenyi_friedman"][index(pair["a"])][index(pair["b"])]
        assert pair["p_adjusted"] == pair["p_value"] == pytest.approx(theirs, abs=1e-6)


def test_fishers_least_significant_difference_and_holm():
    for pair in anova(*NUMBERS["groups"]).details["pairs"]:
        i, j = index(pair["a"]), index(pair["b"])
        assert pair["p_value"] == pytest.approx(NUMBERS["t_pooled"][i][j])
        assert pair["p_holm"] == pytest.approx(NUMBERS["t_pooled_holm"][i][j])
