"""Numbers of mlxtend for the tests of two and more classifiers; writes numbers.json beside this file.

Run in an environment of its own: `pip install mlxtend==0.25.0 && python make_numbers.py`.
The scores that mlxtend makes inside its 5x2 and k-fold tests are caught by the scorer and kept with the results.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path

import mlxtend
import numpy as np
from mlxtend.evaluate import (
    cochrans_q,
    combined_ftest_5x2cv,
    mcnemar,
    mcnemar_table,
    paired_ttest_5x2cv,
    paired_ttest_kfold_cv,
    permutation_test,
)
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier


class Catch:
    """A scorer that keeps every score, by estimator."""

    def __init__(self):
        self.scores = {}

    def __call__(self, estimator, X, y):
        score = float(np.mean(estimator.predict(X) == y))
        self.scores.setdefault(type(estimator).__name__, []).append(score)
        return score


def main() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 120)
    guesses = {
        n: np.where(rng.random(120) < s, truth, (truth + 1) % 3) for n, s in (("a", 0.9), ("b", 0.8), ("c", 0.7))
    }
    table = mcnemar_table(truth, guesses["a"], guesses["c"])
    numbers = {
        "versions": {"mlxtend": mlxtend.__version__, "numpy": np.__version__, "python": platform.python_version()},
        "truth": truth.tolist(),
        "guesses": {n: g.tolist() for n, g in guesses.items()},
        "mcnemar_corrected": list(map(float, mcnemar(table, corrected=True))),
        "mcnemar_exact_p": float(mcnemar(table, exact=True)[1]),
        "cochran_q": list(map(float, cochrans_q(truth, *guesses.values()))),
    }
    X, y = load_wine(return_X_y=True)
    pairs = {
        "trees": (DecisionTreeClassifier(max_depth=1, random_state=0), KNeighborsClassifier(1)),
        "linear": (LogisticRegression(max_iter=3000), DecisionTreeClassifier(random_state=0)),
    }
    for label, (first, second) in pairs.items():
        for name, test in (("five_by_two_f", combined_ftest_5x2cv), ("five_by_two_t", paired_ttest_5x2cv)):
            catch = Catch()
            statistic, p = test(first, second, X, y, scoring=catch, random_seed=3)
            scores = {k: np.reshape(v, (5, 2)).tolist() for k, v in catch.scores.items()}
            ordered = [scores[type(e).__name__] for e in (first, second)]
            numbers[f"{name}_{label}"] = {"scores": ordered, "statistic": float(statistic), "p": float(p)}
        catch = Catch()
        statistic, p = paired_ttest_kfold_cv(first, second, X, y, cv=10, scoring=catch, shuffle=True, random_seed=3)
        ordered = [catch.scores[type(e).__name__] for e in (first, second)]
        numbers[f"paired_t_{label}"] = {"scores": ordered, "statistic": float(statistic), "p": float(p)}
    a, b = rng.normal(0.80, 0.03, 9), rng.normal(0.83, 0.03, 9)
    numbers["paired_permutation"] = {
        "scores": [a.tolist(), b.tolist()],
        "p": float(permutation_test(a, b, func="x_mean != y_mean", method="exact", paired=True)),
    }
    (Path(__file__).parent / "numbers.json").write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
