"""Pruning: what nodes of a grown tree cost on other rows, which of them to make leaves, and the price of a leaf
chosen by cross-validation.

A tree is walked by `children` and pruned by `cut` alone, so nodes may have any number of branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import DataError, Fold, ParameterError, check_weights, thread_count
from ...base.record import Grid, TableRecord
from ._engine import Tree
from .pessimistic import pessimistic_leaves

Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""loss(rows, nodes): what each row costs if the node beside it is its leaf."""

_ROUNDING = 1e-12
_LINES = 20


def class_loss(tree: Tree, codes: np.ndarray) -> Loss:
    """1 for a row whose class is not the likeliest one of the node; a code of -1 is a class the tree does not know."""
    said = tree.value.argmax(axis=1)
    return lambda rows, nodes: (said[nodes] != codes[rows]).astype(np.float64)


def squared_loss(tree: Tree, target: np.ndarray) -> Loss:
    """Squared error, summed over the columns of the target."""
    columns = target.reshape(target.shape[0], -1)
    return lambda rows, nodes: ((tree.value[nodes] - columns[rows]) ** 2).sum(axis=1)


def absolute_loss(tree: Tree, target: np.ndarray) -> Loss:
    """Absolute error."""
    columns = target.reshape(target.shape[0], -1)
    return lambda rows, nodes: np.abs(tree.value[nodes] - columns[rows]).sum(axis=1)


