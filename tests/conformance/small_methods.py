"""One small method for each task, so that every claim of a task is tried before the catalogue has a method of it.

They show the protocol of their task in the fewest lines, and the tests plant faults in them to see them caught.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from assay.base import Clusterer, DensityEstimator, Estimator, Integer, Real, Stream, param, random_state_param
from assay.catalogue import Entry


class SmallEntry(Entry):
    """An entry of a class that stands in no package."""

    def load(self) -> type:
        return CLASSES[self.id]


CLASSES: dict[str, type] = {}


def entry_of(cls: type, task: str, **claims: Any) -> Entry:
    """An entry for a class of these tests; what is not claimed is not so."""
    CLASSES[cls.__name__] = cls
    fields = dict.fromkeys(("fit_cost", "predict_cost", "explains", "section", "summary"), "")
    given = {"native": ("numeric",), "weights": False, "probabilities": False, "simplicity": 1, "references": ()}
    return SmallEntry(id=cls.__name__, title=cls.__name__, class_path="", task=task, **{**fields, **given, **claims})


class SmallKMeans(Clusterer):
    """Lloyd's algorithm from rows far apart.

    {parameters}

    >>> SmallKMeans(n_clusters=2).fit([[0.0], [0.1], [9.0]]).labels_
    array([0, 0, 1])
    """

    n_clusters: int = param(3, Integer(1), "How many clusters.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SmallKMeans:
        rows, weights = self._begin(X, sample_weight)
        share = np.ones(rows.shape[0]) if weights is None else weights
        here = np.flatnonzero(share)
        first = rows[here][np.argmin(rows[here].sum(axis=1))]
        centres = [first]
        for _ in range(min(self.n_clusters, len(np.unique(rows[here], axis=0))) - 1):
            away = np.min([((rows - centre) ** 2).sum(axis=1) for centre in centres], axis=0)
            centres.append(rows[np.argmax(np.where(share > 0, away, -1.0))])
        self.cluster_centers_ = np.array(centres)
        for _ in range(50):
            labels = self._nearest(rows)
            self.cluster_centers_ = np.array(
                [
                    np.average(rows[labels == k], axis=0, weights=share[labels == k])
                    if share[labels == k].any()
                    else self.cluster_centers_[k]
                    for k in range(len(centres))
                ]
            )
        self.labels_ = self._nearest(rows)
        return self

    def _nearest(self, rows: np.ndarray) -> np.ndarray:
        return ((rows[:, None, :] - self.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1)

    def predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._nearest(self._read(X, reset=False))


class SmallGaussian(DensityEstimator):
    """One normal distribution per column.

    {parameters}

    >>> round(float(SmallGaussian().fit([[-1.0], [1.0]]).score_samples([[0.0]])[0]), 3)
    -0.919
    """

    least_deviation: float = param(1e-9, Real(0, None, "neither"), "Smallest standard deviation.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SmallGaussian:
        rows, weights = self._begin_weighted(X, sample_weight)
        self.mean_ = np.average(rows, axis=0, weights=weights)
        spread = np.sqrt(np.average((rows - self.mean_) ** 2, axis=0, weights=weights))
        self.deviation_ = np.maximum(spread, self.least_deviation)
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return norm.logpdf(self._read(X, reset=False), self.mean_, self.deviation_).sum(axis=1)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        check_is_fitted(self)
        rng = Stream.of(random_state).generator()
        return self.mean_ + self.deviation_ * rng.normal(size=(n_samples, self.n_features_in_))


class SmallHMM(Estimator):
    """Two hidden states, told apart by the median of the first column; normal emissions.

    {parameters}

    >>> SmallHMM().fit([[0.0], [0.1], [5.0], [5.1]]).decode([[0.0], [5.0]])[1]
    array([0, 1])
    """

    smoothing: float = param(1.0, Real(0, None, "neither"), "Added to every count of transitions.")

    def fit(self, X: Any, lengths: Any = None) -> SmallHMM:
        self._check_parameters()
        rows = self._read(X, reset=True)
        states = (rows[:, 0] > np.median(rows[:, 0])).astype(int)
        counts, starts = np.full((2, 2), self.smoothing), np.full(2, self.smoothing)
        for part in self._parts(states, lengths):
            starts[part[0]] += 1
            np.add.at(counts, (part[:-1], part[1:]), 1)
        self.start_, self.transitions_ = starts / starts.sum(), counts / counts.sum(axis=1, keepdims=True)
        self.means_ = np.array([rows[states == k].mean(axis=0) for k in range(2)])
        self.deviation_ = np.array([rows[states == k].std(axis=0) + 0.1 for k in range(2)])
        return self

    @staticmethod
    def _parts(rows: np.ndarray, lengths: Any) -> list[np.ndarray]:
        return np.split(rows, np.cumsum([len(rows)] if lengths is None else lengths)[:-1])

    def _walk(self, rows: np.ndarray, join: Any) -> np.ndarray:
        emitted = norm.logpdf(rows[:, None, :], self.means_, self.deviation_).sum(axis=2)
        steps = [np.log(self.start_) + emitted[0]]
        for now in emitted[1:]:
            steps.append(join(steps[-1][:, None] + np.log(self.transitions_), axis=0) + now)
        return np.array(steps)

    def score(self, X: Any, lengths: Any = None) -> float:
        parts = self._parts(self._read(X, reset=False), lengths)
        return float(sum(logsumexp(self._walk(part, logsumexp)[-1]) for part in parts))

    def decode(self, X: Any, lengths: Any = None) -> tuple[float, np.ndarray]:
        total, paths = 0.0, []
        for part in self._parts(self._read(X, reset=False), lengths):
            best = self._walk(part, np.max)
            total += best[-1].max()
            path = [int(best[-1].argmax())]
            for step in best[-2::-1]:
                path.append(int((step + np.log(self.transitions_[:, path[-1]])).argmax()))
            paths += path[::-1]
        return total, np.array(paths)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        rng = Stream.of(random_state).generator()
        states = [int(rng.choice(2, p=self.start_))]
        for _ in range(n_samples - 1):
            states.append(int(rng.choice(2, p=self.transitions_[states[-1]])))
        drawn = rng.normal(size=(n_samples, self.means_.shape[1]))
        return self.means_[states] + self.deviation_[states] * drawn, np.array(states)


class SmallItemsets(Estimator):
    """Items and pairs of items that many baskets hold.

    {parameters}

    >>> SmallItemsets(min_support=0.6).fit([["a", "b"], ["a"]]).itemsets_
    [(('a',), 1.0)]
    """

    min_support: float = param(0.1, Real(0, 1, "right"), "Least share of baskets.")

    def fit(self, baskets: Any, y: Any = None) -> SmallItemsets:
        self._check_parameters()
        counts: Counter[tuple[str, ...]] = Counter()
        for basket in baskets:
            held = sorted(set(basket))
            counts.update(itertools.chain(itertools.combinations(held, 1), itertools.combinations(held, 2)))
        shares = {items: count / len(baskets) for items, count in counts.items()}
        self.itemsets_ = sorted((items, share) for items, share in shares.items() if share >= self.min_support)
        return self


class SmallPlanner(Estimator):
    """Value iteration on a world whose transitions and rewards are known.

    {parameters}
    """

    gamma: float = param(0.9, Real(0, 1, "left"), "Discount per step.")
    random_state: Any = random_state_param()

    def fit(self, world: Any) -> SmallPlanner:
        self._check_parameters()
        values = np.zeros(world.transitions.shape[0])
        for _ in range(2000):
            self.q_values_ = world.rewards + self.gamma * world.transitions @ values
            values = self.q_values_.max(axis=1)
        self.values_, self.policy_ = values, self.q_values_.argmax(axis=1)
        return self

    def predict(self, states: Any) -> np.ndarray:
        return self.policy_[np.asarray(states)]


SMALL_METHODS = [
    entry_of(SmallKMeans, "cluster", weights=True, scales=True),
    entry_of(SmallGaussian, "density", weights=True),
    entry_of(SmallHMM, "sequence"),
    entry_of(SmallItemsets, "rules"),
    entry_of(SmallPlanner, "control"),
]
