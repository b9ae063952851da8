"""The target: missing, lopsided, or given away by a feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from ... import _kernels
from ...base.errors import plain
from ...catalogue import CLASSIFY
from ..map_columns import without
from ..roles import lost_cells
from ..table import Table, Target
from .finding import NO_ROWS, Finding, drop_columns, remedy, rows_of
from .interval_rule import MOST_INTERVALS, rule_rightness
from .rows import unlikely_copies
from .survey import MISSING, Column, Survey

SURE_LEAK, LIKELY_LEAK = 0.99, 0.97
RULED_ROWS = 20_000
"""Rows from which the intervals of a column are drawn and on which they are judged."""


def target_findings(survey: Survey, target: Target) -> Iterator[Finding]:
    """A009 imbalance, A010 rare class, A014 rows without target, A006 copy of the target, A032 near-perfect feature,
    A042 repeated units."""
    table = survey.table
    if target.n_missing:
        share = target.n_missing / table.n_rows
        lost = lost_cells(table.notes.get(target.name, {}))
        of_them = f"; of their cells {lost}" if lost else ""
        yield Finding(
            "A014", "rows without target", [target.name], "medium" if share > 0.05 else "low",
            rows_of(~target.kept), f"{target.n_missing} of {table.n_rows} rows have no target{of_them}",
            remedy("they are left out; find out why it is missing", "drop-missing", [target.name], {"axis": "rows"}),
            {"missing": target.n_missing, "share": share},
        )  # fmt: skip
    if target.classes is not None:
        yield from _balance(table, target)
    copies = list(_copies_of_target(survey, target))
    yield from copies
    told = {finding.columns[0] for finding in copies}
    perfect = list(_near_perfect(survey, target, told))
    yield from perfect
    yield from _repeated_units(survey, target, told | {finding.columns[0] for finding in perfect})


def _balance(table: Table, target: Target) -> Iterator[Finding]:
    labels, _, counts = target.coded
    total = int(counts.sum())
    largest = int(counts.argmax())
    shares = {plain(label, 30): int(count) / total for label, count in zip(labels[:20], counts[:20])}
    if counts[largest] / total >= 0.9:
        yield Finding(
            "A009", "imbalance", [target.name], "medium", NO_ROWS,
            f"{100 * counts[largest] / total:.1f} % of the rows are '{plain(labels[largest], 30)}'",
            remedy("judge by balanced accuracy or the area under the ROC curve, not by accuracy", "balance",
                   [target.name], {"strategy": "weights"}),
            {"shares": shares},
        )  # fmt: skip
    cases = _cases(table, target)
    rare = cases < 5
    if rare.any() and total >= 25:
        at = np.zeros(table.n_rows, dtype=bool)
        at[target.kept] = rare[target.coded[1]]
        shown = ", ".join(f"'{plain(label, 20)}' ({count})" for label, count in zip(labels[rare][:3], cases[rare][:3]))
        once = ", copies counted once" if (cases < counts)[rare].any() else ""
        yield Finding(
            "A010", "rare class", [target.name], "medium", rows_of(at),
            f"{int(rare.sum())} of {labels.shape[0]} classes have fewer than 5 rows{once}: {shown}",
            remedy("merge them with another class or collect more rows"), {"classes": int(rare.sum())},
        )  # fmt: skip


def _cases(table: Table, target: Target) -> np.ndarray:
    """The rows of each class, copies counted once where that leaves a class fewer than 5 and chance cannot explain
    them."""
    _, codes, counts = target.coded
    few = np.flatnonzero((counts >= 5) & (counts < 50))[:100]
    if few.size == 0:
        return counts
    others = [name for name, role in table.roles.items() if name == target.name or role.role == "id"]
    cells, kept = without(table.frame, others), np.flatnonzero(target.kept)
    if not cells.width or not any(cells[kept[codes == k]].hash_rows().n_unique() < 5 for k in few):
        return counts
    copies = unlikely_copies(table, target)
    if copies is None:
        return counts
    return np.bincount(codes[np.unique(copies)], minlength=counts.size)


def _copies_of_target(survey: Survey, target: Target) -> Iterator[Finding]:
    """Columns that all but equal the target.

    Numbers: |correlation| > .999 with a numeric or two-class target. Labels and few-valued numbers: each label goes
    with one class and each class with one label, in at least .999 of the rows. Needs 20 rows.
    """
    table = survey.table
    rows, values, n_classes = target.kept, target.values, 0
    if target.classes is not None:
        _, codes, sizes = target.coded
        n_classes = sizes.shape[0]
        if sizes.max(initial=0) >= 20 and (sizes < 5).any():
            # A class of a few rows, told as rare, must not hide a copy of all the others.
            rows = rows.copy()
            rows[rows] = (sizes >= 5)[codes]
            codes = (np.cumsum(sizes >= 5) - 1)[codes[(sizes >= 5)[codes]]]
            n_classes = int((sizes >= 5).sum())
        values = codes.astype(np.float64)
    frame = table.frame if rows.all() else table.frame.filter(pl.Series(rows))
    if frame.height < 20:
        return
    names = [n for n in frame.columns if n != target.name and frame[n].null_count() < 0.5 * frame.height]
    linear = set()
    if n_classes in (0, 2):
        numbers = [n for n in names if frame[n].dtype.is_numeric() or frame[n].dtype == pl.Boolean]
        every = bool(rows.all())
        centred = values - values.mean()

        def strength_of(column: Column) -> float:
            if every and not column.missing:
                return _strength(column.numbers, centred, *column.central_sums[:2])
            cells = column.numbers[rows]
            there = ~np.isnan(cells)
            cells, partner = cells[there], values[there]
            return _strength(cells, partner - partner.mean(), *_kernels.moments(cells)[:2])

        for name, strength in zip(numbers, survey.each(strength_of, [survey.columns[name] for name in numbers])):
            if np.isfinite(strength) and abs(strength) > 0.999:
                linear.add(name)
                told = f"its correlation with the target is {strength:.5f}"
                yield _leak(name, target.name, told, {"correlation": strength})
        if n_classes == 0:
            for name in numbers:
                if name not in linear and (strength := _rank_strength(survey.columns[name].numbers[rows], values)):
                    told = f"its rank correlation with the target is {strength:.5f}"
                    yield _leak(name, target.name, told, {"rank_correlation": strength})
    if target.classes is not None:
        for name in names:
            if name not in linear and not frame[name].dtype.is_temporal():
                share = _one_to_one(frame[name], frame[target.name], n_classes)
                if share is not None and share >= 0.999:
                    told = f"its values go one to one with the classes in {100 * share:.1f} %"
                    yield _leak(name, target.name, told, {"share": share})


def _strength(cells: np.ndarray, centred: np.ndarray, mean: float, squares: float) -> float:
    """Pearson's r of cells, given their mean and sum of squares around it, with values whose mean is 0."""
    size = np.sqrt(squares * (centred @ centred))
    # Cells far from 0 for their spread are centred too; elsewhere centring one side is enough.
    moved = cells - mean if mean * mean * cells.size > 1e6 * squares else cells
    return float(moved @ centred / size) if size > 0 else float("nan")


