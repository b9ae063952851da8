"""What the columns of a tree are worth: decrease of impurity beside permutation, and where the two disagree.

Impurity importance is measured on the rows that grew the tree, and many distinct values give a column many chances to
fit them: an identifier can come first. Permutation importance asks held-out rows how much the score falls when the
cells of one column are shuffled. Reference: Breiman, Machine Learning 45, 2001; Strobl et al., BMC Bioinformatics 8,
2007.
"""

from __future__ import annotations

import html
import math
import numbers
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from ...base import AssayWarning, ParameterError, Stream, plain, thread_count
from ...base.record import Grid, TableRecord, jsonable
from ...base.svg import NAMESPACE, num, paint
from ._engine import Tree
from .pruning import held_out

Score = Callable[[np.ndarray, np.ndarray | None], float]
"""score(leaves of all rows, rows to count or None for all): larger is better."""

_DOUBTFUL = 0.05
_GROUPS = 10
_LEAST = 5


@dataclass(frozen=True)
class Importances(TableRecord):
    """Both importances of every column: print it, show it in a notebook, or take its arrays.

    `impurity` sums to 1. `permutation` is the mean fall of the score over the repeats, `deviation` its standard
    deviation, `low` and `high` an interval that counts the chance of the rows and of the permutations: ten random
    groups of the rows are asked separately, and the spread of their answers gives it. `spearman` and `kendall` compare
    the two orders of the columns that the tree tests. `doubtful` marks columns with a large impurity importance that
    held-out rows do not confirm. `falls` are those of each column (row) in each repeat.

    >>> from assay.models.trees import CartRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = CartRegressor().fit(X[:100], X[:100, 1]).importance(X[100:], X[100:, 1], random_state=0)
    >>> [found.names[j] for j in found.order], found.doubtful.tolist()
    (['x1', 'x0'], [False, False])
    """

    names: tuple[str, ...]
    impurity: np.ndarray
    permutation: np.ndarray
    deviation: np.ndarray
    low: np.ndarray
    high: np.ndarray
    falls: np.ndarray
    doubtful: np.ndarray
    spearman: float
    kendall: float
    score: float
    scoring: str
    level: float

    @property
    def order(self) -> np.ndarray:
        """Columns from the largest permutation importance to the smallest; ties by impurity."""
        return np.lexsort((-self.impurity, -self.permutation))

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `columns` holds one record per column in the order of the table."""
        fields = ("impurity", "permutation", "deviation", "low", "high")
        columns = [
            {"name": self.names[j]}
            | {name: jsonable(getattr(self, name)[j]) for name in fields}
            | {"doubtful": bool(self.doubtful[j])}
            for j in self.order
        ]
        facts = {"score": self.score, "spearman": jsonable(self.spearman), "kendall": jsonable(self.kendall)}
        return {"columns": columns, "scoring": self.scoring, "level": self.level, **facts}

    def _heads(self) -> list[str]:
        return ["", "impurity", "permutation", f"{self.level:.0%} low", f"{self.level:.0%} high", ""]

    def _line(self, j: int) -> list[str]:
        numbers = (self.permutation[j], self.low[j], self.high[j])
        mark = "disagree" if self.doubtful[j] else ""
        return [plain(self.names[j], 40), f"{self.impurity[j]:.3f}", *(f"{v:.4f}" for v in numbers), mark]

    def _facts(self) -> str:  # type: ignore[override]
        ranks = ""
        if not math.isnan(self.kendall):
            ranks = f"; agreement of the ranks: Spearman {self.spearman:.2f}, Kendall {self.kendall:.2f}"
        return f"{plain(self.scoring)} {self.score:.4f} before permuting{ranks}"

    def grid(self) -> Grid:
        """One line per column, the largest permutation importance first."""
        return Grid(self._heads(), [self._line(int(j)) for j in self.order], notes=[self._facts()])

    def to_html(self) -> str:
        """The table as HTML with a bar for each importance."""
        heads = "".join(f"<th>{html.escape(head)}</th>" for head in ["", "impurity", "", *self._heads()[2:5], "", ""])
        top = max(float(np.nanmax(self.high, initial=0.0)), float(self.permutation.max(initial=0.0)), 1e-300)
        body = []
        for j in self.order:
            name, impurity, mean, low, high, mark = self._line(int(j))
            cells = [
                html.escape(name),
                impurity,
                _bar(float(self.impurity[j]), float(self.impurity[j]), float(self.impurity[j]), "muted"),
                mean,
                low,
                high,
                _bar(self.permutation[j] / top, self.low[j] / top, self.high[j] / top, "accent"),
                html.escape(mark),
            ]
            body.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        return f"{table}<p>{html.escape(self._facts())}</p>"


def _bar(share: float, low: float, high: float, colour: str) -> str:
    """A bar of at most 100 pixels with a line from low to high."""
    ends = [100 * min(max(v, 0.0), 1.0) if v == v else 0.0 for v in (share, low, high)]
    line = ""
    if ends[2] > ends[1]:
        line = f'<path d="M{num(ends[1])} 6H{num(ends[2])}" stroke-width="2"{paint(stroke="ink")}/>'
    return (
        f'<svg{NAMESPACE} width="100" height="12" role="presentation">'
        f'<rect width="{num(ends[0])}" height="12" rx="2"{paint(colour)}/>{line}</svg>'
    )


class _Said(BaseEstimator):
    """Predictions that are already known, in the shape that scorers ask for; `X` is not looked at."""

    def __init__(self, leaves: np.ndarray, model: Any):
        self.leaves = leaves
        self.model = model
        self.fitted_ = True
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_

    def predict(self, X: Any) -> np.ndarray:
        values = self.model.tree_.value
        if hasattr(self, "classes_"):
            return self.classes_[values.argmax(axis=1)][self.leaves]
        return values[self.leaves, 0] if values.shape[1] == 1 else values[self.leaves]


class _SaidClasses(ClassifierMixin, _Said):
    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model.tree_.value[self.leaves]


class _SaidNumbers(RegressorMixin, _Said):
    pass


def _accuracy(model: Any, codes: np.ndarray, weights: np.ndarray | None) -> Score:
    said = model.tree_.value.argmax(axis=1)

    def score(leaves: np.ndarray, rows: np.ndarray | None) -> float:
        right = said[leaves] == codes
        if rows is None:
            return float(np.average(right, weights=weights))
        return float(np.average(right[rows], weights=None if weights is None else weights[rows]))

    return score


def _scored(model: Any, y: np.ndarray, weights: np.ndarray | None, scoring: Any) -> Score:
    """Any scorer: a name or function of scikit-learn, or a metric with `score`, `needs` and `greater_is_better`."""
    classify = hasattr(model, "classes_")
    if hasattr(scoring, "needs") and hasattr(scoring, "score"):
        sign = 1.0 if scoring.greater_is_better else -1.0

        def measure(said: Any, target: np.ndarray, extra: dict[str, Any]) -> float:
            wanted = said.predict_proba(None) if scoring.needs == "probabilities" else said.predict(None)
            return sign * scoring.score(target, wanted, classes=getattr(said, "classes_", None), **extra)
    else:
        try:
            scorer = get_scorer(scoring)
        except ValueError as error:
            raise ParameterError(
                type(model).__name__, "parameter 'scoring'", "must be a scorer or its name", plain(error)
            ) from None
        if not callable(scorer):
            raise ParameterError(
                type(model).__name__,
                "parameter 'scoring'",
                "must be a scorer or its name",
                f"got {plain(repr(scoring))}",
            )

        def measure(said: Any, target: np.ndarray, extra: dict[str, Any]) -> float:
            return float(scorer(said, np.empty((target.shape[0], 0)), target, **extra))

    kind = _SaidClasses if classify else _SaidNumbers

    def score(leaves: np.ndarray, rows: np.ndarray | None) -> float:
        chosen = slice(None) if rows is None else rows
        extra = {} if weights is None else {"sample_weight": weights[chosen]}
        return measure(kind(leaves[chosen], model), y[chosen], extra)

    return score


def _below(tree: Tree) -> np.ndarray:
    """The place after the last node below each node; nodes are in preorder."""
    end = np.arange(1, tree.node_count + 1)
    for node in range(tree.node_count - 1, -1, -1):
        for child in tree.children(node):
            end[node] = max(end[node], end[child])
    return end


def tree_importance(
    model: Any,
    cells: np.ndarray,
    y: np.ndarray,
    codes: np.ndarray | None,
    weights: np.ndarray | None,
    *,
    scoring: Any,
    n_repeats: int,
    random_state: Any,
    level: float,
) -> Importances:
    """Both importances of a fitted tree; `cells` are rows as the model reads them.

    A shuffled column moves only rows whose path tests it, so only these go through the tree again. Column j has its own
    stream of permutations: what it is worth does not depend on the other columns asked for.
    """
    tree: Tree = model.tree_
    threads = thread_count(model.n_jobs)
    default = scoring is None
    if codes is not None and default:
        score = _accuracy(model, codes, weights)
    else:
        score = _scored(model, y, weights, "r2" if default else scoring)
    leaves = tree.apply(cells, threads)
    n_rows, width = cells.shape
    stream = Stream.of(random_state)
    shuffled = stream.child(-1).generator().permutation(n_rows)
    groups = (
        [np.sort(part) for part in np.array_split(shuffled, min(_GROUPS, n_rows // _LEAST))] if n_rows >= _LEAST else []
    )
    base, base_groups = score(leaves, None), np.array([score(leaves, rows) for rows in groups])
    falls, group_falls = np.zeros((width, n_repeats)), np.zeros((width, len(groups)))
    end = _below(tree)
    used = np.array([tree.tests_column(j).any() for j in range(width)], dtype=bool)
    for j in np.flatnonzero(used).tolist():
        tests = np.flatnonzero(tree.tests_column(j))
        step = np.bincount(tests, minlength=tree.node_count + 1) - np.bincount(
            end[tests], minlength=tree.node_count + 1
        )
        moved = np.flatnonzero((np.cumsum(step) > 0)[leaves])
        part = cells[moved]
        for r in range(n_repeats):
            order = stream.child(j).child(r).generator().permutation(n_rows)
            part[:, j] = cells[order[moved], j]
            new = leaves.copy()
            new[moved] = tree.apply(part, threads)
            falls[j, r] = base - score(new, None)
            group_falls[j] += (base_groups - [score(new, rows) for rows in groups]) / n_repeats
    mean = falls.mean(axis=1)
    deviation = falls.std(axis=1, ddof=1) if n_repeats > 1 else np.full(width, np.nan)
    half = _half_width(group_falls, level)
    impurity = model.feature_importances_
    doubtful = (impurity >= min(_DOUBTFUL, 1 / width)) & (mean - half <= 0)
    spearman, kendall = _agreement(impurity[used], mean[used])
    title = ("accuracy" if codes is not None else "r2") if default else str(getattr(scoring, "name", scoring))
    found = Importances(
        model.schema_.names,
        impurity,
        mean,
        deviation,
        mean - half,
        mean + half,
        falls,
        doubtful,
        spearman,
        kendall,
        base,
        title,
        level,
    )
    _warn(type(model).__name__, found)
    return found


def _half_width(group_falls: np.ndarray, level: float) -> np.ndarray:
    """Half the length of a t interval from the falls (n_columns, n_groups); groups without a score are left out."""
    known = group_falls[:, np.isfinite(group_falls).all(axis=0)]
    count = known.shape[1]
    if count < 2:
        return np.full(group_falls.shape[0], np.nan)
    return stats.t.ppf((1 + level) / 2, count - 1) * known.std(axis=1, ddof=1) / math.sqrt(count)


def _agreement(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Spearman's and Kendall's rank correlation; NaN where there is nothing to compare."""
    if first.shape[0] < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan, math.nan
    return float(stats.spearmanr(first, second).statistic), float(stats.kendalltau(first, second).statistic)


