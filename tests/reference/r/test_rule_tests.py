"""Fisher's exact test and the chi-squared statistic of rules against base R (see make_rule_tests.R)."""

import json
from pathlib import Path

import numpy as np
import pytest

from assay.models.baskets.association_rules import rule_measures

TOLD = json.loads((Path(__file__).parent / "rule_tests.json").read_text())["rules"]


@pytest.mark.parametrize("told", TOLD, ids=lambda told: f"{told['both']} of {told['n']}")
def test_p_values_and_chi_squared_are_those_of_r(told):
    found = rule_measures(np.array([[told["left"], told["right"], told["both"]]]), told["n"])
    assert found["p_value"][0] == pytest.approx(told["p_value"], rel=1e-9)
    assert found["chi_squared"][0] == pytest.approx(told["chi_squared"], rel=1e-9, abs=1e-12)
