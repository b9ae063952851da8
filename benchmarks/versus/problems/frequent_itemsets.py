"""Frequent itemsets of baskets with correlated items."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

SUPPORT, DENSE = 0.01, 0.2


def _make(rows: int) -> list[list[int]]:
    rng = np.random.default_rng(0)
    share = 0.5 / np.arange(1, 201) ** 0.6
    cells = rng.random((rows, 200)) < share
    for first in range(0, 200, 10):
        # Every tenth item draws the next ones along.
        cells[:, first + 1 : first + 4] |= cells[:, [first]] & (rng.random((rows, 3)) < 0.5)
    return [np.flatnonzero(row).tolist() for row in cells]


def _make_dense(rows: int) -> list[list[int]]:
    """Six themes of eight items each, most of which a basket with the theme holds."""
    rng = np.random.default_rng(0)
    themes = rng.random((rows, 6)) < 0.6
    cells = rng.random((rows, 48)) < np.repeat(np.where(themes, 0.85, 0.35), 8, axis=1)
    return [np.flatnonzero(row).tolist() for row in cells]


def _ours(baskets: list[list[int]], support: float = SUPPORT) -> int:
    from assay.models.baskets import FrequentItemsets

    return len(FrequentItemsets(min_support=support, n_jobs=-1).fit(baskets).itemsets_)


def _relim(baskets: list[list[int]]) -> int:
    from fim import relim

    return len(relim(baskets, target="s", supp=100 * SUPPORT, report="s"))


def _eclat(baskets: list[list[int]], support: float = SUPPORT, algo: str = "a") -> int:
    from fim import eclat

    return len(eclat(baskets, target="s", supp=100 * support, report="s", algo=algo))


def _fpgrowth(baskets: list[list[int]], support: float = SUPPORT) -> int:
    from fim import fpgrowth

    return len(fpgrowth(baskets, target="s", supp=100 * support, report="s"))


def _mlxtend(baskets: list[list[int]], support: float = SUPPORT) -> int:
    import pandas as pd
    from mlxtend.frequent_patterns import fpgrowth

    table = np.zeros((len(baskets), 200), dtype=bool)
    for row, basket in enumerate(baskets):
        table[row, basket] = True
    return len(fpgrowth(pd.DataFrame(table), min_support=support))


def _ours_dense(baskets: list[list[int]]) -> int:
    return _ours(baskets, DENSE)


def _eclat_dense(baskets: list[list[int]]) -> int:
    return _eclat(baskets, DENSE)


def _fpgrowth_dense(baskets: list[list[int]]) -> int:
    return _fpgrowth(baskets, DENSE)


def _sets(baskets: list[list[int]], found: Any) -> float:
    return float(found)


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="frequent-itemsets",
        title="frequent itemsets, 200 items, support 1 %",
        make=_make,
        sizes=by_rows("{n} baskets", 2_000, 10_000, 50_000),
        ours=Contender("assay FrequentItemsets", "assay", _ours),
        peers=(
            Contender("PyFIM relim", "pyfim", _relim, aim=1.5),
            Contender("PyFIM eclat", "pyfim", _eclat, aim=1.5),
            Contender("PyFIM eclat, algo='o'", "pyfim", partial(_eclat, algo="o"), aim=1.5),
            Contender("PyFIM fpgrowth", "pyfim", _fpgrowth, aim=1.5),
            Contender("mlxtend fpgrowth", "mlxtend", _mlxtend, aim=40.0),
        ),
        quality=_sets,
        gate=0.0,
        tried="PyFIM: eclat, fpgrowth, relim, fim, apriori and sam, from the quickest three of which these are taken; "
        "variants of eclat and fpgrowth: eclat's 'o' (occurrence deliver) is the quickest of all, a tenth ahead of "
        "relim, then fpgrowth's 'd'.",
        quality_name="sets",
        limit="one pass over the items, and a word per 64 baskets for each candidate",
    ),
    Problem(
        id="frequent-itemsets-dense",
        title="frequent itemsets, 48 items of which half are in a basket, support 20 %",
        make=_make_dense,
        sizes=by_rows("{n} baskets", 500, 2_000, 10_000),
        ours=Contender("assay FrequentItemsets", "assay", _ours_dense),
        peers=(
            Contender("PyFIM eclat", "pyfim", _eclat_dense, aim=1.5),
            Contender("PyFIM fpgrowth", "pyfim", _fpgrowth_dense, aim=1.5),
        ),
        quality=_sets,
        gate=0.0,
        tried="PyFIM: fpgrowth and fim are the quickest, then sam, eclat, relim and apriori.",
        quality_name="sets",
        limit="a word per 64 baskets for each candidate, and the sets as objects of Python",
    ),
)
