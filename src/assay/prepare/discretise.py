"""Numbers as intervals: equal width, equal frequency, k-means, or cuts that the classes ask for (entropy and MDL)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from ..base import Choice, Cost, Integer, ParameterError, param, plain
from .step import TableStep, class_codes, columns_param, free_name, is_number, matrix_of


class Discretise(TableStep):
    """Cuts columns of numbers into intervals.

    "equal-width" divides the range evenly, "equal-frequency" puts about the same number of training rows into each
    interval, "k-means" puts cuts midway between the centres of a one-dimensional k-means. "mdl" needs classes: it
    cuts where the entropy of the classes falls most and goes on as long as the description gets shorter (Fayyad and
    Irani), so that the number of intervals follows from the data and a column that says nothing gets no cut. A value on
    a cut belongs to the interval above it; rows beyond the training range belong to the outer intervals, and missing
    cells stay missing.

    Attributes
    ----------
    cut_ : list of the columns that are cut
    cuts_ : list of arrays, the cuts of each of them in increasing order

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import Discretise
    >>> ages = pl.DataFrame({"age": [22.0, 25.0, 31.0, 58.0, 60.0, 63.0]})
    >>> step = Discretise(method="mdl", output="labels").fit(ages, ["no", "no", "no", "yes", "yes", "yes"])
    >>> step.transform(ages)["age"].unique(maintain_order=True).to_list()
    ['< 44.5', '>= 44.5']
    """

    _floats_stay = True

    method: str = param(
        "equal-frequency",
        Choice("equal-width", "equal-frequency", "k-means", "mdl"),
        "How cuts are found; 'mdl' needs a target of classes.",
    )
    n_bins: int = param(5, Integer(2), "Intervals per column at most ('mdl' finds their number itself).")
    output: str = param("codes", Choice("codes", "labels", "one-hot"), "Numbers 0, 1, ..., words, or indicators.")
    columns: Any = columns_param()

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        self.cut_ = self._chosen(frame, is_number, "numbers")
        self._cut(matrix_of(frame.select(self.cut_)), frame.columns, y)

    def _by_cells(self) -> bool:
        return self.columns is None and self.output == "codes"

    def _learn_cells(self, cells: np.ndarray, y: np.ndarray | None) -> None:
        self.cut_ = list(self.names_in_)
        self._cut(cells, self.names_in_, y)

    def _apply_cells(self, cells: np.ndarray) -> np.ndarray:
        codes = np.empty(cells.shape)
        for j, cuts in enumerate(self.cuts_):
            codes[:, j] = np.searchsorted(cuts, np.ascontiguousarray(cells[:, j]), side="right")
        gone = np.isnan(cells)
        codes[gone] = np.nan
        return codes

    def _cut(self, cells: np.ndarray, names: list[str], y: np.ndarray | None) -> None:
        """The cuts of each column, and the names of what comes out."""
        if self.method == "mdl" and y is None:
            raise ValueError(
                "Discretise: method 'mdl' requires y to be passed, but the target y is None; give one class per row."
            )
        codes = None if self.method != "mdl" else class_codes(type(self).__name__, y)[1]
        equal = self.method == "equal-width" and cells.size > 0
        self.cuts_ = (
            _equal_widths(cells, self.n_bins)
            if equal
            else [self._cuts(cells[:, j], codes) for j in range(cells.shape[1])]
        )
        self.names_out_ = []
        taken = list(names)
        for name in names:
            if name in self.cut_ and self.output == "one-hot":
                for label in _labels(self.cuts_[self.cut_.index(name)]):
                    taken.append(free_name(f"{name} {label}", taken))
                    self.names_out_.append(taken[-1])
            else:
                self.names_out_.append(name)

    def _cuts(self, column: np.ndarray, codes: np.ndarray | None) -> np.ndarray:
        present = ~np.isnan(column)
        values = column[present]
        if values.size == 0 or values.min() == values.max():
            return np.empty(0)
        if codes is not None:
            return mdl_cuts(values, codes[present])
        if self.method == "equal-frequency":
            cuts = np.unique(np.quantile(values, np.arange(1, self.n_bins) / self.n_bins))
            return cuts[cuts > values.min()]
        return _k_means_cuts(values, self.n_bins)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        columns: list[pl.Series] = []
        for series in frame.get_columns():
            if series.name not in self.cut_:
                columns.append(series)
                continue
            cuts = self.cuts_[self.cut_.index(series.name)]
            cells = self._matrix(frame, [series.name])[:, 0]
            gone = np.isnan(cells)
            codes = np.searchsorted(cuts, cells, side="right")
            if self.output == "codes":
                columns.append(pl.Series(series.name, np.where(gone, np.nan, codes), nan_to_null=True))
                continue
            labels = _labels(cuts)
            if self.output == "labels":
                words = pl.Series(labels, dtype=pl.String).gather(pl.Series(np.where(gone, 0, codes)))
                columns.append(words.set(pl.Series(gone), None).alias(series.name))
                continue
            for k in range(len(labels)):
                ones = np.where(gone, np.nan, (codes == k).astype(np.float64))
                columns.append(pl.Series(self.names_out_[len(columns)], ones, nan_to_null=True))
        return pl.DataFrame(columns)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """A number for each code: the middle of its interval, the cut itself for the outer ones (`output="codes"`)."""
        check_is_fitted(self)
        if self.output != "codes":
            raise ParameterError(
                "Discretise", "parameter 'output'", "must be 'codes' for the way back", f"got '{self.output}'"
            )
        frame = self._open(X, reset=False)
        made = []
        for name, cuts in zip(self.cut_, self.cuts_):
            codes = self._matrix(frame, [name])[:, 0]
            ends = np.concatenate([cuts[:1], cuts, cuts[-1:]]) if cuts.size else np.zeros(2)
            middles = (ends[:-1] + ends[1:]) / 2
            gone = np.isnan(codes)
            place = np.clip(np.where(gone, 0, codes), 0, middles.shape[0] - 1).astype(np.int64)
            made.append(pl.Series(name, np.where(gone, np.nan, middles[place]), nan_to_null=True))
        return self._close(frame.with_columns(made), X)

    def explain(self) -> list[str]:
        """The cuts of each column, in words."""
        check_is_fitted(self)
        words = []
        for name, cuts in zip(self.cut_, self.cuts_):
            at = ", ".join(f"{cut:.6g}" for cut in cuts[:12]) + (", ..." if cuts.size > 12 else "")
            words.append(f"{plain(name)}: " + (f"cut at {at}." if cuts.size else "one interval, no cut."))
        return words

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A sort of each column, and the rounds of k-means or of cutting."""
        cells = float(n_rows) * n_features
        bins = float(self.n_bins) * n_features if self.method != "mdl" else 0.0
        return Cost(seconds=2e-7 * cells + 1e-6 * bins + 1e-5, bytes=48.0 * cells + 200.0 * bins)


