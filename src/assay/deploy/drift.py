"""Drift: how the columns of the rows that are asked about differ from those of the training table.

Numbers are counted between the deciles of the training table, labels by category; the population stability index
compares the shares: sum over bins of (p - q) log(p / q), with half a row added to each bin. Below 0.1 nothing has
moved, above 0.25 the column is another one (the usual reading). Of fewer than 50 rows chance alone says that much, and
nothing is said.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

ENOUGH = 50
"""Cells from which on a column has an index."""


class Drift:
    """Counts cells by column and bin; safe to use from several threads.

    >>> import polars as pl
    >>> profile = {"x": {"kind": "number", "edges": [0.0, 1.0, 2.0], "bins": [0.5, 0.5], "missing": 0.0}}
    >>> drift = Drift(profile)
    >>> drift.count(pl.DataFrame({"x": [5.0] * 100}))
    >>> drift.index("x") > 0.25
    True
    """

    def __init__(self, profile: Mapping[str, Mapping[str, Any]]):
        self._lock = threading.Lock()
        self.profile = profile
        self.rows = 0
        self.missing = dict.fromkeys(profile, 0)
        self.unseen = dict.fromkeys(profile, 0)
        self._shares: dict[str, np.ndarray] = {}
        self._counts: dict[str, np.ndarray] = {}
        self._places: dict[str, dict[Any, int]] = {}
        for name, about in profile.items():
            if about["kind"] == "number" and about.get("bins"):
                self._shares[name] = np.asarray(about["bins"], dtype=np.float64)
            elif about["kind"] in ("label", "boolean") and about.get("shares"):
                self._places[name] = {label: k for k, label in enumerate(about["shares"])}
                self._shares[name] = np.array([*about["shares"].values(), 0.0])
            if name in self._shares:
                self._counts[name] = np.zeros(self._shares[name].shape[0], dtype=np.int64)

    def count(self, frame: Any) -> None:
        """Count the cells of some rows."""
        with self._lock:
            self.rows += frame.height
            for name in self.profile:
                self._count_column(name, frame[name])

    def _count_column(self, name: str, series: Any) -> None:
        self.missing[name] += int(series.null_count())
        if name not in self._counts:
            return
        known = series.drop_nulls()
        places = self._places.get(name)
        if places is None:
            inner = np.asarray(self.profile[name]["edges"][1:-1], dtype=np.float64)
            bins = np.searchsorted(inner, known.to_numpy().astype(np.float64), side="left")
        else:
            last = len(places)
            bins = np.array([places.get(label, last) for label in known.to_list()], dtype=np.int64)
            self.unseen[name] += int((bins == last).sum())
        self._counts[name] += np.bincount(bins, minlength=self._counts[name].shape[0])

    def index(self, name: str) -> float | None:
        """The population stability index of a column; None where too little was counted."""
        counts = self._counts.get(name)
        if counts is None or counts.sum() < ENOUGH:
            return None
        shares = self._shares[name]
        kept = (shares > 0) | (counts > 0)
        total = counts.sum()
        seen = (counts[kept] + 0.5) / (total + 0.5 * kept.sum())
        before = (shares[kept] * total + 0.5) / (total + 0.5 * kept.sum())
        return float(((seen - before) * np.log(seen / before)).sum())
