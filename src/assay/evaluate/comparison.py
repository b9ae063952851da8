"""Comparing learners: the test that is valid for the design, corrected, in words, with a recommendation.

**Which test.** Splits of one data set: the corrected resampled t test with folds - 1 degrees of freedom, its error
never below what the sampling of rows allows (`Folds`). "5x2": Alpaydin's combined 5x2cv F test, with a warning.
"datasets" (one score per learner and data set): Friedman's test with Nemenyi's, for two learners Wilcoxon's signed
rank test. "seeds" (one score per seed, of learners or agents that draw): the paired t test over seeds. One test set:
with the rows' contributions (`rows=`) a t test over rows; with predictions
(`compare_predictions`, or `compare` with `y=`) McNemar's test of each pair and Cochran's Q of all, for predicted
values the paired t test of the rows' losses and Hotelling's T2 of all. One hold-out score or leave-one-out scores per
learner: no test is valid, and `compare` refuses; so it does if `test=` asks for one that takes overlapping splits for
independent ones (paired t, Wilcoxon, sign). `force=True` lets it be done; the result then has `valid` False and says
why.

**Which pairs.** `pairs="best"` (the default for splits and test sets): each learner against the one with the best
score. As that one is picked after the fact, its differences are held to the distribution of the largest |t| over
*all* pairs (`MaxT`; Bonferroni over all pairs for tests without one): equal learners are called worse, any of them,
with probability alpha at most. `pairs="all"` (the default for data sets): every pair, by the same distribution or by
Holm or Nemenyi. `pairs="baseline"`: each learner against `baseline`, which must be named before the scores are seen;
Holm over k - 1.

**Verdicts.** Each learner has the difference of its score from the best one's (or the baseline's), the simultaneous
interval of that difference, and a word: `best`; `equivalent` if the whole interval lies within the margin; `worse` if
it excludes 0; `undecided` for everything else. The margin is the difference that does not matter in practice, 0.01
for scores and 2 % of the best score for errors unless given. Not shown different is `undecided`, never equal.

**Intervals.** `simultaneous_interval` holds for all pairs at once and belongs to `p_adjusted`; verdicts, sentences
and reports show these two and no others. Each pair's `interval` holds on its own at 1 - alpha and belongs to `p_value`.
None goes beyond what a difference of such scores can be (-1 to 1 for shares). Two learners that agree in every fold and
row have a difference of exactly 0.

**Groups.** With `pairs="all"` a group is a largest set of learners of which no two were told apart; each has a
letter, and a learner carries the letters of all its groups ("ab"). Two learners share a letter exactly if they were
not told apart (compact letter display: Piepho, Journal of Computational and Graphical Statistics 13, 2004). Otherwise
there are no letters; `groups` lists those that are not worse and those that are.

**Smallest detectable difference.** Of each pair: the true difference that it would have shown with 80 % probability;
and of a pair with a typical spread (root mean square over the pairs), both at the level of the simultaneous
comparison; None where that is more than two scores can differ, and the sentence says so.

**Recommendation.** The simplest learner whose mean lies within the margin of the best and that is not worse; among
equally simple ones, the better mean; otherwise the best, with those named that are not ruled out. Against a baseline:
the best learner if it is significantly better, else the baseline.
"""

from __future__ import annotations

import html
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import DataError, ParameterError, UsageError, plain
from ..base.record import Grid, Record
from ..catalogue import CLASSIFY, PLANNED, REGRESS, TASKS
from .comparison_procedures import POWER, DataSets, Folds, Procedure, metric_bounds
from .comparison_words import (
    comparison_sentence,
    difference_words,
    pair_record,
    recommend,
    recommend_against,
    recommend_guessing,
)
from .distributions import detectable_shift, detectable_t
from .intervals import check_alpha
from .multiplicity import holm
from .resampling import Design, make_design
from .result import TestResult, interval_words, jsonable, number
from .row_procedures import Labels, Losses, Seeds

# A difference that does not matter in practice, unless the user says which: of scores, and as a share of errors.
_MARGIN, _SHARE_OF_ERROR = 0.01, 0.02
_LOSSES: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "squared": ("mse", lambda y, p: (y - p) ** 2),
    "absolute": ("mae", lambda y, p: np.abs(y - p)),
}


