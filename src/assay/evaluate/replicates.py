"""Routes from a draw to a metric: what is gathered once per draw, and how each metric's replicates come from it.

A route knows one metric on one learner's predictions: its estimate, its replicates (`values`, from statistics that the
kernel gathered) and its jackknife values, in closed form wherever the metric has one. `Plan` collects what the routes
of several metrics and two learners need, so that one draw serves all of them; `draw_all` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _kernels
from ..base.randomness import Stream
from .batch_metrics import SUM_METRICS, Batch, SumMetric, calibration_groups, row_term, table_metric
from .metrics import METRICS, Evidence, Metric

POSITIVE, LAST = 1, 2
# Numbers held at once while replicates or jackknife tables are made.
_BLOCK = 4_000_000
# Beyond this many rows, a metric without a closed form is jackknifed by leaving out random groups of rows.
_JACKKNIFE_GROUPS = 400
# Beyond this many classes, stacks of confusion matrices cost more than taking rows.
_MOST_CLASSES = 200


# -- what is gathered ---------------------------------------------------------------------------------------
@dataclass
class Draw:
    """Statistics of a block of replicates, one row each."""

    areas: np.ndarray
    precisions: np.ndarray
    sums: np.ndarray
    terms: np.ndarray
    deviations: np.ndarray
    counts: np.ndarray


@dataclass
class Plan:
    """What the kernel gathers from each draw; equal requests share one place."""

    n_rows: int
    places: dict[Hashable, int] = field(default_factory=dict)
    orders: list[np.ndarray] = field(default_factory=list)
    flags: list[np.ndarray] = field(default_factory=list)
    groups: list[np.ndarray] = field(default_factory=list)
    weights: list[np.ndarray | None] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    terms: list[np.ndarray] = field(default_factory=list)
    deviations: list[np.ndarray] = field(default_factory=list)
    precision: bool = False
    counts: bool = False

    def add_ranking(self, key: Hashable, order: np.ndarray, flags: np.ndarray) -> int:
        """The column of a ranking in `Draw.areas` and `Draw.precisions`."""
        if key not in self.places:
            self.places[key] = len(self.orders)
            self.orders.append(order)
            self.flags.append(flags)
        return self.places[key]

    def add_groups(self, key: Hashable, groups: np.ndarray, weights: np.ndarray | None, size: int) -> slice:
        """The columns of a set of groups in `Draw.sums`."""
        if key not in self.places:
            self.places[key] = sum(self.sizes)
            self.groups.append(groups)
            self.weights.append(weights)
            self.sizes.append(size)
        return slice(self.places[key], self.places[key] + size)

    def add_terms(self, key: Hashable, rows: np.ndarray, deviation: bool = False) -> slice:
        """The columns of terms (outputs, rows) in `Draw.terms`, or `Draw.deviations`."""
        held = self.deviations if deviation else self.terms
        if key not in self.places:
            self.places[key] = len(held)
            held.extend(rows)
        return slice(self.places[key], self.places[key] + rows.shape[0])

    def block(self) -> int:
        """How many replicates to gather at once."""
        wide = sum(self.sizes) + len(self.terms) + len(self.orders) + (self.n_rows // 8 if self.counts else 0)
        return max(1, _BLOCK // max(1, wide))

    def gather(self, key: int, first: int, replicates: int, threads: int) -> Draw:
        """The statistics of replicates `first`, `first` + 1, ..."""
        n = self.n_rows
        weights: list[np.ndarray] = []
        if any(w is not None for w in self.weights):
            weights = [np.ones(n) if w is None else w for w in self.weights]
        areas, precisions, sums, terms, deviations = _kernels.replicate_rows(
            n=n,
            orders=_stack(self.orders, n, np.int32),
            flags=_stack(self.flags, n, np.uint8),
            want_precision=self.precision,
            groups=_stack(self.groups, n, np.int32),
            weights=_stack(weights, n, np.float64),
            sizes=np.array(self.sizes, dtype=np.int64),
            terms=_stack(self.terms, n, np.float64),
            deviations=_stack(self.deviations, n, np.float64),
            key=key,
            first=first,
            replicates=replicates,
            threads=threads,
        )
        counts = np.empty((0, n), dtype=np.uint8)
        if self.counts:
            counts = _kernels.resample_rows(n, key, first, replicates, threads)
        return Draw(areas, precisions, sums, terms, deviations, counts)


def _stack(rows: Sequence[np.ndarray], n: int, dtype: Any) -> np.ndarray:
    return np.ascontiguousarray(np.stack(rows), dtype=dtype) if rows else np.empty((0, n), dtype=dtype)


# -- routes -------------------------------------------------------------------------------------------------
class TableRoute:
    """A metric of the confusion matrix."""

    def __init__(self, metric: Metric, batch: Batch, evidence: Evidence, side: int):
        self.size = max(2, evidence.confusion_classes.shape[0])
        self.codes = evidence.confusion_codes
        self.batch, self.side, self.n_rows = batch, side, self.codes.size
        metric.of(evidence)  # a metric of one positive class refuses more than two here
        self.full = np.bincount(self.codes, minlength=self.size**2).astype(np.float64)
        self.estimate = float(self.of_tables(self.full[None])[0])

    def of_tables(self, tables: np.ndarray) -> np.ndarray:
        """The metric of flat tables (resamples, K * K)."""
        return self.batch(tables.reshape(-1, self.size, self.size))

    def request(self, plan: Plan) -> None:
        self.columns = plan.add_groups((self.side, "confusion"), self.codes, None, self.size**2)

    def values(self, draw: Draw) -> np.ndarray:
        return self.of_tables(draw.sums[:, self.columns])

    def jackknife(self, stream: Stream) -> np.ndarray:
        cells = np.flatnonzero(self.full)
        left_out = np.full(self.size**2, np.nan)
        block = max(1, _BLOCK // self.size**2)
        for begin in range(0, cells.size, block):
            some = cells[begin : begin + block]
            tables = np.repeat(self.full[None], some.size, axis=0)
            tables[np.arange(some.size), some] -= 1
            with np.errstate(invalid="ignore", divide="ignore"):
                left_out[some] = self.of_tables(tables)
        return left_out[self.codes]


class RankRoute:
    """Area under ROC or average precision; with more than two classes the mean over classes against the rest."""

    def __init__(self, metric: Metric, evidence: Evidence, side: int):
        self.precision, self.side, self.n_rows = metric.name == "average_precision", side, evidence.y.shape[0]
        scores = evidence.probabilities
        columns = [1] if scores.shape[1] == 2 else range(scores.shape[1])
        self.rankings = [sorted_scores(scores[:, c], evidence.true_codes == c) for c in columns]
        self.estimate = float(metric.of(evidence))
        if not self.precision and len(self.rankings) == 1:
            # The kernel's own expression, so that replicates equal to the estimate are seen as equal.
            order, flags = self.rankings[0]
            positives = int((flags & POSITIVE).sum())
            pairs = float(positives) * float(flags.size - positives)
            if pairs > 0:
                placed = _kernels.placements(order, flags)[order]
                self.estimate = float(placed[(flags & POSITIVE) == 1].sum() / pairs)

    def request(self, plan: Plan) -> None:
        self.columns = [plan.add_ranking((self.side, "ranking", r), *each) for r, each in enumerate(self.rankings)]
        plan.precision |= self.precision

    def values(self, draw: Draw) -> np.ndarray:
        return mean_of_defined((draw.precisions if self.precision else draw.areas)[:, self.columns])

    def jackknife(self, stream: Stream) -> np.ndarray:
        left_out = precision_left_out if self.precision else area_left_out
        return mean_of_defined(np.stack([left_out(order, flags) for order, flags in self.rankings], axis=1))


class SumRoute:
    """A metric of means over rows."""

    def __init__(self, metric: Metric, sums: SumMetric, evidence: Evidence, side: int):
        self.sums, self.evidence, self.side, self.n_rows = sums, evidence, side, evidence.y.shape[0]
        self.rows = {name: row_term(evidence, name) for name in sums.terms}
        self.truth = np.ascontiguousarray(evidence.truth.T) if sums.deviation else None
        means = {name: rows.mean(axis=1)[None] for name, rows in self.rows.items()}
        deviation = None if self.truth is None else np.abs(evidence.deviations).mean(axis=0)[None]
        self.estimate = float(sums.value(means, self.n_rows, deviation)[0])

    def request(self, plan: Plan) -> None:
        self.columns = {name: plan.add_terms((self.side, name), rows) for name, rows in self.rows.items()}
        if self.truth is not None:
            self.spread = plan.add_terms((self.side, "deviation"), self.truth, deviation=True)

    def values(self, draw: Draw) -> np.ndarray:
        means = {name: draw.terms[:, columns] / self.n_rows for name, columns in self.columns.items()}
        deviation = None if self.truth is None else draw.deviations[:, self.spread] / self.n_rows
        return self.sums.value(means, self.n_rows, deviation)

    def jackknife(self, stream: Stream) -> np.ndarray:
        left = self.n_rows - 1
        means = {name: ((rows.sum(axis=1, keepdims=True) - rows) / left).T for name, rows in self.rows.items()}
        deviation = None
        if self.truth is not None:
            deviation = np.stack([deviation_left_out(output) for output in self.truth], axis=1) / left
        return self.sums.value(means, left, deviation)


class CalibrationRoute:
    """The expected calibration error: |sum over a bin of hit - confidence|, over bins, per row."""

    def __init__(self, metric: Metric, evidence: Evidence, side: int):
        self.side, self.n_rows = side, evidence.y.shape[0]
        self.bins, self.gaps, self.size = calibration_groups(evidence)
        self.full = np.bincount(self.bins, weights=self.gaps, minlength=self.size)
        self.estimate = float(np.abs(self.full).sum() / self.n_rows)

    def request(self, plan: Plan) -> None:
        self.columns = plan.add_groups((self.side, "calibration"), self.bins, self.gaps, self.size)

    def values(self, draw: Draw) -> np.ndarray:
        return np.abs(draw.sums[:, self.columns]).sum(axis=1) / self.n_rows

    def jackknife(self, stream: Stream) -> np.ndarray:
        here = self.full[self.bins]
        return (np.abs(self.full).sum() - np.abs(here) + np.abs(here - self.gaps)) / (self.n_rows - 1)


class RowRoute:
    """Any metric, by taking the drawn rows: `score(rows)` is its value on rows by index."""

    def __init__(self, score: Callable[[np.ndarray], float], n_rows: int):
        self.score, self.n_rows = score, n_rows
        self.estimate = float(score(np.arange(n_rows)))

    def request(self, plan: Plan) -> None:
        plan.counts = True

    def values(self, draw: Draw) -> np.ndarray:
        every = np.arange(self.n_rows)
        return np.array([self.score(np.repeat(every, counts)) for counts in draw.counts], dtype=np.float64)

    def jackknife(self, stream: Stream) -> np.ndarray:
        groups = min(self.n_rows, _JACKKNIFE_GROUPS)
        # One row at a time goes in the order of the rows, to which pseudo-values are given. Otherwise the shuffle
        # depends on the stream alone, so two learners leave out the same rows.
        order = np.arange(self.n_rows) if groups == self.n_rows else stream.generator().permutation(self.n_rows)
        assigned = order % groups
        return np.array([self.score(np.flatnonzero(assigned != g)) for g in range(groups)], dtype=np.float64)


Route = TableRoute | RankRoute | SumRoute | CalibrationRoute | RowRoute


def route_for(metric: Metric, evidence: Evidence, side: int = 0) -> Route:
    """The fastest route for a metric; metrics that are not of the table, or have no fast form, take rows."""
    if METRICS.get(metric.name, metric) is metric and evidence.weights is None:
        batch = table_metric(metric.name) if metric.needs == "labels" else None
        if batch is not None and evidence.confusion_classes.shape[0] <= _MOST_CLASSES:
            return TableRoute(metric, batch, evidence, side)
        if metric.name in ("roc_auc", "average_precision"):
            return RankRoute(metric, evidence, side)
        if metric.name in SUM_METRICS:
            return SumRoute(metric, SUM_METRICS[metric.name], evidence, side)
        if metric.name == "calibration_error":
            return CalibrationRoute(metric, evidence, side)
    return RowRoute(lambda rows: metric.of(rows_of(evidence, rows)), evidence.y.shape[0])


def rows_of(evidence: Evidence, rows: np.ndarray) -> Evidence:
    """The evidence of some rows, with the classes of all rows."""
    classes = evidence.classes
    if evidence._probabilities is not None:
        classes = evidence._probability_classes
    elif evidence.labels is not None and classes is None:
        classes = evidence.confusion_classes

    def take(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[rows]

    return Evidence(
        evidence.y[rows],
        labels=take(evidence.labels),
        probabilities=take(evidence._probabilities),
        values=take(evidence.values),
        clusters=take(evidence.clusters),
        classes=classes,
        sample_weight=take(evidence.weights),
    )


def draw_all(routes: Sequence[Route], n_rows: int, stream: Stream, replicates: int, threads: int) -> list[np.ndarray]:
    """The replicates of every route, all from the same draws."""
    if all(isinstance(route, TableRoute) for route in routes):
        return _draw_cells([r for r in routes if isinstance(r, TableRoute)], stream, replicates, threads)
    plan = Plan(n_rows)
    for route in routes:
        route.request(plan)
    block = plan.block()
    parts: list[list[np.ndarray]] = [[] for _ in routes]
    with np.errstate(invalid="ignore", divide="ignore"):
        for first in range(0, replicates, block):
            draw = plan.gather(stream.key, first, min(block, replicates - first), threads)
            for part, route in zip(parts, routes):
                part.append(route.values(draw))
    return [np.concatenate(part) for part in parts]


def _draw_cells(routes: Sequence[TableRoute], stream: Stream, replicates: int, threads: int) -> list[np.ndarray]:
    """Confusion matrices alone: multinomial counts of their (joint) cells, whatever the number of rows is."""
    sides = {route.side: route for route in routes}
    codes = np.zeros(routes[0].codes.shape[0], dtype=np.int64)
    for side in sorted(sides):
        codes = codes * sides[side].size ** 2 + sides[side].codes
    cells, first_row, counts = np.unique(codes, return_index=True, return_counts=True)
    parts: list[list[np.ndarray]] = [[] for _ in routes]
    block = max(1, _BLOCK // max(cells.size, *(route.size**2 for route in routes)))
    with np.errstate(invalid="ignore", divide="ignore"):
        for first in range(0, replicates, block):
            drawn = _kernels.replicate_cells(
                counts.astype(np.int64), stream.key, first, min(block, replicates - first), threads
            )
            tables = {side: _marginal(drawn, route.codes[first_row], route.size**2) for side, route in sides.items()}
            for part, route in zip(parts, routes):
                part.append(route.of_tables(tables[route.side]))
    return [np.concatenate(part) for part in parts]


def _marginal(drawn: np.ndarray, codes: np.ndarray, size: int) -> np.ndarray:
    """Counts of joint cells added up by one learner's cells."""
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    tables = np.zeros((drawn.shape[0], size))
    tables[:, present] = np.add.reduceat(drawn[:, order], starts, axis=1)
    return tables