def node_costs(tree: Tree, leaves: np.ndarray, loss: Loss, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """For each node, the weighted sums of loss and squared loss over the rows that pass it, were it a leaf.

    `leaves` are the leaves that the rows reach. Every row is asked once per node on its path.
    """
    parents = tree.parents()
    first, second = np.zeros(tree.node_count), np.zeros(tree.node_count)
    rows, nodes = np.arange(leaves.shape[0]), np.asarray(leaves)
    while rows.shape[0]:
        cost = loss(rows, nodes)
        weight = 1.0 if weights is None else weights[rows]
        first += np.bincount(nodes, weights=weight * cost, minlength=tree.node_count)
        second += np.bincount(nodes, weights=weight * cost * cost, minlength=tree.node_count)
        nodes = parents[nodes]
        rows, nodes = rows[nodes >= 0], nodes[nodes >= 0]
    return first, second


def reduced_error_leaves(tree: Tree, costs: np.ndarray) -> np.ndarray:
    """The nodes to cut so that the rows behind `costs` cost least, with as few nodes as that allows.

    From the leaves upwards, a node becomes a leaf if that costs its rows no more than the best tree below it does;
    a node that no row reaches becomes one, too. Reference: Quinlan, International Journal of Man-Machine Studies 27,
    1987.
    """
    best = costs.astype(np.float64)
    leaf = np.ones(tree.node_count, dtype=bool)
    slack = _ROUNDING * (abs(float(costs[0])) + 1e-300)
    for node in range(tree.node_count - 1, -1, -1):
        below = tree.children(node)
        if below:
            cost = float(best[below].sum())
            leaf[node] = costs[node] <= cost + slack
            best[node] = costs[node] if leaf[node] else cost
    return leaf


def costs_along_path(tree: Tree, costs: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """The total of `costs` over the leaves of the tree pruned at each of the rising `alphas`.

    A node is a leaf from the alpha that cuts it to the alpha that cuts one of its ancestors, so every node counts in
    one range of alphas, and one pass over the nodes gives all totals.
    """
    begin = tree.weakest_links()[2]
    end = np.full(tree.node_count, np.inf)
    parents, depth = tree.parents(), tree.depths()
    by_depth = np.argsort(depth, kind="stable")
    for nodes in np.split(by_depth, np.cumsum(np.bincount(depth))[:-1])[1:]:
        above = parents[nodes]
        end[nodes] = np.minimum(end[above], begin[above])
    from_, to = np.searchsorted(alphas, begin, "left"), np.searchsorted(alphas, end, "left")
    counted = from_ < to
    size = alphas.shape[0] + 1
    came = np.bincount(from_[counted], weights=costs[counted], minlength=size)
    went = np.bincount(to[counted], weights=costs[counted], minlength=size)
    return np.cumsum(came - went)[:-1]


def path_alphas(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """One alpha inside each range that gives the same pruned tree, and the leaves of that tree.

    Inside the range means the geometric mean of its ends (Breiman et al. 1984, sec. 3.4.2); the last range, that of the
    root alone, is open, and twice its lower end stands for it.
    """
    ends = np.unique(tree.weakest_links()[0])
    alphas = np.append(np.sqrt(ends[:-1]) * np.sqrt(ends[1:]), 2 * ends[-1])
    return alphas, np.rint(costs_along_path(tree, np.ones(tree.node_count), alphas)).astype(np.int64)


@dataclass(frozen=True)
class PruningCurve(TableRecord):
    """Error in cross-validation along a pruning path: print it, show it in a notebook, or take its arrays.

    `alphas` rise, `leaves` are those of the tree of all rows pruned there, `errors` the mean loss of held-out rows and
    `standard_errors` theirs. `chosen` is the place of the alpha that `rule` takes.

    >>> numbers = {"leaves": np.array([9, 4, 1]), "errors": np.array([0.2, 0.1, 0.4])}
    >>> numbers |= {"alphas": np.array([0.0, 0.1, 0.5]), "standard_errors": np.full(3, 0.02)}
    >>> print(PruningCurve(**numbers, rule="min"))
       leaves  ccp_alpha  error  std. error
            9          0    0.2        0.02
    *       4        0.1    0.1        0.02
            1        0.5    0.4        0.02
    chosen by least error: ccp_alpha 0.1, 4 leaves
    """

    alphas: np.ndarray
    leaves: np.ndarray
    errors: np.ndarray
    standard_errors: np.ndarray
    rule: str
    loss: str = "error"

    @property
    def chosen(self) -> int:
        """The place of least error ("min") or of the smallest tree within one standard error of it ("1se")."""
        least = float(self.errors.min())
        bound = least + _ROUNDING * abs(least)
        best = int(np.flatnonzero(self.errors <= bound)[-1])
        if self.rule == "1se":
            return int(np.flatnonzero(self.errors <= bound + self.standard_errors[best])[-1])
        return best

    @property
    def ccp_alpha(self) -> float:
        """The chosen alpha."""
        return float(self.alphas[self.chosen])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        arrays = ("alphas", "leaves", "errors", "standard_errors")
        return {name: getattr(self, name).tolist() for name in arrays} | {"rule": self.rule, "chosen": self.chosen}

    def _shown(self) -> Iterator[int]:
        """The places of a short table: the chosen one and others spread evenly, small trees last."""
        count = self.alphas.shape[0]
        places = np.unique(np.append(np.linspace(0, count - 1, min(count, _LINES)).round().astype(int), self.chosen))
        yield from places.tolist()

    def _cells(self) -> list[list[str]]:
        head = ["", "leaves", "ccp_alpha", self.loss, "std. error"]
        numbers = [
            [
                "*" if k == self.chosen else "",
                str(self.leaves[k]),
                f"{self.alphas[k]:.4g}",
                f"{self.errors[k]:.4g}",
                f"{self.standard_errors[k]:.2g}",
            ]
            for k in self._shown()
        ]
        return [head, *numbers]

    def grid(self) -> Grid:
        """A table of at most 21 pruned trees; the chosen one is marked."""
        head, *lines = self._cells()
        return Grid(head, lines, notes=[self._said()], left=0)

    def summary(self) -> str:
        """The table as text."""
        return self.to_text()

    def _said(self) -> str:
        rule = "least error" if self.rule == "min" else "one standard error"
        leaves = int(self.leaves[self.chosen])
        return f"chosen by {rule}: ccp_alpha {self.ccp_alpha:.4g}, {leaves} {'leaf' if leaves == 1 else 'leaves'}"


def cross_validated_curve(
    whole: Tree,
    folds: Sequence[Fold],
    grow: Callable[[np.ndarray], Tree],
    held_out: Callable[[Tree, np.ndarray], tuple[np.ndarray, np.ndarray]],
    total: Callable[[np.ndarray], float],
    rule: str,
    loss: str,
) -> PruningCurve:
    """The error of every tree of the path of `whole`, from one tree per fold.

    `grow(rows)` is the tree of the training rows, `held_out(tree, rows)` its node costs (see `node_costs`) for test
    rows, `total(rows)` their weight. The mean loss over all held-out rows is the error, and its standard error is that
    of a mean of independent rows.
    """
    alphas, leaves = path_alphas(whole)
    first, second = np.zeros(alphas.shape[0]), np.zeros(alphas.shape[0])
    weight = 0.0
    for train, test in folds:
        tree = grow(train)
        costs, squares = held_out(tree, test)
        first += costs_along_path(tree, costs, alphas)
        second += costs_along_path(tree, squares, alphas)
        weight += total(test)
    errors = np.maximum(first / weight, 0.0)
    spread = np.sqrt(np.maximum(second / weight - errors**2, 0.0) / weight)
    return PruningCurve(alphas, leaves, errors, spread, rule, loss)


def held_out(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Cells, target and weights of rows that did not grow the tree of a fitted model."""
    check_is_fitted(model)
    cells, target = model._read(X, reset=False), model._leaves.held_out(model, y)
    if cells.shape[0] != target.shape[0]:
        raise DataError(
            type(model).__name__,
            "X and y",
            "must have the same number of rows",
            f"got {cells.shape[0]} and {target.shape[0]}",
        )
    return cells, target, check_weights(type(model).__name__, sample_weight, cells.shape[0])


def reduced_error_cut(model: Any, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
    """The nodes of a fitted model that become leaves when these rows prune it."""
    cells, target, weights = held_out(model, X, y, sample_weight)
    tree, leaves = model.tree_, model._leaves
    reached = tree.apply(cells, thread_count(model.n_jobs))
    costs, _ = node_costs(tree, reached, leaves.loss(model, tree, target), leaves.loss_weights(model, target, weights))
    return reduced_error_leaves(tree, costs)


def pessimistic_cut(model: Any, confidence_factor: float) -> np.ndarray:
    """The nodes of a fitted model that become leaves by its training rows alone."""
    check_is_fitted(model)
    if not 0 < confidence_factor <= 0.5:
        raise ParameterError(
            type(model).__name__,
            "parameter 'confidence_factor'",
            "must lie above 0 and be at most 0.5",
            f"got {confidence_factor!r}",
        )
    return pessimistic_leaves(model.tree_, confidence_factor)