@dataclass(frozen=True, kw_only=True)
class Comparison(Record):
    """What `compare` found; see the module for the meaning of each part.

    `summary` and `groups` list the learners best first. `left_out` are learners without a full set of finite
    scores, with the reason. `comparisons` is "all", "best" or "baseline"; `margin` the difference that does not matter;
    `omnibus` is the test of all learners at once
    as plain data, where the design has one; `critical_difference` is Nemenyi's. `valid` is False if the tests were
    forced on a design for which they do not hold, and `warnings` say why.
    """

    procedure: str
    design: str
    metric: str
    greater_is_better: bool
    alpha: float
    correction: str
    summary: dict[str, dict[str, Any]]
    pairs: list[dict[str, Any]]
    best: str
    groups: list[list[str]]
    not_worse: list[str]
    recommendation: dict[str, str]
    smallest_detectable_difference: float | None
    left_out: list[dict[str, str]]
    sentence: str
    comparisons: str = "all"
    margin: float | None = None
    baseline: str | None = None
    omnibus: dict[str, Any] | None = None
    critical_difference: float | None = None
    valid: bool = True
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data, ready for JSON."""
        return jsonable({f.name: getattr(self, f.name) for f in fields(self)})

    def __str__(self) -> str:
        if len(self.summary) < 2:
            return self.sentence
        if "unbeaten" in self.recommendation:
            return f"{self.sentence} {self.recommendation['reason']}"
        return f"{self.sentence} Recommended: {self.summary[self.recommendation['id']]['title']}."

    __repr__ = __str__

    def grid(self) -> Grid:
        """The table of the learners, the best first."""
        ranked = any("average_rank" in row for row in self.summary.values())
        lettered = any(row["group"] for row in self.summary.values())
        last = ("group",) if lettered else ("difference", "verdict")
        titles = ("learner", f"mean {self.metric}", "interval", *(("average rank",) if ranked else ()), *last)
        lines = []
        for row in self.summary.values():
            cells = [row["title"], number(row["mean"]), interval_words(row["interval"])]
            cells += [number(row["average_rank"])] if ranked else []
            cells += [row["group"]] if lettered else [difference_words(row), row["verdict"] or ""]
            lines.append(cells)
        return Grid(titles, lines, caption=self.procedure)

    def to_html(self) -> str:
        """The table, with what follows from it below, as HTML."""
        return f"{self.grid().to_html()}<p>{html.escape(str(self))}</p>"


def compare(
    scores: Any,
    design: str | Design,
    *,
    y: Any = None,
    n_train: Any = None,
    n_test: Any = None,
    simplicity: Mapping[str, float] | None = None,
    titles: Mapping[str, str] | None = None,
    metric: str = "accuracy",
    greater_is_better: bool = True,
    alpha: float = 0.05,
    pairs: str = "auto",
    baseline: str | None = None,
    test: str | None = None,
    force: bool = False,
    margin: float | None = None,
    rows: Mapping[str, Any] | None = None,
    units: Any = None,
    smaller: int | None = None,
    guess: tuple[str, str] | None = None,
    stopped: Sequence[str] = (),
) -> Comparison:
    """Compare learners by their scores in one design.

    `scores` maps each learner's id to an array (repetitions, folds), all made on the same splits; learners with
    missing scores are left out and named. For the design "datasets" it maps ids to one score per data set, or is an
    array (data sets, learners). For the design "seeds" it maps ids to one score per seed, such as the mean return of
    each replicate of an agent: seeds are independent, so that the paired t test is valid, and 2 % of the best score do
    not matter unless `margin` says otherwise. With `y`, the true labels of one test set, it maps ids to predictions
    (`compare_predictions`, where the design is "holdout" or "leave-one-out").

    `n_train` and `n_test` are rows per split (by default as the design has them). `simplicity` maps ids to ranks, 1 for
    the simplest; a learner without a rank counts as least simple. `pairs` is "all", "best", "baseline" or "auto";
    `baseline` the id to compare with. `test` asks for another test than the usual one, and `force` for one that is not
    valid. `margin` is the difference that does not matter in practice. `rows` maps each id to the contributions of the
    tested rows to its score (`row_values`), `units` names the unit (patient, machine) of each of these rows, and
    `smaller` is the number of rows of the smallest class. `guess` is the id of the learner that ignores the rows and
    what it says in words: where no learner is shown to beat it, it is recommended, and the sentence says so. `stopped`
    are titles of learners that left a race as worse and have no scores here.

    >>> rng = np.random.default_rng(0)
    >>> scores = {"tree": 0.8 + 0.01 * rng.normal(size=(3, 10)), "zero-r": 0.5 + 0.01 * rng.normal(size=(3, 10))}
    >>> comparison = compare(scores, "3x10")
    >>> comparison.best, [row["verdict"] for row in comparison.summary.values()]
    ('tree', ['best', 'worse'])
    >>> compare(rng.normal([0.7, 0.8, 0.9], 0.02, (12, 3)), "datasets").groups
    [['learner 3'], ['learner 2'], ['learner 1']]
    """
    check_alpha("compare", alpha)
    if margin is not None and not (np.isfinite(margin) and margin >= 0):
        raise ParameterError("compare", "parameter 'margin'", "must be a number >= 0", f"got {margin!r}")
    if y is not None:
        return _compare_rows(scores, design, y, metric, test, pairs, baseline, simplicity, titles, alpha, margin)
    wanted = _wanted_pairs(pairs, baseline)
    if isinstance(design, str) and design.strip().lower() in ("datasets", "data sets"):
        comparisons = "all" if wanted == "auto" else wanted
        procedure: Procedure = DataSets(scores, test, force, metric, greater_is_better, comparisons)
    elif isinstance(design, str) and design.strip().lower() == "seeds":
        comparisons = "best" if wanted == "auto" else wanted
        procedure = Seeds(scores, metric, greater_is_better)
        if margin is None:
            margin = _SHARE_OF_ERROR * abs(procedure.summary(procedure.order[0], alpha)["mean"])
    else:
        procedure = Folds(
            scores, make_design(design), n_train, n_test, test, force, metric, greater_is_better, rows, units, smaller
        )
        comparisons = "best" if wanted == "auto" else wanted
    return _compare(
        procedure, comparisons, baseline, simplicity, titles, greater_is_better, alpha, margin, guess, stopped
    )


def compare_predictions(
    y_true: Any,
    predictions: Mapping[str, Any],
    *,
    task: str = "auto",
    loss: str | Callable[[np.ndarray, np.ndarray], Any] = "squared",
    pairs: str = "auto",
    baseline: str | None = None,
    simplicity: Mapping[str, float] | None = None,
    titles: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    design: str = "holdout",
    margin: float | None = None,
) -> Comparison:
    """Compare models by their predictions for the rows of one test set, which none of them has seen.

    `task` "classify": accuracy, McNemar's test of each pair, Cochran's Q of all. "regress": the mean of `loss`
    ("squared", "absolute", or a function of true and predicted values that gives one loss per row), the paired t test
    of each pair over rows, Hotelling's T2 of all. "auto" takes predictions that are not all whole numbers for values to
    regress, and everything else for labels.

    The answer is about these fitted models, not about the learners that made them: another training set would have
    made other models.

    >>> y = np.repeat([0, 1], 50)
    >>> wrong = np.arange(100) % 4 == 0
    >>> compare_predictions(y, {"a": y, "b": np.where(wrong, 1 - y, y)}).summary["b"]["verdict"]
    'worse'
    """
    check_alpha("compare", alpha)
    truth, given = _read_predictions(y_true, predictions)
    if task != "auto" and task not in PLANNED:
        raise ParameterError("compare", "parameter 'task'", "must be auto, classify or regress", f"got {task!r}")
    if task == "auto":
        task = (REGRESS if _looks_like_values(truth, given) else CLASSIFY).name
    classes = TASKS[task].classes
    if classes:
        procedure: Procedure = Labels(truth, given, design)
    else:
        name, losses = _row_losses(truth, given, loss)
        procedure = Losses(losses, name, design)
    wanted = _wanted_pairs(pairs, baseline)
    comparisons = "best" if wanted == "auto" else wanted
    return _compare(procedure, comparisons, baseline, simplicity, titles, classes, alpha, margin)


# -- reading ------------------------------------------------------------------------------------------------
def _wanted_pairs(pairs: str, baseline: str | None) -> str:
    if pairs not in ("auto", "all", "best", "baseline"):
        raise ParameterError("compare", "parameter 'pairs'", "must be auto, all, best or baseline", f"got {pairs!r}")
    if pairs == "baseline" and baseline is None:
        raise UsageError("compare", "pairs='baseline'", "needs to know which learner that is", way_out="say baseline=")
    if baseline is not None and pairs not in ("auto", "baseline"):
        raise UsageError("compare", "parameter 'baseline'", f"has no part in pairs={pairs!r}")
    return "baseline" if baseline is not None else pairs


def _compare_rows(
    predictions: Any,
    design: str | Design,
    y: Any,
    metric: str,
    test: str | None,
    pairs: str,
    baseline: str | None,
    simplicity: Mapping[str, float] | None,
    titles: Mapping[str, str] | None,
    alpha: float,
    margin: float | None,
) -> Comparison:
    """`compare` with true labels: predictions of one test set."""
    name = "holdout" if design == "predictions" else make_design(design).kind
    if name not in ("holdout", "leave-one-out"):
        raise UsageError(
            "compare", "parameter 'y'", f"is for predictions of one test set and not for the design '{name}'"
        )
    if test is not None:
        raise UsageError("compare", "parameter 'test'", "is for scores; predictions have their own tests")
    kinds = {"accuracy": ("auto", "squared"), "mse": (REGRESS.name, "squared"), "mae": (REGRESS.name, "absolute")}
    if metric not in kinds:
        raise ParameterError(
            "compare", "parameter 'metric'", "must be accuracy, mse or mae for predictions", f"got {metric!r}"
        )
    task, loss = kinds[metric]
    return compare_predictions(
        y,
        predictions,
        task=task,
        loss=loss,
        pairs=pairs,
        baseline=baseline,
        simplicity=simplicity,
        titles=titles,
        alpha=alpha,
        design=name,
        margin=margin,
    )


def _read_predictions(y_true: Any, predictions: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    if not isinstance(predictions, Mapping):
        raise UsageError(
            "compare",
            "predictions",
            "must be a mapping from model to predictions",
            f"got a {type(predictions).__name__}",
        )
    truth = np.asarray(y_true)
    if truth.ndim != 1 or truth.size < 2:
        raise DataError("compare", "y", "must be one-dimensional with at least 2 rows", f"got shape {truth.shape}")
    if truth.dtype.kind == "f" and not np.isfinite(truth).all():
        raise DataError("compare", "y", "must be finite", "got NaN or infinity")
    if not predictions:
        raise DataError("compare", "predictions", "must be of at least one model", "got none")
    given = {str(name): np.asarray(values) for name, values in predictions.items()}
    for name, values in given.items():
        if values.shape != truth.shape:
            raise DataError(
                "compare", f"predictions of '{plain(name)}'", f"must have shape {truth.shape}", f"got {values.shape}"
            )
    return truth, given


def _looks_like_values(truth: np.ndarray, given: Mapping[str, np.ndarray]) -> bool:
    if truth.dtype.kind not in "fiu" or any(values.dtype.kind not in "fiu" for values in given.values()):
        return False
    known = [values[np.isfinite(values)] for values in (truth, *given.values())]
    return any((values != np.round(values)).any() for values in known)


def _row_losses(
    truth: np.ndarray, given: Mapping[str, np.ndarray], loss: str | Callable[[np.ndarray, np.ndarray], Any]
) -> tuple[str, dict[str, np.ndarray]]:
    if callable(loss):
        name, function = getattr(loss, "__name__", "loss"), loss
    elif loss in _LOSSES:
        name, function = _LOSSES[loss]
    else:
        raise ParameterError("compare", "parameter 'loss'", "must be squared, absolute or a function", f"got {loss!r}")
    try:
        values = truth.astype(np.float64)
        losses = {
            model: np.asarray(function(values, guess.astype(np.float64)), dtype=np.float64)
            for model, guess in given.items()
        }
    except (TypeError, ValueError):
        raise DataError("compare", "y and predictions", "must be numbers to regress", "got text") from None
    for model, rows in losses.items():
        if rows.shape != truth.shape:
            raise DataError(
                "compare",
                f"loss of '{plain(model)}'",
                f"must be one number per row, {truth.shape}",
                f"got {rows.shape}",
            )
    return name, losses


# -- testing ------------------------------------------------------------------------------------------------
def _compare(
    procedure: Procedure,
    comparisons: str,
    baseline: str | None,
    simplicity: Mapping[str, float] | None,
    titles: Mapping[str, str] | None,
    greater_is_better: bool,
    alpha: float,
    margin: float | None,
    guess: tuple[str, str] | None = None,
    stopped: Sequence[str] = (),
) -> Comparison:
    ranked = procedure.order
    names = {name: plain((titles or {}).get(name, name)) for name in ranked}
    if baseline is not None and baseline not in names:
        raise UsageError("compare", f"baseline '{plain(baseline)}'", "must be one of the learners with scores")
    best = ranked[0]
    chosen = _chosen_pairs(ranked, comparisons, baseline) if procedure.testable else []
    tests = {(a, b): _within_range(procedure, procedure.test(a, b, alpha, (names[a], names[b]))) for a, b in chosen}
    adjusted, correction, level = _correct(procedure, tests, comparisons, alpha)
    told_apart = {pair: bool(p < alpha) for pair, p in zip(tests, adjusted)}
    decided = _Decided(ranked, told_apart, tests, comparisons, baseline, procedure.sign)
    (groups, letters), not_worse = _group(decided), _not_worse(decided)
    strict = {pair: _simultaneous(procedure, pair, tests[pair], comparisons, level, alpha) for pair in tests}
    summary = {name: {"title": names[name], **procedure.summary(name, alpha)} for name in ranked}
    margin = _margin(procedure, summary[best]["mean"], greater_is_better) if margin is None else float(margin)
    centre = best if baseline is None else baseline
    verdicts = _verdicts(ranked, centre, told_apart, tests, strict, margin, procedure, baseline is not None)
    for name in ranked:
        summary[name] |= {"group": letters[name] if comparisons == "all" else None, **verdicts[name]}
    records = [
        pair_record(procedure, pair, result, strict[pair], float(p), told_apart[pair], names, alpha, comparisons)
        for (pair, result), p in zip(tests.items(), adjusted)
    ]
    for record, result in zip(records, tests.values()):
        seen = _detectable(procedure, result, comparisons, level, alpha)
        record["smallest_detectable_difference"] = seen if seen is None or seen < procedure.widest else None
    detectable = procedure.detectable(list(tests.values()), level)
    omnibus = procedure.omnibus(alpha)
    recommendation = (
        recommend_against(baseline, best, told_apart, summary, names, procedure.metric)
        if baseline is not None
        else recommend(best, not_worse, summary, simplicity, names, procedure.metric, margin, stopped)
    )
    if guess is not None and guess[0] in summary and baseline is None:
        chosen_id = recommendation["id"]
        recommendation = recommend_guessing(best, *guess, summary, procedure.metric, chosen_id) or recommendation
    warnings = [f"Forced: {doubt}." for doubt in procedure.doubts]
    warnings += [f"{text[0].upper()}{text[1:]}." for text in [*procedure.cautions, *_failed(tests, names)]]
    return Comparison(
        procedure=procedure.name,
        design=procedure.design,
        metric=procedure.metric,
        greater_is_better=greater_is_better,
        alpha=alpha,
        correction=correction,
        summary=summary,
        pairs=records,
        best=best,
        groups=groups,
        not_worse=not_worse,
        recommendation=recommendation,
        smallest_detectable_difference=detectable if detectable is None or detectable < procedure.widest else None,
        left_out=procedure.left_out,
        sentence=comparison_sentence(
            procedure,
            ranked,
            told_apart,
            names,
            summary,
            detectable,
            omnibus,
            baseline,
            alpha,
            margin,
            warnings[len(procedure.doubts) :],
            stopped,
        ),
        comparisons=comparisons,
        margin=margin,
        baseline=baseline,
        omnibus=None if omnibus is None else omnibus.to_dict(),
        critical_difference=procedure.critical_difference,
        valid=not procedure.doubts,
        warnings=warnings,
    )


def _margin(procedure: Procedure, best: float, greater_is_better: bool) -> float:
    """The usual margin of practice: 0.01 for scores, 2 % of the best for errors without an upper bound."""
    bounds = metric_bounds(procedure.metric)
    shares = bounds is not None and np.isfinite(bounds).all() and bounds[1] <= 1
    return _MARGIN if greater_is_better or shares else _SHARE_OF_ERROR * abs(best)


def _within_range(procedure: Procedure, test: TestResult) -> TestResult:
    """The test with its interval cut to what a difference of scores can be; a share of wins has bounds of its own."""
    if test.effect_name == "share of wins":
        return test
    return replace(test, interval=procedure.within_range(test.interval))


def _simultaneous(
    procedure: Procedure, pair: tuple[str, str], test: TestResult, comparisons: str, level: float, alpha: float
) -> Any:
    """The interval of a difference that holds for all pairs at once."""
    if procedure.simultaneous and comparisons != "baseline":
        assert isinstance(procedure, Folds)
        return procedure.within_range(procedure.simultaneous_interval(*pair, procedure.distribution().critical(alpha)))
    if procedure.corrected:
        return test.interval
    return _within_range(procedure, procedure.test(*pair, level, ("", ""))).interval


def _detectable(procedure: Procedure, test: TestResult, comparisons: str, level: float, alpha: float) -> float | None:
    """The true difference that this pair would have shown with 80 % probability, at the corrected level."""
    error, df = test.details.get("standard_error"), test.df
    if error is None or not isinstance(df, (int, float)):
        return test.details.get("smallest_detectable_difference")
    if procedure.simultaneous and comparisons != "baseline":
        assert isinstance(procedure, Folds)
        return detectable_shift(procedure.distribution().critical(alpha), df, POWER) * error
    return detectable_t(df, level, POWER) * error


def _verdicts(
    ranked: list[str],
    centre: str,
    told_apart: dict[tuple[str, str], bool],
    tests: dict[tuple[str, str], TestResult],
    strict: dict[tuple[str, str], Any],
    margin: float,
    procedure: Procedure,
    against_baseline: bool,
) -> dict[str, dict[str, Any]]:
    """Each learner against the best (or the baseline): difference, simultaneous interval and a word."""
    nothing = {"difference": None, "difference_interval": None, "verdict": None}
    found: dict[str, dict[str, Any]] = {name: dict(nothing) for name in ranked}
    found[centre]["verdict"] = "baseline" if against_baseline else "best"
    for pair, test in tests.items():
        if centre not in pair:
            continue
        other = pair[0] if pair[1] == centre else pair[1]
        turn = 1.0 if pair[0] == other else -1.0
        of_scores = procedure.unit == "" and test.effect_name != "share of wins"
        interval = strict[pair]
        if of_scores and interval is not None:
            low, high = sorted((turn * interval[0], turn * interval[1]))
            found[other] |= {"difference": turn * test.effect, "difference_interval": (low, high)}
            inside = -margin <= low and high <= margin
        else:
            inside = False
        if inside:
            word = "equivalent"
        elif told_apart[pair]:
            word = "better" if _winner(pair, test, procedure.sign) == other else "worse"
        else:
            word = "undecided"
        found[other]["verdict"] = word
    return found


def _failed(tests: dict[tuple[str, str], TestResult], names: dict[str, str]) -> list[str]:
    """The assumptions that are known not to hold, with the pairs they were made for."""
    pairs: dict[str, list[str]] = {}
    for (a, b), test in tests.items():
        for text, holds in test.assumptions:
            if holds is False:
                pairs.setdefault(text, []).append(f"{names[a]} and {names[b]}")
    return [
        f"it does not hold that {text} for {listed[0]}" + (f" and {len(listed) - 1} more pairs" if listed[1:] else "")
        for text, listed in pairs.items()
    ]


def _chosen_pairs(ranked: list[str], comparisons: str, baseline: str | None) -> list[tuple[str, str]]:
    """The pairs to test, the better learner first."""
    every = list(combinations(ranked, 2))
    if comparisons == "all":
        return every
    centre = ranked[0] if baseline is None else baseline
    return [pair for pair in every if centre in pair]


def _correct(
    procedure: Procedure, tests: dict[tuple[str, str], TestResult], comparisons: str, alpha: float
) -> tuple[np.ndarray, str, float]:
    """Adjusted p-values, the correction in words, and the level of its strictest step."""
    p_values, count = [test.p_value for test in tests.values()], len(tests)
    if not tests:
        return np.zeros(0), "none: one learner" if len(procedure.order) == 1 else "none: no test", alpha
    if procedure.corrected:
        return np.array(p_values), f"Nemenyi's, over {count} pairs", alpha
    if procedure.simultaneous and comparisons != "baseline":
        assert isinstance(procedure, Folds)
        every = procedure.distribution()
        if every.pairs == 1:
            return np.array(p_values), "none needed: one pair", alpha
        adjusted = np.array([every.p_value(test.statistic) for test in tests.values()])
        return adjusted, f"largest t over all {every.pairs} pairs", alpha
    level = alpha / count
    if comparisons == "all":
        return holm(p_values), f"Holm, over {count} {'pair' if count == 1 else 'pairs'}", level
    if comparisons == "best":
        # The best was picked after the fact, so that every pair has been looked at.
        every_pair = len(procedure.order) * (len(procedure.order) - 1) // 2
        adjusted = np.minimum(1.0, every_pair * np.array(p_values))
        words = f"Bonferroni, over all {every_pair} pairs" if every_pair > 1 else "none needed: one pair"
        return adjusted, words, alpha / every_pair
    return holm(p_values), f"Holm, over {count} comparisons with the baseline", level


def _winner(pair: tuple[str, str], test: TestResult, sign: float) -> str:
    """The better of a pair by its effect; shares of wins count from a half."""
    lead = test.effect - 0.5 if test.effect_name == "share of wins" else test.effect
    return pair[0] if sign * lead >= 0 else pair[1]


class _Decided(NamedTuple):
    """Which pairs were told apart, by which tests; `baseline` is None where learners are compared with the best."""

    ranked: list[str]
    told_apart: dict[tuple[str, str], bool]
    tests: dict[tuple[str, str], TestResult]
    comparisons: str
    baseline: str | None
    sign: float


def _group(decided: _Decided) -> tuple[list[list[str]], dict[str, str]]:
    ranked, told_apart, tests, comparisons, baseline, sign = decided
    if comparisons == "all" or not told_apart:
        return _letters(ranked, told_apart)
    centre = ranked[0] if baseline is None else baseline
    place = dict.fromkeys(ranked, 1)
    for pair, apart in told_apart.items():
        other = pair[0] if pair[1] == centre else pair[1]
        if apart:
            place[other] = 0 if _winner(pair, tests[pair], sign) == other else 2
    groups = [[name for name in ranked if place[name] == level] for level in (0, 1, 2)]
    groups = [group for group in groups if group]
    return groups, {name: _letter(i) for i, group in enumerate(groups) for name in group}


def _not_worse(decided: _Decided) -> list[str]:
    """The learners that were not shown to be worse than the best."""
    ranked, told_apart, tests, comparisons, baseline, sign = decided
    best = ranked[0]
    # Those worse than the baseline are worse than the best, which scores no lower than the baseline.
    better = {best, baseline} if comparisons == "baseline" else {best}
    worse = {
        name
        for pair, apart in told_apart.items()
        if apart and (winner := _winner(pair, tests[pair], sign)) in better
        for name in pair
        if name not in (winner, best)
    }
    return [name for name in ranked if name not in worse]


def _letters(ranked: list[str], told_apart: dict[tuple[str, str], bool]) -> tuple[list[list[str]], dict[str, str]]:
    """The largest sets of learners of which no two were told apart, best first, and each learner's letters.

    Piepho's insert-and-absorb: begin with one set of all; for every pair told apart, each set that holds both
    becomes two, one without either; sets inside another are dropped.
    """
    sets: list[frozenset[str]] = [frozenset(ranked)]
    for (a, b), apart in told_apart.items():
        if not apart:
            continue
        divided: list[frozenset[str]] = []
        for members in sets:
            divided += [members - {a}, members - {b}] if a in members and b in members else [members]
        unique = sorted(set(divided), key=len, reverse=True)
        sets = []
        for members in unique:
            if not any(members <= other for other in sets):
                sets.append(members)
    position = {name: i for i, name in enumerate(ranked)}
    groups = sorted(sorted(members, key=position.__getitem__) for members in sets)
    groups.sort(key=lambda group: [position[name] for name in group])
    letters = {name: "".join(_letter(i) for i, group in enumerate(groups) if name in group) for name in ranked}
    return groups, letters


def _letter(index: int) -> str:
    alphabet = string.ascii_letters
    return alphabet[index] if index < len(alphabet) else f"({index + 1})"
