"""Rules for the weather data of Witten, Frank & Hall (Data Mining, table 1.2): 14 days, play or not."""

from __future__ import annotations

import pytest

from assay.data.datasets import load_dataset
from assay.models.rules import Ripper, RulesFromTree, SequentialCovering


@pytest.fixture(scope="module")
def weather():
    frame = load_dataset("weather").frame
    return frame.drop("play"), frame["play"].to_numpy()


@pytest.mark.parametrize("model", [Ripper(random_state=0, prune=False), SequentialCovering(prune=False)])
def test_growing_by_foil_gives_the_two_rules_that_weka_shows_for_the_weather_data(weather, model):
    """WEKA's JRip prints (humidity = high) and (outlook = sunny) => no (3/0), (outlook = rainy) and (windy = TRUE)
    => no (2/0), => yes (9/0)."""
    assert model.fit(*weather).to_text().splitlines() == [
        "IF humidity = high AND outlook = sunny THEN no (3 of 3)",
        "IF outlook = rainy AND windy = True THEN no (2 of 2)",
        "OTHERWISE yes (9 of 9)",
    ]


def test_overcast_days_are_a_rule_of_their_own_where_every_class_has_rules(weather):
    """Table 1.2: all four overcast days are played."""
    model = SequentialCovering(ordered=False, prune=False, quality="laplace", beam_width=5).fit(*weather)
    assert "IF outlook = overcast THEN yes (4 of 4)" in model.to_text()
    first = next(row for row in model.rules_.statistics() if row["if"] == "outlook = overcast")
    assert first["coverage"] == pytest.approx(4 / 14) and first["confidence"] == 1.0
    assert first["lift"] == pytest.approx(14 / 9)


def test_rules_from_the_tree_get_all_14_days_right(weather):
    model = RulesFromTree(min_samples_leaf=1).fit(*weather)
    assert model.score(*weather) == 1.0 and len(model.rules_) <= 4
