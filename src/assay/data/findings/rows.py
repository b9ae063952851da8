"""Rows: repeated, almost repeated, contradicting each other, far from all others, or in a telling order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import polars as pl
from scipy.special import chdtri

from ... import _kernels
from ...base.threads import thread_count
from ...base.words import count as count_of
from ...numeric.moments import PrincipalAxes, column_products
from ..association import chi_square, cramer_v
from ..map_columns import without
from ..table import Table, Target
from .finding import NO_ROWS, Finding, named, remedy, rows_at, rows_of
from .labels import MOST_LABELS, normal_form, one_way
from .survey import Survey, one_blas_thread

BLOCKS = 20
ORDER_EFFECT = 0.3
_CHUNK = 16_384
T = TypeVar("T")


def repeats(frame: pl.DataFrame) -> np.ndarray:
    """Marks rows that equal an earlier row: candidates by a hash of the row, then compared cell by cell."""
    twins = frame.hash_rows(seed=0).is_duplicated()
    marks = np.zeros(frame.height, dtype=bool)
    if not bool(twins.any()):
        return marks
    rows = twins.arg_true()
    later = ~frame.filter(twins).select(pl.struct(pl.all()).is_first_distinct()).to_series()
    marks[rows.to_numpy()[later.to_numpy()]] = True
    return marks


def unlikely_copies(table: Table, target: Target) -> np.ndarray | None:
    """For each row with a target the number of the first row equal to it, where so many repeat as chance cannot
    explain; None elsewhere.

    A learner that is tested on a row that it was trained on is right without having learned anything. More than one row
    in a hundred must repeat, although some column other than the target tells most of the different rows apart.
    """
    frame = table.frame if target.kept.all() else table.frame.filter(pl.Series(target.kept))
    frame = without(frame, [name for name, role in table.roles.items() if role.role == "id"])
    names = [name for name in frame.columns if name != target.name]
    if not names or not frame.height:
        return None
    hashes = frame.hash_rows(seed=0)
    if hashes.n_unique() >= 0.99 * frame.height:
        return None
    _, first, which = np.unique(hashes.to_numpy(), return_index=True, return_inverse=True)
    different = frame[np.sort(first)]
    tells_apart = any(different[name].n_unique() > first.size / 2 for name in names)
    return np.asarray(first[which]) if tells_apart else None


def duplicate_findings(survey: Survey, target: Target | None) -> Iterator[Finding]:
    """A004 duplicate rows, A016 contradictory rows, A019 duplicate keys, A020 near-duplicate rows."""
    table = survey.table
    ids = [name for name, role in table.roles.items() if role.role == "id"]
    yield from _duplicate_keys(survey, ids)
    frame = without(table.frame, ids)
    if frame.width == 0:
        return
    classed = target is not None and target.classes is not None and frame.width > 2
    features = without(frame, [target.name]) if target is not None and classed else frame
    hashes = features.with_columns(
        column.coded.codes.alias(name) for name, column in survey.columns.items() if column.coded and name in features
    ).hash_rows(seed=0)
    ordered = np.sort(hashes.to_numpy())
    twins = bool((ordered[1:] == ordered[:-1]).any())
    # Rows that differ in their features differ.
    exact = repeats(frame) if twins else np.zeros(frame.height, dtype=bool)
    count = int(exact.sum())
    if count:
        beside = " (identifiers aside)" if ids else ""
        yield Finding(
            "A004", "duplicate rows", [], "medium" if count / frame.height > 0.01 else "low", rows_of(exact),
            f"{count} of {frame.height} rows equal to an earlier row{beside}",
            remedy("keep one of each if they are the same case; otherwise keep copies in one fold", "drop-duplicates",
                   frame.columns if ids else []),
            {"share": count / frame.height},
        )  # fmt: skip
    yield from _near_duplicates(survey, frame, exact)
    if target is not None and classed and twins:
        yield from _contradictions(survey, hashes, target)


def _duplicate_keys(survey: Survey, ids: list[str]) -> Iterator[Finding]:
    for name in ids:
        column = survey.columns[name]
        present = column.present
        repeated = present.len() - column.distinct
        if 0 < repeated <= 0.1 * present.len():
            again = (~column.series.is_first_distinct()) & column.series.is_not_null()
            yield Finding(
                "A019", "duplicate keys", [name], "medium", rows_of(again),
                f"an identifier that is otherwise unique repeats in {count_of(repeated, 'row')}",
                remedy("find out which row holds; one identifier must name one case", "drop-duplicates", [name]),
                {"repeated": repeated},
            )  # fmt: skip


def _near_duplicates(survey: Survey, frame: pl.DataFrame, exact: np.ndarray) -> Iterator[Finding]:
    """Rows that are equal once case, spaces, signs and accents of their text are left out."""
    changed = []
    mapping: dict[str, dict[str, str]] = {}
    for series in frame.get_columns():
        column = survey.columns[series.name]
        if not column.is_text or column.distinct < 2 or (column.distinct > MOST_LABELS and column.role.role != "text"):
            continue
        labels = column.counts["label"]
        normal = normal_form(labels)
        if normal.n_unique() < labels.len():
            changed.append(series.replace_strict(labels, normal, default=None, return_dtype=pl.String))
            mapping[series.name] = one_way(pl.DataFrame({"label": labels, "normal": normal}), "normal")
    if not changed or frame.width < 3:
        return
    near = repeats(frame.with_columns(changed)) & ~exact
    count = int(near.sum())
    if count:
        yield Finding(
            "A020", "near-duplicate rows", [series.name for series in changed], "medium", rows_of(near),
            f"{count_of(count, 'row')} equal to an earlier row but for case, spaces or signs in "
            f"{named([s.name for s in changed])}",
            remedy("write the labels one way, then keep one of each", "replace-values", list(mapping),
                   {"mapping": mapping}),
            {"share": count / frame.height},
        )  # fmt: skip


def _contradictions(survey: Survey, features: pl.Series, target: Target) -> Iterator[Finding]:
    """Rows whose features, given by their hashes, are those of a row of another class."""
    hashes = pl.DataFrame({"row": features, "class": survey.table.frame[target.name]})
    mixed = hashes.filter(pl.col("class").is_not_null()).group_by("row").agg(pl.col("class").n_unique())
    keys = mixed.filter(pl.col("class") > 1)["row"]
    if keys.len():
        rows = rows_of(hashes["row"].is_in(keys.implode()))
        yield Finding(
            "A016", "contradictory rows", [target.name], "medium" if rows["count"] / hashes.height > 0.05 else "low",
            rows, f"{rows['count']} rows share all features with a row of another class",
            remedy("no model can be right on all of them: check the labels or add columns"),
            {"share": rows["count"] / hashes.height},
        )  # fmt: skip


def numeric_columns(survey: Survey, without: str | None = None) -> list[str]:
    """Numeric columns that vary, less one."""
    return [
        column.name
        for column in survey.columns.values()
        if column.is_number and column.role.role == "numeric" and column.name != without and column.distinct > 2
        and column.missing <= 0.5 * survey.n_rows
    ]  # fmt: skip


def over_chunks(rows: int, function: Callable[[int, int], T]) -> Iterator[T]:
    """What a function makes of each stretch of rows (begin, end), in order; several at a time."""
    begins = range(0, rows, _CHUNK)

    def quiet(begin: int) -> T:
        # A thread of the pool does not inherit what the caller has said about overflow.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return function(begin, min(begin + _CHUNK, rows))

    threads = thread_count(None)
    if threads == 1 or len(begins) == 1:
        yield from map(quiet, begins)
        return
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        yield from pool.map(quiet, begins)


def standard_rows(survey: Survey, names: list[str], begin: int, end: int) -> np.ndarray:
    """Rows x columns of numbers as z-scores; missing cells are 0 (the mean), skewed positive columns enter as logs."""
    scales = [scale_of(survey, name) for name in names]
    columns = [survey.columns[name].part(begin, end, logs=logs) for name, (*_, logs) in zip(names, scales)]
    centre, spread = (np.array([scale[k] for scale in scales]) for k in range(2))
    return _kernels.standard_rows(columns, 0, end - begin, centre, spread, False)


def scale_of(survey: Survey, name: str) -> tuple[float, float, bool]:
    """Centre and spread of a column, and whether it enters as its logarithm (positive with a skewness above 2)."""
    if name not in survey.scales:
        column = survey.columns[name]
        mean, spread = column.moments
        present = survey.n_rows - column.missing
        logs = False
        if column.ends[0] > 0 and spread > 0:
            logs = column.central_sums[2] / spread**3 / present > 2
        if logs:
            taken = np.log(column.numbers)
            mean, squares, _ = _kernels.moments(taken if column.missing == 0 else taken[~np.isnan(taken)])
            spread = float(np.sqrt(squares / (present - 1)))
        survey.scales[name] = (mean, spread or 1.0, logs)
    return survey.scales[name]


def distance_findings(survey: Survey, target: str | None) -> Iterator[Finding]:
    """A029: rows far from the centre in the space of the principal components (Mahalanobis distance).

    The squared distance of a Gaussian row is chi-square with as many degrees of freedom as there are components; the
    threshold is crossed by one of the table's rows with probability .01 if all of them are.
    """
    names = numeric_columns(survey, target)
    rows = survey.n_rows
    if len(names) < 2 or rows < 50 or rows < 5 * len(names):
        return
    width = len(names)
    survey.each(lambda column: scale_of(survey, column.name), [survey.columns[name] for name in names])
    gram = np.zeros((width + 1, width + 1))

    def products(begin: int, end: int) -> np.ndarray:
        cells = standard_rows(survey, names, begin, end)
        return column_products(cells)

    for part in over_chunks(rows, products):
        gram += part
    mean = gram[:width, -1] / rows
    covariance = gram[:width, :width] / rows - np.outer(mean, mean)
    axes = PrincipalAxes.of(covariance, 1e-6)
    if axes.variances.size < 2:
        return
    threshold = float(chdtri(axes.variances.size, 0.01 / rows))

    def distant(begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        cells = standard_rows(survey, names, begin, end)
        cells -= mean
        distance = axes.squared_distances(cells)
        far = np.flatnonzero(distance > threshold)
        return far + begin, distance[far]

    found, sizes = zip(*over_chunks(rows, distant))
    at = np.concatenate(found)
    # More than 1 % beyond a threshold that one row in a hundred tables crosses: the rows are not Gaussian at all.
    if 0 < at.size <= max(2, 0.01 * rows):
        largest = float(np.concatenate(sizes).max())
        yield Finding(
            "A029", "outlying rows", names, "low", rows_at(at),
            f"{count_of(at.size, 'row')} far from all others over {len(names)} numeric columns together "
            f"(squared Mahalanobis distance up to {largest:.0f}, threshold {threshold:.0f})",
            remedy("look at them; flag or drop them if they are mistakes", "outliers", names,
                   {"method": "mahalanobis", "action": "flag"}),
            {"threshold": threshold, "largest": largest, "components": axes.variances.size, "df": axes.variances.size},
        )  # fmt: skip


def row_blocks(rows: int) -> np.ndarray:
    """The block, of twenty consecutive ones, that each row stands in."""
    begins = -(-np.arange(BLOCKS + 1) * rows // BLOCKS)
    return np.repeat(np.arange(BLOCKS, dtype=np.uint8), np.diff(begins))


def order_effect(survey: Survey, name: str, blocks: np.ndarray, n_blocks: int = BLOCKS) -> tuple[float, float]:
    """Cramér's V between a column (numbers in fifths) and blocks of rows, and its p-value."""
    counts = survey.cross(name, blocks, n_blocks)
    column = survey.columns[name]
    if (column.is_number or column.series.dtype.is_temporal()) and counts.shape[0] > 5:
        totals = counts.sum(axis=1)
        fifth = ((np.cumsum(totals) - totals / 2) * 5 // max(totals.sum(), 1)).astype(int).clip(0, 4)
        merged = np.zeros((5, n_blocks))
        np.add.at(merged, fifth, counts)
        counts = merged
    return cramer_v(counts), chi_square(counts)[2]


def order_findings(survey: Survey, target: Target | None) -> Iterator[Finding]:
    """A033 rows in the order of the target, A034 columns that change along the rows."""
    if survey.n_rows < 100:
        return
    blocks = row_blocks(survey.n_rows)
    sorted_by_target = False
    if target is not None:
        effect, p = order_effect(survey, target.name, blocks)
        if effect >= ORDER_EFFECT and p < 1e-6:
            sorted_by_target = True
            yield Finding(
                "A033", "rows in the order of the target", [target.name], "low", NO_ROWS,
                f"the target goes with the row number (V {effect:.2f} over {BLOCKS} blocks of rows)",
                remedy("shuffle before splitting; if the order is time, split by time"), {"effect": effect, "p": p},
            )  # fmt: skip
        for name, column in survey.columns.items():
            if column.role.role == "id" and column.is_number and column.distinct > 100:
                effect, p = order_effect(survey, target.name, *survey.codes(name))
                if effect >= 0.5 and p < 1e-6 and not sorted_by_target:
                    yield Finding(
                        "A033", "rows in the order of the target", [name, target.name], "medium", NO_ROWS,
                        f"the identifier '{name}' goes with the target (V {effect:.2f}): it tells the class",
                        remedy("keep it out of the features", "drop-columns", [name], {"columns": [name]}),
                        {"effect": effect, "p": p},
                    )  # fmt: skip
    if sorted_by_target:
        return
    usable = [
        column for column in survey.columns.values()
        if column.role.role in ("numeric", "binary", "nominal", "ordinal") and column.missing < 0.5 * survey.n_rows
        and column.distinct > 1 and (target is None or column.name != target.name)
    ]  # fmt: skip
    effects = survey.each(lambda column: order_effect(survey, column.name, blocks), usable)
    moved = {c.name: effect for c, (effect, p) in zip(usable, effects) if effect >= ORDER_EFFECT and p < 1e-6}
    if moved:
        strongest = max(moved, key=lambda name: moved[name])
        yield Finding(
            "A034", "drift along the rows", list(moved), "low", NO_ROWS,
            f"{named(list(moved))} change{'s' if len(moved) == 1 else ''} with the row number (V "
            f"{moved[strongest]:.2f}{f' for {strongest!r}' if len(moved) > 1 else ''} over {BLOCKS} blocks of rows)",
            remedy("if the order is time, split by time; otherwise shuffle before splitting"), {"effects": moved},
        )  # fmt: skip
