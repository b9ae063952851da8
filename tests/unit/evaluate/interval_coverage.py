"""How often intervals hold the true value, by simulation; it makes the table of docs/design/calibration-intervals.md.

    PYTHONPATH=src python tests/unit/evaluate/interval_coverage.py 2000

Scores are normal with standard deviation 1, shifted for positives so that the area under ROC is known; the second
learner's scores share the class shift and correlate 0.5 with the first's. Labels say positive beyond half the shift.
Numbers are predicted with standard normal errors. Classes are drawn, so their counts vary as in a real test set; sets
with fewer than 2 rows of a class are drawn again.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np
from scipy import special

from assay.base import Stream
from assay.evaluate import bootstrap_interval, delong, wilson_interval

Interval = tuple[float, float]
SETTINGS = (
    ("n = 100, half positive", 100, 0.5, 0.8),
    ("n = 1,000, half positive", 1000, 0.5, 0.8),
    ("n = 1,000, 5 % positive", 1000, 0.05, 0.8),
    ("n = 100, half positive, area 0.95", 100, 0.5, 0.95),
    ("n = 100, 5 % positive", 100, 0.05, 0.8),
)


def _bca(metric: str, key: str) -> Callable[[dict, Stream], Interval]:
    return lambda d, s: bootstrap_interval(d["y"], d[key], metric, random_state=s, n_jobs=1).interval


METHODS: dict[str, tuple[str, Callable[[dict, Stream], Interval]]] = {
    "area under ROC, BCa": ("area", _bca("roc_auc", "scores")),
    "area under ROC, percentile": (
        "area",
        lambda d, s: (
            bootstrap_interval(d["y"], d["scores"], "roc_auc", method="percentile", random_state=s, n_jobs=1).interval
        ),
    ),
    "area under ROC, DeLong (logit)": ("area", lambda d, s: delong(d["y"], d["scores"]).interval),
    "area under ROC, DeLong (plain)": ("area", lambda d, s: delong(d["y"], d["scores"], transform="none").interval),
    "difference of areas, BCa": (
        "difference",
        lambda d, s: (
            bootstrap_interval(d["y"], d["scores"], "roc_auc", second=d["others"], random_state=s, n_jobs=1).interval
        ),
    ),
    "difference of areas, DeLong": ("difference", lambda d, s: delong(d["y"], d["scores"], d["others"]).interval),
    "accuracy, BCa": ("accuracy", _bca("accuracy", "labels")),
    "accuracy, Wilson": (
        "accuracy",
        lambda d, s: wilson_interval(int((d["y"] == d["labels"]).sum()), d["y"].size),
    ),
    "F1, BCa": ("f1", _bca("f1", "labels")),
    "mean squared error, BCa": (
        "mse",
        lambda d, s: bootstrap_interval(d["truth"], d["values"], "mse", random_state=s, n_jobs=1).interval,
    ),
}


def truths(share: float, area: float) -> dict[str, float]:
    """The true value of each metric."""
    right = float(special.ndtr(special.ndtri(area) / np.sqrt(2)))
    f1 = 2 * share * right / (2 * share * right + 1 - right)
    return {"area": area, "difference": 0.0, "accuracy": right, "f1": f1, "mse": 1.0}


def simulate(n_rows: int, share: float, area: float, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """One test set."""
    while True:
        y = (generator.random(n_rows) < share).astype(np.int64)
        if 2 <= y.sum() <= n_rows - 2:
            break
    shift = np.sqrt(2) * special.ndtri(area)
    common, own, other = generator.normal(size=(3, n_rows)) * np.sqrt(0.5)
    scores, others = shift * y + common + own, shift * y + common + other
    truth, error = generator.normal(size=(2, n_rows))
    return {
        "y": y,
        "scores": scores,
        "others": others,
        "labels": (scores > shift / 2).astype(np.int64),
        "truth": truth,
        "values": truth + error,
    }


def coverage(
    n_rows: int, share: float, area: float, repetitions: int, seed: int, methods: tuple[str, ...] = tuple(METHODS)
) -> dict[str, tuple[float, float]]:
    """Share of intervals that hold the truth, and their mean width, per method."""
    held, width = dict.fromkeys(methods, 0), dict.fromkeys(methods, 0.0)
    true = truths(share, area)
    for repetition in range(repetitions):
        stream = Stream.of(seed).child(repetition)
        data = simulate(n_rows, share, area, stream.generator())
        for name in methods:
            target, interval_of = METHODS[name]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                low, high = interval_of(data, stream.child(1))
            held[name] += low <= true[target] <= high
            width[name] += high - low
    return {name: (held[name] / repetitions, width[name] / repetitions) for name in methods}


def main(repetitions: int) -> None:
    print("| interval | " + " | ".join(title for title, *_ in SETTINGS) + " |")
    print("| --- |" + " --- |" * len(SETTINGS))
    columns = [coverage(*setting[1:], repetitions, seed) for seed, setting in enumerate(SETTINGS)]
    for name in METHODS:
        cells = " | ".join(f"{100 * column[name][0]:.1f} ({column[name][1]:.3f})" for column in columns)
        print(f"| {name} | {cells} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
