"""What `compare` does with predictions of one test set, row by row, and with one score per seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base.errors import DataError
from .comparison_procedures import Names, Procedure, some_left
from .distributions import binomial_interval, normal_quantile
from .group_tests import cochran_q
from .hypothesis_tests import POWER, mcnemar_from_counts, paired_t
from .intervals import corrected_interval
from .multivariate_tests import hotelling_t2
from .result import TestResult


class Labels(Procedure):
    """Predicted labels for one test set: McNemar for pairs, Cochran's Q for all."""

    name, metric, sign = "McNemar test", "accuracy", 1.0

    def __init__(self, y_true: np.ndarray, predictions: Mapping[str, np.ndarray], design: str):
        self.design = design
        self.y_true, self.predictions = y_true, predictions
        self.right = {name: labels == y_true for name, labels in predictions.items()}
        self.left_out = []
        self.order = sorted(self.right, key=lambda name: -int(self.right[name].sum()))

    def summary(self, name: str, alpha: float) -> dict[str, Any]:
        """Accuracy with Clopper and Pearson's interval."""
        hits, n = int(self.right[name].sum()), self.y_true.size
        share = hits / n
        interval = binomial_interval(hits, n, alpha)
        return {"mean": share, "sd": float(np.sqrt(share * (1 - share))), "interval": interval}

    def test(self, a: str, b: str, alpha: float, names: Names) -> TestResult:
        """McNemar's test."""
        first, second = self.right[a], self.right[b]
        only_a_wrong, only_b_wrong = int((second & ~first).sum()), int((first & ~second).sum())
        result = mcnemar_from_counts(
            only_a_wrong, only_b_wrong, self.y_true.size, exact="mid-p", alpha=alpha, names=names
        )
        result.details["smallest_detectable_difference"] = self._visible(only_a_wrong + only_b_wrong, alpha)
        return result

    def _visible(self, discordant: float, alpha: float) -> float | None:
        """The d with n d^2 = (z_alpha sqrt(s) + z_power sqrt(s - d^2))^2, s the share of discordant rows."""
        n, share = self.y_true.size, discordant / self.y_true.size
        if share == 0:
            return None
        at_level, at_power = normal_quantile(1 - alpha / 2), normal_quantile(POWER)
        difference = 0.0
        for _ in range(100):
            left = np.sqrt(max(0.0, share - difference**2))
            difference = float(at_level * np.sqrt(share) + at_power * left) / float(np.sqrt(n))
        return min(difference, share)

    def detectable(self, tests: list[TestResult], level: float) -> float | None:
        """For a pair with the mean number of rows that only one gets right."""
        discordant = [test.details["only_a_wrong"] + test.details["only_b_wrong"] for test in tests]
        return self._visible(float(np.mean(discordant)), level) if discordant else None

    def omnibus(self, alpha: float) -> TestResult | None:
        """Cochran's Q, for more than two classifiers."""
        return cochran_q(self.y_true, self.predictions, alpha=alpha) if len(self.right) > 2 else None


class Losses(Procedure):
    """Losses of predicted values, row by row, on one test set: the paired t test, Hotelling's T2 for all."""

    name, sign = "paired t test of the rows' losses", -1.0

    def __init__(self, losses: Mapping[str, np.ndarray], metric: str, design: str):
        self.design, self.metric = design, metric
        self.kept: dict[str, np.ndarray] = {}
        self.left_out = []
        for name, values in losses.items():
            missing = int((~np.isfinite(values)).sum())
            if missing:
                self.left_out.append({"id": name, "reason": f"{missing} of {values.size} predictions are missing"})
            else:
                self.kept[name] = values
        some_left(self.kept, self.left_out)
        self.order = sorted(self.kept, key=lambda name: float(self.kept[name].mean()))

    def summary(self, name: str, alpha: float) -> dict[str, Any]:
        """The mean loss with its t interval."""
        values = self.kept[name]
        interval = corrected_interval(values, n_train=1.0, n_test=0.0, alpha=alpha, bounds=(0.0, np.inf))
        return {"mean": float(values.mean()), "sd": float(values.std(ddof=1)), "interval": interval}

    def test(self, a: str, b: str, alpha: float, names: Names) -> TestResult:
        """The paired t test over rows."""
        return paired_t(self.kept[a], self.kept[b], alpha=alpha, names=names)

    def omnibus(self, alpha: float) -> TestResult | None:
        """Hotelling's T2 on the differences from the first, for more than two learners."""
        if len(self.kept) < 3:
            return None
        first, *others = self.kept.values()
        if first.size <= len(others) + 1:
            return None
        return hotelling_t2(
            np.column_stack(others),
            np.repeat(first[:, None], len(others), axis=1),
            alpha=alpha,
            names=("the other learners", next(iter(self.kept))),
            entries=list(self.kept)[1:],
        )


class Seeds(Losses):
    """One score per seed and learner or agent, the seeds independent: the paired t test, Hotelling's T2 for all."""

    name = "paired t test over seeds"

    def __init__(self, scores: Any, metric: str, greater_is_better: bool):
        given = {str(name): np.asarray(values, dtype=np.float64).ravel() for name, values in dict(scores).items()}
        sizes = {values.size for values in given.values()}
        if len(sizes) > 1 or min(sizes, default=0) < 2:
            raise DataError(
                "compare",
                "scores",
                "must be as many for every learner, one for each of at least 2 seeds",
                f"got {sorted(sizes)}",
            )
        super().__init__(given, metric, "seeds")
        self.sign = 1.0 if greater_is_better else -1.0
        self.order = sorted(self.kept, key=lambda name: -self.sign * float(self.kept[name].mean()))

    def summary(self, name: str, alpha: float) -> dict[str, Any]:
        """The mean score with its t interval."""
        values = self.kept[name]
        interval = corrected_interval(values, n_train=1.0, n_test=0.0, alpha=alpha, bounds=(-np.inf, np.inf))
        return {"mean": float(values.mean()), "sd": float(values.std(ddof=1)), "interval": interval}
