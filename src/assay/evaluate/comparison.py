"""Comparing learners: the test that is valid for the design, corrected, in words, with a recommendation.

**Which test.** "5x2": Alpaydin's combined 5x2cv F test. k-fold, repeated k-fold and other splits of one data set:
Nadeau and Bengio's corrected resampled t test. "datasets" (one score per learner and data set): Friedman's test with
Nemenyi's, for two learners Wilcoxon's signed rank test. One test set with predictions (`compare_predictions`, or
`compare` with `y=`): McNemar's test of each pair and Cochran's Q of all; for predicted values the paired t test of the
rows' losses and Hotelling's T2 of all. One hold-out score or leave-one-out scores per learner: no test is valid,
and `compare` refuses; so it does if `test=` asks for one that takes overlapping splits for independent ones (paired t,
Wilcoxon, sign). `force=True` lets it be done; the result then has `valid` False and says why.

**Level.** The tests of folds are approximate. If half of the rows teach the learners too little (five weak columns of
100 to 1000 rows) the combined F test rejected a true null in 7 to 19 % of cases at 0.05 when first tried and in 6 to
16 % in the table of docs/design/calibration.md, instead of in about 3 %; the corrected t test in up to 7 %.

**Which pairs.** `pairs="all"`: every pair, corrected by Holm over all of them (Nemenyi's test corrects by itself); no
pair of equal learners is told apart with probability 1 - alpha. With many learners that asks for much: 10 learners
have 45 pairs, and the combined F test with 5 degrees of freedom then needs F > 30. `pairs="best"`: each learner against
the one with the best score, corrected by Bonferroni for the k - 1 learners that could have been the best. **What that
holds:** a learner that truly is the best is left out of `not_worse` with probability at most alpha (it is left out only
if its test against some other rejects, and there are k - 1 others; Hsu's comparison with the best). **What it does not
hold:** as the winner is picked after the fact, of many equal learners *some* one is left out more often than in
alpha of cases (10 % for 10 equal learners in the calibration). `pairs="baseline"`: each learner against
`baseline`, which must be named before the scores are seen; Holm over k - 1. The default, "auto", is "all", but "best"
for more than five learners on the splits of one data set.

**Intervals.** Each pair's `interval` holds on its own at 1 - alpha; `simultaneous_interval` (Bonferroni) holds for all
pairs that were tested together.

**Groups.** A group is a largest set of learners of which no two were told apart; each has a letter, and a learner
carries the letters of all its groups ("ab"). Two learners share a letter exactly if they were not told apart
(compact letter display: Piepho, Journal of Computational and Graphical Statistics 13, 2004). Group "a" holds the
best learner. With `pairs="best"` there are two groups, those not told apart from the best and the rest; with
`pairs="baseline"` three, better than the baseline, not told apart from it, and worse.

**Smallest detectable difference.** The true difference that a pair of learners with a typical spread (root mean
square over the pairs) would have shown with 80 % probability at alpha over the number of pairs, the level that
Holm's first step asks for.

**Recommendation.** The simplest learner that was not told apart from the best; among equally simple ones, the
better mean. Not told apart does not mean equal, which is why the smallest detectable difference is part of the
sentence. Against a baseline: the best learner if it is significantly better, else the baseline.
"""

from __future__ import annotations

import html
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from typing import Any

import numpy as np

from ..base.errors import DataError, ParameterError, UsageError, plain
from .comparison_procedures import DataSets, Folds, Labels, Losses, Procedure
from .intervals import check_alpha
from .multiplicity import bonferroni, holm
from .resampling import Design, make_design
from .result import TestResult, decision_words, interval_words, jsonable, number, p_words, percent

