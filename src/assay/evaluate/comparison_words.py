"""The words of a comparison: pairs, verdicts, the recommendation and the sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base.errors import plain
from .comparison_procedures import Procedure
from .result import Interval, TestResult, decision_words, interval_words, number, p_words, percent


def pair_record(
    procedure: Procedure,
    pair: tuple[str, str],
    test: TestResult,
    simultaneous: Interval | None,
    adjusted: float,
    reject: bool,
    names: dict[str, str],
    alpha: float,
    comparisons: str,
) -> dict[str, Any]:
    """One pair as plain data, with its sentence of the simultaneous interval and the adjusted p: they go together."""
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
    words = ""
    if simultaneous is not None:
        kind = "interval" if simultaneous == test.interval else "simultaneous interval"
        words = f" ({percent(1 - alpha)} {kind} of {of} {interval_words(simultaneous)})"
    return {
        "a": pair[0],
        "b": pair[1],
        "difference": test.effect,
        "interval": test.interval,
        "simultaneous_interval": simultaneous,
        "statistic": test.statistic,
        "df": test.df,
        "p_value": test.p_value,
        "p_adjusted": adjusted,
        "reject": reject,
        "smallest_detectable_difference": test.details.get("smallest_detectable_difference"),
        "valid": test.valid and not procedure.doubts,
        "sentence": (f"{lead}{words}; {corrected} {decision_words(reject, alpha)} ({p_words(adjusted)})."),
    }


def recommend(
    best: str,
    not_worse: list[str],
    summary: dict[str, dict[str, Any]],
    simplicity: Mapping[str, float] | None,
    names: dict[str, str],
    metric: str,
    margin: float,
    stopped: Sequence[str] = (),
) -> dict[str, str]:
    """The simplest learner whose mean lies within the margin of the best and that is not worse; else the best.

    `stopped` are titles of learners that left a race as worse, and are in no summary.
    """
    top = summary[best]["mean"]
    equal = [name for name in summary if summary[name]["verdict"] == "equivalent"]
    near = [
        name
        for name in summary
        if name == best or name in equal or (name in not_worse and abs(summary[name]["mean"] - top) <= margin)
    ]
    ranks = {name: float((simplicity or {}).get(name, np.inf)) for name in near}
    chosen = min(near, key=lambda name: (ranks[name], near.index(name)))
    mean = f"mean {metric} {number(summary[chosen]['mean'])}"
    open_ones = [names[name] for name in not_worse if name not in (best, chosen) and name not in equal]
    if len(summary) == 1 and stopped:
        others = "every other learner" if len(stopped) > 1 else plain(stopped[0])
        reason = f"{names[best]} has the best score ({mean}) and {others} left the race as worse."
    elif len(summary) == 1:
        reason = f"{names[best]} is the only learner with scores ({mean})."
    elif chosen != best:
        how = "is equivalent to" if chosen in equal else f"has a mean within {number(margin)} of"
        reason = (
            f"{names[chosen]} ({mean}) is the simplest learner that {how} the best, {names[best]} ({number(top)})"
            f"{'' if chosen in equal else ', and is not shown to be worse'}."
        )
    elif len(not_worse) == 1:
        reason = f"{names[best]} has the best score ({mean}) and every other learner is worse."
    elif len(near) > 1 and simplicity is None:
        reason = f"{names[best]} has the best score ({mean}); no simplicity was given to choose by."
    else:
        reason = f"{names[best]} has the best score ({mean}), and none within {number(margin)} of it is simpler."
    if open_ones and len(summary) > 1:
        reason += f" Not ruled out as the best: {_listed(open_ones)}."
    return {"id": chosen, "reason": reason}


def not_beaten(best: str, guess: str, said: str, summary: Mapping[str, Mapping[str, Any]], metric: str) -> str:
    """The sentence where nobody was shown to beat guessing: what guessing scores, and who has the best mean."""
    told = f"No learner was shown to beat the baseline ({said}: mean {metric} {number(summary[guess]['mean'])})"
    if best == guess:
        return f"{told}, which has the best score."
    equal = summary[guess]["verdict"] == "equivalent"
    word = "equivalent to it" if equal else "undecided: the best bet if one must be used; more rows would tell"
    return (
        f"{told}; {summary[best]['title']} has the best mean of the learners ({number(summary[best]['mean'])}), {word}."
    )


def recommend_guessing(
    best: str, guess: str, said: str, summary: dict[str, dict[str, Any]], metric: str, chosen: str
) -> dict[str, str] | None:
    """What to say where no learner was shown to beat the one that guesses; None where the best is shown to be better.

    Undecided is not equal: the best mean stays the best bet, and the reason says that it was not shown to be better.
    Guessing itself is named where it was `chosen` by mean and simplicity or is equivalent.
    """
    if len(summary) == 1 or summary[guess]["verdict"] in ("worse", None):
        return None
    guessed = chosen == guess or summary[guess]["verdict"] == "equivalent"
    return {
        "id": guess if guessed else best,
        "reason": not_beaten(best, guess, said, summary, metric),
        "unbeaten": guess,
    }


def _listed(words: list[str], most: int = 4) -> str:
    """`a`, `a and b`, `a, b, c and 2 more`."""
    if len(words) > most:
        return ", ".join(words[: most - 1]) + f" and {len(words) - most + 1} more"
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}"


def recommend_against(
    baseline: str,
    best: str,
    told_apart: dict[tuple[str, str], bool],
    summary: dict[str, dict[str, Any]],
    names: dict[str, str],
    metric: str,
) -> dict[str, str]:
    """The best learner if it is significantly better than the baseline, else the baseline."""
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


def comparison_sentence(
    procedure: Procedure,
    ranked: list[str],
    told_apart: dict[tuple[str, str], bool],
    names: dict[str, str],
    summary: dict[str, dict[str, Any]],
    detectable: float | None,
    omnibus: TestResult | None,
    baseline: str | None,
    alpha: float,
    margin: float,
    cautions: list[str],
    stopped: Sequence[str] = (),
) -> str:
    """The whole comparison in a few sentences."""
    best, metric = ranked[0], procedure.metric
    row = summary[best]
    several = len(ranked) > 1
    if "average_rank" in row and several and procedure.testable:
        lead = f"{names[best]} has the best average rank, {number(row['average_rank'])} of {len(ranked)}"
    else:
        first = several or bool(stopped)
        lead = f"{names[best]} has {'the best' if first else 'a'} mean {metric}{',' if first else ' of'} "
        lead += number(row["mean"])
    if np.isfinite(row["interval"][0]):
        lead += f" ({'mean ' + metric + ' ' + number(row['mean']) + ', ' if 'average rank' in lead else ''}"
        lead += f"{percent(1 - alpha)} interval {interval_words(row['interval'])})"
    if not several and stopped:
        lead += f"; {_listed(list(stopped))} left the race as worse."
    elif not several:
        lead += "; there is no other learner to compare it with."
    elif not procedure.testable:
        lead += "; no test was possible."
    elif baseline is not None:
        better = [names[a] for (a, b), apart in told_apart.items() if apart and b == baseline]
        verb = "are" if len(better) > 1 else "is"
        lead += f"; {_listed(better) if better else 'no learner'} {verb} significantly better than {names[baseline]}."
    else:
        lead += f"; {_verdicts_in_words(ranked, names, summary, margin)}."
    parts = [lead]
    if several and stopped:
        parts.append(f"{_listed(list(stopped))} left the race as worse.")
    if omnibus is not None:
        parts.append(
            f"That the {len(ranked)} differ at all is {decision_words(omnibus.reject, alpha)} "
            f"({omnibus.name}, {p_words(omnibus.p_value)})."
        )
    if detectable is not None and detectable >= procedure.widest:
        parts.append("No difference could have been seen with so few rows.")
    elif detectable is not None:
        parts.append(f"A true difference below {number(detectable)}{procedure.unit} would probably not have been seen.")
    parts += [f"Forced, and not valid: {doubt}." for doubt in procedure.doubts]
    parts += [f"Caution: {text[0].lower()}{text[1:]}" for text in cautions]
    if procedure.left_out:
        parts.append(
            "Left out for missing scores: " + ", ".join(plain(item["id"]) for item in procedure.left_out) + "."
        )
    return " ".join(parts)


def _verdicts_in_words(
    ranked: list[str], names: dict[str, str], summary: dict[str, dict[str, Any]], margin: float
) -> str:
    """Who is worse, who is equivalent, and of whom it is not known."""
    by_word = {
        word: [names[name] for name in ranked if summary[name]["verdict"] == word]
        for word in ("equivalent", "undecided", "worse")
    }
    if len(by_word["worse"]) == len(ranked) - 1:
        count = len(ranked) - 1
        return {1: "the other learner is worse", 2: "both others are worse"}.get(count, f"all {count} others are worse")
    parts = []
    if some := by_word["equivalent"]:
        verb = "is" if len(some) == 1 else "are"
        parts.append(f"{_listed(some)} {verb} equivalent to it (within {number(margin)})")
    if some := by_word["undecided"]:
        what = "is" if len(some) == 1 else "are"
        parts.append(f"whether {_listed(some)} {what} worse is undecided")
    if some := by_word["worse"]:
        parts.append(f"{_listed(some)} {'is' if len(some) == 1 else 'are'} worse")
    return "; ".join(parts)


def too_good(title: str, metric: str, target: str) -> str:
    """The caution about a learner without any error."""
    return (
        f"{plain(title)} has the best possible {metric} in every fold, which a leak gives more often than an easy "
        f"task: make sure that each column is known before '{plain(target, 30)}' is"
    )


def difference_words(row: Mapping[str, Any]) -> str:
    """A learner's difference from the best with its interval, for a table: `-0.031 (-0.052 to -0.010)`."""
    if row.get("difference") is None:
        return ""
    low, high = row["difference_interval"]
    return f"{number(row['difference'])} ({number(low)} to {number(high)})"
