"""What `compare` does in each design: which learners have full scores, how a pair is tested, what could be seen.

A procedure knows the scores of one design. `compare` asks it for the learners best first, a summary of each, the test
of a pair, the omnibus test and the smallest detectable difference, and does the rest (correction, groups, words).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..base.errors import DataError, DesignError, ParameterError, UsageError, plain
from .distributions import (
    detectable_shift,
    detectable_t,
    normal_p_value,
    normal_quantile,
    t_p_value,
    t_quantile,
)
from .group_tests import friedman, nemenyi
from .hypothesis_tests import (
    POWER,
    corrected_resampled_t,
    five_by_two_detectable,
    five_by_two_f,
    five_by_two_t,
    paired_t,
    resampled_t,
    size_ratio,
    t_of_error,
)
from .intervals import ROUNDING, ScoreScale, corrected_interval, honest_df, score_interval, spread
from .max_t import MaxT
from .metrics import get_metric
from .permutation_tests import permutation_test
from .rank_tests import sign_test, wilcoxon
from .resampling import Design
from .result import Assumption, Interval, Outcome, TestResult, number
from .row_values import covariance_of_rows

Names = tuple[str, str]
LeftOut = list[dict[str, str]]

_OVERLAP = (
    "takes the scores for independent, but the splits share rows, so that a true null is rejected in far more than "
    "alpha of cases (about half for many splits)"
)
_ROWS_OF_ONE_SPLIT = "gives one score per learner, for which no test is valid"
_WAYS_OUT = {
    "holdout": "pass the true and the predicted labels of the test rows to mcnemar (two learners) or cochran_q "
    "(more), or here as y= and in place of the scores, or choose the design 5x2",
    "leave-one-out": "pass the true and the predicted labels to mcnemar or cochran_q, or here as y= and in place of "
    "the scores, or choose the design 5x2",
}
_SINGLE_ROWS = "gives scores of single rows, for which no test of mean scores is valid"
# Efficiency of the signed rank test against the t test for normal differences.
_SIGNED_RANK_EFFICIENCY = 3 / np.pi


class Procedure:
    """Base of the procedures: scores by learner, and the words that belong to their difference."""

    name: str
    design: str
    metric: str
    sign: float  # +1 where a greater difference is better for the first of a pair
    testable = True
    corrected = False  # whether p-values of all pairs are corrected by the test itself
    critical_difference: float | None = None
    unit = ""  # of a difference, where it is not that of the metric
    order: list[str]  # learners, best first
    left_out: LeftOut
    doubts: tuple[str, ...] = ()  # why the tests are not valid, where they were forced
    cautions: list[str] = []  # what is known to be doubtful, for the sentence
    simultaneous = False  # whether pairs are held to the largest t over all of them (`distribution`)

    def summary(self, name: str, alpha: float) -> dict[str, Any]:
        """Mean, deviation and interval of one learner."""
        raise NotImplementedError

    def test(self, a: str, b: str, alpha: float, names: Names) -> TestResult:
        """The test of one pair."""
        raise NotImplementedError

    def detectable(self, tests: list[TestResult], level: float) -> float | None:
        """The difference that a typical pair would have shown with 80 % power at this level."""
        variances = [test.details["standard_error"] ** 2 for test in tests]
        if not variances or not np.mean(variances) > 0:
            return None
        df = tests[0].df
        assert isinstance(df, (int, float))
        if self.simultaneous:
            return detectable_shift(self.distribution().critical(level), df, POWER) * float(np.sqrt(np.mean(variances)))
        return detectable_t(df, level, POWER) * float(np.sqrt(np.mean(variances)))

    def distribution(self) -> MaxT:
        """The distribution of the largest |t| over all pairs, where pairs are held to it."""
        raise NotImplementedError

    def omnibus(self, alpha: float) -> TestResult | None:
        """One test of all learners at once, where the design has one."""
        return None

    @property
    def widest(self) -> float:
        """The largest difference that two scores can have: the range of the metric."""
        bounds = None if self.unit else metric_bounds(self.metric)
        return np.inf if bounds is None else float(bounds[1] - bounds[0])

    def within_range(self, interval: Interval | None) -> Interval | None:
        """An interval of a difference of scores without what no difference can be."""
        if interval is None:
            return None
        return max(interval[0], -self.widest), min(interval[1], self.widest)

    def lead(self, a: str, b: str, difference: float) -> str:
        """Who is better, and by how much."""
        if difference == 0:
            return f"{a} and {b} score the same"
        return f"{a} scored {number(abs(difference))} {'better' if self.sign * difference > 0 else 'worse'} than {b}"


# -- splits of one data set ---------------------------------------------------------------------------------
class Folds(Procedure):
    """Scores of the splits of one data set, and where they are known the rows' contributions to them.

    **One error for everything.** The variance of a mean score, and of the difference of two, is the larger of two
    estimates: Nadeau and Bengio's from the spread between folds, which holds what differs between training sets, and
    that of the rows (`row_values`), which holds the class shares that stratified folds hide and does not shrink when
    the folds happen to agree. Means, differences and detectable differences all use it, with folds - 1 degrees of
    freedom. The interval of a difference from a learner whose score cannot vary (an area under ROC of 0.5 without
    ranking) is the other learner's interval, shifted.

    Two settings depart from Nadeau and Bengio's factor 1 / splits + n_test / n_train, by simulation
    (docs/design/calibration.md): a mean score over one pass of the folds counts as one over three, since disjoint test
    rows share nothing (the factor covers 99.5 %); and the difference of two scores that rank or weigh classes, where
    the smaller class has m rows, counts the overlap of the training sets 1 + 8 / m times, since on few rows what is
    learned depends on more than the theory's tenth (six equal learners: 9 % false alarms at m = 18 without it).

    With groups the rows' variance is the jackknife's over groups, and the degrees of freedom are those of as many
    groups of one size, g = n^2 / sum n_i^2; groups that all score the same show no variance, and that of rows drawn one
    by one stands in for it. The variance of a mean over rows counts 1 + (6 / g)^2 times: a few groups
    that differ much make skewed sums (root mean squared errors of 8 groups covered 87 % without it).
    """

    def __init__(
        self,
        scores: Any,
        plan: Design,
        n_train: Any,
        n_test: Any,
        test: str | None,
        force: bool,
        metric: str,
        greater_is_better: bool,
        rows: Mapping[str, Any] | None = None,
        units: Any = None,
        smaller: int | None = None,
    ):
        self.plan, self.design, self.metric = plan, plan.name, metric
        self.sign = 1.0 if greater_is_better else -1.0
        self.bounds = metric_bounds(metric)
        self.chosen = self._choose(plan, test, force, rows is not None)
        self.kept, self.left_out = read_scores(scores, _wanted_shape(plan, scores))
        self.order = sorted(self.kept, key=lambda name: -self.sign * float(self.kept[name].mean()))
        self.grouped = units is not None
        self._read_rows(rows, units)
        if self.chosen == "rows" and self.rows is None:
            raise UsageError("compare", "rows", "must hold the values of every learner for one split")
        self.testable = plan.kind != "holdout" or self.rows is not None
        self.ratio = self._split_ratio(plan, n_train, n_test)
        self.splits = next(iter(self.kept.values())).size
        self.df: float = honest_df(self.splits, self.ratio) if self.splits > 1 else 1
        if self.units is not None:
            self.df = max(1, min(self.df if self.splits > 1 else np.inf, self.independent - 1))
        self.smaller = smaller
        self.simultaneous = self.chosen in ("corrected_resampled_t", "rows")
        self.name = {
            "five_by_two_f": "combined 5x2cv F test",
            "five_by_two_t": "5x2cv paired t test",
            "corrected_resampled_t": "corrected resampled t test",
            "resampled_t": "resampled t test",
            "rows": "t test of the test rows",
            "none": "no test",
        }.get(self.chosen) or _DATA_SET_TESTS[self.chosen]
        self.cautions = self._cautions()

    def _read_rows(self, rows: Mapping[str, Any] | None, units: Any) -> None:
        """The covariance of the learners' scores over samples of rows, if every learner's rows are known."""
        self.rows: np.ndarray | None = None
        self.units: int | None = None
        if rows is None or any(rows.get(name) is None for name in self.kept):
            return
        values = {name: np.asarray(rows[name], dtype=np.float64) for name in self.kept}
        if len({value.shape for value in values.values()}) > 1:
            raise DataError("compare", "rows", "must be as many values for every learner")
        self.rows = covariance_of_rows(values, units)
        self.one_by_one = self.rows if units is None else covariance_of_rows(values)
        self.n_rows = next(iter(values.values())).size
        sizes = np.ones(self.n_rows) if units is None else np.unique(np.asarray(units), return_counts=True)[1]
        self.units = sizes.size
        self.independent = float(sizes.sum() ** 2 / (sizes.astype(np.float64) ** 2).sum())
        self.place = {name: i for i, name in enumerate(values)}

    def _choose(self, plan: Design, test: str | None, force: bool, with_rows: bool) -> str:
        """The name of the test; refuses where none or not this one is valid, unless forced."""
        rule, usual, valid = self._rules(plan)
        if plan.kind == "holdout" and with_rows and test is None:
            return "rows"
        if plan.kind == "time" and with_rows and test is None:
            # Blocks of time are few and drift together; their spread and their rows are all there is to judge by.
            return usual
        subject = f"the design '{plan.name}'"
        if test is not None and test not in _FOLD_TESTS:
            raise ParameterError(
                "compare", "parameter 'test'", f"must be one of {', '.join(sorted(_FOLD_TESTS))} here", f"got {test!r}"
            )
        if test is not None and test not in valid and not rule:
            if test.startswith("five_by_two"):
                raise DesignError("compare", f"the test '{test}'", "is for the design 5x2", f"got {plan.name}")
            subject, rule = f"the test '{test}'", _OVERLAP
        if not rule:
            return test or usual
        if not force:
            way_out = _WAYS_OUT.get(plan.kind, f"leave the choice to compare ({usual}), or say force=True")
            raise DesignError("compare", subject, rule, way_out=way_out)
        self.doubts = (f"{subject} {rule}",)
        return "none" if plan.kind == "holdout" else test or usual

    @staticmethod
    def _rules(plan: Design) -> tuple[str, str, tuple[str, ...]]:
        """Why no test is valid (or nothing), the usual test, and all valid ones."""
        if plan.kind == "holdout":
            return _ROWS_OF_ONE_SPLIT, "none", ()
        if plan.kind == "leave-one-out":
            return _SINGLE_ROWS, "paired_t", ()
        if plan.kind == "5x2":
            return "", "five_by_two_f", ("five_by_two_f", "five_by_two_t", "corrected_resampled_t")
        return getattr(plan, "refusal", ""), "corrected_resampled_t", ("corrected_resampled_t",)

    @staticmethod
    def _split_ratio(plan: Design, n_train: Any, n_test: Any) -> float:
        """n_test / n_train: as given, or 1 / (folds - 1) as the design has it."""
        if (n_train is None) != (n_test is None):
            raise UsageError("compare", "n_train and n_test", "must be given together")
        if n_train is not None:
            return size_ratio("compare", n_train, n_test)
        if plan.kind == "holdout":
            share = plan.test_share or 0.25
            return share / (1 - share)
        if plan.kind == "leave-one-out":
            return 0.0
        assert plan.folds is not None
        if plan.folds > 1:
            return 1.0 / (plan.folds - 1)
        # Splits without folds, such as bootstrap samples, carry the ratio or leave it to the caller.
        if (ratio := getattr(plan, "test_train_ratio", None)) is None:
            raise UsageError("compare", "n_train and n_test", f"are needed for the design '{plan.name}'")
        return float(ratio)

    def _cautions(self) -> list[str]:
        """What is known to be wrong with the design or the metric on this table, for the sentence."""
        said = []
        if self.chosen in ("five_by_two_f", "five_by_two_t"):
            said.append(
                "the tests of five times two folds find a difference between equal learners in up to 20 % of cases "
                "(60 % for the area under ROC) where half of the rows teach them too little; the design 3x10 does not"
            )
        if self.plan.kind == "time":
            said.append(
                "blocks of time drift together, so that the intervals hold for a future like these blocks and no other"
            )
        if self.metric == "log_loss" and self.rows is not None and self.n_rows < 500:
            said.append(
                "below 500 rows the log loss interval of a learner that says little more than the class shares is too "
                "short (it covers about 90 %)"
            )
        if self.metric.startswith(_OF_DECISIONS) and (self.smaller or 0) < 200:
            said.append(
                f"the interval of {self.metric} is too short for learners near chance, whose score follows the class "
                "that they happen to prefer"
            )
        if self.of_groups and self.independent < _FEW_GROUPS:
            said.append(
                f"the rows come from {self.units} groups"
                + (" of very different sizes" if self.independent < 0.7 * (self.units or 0) else "")
                + ", few to judge by: the interval of a mean score may be too short (it covers 90 to 99 %)"
            )
        if self.smaller is not None and self.smaller < _FEW:
            rows = "1 row is" if self.smaller == 1 else f"{self.smaller} rows are"
            said.append(f"only {rows} of the smallest class, too few for an interval of {self.metric} to be relied on")
        return said

    @property
    def of_groups(self) -> bool:
        """Whether rows were drawn by groups (patients, machines), not one by one or by blocks of time."""
        return self.grouped and self.plan.kind != "time" and self.units is not None

    # -- errors ------------------------------------------------------------------------------------------------
    def _variance(self, scores: np.ndarray, among_rows: float | None, factor: float) -> float:
        """The larger of the estimates by folds and by rows."""
        found = among_rows or 0.0
        if scores.size > 1:
            sd = spread(scores.ravel(), float(np.abs(scores).max()))
            found = max(found, factor * sd**2)
        return found

    @cached_property
    def _mean_factor(self) -> float:
        """The variance of a mean score over that of the splits' scores."""
        return 1 / max(self.splits, 3 * (self.plan.folds or 0)) + self.ratio

    @cached_property
    def _difference_factor(self) -> float:
        """The variance of a mean difference over that of the splits' differences."""
        by_rows = self.metric in _MEANS_OF_ROWS or self.smaller is None
        return 1 / self.splits + self.ratio * (1.0 if by_rows else 1 + _UNSTABLE / max(self.smaller or 1, 1))

    def _row_variance(self, a: str, b: str | None = None) -> float | None:
        """By groups, or where a few of them happen to score the same, as if rows were drawn one by one."""
        if self.rows is None:
            return None
        alone = self._variance_of(self.one_by_one, a, b)
        found = alone if self.rows is self.one_by_one else self._variance_of(self.rows, a, b)
        return found if found > ROUNDING * alone else alone

    def _variance_of(self, covariance: np.ndarray, a: str, b: str | None) -> float:
        """The variance of a mean score, or of the difference of two."""
        i = self.place[a]
        if b is None:
            return float(covariance[i, i])
        j = self.place[b]
        both = float(covariance[i, i] + covariance[j, j])
        found = both - 2 * float(covariance[i, j])
        return found if found > ROUNDING * both else 0.0

    @property
    def _floor(self) -> float:
        """The least variance of a score that is not fixed in advance: that of one row more on either side.

        Where no row was wrong, another sample may hold one that is: (0 + 1) of n + 2 rows each way, as in Bonett and
        Price's interval for paired shares.
        """
        if self.rows is None or self.bounds is None or not np.isfinite(self.bounds).all():
            return 0.0
        counted = self.n_rows if self.metric in ("accuracy", "error_rate") or not self.smaller else self.smaller
        return 2.0 * ((self.bounds[1] - self.bounds[0]) / (counted + 2)) ** 2

    def _floor_of_difference(self, a: str, b: str) -> float:
        """The least variance of the difference of two learners that do not agree in everything: that of one row on
        either side. In a share of rows it counts 1 / (n + 2); in any other score as much as a typical row does, by
        the rows' variance of the two (a row of one class of many, or of a rare one, is not the whole class)."""
        if self.rows is None or self.metric in ("accuracy", "error_rate"):
            return self._floor
        assert self.units is not None
        return float(self.rows[self.place[a], self.place[a]] + self.rows[self.place[b], self.place[b]]) / self.units

    def error(self, name: str) -> float:
        """The standard error of a mean score."""
        variance = self._variance(self.kept[name], self._row_variance(name), self._mean_factor)
        if variance == 0 and not ScoreScale(self.bounds).inside(float(self.kept[name].mean())):
            variance = self._floor
        if self.of_groups and (self.metric in _MEANS_OF_ROWS or self.smaller is None):
            variance *= 1 + (_SKEWED / self.independent) ** 2
        return float(np.sqrt(variance))

    def is_constant(self, name: str) -> bool:
        """Whether the score cannot vary: it is the same in every fold and for every sample of rows."""
        return self.rows is not None and self.error(name) == 0

    def difference_error(self, a: str, b: str) -> float:
        """The standard error of the difference of two mean scores; 0 for two that agree in every fold and row."""
        if self.is_constant(b):
            return self.error(a)
        if self.is_constant(a):
            return self.error(b)
        differences = self.kept[a] - self.kept[b]
        variance = self._variance(differences, self._row_variance(a, b), self._difference_factor)
        if variance == 0 and np.abs(differences).max() <= ROUNDING * np.abs(self.kept[a]).max():
            return 0.0
        return float(np.sqrt(max(variance, self._floor_of_difference(a, b))))

    def distribution(self) -> MaxT:
        """The distribution of the largest |t| over all pairs, by the rows' covariance or, without rows, as if the
        learners were independent, which asks for more."""
        return MaxT(np.eye(len(self.order)) if self.rows is None else self.rows, self.df)

    # -- what compare asks for -----------------------------------------------------------------------------------
    def summary(self, name: str, alpha: float) -> dict[str, Any]:
        """The mean with its interval; one score without rows has none."""
        values = self.kept[name]
        if values.size == 1 and self.rows is None:
            return {"mean": float(values.mean()), "sd": None, "interval": (-np.inf, np.inf)}
        interval = self.mean_interval(name, t_quantile(1 - alpha / 2, self._mean_df(name)))
        sd = float(values.std(ddof=1)) if values.size > 1 else None
        return {"mean": float(values.mean()), "sd": sd, "interval": interval}

    def _mean_df(self, name: str) -> float:
        """Degrees of freedom of a mean score: those of the folds, or for a share of rows those of the rows where folds
        that are made alike (stratified) can show no spread, as for a learner that says the commonest class."""
        among_rows = self._row_variance(name)
        if among_rows is None or self.units is None or self.metric not in ("accuracy", "error_rate"):
            return self.df
        by_folds = self._variance(self.kept[name], None, self._mean_factor)
        return self.df if by_folds > among_rows / 4 else max(self.df, self.independent - 1)

    def mean_interval(self, name: str, critical: float) -> Interval:
        """The mean score +- this many standard errors, on the scale of the metric."""
        return score_interval(float(self.kept[name].mean()), self.error(name), critical, self.bounds)

    def test(self, a: str, b: str, alpha: float, names: Names) -> TestResult:
        """The chosen test on the scores of two learners."""
        first, second = self.kept[a], self.kept[b]
        if not self.simultaneous:
            return _FOLD_TESTS[self.chosen](first, second, alpha=alpha, names=names)
        error, mean = self.difference_error(a, b), float(first.mean() - second.mean())
        size = max(float(np.abs(first).max()), float(np.abs(second).max()))
        known = ("the differences vary", error > 0 or abs(mean) <= ROUNDING * size)
        assumptions = (known, *(_FOLD_ASSUMPTIONS if self.chosen == "corrected_resampled_t" else _ROW_ASSUMPTIONS))
        result = t_of_error(self.name, mean, error, self.df, assumptions, alpha=alpha, names=names, scale=size)
        shifted = self.shifted_interval(a, b, t_quantile(1 - alpha / 2, self.df))
        return result if shifted is None else self._shifted_test(result, a, b, shifted)

    def shifted_interval(self, a: str, b: str, critical: float) -> Interval | None:
        """The interval of the difference where one of the two cannot vary: the other's own, shifted."""
        if self.is_constant(b) and not self.is_constant(a):
            low, high = self.mean_interval(a, critical)
            constant = float(self.kept[b].mean())
            return low - constant, high - constant
        if self.is_constant(a) and not self.is_constant(b):
            low, high = self.mean_interval(b, critical)
            constant = float(self.kept[a].mean())
            return constant - high, constant - low
        return None

    def _shifted_test(self, result: TestResult, a: str, b: str, interval: Interval) -> TestResult:
        """The same test on the scale on which that interval was made, so that both say the same."""
        moving, fixed, sign = (a, b, 1.0) if self.is_constant(b) else (b, a, -1.0)
        scale, mean, constant = ScoreScale(self.bounds), float(self.kept[moving].mean()), float(self.kept[fixed].mean())
        if not (scale.inside(mean) and scale.inside(constant)):
            return replace(result, interval=interval)
        statistic = sign * (scale.to(mean) - scale.to(constant)) / (self.error(moving) * scale.slope(mean))
        p_value = t_p_value(statistic, self.df)
        return replace(result, statistic=statistic, p_value=p_value, reject=p_value < result.alpha, interval=interval)

    def simultaneous_interval(self, a: str, b: str, critical: float) -> Interval:
        """The interval of a difference with the critical value for all pairs."""
        if (shifted := self.shifted_interval(a, b, critical)) is not None:
            return shifted
        mean, half = float(self.kept[a].mean() - self.kept[b].mean()), critical * self.difference_error(a, b)
        return mean - half, mean + half

    def detectable(self, tests: list[TestResult], level: float) -> float | None:
        """As for t tests; the combined F test and tests without a standard error have their own."""
        if self.chosen == "five_by_two_f":
            variance = float(np.mean([test.details["variance"] for test in tests])) if tests else 0.0
            return five_by_two_detectable(variance, level) if variance > 0 else None
        if self.chosen in ("none", "wilcoxon", "sign_test", "permutation_test"):
            return None
        return super().detectable(tests, level)


