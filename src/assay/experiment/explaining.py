"""What the recommended learner goes by, for the report: importances, curves and an imitation, on rows it had not seen.

The learner is fitted again on the training rows of the first folds, with its preparation, and asked about the test
rows of those folds: columns are named as in the table, whatever the preparation makes of them. A store keeps what was
found, so that the report of a finished run fits nothing.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..base.errors import AssayError, DataError, plain
from ..base.folds import take_rows
from ..base.randomness import Stream
from ..base.record import jsonable
from ..explain import Dependence, Explanation, partial_dependence, permutation_importance, surrogate
from ..prepare import Chain
from .ledger import held_digest
from .model import PreparedModel
from .plan import Learner, Plan
from .results import Results
from .runs import run_id
from .store import Store, digest
from .version import code_version

MOST_ROWS, ENOUGH_ROWS, MOST_FITS = 1000, 400, 5
_SECONDS, _CURVES, _CURVE_ROWS, _REPEATS, _LONGEST_FIT = 4.0, 4, 300, 5, 120.0


def explain_results(results: Results, store: Store | None = None) -> dict[str, Any] | None:
    """The explanation of the recommended learner as plain data; None where nothing is recommended, or guessing is.

    `importance` is an `Explanation`, `dependence` are curves of the columns that count most, `surrogate` is a small
    tree with its fidelity. In a `store` it is found again where this code explained the same learner on the same folds
    by the same metric, and kept otherwise.

    >>> from assay.data import load_dataset
    >>> from assay.experiment import Plan, run
    >>> results = run(Plan(load_dataset("iris"), "species", learners=["zero-r", "naive-bayes"], design="3-fold"))
    >>> found = explain_results(results)
    >>> found["learner"], sorted(found["importance"]["names"])[0]
    ('naive-bayes', 'petal_length')
    """
    plan, chosen = results.plan, _recommended(results)
    if chosen is None:
        return None
    learner = next(one for one in plan.learners if one.id == chosen)
    if store is None:
        return _explained(results, learner)
    key = _key(plan, learner)
    found = store.get([key]).get(key)
    if found is None:
        found = _explained(results, learner)
        store.put([(key, f"{learner.title}, explanation", found)], run_id(plan))
    # A plan may call the learner by another name than the one that kept it.
    return found | {"learner": learner.id, "title": learner.title}


def _key(plan: Plan, learner: Learner) -> str:
    """What an explanation depends on: all that the learner's folds do, the metric, and the code that explains."""
    code = code_version("explain")
    folds = [plan.unit_key(learner, number, code) for number in range(len(plan.splits))]
    return digest("explanation", folds, plan.design.folds, plan.metrics[0], held_digest(plan))


