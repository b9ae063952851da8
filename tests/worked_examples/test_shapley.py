"""002: the Shapley value of age from its four coalitions."""

from __future__ import annotations

import pytest

from assay.base.errors import DataError
from assay.explain import shapley_values

PREDICTED = {"": 50, "J": 100, "G": 48, "JG": 95, "A": 40, "AJ": 85, "AG": 39, "AJG": 83}


def test_the_value_of_age_is_minus_eleven_and_a_third():
    known = {frozenset(name): float(value) for name, value in PREDICTED.items()}
    found = shapley_values(known.__getitem__, ["A", "J", "G"])
    assert found["A"] == pytest.approx(-10 / 3 - 15 / 6 - 9 / 6 - 12 / 3)
    assert round(found["A"], 2) == -11.33
    assert sum(found.values()) == pytest.approx(83 - 50)


def test_too_many_players_are_refused():
    with pytest.raises(DataError, match="20"):
        shapley_values(lambda known: 0.0, list(range(21)))
