"""Numbers of baycomp for the Bayesian tests; writes numbers.json beside this file.

Run in an environment of its own: `pip install baycomp==1.0.3 && python make_numbers.py`. baycomp takes differences
as second less first; its probabilities are kept in that order: first better, equivalent, second better.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path

import baycomp
import numpy as np


def main() -> None:
    rng = np.random.default_rng(3)
    folds = [rng.normal(mean, 0.03, 100).round(4) for mean in (0.80, 0.81)]
    sets = [rng.normal(mean, 0.04, 20).round(4) for mean in (0.80, 0.82)]
    sample = {"nsamples": 400_000, "random_state": 0}
    numbers = {
        "versions": {"baycomp": "1.0.3", "numpy": np.__version__, "python": platform.python_version()},
        "folds": [f.tolist() for f in folds],
        "data_sets": [s.tolist() for s in sets],
        "correlated_t": {
            str(rope): list(map(float, baycomp.CorrelatedTTest(*folds, rope=rope, runs=10).probs()))
            for rope in (0.0, 0.01, 0.02)
        },
        "signed_rank": {
            str(rope): list(map(float, baycomp.SignedRankTest.probs(*sets, rope=rope, **sample)))
            for rope in (0.0, 0.01, 0.02)
        },
    }
    (Path(__file__).parent / "numbers.json").write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