_FEW = 10
_FEW_GROUPS = 15
_SKEWED = 6
_UNSTABLE = 8
_OF_DECISIONS = ("f1", "f2", "f0", "precision", "recall", "balanced_accuracy", "sensitivity", "mcc", "kappa")
_MEANS_OF_ROWS = ("accuracy", "error_rate", "log_loss", "brier")
_FOLD_ASSUMPTIONS: tuple[Assumption, ...] = (
    ("two splits' differences correlate by n_test / (n_train + n_test)", None),
    ("the differences are roughly normal", None),
)
_ROW_ASSUMPTIONS: tuple[Assumption, ...] = (("the test rows are independent and were not used for training", None),)
_FOLD_TESTS: dict[str, Callable[..., TestResult]] = {
    "corrected_resampled_t": corrected_resampled_t,
    "five_by_two_f": five_by_two_f,
    "five_by_two_t": five_by_two_t,
    "paired_t": paired_t,
    "permutation_test": permutation_test,
    "resampled_t": resampled_t,
    "sign_test": sign_test,
    "wilcoxon": wilcoxon,
}


def _wanted_shape(plan: Design, scores: Any) -> tuple[int, int]:
    """(repetitions, folds); leave-one-out has as many as the first learner."""
    if plan.folds is not None:
        return plan.repetitions, plan.folds
    first = next(iter(scores.values()), ()) if isinstance(scores, Mapping) else ()
    return 1, max(2, int(np.size(first)))


