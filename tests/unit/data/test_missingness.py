"""Little's joint test against R, against its own distribution, and against tables whose gaps have a reason."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from assay.base import DataError
from assay.data import audit, little_mcar, load_dataset

FACTS = json.loads((Path(__file__).parents[2] / "reference" / "r" / "little.json").read_text())


def holed_iris() -> np.ndarray:
    cells, row = load_dataset("iris").frame.drop("species").to_numpy().copy(), np.arange(150)
    cells[(row % 5 == 0) & (cells[:, 2] > 3), 1] = np.nan
    cells[row % 7 == 0, 0] = np.nan
    cells[row % 11 == 3, 3] = np.nan
    return cells


@pytest.mark.parametrize("name", ["airquality", "iris"])
def test_numbers_are_those_of_r(name):
    """EM over single rows written out in R 4.2."""
    found = little_mcar(pl.DataFrame(FACTS["table"]) if name == "airquality" else holed_iris())
    facts = FACTS[name]
    assert (found.df, found.patterns) == (facts["df"], facts["patterns"])
    assert found.statistic == pytest.approx(facts["statistic"], rel=1e-8)
    assert found.p_value == pytest.approx(facts["p_value"], rel=1e-7)


def test_numbers_are_those_that_naniar_records():
    """What naniar's regression test expects of mcar_test(airquality), whose EM stops earlier than ours."""
    found, facts = little_mcar(pl.DataFrame(FACTS["table"])), FACTS["naniar"]
    assert (found.df, found.patterns) == (facts["df"], facts["patterns"])
    assert found.statistic == pytest.approx(facts["statistic"], rel=1e-5)
    assert found.p_value == pytest.approx(facts["p_value"], rel=1e-4)


def test_units_and_the_order_of_rows_and_columns_do_not_matter():
    cells = holed_iris()
    order = np.random.default_rng(0).permutation(150)
    turned = cells[order][:, [2, 0, 3, 1]] * [1e-6, 1.0, 1e9, -3.0] + [5e-6, 1e3, 0.0, 7.0]
    assert little_mcar(turned).statistic == pytest.approx(little_mcar(cells).statistic, rel=1e-6)


def test_more_rows_than_a_block_give_the_same_as_one_block(monkeypatch):
    whole = little_mcar(holed_iris())
    monkeypatch.setattr("assay.data.missingness._ROWS", 40)
    monkeypatch.setattr("assay.data.missingness._BATCH", 3)
    assert little_mcar(holed_iris()).statistic == pytest.approx(whole.statistic, rel=1e-10)


def test_p_values_are_even_where_gaps_are_left_to_chance():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(200):
        cells = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3))
        cells[rng.random(cells.shape) < 0.15] = np.nan
        found.append(little_mcar(cells, tol=1e-6).p_value)
    assert stats.kstest(found, "uniform").pvalue > 0.01


def test_gaps_that_depend_on_another_column_are_found():
    rng = np.random.default_rng(2)
    cells = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=500)
    cells[cells[:, 0] > 0.8, 1] = np.nan
    found = little_mcar(cells)
    assert found.p_value < 1e-6 and found.effect > 0.3 and "Little's test: chi-square" in str(found)


def test_columns_and_rows_that_say_nothing_are_left_out():
    cells = holed_iris()
    padded = np.column_stack([cells, np.full(150, 4.0), np.full(150, np.nan)])
    padded = np.vstack([padded, np.full(6, np.nan)])
    assert little_mcar(padded).statistic == pytest.approx(little_mcar(cells).statistic, rel=1e-9)


def test_a_complete_table_has_nothing_to_test():
    found = little_mcar(load_dataset("iris").frame.drop("species"))
    assert (found.statistic, found.df, found.p_value, found.patterns) == (0.0, 0, 1.0, 1)


def test_infinite_cells_count_as_missing():
    cells = holed_iris()
    endless = little_mcar(np.where(np.isnan(cells), np.inf, cells))
    assert endless.statistic == pytest.approx(little_mcar(cells).statistic, rel=1e-9)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]}), "column 'b' must hold numbers"),
        (np.array([["a", "b"]]), "must be a table of numbers"),
        (np.arange(3.0), "must be a table of numbers"),
        (np.ones((5, 3)), "must have 2 columns of numbers that vary; got 0"),
        (
            np.column_stack(
                [np.arange(30.0), 2 * np.arange(30.0), np.where(np.arange(30) % 3, np.arange(30.0), np.nan)]
            ),
            "linear functions of others",
        ),
    ],
    ids=["text", "words", "vector", "constant", "dependent"],
)
def test_refusals_say_what_to_do(X, words):
    with pytest.raises(DataError, match=words):
        little_mcar(X)


def test_a_looser_stop_is_less_exact():
    exact = little_mcar(holed_iris()).statistic
    assert abs(little_mcar(holed_iris(), max_iter=1).statistic - exact) > 1e-3
    assert 1e-13 < abs(little_mcar(holed_iris(), tol=1e-2).statistic / exact - 1) < 0.1


def test_the_audit_reports_it_with_missing_numbers():
    table = pl.DataFrame(holed_iris(), schema=["a", "b", "c", "d"]).fill_nan(None)
    found = {f.columns[0]: f for f in audit(table).findings if f.code == "A001"}
    assert found["a"].statistics["little"]["df"] == 15
    assert "Little's joint test" in found["a"].evidence
