"""The rule of one column, judged on rows it was not drawn from, and the finding it serves (A032)."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.data import Table, audit, load_dataset
from assay.data.findings.interval_rule import rule_rightness


def told(cells, codes):
    frame = pl.DataFrame({"x": cells, "y": np.array(["no", "yes", "so"])[codes]})
    return [one for one in audit(Table.from_frame(frame), target="y").findings if one.code == "A032"]


@pytest.fixture
def noise():
    rng = np.random.default_rng(5)
    return rng.normal(size=600), rng.integers(0, 2, 600)


def test_a_single_value_that_gives_the_class_away_is_found(noise):
    cells, codes = noise
    cells = np.where(codes == 1, 0.0, cells)
    assert rule_rightness(cells, codes, 2)[0] == 1.0
    (finding,) = told(cells, codes)
    assert finding.severity == "high" and finding.columns == ["x"] and "intervals" in finding.evidence


@pytest.mark.parametrize("middle", [0.3, 1.1])
def test_a_narrow_interval_that_is_the_class_is_found(noise, middle):
    cells = noise[0]
    codes = (np.abs(cells - middle) < 0.2).astype(int)
    (finding,) = told(cells, codes)
    assert finding.columns == ["x"] and finding.statistics["score"] >= 0.97


def test_gaps_do_not_hide_a_value_that_gives_the_class_away(noise):
    cells, codes = noise
    cells = np.where(codes == 1, 7.25, cells)
    cells[::10] = np.nan
    assert told(cells, codes)


def test_intervals_do_not_fit_noise():
    rng = np.random.default_rng(0)
    for _ in range(50):
        right, base = rule_rightness(rng.normal(size=200), rng.integers(0, 2, 200), 2)
        assert right < base + 0.2


def test_a_rare_class_is_not_found_in_noise():
    rng = np.random.default_rng(1)
    codes = np.zeros(400, dtype=int)
    codes[rng.choice(400, 10, replace=False)] = 1
    assert not any(told(rng.normal(size=400), codes) for _ in range(30))


def test_an_honest_strong_feature_is_no_leak(noise):
    """Right in 97 % of the rows, which is a share of 0.94 of the error of guessing: below 0.97."""
    cells = noise[0]
    codes = (cells > 0).astype(int)
    wrong = np.random.default_rng(2).choice(600, 18, replace=False)
    codes[wrong] = 1 - codes[wrong]
    right, _ = rule_rightness(cells, codes, 2)
    assert right < 0.975 and not told(cells, codes)


@pytest.mark.parametrize(
    ("name", "target"), [("iris", "species"), ("wine", "cultivar"), ("breast-cancer", "diagnosis")]
)
def test_the_classics_are_no_leaks(name, target):
    assert not [one for one in audit(load_dataset(name), target=target).findings if one.code in ("A006", "A032")]


def test_a_value_of_a_long_column_is_found():
    codes = (np.arange(50_001) % 7 == 0).astype(int)
    cells = np.where(codes == 1, 0.0, np.random.default_rng(3).normal(size=50_001))
    assert told(cells, codes)


def test_the_middle_of_two_neighbouring_numbers_stays_between_them():
    low = 1.0
    high = float(np.nextafter(low, 2.0))
    cells = np.repeat([low, high], 60)
    assert rule_rightness(cells, np.repeat([0, 1], 60), 2) == (1.0, 0.5)
