"""Make docs/design/calibration-tests.md: how often each test rejects a true null, by simulation with fixed seeds.

Run from the root of the repository: `python -m tests.reference.calibration.make_table` (some minutes).
The simulations are those of tests/unit/evaluate/test_calibration.py, whose slow tests assert what the table shows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from tests.unit.evaluate.test_calibration import (
    family_errors,
    mcnemar_level,
    rank_levels,
    rejections,
    weak_rejections,
)

PAGE = Path(__file__).parents[3] / "docs" / "design" / "calibration-tests.md"
SETTLED = "two nearest-mean classifiers, one column each, 200 rows"
WEAK = "two nearest-mean classifiers, five weak columns each, {} rows"


def rows(scale: float) -> list[tuple[str, str, int, float]]:
    """(test, setting, repetitions, share of rejections)."""

    def many(n: int) -> int:
        return max(20, int(n * scale))

    found: list[tuple[str, str, int, float]] = []
    n = many(4000)
    shares = rejections(n, seed=31)
    found += [
        ("combined 5x2cv F", SETTLED, n, shares["5x2 F"]),
        ("5x2cv t", SETTLED, n, shares["5x2 t"]),
        ("corrected resampled t, 10x10", SETTLED, n, shares["corrected"]),
        ("**naive resampled t, 10x10**", SETTLED, n, shares["naive"]),
    ]
    n = many(1000)
    for n_rows in (1000, 300, 100):
        shares = weak_rejections(n_rows, n, seed=32)
        found += [
            ("combined 5x2cv F", WEAK.format(n_rows), n, shares["5x2 F"]),
            ("corrected resampled t, 10x10", WEAK.format(n_rows), n, shares["corrected"]),
        ]
    n = many(20_000)
    for n_rows, differ in ((50, 0.3), (100, 0.2), (1000, 0.1), (1000, 0.01)):
        setting = f"{n_rows} test rows, classifiers differ on {100 * differ:g} %"
        found.append(("McNemar", setting, n, mcnemar_level(n_rows, differ, n, seed=33)))
    n = many(5000)
    for n_sets, n_learners in ((6, 3), (10, 4), (15, 5), (30, 10)):
        overall, pair = rank_levels(n_sets, n_learners, n, seed=34)
        setting = f"{n_learners} learners, {n_sets} data sets"
        found += [("Friedman", setting, n, overall), ("Nemenyi, any pair", setting, n, pair)]
    n = many(2000)
    for design in ("5x2", "3x10"):
        share = family_errors(design, n, seed=35)
        found.append((f"`compare`, {design}, any pair of four", "four nearest-mean classifiers, 200 rows", n, share))
    return found


OPENING = """\
# How often the tests reject a true null

Made by `python -m tests.reference.calibration.make_table`; the seeds are fixed. In every setting the learners are
equally good by construction, so every rejection at level 0.05 is an error. The last column is three standard errors
of the simulation at a share of 0.05.

| test | setting | repetitions | rejected | noise |
| --- | --- | ---: | ---: | ---: |
"""
CLOSING = """
## What to read from it

- **The naive resampled t test is wrong**: it takes splits that share rows for independent ones. `compare` never chooses
  it, and refuses it by name unless forced.
- The combined 5x2cv F, the corrected resampled t, McNemar, Friedman and Nemenyi keep their level where their
  assumptions hold; McNemar is on the careful side, and so is Nemenyi for few data sets.
- **The fold tests are approximate.** Where half of the rows teach a learner too little (weak signal, few rows), its two
  halves fare well or badly together, the variance is taken for too small, and the combined F test rejects too often: of
  seven settings first tried it rejected 2.8 to 5.8 % in four, and 7, 10 and 19 % in the three with weak signals. The
  corrected t test with folds - 1 degrees of freedom does not.
- What `compare` does with all of them together is in [calibration](calibration.md).
"""


def page(found: list[tuple[str, str, int, float]]) -> str:
    """The page as text."""
    lines = [
        f"| {test} | {setting} | {n:,} | {100 * share:.1f} % | {300 * np.sqrt(0.05 * 0.95 / n):.1f} |\n"
        for test, setting, n, share in found
    ]
    return OPENING + "".join(lines) + CLOSING


if __name__ == "__main__":
    PAGE.write_text(page(rows(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)))