def _warn(who: str, found: Importances) -> None:
    doubtful = [j for j in np.argsort(-found.impurity, kind="stable").tolist() if found.doubtful[j]]
    if not doubtful:
        return
    said = [
        f"'{plain(found.names[j], 40)}' has {found.impurity[j]:.0%} of the impurity importance, but shuffling it "
        f"lowers {plain(found.scoring, 40)} by {found.permutation[j]:.3g} ({found.low[j]:.3g} to {found.high[j]:.3g})"
        for j in doubtful[:3]
    ]
    more = f"; and {len(doubtful) - 3} more columns" if len(doubtful) > 3 else ""
    text = f"{who}: {'; '.join(said)}{more}; trust the held-out rows, and look for columns with many distinct values."
    warnings.warn(AssayWarning("W161", text), stacklevel=5)


def importance_of(
    model: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any,
    n_repeats: int,
    sample_weight: Any,
    random_state: Any,
    level: float,
) -> Importances:
    """The importance of the columns of a fitted tree on these rows, with everything checked."""
    cells, target, weights = held_out(model, X, y, sample_weight)
    if not isinstance(n_repeats, numbers.Integral) or n_repeats < 1:
        raise ParameterError(
            type(model).__name__, "parameter 'n_repeats'", "must be an integer >= 1", f"got {plain(repr(n_repeats))}"
        )
    if not 0 < level < 1:
        raise ParameterError(type(model).__name__, "parameter 'level'", "must lie between 0 and 1", f"got {level!r}")
    classify = hasattr(model, "classes_")
    return tree_importance(
        model,
        cells,
        np.asarray(y) if classify else target,
        target if classify else None,
        weights,
        scoring=scoring,
        n_repeats=int(n_repeats),
        random_state=random_state,
        level=level,
    )
