"""A fitted model as a function of cells: what it says of rows that an explainer makes up.

Every explainer asks a model about changed copies of rows. `Asked` reads the table once, asks in large batches, and for
models made of trees walks only the parts of trees that a change can reach (the kernel `replaced_sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted

from .. import _kernels
from ..base.errors import AssayError, ParameterError, UsageError, plain
from ..base.threads import thread_count
from ..data.cell_table import CellTable
from .tree_models import TreeModel, tree_model

BATCH_CELLS = 4_000_000
"""Cells that a model is given at once."""
KINDS = ("auto", "margin", "probability", "value")
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Answers:
    """What is asked of a model: a function of tables, the unit of its numbers, and the names of its outputs."""

    ask: Callable[[Any], np.ndarray]
    unit: str
    names: list[Any]
    classes: np.ndarray | None
    kind: str


def classes_of(model: Any) -> np.ndarray | None:
    """The classes of a classifier; None for models of numbers and for functions."""
    found = getattr(model, "classes_", None)
    return None if found is None or isinstance(found, list) else np.asarray(found)


def log_odds(probabilities: np.ndarray) -> np.ndarray:
    """Log odds of the second of two classes, or log probabilities around their mean for more.

    >>> log_odds(np.array([[0.5, 0.5], [0.2, 0.8]])).round(3).tolist()
    [[0.0], [1.386]]
    """
    logs = np.log(np.clip(probabilities, _LEAST, None))
    if logs.shape[1] == 2:
        return logs[:, 1:] - logs[:, :1]
    return logs - logs.mean(axis=1, keepdims=True)


def answers_of(who: str, model: Any, output: str) -> Answers:
    """How to ask a model for its `output`: "margin" (log odds), "probability", or "value" (numbers)."""
    if output not in KINDS:
        raise ParameterError(who, "parameter 'output'", f"must be one of {', '.join(KINDS)}", f"got {plain(output)!r}")
    if hasattr(model, "fit") and hasattr(model, "get_params"):
        check_is_fitted(model)
    classes = classes_of(model)
    if not hasattr(model, "predict"):
        if not callable(model):
            raise UsageError(
                who, "model", "must have predict, or be a function of tables", f"got {type(model).__name__}"
            )
        return Answers(lambda table: _numbers(who, model(table)), "what the function gives", [], None, "value")
    if classes is None:
        if output in ("margin", "probability") and hasattr(model, "predict_proba"):
            raise UsageError(who, "model", "must have classes_ beside predict_proba")
        return Answers(lambda table: _numbers(who, model.predict(table)), "the target's own unit", [], None, "value")
    listed = classes.tolist()
    two = len(listed) == 2
    names = [listed[1]] if two else listed
    if hasattr(model, "predict_proba"):
        if output == "margin":
            unit = f"log odds of {listed[1]}" if two else "log probabilities of the classes around their mean"
            return Answers(lambda t: log_odds(np.asarray(model.predict_proba(t))), unit, names, classes, "margin")
        unit = f"probability of {listed[1]}" if two else "probabilities of the classes"
        first = 1 if two else 0
        return Answers(lambda t: np.asarray(model.predict_proba(t))[:, first:], unit, names, classes, "probability")
    if output != "probability" and hasattr(model, "decision_function"):
        unit = f"decision score of {listed[1]}" if two else "decision scores of the classes"
        return Answers(lambda t: _numbers(who, model.decision_function(t)), unit, names, classes, "margin")
    unit = f"predicted as {listed[1]}" if two else "predicted as the class"

    def votes(table: Any) -> np.ndarray:
        return (np.asarray(model.predict(table))[:, None] == np.asarray(names)).astype(np.float64)

    return Answers(votes, unit, names, classes, "probability")


def _numbers(who: str, found: Any) -> np.ndarray:
    try:
        values = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(who, "model", "must predict numbers, or have classes_", "got text") from None
    return values[:, None] if values.ndim == 1 else values


@dataclass(frozen=True, eq=False)
class Asked:
    """A model beside its table. `cells` are the rows to explain, `outputs(cells)` what the model says of any rows.

    `others` are the cells of further tables that were given (background rows). For models made of trees, `trees` is
    their common form and cells are as the trees read them.
    """

    answers: Answers
    table: CellTable | None
    cells: np.ndarray
    others: list[np.ndarray]
    names: list[str]
    categories: dict[int, list[Any]]
    trees: TreeModel | None = None
    threads: int = 1
    _link: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        who: str,
        model: Any,
        X: Any,
        *others: Any,
        output: str = "auto",
        fast: bool = True,
        n_jobs: int | None = None,
    ) -> Asked:
        """Read the tables; with `fast`, trees are read too where the model is made of them."""
        answers = answers_of(who, model, output)
        threads = thread_count(n_jobs)
        table = CellTable.of(who, X, *others)
        names = table.names
        given = getattr(model, "feature_names_in_", None)
        if not table.named and given is not None and len(given) == len(names):
            names = [str(name) for name in given]
        found = _by_trees(model, answers, X, others, table, threads) if fast else None
        if found is not None:
            trees, link, parts = found
            return cls(answers, table, parts[0], parts[1:], names, trees.categories, trees, threads, link)
        return cls(answers, table, table.parts[0], table.parts[1:], names, table.categories(), None, threads)

    @property
    def nominal(self) -> np.ndarray:
        """Which columns hold places of categories."""
        ordered = frozenset() if self.table is None or self.trees is not None else self.table.ordered
        return np.isin(np.arange(len(self.names)), [j for j in self.categories if j not in ordered])

    def outputs(self, cells: np.ndarray) -> np.ndarray:
        """What the model says of rows: rows x outputs."""
        if self.trees is not None and self._link is not None:
            sums = self.trees.forest.sums(np.ascontiguousarray(cells), self.trees.outputs, self.threads)
            return self._link(sums * self.trees.scale + self.trees.base)
        assert self.table is not None
        size = max(1, BATCH_CELLS // max(1, cells.shape[1]))
        parts = [
            self.answers.ask(self.table.rebuild(cells[begin : begin + size]))
            for begin in range(0, cells.shape[0], size)
        ]
        return np.concatenate(parts)

    def replaced(
        self, cells: np.ndarray, source: np.ndarray, groups: Sequence[Sequence[int]], donors: np.ndarray
    ) -> np.ndarray:
        """What the model says of rows whose cells of one group of columns come from rows of `source`.

        `donors` (groups, alternatives, rows) names those rows, or (groups, alternatives, 1) if they are the same for
        all rows. Gives groups x alternatives x rows x outputs.
        """
        n_groups, n_alternatives = donors.shape[:2]
        n_rows = cells.shape[0]
        if self.trees is not None and self._link is not None:
            batches = _disjoint(groups)
            if len(batches) == 1:
                return self._walked(cells, source, groups, donors)
            merged = np.empty((0,))
            for batch in batches:
                part = self._walked(cells, source, [groups[g] for g in batch], donors[batch])
                if not merged.shape[0]:
                    merged = np.empty((n_groups, n_alternatives, n_rows, part.shape[-1]))
                merged[batch] = part
            return merged
        own = self.outputs(cells)
        result = np.broadcast_to(own, (n_groups, n_alternatives, *own.shape)).copy()
        pending: list[tuple[int, int, np.ndarray]] = []
        made: list[np.ndarray] = []
        held = 0

        def settle() -> None:
            nonlocal held
            if not made:
                return
            said = self.outputs(np.concatenate(made))
            at = 0
            for g, k, rows in pending:
                result[g, k, rows] = said[at : at + rows.shape[0]]
                at += rows.shape[0]
            pending.clear()
            made.clear()
            held = 0

        for g, columns in enumerate(groups):
            place = np.asarray(columns)
            for k in range(n_alternatives):
                values = source[donors[g, k]][:, place]
                old = cells[:, place]
                differs = ((old != values) & ~(np.isnan(old) & np.isnan(values))).any(axis=1)
                rows = np.flatnonzero(differs)
                if not rows.shape[0]:
                    continue
                changed = cells[rows]
                changed[:, place] = values[rows] if values.shape[0] > 1 else values
                made.append(changed)
                pending.append((g, k, rows))
                held += changed.size
                if held >= BATCH_CELLS:
                    settle()
        settle()
        return result

    def _walked(
        self, cells: np.ndarray, source: np.ndarray, groups: Sequence[Sequence[int]], donors: np.ndarray
    ) -> np.ndarray:
        assert self.trees is not None and self._link is not None
        trees = self.trees
        group = np.full(cells.shape[1], -1, dtype=np.int32)
        for g, columns in enumerate(groups):
            group[list(columns)] = g
        sums = _kernels.replaced_sums(
            **trees.forest.arrays(),
            cells=np.ascontiguousarray(cells),
            source=np.ascontiguousarray(source),
            group=group,
            donors=np.ascontiguousarray(donors.reshape(-1, donors.shape[2]), dtype=np.int32),
            groups=len(groups),
            outputs=trees.outputs,
            threads=self.threads,
        )
        sums *= trees.scale
        sums += trees.base
        return self._link(sums).reshape(len(groups), donors.shape[1], cells.shape[0], -1)


def _disjoint(groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Groups in batches in which no column occurs twice.

    >>> _disjoint([[0], [1, 2], [0, 1]])
    [[0, 1], [2]]
    """
    batches: list[tuple[list[int], set[int]]] = []
    for g, columns in enumerate(groups):
        own = set(columns)
        for members, taken in batches:
            if not taken & own:
                members.append(g)
                taken |= own
                break
        else:
            batches.append(([g], own))
    return [members for members, _ in batches]


