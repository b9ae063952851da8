"""Numbers of scikit-posthocs for the comparison of learners over data sets; writes numbers.json beside this file.

Run in an environment of its own: `pip install scikit-posthocs==0.17.1 && python make_numbers.py`.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path

import numpy as np
import scikit_posthocs
import scipy


def main() -> None:
    rng = np.random.default_rng(2)
    matrix = rng.normal([0.78, 0.80, 0.80, 0.84, 0.79], 0.03, (14, 5)).round(3)
    groups = [rng.normal(shift, 1.0, 8 + j).round(3).tolist() for j, shift in enumerate((0.0, 0.5, 1.5))]
    numbers = {
        "versions": {
            "scikit-posthocs": scikit_posthocs.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
        "matrix": matrix.tolist(),
        "nemenyi_friedman": np.asarray(scikit_posthocs.posthoc_nemenyi_friedman(matrix)).tolist(),
        "groups": groups,
        "t_pooled": np.asarray(scikit_posthocs.posthoc_ttest(groups, pool_sd=True)).tolist(),
        "t_pooled_holm": np.asarray(scikit_posthocs.posthoc_ttest(groups, pool_sd=True, p_adjust="holm")).tolist(),
    }
    (Path(__file__).parent / "numbers.json").write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
