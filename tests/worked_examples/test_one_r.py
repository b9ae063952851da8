"""The weather data of Witten, Frank & Hall (Data Mining, table 1.2): 14 days, play or not."""

import numpy as np
import polars as pl

from assay.models.baselines import OneRClassifier

OUTLOOK = [
    "sunny",
    "sunny",
    "overcast",
    "rainy",
    "rainy",
    "rainy",
    "overcast",
    "sunny",
    "sunny",
    "rainy",
    "sunny",
    "overcast",
    "overcast",
    "rainy",
]
TEMPERATURE = [
    "hot",
    "hot",
    "hot",
    "mild",
    "cool",
    "cool",
    "cool",
    "mild",
    "cool",
    "mild",
    "mild",
    "mild",
    "hot",
    "mild",
]
HUMIDITY = [
    "high",
    "high",
    "high",
    "high",
    "normal",
    "normal",
    "normal",
    "high",
    "normal",
    "normal",
    "normal",
    "high",
    "normal",
    "high",
]
WINDY = [False, True, False, False, False, True, True, False, False, False, True, True, False, True]
PLAY = ["no", "no", "yes", "yes", "yes", "no", "yes", "no", "yes", "yes", "yes", "yes", "yes", "no"]
WEATHER = pl.DataFrame({"outlook": OUTLOOK, "temperature": TEMPERATURE, "humidity": HUMIDITY, "windy": WINDY})


def test_one_rule_of_the_weather_data_is_outlook_with_10_of_14():
    model = OneRClassifier().fit(WEATHER, PLAY)
    assert model.column_name_ == "outlook"
    assert [(rule["if"], rule["then"]) for rule in model.branches_] == [
        ("outlook = overcast", "yes"),
        ("outlook = rainy", "yes"),
        ("outlook = sunny", "no"),
    ]
    np.testing.assert_allclose(model.column_errors_, [4 / 14, 5 / 14, 4 / 14, 5 / 14])
    assert model.score(WEATHER, PLAY) == 10 / 14
    assert model.to_text().endswith("10 of 14 right")
