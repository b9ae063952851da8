"""The rule of one column: a few intervals of its values, each with a class, judged on rows they were not drawn from.

Bins of equal frequency miss what hangs on a single value ("0 exactly where the target is yes") or on a narrow interval,
for their ends lie elsewhere. Here the ends are those that tell the classes apart best, and since ends that are free to
choose fit noise as well, they are drawn on one half of the rows and judged on the other, both ways.
"""

from __future__ import annotations

import numpy as np

MOST_INTERVALS = 8


def rule_rightness(cells: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[float, float]:
    """The share of rows that the rule drawn on the other half gets right, and that of the commonest class.

    `cells` are numbers without gaps and `codes` classes 0 ... `n_classes` - 1. The halves are the same in every run
    and hold the classes in the same shares.

    >>> cells = np.tile([0.0, -1.5, 0.0, 2.5], 50) * np.arange(1, 201)
    >>> rule_rightness(cells, (cells == 0).astype(int), 2)
    (1.0, 0.5)
    """
    base = float(np.bincount(codes, minlength=n_classes).max() / codes.size)
    drawn = np.random.Generator(np.random.Philox(0)).permutation(codes.size)
    by_class = drawn[np.argsort(codes[drawn], kind="stable")]
    halves = by_class[::2], by_class[1::2]
    right = 0
    for rows, others in (halves, halves[::-1]):
        ends, classes = _rule(cells[rows], codes[rows], n_classes)
        right += int((classes[np.searchsorted(ends, cells[others], side="left")] == codes[others]).sum())
    return right / codes.size, base


def _rule(cells: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Upper ends of the intervals (included) but the last, and the class of each: the cut that takes most from the
    Gini impurity first, until all intervals are pure or there are enough."""
    order = np.argsort(cells, kind="stable")
    cells = cells[order]
    counts = np.zeros((cells.size + 1, n_classes))
    counts[np.arange(1, cells.size + 1), codes[order]] = 1
    np.cumsum(counts, axis=0, out=counts)
    cuts = np.flatnonzero(cells[1:] != cells[:-1]) + 1
    open_ones = [_best_cut(counts, cuts, 0, cells.size)]
    done: list[tuple[int, int]] = []
    while open_ones:
        gain, begin, cut, end = open_ones.pop(max(range(len(open_ones)), key=lambda k: open_ones[k][0]))
        if gain <= 1e-9 or len(open_ones) + len(done) + 2 > MOST_INTERVALS:
            done.append((begin, end))
            continue
        open_ones += [_best_cut(counts, cuts, begin, cut), _best_cut(counts, cuts, cut, end)]
    done.sort()
    ends = np.array([_between(cells, begin) for begin, _ in done[1:]])
    return ends, np.array([int((counts[end] - counts[begin]).argmax()) for begin, end in done])


def _best_cut(counts: np.ndarray, cuts: np.ndarray, begin: int, end: int) -> tuple[float, int, int, int]:
    """What the best cut between two places takes from the impurity, and where it is."""
    inside = cuts[np.searchsorted(cuts, begin, side="right") : np.searchsorted(cuts, end, side="left")]
    if inside.size == 0:
        return 0.0, begin, begin, end
    below, above = counts[inside] - counts[begin], counts[end] - counts[inside]
    purity = (below**2).sum(axis=1) / (inside - begin) + (above**2).sum(axis=1) / (end - inside)
    best = int(purity.argmax())
    whole = counts[end] - counts[begin]
    return float(purity[best] - (whole @ whole) / (end - begin)), begin, int(inside[best]), end


def _between(cells: np.ndarray, cut: int) -> float:
    """The end of an interval: the middle between neighbours, but close to a value that repeats beside one that does
    not, for a value of its own is no sample of an interval."""
    low, high = float(cells[cut - 1]), float(cells[cut])
    low_repeats = cut > 1 and cells[cut - 2] == low
    high_repeats = cut + 1 < cells.size and cells[cut + 1] == high
    if low_repeats and not high_repeats:
        return low
    if high_repeats and not low_repeats:
        return float(np.nextafter(high, -np.inf))
    middle = 0.5 * low + 0.5 * high
    return middle if middle < high else low
