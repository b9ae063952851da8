"""Numbers of autorank for the comparison of learners over data sets; writes numbers.json beside this file.

Run in an environment of its own: `pip install autorank==1.3.0 && python make_numbers.py`.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path

import numpy as np
import pandas as pd
from autorank import autorank


def main() -> None:
    rng = np.random.default_rng(4)
    numbers = {"versions": {"autorank": "1.3.0", "python": platform.python_version()}, "cases": []}
    for means in ([0.78, 0.80, 0.80, 0.84], [0.80, 0.80, 0.80, 0.80, 0.805]):
        matrix = rng.normal(means, 0.03, (18, len(means))).round(3)
        found = autorank(pd.DataFrame(matrix), alpha=0.05, force_mode="nonparametric")
        frame = found.rankdf
        numbers["cases"].append(
            {
                "matrix": matrix.tolist(),
                "omnibus": found.omnibus,
                "posthoc": found.posthoc,
                "p": float(found.pvalue),
                "critical_difference": float(found.cd) if found.cd is not None else None,
                "mean_ranks": {str(k): float(v) for k, v in frame["meanrank"].items()},
            }
        )
    pair = rng.normal([0.80, 0.82], 0.03, (18, 2)).round(3)
    found = autorank(pd.DataFrame(pair), alpha=0.05, force_mode="nonparametric")
    numbers["pair"] = {"matrix": pair.tolist(), "omnibus": found.omnibus, "p": float(found.pvalue)}
    (Path(__file__).parent / "numbers.json").write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
