"""Missing values: counted, explained by tests, and found under their disguise."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.data import Table, audit
from assay.prepare import step_for

N = 600


def result(target=None, **columns):
    return audit(Table.from_frame(pl.DataFrame(columns)), target=target)


def codes(found, column):
    return [f.code for f in found.findings if f.columns[:1] == [column]]


def finding(found, code):
    return next(f for f in found.findings if f.code == code)


def base(seed=0):
    rng = np.random.default_rng(seed)
    return rng, {"x": rng.normal(size=N), "z": rng.normal(size=N), "g": rng.choice(["a", "b", "c"], N)}


def holed(values, gone):
    return pl.Series(values).set(pl.Series(gone), None)


def test_gaps_at_random_are_called_so():
    rng, columns = base()
    found = result(**{**columns, "m": holed(rng.normal(size=N), rng.random(N) < 0.1)})
    assert codes(found, "m") == ["A001"]
    assert finding(found, "A001").statistics["mechanism"] == "completely at random"


def test_gaps_at_random_are_rarely_called_anything_else():
    """Over 200 tables with gaps at random, the corrected tests of level .01 speak in few."""
    wrong = 0
    for seed in range(200):
        rng, columns = base(seed)
        found = result(**{**columns, "m": holed(rng.normal(size=N), rng.random(N) < 0.1)})
        wrong += finding(found, "A001").statistics["mechanism"] != "completely at random"
    assert wrong <= 8


@pytest.mark.parametrize("kind", ["group", "number"])
def test_gaps_that_depend_on_a_column_name_it(kind):
    rng, columns = base()
    rate = np.where(columns["g"] == "a", 0.4, 0.05) if kind == "group" else 0.4 / (1 + np.exp(-3 * columns["x"]))
    found = result(**{**columns, "m": holed(rng.normal(size=N), rng.random(N) < rate)})
    told = finding(found, "A017")
    assert told.columns == ["m", "g" if kind == "group" else "x"]
    assert told.remedy["step"] == ("impute-group" if kind == "group" else "impute-multiple")
    assert told.statistics["tests"][0]["p_holm"] < 0.01
    if kind == "group":
        assert told.remedy["parameters"] == {"by": ["g"], "strategy": "median"}


def test_gaps_that_go_with_the_target_alone_are_suspect():
    rng, columns = base()
    y = rng.choice(["no", "yes"], N)
    gone = rng.random(N) < np.where(y == "yes", 0.35, 0.02)
    found = result("y", **{**columns, "m": holed(rng.normal(size=N), gone), "y": y})
    assert "target alone" in finding(found, "A018").evidence


@pytest.mark.parametrize("side", [1, -1])
def test_a_distribution_that_breaks_off_is_suspect(side):
    rng, columns = base()
    values = rng.normal(10, 1, N)
    found = result(**{**columns, "m": holed(values, side * (values - 10) > 1)})
    assert "break off" in finding(found, "A018").evidence


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.exponential(size=N),
        lambda rng: rng.uniform(size=N),
        lambda rng: np.exp(rng.normal(size=N)),
        lambda rng: rng.beta(5, 1.2, N) * 100,
    ],
)
def test_skewed_and_bounded_columns_are_not_called_cut(draw):
    for seed in range(5):
        rng, columns = base(seed)
        found = result(**{**columns, "m": holed(draw(rng), rng.random(N) < 0.1)})
        assert "A018" not in codes(found, "m")


def test_too_few_gaps_are_not_tested():
    rng, columns = base()
    gone = np.arange(N) < 4
    assert finding(result(**{**columns, "m": holed(rng.normal(size=N), gone)}), "A001").statistics["mechanism"] == (
        "too few to test"
    )


def test_dates_and_words_that_mean_missing_are_found():
    rng, columns = base()
    days = pl.Series(rng.integers(1.5e15, 1.7e15, N)).cast(pl.Datetime("us"))
    days = days.set(pl.Series(np.arange(N) < 3), None)
    days = days.fill_null(pl.Series(["1900-01-01"]).str.to_datetime(time_unit="us")[0])
    found = result(**{**columns, "d": days, "w": np.where(np.arange(N) < 5, "N/A", columns["g"])})
    disguised = {f.columns[0]: f for f in found.findings if f.code == "A007"}
    assert disguised["d"].rows["count"] == 3 and disguised["w"].rows["count"] == 5
    assert disguised["w"].remedy["parameters"]["mapping"] == {"w": {"N/A": None}}


def test_two_codes_in_one_column_are_both_found():
    rng, columns = base()
    ages = rng.integers(20, 80, N)
    ages[:4], ages[4:9] = -99, 999
    told = [f.statistics["values"] for f in result(**{**columns, "v": ages}).findings if f.code == "A007"]
    assert told == [["-99"], ["999"]]


def test_the_remedy_of_a_number_in_disguise_names_the_number():
    rng, columns = base()
    values = rng.uniform(0, 50, N)
    values[:6] = -999
    told = finding(result(**{**columns, "v": values}), "A007")
    assert told.remedy["parameters"] == {"mapping": {"v": {-999: None}}}
    assert told.to_dict()["remedy"]["parameters"] == {"mapping": {"v": {"-999": None}}}


def test_the_remedy_never_needs_the_target_and_uses_the_other_columns():
    """The target is no column of the rows that the step prepares."""
    rng, columns = base()
    churned = np.where(columns["x"] > 0.5, "yes", "no")
    values = columns["x"] + 0.1 * rng.normal(size=N)
    table = pl.DataFrame(
        {**columns, "churned": churned, "m": holed(values, (columns["x"] > 0) & (rng.random(N) < 0.5))}
    )
    told = finding(audit(table, target="churned"), "A017")
    assert "churned" in told.columns[1:] and "churned" not in str(told.remedy)
    step = step_for(told).fit(table.drop("churned"))
    error = step.transform(table.drop("churned"))["m"].to_numpy() - values
    assert np.abs(error).max() < 0.6
