"""Coverage of the intervals by simulation; docs/design/calibration-intervals.md has the full table."""

from __future__ import annotations

import numpy as np
import pytest
from interval_coverage import METHODS, SETTINGS, coverage

RIGHT = [s for s in SETTINGS if s[3] == 0.8 and not (s[1] == 100 and s[2] == 0.05)]
NAMES = tuple(name for name in METHODS if "percentile" not in name and "plain" not in name)


def check(setting: tuple, repetitions: int, names: tuple[str, ...], allowed: float) -> None:
    noise = 3 * np.sqrt(0.95 * 0.05 / repetitions)
    for name, (share, _) in coverage(*setting[1:], repetitions, 17, names).items():
        assert abs(share - 0.95) <= allowed + noise, f"{name} covers {share:.3f}"


def test_intervals_cover_at_100_rows():
    check(RIGHT[0], 200, ("area under ROC, BCa", "area under ROC, DeLong (logit)", "F1, BCa"), 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("setting", RIGHT, ids=lambda s: s[0])
def test_intervals_cover_within_two_points(setting):
    check(setting, 1500, NAMES, 0.02)


@pytest.mark.slow
def test_five_positives_are_too_few_for_the_bootstrap():
    """What the page says: with about five positives the interval of the area covers well below its level."""
    shares = coverage(*SETTINGS[-1][1:], 1000, 17, ("area under ROC, percentile", "area under ROC, BCa"))
    assert all(share < 0.93 for share, _ in shares.values())