def read_scores(scores: Any, wanted: tuple[int, int]) -> tuple[dict[str, np.ndarray], LeftOut]:
    """Learners with a full set of finite scores, and the others with the reason."""
    if not isinstance(scores, Mapping):
        raise UsageError(
            "compare", "scores", "must be a mapping from learner to scores", f"got a {type(scores).__name__}"
        )
    kept: dict[str, np.ndarray] = {}
    left_out: LeftOut = []
    for name, given in scores.items():
        try:
            values = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError("compare", f"scores of '{plain(name)}'", "must be an array of numbers") from None
        if values.ndim == 1 and 1 in wanted:
            values = values.reshape(-1, 1) if wanted[1] == 1 and wanted[0] != 1 else values[None, :]
        if values.ndim == 0 and wanted == (1, 1):
            values = values.reshape(1, 1)
        if values.shape != wanted:
            raise DataError(
                "compare",
                f"scores of '{plain(name)}'",
                f"must have shape {wanted} (repetitions, folds) for this design",
                f"got {np.shape(given)}",
            )
        missing = int((~np.isfinite(values)).sum())
        if missing:
            left_out.append({"id": str(name), "reason": f"{missing} of {values.size} scores are missing"})
        else:
            kept[str(name)] = values
    some_left(kept, left_out)
    return kept, left_out


