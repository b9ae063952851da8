"""Numbers of mlxtend's bias_variance_decomp for given predictions: `python make_bias_variance.py` with mlxtend 0.25.0.

mlxtend fits and predicts itself, so the learner here replays rows of a table of predictions.
"""

from __future__ import annotations

import json
from pathlib import Path

import mlxtend
import numpy as np
from mlxtend.evaluate import bias_variance_decomp


class Replay:
    """Predicts the next row of a table after each fit."""

    def __init__(self, table):
        self.table, self.row = table, -1

    def fit(self, X, y):
        self.row += 1
        return self

    def predict(self, X):
        return self.table[self.row]


def main() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 40)
    right = rng.uniform(size=40)
    wrong = np.where(rng.uniform(size=(30, 40)) < 0.8, (y + 1) % 3, (y + 2) % 3)
    labels = np.where(rng.uniform(size=(30, 40)) < right, y, wrong)
    target = rng.normal(size=40)
    values = target + rng.normal(size=40) + 0.5 * rng.normal(size=(30, 40))
    record = {"version": mlxtend.__version__}
    for loss, table, truth in (("0-1_loss", labels, y), ("mse", values, target)):
        parts = bias_variance_decomp(
            Replay(table), np.zeros((40, 1)), truth, np.zeros((40, 1)), truth, loss=loss, num_rounds=30, random_seed=1
        )
        record[loss] = {
            "predictions": table.tolist(),
            "y": truth.tolist(),
            **dict(zip(("loss", "bias", "variance"), map(float, parts))),
        }
    Path(__file__).with_name("bias_variance.json").write_text(json.dumps(record))


if __name__ == "__main__":
    main()