def _explained(results: Results, learner: Learner) -> dict[str, Any]:
    plan = results.plan
    stream = Stream.of(plan.random_state).child(1 << 30)
    found: dict[str, Any] = {"learner": learner.id, "title": learner.title, "notes": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model, importance = _importance(results, learner, stream)
        except (AssayError, TypeError, ValueError) as error:
            return found | {"notes": [f"no importances: {plain(error, 300)}"]}
        found |= {"importance": importance.to_dict(), "rows": _rows_met(importance)}
        rows = _drawn(plan.features.frame, _CURVE_ROWS, stream.child(1))
        order = np.argsort(-importance.importance(), kind="stable")[:_CURVES]
        columns = [importance.names[j] for j in order if importance.values[0, j] > 0]
        found["dependence"] = [curve for name in columns if (curve := _curve(model, rows, name, found)) is not None]
        try:
            readable = [
                name for name in plan.columns if plan.features.roles[name].role not in ("datetime", "text", "id")
            ]
            drawn = _drawn(plan.features.frame, MOST_ROWS, stream.child(2))
            found["surrogate"] = surrogate(model, drawn, columns=readable).to_dict()
        except (AssayError, TypeError, ValueError) as error:
            found["notes"].append(f"no imitation by a tree: {plain(error, 200)}")
    plain_data: dict[str, Any] = jsonable(found)
    return plain_data


def _recommended(results: Results) -> str | None:
    if results.not_yet is not None or results.comparison is None:
        return None
    chosen = str(results.comparison.recommendation.get("id") or "")
    learner = next((one for one in results.plan.learners if one.id == chosen), None)
    return None if learner is None or learner.entry.id.startswith("zero-r") else chosen


def _fit(plan: Plan, learner: Learner, train: np.ndarray) -> PreparedModel:
    frame = plan.features.frame
    roles = {name: plan.features.roles[name] for name in frame.columns}
    chain = Chain(plan.prepare, roles, learner.entry)
    rows, target = chain.fit_training(take_rows(frame, train), plan.labels[train])
    estimator = learner.prototype().fit(learner.named(chain, rows), target)
    return PreparedModel(learner, chain, estimator, tuple(frame.columns), getattr(estimator, "classes_", None))


def _importance(results: Results, learner: Learner, stream: Stream) -> tuple[PreparedModel, Explanation]:
    """Permutation importance over the test rows of some folds, each judged by the model that has not seen it."""
    plan = results.plan
    seconds, most_rows = _affordable(results, learner)
    fits = 1 if seconds > 5 * _SECONDS else max(1, min(MOST_FITS, plan.design.folds or 1))
    parts: list[tuple[float, Explanation]] = []
    first: PreparedModel | None = None
    met = 0
    for number, split in enumerate(plan.splits[:fits]):
        train, test = split.rows
        if test.shape[0] > most_rows:
            test = np.sort(stream.child(10 + number).generator().choice(test, most_rows, replace=False))
        model = _fit(plan, learner, train)
        first = model if first is None else first
        rows, labels = take_rows(plan.features.frame, test), plan.labels[test]
        shuffles = stream.child(100 + number)
        try:
            one = permutation_importance(model, rows, labels, metric=plan.metrics[0], random_state=shuffles, n_jobs=1)
        except AssayError:
            if parts:
                continue
            one = permutation_importance(model, rows, labels, random_state=shuffles, n_jobs=1)
        parts.append((float(test.shape[0]), one))
        met += test.shape[0]
        if met >= ENOUGH_ROWS:
            break
    assert first is not None
    return first, _pooled(parts)


def _affordable(results: Results, learner: Learner) -> tuple[float, int]:
    """Seconds of one fit, and how many rows can be shuffled within about ten seconds of predictions; the times of the
    run decide only where a learner is far slower than that, so that the same results have the same explanation."""
    plan = results.plan
    told = next(one for one in results.learners if one.id == learner.id)
    seconds = told.fit_seconds / max(1, len(plan.splits))
    if seconds > _LONGEST_FIT:
        raise DataError("explain_results", learner.title, "takes too long to fit once more", f"about {seconds:.0f} s")
    met = sum(int(split.rows[1].shape[0]) for split in plan.splits)
    asked = MOST_ROWS * _REPEATS * max(1, len(plan.columns))
    whole = told.predict_seconds / max(1, met) * asked
    return seconds, MOST_ROWS if whole <= 10 * _SECONDS else max(100, MOST_ROWS // 10)


def _pooled(parts: list[tuple[float, Explanation]]) -> Explanation:
    """The mean over folds, weighted by their rows; the rows of different folds are different, so variances add."""
    weight = np.array([rows for rows, _ in parts])
    weight /= weight.sum()
    shown = parts[0][1]
    values = sum(w * one.values for w, (_, one) in zip(weight, parts))
    half = np.sqrt(sum((w * (_limit(one.high) - one.values)) ** 2 for w, (_, one) in zip(weight, parts)))
    base = sum(w * one.base_values for w, (_, one) in zip(weight, parts))
    total = int(sum(rows for rows, _ in parts))
    return Explanation(
        method=shown.method,
        scope="global",
        values=np.asarray(values),
        base_values=np.asarray(base),
        names=shown.names,
        unit=shown.unit,
        low=np.asarray(values - half),
        high=np.asarray(values + half),
        level=shown.level,
        extra={},
        notes=[*shown.notes, f"{total:,} rows that the models had not seen, {len(parts)} folds"],
    )


def _limit(found: np.ndarray | None) -> np.ndarray:
    assert found is not None
    return found


def _rows_met(importance: Explanation) -> str:
    return importance.notes[-1]


def _drawn(frame: Any, count: int, stream: Stream) -> Any:
    """Some rows of a frame, in their order."""
    if frame.shape[0] <= count:
        return frame
    return take_rows(frame, np.sort(stream.generator().choice(frame.shape[0], count, replace=False)))


def _curve(model: PreparedModel, rows: Any, column: str, found: dict[str, Any]) -> dict[str, Any] | None:
    try:
        curve: Dependence = partial_dependence(model, rows, column, n_points=20, n_jobs=1)
    except (AssayError, TypeError, ValueError) as error:
        found["notes"].append(f"no curve of {plain(column)}: {plain(error, 200)}")
        return None
    return curve.to_dict()