def _equal_widths(cells: np.ndarray, n_bins: int) -> list[np.ndarray]:
    """The cuts of all columns into intervals of one width; none in a column that does not vary."""
    low, high = np.fmin.reduce(cells)[:, None], np.fmax.reduce(cells)[:, None]
    share = np.arange(1, n_bins) / n_bins
    cuts = low * (1 - share) + high * share
    varies, rises = (low < high)[:, 0], (cuts[:, 1:] > cuts[:, :-1]).all(axis=1)
    # A copy, so that no column keeps those of all the others.
    found = zip(cuts, varies.tolist(), rises.tolist())
    return [np.empty(0) if not varied else row.copy() if rise else np.unique(row) for row, varied, rise in found]


def _labels(cuts: np.ndarray) -> list[str]:
    """The intervals in words; digits are added until the cuts differ."""
    for digits in (4, 6, 10, 17):
        words = [f"{cut:.{digits}g}" for cut in cuts]
        if len(set(words)) == len(words):
            break
    if not words:
        return ["all"]
    return [f"< {words[0]}", *[f"{a} to {b}" for a, b in itertools.pairwise(words)], f">= {words[-1]}"]


def mdl_cuts(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Cuts by entropy with the stopping rule of Fayyad and Irani (1993).

    A set S of N rows with k classes and entropy E is cut into S1, S2 where the weighted entropy of the parts is least
    (the first such cut, midway between two values), if the gain exceeds
    (log2(N - 1) + log2(3^k - 2) - (k E - k1 E1 - k2 E2)) / N; then S1 and S2 are cut likewise. Only the distinct values
    are walked: O(n log n) for the sort and O(distinct values times classes) per level.

    >>> mdl_cuts(np.arange(20.0), np.arange(20) >= 10)
    array([9.5])
    """
    distinct, place = np.unique(values, return_inverse=True)
    classes = int(codes.max()) + 1
    counts = np.bincount(place * classes + codes, minlength=distinct.shape[0] * classes).reshape(-1, classes)
    total = np.vstack([np.zeros(classes), np.cumsum(counts, axis=0)])
    cuts: list[float] = []
    stack = [(0, distinct.shape[0])]
    while stack:
        low, high = stack.pop()
        if high - low < 2:
            continue
        left = total[low + 1 : high] - total[low]
        whole = total[high] - total[low]
        right = whole - left
        n, n1, n2 = whole.sum(), left.sum(axis=1), right.sum(axis=1)
        weighted = (n1 * _entropy(left) + n2 * _entropy(right)) / n
        best = int(np.argmin(weighted))
        entropy = float(_entropy(whole[None])[0])
        k, k1, k2 = (int((part > 0).sum()) for part in (whole, left[best], right[best]))
        e1, e2 = float(_entropy(left[best][None])[0]), float(_entropy(right[best][None])[0])
        price = np.log2(n - 1) + np.log2(3.0**k - 2) - (k * entropy - k1 * e1 - k2 * e2) if k < 600 else np.inf
        if entropy - weighted[best] <= price / n:
            continue
        at = low + 1 + best
        middle = distinct[at - 1] / 2 + distinct[at] / 2
        cuts.append(float(middle if middle > distinct[at - 1] else distinct[at]))
        stack += [(low, at), (at, high)]
    return np.array(sorted(cuts))


def _entropy(counts: np.ndarray) -> np.ndarray:
    """Entropy in bits of each row of class counts."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return -np.sum(share * np.log2(np.where(share > 0, share, 1.0)), axis=1)


def _k_means_cuts(values: np.ndarray, k: int, rounds: int = 300) -> np.ndarray:
    """Cuts midway between the centres of k-means on a line, started at the middles of equal-width intervals.

    On sorted values a cluster is a run, so that a round costs k binary searches and k sums from running totals.
    """
    ordered = np.sort(values)
    shift = ordered.mean()
    totals = np.concatenate([[0.0], np.cumsum(ordered - shift)])
    edges = np.linspace(ordered[0], ordered[-1], k + 1)
    centres = (edges[:-1] + edges[1:]) / 2
    for _ in range(rounds):
        cuts = (centres[:-1] + centres[1:]) / 2
        bounds = np.concatenate([[0], np.searchsorted(ordered, cuts, side="right"), [ordered.shape[0]]])
        sizes = np.diff(bounds)
        held = sizes > 0
        fresh = (totals[bounds[1:]] - totals[bounds[:-1]])[held] / sizes[held] + shift
        if fresh.shape == centres.shape and np.array_equal(fresh, centres):
            break
        centres = fresh
    return np.unique((centres[:-1] + centres[1:]) / 2)
