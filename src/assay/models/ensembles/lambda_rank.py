"""LambdaRank: boosted trees that put the rows of each query in order, by what exchanges change in NDCG."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Tags

from ... import _kernels
from ...base.errors import DataError
from ...base.parameters import Boolean, Choice, Integer, Nothing, Real, param
from ...base.randomness import Stream
from ...base.threads import thread_count
from ..linear.linear_rank import grades_of, ordered_share
from .binning import binned
from .boosting import ROUNDS_UNSTOPPED
from .newton_boosting import _Newton

FEW_QUERIES, FEW_TO_STOP, FEW_RANKED = 20, 1000, 1000
"""Queries below which none is held out; queries and rows below which none is unless asked for: a tenth of them says too
little of NDCG (of 100 to 600 queries it ended the rounds after 1 to 55, with a loss 3 to 9 % above that of 100)."""

MOST_LEVELS = 30
"""Levels up to which gains double."""


def levels_in_groups(grades: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For each row the place of its grade among the different grades of its group, from 0.

    >>> levels_in_groups(np.array([5.0, 1.0, 5.0, 7.0]), np.array([0, 0, 0, 1]))
    array([1, 0, 1, 0])
    """
    order = np.lexsort((grades, codes))
    g, c = grades[order], codes[order]
    first = np.append(True, c[1:] != c[:-1])
    steps = np.cumsum(first | np.append(True, g[1:] != g[:-1]))
    level = np.empty(grades.shape[0], dtype=np.int64)
    level[order] = steps - steps[first][np.cumsum(first) - 1]
    return level


