"""The results of a run: one record per learner, the comparison, and the JSON that reports and programs read."""

from __future__ import annotations

import html
import importlib.metadata
import json
import math
import platform
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .. import __version__, catalogue
from ..base.errors import UsageError, plain
from ..data import DATASETS, audit
from ..evaluate import compare, get_metric
from .plan import Learner, Plan, describe_value
from .predictions import FoldPredictions, Predictions
from .store import without_nan

SCHEMA = "assay.compare/1"


@dataclass(frozen=True, eq=False)
class LearnerResult:
    """What one learner did: its scores by repetition and fold, or the sentence that says why it has none."""

    learner: Learner
    scores: dict[str, np.ndarray]
    """Metric -> array (repetitions, folds); empty if the learner failed."""
    confusion: np.ndarray | None = None
    view: dict[str, Any] | None = None
    preparation: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: str | None = None
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    folds: dict[int, FoldPredictions] = field(default_factory=dict)
    """What was predicted for the test rows of each split."""

    @property
    def id(self) -> str:
        return self.learner.id

    @property
    def title(self) -> str:
        return self.learner.title


@dataclass(frozen=True, eq=False)
class Results:
    """What a run found. `to_dict` is the JSON of `assay compare --json`; it holds no times and no thread counts."""

    plan: Plan
    learners: list[LearnerResult]
    reused: int = 0
    """Units that were found in the store instead of being run."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        values: Mapping[tuple[int, int | None], Mapping[str, Any]],
        failed: Mapping[int, tuple[int, str]],
        reused: int,
    ) -> Results:
        """Put the finished units of a run together."""
        learners = [_gather(plan, number, values, failed.get(number)) for number in range(len(plan.learners))]
        return cls(plan, learners, reused)

    # -- looking at them ---------------------------------------------------------------------------------------
    @property
    def failed(self) -> list[LearnerResult]:
        """The learners that have no scores, with their error sentences."""
        return [result for result in self.learners if result.error is not None]

    @property
    def timings(self) -> dict[str, dict[str, float]]:
        """Seconds spent in fitting and predicting, summed over folds."""
        return {
            result.id: {"fit_seconds": result.fit_seconds, "predict_seconds": result.predict_seconds}
            for result in self.learners
        }

    def predictions(self, learner: str) -> Predictions:
        """What a learner, named by its id, predicted for the rows it had not seen.

        >>> from assay.data import load_dataset
        >>> from assay.experiment import Plan, run
        >>> results = run(Plan(load_dataset("iris"), "species", learners=["naive-bayes"], design="3-fold"))
        >>> found = results.predictions("naive-bayes")
        >>> len(found), found.probabilities.shape, float((found.predicted == found.truth).mean().round(2))
        (150, (150, 3), 0.96)
        """
        for result in self.learners:
            if result.id == learner:
                return Predictions.gather(self.plan, result.title, result.folds)
        raise UsageError(
            "Results",
            f"learner '{plain(learner)}'",
            "is not part of the plan",
            way_out="choose from " + ", ".join(result.id for result in self.learners),
        )

    @cached_property
    def comparison(self) -> Any:
        """The valid test for the design over the primary metric; None if no learner has scores on every fold."""
        metric = get_metric(self.plan.metrics[0])
        scored = {result.id: result.scores[metric.name] for result in self.learners if result.error is None}
        if not any(np.isfinite(scores).all() for scores in scored.values()):
            return None
        sizes = [(len(split.train), len(split.test)) for split in self.plan.splits]
        return compare(
            scored,
            self.plan.design,
            n_train=float(np.mean([train for train, _ in sizes])),
            n_test=float(np.mean([test for _, test in sizes])),
            simplicity={result.id: result.learner.entry.simplicity for result in self.learners},
            titles={result.id: result.title for result in self.learners},
            metric=metric.name,
            greater_is_better=metric.greater_is_better,
            alpha=self.plan.alpha,
        )

    @cached_property
    def _findings(self) -> list[dict[str, Any]]:
        return list(audit(self.plan.table, target=self.plan.target.name).to_dict()["findings"])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, the same for every number of jobs and after every interruption."""
        metric = get_metric(self.plan.metrics[0])
        comparison = self.comparison
        summary = {} if comparison is None else comparison.summary
        recommended = None if comparison is None else comparison.recommendation
        titles = {result.id: result.title for result in self.learners}
        return without_nan(
            {
                "schema": SCHEMA,
                "data": self._data(),
                "design": self._design(),
                "metric": {
                    "name": metric.name,
                    "title": metric.title,
                    "greater_is_better": metric.greater_is_better,
                },
                "learners": [self._learner(result, summary.get(result.id)) for result in self.learners],
                "comparison": None if comparison is None else comparison.to_dict(),
                "recommendation": None if not recommended else {"title": titles[recommended["id"]], **recommended},
                "command": self.command,
                "versions": versions(),
            }
        )

    def _data(self) -> dict[str, Any]:
        table, target, features = self.plan.table, self.plan.target, self.plan.features
        return {
            "name": table.name,
            "source": table.source,
            "rows": table.n_rows,
            "columns": len(table.columns),
            "fingerprint": table.fingerprint,
            "target": target.name,
            "task": target.task,
            "classes": None if self.plan.classes is None else self.plan.classes,
            **self._target(),
            "rows_without_target": int(np.count_nonzero(~np.asarray(target.kept))),
            "roles": [
                {"column": name, "role": role.role, "confidence": role.confidence, "reason": role.reason}
                for name, role in table.roles.items()
            ],
            "set_aside": features.set_aside,
            "findings": self._findings,
        }

    def _target(self) -> dict[str, Any]:
        """How often each class occurs, or where a numeric target lies."""
        if self.plan.classes is not None:
            return {"class_counts": np.bincount(self.plan.y, minlength=self.plan.classes.shape[0])}
        y = self.plan.y
        places = {"min": y.min(), "median": np.median(y), "mean": y.mean(), "max": y.max()}
        return {"target_summary": {name: float(value) for name, value in places.items()}}

    def _design(self) -> dict[str, Any]:
        design, splits = self.plan.design, self.plan.splits
        return {
            "name": design.name,
            "kind": design.kind,
            "repetitions": design.repetitions,
            "folds": len(splits) // design.repetitions,
            "stratified": self.plan.stratified,
            "seed": self.plan.seed,
            "description": design.describe(),
            "n_train": len(splits[0].train),
            "n_test": len(splits[0].test),
        }

    def _learner(self, result: LearnerResult, summary: Mapping[str, Any] | None) -> dict[str, Any]:
        primary = result.scores.get(self.plan.metrics[0])
        row = {
            "id": result.id,
            "title": result.title,
            "summary": result.learner.entry.summary,
            "simplicity": result.learner.entry.simplicity,
            "parameters": result.learner.parameters,
            "preparation": result.preparation,
            "scores": None if primary is None else primary,
            "mean": None if primary is None else float(np.mean(primary)),
            "sd": None,
            "interval": None,
            "group": None,
            "metrics": {name: float(np.mean(scores)) for name, scores in result.scores.items()},
            "confusion": result.confusion,
            "view": result.view,
            "warnings": result.warnings,
            "error": result.error,
        }
        if summary is not None:
            row.update({name: summary[name] for name in ("mean", "sd", "interval", "group")})
        return row

    @cached_property
    def command(self) -> str:
        """The command line that makes these results again, or the plan where only Python can say it."""
        plan, table = self.plan, self.plan.table
        steps = [_step_word(step) for step in plan.prepare]
        if None in steps or any(
            not learner.native or learner.title != learner.entry.title for learner in plan.learners
        ):
            return repr(plan)
        data = table.name if table.name in DATASETS else table.source or table.name
        words = ["assay", "compare", data, "--target", plan.target.name]
        words += ["--models", ",".join(learner.id for learner in plan.learners), "--design", plan.design.name]
        words += ["--metric", ",".join(plan.metrics), "--task", plan.task, "--seed", str(plan.seed)]
        words += ["--alpha", f"{plan.alpha:g}"] if plan.alpha != 0.05 else []
        for step in steps:
            words += ["--prepare", str(step)]
        for name, role in table.roles.items():
            if role.reason.startswith("declared"):
                order = ":" + "<".join(map(str, role.order)) if role.order else ""
                words += ["--role", f"{name}={role.role}{order}"]
        return " ".join(shlex.quote(plain(word, 1000)) for word in words)

    def _lines(self) -> list[tuple[str, ...]]:
        """Learner, mean, interval and group, the best first and those without scores last."""
        summary = {} if self.comparison is None else self.comparison.summary
        by_id = {result.id: result for result in self.learners}
        lines = []
        for name in [*summary, *(name for name in by_id if name not in summary)]:
            row, result = summary.get(name), by_id[name]
            if row is None:
                lines.append((plain(result.title), plain(result.error or "no score", 300), "", ""))
            else:
                low, high = row["interval"]
                lines.append((plain(result.title), f"{row['mean']:.4f}", f"{low:.4f} to {high:.4f}", str(row["group"])))
        return [("learner", self.plan.metrics[0], f"{100 * (1 - self.plan.alpha):g} % interval", "group"), *lines]

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[k]) for line in lines if line[2]) for k in range(4)]
        widths[0] = max(len(line[0]) for line in lines)
        title = f"target {plain(self.plan.target.name)} in {plain(self.plan.table.name)}: {self.plan.design.describe()}"
        text = [title] + ["  " + "  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths)).rstrip() for line in lines]
        return "\n".join(text if self.comparison is None else [*text, self.comparison.sentence])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *lines = ([html.escape(cell) for cell in line] for line in self._lines())
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in lines)
        said = "" if self.comparison is None else f"<p>{html.escape(self.comparison.sentence)}</p>"
        return f"<table><thead><tr><th>{'</th><th>'.join(head)}</th></tr></thead><tbody>{body}</tbody></table>{said}"


