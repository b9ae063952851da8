"""Shapley values of any model against background rows: exactly, of linear models, by regression and by sampling.

The players are the columns (or groups of columns). The worth of a coalition at a row x is the mean over background rows
b of the output at the row that has x's cells in the coalition and b's elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import comb

from .. import _kernels
from ..base.cost import Cost, check_cost
from ..base.errors import DataError, ParameterError, plain
from ..base.randomness import Stream
from ..evaluate.intervals import check_alpha
from .asked import BATCH_CELLS, Asked, classes_of
from .explanation import Explanation
from .importance import Groups, read_groups

MOST_EXACT = 15
_MOST_BACKGROUND = 100
_MOST_ORDERS, _MOST_BALANCED, _DESIGN_STEPS = 24, 64, 3_000_000


class Game:
    """The games of several rows against one background: worths of coalitions, asked for in batches."""

    def __init__(
        self,
        who: str,
        model: Any,
        X: Any,
        background: Any,
        output: str,
        groups: Groups,
        stream: Stream,
        n_jobs: int | None,
    ):
        given = X if background is None else background
        # Shapley values of rows of trees come from sums that change in every tree: the model itself is as fast.
        wanted = _settled(who, model, X, given) if output == "auto" else output
        self.asked = Asked.of(who, model, X, given, output=wanted, n_jobs=n_jobs)
        assert self.asked.table is not None
        self.names, self.columns = read_groups(who, groups, self.asked.table, self.asked.names)
        listed = [j for group in self.columns for j in group]
        if len(set(listed)) < len(listed):
            raise ParameterError(who, "parameter 'groups'", "must hold no column twice")
        rest = [j for j in range(len(self.asked.names)) if j not in set(listed)]
        if rest:
            self.names = [*self.names, "other columns"]
            self.columns = [*self.columns, rest]
        rows = self.asked.others[0]
        if background is None and rows.shape[0] > _MOST_BACKGROUND:
            chosen = np.sort(stream.child(1 << 20).generator().choice(rows.shape[0], _MOST_BACKGROUND, replace=False))
            rows = rows[chosen]
        self.background = rows
        self.player_of = np.empty(len(self.asked.names), dtype=np.intp)
        for g, group in enumerate(self.columns):
            self.player_of[group] = g
        self.own = self.asked.outputs(self.asked.cells)
        said = self.asked.outputs(rows)
        self.background_outputs = said
        self.base = said.mean(axis=0)

    @property
    def players(self) -> int:
        """How many columns or groups there are."""
        return len(self.columns)

    def known(self, coalitions: np.ndarray) -> np.ndarray:
        """Coalitions of players as masks of columns."""
        own = np.arange(self.player_of.shape[0])
        return coalitions if np.array_equal(self.player_of, own) else coalitions[..., self.player_of]

    def worths(self, row: int, coalitions: np.ndarray) -> np.ndarray:
        """The worth of each coalition (coalitions x players, boolean) at a row: coalitions x outputs."""
        cells = self.asked.cells[row]
        known = self.known(coalitions)
        n_back = self.background.shape[0]
        size = max(1, BATCH_CELLS // max(1, n_back * cells.shape[0]))
        found = []
        for begin in range(0, known.shape[0], size):
            part = known[begin : begin + size]
            mixed = np.where(part[:, None, :], cells, self.background[None, :, :]).reshape(-1, cells.shape[0])
            found.append(self.asked.outputs(mixed).reshape(part.shape[0], n_back, -1).mean(axis=1))
        return np.concatenate(found)

    def explanation(
        self, method: str, values: np.ndarray, error: np.ndarray | None, alpha: float, df: int, notes: list[str]
    ) -> Explanation:
        """The record of values (rows x players x outputs) with their standard errors."""
        single = values.shape[2] == 1
        half = None if error is None else float(stats.t.ppf(1 - alpha / 2, df)) * error
        ends = (None, None) if half is None else (values - half, values + half)

        def cut(found: np.ndarray | None) -> np.ndarray | None:
            return found if found is None or not single else found[..., 0]

        data, categories = None, {}
        if all(len(group) == 1 for group in self.columns):
            order = [group[0] for group in self.columns]
            data = self.asked.cells[:, order]
            categories = {k: self.asked.categories[j] for k, j in enumerate(order) if j in self.asked.categories}
        shown = values[..., 0] if single else values
        return Explanation(
            method=method,
            values=np.ascontiguousarray(shown),
            base_values=self.base,
            data=data,
            names=self.names,
            unit=self.asked.answers.unit,
            outputs=self.asked.answers.names,
            categories=categories,
            low=cut(ends[0]),
            high=cut(ends[1]),
            level=1 - alpha,
            notes=notes,
        )


def _settled(who: str, model: Any, X: Any, background: Any) -> str:
    """Log odds, unless the model says 0 or 1 for some rows: there they have no end."""
    if classes_of(model) is None or not hasattr(model, "predict_proba"):
        return "margin"
    said = [np.asarray(model.predict_proba(table)) for table in (X, background)]
    return "probability" if any(one.min() <= 0 for one in said) else "margin"


def exact_shap(
    model: Any,
    X: Any,
    background: Any = None,
    *,
    output: str = "auto",
    groups: Groups = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Explanation:
    """Shapley values by their definition, over all coalitions of at most 15 columns or groups.

    Parameters
    ----------
    model : fitted model, or a function of tables
    X : table of rows to explain
    background : rows that stand for unknown cells; 100 rows drawn from X by default
    output : "auto" (log odds; probabilities where some are 0 or 1; else numbers), "margin", "probability" or "value"
    groups : {name: columns} or a list of lists of columns that are one player
    random_state : seed of the drawn background
    n_jobs : threads of tree models

    Examples
    --------
    >>> import numpy as np
    >>> both = lambda rows: 80.0 * (rows[:, 0] * rows[:, 1])
    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> exact_shap(both, [[1.0, 1.0]], corners).values.tolist()
    [[30.0, 30.0]]
    """
    who = "exact_shap"
    game = Game(who, model, X, background, output, groups, Stream.of(random_state), n_jobs)
    m = game.players
    if m > MOST_EXACT:
        way_out = "group columns, or take sampling_shap"
        raise ParameterError(who, "model", f"must have at most {MOST_EXACT} columns or groups", f"got {m}", way_out)
    asks = 2.0**m * game.background.shape[0] * game.own.shape[0]
    check_cost(who, Cost(1e-6 * asks, 64.0 * 2**m), "explain fewer rows, or take sampling_shap")
    coalitions = (np.arange(2**m)[:, None] >> np.arange(m)) & 1 == 1
    sizes = coalitions.sum(axis=1)
    weight = np.array([1.0 / (m * math.comb(m - 1, s)) for s in range(m)])
    values = np.empty((game.own.shape[0], m, game.own.shape[1]))
    for row in range(values.shape[0]):
        worth = game.worths(row, coalitions)
        for i in range(m):
            without = np.flatnonzero(~coalitions[:, i])
            gain = worth[without | (1 << i)] - worth[without]
            values[row, i] = weight[sizes[without]] @ gain
    return game.explanation(f"exact Shapley values over {2**m:,} coalitions", values, None, 0.05, 1, _note(game))


def _note(game: Game) -> list[str]:
    return [f"against {game.background.shape[0]:,} background rows"]


def _check_counts(who: str, **counts: Any) -> None:
    for name, value in counts.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 2):
            raise ParameterError(who, f"parameter '{name}'", "must be an integer from 2 on", f"got {plain(value)}")


def sampling_shap(
    model: Any,
    X: Any,
    background: Any = None,
    *,
    n_permutations: int | None = None,
    output: str = "auto",
    groups: Groups = None,
    alpha: float = 0.05,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Explanation:
    """Shapley values of any model by random orders of the columns, with intervals for the error of the sampling.

    For every background row, an order of the columns is drawn; the row's cells enter in that order and in its reverse
    and what each brings is its contribution. An order with its reverse is exact for models whose columns act alone or
    in pairs, and every background row is met equally often, so that only joint effects of three columns and more are
    estimated; orders against one background row are chosen so that each of three columns stands between the others
    equally often, which takes most of the error from joint effects of three. Values sum to the output minus the base
    value exactly.

    Parameters
    ----------
    model : fitted model, or a function of tables
    X : table of rows to explain
    background : rows that stand for unknown cells; 100 rows drawn from X by default
    n_permutations : orders, each with its reverse; one for each background row by default (a multiple is best)
    output : "auto" (log odds; probabilities where some are 0 or 1; else numbers), "margin", "probability" or "value"
    groups : {name: columns} or a list of lists of columns that are one player
    alpha : 1 - level of the intervals
    random_state : seed of the orders
    n_jobs : threads of tree models

    Examples
    --------
    >>> import numpy as np
    >>> both = lambda rows: 80.0 * (rows[:, 0] * rows[:, 1])
    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> sampling_shap(both, [[1.0, 1.0]], corners).values.tolist()
    [[30.0, 30.0]]
    """
    who = "sampling_shap"
    check_alpha(who, alpha)
    _check_counts(who, n_permutations=n_permutations)
    stream = Stream.of(random_state)
    game = Game(who, model, X, background, output, groups, stream, n_jobs)
    m, n_rows, outputs = game.players, game.own.shape[0], game.own.shape[1]
    n_back = game.background.shape[0]
    count = int(n_permutations or max(n_back, 2))
    _check_asks(who, 2.0 * count * max(m - 1, 1) * n_rows, game)
    values, error = np.empty((n_rows, m, outputs)), np.empty((n_rows, m, outputs))
    each = count // n_back if count % n_back == 0 else 1
    design = _design(each, m, stream.child(1 << 21).key)
    for row in range(n_rows):
        generator = stream.child(row).generator()
        # Background rows in random order, each as often as the others; all orders against one row stand together.
        turns = np.concatenate([generator.permutation(n_back) for _ in range(-(-count // n_back))])[:count]
        turns = np.repeat(turns[:n_back], each) if each > 1 else turns
        parts = _by_orders(game, row, turns, _relabelled(design, count, each, m, generator))
        values[row] = parts.mean(axis=0)
        if each > 1:
            # Every background row is met, so that the spread between them is no error.
            spread = parts.reshape(n_back, each, m, outputs).var(axis=1, ddof=1).mean(axis=0)
            error[row] = np.sqrt(spread / count)
        else:
            error[row] = parts.std(axis=0, ddof=1) / math.sqrt(count)
        if count % n_back:
            # Not every background row came equally often: what the sum lacks is shared alike.
            values[row] += (game.own[row] - game.base - values[row].sum(axis=0)) / m
    way = f"Shapley values by {count:,} orders of the columns and their reverses"
    df = n_back * (each - 1) if each > 1 else count - 1
    return game.explanation(way, values, error, alpha, df, _note(game))


def _check_asks(who: str, asks: float, game: Game) -> None:
    width = game.asked.cells.shape[1]
    check_cost(who, Cost(2e-8 * asks * width, 8.0 * game.own.size * game.players), "explain fewer rows")


def _design(each: int, m: int, key: int) -> np.ndarray | None:
    """Ranks of the players in the orders against one background row, in which all triples of players are treated alike.

    None where there is nothing to balance, or too much.
    """
    size = min(each, _MOST_ORDERS)
    if not 3 <= m <= _MOST_BALANCED or size < 2:
        return None
    return _kernels.balanced_orders(size, m, _DESIGN_STEPS // (m * m), key)


def _relabelled(design: np.ndarray | None, count: int, each: int, m: int, generator: np.random.Generator) -> np.ndarray:
    """Ranks of the players in `count` orders, `each` against one background row: the design, the players named anew.

    The names are drawn for every copy of the design, so that each order is as likely as any other and means are
    unbiased.
    """
    if design is None:
        return np.argsort(generator.random((count, m)), axis=1)
    copies = -(-each // design.shape[0])
    names = np.argsort(generator.random((count // each * copies, m)), axis=1)
    ranks = design[:, names].transpose(1, 0, 2).reshape(count // each, -1, m)[:, :each]
    return np.ascontiguousarray(ranks.reshape(count, m))


def _by_orders(game: Game, row: int, turns: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Contributions by each order and its reverse, against its own background row: orders x players x outputs."""
    cells, m = game.asked.cells[row], game.players
    count, outputs = rank.shape[0], game.own.shape[1]
    found = np.empty((count, m, outputs))
    inner = np.arange(1, m)
    size = max(1, BATCH_CELLS // max(1, 2 * m * cells.shape[0]))
    for begin in range(0, count, size):
        part = slice(begin, begin + size)
        some = rank[part]
        chunk = some.shape[0]
        # The coalitions after 1 .. m-1 steps of the order, and those of its reverse: their complements.
        forward = some[:, None, :] < inner[None, :, None]
        known = game.known(np.concatenate([forward, ~forward], axis=1))
        rows = np.where(known, cells, game.background[turns[part]][:, None, :])
        flat = rows.reshape(-1, cells.shape[0])
        said = game.asked.outputs(flat) if m > 1 else np.empty((0, outputs))
        said = said.reshape(chunk, 2 * (m - 1), outputs)
        start = game.background_outputs[turns[part]][:, None, :]
        end = np.broadcast_to(game.own[row], (chunk, 1, outputs))
        there = np.diff(np.concatenate([start, said[:, : m - 1], end], axis=1), axis=1)
        # Complements of longer and longer coalitions: from all columns but the first down to the last alone.
        back = -np.diff(np.concatenate([end, said[:, m - 1 :], start], axis=1), axis=1)
        gains = (there + back) / 2
        found[part] = np.take_along_axis(gains, some[:, :, None], axis=1)
    return found


def kernel_shap(
    model: Any,
    X: Any,
    background: Any = None,
    *,
    n_coalitions: int | None = None,
    output: str = "auto",
    groups: Groups = None,
    alpha: float = 0.05,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Explanation:
    """Shapley values of any model by weighted least squares over coalitions (Kernel SHAP), with intervals.

    The worths of coalitions are fitted by a sum over their players, with weights by size under which the solution for
    all coalitions is the Shapley values (Lundberg & Lee, 2017). Sizes that the budget covers are taken whole; of the
    others coalitions are drawn in pairs with their complements. Each coalition is asked against every background row;
    `sampling_shap` usually reaches the same error with fewer questions.

    Parameters
    ----------
    model : fitted model, or a function of tables
    X : table of rows to explain
    background : rows that stand for unknown cells; 100 rows drawn from X by default
    n_coalitions : how many coalitions are asked for; 2 columns + 512 by default
    output : "auto" (log odds; probabilities where some are 0 or 1; else numbers), "margin", "probability" or "value"
    groups : {name: columns} or a list of lists of columns that are one player
    alpha : 1 - level of the intervals
    random_state : seed of the coalitions
    n_jobs : threads of tree models

    Examples
    --------
    >>> import numpy as np
    >>> both = lambda rows: 80.0 * (rows[:, 0] * rows[:, 1])
    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> kernel_shap(both, [[1.0, 1.0]], corners).values.round(9).tolist()
    [[30.0, 30.0]]
    """
    who = "kernel_shap"
    check_alpha(who, alpha)
    _check_counts(who, n_coalitions=n_coalitions)
    stream = Stream.of(random_state)
    game = Game(who, model, X, background, output, groups, stream, n_jobs)
    m, n_rows = game.players, game.own.shape[0]
    budget = int(n_coalitions or 2 * m + 512)
    _check_asks(who, float(min(budget, 2.0**m)) * game.background.shape[0] * n_rows, game)
    values = np.empty((n_rows, m, game.own.shape[1]))
    error = np.zeros_like(values)
    sampled = False
    for row in range(n_rows):
        gain = game.own[row] - game.base
        if m == 1:
            values[row] = gain
            continue
        coalitions, weights, drawn = _coalitions(m, budget, stream.child(row).generator())
        worth = game.worths(row, coalitions) - game.base
        values[row], error[row] = _regressed(coalitions.astype(np.float64), weights, drawn, worth, gain)
        sampled = sampled or bool(drawn.any())
    way = f"Kernel SHAP over {min(budget, 2**m):,} coalitions" + ("" if sampled else ", which are all")
    df = max(budget // 2 - m, 2)
    return game.explanation(way, values, error if sampled else None, alpha, df, _note(game))


def _coalitions(m: int, budget: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coalitions in pairs with their complements, their weights in the regression, and which of them were drawn."""
    sizes = np.arange(1, m // 2 + 1)
    per_size = np.array([comb(m, s) * (1.0 if 2 * s == m else 2.0) for s in sizes])
    mass = np.array([(m - 1) / (s * (m - s)) * (1.0 if 2 * s == m else 2.0) for s in sizes])
    left, whole = float(budget), 0
    while whole < len(sizes) and per_size[whole] <= left * mass[whole] / mass[whole:].sum() + 1e-9:
        left -= per_size[whole]
        whole += 1
    masks, weights, drawn = [], [], []
    from itertools import combinations

    for s, weight in zip(sizes[:whole], mass[:whole]):
        chosen = [list(some) for some in combinations(range(m), int(s))]
        found = np.zeros((len(chosen), m), dtype=bool)
        found[np.arange(len(chosen))[:, None], np.array(chosen)] = True
        found = found if 2 * s == m else np.concatenate([found, ~found])
        masks.append(found)
        weights.append(np.full(len(found), weight / len(found)))
        drawn.append(np.zeros(len(found), dtype=bool))
    pairs = int(left // 2)
    if whole < len(sizes) and pairs:
        share = mass[whole:] / mass[whole:].sum()
        # Sizes in proportion, as evenly as whole numbers allow.
        spread = (np.arange(pairs) + generator.random()) / pairs
        size = sizes[whole:][np.searchsorted(np.cumsum(share), spread).clip(0, len(share) - 1)]
        rank = np.argsort(np.argsort(generator.random((pairs, m)), axis=1), axis=1)
        found = rank < size[:, None]
        masks += [found, ~found]
        weights += [np.full(pairs, mass[whole:].sum() / (2 * pairs))] * 2
        drawn += [np.ones(pairs, dtype=bool)] * 2
    return np.concatenate(masks), np.concatenate(weights), np.concatenate(drawn)


def _regressed(
    coalitions: np.ndarray, weights: np.ndarray, drawn: np.ndarray, worth: np.ndarray, gain: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The weighted least-squares fit whose values sum to `gain`, and its errors by residuals of drawn coalitions."""
    m = coalitions.shape[1]
    # The last player's value is what the others leave: regress on differences from it.
    design = coalitions[:, :-1] - coalitions[:, -1:]
    target = worth - coalitions[:, -1:] * gain[None, :]
    gram = design.T @ (weights[:, None] * design)
    gram[np.diag_indices_from(gram)] += 1e-12 * max(float(np.trace(gram)) / max(m - 1, 1), 1e-300)
    inverse = np.linalg.inv(gram)
    front = inverse @ (design.T @ (weights[:, None] * target))
    values = np.vstack([front, gain - front.sum(axis=0)])
    residual = target - design @ front
    scores = design[drawn] * weights[drawn, None]
    half = scores.shape[0] // 2
    spread = np.zeros_like(values)
    for k in range(target.shape[1]):
        # A pair is one draw: what it and its complement push together.
        push = scores[:half] * residual[drawn][:half, k : k + 1] + scores[half:] * residual[drawn][half:, k : k + 1]
        covariance = inverse @ (push.T @ push) @ inverse
        spread[:-1, k] = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        spread[-1, k] = math.sqrt(max(float(covariance.sum()), 0.0))
    return values, spread


def linear_shap(model: Any, X: Any, background: Any = None) -> Explanation:
    """Shapley values of a linear model in closed form: coefficient times the cell's distance from the mean.

    For any fitted model with `coef_` that takes a table of numbers: the columns are taken as independent, so that the
    value of column j is coef_j (x_j - mean_j). Classifiers are explained on their log odds (scores).

    >>> import numpy as np
    >>> from assay.models.linear import LeastSquares
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 3.0]])
    >>> model = LeastSquares().fit(X, 2 * X[:, 0] - X[:, 1] + 5)
    >>> linear_shap(model, X).values[3].round(6).tolist()
    [1.0, -1.75]
    """
    from .linear_terms import coefficients_of

    who = "linear_shap"
    coef, names, outputs, unit = coefficients_of(who, model)
    rows = _numeric(who, X, coef.shape[1])
    back = rows if background is None else _numeric(who, background, coef.shape[1])
    centre = back.mean(axis=0)
    intercept = np.broadcast_to(np.asarray(getattr(model, "intercept_", 0.0), dtype=np.float64), (coef.shape[0],))
    values = (rows - centre)[:, :, None] * coef.T[None, :, :]
    return Explanation(
        method="linear SHAP",
        values=values[..., 0] if coef.shape[0] == 1 else values,
        base_values=coef @ centre + intercept,
        data=rows,
        names=names,
        unit=unit,
        outputs=outputs,
        notes=[f"against the means of {back.shape[0]:,} rows"],
    )


def _numeric(who: str, X: Any, width: int) -> np.ndarray:
    from ..data.cell_table import CellTable

    table = CellTable.of(who, X)
    if table.levels or np.isnan(table.cells).any():
        j = next(iter(table.levels), int(np.isnan(table.cells).any(axis=0).argmax()))
        raise DataError(who, f"column '{plain(table.names[j])}'", "must hold numbers, none of them missing")
    if table.cells.shape[1] != width:
        raise DataError(who, "X", f"must have the {width} columns of the coefficients", f"got {table.cells.shape[1]}")
    return table.cells


def shap_values(model: Any, X: Any, background: Any = None, **options: Any) -> Explanation:
    """Shapley values by the exact way that the model allows, else by sampling.

    Trees by `tree_shap`, linear models of numbers by `linear_shap`, up to ten columns by `exact_shap`, everything else
    by `sampling_shap`; options (`output`, `groups`, `random_state`) ask for the last two.

    >>> from assay.models.trees import CartRegressor
    >>> model = CartRegressor().fit([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 0.0, 0.0, 80.0])
    >>> shap_values(model, [[1.0, 1.0]]).method
    'path-dependent TreeSHAP'
    """
    from ..base.errors import AssayError
    from .shap import tree_shap

    if not set(options) - {"random_state", "n_jobs"}:
        for way in (tree_shap, linear_shap):
            try:
                return way(model, X, background)
            except (AssayError, TypeError, ValueError, AttributeError):
                continue
    groups = options.get("groups")
    players = len(groups) if groups is not None else _width(X)
    if players <= 10 and "n_permutations" not in options and "alpha" not in options:
        return exact_shap(model, X, background, **options)
    return sampling_shap(model, X, background, **options)


def _width(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return int(shape[1]) if shape is not None and len(shape) == 2 else len(X[0])
