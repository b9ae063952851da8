"""Mean, standard deviation and autocorrelation on NIST's univariate sets, to the digits float64 can hold."""

from __future__ import annotations

import json
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from assay.evaluate.numerics import autocorrelation, mean, standard_deviation

getcontext().prec = 40
SETS = json.loads((Path(__file__).parent / "univariate" / "strd_univariate.json").read_text())
QUANTITIES = {"mean": mean, "standard_deviation": standard_deviation, "autocorrelation": autocorrelation}


def texts(name: str) -> list[str]:
    given = SETS[name]
    if "values" in given:
        return given["values"].split()
    if "first_then_two_in_turn" in given:
        first, *two = given["first_then_two_in_turn"]
        return [first, *two * 500]
    digits = list(digits_of_pi(5000))
    digits[956] = "3"  # the slip of the set: pi has 8 there (see README.md)
    return digits


def digits_of_pi(count: int) -> str:
    """Machin's formula in integers: pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    unit = 10 ** (count + 10)

    def arctan_of_inverse(x: int) -> int:
        term, total, k = unit // x, unit // x, 1
        while term:
            term //= -x * x
            k += 2
            total += term // k
        return total

    scaled = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    digits = []
    for _ in range(count):
        digit, scaled = divmod(scaled, unit)
        digits.append(str(digit))
        scaled *= 10
    return "".join(digits)


def exact(values) -> dict[str, Decimal]:
    """The three quantities in rational arithmetic."""
    numbers = [Fraction(value) for value in values]
    middle = sum(numbers) / len(numbers)
    deviations = [number - middle for number in numbers]
    squares = sum(d * d for d in deviations)
    lagged = sum(a * b for a, b in pairwise(deviations)) / squares
    variance = squares / (len(numbers) - 1)
    return {
        "mean": Decimal(middle.numerator) / middle.denominator,
        "standard_deviation": (Decimal(variance.numerator) / variance.denominator).sqrt(),
        "autocorrelation": Decimal(lagged.numerator) / lagged.denominator,
    }


def digits(found, certified: str) -> float:
    error = abs((Decimal(found) - Decimal(certified)) / Decimal(certified))
    return min(15.0, float(-(error.log10()))) if error else 15.0


@pytest.mark.parametrize("name", SETS)
def test_the_data_give_the_certified_values_in_rational_arithmetic(name):
    found = exact(texts(name))
    for quantity in QUANTITIES:
        assert digits(found[quantity], SETS[name][quantity]) >= 14.0


def test_the_certified_values_of_pi_digits_belong_to_the_set_and_not_to_pi():
    found = exact(digits_of_pi(5000))
    assert found["mean"] * 5000 == Decimal(SETS["PiDigits"]["mean"]) * 5000 + 5


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("name", SETS)
def test_digits_reach_the_ceiling_of_float64_input(name, quantity):
    values = np.array([float(text) for text in texts(name)])
    ceiling = digits(exact(values.tolist())[quantity], SETS[name][quantity])
    assert digits(QUANTITIES[quantity](values), SETS[name][quantity]) >= min(ceiling, 15.0) - 0.3