def some_left(kept: Mapping[str, Any], left_out: LeftOut) -> None:
    """Refuse scores of which no learner has all."""
    if not kept:
        came = f"all {len(left_out)} learners have missing scores" if left_out else "got none"
        raise DataError("compare", "scores", "must hold at least one learner with every score", came)


def metric_bounds(metric: str) -> Interval | None:
    """The bounds of a metric by name; None if there is no such metric."""
    try:
        return get_metric(metric).bounds
    except UsageError:
        return None


# -- several data sets --------------------------------------------------------------------------------------
class DataSets(Procedure):
    """One score of every learner on each of several data sets: Friedman and Nemenyi, or tests of pairs."""

    design = "datasets"

    def __init__(
        self, scores: Any, test: str | None, force: bool, metric: str, greater_is_better: bool, comparisons: str
    ):
        self.metric, self.greater_is_better, self.comparisons = metric, greater_is_better, comparisons
        self.kept, self.left_out = read_scores(*_data_set_scores(scores))
        self.kept = {name: values.ravel() for name, values in self.kept.items()}
        self.n = next(iter(self.kept.values())).size
        if self.n == 1 and len(self.kept) > 1:
            refusal = "has one data set, and one score per learner allows no test"
            if not force:
                raise DesignError(
                    "compare", "the design 'datasets'", refusal, way_out="bring more data sets, or compare by folds"
                )
            self.doubts, self.testable = (f"the design 'datasets' {refusal}",), False
        self.chosen = test or ("friedman" if len(self.kept) > 2 else "wilcoxon")
        if self.chosen not in _DATA_SET_TESTS:
            raise ParameterError(
                "compare",
                "parameter 'test'",
                f"must be one of {', '.join(sorted(_DATA_SET_TESTS))} for the design 'datasets'",
                f"got {test!r}",
            )
        names, matrix = list(self.kept), np.column_stack(list(self.kept.values()))
        self.ranks = dict.fromkeys(names, 1.0)
        self.rank_error = 0.0
        if len(names) > 1 and self.testable:
            overall = friedman(dict(zip(names, matrix.T)), greater_is_better=greater_is_better)
            self.ranks = overall.details["average_ranks"]
            self.rank_error = float(np.sqrt(len(names) * (len(names) + 1) / (6 * self.n)))
        self.by_rank = self.chosen == "friedman"
        value = 1.0 if greater_is_better else -1.0
        self.sign = -1.0 if self.by_rank else value
        self.unit = " in average rank" if self.by_rank else ""
        self.order = sorted(names, key=lambda name: (self.ranks[name], -value * float(self.kept[name].mean())))
        self.corrected = self.by_rank and comparisons == "all"
        self.name = "no test" if not self.testable else _DATA_SET_TESTS[self.chosen]
        self._post_hoc: dict[float, TestResult] = {}
        if len(names) == 2 and self.testable and not self.by_rank:
            # Of two, the better is the one that the test itself favours.
            result = self.test(self.order[0], self.order[1], 0.05, ("", ""))
            if value * (result.effect - 0.5 * (self.chosen == "sign_test")) < 0:
                self.order.reverse()

    def summary(self, name: str, alpha: float) -> dict[str, Any]:
        """Mean over data sets with its t interval, and the average rank."""
        values = self.kept[name]
        record: dict[str, Any] = {"mean": float(values.mean()), "sd": None, "interval": (-np.inf, np.inf)}
        if self.n > 1:
            interval = corrected_interval(
                values, n_train=1.0, n_test=0.0, alpha=alpha, bounds=metric_bounds(self.metric)
            )
            record |= {"sd": float(values.std(ddof=1)), "interval": interval}
        return record | {"average_rank": self.ranks[name]}

    def test(self, a: str, b: str, alpha: float, names: Names) -> TestResult:
        """The test of the scores of a pair, or of its average ranks."""
        if not self.by_rank:
            tests: dict[str, Callable[..., TestResult]] = {
                "wilcoxon": wilcoxon,
                "sign_test": sign_test,
                "paired_t": paired_t,
                "permutation_test": permutation_test,
            }
            return tests[self.chosen](self.kept[a], self.kept[b], alpha=alpha, names=names)
        gap = self.ranks[a] - self.ranks[b]
        z = gap / self.rank_error
        if self.comparisons == "all":
            critical, p_value = self._nemenyi(alpha, a, b)
            self.critical_difference = critical
        else:
            critical, p_value = normal_quantile(1 - alpha / 2) * self.rank_error, normal_p_value(z)
        name = "Nemenyi test" if self.comparisons == "all" else "test of average ranks"
        found = Outcome(name, z, p_value, alpha, gap, "difference in average rank", (gap - critical, gap + critical))
        return found.result(
            details={"smallest_detectable_difference": critical + normal_quantile(POWER) * self.rank_error},
            assumptions=(("the data sets are independent of each other", None),),
            sentence=(
                f"The average ranks of {names[0]} and {names[1]} differ by {number(gap)} ({found.interval_words}), "
                f"{found.decision} ({found.p_words})."
            ),
        )

    def _nemenyi(self, alpha: float, a: str, b: str) -> tuple[float, float]:
        # The studentised range is slow to integrate; all pairs of one level share one call.
        if alpha not in self._post_hoc:
            self._post_hoc[alpha] = nemenyi(self.kept, greater_is_better=self.greater_is_better, alpha=alpha)
        details = self._post_hoc[alpha].details
        p_value = next(pair["p_value"] for pair in details["pairs"] if {pair["a"], pair["b"]} == {a, b})
        return details["critical_difference"], p_value

    def detectable(self, tests: list[TestResult], level: float) -> float | None:
        """In average ranks where those are tested, else in scores."""
        if not tests:
            return None
        if self.by_rank:
            return tests[0].details["smallest_detectable_difference"]
        if self.chosen in ("sign_test", "permutation_test"):
            return None
        names = list(self.kept)
        size = max(float(np.abs(values).max()) for values in self.kept.values())
        spreads = [spread(self.kept[a] - self.kept[b], size) for i, a in enumerate(names) for b in names[:i]]
        efficiency = _SIGNED_RANK_EFFICIENCY if self.chosen == "wilcoxon" else 1.0
        error = float(np.sqrt(np.mean(np.square(spreads)) / self.n / efficiency))
        return detectable_t(self.n - 1, level, POWER) * error if error > 0 else None

    def omnibus(self, alpha: float) -> TestResult | None:
        """Friedman's test, for more than two learners."""
        if len(self.kept) < 3 or not self.testable:
            return None
        return friedman(self.kept, greater_is_better=self.greater_is_better, alpha=alpha)

    def lead(self, a: str, b: str, difference: float) -> str:
        """Ranks are said to be ranks."""
        if not self.by_rank:
            return super().lead(a, b, difference)
        if difference == 0:
            return f"{a} and {b} have the same average rank"
        return f"{a} has a {'better' if difference < 0 else 'worse'} average rank than {b} by {number(abs(difference))}"


_DATA_SET_TESTS = {
    "friedman": "Friedman test with Nemenyi test",
    "wilcoxon": "Wilcoxon signed rank test",
    "sign_test": "sign test",
    "paired_t": "paired t test",
    "permutation_test": "paired permutation test",
}


def _data_set_scores(scores: Any) -> tuple[Any, tuple[int, int]]:
    """Scores by learner and their shape, from a mapping or an array (data sets, learners)."""
    if isinstance(scores, Mapping):
        sizes = {np.size(values) for values in scores.values()}
        if len(sizes) > 1:
            raise DataError("compare", "scores", "must be as many for every learner", f"got {sorted(sizes)}")
        return scores, (1, sizes.pop() if sizes else 0)
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0:
        raise DataError("compare", "scores", "must be an array (data sets, learners)", f"got shape {matrix.shape}")
    return {f"learner {j + 1}": column for j, column in enumerate(matrix.T)}, (1, matrix.shape[0])


# -- one test set -------------------------------------------------------------------------------------------
