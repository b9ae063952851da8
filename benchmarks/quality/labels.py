"""Losses on made tables with one column of labels, few or many, that say something or nothing: the settings that the
defaults for categories were chosen on. `python -m benchmarks.quality.labels` measures them and writes the page."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.quality.__main__ import PAGE, RESULTS, loss_of
from benchmarks.quality.contenders import CONTENDERS, EQUAL
from benchmarks.quality.tables import Table

ROWS, LABELS, TESTED = (1000, 4000, 20000, 50000), (10, 50, 300, 2000), 8000
LIBRARIES = ("assay", "lightgbm")


def made(rows: int, labels: int, falling: bool, worth: float, task: str, seed: int) -> Table:
    """Four columns of numbers, of which three count, and labels whose effects have the standard deviation `worth`."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, labels + 1) if falling else np.ones(labels)
    effect = worth * rng.normal(size=labels)
    label = rng.choice(labels, rows + TESTED, p=shares / shares.sum())
    x = rng.normal(size=(rows + TESTED, 4))
    score = effect[label] + np.sin(2 * x[:, 0]) + x[:, 1] * (x[:, 2] > 0)
    frame = pd.DataFrame(x, columns=list("abcd"))
    frame["label"] = pd.Categorical.from_codes(label, [f"l{k}" for k in range(labels)])
    chance = rng.random(rows + TESTED) < 1 / (1 + np.exp(-score))
    y = chance.astype(int) if task == "classify" else score + rng.normal(size=rows + TESTED)
    return Table("labels", task, frame, y)


def cells() -> Iterator[dict[str, Any]]:
    """The mean losses of each library at equal settings in every setting."""
    contenders = [c for c in CONTENDERS if c.group == EQUAL and c.library in LIBRARIES]
    for rows in ROWS:
        for labels in LABELS:
            for falling in (False, True):
                if labels > rows or (falling and labels == LABELS[0]):
                    continue
                for worth in (1.0, 0.0):
                    for task in ("regress", "classify"):
                        found: dict[str, list[float]] = {c.library: [] for c in contenders}
                        for seed in range(3 if rows <= 4000 else 1):
                            table = made(rows, labels, falling, worth, task, seed)
                            for c in contenders:
                                model = c.make(task, 2, seed).fit(table.X[:rows], table.y[:rows])
                                found[c.library].append(loss_of(table, model, table.X[rows:], table.y[rows:]))
                        print(rows, labels, "done", file=sys.stderr, flush=True)
                        losses = {name: float(np.mean(values)) for name, values in found.items()}
                        yield {
                            "rows": rows,
                            "labels": labels,
                            "falling": falling,
                            "worth": worth,
                            "task": task,
                        } | losses


def main() -> int:
    """Measure and write the page."""
    from benchmarks.quality.page import write

    warnings.simplefilter("ignore")
    kept = json.loads(RESULTS.read_text())
    kept["labels"] = list(cells())
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    PAGE.write_text(write(kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