class LambdaRank(_Newton):
    """Boosted trees whose scores put the rows of each query in order: LambdaMART.

    Every round fits a tree to the gradients of pairs of rows of one query; a pair weighs as much as its exchange would
    change NDCG (Burges 2010). Trees, penalties and constraints are those of `NewtonBoostingRegressor`: the same model
    for any order of the rows and any number of threads, missing cells and nominal columns as they are. `predict` gives
    scores, higher is better; `score` is the share of pairs in order.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import LambdaRank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> queries, grades = np.repeat(np.arange(30), 10), (X[:, 0] > 0) * 1 + (X[:, 0] > 1)
    >>> model = LambdaRank(n_estimators=20).fit(X, grades, groups=queries)
    >>> model.score(X, grades, groups=queries) > 0.95
    True
    """

    _by_batches = False
    _learned = {"train_loss_, validation_loss_": "1 - NDCG before the first round and after each, mean over queries"}

    n_estimators: int | str = param(
        "auto",
        Integer(1) | Choice("auto"),
        "Rounds. 'auto': as many as better the order of queries held out, up to 1000 (100 for tables of fewer than "
        "1000 rows or 1000 queries, of which none are held out unless `early_stopping` is True).",
    )
    early_stopping: bool | str = param(
        "auto",
        Boolean() | Choice("auto"),
        "Whether queries are held out to end the rounds: 'auto' does so where `n_estimators` is 'auto' and there are "
        "at least 1000 rows and 1000 queries. Of fewer than 20 none are.",
    )
    gain: str = param(
        "order",
        Choice("order", "exponential", "linear"),
        "Gain of a row: 2^level - 1 with the level of its grade among those of its query (the level itself, if there "
        "are more than 30), 2^y - 1, or y.",
    )
    l2_regularization: float | str = param(0.0, Real(0), "L2 penalty on the values of leaves.")
    truncation: int | None = param(30, Integer(1) | Nothing(), "Places of a query that count in NDCG; None for all.")

    def fit(self, X: Any, y: Any, groups: Any = None) -> LambdaRank:
        """Learn from grades y: within a group (all rows, without groups) larger y comes first."""
        self._check_parameters()
        cells, grades, _ = self._begin_rows(X, grades_of(type(self).__name__, y), None)
        codes = self._group_codes(groups, grades.shape[0])
        gains = self._gains(grades, codes)
        threads = thread_count(self.n_jobs)
        table = binned(cells, self.schema_.n_categories, None, int(self._setting("max_bins", grades.shape[0])), threads)
        order = _kernels.content_order(table, np.ascontiguousarray(gains[:, None]), threads)
        stream = self._stream() if self.random_state is not None else Stream.of(0)
        order, begin, n_train = self._by_query(order, codes, stream)
        gains = np.ascontiguousarray(gains[order])
        self.base_score_, self.n_outputs_ = np.zeros(1), 1
        table, start = _kernels.take_rows(table, order, threads), np.zeros((gains.shape[0], 1))
        penalties, leaves = self._penalties(n_train), self._setting("max_leaf_nodes", n_train)
        booster = self._booster(table, gains, None, start, n_train, "given", 0.0, stream, penalties, leaves)
        self._keep(booster, *self._run_rounds(booster, gains, begin, n_train))
        return self

    def _stops(self, n_rows: int) -> bool:
        """Whether queries are held out."""
        if self.early_stopping != "auto":
            return bool(self.early_stopping)
        return isinstance(self.n_estimators, str) and n_rows >= FEW_RANKED

    def _group_codes(self, groups: Any, n_rows: int) -> np.ndarray:
        if groups is None:
            return np.zeros(n_rows, dtype=np.int64)
        given = np.asarray(groups)
        if given.shape != (n_rows,):
            raise DataError(
                type(self).__name__,
                "groups",
                f"must name the query of each of {n_rows} rows",
                f"got shape {given.shape}",
            )
        return np.unique(given, return_inverse=True)[1]

    def _gains(self, grades: np.ndarray, codes: np.ndarray) -> np.ndarray:
        who = type(self).__name__
        level = levels_in_groups(grades, codes)
        if not level.any():
            raise DataError(
                who,
                "y",
                "must differ somewhere within a group, so that there are pairs",
                f"got none in {grades.shape[0]} rows (n_samples={grades.shape[0]})",
                "check the target and the groups",
            )
        if self.gain == "order":
            return (level if level.max() > MOST_LEVELS else np.exp2(level) - 1.0).astype(np.float64)
        if grades.min() < 0 or (self.gain == "exponential" and grades.max() > MOST_LEVELS):
            bound = f"0 to {MOST_LEVELS}" if self.gain == "exponential" else "0 or more"
            raise DataError(
                who,
                "y",
                f"must be {bound} for gain={self.gain!r}",
                f"got {grades.min():g} to {grades.max():g}",
                "take gain='order'",
            )
        return grades if self.gain == "linear" else np.exp2(grades) - 1.0

    def _by_query(self, order: np.ndarray, codes: np.ndarray, stream: Stream) -> tuple[np.ndarray, np.ndarray, int]:
        """Rows by query with the queries to hold out last, where each begins, and how many rows are fitted.

        Queries stand in the order of their first rows by content: their names do not matter.
        """
        found, first = np.unique(codes[order], return_index=True)
        place = np.empty(int(codes.max()) + 1, dtype=np.int64)
        place[found[np.argsort(first, kind="stable")]] = np.arange(found.shape[0])
        count, held = found.shape[0], 0
        least = FEW_TO_STOP if self.early_stopping == "auto" else FEW_QUERIES
        if count >= least and self._stops(order.shape[0]):
            held = max(1, int(float(self.validation_fraction) * count + 0.5))
            place = stream.child(0).generator().permutation(count)[place]
        query = place[codes[order]]
        rows = np.argsort(query, kind="stable")
        begin = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=count))]).astype(np.int64)
        return order[rows], begin, int(begin[count - held])

    def _run_rounds(
        self, booster: Any, gains: np.ndarray, begin: np.ndarray, n_train: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rounds until no order of the queries held out gets better; returns the losses by round."""
        threads, held = thread_count(self.n_jobs), begin[:-1] >= n_train
        most = int(begin[-1]) if self.truncation is None else int(self.truncation)
        largest = _kernels.largest_gains(gains, begin, most, threads)
        train_loss: list[float] = []
        valid_loss: list[float] = []
        given = self._rounds(gains.shape[0])
        rounds = given if held.any() or not isinstance(self.n_estimators, str) else min(given, ROUNDS_UNSTOPPED)
        for step in range(rounds + 1):
            g, h, ndcg = _kernels.lambda_gradients(gains, largest, booster.scores, begin, most, threads)
            train_loss.append(1.0 - float(ndcg[~held].mean()))
            if held.any():
                valid_loss.append(1.0 - float(ndcg[held].mean()))
                if step - int(np.argmin(valid_loss)) >= int(self.n_iter_no_change):
                    break
            if step < rounds:
                booster.step(g[:, None], h[:, None])
        if valid_loss:
            booster.truncate(int(np.argmin(valid_loss)))
        kept = int(booster.rounds) + 1
        return np.array(train_loss[:kept]), np.array(valid_loss[: kept + int(self.n_iter_no_change)])

    def predict(self, X: Any) -> np.ndarray:
        """The score of each row; higher comes first."""
        return self._scores(X)[:, 0]

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """Share of the pairs within groups whose scores are in order; ties count half."""
        return ordered_share(type(self).__name__, y, self.predict(X), groups, None, thread_count(self.n_jobs))

    def _link_name(self) -> str:
        return "score"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