def _step_word(step: Any) -> str | None:
    """A preparation step as `assay compare --prepare` takes it; None for one that is not in the catalogue."""
    entry = catalogue.of_class(type(step))
    if entry is None:
        return None
    defaults = type(step)().get_params(deep=False)
    changed = {name: describe_value(v) for name, v in step.get_params(deep=False).items()}
    changed = {name: v for name, v in changed.items() if v != describe_value(defaults[name]) and name != "random_state"}
    return f"{entry.id}={json.dumps(changed)}" if changed else entry.id


def versions() -> dict[str, str]:
    """Versions that the numbers were made with."""
    found = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"assay": __version__, "python": platform.python_version(), **found}


def _gather(
    plan: Plan,
    number: int,
    values: Mapping[tuple[int, int | None], Mapping[str, Any]],
    failed: tuple[int, str] | None,
) -> LearnerResult:
    learner = plan.learners[number]
    whole = values.get((number, None), {})
    words = list(whole.get("preparation", ()))
    folds = [values[number, index] for index in range(len(plan.splits)) if (number, index) in values]
    warnings = _merge_warnings(whole, folds)
    if len(folds) < len(plan.splits):
        text = failed[1] if failed is not None else f"{learner.title}: was not run to the end."
        return LearnerResult(learner, {}, preparation=words, warnings=warnings, error=text)
    if failed is not None:
        warnings.append(failed[1])
    shape = (plan.design.repetitions, len(plan.splits) // plan.design.repetitions)
    scores = {}
    for name in plan.metrics:
        array = np.full(shape, np.nan)
        for split, fold in zip(plan.splits, folds):
            value = fold["scores"][name]
            array[split.repetition, split.fold] = math.nan if value is None else value
        scores[name] = array
    confusion = None
    if plan.classes is not None:
        confusion = np.sum([fold["confusion"] for fold in folds], axis=0)
    return LearnerResult(
        learner,
        scores,
        confusion,
        whole.get("view"),
        words,
        warnings,
        None,
        float(sum(fold["fit_seconds"] for fold in folds)),
        float(sum(fold["predict_seconds"] for fold in folds)),
        {index: values[number, index]["predictions"] for index in range(len(plan.splits))},
    )


def _merge_warnings(whole: Mapping[str, Any], folds: list[Mapping[str, Any]]) -> list[str]:
    """One text per code: that of the fit on all rows, which knows the column names, before those of the folds."""
    texts: dict[str, str] = {}
    for unit in [whole, *folds]:
        for code, text in unit.get("warnings", ()):
            texts.setdefault(code, text)
    return [f"[{code}] {text}" for code, text in texts.items()]
