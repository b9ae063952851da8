"""The final look: one learner on the rows that a plan set aside, once."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.errors import DataError, UsageError, plain
from ..base.record import Record
from ..base.words import count
from ..evaluate import Evidence, bootstrap_interval, get_metric
from .ledger import held_digest, held_rows, is_look_at
from .results import Results
from .runs import now, run_id
from .store import Store, digest, without_nan


@dataclass(frozen=True)
class HoldoutLook(Record):
    """What one learner scored on the rows that were set aside, and when they were opened."""

    learner: str
    title: str
    run: str
    opened: str
    rows: int
    metric: str
    scores: dict[str, float | None]
    interval: list[float]
    expected: float
    """The mean of the first metric over the folds of the comparison."""
    seen_by: int = 0
    """Other plans of the store that were scored on some of these rows."""
    again: bool = False
    """True if this was found and not made: the rows had been opened before."""
    sentence: str = ""


def open_holdout(results: Results, store: Store, learner: str | None = None) -> HoldoutLook:
    """Score the recommended learner (or the one with this id), fitted on all other rows, on the rows set aside.

    This can be done once: the store notes who opened them before the score is known. The same learner of the same run
    is told its score again; another one is refused.
    """
    plan = results.plan
    if not len(plan.held):
        raise UsageError("holdout", "the plan", "set no rows aside", way_out="make it with holdout=0.2 (--holdout 0.2)")
    if learner is None:
        recommended = None if results.comparison is None else results.comparison.recommendation["id"]
        if not recommended or results.not_yet:
            raise UsageError("holdout", "the comparison", "recommends no learner", way_out="name one")
        learner = str(recommended)
    result = results.one(learner)
    run, opened = run_id(plan, results.code), now()
    rows, seen_by = held_rows(plan), _seen_by(plan, store)
    data, earlier = (digest(name, plan.target.name) for name in (plan.table.rows_fingerprint, plan.table.fingerprint))
    key = digest(data, rows)
    before = store.open_holdout(key, run, learner, opened, data=data, rows=rows, earlier={earlier: plan.held.tolist()})
    if before is not None and (before["run"], before["learner"]) != (run, learner):
        told = _read(before["value"])
        found = "" if told is None else f"; {told.metric} was {told.scores[told.metric]:.4g}"
        some = "" if before["shared"] == len(rows) else f"{before['shared']} of "
        raise DataError(
            "holdout",
            f"{some}the {len(plan.held)} rows set aside",
            f"were opened on {before['opened'][:10]} for learner '{plain(before['learner'])}' of run "
            f"{before['run']}{found}",
            "a second look would be no test",
            "collect new rows",
        )
    if before is not None and (told := _read(before["value"])) is not None:
        return replace(told, again=True)
    look = _score(results, result, run, opened if before is None else str(before["opened"]), seen_by)
    store.settle_holdout(
        key if before is None else before["key"], json.dumps(look.to_dict(), ensure_ascii=False, allow_nan=False)
    )
    return look


def _seen_by(plan: Any, store: Store) -> int:
    """How many other plans of the store were scored on rows that this plan set aside."""
    mine = held_digest(plan)
    return sum(
        is_look_at(plan, look) and look["held"] != mine for look in store.looks() if look["plan"] != plan.fingerprint
    )


def _read(value: Any) -> HoldoutLook | None:
    try:
        return HoldoutLook(**json.loads(value))
    except (TypeError, ValueError):
        return None


def _score(results: Results, result: Any, run: str, opened: str, seen_by: int) -> HoldoutLook:
    plan, metric = results.plan, get_metric(results.plan.metrics[0])
    model = results.best_model(result.id)
    frame = plan.table.frame[plan.held]
    truth = np.asarray(frame[plan.target.name].to_numpy())
    if plan.classes is None:
        values = np.asarray(model.predict(frame), dtype=np.float64)
        given: dict[str, Any] = {"values": values}
        truth = truth.astype(np.float64)
    else:
        truth = truth.astype(str) if truth.dtype.kind == "O" else truth
        labels = np.asarray(model.predict(frame)).astype(plan.classes.dtype)
        shares = model.predict_proba(frame) if hasattr(model.estimator, "predict_proba") else None
        order = None if shares is None else np.argsort(np.asarray(model.classes_).astype(plan.classes.dtype))
        given = {"labels": labels, "probabilities": None if shares is None else shares[:, order]}
    evidence = Evidence(truth, classes=plan.classes, **given)
    scores = {name: without_nan(get_metric(name).of(evidence)) for name in plan.metrics}
    needed = given[metric.needs] if given.get(metric.needs) is not None else given.get("labels", given.get("values"))
    low, high = bootstrap_interval(
        truth, needed, metric.name, confidence=1 - plan.alpha, random_state=plan.random_state, classes=plan.classes
    ).interval
    expected = float(np.mean(result.scores[metric.name]))
    inside = "as expected" if low <= expected <= high else "other than expected"
    unseen = "no plan on this table had seen" if not seen_by else "this comparison had not seen"
    others = f" {count(seen_by, 'other plan')} of this store had seen some of them." if seen_by else ""
    words = (
        f"On {len(plan.held):,} rows that {unseen}, {result.title} scores {scores[metric.name]:.4f} in "
        f"{metric.name} ({100 * (1 - plan.alpha):g} % interval {low:.4f} to {high:.4f}), {inside}: "
        f"{expected:.4f} in the comparison.{others}"
    )
    return HoldoutLook(
        result.id, result.title, run, opened, len(plan.held), metric.name, scores, [float(low), float(high)], expected,
        seen_by=seen_by, sentence=words,
    )  # fmt: skip