def mean_of_defined(values: np.ndarray) -> np.ndarray:
    """The mean of each row over its entries that are not NaN; NaN where none is."""
    if values.shape[1] == 1:
        return values[:, 0]
    defined = ~np.isnan(values)
    count = defined.sum(axis=1)
    total = np.where(defined, values, 0.0).sum(axis=1)
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


# -- rankings -----------------------------------------------------------------------------------------------
def sorted_scores(score: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows from the highest score down, and per place the flags of the kernel: positive, last of equal scores."""
    order = np.argsort(-score, kind="stable").astype(np.int32)
    ranked = score[order]
    last = np.append(ranked[1:] != ranked[:-1], True)
    return order, (positive[order] * POSITIVE + last * LAST).astype(np.uint8)


def area_left_out(order: np.ndarray, flags: np.ndarray) -> np.ndarray:
    """The area under ROC without each row in turn, from the placements: no second sort."""
    placed = _kernels.placements(order, flags)
    positive = np.empty(order.size, dtype=bool)
    positive[order] = (flags & POSITIVE) == 1
    hits = int(positive.sum())
    misses = order.size - hits
    pairs = np.where(positive, (hits - 1.0) * misses, hits * (misses - 1.0))
    total = placed[positive].sum()
    return np.divide(total - placed, pairs, out=np.full(order.size, np.nan), where=pairs > 0)


def precision_left_out(order: np.ndarray, flags: np.ndarray) -> np.ndarray:
    """Average precision without each row in turn, from three running sums over groups of equal scores.

    Without a row of group g, precision falls from h / t to h / (t - 1) or (h - 1) / (t - 1) in g and below.
    """
    last = (flags & LAST) == LAST
    is_positive = (flags & POSITIVE) == 1
    sums, without_positive, without_negative = _sums_left_out(last, is_positive)
    n_positive = float(is_positive.sum())
    group = np.cumsum(last, dtype=np.int32) - last
    sums = sums[group]
    sums[is_positive] += without_positive[group[is_positive]]
    sums[~is_positive] += without_negative[group[~is_positive]]
    kept = np.where(is_positive, n_positive - 1, n_positive)
    defined = (kept > 0) & (is_positive | (order.size - n_positive > 1))
    np.divide(sums, kept, out=sums, where=defined)
    sums[~defined] = np.nan
    by_row = kept
    by_row[order] = sums
    return by_row


def _sums_left_out(last: np.ndarray, is_positive: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each group of equal scores the sum of precisions above it, and that of it and below without a row of either
    kind; what is done with goes at once, since each array is as long as there are groups."""
    hits = np.cumsum(is_positive)[last].astype(np.float64)
    total = np.flatnonzero(last) + 1.0
    gained = np.diff(hits, prepend=0.0)
    products = gained * hits
    shares = products / total
    above = np.cumsum(shares) - shares
    del shares
    fewer = np.maximum(total - 1, 1)
    del total
    products /= fewer
    without_negative = np.cumsum(products[::-1])[::-1]
    del products
    hits -= 1
    gained *= hits
    gained /= fewer
    without_positive = np.cumsum(gained[::-1])[::-1]
    without_positive -= hits / fewer
    return above, without_positive, without_negative


def deviation_left_out(values: np.ndarray) -> np.ndarray:
    """Sum of |value - mean| without each row in turn, by one sort."""
    n = values.size
    ranked = np.sort(values)
    running = np.concatenate([[0.0], np.cumsum(ranked)])
    centre = (running[-1] - values) / (n - 1)
    below = np.searchsorted(ranked, centre)
    spread = centre * below - running[below] + (running[-1] - running[below]) - centre * (n - below)
    return spread - np.abs(values - centre)
