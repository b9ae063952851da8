"""The comparison over data sets agrees with autorank 1.3.0 (numbers made by make_numbers.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.evaluate import compare

NUMBERS = json.loads((Path(__file__).parent / "numbers.json").read_text())


@pytest.mark.parametrize("case", NUMBERS["cases"], ids=["different", "alike"])
def test_friedman_average_ranks_and_critical_difference(case):
    ours = compare(np.array(case["matrix"]), "datasets")
    assert case["omnibus"] == "friedman" and ours.omnibus["name"] == "Friedman test"
    assert ours.omnibus["p_value"] == pytest.approx(case["p"])
    for name, rank in case["mean_ranks"].items():
        assert ours.summary[f"learner {int(name) + 1}"]["average_rank"] == pytest.approx(rank)
    if case["critical_difference"] is not None:
        assert ours.critical_difference == pytest.approx(case["critical_difference"], rel=1e-3)


def test_two_learners_are_compared_by_wilcoxon():
    """autorank asks one-sidedly whether the larger is larger; and it loses ties of differences to their rounding."""
    case = NUMBERS["pair"]
    matrix = np.array(case["matrix"])
    ours = compare(matrix, "datasets")
    assert case["omnibus"] == "wilcoxon" and ours.procedure == "Wilcoxon signed rank test"
    assert stats.wilcoxon(*matrix.T).pvalue == pytest.approx(2 * case["p"])
    # Ours is exact with ties, where SciPy takes the normal distribution.
    near = stats.wilcoxon((matrix[:, 0] - matrix[:, 1]).round(6)).pvalue
    assert ours.pairs[0]["p_value"] == pytest.approx(near, rel=0.02)
