"""How many clusters: elbow, silhouette, gap statistic and BIC in one call, with a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..base import DataError, ParameterError, Stream
from ..base.words import count, listing
from ..models.clustering import KMeans
from ..models.mixtures import GaussianMixture
from .clustering_metrics import Clustering, elbow, gap_statistic, silhouette
from .count_choice import CountChoice

CRITERIA = ("elbow", "silhouette", "gap", "bic")
_MEANING = {
    "elbow": "sum of squared distances D(K), at its sharpest bend",
    "silhouette": "mean silhouette, largest",
    "gap": "gap statistic, least K within one standard error of the largest",
    "bic": "BIC of a normal mixture, least",
}


@dataclass(frozen=True)
class KChoice(CountChoice):
    """What each criterion says of each number of clusters K."""

    counted: ClassVar[str] = "clusters"
    letter: ClassVar[str] = "K"
    meaning: ClassVar[dict[str, str]] = _MEANING


def choose_k(
    X: Any,
    k: Iterable[int] | None = None,
    *,
    criteria: Iterable[str] = CRITERIA,
    cluster: Clustering | None = None,
    n_references: int = 10,
    most_rows: int = 10_000,
    random_state: Any = None,
) -> KChoice:
    """Ask several criteria how many clusters there are, of the numbers `k`: 1 to 10, or as far as distinct rows allow.

    `cluster(X, K)` gives one label per row (k-means with ten k-means++ starts if None). The silhouette needs two
    clusters, so its value for K = 1 is 0, as it is where every row is a cluster. Of fewer than four distinct rows
    nothing is asked: they are one cluster. The silhouette and the gap statistic look at `most_rows` rows drawn without
    replacement.

    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(m, 0.3, (60, 2)) for m in ((0, 0), (4, 0), (0, 4))])
    >>> choice = choose_k(X, range(1, 7), random_state=0)
    >>> choice.chosen, sorted(set(choice.best.values()))
    (3, [3])
    """
    points = np.ascontiguousarray(np.asarray(X, dtype=np.float64))
    if points.ndim != 2 or not points.size or not np.isfinite(points).all():
        raise DataError("choose_k", "X", "must be a table of finite numbers", f"got shape {points.shape}")
    distinct = np.unique(points, axis=0).shape[0]
    ks = tuple(range(1, min(10, distinct - 1) + 1)) if k is None else tuple(int(one) for one in k)
    wanted = tuple(criteria)
    unknown = [name for name in wanted if name not in CRITERIA]
    if unknown or not wanted:
        raise ParameterError(
            "choose_k", "parameter 'criteria'", f"must name some of {listing(CRITERIA)}", f"got {wanted}"
        )
    if k is None and len(ks) < 3:
        return KChoice((1,), {}, {}, 1, f"One cluster: {count(distinct, 'distinct row')} cannot tell more apart.", {})
    stream = Stream.of(random_state)

    def k_means(rows: np.ndarray, n: int) -> np.ndarray:
        model = KMeans(n, n_init=10, random_state=stream.child(n).generator())
        return model.fit(rows).labels_

    call = k_means if cluster is None else cluster
    part = points
    if points.shape[0] > most_rows:
        part = points[np.sort(stream.child(-1).generator().choice(points.shape[0], most_rows, replace=False))]
    values: dict[str, tuple[float, ...]] = {}
    best: dict[str, int] = {}
    if "elbow" in wanted:
        found = elbow(points, call, ks)
        values["elbow"], best["elbow"] = found.columns["D(K)"], found.best
    if "silhouette" in wanted:
        scores = [_silhouette(part, call(part, one)) for one in ks]
        values["silhouette"], best["silhouette"] = tuple(scores), ks[int(np.argmax(scores))]
    if "gap" in wanted:
        gaps = gap_statistic(part, call, ks, n_references=n_references, random_state=stream.child(-2).generator())
        values["gap"], best["gap"] = gaps.columns["gap"], gaps.best
    if "bic" in wanted:
        costs = [
            GaussianMixture(one, n_init=3, reg_covar=1e-3, random_state=stream.child(-3 - one).generator())
            .fit(points)
            .bic(points)
            for one in ks
        ]
        values["bic"], best["bic"] = tuple(costs), ks[int(np.argmin(costs))]
    return KChoice.of(ks, values, best)


def _silhouette(rows: np.ndarray, labels: np.ndarray) -> float:
    """The mean silhouette; 0 of one cluster, and of rows that are each a cluster."""
    found = np.unique(labels).shape[0]
    return silhouette(rows, labels) if 2 <= found < rows.shape[0] else 0.0
