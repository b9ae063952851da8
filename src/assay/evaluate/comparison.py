"""Comparing learners: the test that is valid for the design, corrected, in words, with a recommendation.

**Which test.** "5x2": Alpaydin's combined 5x2cv F test. k-fold and repeated k-fold: Nadeau and Bengio's corrected
resampled t test. One hold-out split or leave-one-out scores: no test of the scores is valid, so `compare` refuses
and names the test of the predictions that is.

**Correction.** Holm's, over all pairs of learners. Each pair's `interval` holds on its own at 1 - alpha;
`simultaneous_interval` (Bonferroni: alpha over the number of pairs) holds for all pairs together.

**Groups.** A group is a largest set of learners of which no two were told apart; each has a letter, and a learner
carries the letters of all its groups ("ab"). Two learners share a letter exactly if they were not told apart
(compact letter display: Piepho, Journal of Computational and Graphical Statistics 13, 2004). Group "a" holds the
best learner.

**Smallest detectable difference.** The true difference that a pair of learners with a typical spread (root mean
square over the pairs) would have shown with 80 % probability at alpha over the number of pairs, the level that
Holm's first step asks for.

**Recommendation.** The simplest learner that was not told apart from the best; among equally simple ones, the
better mean. Not told apart does not mean equal, which is why the smallest detectable difference is part of the
sentence.
"""

from __future__ import annotations

import html
import string
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any

import numpy as np