# Beyond this many learners the splits of one data set are compared with the best alone: all pairs ask for too much.
_MOST_FOR_ALL = 5
_LOSSES: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "squared": ("mse", lambda y, p: (y - p) ** 2),
    "absolute": ("mae", lambda y, p: np.abs(y - p)),
}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What `compare` found; see the module for the meaning of each part.

    `summary` and `groups` list the learners best first. `left_out` are learners without a full set of finite
    scores, with the reason. `comparisons` is "all", "best" or "baseline"; `omnibus` is the test of all learners at once
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
    baseline: str | None = None
    omnibus: dict[str, Any] | None = None
    critical_difference: float | None = None
    valid: bool = True
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data, ready for JSON."""
        return jsonable({f.name: getattr(self, f.name) for f in fields(self)})

    def __str__(self) -> str:
        return self.sentence

    __repr__ = __str__

    def _repr_html_(self) -> str:
        ranked = any("average_rank" in row for row in self.summary.values())
        titles = ("learner", f"mean {self.metric}", "interval", *(("average rank",) if ranked else ()), "group")
        head = "".join(f"<th>{html.escape(h)}</th>" for h in titles)
        rows = ""
        for row in self.summary.values():
            cells = [row["title"], number(row["mean"]), interval_words(row["interval"])]
            cells += [number(row["average_rank"])] if ranked else []
            rows += "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in [*cells, row["group"]]) + "</tr>"
        return (
            f"<table><caption>{html.escape(self.procedure)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table><p>{html.escape(self.sentence)}</p>"
        )


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
) -> Comparison:
    """Compare learners by their scores in one design.

    `scores` maps each learner's id to an array (repetitions, folds), all made on the same splits; learners with
    missing scores are left out and named. For the design "datasets" it maps ids to one score per data set, or is an
    array (data sets, learners). With `y`, the true labels of one test set, it maps ids to predictions
    (`compare_predictions`, where the design is "holdout" or "leave-one-out").

    `n_train` and `n_test` are rows per split (by default as the design has them). `simplicity` maps ids to ranks, 1 for
    the simplest; a learner without a rank counts as least simple. `pairs` is "all", "best", "baseline" or "auto";
    `baseline` the id to compare with. `test` asks for another test than the usual one, and `force` for one that is not
    valid.

    >>> rng = np.random.default_rng(0)
    >>> scores = {"tree": 0.8 + 0.01 * rng.normal(size=(5, 2)), "zero-r": 0.5 + 0.01 * rng.normal(size=(5, 2))}
    >>> comparison = compare(scores, "5x2")
    >>> comparison.best, comparison.groups
    ('tree', [['tree'], ['zero-r']])
    >>> compare(rng.normal([0.7, 0.8, 0.9], 0.02, (12, 3)), "datasets").groups
    [['learner 3'], ['learner 2'], ['learner 1']]
    """
    check_alpha("compare", alpha)
    if y is not None:
        return _compare_rows(scores, design, y, metric, test, pairs, baseline, simplicity, titles, alpha)
    wanted = _wanted_pairs(pairs, baseline)
    if isinstance(design, str) and design.strip().lower() in ("datasets", "data sets"):
        comparisons = "all" if wanted == "auto" else wanted
        procedure: Procedure = DataSets(scores, test, force, metric, greater_is_better, comparisons)
    else:
        folds = Folds(scores, make_design(design), n_train, n_test, test, force, metric, greater_is_better)
        procedure, comparisons = folds, wanted
        if wanted == "auto":
            comparisons = "all" if len(folds.order) <= _MOST_FOR_ALL else "best"
    return _compare(procedure, comparisons, baseline, simplicity, titles, greater_is_better, alpha)


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
    >>> compare_predictions(y, {"a": y, "b": np.where(wrong, 1 - y, y)}).groups
    [['a'], ['b']]
    """
    check_alpha("compare", alpha)
    truth, given = _read_predictions(y_true, predictions)
    if task not in ("auto", "classify", "regress"):
        raise ParameterError("compare", "parameter 'task'", "must be auto, classify or regress", f"got {task!r}")
    if task == "auto":
        task = "regress" if _looks_like_values(truth, given) else "classify"
    if task == "classify":
        procedure: Procedure = Labels(truth, given, design)
    else:
        name, losses = _row_losses(truth, given, loss)
        procedure = Losses(losses, name, design)
    wanted = _wanted_pairs(pairs, baseline)
    comparisons = "all" if wanted == "auto" else wanted
    return _compare(procedure, comparisons, baseline, simplicity, titles, task == "classify", alpha)


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
) -> Comparison:
    """`compare` with true labels: predictions of one test set."""
    name = "holdout" if design == "predictions" else make_design(design).kind
    if name not in ("holdout", "leave-one-out"):
        raise UsageError(
            "compare", "parameter 'y'", f"is for predictions of one test set and not for the design '{name}'"
        )
    if test is not None:
        raise UsageError("compare", "parameter 'test'", "is for scores; predictions have their own tests")
    kinds = {"accuracy": ("auto", "squared"), "mse": ("regress", "squared"), "mae": ("regress", "absolute")}
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
) -> Comparison:
    ranked = procedure.order
    names = {name: plain((titles or {}).get(name, name)) for name in ranked}
    if baseline is not None and baseline not in names:
        raise UsageError("compare", f"baseline '{plain(baseline)}'", "must be one of the learners with scores")
    best = ranked[0]
    chosen = _chosen_pairs(ranked, comparisons, baseline) if procedure.testable else []
    tests = {(a, b): procedure.test(a, b, alpha, (names[a], names[b])) for a, b in chosen}
    adjusted, correction, level = _correct(procedure, tests, comparisons, alpha)
    told_apart = {pair: bool(p < alpha) for pair, p in zip(tests, adjusted)}
    groups, letters = _group(ranked, told_apart, tests, comparisons, baseline, procedure.sign)
    not_worse = _not_worse(ranked, told_apart, tests, comparisons, baseline, procedure.sign)
    records = []
    for (pair, result), p in zip(tests.items(), adjusted):
        strict = result if procedure.corrected else procedure.test(*pair, level, ("", ""))
        record = _pair_record(procedure, pair, result, float(p), told_apart[pair], names, alpha, comparisons)
        records.append(record | {"simultaneous_interval": strict.interval})
    summary = {
        name: {"title": names[name], **procedure.summary(name, alpha), "group": letters[name]} for name in ranked
    }
    detectable = procedure.detectable(list(tests.values()), level)
    omnibus = procedure.omnibus(alpha)
    recommendation = (
        _recommend_against(baseline, best, told_apart, summary, names, procedure.metric)
        if baseline is not None
        else _recommend(best, not_worse, summary, simplicity, names, procedure.metric)
    )
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
        smallest_detectable_difference=detectable,
        left_out=procedure.left_out,
        sentence=_sentence(
            procedure,
            ranked,
            not_worse,
            told_apart,
            names,
            summary,
            recommendation,
            detectable,
            omnibus,
            baseline,
            alpha,
        ),
        comparisons=comparisons,
        baseline=baseline,
        omnibus=None if omnibus is None else omnibus.to_dict(),
        critical_difference=procedure.critical_difference,
        valid=not procedure.doubts,
        warnings=[f"Forced: {doubt}." for doubt in procedure.doubts],
    )


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
    level = alpha / count
    if comparisons == "all":
        return holm(p_values), f"Holm, over {count} {'pair' if count == 1 else 'pairs'}", level
    if comparisons == "best":
        return bonferroni(p_values), f"Bonferroni, over {count} comparisons with the best", level
    return holm(p_values), f"Holm, over {count} comparisons with the baseline", level


