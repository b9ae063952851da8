"""Datasets that come with Assay: classics from scikit-learn, the weather table, and a synthetic customer table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from importlib import resources
from typing import Any

import numpy as np
import polars as pl

from ..base.errors import UsageError, plain
from ..base.randomness import Stream
from .read import read_table
from .roles import nearest
from .table import Table


@dataclass(frozen=True)
class Dataset:
    """What `load_dataset` can give: the column one usually predicts, the task, and one line about it."""

    target: str
    task: str
    about: str


DATASETS: dict[str, Dataset] = {
    "iris": Dataset("species", "classify", "150 flowers of three species by four measurements (Fisher 1936)"),
    "wine": Dataset("cultivar", "classify", "178 wines of three cultivars by thirteen chemical measurements"),
    "breast-cancer": Dataset("diagnosis", "classify", "569 tumours, malignant or benign, by thirty cell measurements"),
    "diabetes": Dataset("progression", "regress", "442 patients: disease progression after a year (Efron et al. 2004)"),
    "digits": Dataset("digit", "classify", "1797 handwritten digits as 8 x 8 grey pixels"),
    "weather": Dataset("play", "classify", "14 days: play golf or not, by four nominal columns (Quinlan 1986)"),
    "weather-numeric": Dataset("play", "classify", "the 14 days with temperature and humidity as numbers"),
    "customers": Dataset(
        "churned", "classify", "1500 synthetic customers: mixed columns, missing values, dates, numbers written as text"
    ),
}


def load_dataset(name: str) -> Table:
    """A dataset by name; `DATASETS` lists them with their usual target.

    >>> table = load_dataset("iris")
    >>> table.n_rows, table.target(DATASETS["iris"].target).classes
    (150, ['setosa', 'versicolor', 'virginica'])
    """
    if name in ("weather", "weather-numeric", "customers"):
        with resources.as_file(resources.files("assay.data") / "tables" / f"{name}.csv") as path:
            table = read_table(path)
        return Table(name, f"assay:{name}", table.frame, table.roles, table.notes, table.reading)
    if name in DATASETS:
        return Table.build(_from_sklearn(name), name=name, source=f"scikit-learn:{name}")
    raise UsageError("load_dataset", f"dataset '{plain(name)}'", "is not there", way_out=_hint(name))


def _hint(name: object) -> str:
    hint = nearest(name, list(DATASETS))
    return hint if hint.startswith("did") else f"there are {', '.join(DATASETS)}"


def _from_sklearn(name: str) -> pl.DataFrame:
    from sklearn import datasets

    if name == "iris":
        raw = datasets.load_iris()
        names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
        return _frame(raw.data, names, "species", raw.target_names[raw.target])
    if name == "wine":
        raw = datasets.load_wine()
        names = [column.replace("/", "_") for column in raw.feature_names]
        return _frame(raw.data, names, "cultivar", raw.target_names[raw.target])
    if name == "breast-cancer":
        raw = datasets.load_breast_cancer()
        names = [column.replace(" ", "_") for column in raw.feature_names]
        return _frame(raw.data, names, "diagnosis", raw.target_names[raw.target])
    if name == "diabetes":
        raw = datasets.load_diabetes(scaled=False)
        names = ["age", "sex", "bmi", "blood_pressure", "tc", "ldl", "hdl", "tch", "ltg", "glucose"]
        return _frame(raw.data, names, "progression", raw.target)
    raw = datasets.load_digits()
    names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    return _frame(raw.data, names, "digit", raw.target.astype(np.int64))


def _frame(data: np.ndarray, names: list[str], target: str, values: np.ndarray) -> pl.DataFrame:
    columns: dict[str, Any] = {}
    for j, name in enumerate(names):
        column = np.ascontiguousarray(data[:, j])
        columns[name] = column.astype(np.int64) if (column == np.floor(column)).all() else column
    columns[target] = values.tolist() if values.dtype.kind in "UO" else values
    return pl.DataFrame(columns)


def make_customers(n_rows: int = 1500, random_state: Any = 20240501) -> pl.DataFrame:
    """The customer table as it lies in the package: every cell is text or a number as a business system exports it.

    `churned` depends on satisfaction, support calls, tenure, charge and plan through a logistic model with one
    interaction and one threshold, and on chance; region, age and income carry little or nothing. Satisfaction is
    missing more often for customers who call support; income is written with thousands separators.

    >>> make_customers(5).columns[:3]
    ['customer_id', 'region', 'plan']
    """
    rng = Stream.of(random_state).generator()
    region = rng.choice(["north", "south", "east", "west"], n_rows, p=[0.35, 0.3, 0.2, 0.15])
    plan = rng.choice(["solo", "family", "business"], n_rows, p=[0.5, 0.35, 0.15])
    age = np.clip(np.round(rng.normal(44, 14, n_rows)), 18, 90).astype(int)
    tenure = np.minimum(np.round(rng.exponential(26, n_rows)), 96).astype(int)
    base = np.select([plan == "solo", plan == "family"], [32.0, 55.0], 88.0)
    charge = np.round(base * rng.lognormal(0, 0.18, n_rows), 2)
    calls = rng.poisson(np.where(tenure < 12, 1.9, 1.0))
    mood = 1.1 - 0.55 * calls - 0.008 * (charge - base) + rng.logistic(0, 0.8, n_rows)
    satisfaction = np.select([mood < -0.4, mood < 1.0], ["low", "medium"], "high").astype(object)
    income = np.round(np.exp(rng.normal(10.5, 0.45, n_rows)) + 300 * age, 2)
    logit = (
        -1.15
        + 0.55 * np.minimum(calls, 5)
        - 0.035 * np.minimum(tenure, 48)
        + 0.9 * (satisfaction == "low")
        - 1.1 * (satisfaction == "high")
        + 0.02 * (charge - base)
        + 0.9 * ((plan == "solo") & (tenure < 6))
        - 0.5 * (plan == "business")
        + 0.7 * (charge > 95)
    )
    churned = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-logit)), "yes", "no")
    last_day = date(2024, 5, 1)
    signed_up = [
        (last_day - timedelta(days=int(30.4 * months) + int(extra))).isoformat()
        for months, extra in zip(tenure, rng.integers(0, 30, n_rows))
    ]
    satisfaction[rng.random(n_rows) < np.where(calls > 2, 0.18, 0.05)] = None
    ages = age.astype(object)
    ages[rng.random(n_rows) < 0.04] = None
    incomes = np.where(rng.random(n_rows) < 0.06, "N/A", np.array([f"{value:,.2f}" for value in income], dtype=object))
    return pl.DataFrame(
        {
            "customer_id": [f"C{number:05d}" for number in rng.permutation(90_000)[:n_rows] + 10_000],
            "region": region.tolist(),
            "plan": plan.tolist(),
            "satisfaction": pl.Series(satisfaction.tolist(), dtype=pl.String),
            "age": pl.Series(ages.tolist(), dtype=pl.Int64),
            "income": incomes.tolist(),
            "monthly_charge": charge,
            "tenure_months": tenure,
            "support_calls": calls,
            "signed_up": signed_up,
            "churned": churned.tolist(),
        }
    )
