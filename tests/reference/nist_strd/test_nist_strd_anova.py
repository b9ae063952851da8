"""One-way analysis of variance on NIST's certified sets, within 0.3 digit of what float64 responses can hold."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from assay.evaluate import anova

SETS = json.loads((Path(__file__).parent / "anova" / "strd_anova.json").read_text())
FILES = Path(scipy.stats.__file__).parent / "tests" / "data" / "nist_anova"


def treatments(name: str) -> list[list[str]]:
    given = SETS[name]
    if "treatments" in given:
        return given["treatments"]
    turns = (given["per_treatment"] - 1) // 2
    return [[first, *two * turns] for first, *two in given["first_then_two_in_turn"]]


def exact_f(groups) -> Fraction:
    """F in rational arithmetic; equal values are counted rather than added one by one."""
    counted = [{value: group.count(value) for value in set(group)} for group in groups]
    sizes = [len(group) for group in groups]
    means = [sum(Fraction(v) * c for v, c in group.items()) / n for group, n in zip(counted, sizes)]
    grand = sum(m * n for m, n in zip(means, sizes)) / sum(sizes)
    between = sum(n * (m - grand) ** 2 for m, n in zip(means, sizes))
    within = sum(c * (Fraction(v) - m) ** 2 for group, m in zip(counted, means) for v, c in group.items())
    return between / (len(groups) - 1) / (within / (sum(sizes) - len(groups)))


def digits(found, certified: str) -> float:
    error = abs(float(Fraction(found) / Fraction(certified) - 1))
    return min(15.0, -math.log10(error)) if error else 15.0


@pytest.mark.parametrize("name", SETS)
def test_f_reaches_the_ceiling_of_float64_responses(name):
    certified = SETS[name]
    groups = [[float(text) for text in group] for group in treatments(name)]
    ceiling = digits(exact_f(groups), certified["F"])
    result = anova(*groups)
    assert digits(result.statistic, certified["F"]) >= ceiling - 0.3
    assert list(result.df) == certified["df"]
    assert digits(result.effect, certified["r_squared"]) >= min(ceiling, 14.7) - 0.3
    assert result.interval[0] <= result.effect <= result.interval[1]


@pytest.mark.parametrize("name", SETS)
def test_the_stored_responses_give_the_certified_f_in_rational_arithmetic(name):
    assert digits(exact_f(treatments(name)), SETS[name]["F"]) >= 14.5


@pytest.mark.skipif(not FILES.is_dir(), reason="this SciPy was installed without its test data")
@pytest.mark.parametrize("name", SETS)
def test_the_stored_responses_are_those_of_scipys_files(name):
    lines = (FILES / f"{name}.dat").read_text().splitlines()
    start = max(i for i, line in enumerate(lines) if line.startswith("Data:"))
    pairs = [line.split() for line in lines[start + 1 :] if len(line.split()) == 2]
    stored = [(str(i + 1), text) for i, group in enumerate(treatments(name)) for text in group]
    assert [(group, float(text)) for group, text in pairs] == [(group, float(text)) for group, text in stored]
    assert np.unique([group for group, _ in stored]).size == len(treatments(name))