def _by_trees(
    model: Any, answers: Answers, X: Any, others: Sequence[Any], table: CellTable, threads: int
) -> tuple[TreeModel, Callable[[np.ndarray], np.ndarray], list[np.ndarray]] | None:
    """The trees of a model with the way from their sums to the answers, if that gives what the model says."""
    try:
        trees = tree_model(model)
        parts = [trees.cells(one, "X") for one in (X, *others)]
    except (AssayError, ValueError, TypeError, AttributeError, KeyError):
        return None
    if len(trees.names) != len(table.names):
        return None
    link = _link(trees, answers)
    if link is None:
        return None
    some = parts[0][:200]
    ours = link(trees.forest.sums(some, trees.outputs, threads) * trees.scale + trees.base)
    theirs = answers.ask(table.rebuild(table.parts[0][:200]))
    if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=1e-6, atol=1e-7):
        return None
    return trees, link, parts


def _link(trees: TreeModel, answers: Answers) -> Callable[[np.ndarray], np.ndarray] | None:
    unit, two = trees.unit, answers.classes is not None and len(answers.classes) == 2
    margin = answers.kind == "margin"
    if answers.classes is None:
        return np.exp if unit == "logarithm of the mean" else lambda scores: scores
    if unit.startswith("probabilit"):
        if not margin:
            return lambda scores: scores
        return lambda scores: log_odds(np.column_stack([1.0 - scores, scores]) if two else scores)
    if unit.startswith("log odds"):
        return (lambda scores: scores) if margin else expit
    if unit.startswith("scores of the classes"):
        return (lambda s: s - s.mean(axis=1, keepdims=True)) if margin else lambda s: softmax(s, axis=1)
    return None