from ..base.errors import DataError, DesignError, UsageError, plain
from .distributions import detectable_t
from .hypothesis_tests import POWER, corrected_resampled_t, five_by_two_detectable, five_by_two_f, size_ratio
from .intervals import check_alpha, corrected_interval
from .metrics import get_metric
from .multiplicity import holm
from .resampling import Design, make_design
from .result import Interval, TestResult, decision_words, interval_words, jsonable, number, p_words, percent


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What `compare` found; see the module for the meaning of each part.

    `summary` and `groups` list the learners best first. `left_out` are learners without a full set of finite
    scores, with the reason.
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

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data, ready for JSON."""
        return jsonable({f.name: getattr(self, f.name) for f in fields(self)})

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(h)}</th>" for h in ("learner", f"mean {self.metric}", "interval", "group"))
        rows = "".join(
            f"<tr><td>{html.escape(row['title'])}</td><td>{html.escape(number(row['mean']))}</td>"
            f"<td>{html.escape(interval_words(row['interval']))}</td><td>{html.escape(row['group'])}</td></tr>"
            for row in self.summary.values()
        )
        return (
            f"<table><caption>{html.escape(self.procedure)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table><p>{html.escape(self.sentence)}</p>"
        )


def compare(
    scores: Mapping[str, Any],
    design: str | Design,
    *,
    n_train: Any = None,
    n_test: Any = None,
    simplicity: Mapping[str, float] | None = None,
    titles: Mapping[str, str] | None = None,
    metric: str = "accuracy",
    greater_is_better: bool = True,
    alpha: float = 0.05,
) -> Comparison:
    """Compare learners by their scores in one design.

    `scores` maps each learner's id to an array (repetitions, folds), all made on the same splits; learners with
    missing scores are left out and named. `n_train` and `n_test` are rows per split (by default as the design has
    them). `simplicity` maps ids to ranks, 1 for the simplest; a learner without a rank counts as least simple.

    >>> rng = np.random.default_rng(0)
    >>> scores = {"tree": 0.8 + 0.01 * rng.normal(size=(5, 2)), "zero-r": 0.5 + 0.01 * rng.normal(size=(5, 2))}
    >>> comparison = compare(scores, "5x2")
    >>> comparison.best, comparison.groups
    ('tree', [['tree'], ['zero-r']])
    """
    check_alpha("compare", alpha)
    plan = _check_design(design)
    kept, left_out = _read_scores(scores, plan)
    ratio = _split_ratio(plan, n_train, n_test)
    names = {name: plain((titles or {}).get(name, name)) for name in kept}
    sign = 1.0 if greater_is_better else -1.0
    ranked = sorted(kept, key=lambda name: -sign * float(kept[name].mean()))
    tests = {
        (a, b): _test_pair(plan, kept[a], kept[b], ratio, alpha, (names[a], names[b]))
        for a, b in combinations(ranked, 2)
    }
    adjusted = holm([test.p_value for test in tests.values()])
    told_apart = {pair: bool(p < alpha) for pair, p in zip(tests, adjusted)}
    groups, letters = _letters(ranked, told_apart)
    level = alpha / max(1, len(tests))
    pairs = [
        _pair_record(pair, test, float(p), told_apart[pair], sign, names, alpha)
        | {"simultaneous_interval": _test_pair(plan, kept[pair[0]], kept[pair[1]], ratio, level, ("", "")).interval}
        for (pair, test), p in zip(tests.items(), adjusted)
    ]
    best = ranked[0]
    not_worse = [name for name in ranked if name == best or not told_apart[best, name]]
    detectable = _detectable(plan, list(tests.values()), ratio, level)
    summary = {name: _summarise(kept[name], names[name], letters[name], ratio, metric, alpha) for name in ranked}
    recommendation = _recommend(best, not_worse, summary, simplicity, names, metric)
    return Comparison(
        procedure="combined 5x2cv F test" if plan.kind == "5x2" else "corrected resampled t test",
        design=plan.name,
        metric=metric,
        greater_is_better=greater_is_better,
        alpha=alpha,
        correction=f"Holm, over {len(pairs)} {'pair' if len(pairs) == 1 else 'pairs'}"
        if pairs
        else "none: one learner",
        summary=summary,
        pairs=pairs,
        best=best,
        groups=groups,
        not_worse=not_worse,
        recommendation=recommendation,
        smallest_detectable_difference=detectable,
        left_out=left_out,
        sentence=_sentence(ranked, not_worse, names, summary, recommendation, detectable, left_out, metric, alpha),
    )


# -- reading ------------------------------------------------------------------------------------------------
def _check_design(design: str | Design) -> Design:
    plan = make_design(design)
    if plan.kind == "holdout":
        raise DesignError(
            "compare",
            "the design 'holdout'",
            "gives one score per learner, for which no test is valid",
            way_out="pass the true and the predicted labels of the test rows to mcnemar (two learners) or cochran_q "
            "(more), or choose the design 5x2",
        )
    if plan.kind == "leave-one-out":
        raise DesignError(
            "compare",
            "the design 'leave-one-out'",
            "gives scores of single rows, for which no test of mean scores is valid",
            way_out="pass the true and the predicted labels to mcnemar or cochran_q, or choose the design 5x2",
        )
    if refusal := getattr(plan, "refusal", ""):
        raise DesignError("compare", f"the design '{plan.name}'", refusal, way_out="choose the design 5x2")
    return plan


def _read_scores(scores: Mapping[str, Any], plan: Design) -> tuple[dict[str, np.ndarray], list[dict[str, str]]]:
    """Learners with a full set of finite scores, and the others with the reason."""
    if not isinstance(scores, Mapping):
        raise UsageError(
            "compare", "scores", "must be a mapping from learner to scores", f"got a {type(scores).__name__}"
        )
    wanted = (plan.repetitions, plan.folds)
    kept: dict[str, np.ndarray] = {}
    left_out: list[dict[str, str]] = []
    for name, given in scores.items():
        values = np.asarray(given, dtype=np.float64)
        if plan.repetitions == 1 and values.ndim == 1:
            values = values[None, :]
        if values.shape != wanted:
            raise DataError(
                "compare",
                f"scores of '{plain(name)}'",
                f"must have shape {wanted} (repetitions, folds) for the design {plan.name}",
                f"got {np.shape(given)}",
            )
        missing = int((~np.isfinite(values)).sum())
        if missing:
            left_out.append({"id": str(name), "reason": f"{missing} of {values.size} scores are missing"})
        else:
            kept[str(name)] = values
    if not kept:
        came = f"all {len(left_out)} learners have missing scores" if left_out else "got none"
        raise DataError("compare", "scores", "must hold at least one learner with every score", came)
    return kept, left_out


def _split_ratio(plan: Design, n_train: Any, n_test: Any) -> float:
    """n_test / n_train: as given, or 1 / (folds - 1) as the design has it."""
    if (n_train is None) != (n_test is None):
        raise UsageError("compare", "n_train and n_test", "must be given together")
    if n_train is None:
        assert plan.folds is not None
        if plan.folds > 1:
            return 1.0 / (plan.folds - 1)
        # Splits without folds, such as bootstrap samples, carry the ratio or leave it to the caller.
        if (ratio := getattr(plan, "test_train_ratio", None)) is None:
            raise UsageError("compare", "n_train and n_test", f"are needed for the design '{plan.name}'")
        return float(ratio)
    return size_ratio("compare", n_train, n_test)


# -- testing ------------------------------------------------------------------------------------------------
def _test_pair(
    plan: Design, a: np.ndarray, b: np.ndarray, ratio: float, alpha: float, names: tuple[str, str]
) -> TestResult:
    if plan.kind == "5x2":
        return five_by_two_f(a, b, alpha=alpha, names=names)
    return corrected_resampled_t(a, b, n_train=1.0, n_test=ratio, alpha=alpha, names=names)


def _detectable(plan: Design, tests: list[TestResult], ratio: float, level: float) -> float | None:
    """The smallest detectable difference of a typical pair; None if there is no pair or no spread."""
    if plan.kind == "5x2":
        variance = float(np.mean([test.details["variance"] for test in tests])) if tests else 0.0
        return five_by_two_detectable(variance, level) if variance > 0 else None
    variance = float(np.mean([test.details["standard_error"] ** 2 for test in tests])) if tests else 0.0
    if variance == 0:
        return None
    assert plan.folds is not None
    return detectable_t(plan.repetitions * plan.folds - 1, level, POWER) * float(np.sqrt(variance))


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
def _summarise(scores: np.ndarray, title: str, letters: str, ratio: float, metric: str, alpha: float) -> dict[str, Any]:
    interval = corrected_interval(scores, n_train=1.0, n_test=ratio, alpha=alpha, bounds=_bounds(metric))
    return {
        "title": title,
        "mean": float(scores.mean()),
        "sd": float(scores.std(ddof=1)),
        "interval": interval,
        "group": letters,
    }


def _bounds(metric: str) -> Interval | None:
    try:
        return get_metric(metric).bounds
    except UsageError:
        return None


def _pair_record(
    pair: tuple[str, str],
    test: TestResult,
    adjusted: float,
    reject: bool,
    sign: float,
    names: dict[str, str],
    alpha: float,
) -> dict[str, Any]:
    a, b = names[pair[0]], names[pair[1]]
    advantage = sign * test.effect
    lead = f"{a} is better than {b} by {number(abs(test.effect))}" if advantage > 0 else f"{a} and {b} score the same"
    words = interval_words(test.interval) if test.interval else ""
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
        "smallest_detectable_difference": test.details["smallest_detectable_difference"],
        "valid": test.valid,
        "sentence": (
            f"{lead} ({percent(1 - alpha)} interval of the difference {words}); after correction for the number of "
            f"pairs this is {decision_words(reject, alpha)} ({p_words(adjusted)})."
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
    ranks = {name: float((simplicity or {}).get(name, np.inf)) for name in not_worse}
    chosen = min(not_worse, key=lambda name: (ranks[name], not_worse.index(name)))
    mean = f"mean {metric} {number(summary[chosen]['mean'])}"
    if len(summary) == 1:
        reason = f"{names[best]} is the only learner with scores ({mean})."
    elif len(not_worse) == 1:
        reason = f"{names[best]} has the best score ({mean}) and every other learner is significantly worse."
    elif chosen == best and simplicity is None:
        reason = (
            f"{names[best]} has the best score ({mean}); {len(not_worse) - 1} others cannot be told apart from it, and "
            "no simplicity was given to choose by."
        )
    elif chosen == best:
        reason = (
            f"{names[best]} has the best score ({mean}) and no simpler learner is among the {len(not_worse) - 1} that "
            "cannot be told apart from it."
        )
    else:
        reason = (
            f"{names[chosen]} ({mean}) is the simplest of {len(not_worse)} learners that cannot be told apart from the "
            f"best, {names[best]} ({number(summary[best]['mean'])})."
        )
    return {"id": chosen, "reason": reason}


def _sentence(
    ranked: list[str],
    not_worse: list[str],
    names: dict[str, str],
    summary: dict[str, dict[str, Any]],
    recommendation: dict[str, str],
    detectable: float | None,
    left_out: list[dict[str, str]],
    metric: str,
    alpha: float,
) -> str:
    best = ranked[0]
    row = summary[best]
    lead = (
        f"{names[best]} has {'the best' if len(ranked) > 1 else 'a'} mean {metric}"
        f"{',' if len(ranked) > 1 else ' of'} {number(row['mean'])} "
        f"({percent(1 - alpha)} interval {interval_words(row['interval'])})"
    )
    if len(ranked) == 1:
        lead += "; there is no other learner to compare it with."
    elif len(not_worse) == 1:
        others_are = "the other learner is" if len(ranked) == 2 else f"all {len(ranked) - 1} others are"
        lead += f"; {others_are} significantly worse."
    else:
        others = [names[name] for name in not_worse[1:]]
        listed = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        lead += f"; it cannot be told apart from {listed}."
    parts = [lead]
    if len(ranked) > 1:
        parts.append(f"Recommended: {names[recommendation['id']]}.")
    if detectable is not None:
        parts.append(f"A true difference below {number(detectable)} would probably not have been seen.")
    if left_out:
        parts.append("Left out for missing scores: " + ", ".join(plain(item["id"]) for item in left_out) + ".")
    return " ".join(parts)
