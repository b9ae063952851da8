"""Sets of items that many baskets hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import _kernels
from ...base.errors import DataError, ParameterError
from ...base.estimator import Estimator
from ...base.parameters import Choice, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param
from .reading import Baskets, read_baskets


class Miner(Estimator):
    """Base of what is mined in baskets: frequent itemsets by bitsets, within a bound on their number."""

    _squares = False

    min_support: float = param(0.1, Real(0, 1, "right"), "Least share of the baskets that hold a set.")
    max_length: int | None = param(None, Integer(1) | Nothing(), "Most items of a set; None: any number.")
    max_itemsets: int = param(5_000_000, Integer(1), "Refuse to keep more sets than this.")
    n_jobs: int | None = n_jobs_param()

    def _mine(self, baskets: Baskets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts, items and counts of every frequent itemset."""
        n = baskets.n_baskets
        # The least whole number of baskets whose share is not below the support, up to rounding.
        least = max(1, math.ceil(self.min_support * n - 1e-9 * n))
        found = _kernels.frequent_itemsets(
            baskets.offsets,
            baskets.ids,
            len(baskets.labels),
            least,
            self.max_length or 0,
            self.max_itemsets,
            thread_count(self.n_jobs),
        )
        complete, starts, items, counts = found
        if not complete:
            raise DataError(
                type(self).__name__,
                "the baskets",
                f"must have at most max_itemsets={self.max_itemsets} frequent sets",
                f"there are more with min_support={self.min_support:g}",
                "raise min_support, or bound max_length",
            )
        return starts, items, counts


class FrequentItemsets(Miner):
    """Every set of items that at least a share of the baskets holds; the closed or the maximal ones if asked.

    A closed set has no larger one with its support, a maximal set no larger frequent one: few of them tell of all.

    {parameters}

    Attributes
    ----------
    itemsets_ : pairs of items and support, by size and items
    n_baskets_ : how many baskets there were

    Examples
    --------
    >>> from assay.models.baskets import FrequentItemsets
    >>> baskets = [["bread", "butter"], ["bread", "butter", "tea"], ["tea"], ["bread"]]
    >>> FrequentItemsets(min_support=0.5).fit(baskets).itemsets_
    [(('bread',), 0.75), (('butter',), 0.5), (('tea',), 0.5), (('bread', 'butter'), 0.5)]
    """

    _open_state = ("itemsets_",)
    """Shares of baskets are finite as they are made; a look at each of a million would take long."""

    keep: str = param("all", Choice("all", "closed", "maximal"), "All frequent sets, or the closed or maximal ones.")

    def fit(
        self, baskets: Any, y: Any = None, *, basket: str | None = None, item: str | None = None
    ) -> FrequentItemsets:
        """Find them: in lists of items, a table of true and false, or with `basket` and `item` a long table."""
        self._check_parameters()
        who = type(self).__name__
        if self.keep != "all" and self.max_length is not None:
            raise ParameterError(
                who,
                "parameter 'max_length'",
                "must be None for closed or maximal sets",
                f"got {self.max_length} with keep='{self.keep}'",
                "longer sets decide which ones these are",
            )
        read = read_baskets(who, baskets, basket, item)
        starts, items, counts = self._mine(read)
        wanted = np.ones(len(counts), dtype=np.uint8)
        if self.keep != "all":
            kinds = _kernels.itemset_kinds(starts, items, counts, len(read.labels))
            wanted = kinds & np.uint8(1 if self.keep == "closed" else 2)
        self.n_baskets_ = read.n_baskets
        self.itemsets_ = _kernels.itemset_pairs(starts, items, counts, wanted, read.labels, read.n_baskets)
        return self
