"""Intervals from counts against loops over resampled rows, and clustering metrics against scikit-learn's.

A loop of 1,000 replicates takes the peers from ten seconds to minutes, so they run `LOOPS` of them while we run 1,000:
the true ratio is the printed one times `SCALE`, and the aims are divided by `SCALE`. The quality is an end of the
interval, with a gate of the Monte Carlo error that so few peer replicates leave.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

REPLICATES, LOOPS = 1000, 50
SCALE = REPLICATES // LOOPS
NOTE = f"ours {REPLICATES:,} replicates, the loop {LOOPS}: multiply the ratio by {SCALE}"
TEN = (
    "accuracy",
    "balanced_accuracy",
    "precision",
    "recall",
    "f1",
    "mcc",
    "roc_auc",
    "average_precision",
    "log_loss",
    "brier",
)
Data = dict[str, np.ndarray]


def _scores(rows: int) -> Data:
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.3).astype(np.int64)
    return {"y": y, "p": 1 / (1 + np.exp(-(rng.normal(size=rows) + 1.5 * y - 1)))}


def _area_interval(data: Data) -> tuple[float, float]:
    from assay.evaluate import bootstrap_interval

    return bootstrap_interval(data["y"], data["p"], "roc_auc", n_replicates=REPLICATES, random_state=0).interval


def _area_loop(data: Data) -> tuple[float, float]:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(1)
    y, p = data["y"], data["p"]
    areas = []
    for _ in range(LOOPS):
        rows = rng.integers(0, y.size, y.size)
        areas.append(roc_auc_score(y[rows], p[rows]))
    return _normal_ends(np.array(areas), roc_auc_score(y, p))


def _area_counts(data: Data) -> tuple[float, float]:
    """Scores sorted once; of every replicate how often it drew each row, and the area from running sums."""
    y, p = data["y"], data["p"]
    n, order = y.size, np.argsort(p)
    yes = y[order].astype(float)

    def area(drawn: np.ndarray) -> float:
        positive = drawn * yes
        negative = drawn - positive
        below = np.cumsum(negative) - 0.5 * negative
        return float(below @ positive / (positive.sum() * negative.sum()))

    rng = np.random.default_rng(1)
    areas = [area(np.bincount(rng.integers(0, n, n), minlength=n)[order].astype(float)) for _ in range(LOOPS)]
    return _normal_ends(np.array(areas), area(np.ones(n)))


def _normal_ends(replicates: np.ndarray, estimate: float) -> tuple[float, float]:
    """With 50 replicates the normal interval has the least Monte Carlo error; at these sizes all are the same."""
    half = 1.959963985 * replicates.std(ddof=1)
    return estimate - half, estimate + half


def _ten_intervals(data: Data) -> dict[str, tuple[float, float]]:
    from assay.evaluate import bootstrap_many

    results = bootstrap_many(TEN, data["y"], probabilities=data["p"], n_replicates=REPLICATES, random_state=0)
    return {name: result.interval for name, result in results.items()}


def _ten_loops(data: Data) -> dict[str, tuple[float, float]]:
    from sklearn import metrics

    def all_ten(y: np.ndarray, p: np.ndarray, guess: np.ndarray) -> list[float]:
        return [
            metrics.accuracy_score(y, guess),
            metrics.balanced_accuracy_score(y, guess),
            metrics.precision_score(y, guess),
            metrics.recall_score(y, guess),
            metrics.f1_score(y, guess),
            metrics.matthews_corrcoef(y, guess),
            metrics.roc_auc_score(y, p),
            metrics.average_precision_score(y, p),
            metrics.log_loss(y, p),
            metrics.brier_score_loss(y, p),
        ]

    rng = np.random.default_rng(1)
    y, p = data["y"], data["p"]
    guess = (p > 0.5).astype(np.int64)
    values = []
    for _ in range(LOOPS):
        rows = rng.integers(0, y.size, y.size)
        values.append(all_ten(y[rows], p[rows], guess[rows]))
    replicates, estimates = np.array(values), all_ten(y, p, guess)
    return {name: _normal_ends(replicates[:, j], estimates[j]) for j, name in enumerate(TEN)}


def _lower_end(data: Data, interval: tuple[float, float]) -> float:
    """Times the root of n, so that one gate is the same number of standard errors at every size."""
    return interval[0] * np.sqrt(data["y"].size)


def _lower_ends(data: Data, intervals: dict[str, tuple[float, float]]) -> float:
    return float(np.mean([low for low, _ in intervals.values()]) * np.sqrt(data["y"].size))


def _partitions(rows: int) -> Data:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 100, rows)
    found = np.where(rng.random(rows) < 0.6, truth, rng.integers(0, 120, rows))
    return {"truth": truth, "found": found}


def _blobs(rows: int) -> Data:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 8, rows)
    return {"X": rng.normal(size=(rows, 10)) + 3 * rng.normal(size=(8, 10))[labels], "labels": labels}


def _our_information(data: Data) -> float:
    from assay.evaluate import adjusted_mutual_information

    return adjusted_mutual_information(data["truth"], data["found"])


def _their_information(data: Data) -> float:
    from sklearn.metrics import adjusted_mutual_info_score

    return adjusted_mutual_info_score(data["truth"], data["found"])


def _our_silhouette(data: Data) -> float:
    from assay.evaluate import silhouette

    return silhouette(data["X"], data["labels"])


def _their_silhouette(data: Data) -> float:
    from sklearn.metrics import silhouette_score

    return silhouette_score(data["X"], data["labels"])


def _their_silhouette_single(data: Data) -> float:
    from sklearn.metrics import silhouette_score

    return silhouette_score(data["X"].astype(np.float32), data["labels"])


def _numpy_silhouette(data: Data, dtype: type = np.float64) -> float:
    """Distances of a block of rows to all, and one product with the clusters for their sums."""
    X, labels = data["X"].astype(dtype), data["labels"]
    X -= X.mean(axis=0)
    members = np.eye(labels.max() + 1, dtype=dtype)[labels]
    counts, squares, total, block = members.sum(axis=0), (X * X).sum(axis=1), 0.0, 256
    for begin in range(0, len(X), block):
        rows = slice(begin, begin + block)
        away = X[rows] @ X.T
        away *= -2.0
        away += squares
        away += squares[rows, None]
        np.sqrt(np.maximum(away, 0.0, out=away), out=away)
        here, own = np.arange(len(away)), labels[rows]
        away[here, begin + here] = 0.0
        sums = away @ members
        within = sums[here, own] / np.maximum(counts[own] - 1, 1)
        sums /= counts
        sums[here, own] = np.inf
        nearest = sums.min(axis=1)
        total += float(((nearest - within) / np.maximum(within, nearest)).sum())
    return total / len(X)


def _value(data: Any, value: float) -> float:
    return value


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="bootstrap-auc",
        title=f"BCa interval of the area under ROC ({NOTE})",
        make=_scores,
        sizes=by_rows("{n} rows", 500, 5_000, 20_000),
        ours=Contender("bootstrap_interval", "assay", _area_interval),
        peers=(
            Contender("loop of roc_auc_score", "scikit-learn", _area_loop, aim=100 / SCALE),
            Contender("loop of counts on sorted scores, NumPy", "numpy", _area_counts, aim=2 / SCALE, by_hand=True),
        ),
        quality=_lower_end,
        gate=0.2,
        tried="scipy.stats.bootstrap calls the same function as often, and its own BCa once more for each row; by hand "
        "in NumPy, the scores sorted once and no two of them equal, a replicate takes a fiftieth.",
        quality_name="lower end times root n",
        limit="one pass over n counts per replicate",
    ),
    Problem(
        id="bootstrap-ten-metrics",
        title=f"ten metrics with intervals from the same draws ({NOTE})",
        make=_scores,
        sizes=by_rows("{n} rows", 1_000, 10_000, 100_000),
        ours=Contender("bootstrap_many", "assay", _ten_intervals),
        peers=(Contender("loop of ten metrics", "scikit-learn", _ten_loops, aim=50 / SCALE),),
        quality=_lower_ends,
        gate=0.2,
        tried="a loop over the draws is what scikit-learn leaves to its user; ten functions share the draws.",
        quality_name="mean lower end times root n",
        repeats=2,
        limit="one pass over n counts per replicate and metric",
    ),
    Problem(
        id="adjusted-mutual-information",
        title="adjusted mutual information of two partitions",
        make=_partitions,
        sizes=by_rows("{n} points, 100 and 120 clusters", 2_000, 50_000),
        ours=Contender("adjusted_mutual_information", "assay", _our_information),
        peers=(Contender("adjusted_mutual_info_score", "scikit-learn", _their_information, aim=1),),
        quality=_value,
        gate=1e-8,
        tried="the function has no option that concerns speed.",
        quality_name="AMI",
        limit="hypergeometric terms that count",
    ),
    Problem(
        id="silhouette",
        title="silhouette, Euclidean",
        make=_blobs,
        sizes=by_rows("{n} x 10, 8 clusters", 1_000, 5_000, 20_000),
        ours=Contender("silhouette", "assay", _our_silhouette),
        peers=(
            Contender("silhouette_score", "scikit-learn", _their_silhouette, aim=1),
            Contender("silhouette_score, float32", "scikit-learn", _their_silhouette_single, aim=1),
            Contender("NumPy, blocks of rows", "numpy", _numpy_silhouette, aim=1, by_hand=True),
            Contender(
                "NumPy, blocks of rows, float32",
                "numpy",
                partial(_numpy_silhouette, dtype=np.float32),
                aim=1,
                by_hand=True,
            ),
        ),
        quality=_value,
        gate=1e-6,
        quality_name="silhouette",
        limit="n^2 d flops and n^2 square roots",
        tried="two jobs are as slow as one; float32 takes a quarter of the time on many rows; sums over clusters as a "
        "product, by hand in NumPy, take two thirds of that, and a quarter in float32.",
    ),
)
