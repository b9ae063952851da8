"""Makes glum.json: coefficients of glum's GeneralizedLinearRegressor on small drawn tables; needs glum 3.x.

python tests/reference/glum/make.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np


def table(family: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Columns, target, weights and offset, drawn from a fixed seed."""
    rng = np.random.default_rng(20)
    X = rng.normal(size=(120, 5)).round(3)
    eta = X @ np.array([0.4, -0.3, 0.2, 0.0, 0.0])
    mean = np.exp(eta)
    draws = {
        "normal": eta + rng.normal(size=120),
        "binomial": (rng.random(120) < 1 / (1 + np.exp(-eta))).astype(float),
        "poisson": rng.poisson(mean).astype(float),
        "gamma": rng.gamma(2.0, mean / 2),
        "inverse.gaussian": rng.wald(mean, 3.0),
        "tweedie (1.5)": np.array([rng.gamma(2.0, m / 2, size=rng.poisson(1)).sum() for m in mean]),
        "negative.binomial (0.5)": rng.negative_binomial(2, 2 / (2 + mean)).astype(float),
    }
    return X, draws[family].round(4), rng.uniform(0.5, 2, size=120).round(3), (0.2 * rng.normal(size=120)).round(3)


CASES = [
    (family, alpha, l1_ratio)
    for family in (
        "normal",
        "binomial",
        "poisson",
        "gamma",
        "inverse.gaussian",
        "tweedie (1.5)",
        "negative.binomial (0.5)",
    )
    for alpha, l1_ratio in ((0.0, 0.0), (0.1, 0.0), (0.05, 0.6), (0.1, 1.0))
]


def main() -> None:
    """Fit every case and write what came out."""
    import glum

    found = []
    for family, alpha, l1_ratio in CASES:
        X, y, weights, offset = table(family)
        link = {"normal": "identity", "binomial": "logit"}.get(family, "log")
        model = glum.GeneralizedLinearRegressor(
            family=family, link=link, alpha=alpha, l1_ratio=l1_ratio, gradient_tol=1e-12, max_iter=1000
        ).fit(X, y, sample_weight=weights, offset=offset)
        found.append(
            {
                "family": family,
                "alpha": alpha,
                "l1_ratio": l1_ratio,
                "coef": model.coef_.tolist(),
                "intercept": float(model.intercept_),
            }
        )
    out = {"glum": glum.__version__, "cases": found}
    Path(__file__).with_name("glum.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