def _rank_strength(cells: np.ndarray, values: np.ndarray) -> float:
    """The rank correlation of a column that goes up or down with the target all the way, over at most 20,000 rows and
    at least 20 different values; 0 elsewhere."""
    some = slice(None, None, max(1, cells.size // 20_000))
    there = ~np.isnan(cells[some])
    cells, values = cells[some][there], values[some][there]
    if cells.size < 20 or min(np.unique(cells).size, np.unique(values).size) < 20:
        return 0.0
    strength = float(np.corrcoef(pl.Series(cells).rank().to_numpy(), pl.Series(values).rank().to_numpy())[0, 1])
    return strength if abs(strength) > 0.9995 else 0.0


def _leak(name: str, target: str, evidence: str, statistics: dict[str, float]) -> Finding:
    return Finding(
        "A006", "copy of the target", [name], "high", NO_ROWS, evidence,
        _left_out(name, target), statistics,
    )  # fmt: skip


def _one_to_one(series: pl.Series, classes: pl.Series, n_classes: int) -> float | None:
    """Share of rows on the best one-to-one pairing of labels and classes; None if the counts rule it out."""
    if n_classes < 2 or series.head(1000).n_unique() > n_classes + 2:
        return None
    pairs = pl.DataFrame({"label": series, "class": classes}).drop_nulls()
    if pairs.height < 20:
        return None
    counts = pairs.group_by("label", "class").len().sort("len", descending=True)
    if counts.height > 50 * n_classes:
        return None
    used_labels, used_classes, matched = set(), set(), 0
    for label, klass, count in counts.iter_rows():
        if label not in used_labels and klass not in used_classes:
            used_labels.add(label)
            used_classes.add(klass)
            matched += count
    return matched / pairs.height if len(used_classes) == n_classes else None


def _left_out(name: str, target: str) -> dict[str, Any]:
    told = f"leave it out (--drop {plain(name, 30)}) unless it is known before '{plain(target, 30)}' is"
    return drop_columns(told, [name])


def _near_perfect(survey: Survey, target: Target, told: set[str]) -> Iterator[Finding]:
    """A032: one column alone that predicts the target almost perfectly; too good may mean it was made from it.

    Classes: how much of the error of always guessing the largest class goes away when each bin or label guesses its own
    largest class; for two classes also the Gini coefficient 2 AUC - 1 over the bins, and for numbers the same share of
    the error under a few intervals drawn on other rows, which find a single value that gives the class away. Numbers:
    the share of variance between bins (eta squared). From 0.97 on it is told, from 0.99 on a sure leak.
    """
    if survey.n_rows < 100:
        return
    if target.classes is not None:
        classes, inverse, sizes = target.coded
        if classes.shape[0] > 50:
            return
        # A class of a few rows, told as rare, must not hide that the others are given away.
        rank = np.where(sizes >= 5, np.cumsum(sizes >= 5) - 1, MISSING).astype(np.uint8)
        coded = np.full(survey.n_rows, MISSING, dtype=np.uint8)
        coded[target.kept] = rank[inverse]
        n_classes = int((sizes >= 5).sum())
    else:
        numbers = np.full(survey.n_rows, np.nan)
        numbers[target.kept] = target.values
    usable: list[Column] = []
    for name, column in survey.columns.items():
        if name == target.name or name in told or column.role.role == "text" or column.missing > 0.5 * survey.n_rows:
            continue
        if column.distinct < 2 or (column.is_text and column.distinct > min(49, survey.n_rows // 10)):
            continue
        if column.role.role == "id" and column.distinct > 0.5 * survey.n_rows:
            continue
        if column.series.dtype.is_temporal():
            continue  # a date is known before: a target that drifts with it is a trend, no leak
        usable.append(column)

    def judge(column: Column) -> tuple[float, str]:
        if target.classes is None:
            return _variance_score(survey, column.name, numbers)
        counts = survey.cross(column.name, coded, n_classes).astype(np.float64)
        by_bins = _class_score(counts, _is_ordered(column))
        if column.is_text or by_bins[0] >= SURE_LEAK or column.distinct <= survey.n_bins or not _leaves_room(counts):
            return by_bins
        # Every k-th row of long columns: all their numbers at once would take more memory than the table.
        step = -(-survey.n_rows // RULED_ROWS)
        cells, codes = column.series.gather_every(step).cast(pl.Float64).to_numpy(), coded[::step]
        there = (codes != MISSING) & ~np.isnan(cells)
        return max(by_bins, _rule_score(cells[there], codes[there], n_classes))

    judged = dict(zip([column.name for column in usable], survey.each(judge, usable)))
    if target.classes is not None:
        for name, column in survey.columns.items():
            if name != target.name and name not in told and 0 < column.missing < survey.n_rows:
                gaps = column.series.is_null().to_numpy().astype(np.int64)
                table = np.bincount(gaps * 256 + coded, minlength=512).reshape(2, 256)[:, :n_classes]
                score, how = _class_score(table.astype(np.float64), False)
                if score > judged.get(name, (0.0, ""))[0]:
                    judged[name] = score, f"by whether it is missing: {how}"
    for name, (score, how) in judged.items():
        if score >= LIKELY_LEAK:
            sure = score >= SURE_LEAK and target.classes is not None
            yield Finding(
                "A032", "near-perfect feature", [name], "high" if sure else "medium", NO_ROWS,
                f"'{plain(name, 30)}' alone predicts '{plain(target.name, 30)}' almost perfectly ({how})",
                _left_out(name, target.name), {"score": score},
            )  # fmt: skip


def _repeated_units(survey: Survey, target: Target, told: set[str]) -> Iterator[Finding]:
    """A042: a column of units (patients, machines) that repeat, and within which the target hardly changes.

    Rows of one unit in training and test tell each other's target: a learner that knows the unit is right without
    having learned anything. A column is one of units if it has at least 10 values with at least 2 rows each on average,
    is no measurement (whole numbers or labels), and the target within a unit is the same far beyond chance, which is
    what one shuffle of the target shows, without running with the size of the column's numbers.
    """
    rows = target.kept
    n = int(rows.sum())
    if n < 40:
        return
    values = target.coded[1] if target.classes is not None else target.values
    generator = np.random.Generator(np.random.Philox(0))
    shuffled = values[generator.permutation(n)]
    found: list[tuple[float, Finding]] = []
    for name, column in survey.columns.items():
        series = column.series
        measured = series.dtype.is_float() and column.role.role != "id"
        if name == target.name or name in told or column.missing or measured or series.dtype.is_temporal():
            continue
        if not 10 <= column.distinct <= n // 2 or column.role.role == "text":
            continue
        units = _dense_ranks(column)[rows]
        within, by_chance = _sameness(units, values, target.task), _sameness(units, shuffled, target.task)
        if within < 0.95 or within - by_chance < 0.5 * (1 - by_chance) or by_chance > 0.9:
            continue
        if not column.is_text and _runs_with(units, values):
            continue
        count = int(units.max()) + 1
        what = "the same class" if target.classes is not None else "nearly the same value"
        finding = Finding(
            "A042", "repeated units", [name], "high", NO_ROWS,
            f"{count} values of '{plain(name, 30)}' cover {n} rows, and rows of one have {what} in "
            f"{100 * within:.0f} % (by chance {100 * by_chance:.0f} %)",
            remedy(f"keep the rows of one '{plain(name, 30)}' in one fold: --group {plain(name, 30)}, or "
                   f"groups={plain(name, 30)!r}"),
            {"units": count, "same": within, "by_chance": by_chance},
        )  # fmt: skip
        found.append((within - by_chance, finding))
    if found:
        # Units inside units (ward and patient) are told once, by the column that tells most.
        yield max(found, key=lambda pair: pair[0])[1]


def _dense_ranks(column: Column) -> np.ndarray:
    """The place of each cell among the different values of a column without gaps, in ascending order."""
    if column.coded is not None:
        place = np.empty(column.coded.labels.len(), dtype=np.int64)
        place[column.coded.labels.arg_sort().to_numpy()] = np.arange(place.size)
        return place[column.coded.codes.to_numpy()]
    series = column.series
    if series.dtype.is_integer():
        low, high = int(series.min()), int(series.max())  # type: ignore[arg-type]
        if high - low <= 4 * series.len():
            values = series.to_numpy() - low
            seen = np.zeros(high - low + 1, dtype=np.int64)
            seen[values] = 1
            return (np.cumsum(seen) - 1)[values]
    return series.rank("dense").to_numpy().astype(np.int64) - 1


def _sameness(units: np.ndarray, values: np.ndarray, task: str) -> float:
    """The share of rows with the commonest class of their unit, or the share of variance between units."""
    count = int(units.max()) + 1
    if task == CLASSIFY.name:
        n_classes = int(values.max()) + 1
        table = np.bincount(units * n_classes + values, minlength=count * n_classes).reshape(count, n_classes)
        return float(table.max(axis=1).sum() / values.size)
    centred = values - values.mean()
    sums, sizes = np.bincount(units, weights=centred, minlength=count), np.bincount(units, minlength=count)
    total = float(centred @ centred)
    return float((sums**2 / np.maximum(sizes, 1)).sum() / total) if total > 0 else 0.0


def _runs_with(units: np.ndarray, values: np.ndarray) -> bool:
    """Whether the target rises or falls with the numbers of the column, as it does with a measurement."""
    ranks = units - units.mean()
    centred = values - values.mean()
    size = float(np.sqrt((ranks @ ranks) * (centred @ centred)))
    return size > 0 and abs(float(ranks @ centred)) / size > 0.7


def _is_ordered(column: Column) -> bool:
    return not column.is_text


def _class_score(counts: np.ndarray, ordered: bool) -> tuple[float, str]:
    total = counts.sum()
    base = counts.sum(axis=0).max() / max(total, 1)
    if total < 100 or base >= 1 or (counts.sum(axis=0) > 0).sum() < 2:
        return 0.0, ""
    right = counts.max(axis=1).sum() / total
    score, how = (right - base) / (1 - base), f"right in {100 * right:.1f} % of the rows"
    if counts.shape[1] == 2 and ordered:
        negative, positive = counts[:, 0], counts[:, 1]
        below = np.cumsum(negative) - negative
        area = float((positive * (below + negative / 2)).sum() / (positive.sum() * negative.sum()))
        if abs(2 * area - 1) > score:
            score, how = abs(2 * area - 1), f"area under the ROC curve {max(area, 1 - area):.4f}"
    return float(score), how


def _leaves_room(counts: np.ndarray) -> bool:
    """Whether a rule of a few intervals can be all but right: bins that none of its ends cuts are of one class."""
    wrong = np.sort(counts.sum(axis=1) - counts.max(axis=1))[: -(MOST_INTERVALS - 1)]
    guessing = counts.sum() - counts.sum(axis=0).max()
    return bool(wrong.sum() <= 2 * (1 - LIKELY_LEAK) * guessing)


def _rule_score(cells: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[float, str]:
    if cells.size < 100:
        return 0.0, ""
    right, base = rule_rightness(cells, codes, n_classes)
    score = (right - base) / (1 - base) if base < 1 else 0.0
    return score, f"a few intervals of its values are right in {100 * right:.1f} % of the rows they were not drawn from"


def _variance_score(survey: Survey, name: str, numbers: np.ndarray) -> tuple[float, str]:
    codes, n_codes = survey.codes(name)
    keep = (codes < n_codes) & ~np.isnan(numbers)
    values, groups = numbers[keep], codes[keep]
    if values.size < 100:
        return 0.0, ""
    centred = values - values.mean()
    counts = np.bincount(groups, minlength=n_codes)
    sums = np.bincount(groups, weights=centred, minlength=n_codes)
    between = float((sums[counts > 0] ** 2 / counts[counts > 0]).sum())
    eta2 = between / max(float(centred @ centred), 1e-300)
    return eta2, f"its bins explain {100 * eta2:.1f} % of the variance"
