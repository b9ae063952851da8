"""The datasets are what they say they are."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets

from assay.base import UsageError
from assay.data import DATASETS, load_dataset, make_customers


@pytest.mark.parametrize("name", DATASETS)
def test_every_dataset_has_its_target_and_task(name):
    table = load_dataset(name)
    target = table.target(DATASETS[name].target)
    assert target.task == DATASETS[name].task and target.kept.all()
    assert table.name == name and table.features(target).frame.width >= 3


@pytest.mark.parametrize(
    ("name", "loader"),
    [("iris", "load_iris"), ("wine", "load_wine"), ("breast-cancer", "load_breast_cancer"), ("digits", "load_digits")],
)
def test_classics_hold_the_numbers_of_scikit_learn(name, loader):
    raw = getattr(sklearn_datasets, loader)()
    frame = load_dataset(name).frame
    np.testing.assert_array_equal(frame.drop(DATASETS[name].target).to_numpy(), raw.data)


def test_diabetes_is_in_its_own_units():
    frame = load_dataset("diabetes").frame
    assert frame["age"].min() == 19 and set(frame["sex"].unique()) == {1, 2}
    np.testing.assert_array_equal(frame["progression"], sklearn_datasets.load_diabetes().target)


def test_the_weather_table_is_the_classic_one():
    frame = load_dataset("weather").frame
    yes = frame.filter(frame["play"] == "yes")
    assert frame.height == 14 and yes.height == 9
    assert {k: yes.filter(yes["outlook"] == k).height for k in ("sunny", "overcast", "rainy")} == {
        "sunny": 2, "overcast": 4, "rainy": 3,
    }  # fmt: skip
    assert load_dataset("weather").roles["temperature"].role == "nominal"


def test_both_weather_tables_tell_of_the_same_days():
    nominal, numeric = load_dataset("weather").frame, load_dataset("weather-numeric").frame
    for column in ("outlook", "windy", "play"):
        assert nominal[column].equals(numeric[column])


def test_the_bundled_customers_are_what_the_generator_makes():
    path = resources.files("assay.data") / "tables" / "customers.csv"
    assert make_customers().write_csv() == path.read_text(encoding="utf-8")


def test_customers_have_one_column_of_each_kind():
    table = load_dataset("customers")
    assert {name: role.role for name, role in table.roles.items()} == {
        "customer_id": "id", "region": "nominal", "plan": "nominal", "satisfaction": "ordinal", "age": "numeric",
        "income": "numeric", "monthly_charge": "numeric", "tenure_months": "numeric", "support_calls": "numeric",
        "signed_up": "datetime", "churned": "binary",
    }  # fmt: skip
    assert table.notes["income"]["tokens"]["N/A"] > 0 and table.frame["satisfaction"].null_count() > 0


def test_churn_can_be_learned_but_not_fully():
    table = load_dataset("customers")
    frame, churned = table.frame, table.target("churned").values == "yes"
    low, high = (churned[(frame["satisfaction"] == level).fill_null(False).to_numpy()] for level in ("low", "high"))
    assert low.mean() > high.mean() + 0.2, "satisfaction matters"
    assert high.mean() > 0.02 and low.mean() < 0.9, "and does not decide"


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(UsageError, match="did you mean 'iris'"):
        load_dataset("irsi")
    with pytest.raises(UsageError, match="there are iris, wine"):
        load_dataset("zzzzzzzz")