def _winner(pair: tuple[str, str], test: TestResult, sign: float) -> str:
    """The better of a pair by its effect; shares of wins count from a half."""
    lead = test.effect - 0.5 if test.effect_name == "share of wins" else test.effect
    return pair[0] if sign * lead >= 0 else pair[1]


def _group(
    ranked: list[str],
    told_apart: dict[tuple[str, str], bool],
    tests: dict[tuple[str, str], TestResult],
    comparisons: str,
    baseline: str | None,
    sign: float,
) -> tuple[list[list[str]], dict[str, str]]:
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


def _not_worse(
    ranked: list[str],
    told_apart: dict[tuple[str, str], bool],
    tests: dict[tuple[str, str], TestResult],
    comparisons: str,
    baseline: str | None,
    sign: float,
) -> list[str]:
    """The learners that were not shown to be worse than the best."""
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


# -- words --------------------------------------------------------------------------------------------------
def _pair_record(
    procedure: Procedure,
    pair: tuple[str, str],
    test: TestResult,
    adjusted: float,
    reject: bool,
    names: dict[str, str],
    alpha: float,
    comparisons: str,
) -> dict[str, Any]:
    words = interval_words(test.interval) if test.interval else ""
    corrected = {
        "all": "after correction for the number of pairs this is",
        "best": "after correction for the choice of the best this is",
        "baseline": "after correction for the number of learners this is",
    }[comparisons]
    if test.effect_name == "share of wins":
        lead = f"{names[pair[0]]} wins {percent(test.effect)} of the data sets against {names[pair[1]]}"
        of = "the share"
    else:
        lead, of = procedure.lead(names[pair[0]], names[pair[1]], test.effect), "the difference"
    return {
        "a": pair[0],
        "b": pair[1],
        "difference": test.effect,
        "interval": test.interval,
        "statistic": test.statistic,
        "df": test.df,
        "p_value": test.p_value,
        "p_adjusted": adjusted,
        "reject": reject,
        "smallest_detectable_difference": test.details.get("smallest_detectable_difference"),
        "valid": test.valid and not procedure.doubts,
        "sentence": (
            f"{lead} ({percent(1 - alpha)} interval of {of} {words}); {corrected} "
            f"{decision_words(reject, alpha)} ({p_words(adjusted)})."
        ),
    }


def _recommend(
    best: str,
    not_worse: list[str],
    summary: dict[str, dict[str, Any]],
    simplicity: Mapping[str, float] | None,
    names: dict[str, str],
    metric: str,
) -> dict[str, str]:
    """The simplest learner that is not worse than the best and whose mean lies in the best one's interval.

    The second condition guards against a test of little power: a learner far below the best may escape it by varying
    much from fold to fold, which is no reason to use it.
    """
    near = [name for name in not_worse if name == best or _within(summary[name]["mean"], summary[best]["interval"])]
    ranks = {name: float((simplicity or {}).get(name, np.inf)) for name in near}
    chosen = min(near, key=lambda name: (ranks[name], near.index(name)))
    mean = f"mean {metric} {number(summary[chosen]['mean'])}"
    others = "1 other" if len(not_worse) == 2 else f"{len(not_worse) - 1} others"
    if len(summary) == 1:
        reason = f"{names[best]} is the only learner with scores ({mean})."
    elif len(not_worse) == 1:
        reason = f"{names[best]} has the best score ({mean}) and every other learner is significantly worse."
    elif chosen == best and simplicity is None:
        reason = (
            f"{names[best]} has the best score ({mean}); {others} cannot be told apart from it, and "
            "no simplicity was given to choose by."
        )
    elif chosen == best:
        far = " near it" if len(near) < len(not_worse) else ""
        reason = f"{names[best]} has the best score ({mean}); {others} cannot be told apart from it, none simpler{far}."
    else:
        reason = (
            f"{names[chosen]} ({mean}) is the simplest learner that cannot be told apart from the best, {names[best]} "
            f"({number(summary[best]['mean'])}), and whose mean lies in the best one's interval."
        )
    return {"id": chosen, "reason": reason}


def _within(value: float, interval: Sequence[float] | None) -> bool:
    """Whether a mean lies in an interval; without an interval nothing speaks against it."""
    return interval is None or interval[0] <= value <= interval[1]


def _recommend_against(
    baseline: str,
    best: str,
    told_apart: dict[tuple[str, str], bool],
    summary: dict[str, dict[str, Any]],
    names: dict[str, str],
    metric: str,
) -> dict[str, str]:
    mean = f"mean {metric} {number(summary[best]['mean'])}"
    if best == baseline:
        return {"id": baseline, "reason": f"The baseline {names[baseline]} has the best score ({mean})."}
    if told_apart.get((best, baseline), False):
        reason = f"{names[best]} has the best score ({mean}) and is significantly better than {names[baseline]}."
        return {"id": best, "reason": reason}
    reason = f"No learner is significantly better than the baseline {names[baseline]}, not even {names[best]} ({mean})."
    better = [a for (a, b), apart in told_apart.items() if apart and b == baseline]
    if better:
        reason = f"{names[better[0]]} is the best of the learners that are significantly better than {names[baseline]}."
    return {"id": better[0] if better else baseline, "reason": reason}


def _sentence(
    procedure: Procedure,
    ranked: list[str],
    not_worse: list[str],
    told_apart: dict[tuple[str, str], bool],
    names: dict[str, str],
    summary: dict[str, dict[str, Any]],
    recommendation: dict[str, str],
    detectable: float | None,
    omnibus: TestResult | None,
    baseline: str | None,
    alpha: float,
) -> str:
    best, metric = ranked[0], procedure.metric
    row = summary[best]
    several = len(ranked) > 1
    if "average_rank" in row and several and procedure.testable:
        lead = f"{names[best]} has the best average rank, {number(row['average_rank'])} of {len(ranked)}"
    else:
        lead = f"{names[best]} has {'the best' if several else 'a'} mean {metric}{',' if several else ' of'} "
        lead += number(row["mean"])
    if np.isfinite(row["interval"][0]):
        lead += f" ({'mean ' + metric + ' ' + number(row['mean']) + ', ' if 'average rank' in lead else ''}"
        lead += f"{percent(1 - alpha)} interval {interval_words(row['interval'])})"
    if not several:
        lead += "; there is no other learner to compare it with."
    elif not procedure.testable:
        lead += "; no test was possible."
    elif baseline is not None:
        better = [a for (a, b), apart in told_apart.items() if apart and b == baseline]
        listed = ", ".join(names[name] for name in better[:3]) + (f" and {len(better) - 3} more" if better[3:] else "")
        verb = "is" if len(better) == 1 else "are"
        lead += f"; {listed or 'no learner'} {verb if better else 'is'} significantly better than {names[baseline]}."
    elif len(not_worse) == 1:
        others_are = {2: "the other learner is", 3: "both others are"}.get(
            len(ranked), f"all {len(ranked) - 1} others are"
        )
        lead += f"; {others_are} significantly worse."
    else:
        others = [names[name] for name in not_worse[1:]]
        listed = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        lead += f"; it cannot be told apart from {listed}."
    parts = [lead]
    if omnibus is not None:
        parts.append(
            f"That the {len(ranked)} differ at all is {decision_words(omnibus.reject, alpha)} "
            f"({omnibus.name}, {p_words(omnibus.p_value)})."
        )
    if several:
        parts.append(f"Recommended: {names[recommendation['id']]}.")
    if detectable is not None:
        parts.append(f"A true difference below {number(detectable)}{procedure.unit} would probably not have been seen.")
    parts += [f"Forced, and not valid: {doubt}." for doubt in procedure.doubts]
    if procedure.left_out:
        parts.append(
            "Left out for missing scores: " + ", ".join(plain(item["id"]) for item in procedure.left_out) + "."
        )
    return " ".join(parts)
