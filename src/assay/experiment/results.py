"""The results of a run: one record per learner, the comparison, and the JSON that reports and programs read."""

from __future__ import annotations

import html
import importlib.metadata
import math
import platform
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import __version__
from ..base.errors import AssayWarning, UsageError, plain
from ..base.record import Grid, Record
from ..data.frames import frame_of
from ..evaluate import Evidence, Metric, compare, get_metric
from ..evaluate.comparison_words import not_beaten, too_good
from ..evaluate.conformal import Conformal
from ..evaluate.row_values import row_values
from .choices import summarise
from .command import command_of as command_of
from .diagnostics import Diagnostics, diagnose
from .learners import default_learners, settle_learners
from .ledger import Ledger, Looks
from .model import PreparedModel
from .plan import Learner, Plan
from .predictions import FoldPredictions, Predictions, below_each_other
from .store import without_nan
from .tuning import Tuning, given_values, search_all_rows, with_setting

SCHEMA = "assay.compare/1"


@dataclass(frozen=True)
class Stopped:
    """How a learner left the race: after how many repetitions, with which mean, and how far behind which best."""

    repetitions: int
    mean: float
    best: str
    difference: float
    interval: list[float]

    def words(self, title: str, of: int) -> str:
        """The end of its race in a sentence."""
        low, high = self.interval
        return (
            f"{title} left the race after {self.repetitions} of {of} repetitions: its mean {self.mean:.4f} differs "
            f"from that of {self.best} by {self.difference:+.4f} ({low:+.4f} to {high:+.4f})."
        )


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
    chosen: tuple[dict[str, int | float | str], ...] = ()
    """What the learner chose inside the training rows of each split, by name."""
    trials: dict[int | None, dict[int, dict[str, Any]]] = field(default_factory=dict)
    """Of a tuned learner the settings that were tried in each split (None: on all rows), by number."""
    stopped: Stopped | None = None
    """How it left the race; it then has no scores."""

    @property
    def complete(self) -> bool:
        """Whether the learner has scores on every fold."""
        return self.error is None and self.stopped is None

    @property
    def id(self) -> str:
        return self.learner.id

    @property
    def title(self) -> str:
        return self.learner.title


@dataclass(frozen=True, eq=False)
class Results(Record):
    """What a run found. `to_dict` is the JSON of `assay compare --json`; it holds no times and no thread counts."""

    plan: Plan
    learners: list[LearnerResult]
    reused: int = 0
    """Units that were found in the store instead of being run."""
    looks: Looks = field(default_factory=Looks)
    """How often the rows were scored on, as far as the store knows."""
    code: str = ""
    """The version of the code that made them, where it is not the one that is running."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        values: Mapping[tuple[int, int | None], Mapping[str, Any]],
        failed: Mapping[int, tuple[int, str]],
        reused: int,
        stopped: Mapping[int, Stopped] | None = None,
        trials: Mapping[tuple[int, int | None], dict[int, dict[str, Any]]] | None = None,
        looks: Looks | None = None,
        code: str = "",
    ) -> Results:
        """Put the finished units of a run together."""
        out = stopped or {}
        learners = [
            _gather(plan, number, values, failed.get(number), out.get(number)) for number in range(len(plan.learners))
        ]
        for (number, split), tried in (trials or {}).items():
            learners[number].trials[split] = tried
        return cls(plan, learners, reused, looks or Looks(1, len(learners)), code)

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
        result = self.one(learner)
        return Predictions.gather(self.plan, result.title, result.folds)

    def one(self, learner: str) -> LearnerResult:
        """What the learner with this id did."""
        for result in self.learners:
            if result.id == learner:
                return result
        raise UsageError(
            "Results",
            f"learner '{plain(learner)}'",
            "is not part of the plan",
            way_out="choose from " + ", ".join(result.id for result in self.learners),
        )

    def ledger(self) -> Ledger:
        """Which rows the fits saw and were scored on, and how often these rows were looked at."""
        return Ledger.of(self.plan, self.looks)

    @cached_property
    def _ledger(self) -> Ledger:
        return self.ledger()

    def tuning(self, learner: str) -> Tuning:
        """What the searches of a tuned learner, named by its id, found: trials, optimism, which parameters mattered."""
        result = self.one(learner)
        if result.learner.search is None or not result.complete:
            raise UsageError(
                "Results",
                f"learner '{plain(learner)}'",
                "was not tuned" if result.learner.search is None else "has no scores",
                result.error or "",
                "wrap it in Tuned, or say tune='random'" if result.learner.search is None else "",
            )
        metric = get_metric(self.plan.metrics[0])
        outer = [result.scores[metric.name][split.repetition, split.fold] for split in self.plan.splits]
        return Tuning(
            result.learner.search,
            metric.name,
            metric.greater_is_better,
            dict(sorted(result.trials.items(), key=lambda item: (item[0] is None, item[0] or 0))),
            np.array(outer),
            [(split.repetition, split.fold) for split in self.plan.splits],
            given_values(result.learner),
        )

    def best_model(self, learner: str | None = None) -> PreparedModel:
        """The recommended learner (or the one with this id) fitted on all rows, with its preparation.

        >>> from assay.data import load_dataset
        >>> from assay.experiment import Plan, run
        >>> results = run(Plan(load_dataset("iris"), "species", learners=["zero-r", "naive-bayes"], design="3-fold"))
        >>> results.best_model().predict(load_dataset("iris").frame.tail(1)).tolist()
        ['virginica']
        """
        if learner is None:
            if self.not_yet is not None or self.comparison is None:
                raise UsageError(
                    "Results",
                    "best_model",
                    "has no answer to fit",
                    self.not_yet or "no learner has scores",
                    "mend the table, or name a learner",
                )
            learner = str(self.comparison.recommendation["id"])
            if not learner:
                raise UsageError(
                    "Results",
                    "best_model",
                    "has no answer to fit",
                    self.comparison.recommendation["reason"].rstrip("."),
                    "name a learner",
                )
            if self.comparison.recommendation.get("unbeaten", learner) != learner:
                warnings.warn(AssayWarning("W402", self.comparison.recommendation["reason"]), stacklevel=3)
        result = self.one(learner)
        if result.learner.search is None:
            return PreparedModel.fit(self.plan, result.learner, self._facts_of(result))
        final = self.tuning(learner).final
        if final is None:
            final = search_all_rows(self.plan, result.learner)
        tuned = with_setting(result.learner, final)
        return PreparedModel.fit(self.plan, tuned, self._facts_of(replace(result, learner=tuned)))

    def _facts_of(self, result: LearnerResult) -> dict[str, Any]:
        """What travels with the fitted model of a learner: its scores, its errors out of fold, where it comes from."""
        table, plan = self.plan.table, self.plan
        summary = {} if self.comparison is None else self.comparison.summary.get(result.id, {})
        facts: dict[str, Any] = {
            "metrics": {name: float(np.mean(scores)) for name, scores in result.scores.items()},
            "provenance": {
                "command": self.command,
                "learner": result.id,
                "title": result.title,
                "parameters": result.learner.parameters,
                "data": {"name": table.name, "rows": table.n_rows, "fingerprint": table.fingerprint},
                "design": plan.design.describe(),
                "metric": plan.metrics[0],
                "interval": summary.get("interval"),
                "seed": plan.random_state,
                "versions": versions(),
            },
        }
        if result.error is None and len(result.folds) == len(plan.splits):
            found = self.predictions(result.id).of_repetition(0)
            facts["conformal"] = Conformal.of_predictions(found.truth, found.predicted, found.probabilities, found.fold)
        return facts

    def diagnostics(self, learner: str) -> Diagnostics:
        """ROC, precision and recall, calibration, costs by threshold or residuals of a learner, by its id."""
        return diagnose(self.predictions(learner), self.plan.alpha, self.plan.random_state)

    @cached_property
    def _diagnosed(self) -> dict[str, dict[str, Any]]:
        """The diagnostics of every learner with scores, as plain data."""
        scored = [result.id for result in self.learners if result.complete and result.folds]
        return {learner: self.diagnostics(learner).to_dict() for learner in scored}

    def choices(self) -> Any:
        """What learners chose inside the training rows, as a Polars frame: a row per learner and fold that chose.

        >>> from assay.data import load_dataset
        >>> from assay.experiment import Plan, run
        >>> learners = ["zero-r", ("knn-classifier", {"n_neighbors": "loo"})]
        >>> results = run(Plan(load_dataset("iris"), "species", learners=learners, design="3-fold"))
        >>> results.choices().columns, results.choices().height
        (['id', 'repetition', 'fold', 'k'], 3)
        """
        rows: list[dict[str, Any]] = [
            {"id": result.id, "repetition": split.repetition, "fold": split.fold, **chosen}
            for result in self.learners
            for split, chosen in zip(self.plan.splits, result.chosen)
            if chosen
        ]
        names = dict.fromkeys(name for row in rows for name in row)
        return frame_of({name: [row.get(name) for row in rows] for name in names or ("id", "repetition", "fold")})

    @cached_property
    def comparison(self) -> Any:
        """The valid test for the design over the primary metric; None if no learner has scores on every fold."""
        return self._judged()

    @property
    def plain_comparison(self) -> Any:
        """The same without a look at what guessing scores."""
        return self._judged(judged_by_guessing=False)

    def _judged(self, judged_by_guessing: bool = True) -> Any:
        scored = [result for result in self.learners if result.complete]
        if not any(np.isfinite(result.scores[self.plan.metrics[0]]).all() for result in scored):
            return None
        if not judged_by_guessing:
            return self._compare(scored, margin=self.plan.margin)
        guess = next((result.id for result in scored if _guesses(result.learner)), None)
        if self._guess_below_chance():
            guess = None  # it is no yardstick; the commonest class of all rows is
        said = self._guess_words()
        comparison = self._compare(
            scored, pairs=self.plan.pairs, margin=self.plan.margin, guess=None if guess is None else (guess, said)
        )
        return comparison if guess is not None else self._against_guessing(comparison, scored, said)

    def _compare(self, scored: list[LearnerResult], **options: Any) -> Any:
        metric = get_metric(self.plan.metrics[0])
        sizes = [(len(split.train), len(split.test)) for split in self.plan.splits]
        rows, units = self._row_values(metric, scored)
        smaller = None if self.plan.classes is None else int(np.bincount(self.plan.y[self.plan.cases]).min())
        return compare(
            {result.id: result.scores[metric.name] for result in scored},
            self.plan.design,
            n_train=float(np.mean([train for train, _ in sizes])),
            n_test=float(np.mean([test for _, test in sizes])),
            simplicity={result.id: result.learner.entry.simplicity for result in scored},
            titles={result.id: result.title for result in scored},
            metric=metric.name,
            greater_is_better=metric.greater_is_better,
            alpha=self.plan.level,
            rows=rows,
            units=units,
            smaller=smaller,
            stopped=[result.title for result in self.learners if result.stopped is not None],
            **options,
        )

    def _guess_words(self) -> str:
        """What a learner that ignores the rows says."""
        if self.plan.classes is None:
            return "always the mean"
        return f"always '{plain(self.plan.classes[int(np.bincount(self.plan.y).argmax())], 30)}'"

    def _against_guessing(self, comparison: Any, scored: list[LearnerResult], said: str) -> Any:
        """The comparison judged against guessing, where no learner of the plan guesses: nothing is recommended that is
        not shown to be better."""
        guessing = self._guessing()
        if guessing is None:
            return comparison
        judged = self._compare([*scored, guessing], baseline=guessing.id, margin=self.plan.margin)
        if judged.summary.get(comparison.best, {}).get("verdict") in ("better", None):
            return comparison
        verdict = judged.summary[comparison.best]["verdict"]
        rows = {
            comparison.best: comparison.summary[comparison.best],
            guessing.id: judged.summary[guessing.id] | {"verdict": verdict},
        }
        ahead = rows[comparison.best]["mean"] - rows[guessing.id]["mean"]
        behind = verdict == "worse" or (ahead < 0 if comparison.greater_is_better else ahead > 0)
        best = guessing.id if behind else comparison.best
        reason = not_beaten(best, guessing.id, said, rows, comparison.metric)
        bet = comparison.best if verdict == "undecided" and not behind else ""
        return replace(comparison, recommendation={"id": bet, "reason": reason, "unbeaten": guessing.learner.entry.id})

    @property
    def _told(self) -> list[str]:
        """The comparison in words, and that nobody was shown to beat guessing where that is so."""
        if self.comparison is None:
            return []
        unbeaten = "unbeaten" in self.comparison.recommendation
        return [self.comparison.sentence, *([self.comparison.recommendation["reason"]] if unbeaten else [])]

    def _guessing(self) -> LearnerResult | None:
        """ZeroR on the folds of the plan, which costs next to nothing; None where a fold has no score.

        Where leaving out whole groups turns the commonest class of a fold around, it says that of all rows.
        """
        plan, below = self.plan, bool(self._guess_below_chance())
        entry = next((entry for entry in default_learners(str(plan.task)) if entry.id in GUESSES), None)
        if entry is None:
            return None
        learner = replace(
            settle_learners([entry.id], str(plan.task), plan.random_state)[0], id=" guessing", title="the baseline"
        )
        shape = (plan.design.repetitions, len(plan.splits) // plan.design.repetitions)
        scores, folds = np.full(shape, np.nan), {}
        for index, split in enumerate(plan.splits):
            known = plan.y if below else plan.y[split.train]
            model = learner.prototype().fit(np.zeros((len(known), 1)), known)
            folds[index] = FoldPredictions.by(model, np.zeros((len(split.test), 1)), plan.n_classes)
            measured, _ = folds[index].measure(plan.y[split.test], plan.metrics[:1], plan.n_classes)
            value = measured[plan.metrics[0]]
            scores[split.repetition, split.fold] = math.nan if value is None else value
        if not np.isfinite(scores).all():
            return None
        return LearnerResult(learner, {plan.metrics[0]: scores}, folds=folds)

    def _row_values(
        self, metric: Metric, scored: list[LearnerResult]
    ) -> tuple[dict[str, np.ndarray] | None, np.ndarray | None]:
        """What each tested row contributes to each learner's score, and the unit (group, block of time) of each row."""
        splits = self.plan.splits
        rounds = _rounds(splits, len(self.plan.y))
        tested = np.unique(np.concatenate([split.test for split in splits]))
        found: dict[str, np.ndarray] = {}
        for result in scored:
            total, times = np.zeros(len(self.plan.y)), np.zeros(len(self.plan.y))
            for members in rounds:
                rows = np.concatenate([splits[index].test for index in members])
                if metric.name == "roc_auc" and all(_ranks_nothing(result.folds[index]) for index in members):
                    # Constants that follow each fold's class shares would look like ranks once put together.
                    values: np.ndarray | None = np.full(len(rows), 0.5)
                else:
                    values = row_values(metric, self._evidence(result, members, rows))
                if values is None:
                    return None, None
                total[rows] += values
                times[rows] += 1
            found[result.id] = total[tested] / times[tested]
        units: np.ndarray | None = None
        if self.plan.group_values is not None:
            units = self.plan.group_values[tested]
        elif self.plan.design.kind == "time":
            block = np.zeros(len(self.plan.y), dtype=np.int64)
            for index, split in enumerate(splits):
                block[split.test] = index
            units = block[tested]
        return found, units

    def _evidence(self, result: LearnerResult, members: list[int], rows: np.ndarray) -> Evidence:
        """The predictions of some splits as a metric takes them."""
        parts = [result.folds[index] for index in members]
        predicted, truth = np.concatenate([part.predicted for part in parts]), self.plan.y[rows]
        if self.plan.classes is None:
            return Evidence(truth, values=predicted)
        shares = [part.probabilities for part in parts if part.probabilities is not None]
        together = below_each_other(shares) if len(shares) == len(parts) else None
        codes = np.arange(len(self.plan.classes))
        return Evidence(truth, labels=predicted, probabilities=together, classes=codes)

    # -- what the audit says of the answer -------------------------------------------------------------------------
    @property
    def findings(self) -> list[dict[str, Any]]:
        """What the audit finds wrong with the table, most severe first."""
        return self.plan.findings

    @cached_property
    def not_yet(self) -> str | None:
        """Why there is no answer yet: a leak, or rows that are no separate cases; None where nothing forbids one."""
        said = [_objection(finding) for finding in self.findings if self._forbids(finding)]
        return None if not said else " ".join(said)

    def _forbids(self, finding: Mapping[str, Any]) -> bool:
        if finding["severity"] != "high" or finding["code"] not in STOPPING:
            return False
        used = set(self.plan.features.frame.columns)
        if finding["code"] == "A042":
            return self.plan.groups is None
        return bool(used & set(finding["columns"][:1])) and not _dropped(self.plan.prepare, finding["columns"][0])

    @cached_property
    def cautions(self) -> list[str]:
        """What a reader should know before the answer: grave findings that do not forbid it."""
        said = []
        for finding in self.findings:
            ordered = finding["code"] == "A043" and self.plan.design.kind != "time" and finding["severity"] != "low"
            grave = finding["severity"] == "high" and finding["code"] not in STOPPING and finding["code"] != "A043"
            if ordered or grave or self.plan.about_target(finding):
                said.append(_objection(finding))
        if self.plan.copies:
            said.append(
                f"{self.plan.copies:,} of {len(self.plan.y):,} rows equal an earlier row, which chance cannot explain: "
                "copies stay in one fold and count as one case; keep one of each if they are mistakes"
            )
        said += [f"{text}." for text in self._ledger.objections]
        if below := self._guess_below_chance():
            said.append(below)
        if perfect := self._without_error():
            said.append(perfect)
        return said

    def _without_error(self) -> str:
        """That the recommended learner makes no error at all, where it does not."""
        if self.comparison is None or self.not_yet is not None or not self.comparison.recommendation["id"]:
            return ""
        result, metric = self.one(self.comparison.recommendation["id"]), get_metric(self.plan.metrics[0])
        best = metric.bounds[1 if metric.greater_is_better else 0]
        perfect = result.complete and np.allclose(result.scores[metric.name], best, rtol=0, atol=1e-9)
        return too_good(result.title, metric.name, self.plan.target.name) if perfect else ""

    def _guess_below_chance(self) -> str:
        """What is wrong where guessing scores below the commonest class's share of all rows: whole groups left out
        leave their class rarer in training, so that guessing is always the other one, and noise beats it."""
        if self.plan.classes is None or self.plan.metrics[0] != "accuracy":
            return ""
        share = float(np.bincount(self.plan.y).max() / len(self.plan.y))
        means = [float(r.scores["accuracy"].mean()) for r in self.learners if r.complete and _guesses(r.learner)]
        if not means or not np.isfinite(means[0]) or means[0] > share - 0.05:
            return ""
        return (
            f"guessing scores {means[0]:.3f} although the commonest class holds {share:.3f} of the rows: leaving out "
            "whole groups makes their class the rarer one in training; judge learners by "
            f"{share:.3f}, which chance reaches"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, the same for every number of jobs and after every interruption."""
        metric = get_metric(self.plan.metrics[0])
        comparison = self.comparison
        summary = {} if comparison is None else comparison.summary
        recommended = None if comparison is None or self.not_yet is not None else comparison.recommendation
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
                    "reason": self.plan.metric_reason or None,
                },
                "learners": [self._learner(result, summary.get(result.id)) for result in self.learners],
                "comparison": None if comparison is None else comparison.to_dict(),
                "recommendation": None
                if not recommended
                else {"title": titles.get(recommended["id"], "no learner"), **recommended},
                "not_yet": self.not_yet,
                "cautions": self.cautions,
                "ledger": self._ledger.to_dict(),
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
            "rows_without_target": int(np.count_nonzero(~np.asarray(target.kept))) - len(self.plan.held),
            **({"rows_held_out": len(self.plan.held)} if len(self.plan.held) else {}),
            "roles": [
                {"column": name, "role": role.role, "confidence": role.confidence, "reason": role.reason}
                for name, role in table.roles.items()
            ],
            "set_aside": features.set_aside,
            "findings": self.findings,
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
            "seed": self.plan.random_state,
            "description": design.describe(),
            "reason": None if self.plan.choice is None else self.plan.choice.words(),
            "groups": None if self.plan.groups is None else str(self.plan.groups),
            "time": None if self.plan.time is None else str(self.plan.time),
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
            "choices": summarise(result.chosen),
            "scores": None if primary is None else primary,
            "mean": None if primary is None else float(np.mean(primary)),
            "sd": None,
            "interval": None,
            "group": None,
            "verdict": None,
            "difference": None,
            "difference_interval": None,
            "metrics": {name: float(np.mean(scores)) for name, scores in result.scores.items()},
            "confusion": result.confusion,
            "diagnostics": self._diagnosed.get(result.id),
            "view": result.view,
            "warnings": result.warnings,
            "error": result.error,
            "search": self.tuning(result.id).to_dict() if result.trials and result.complete else None,
            "race": None
            if result.stopped is None
            else asdict(result.stopped) | {"words": result.stopped.words(result.title, self.plan.design.repetitions)},
        }
        if summary is not None:
            shown = ("mean", "sd", "interval", "group", "verdict", "difference", "difference_interval")
            row.update({name: summary[name] for name in shown})
        return row

    @cached_property
    def command(self) -> str:
        """The command line that makes these results again, or the plan where only Python can say it."""
        return command_of(self.plan)

    def _lines(self) -> list[tuple[str, ...]]:
        """Learner, mean, interval and group, the best first and those without scores last."""
        summary = {} if self.comparison is None else self.comparison.summary
        by_id = {result.id: result for result in self.learners}
        lines = []
        for name in [*summary, *(name for name in by_id if name not in summary)]:
            row, result = summary.get(name), by_id[name]
            if row is None:
                said = result.error or "no score"
                if result.stopped is not None:
                    said = f"left the race after {result.stopped.repetitions} of {self.plan.design.repetitions}"
                lines.append((plain(result.title), plain(said, 300), "", ""))
            else:
                low, high = row["interval"]
                word = row["group"] if self.plan.pairs == "all" else row["verdict"]
                lines.append((plain(result.title), f"{row['mean']:.4f}", f"{low:.4f} to {high:.4f}", str(word)))
        last = "group" if self.plan.pairs == "all" else "verdict"
        return [("learner", self.plan.metrics[0], f"{100 * (1 - self.plan.level):g} % interval", last), *lines]

    def grid(self) -> Grid:
        """The table of the learners, the best first."""
        head, *lines = self._lines()
        return Grid(head, lines)

    def to_frame(self) -> Any:
        """One row per learner as a Polars frame: id, title, mean, interval, verdict, every metric, seconds.

        >>> from assay.data import load_dataset
        >>> from assay.experiment import Plan, run
        >>> results = run(Plan(load_dataset("iris"), "species", learners=["zero-r", "one-r"], design="3-fold"))
        >>> results.to_frame().columns[:5]
        ['id', 'title', 'mean', 'low', 'high']
        """
        summary = {} if self.comparison is None else self.comparison.summary
        rows = []
        for result in self.learners:
            found = summary.get(result.id) or {}
            low, high = found.get("interval") or (None, None)
            known = {"id": result.id, "title": result.title, "mean": found.get("mean"), "low": low, "high": high}
            known |= {name: found.get(name) for name in ("sd", "verdict", "group", "difference")}
            known |= {name: float(np.mean(scores)) for name, scores in result.scores.items()}
            rows.append(known | self.timings[result.id] | {"error": result.error})
        columns = list(dict.fromkeys(name for row in rows for name in row))
        return frame_of({name: [without_nan(row.get(name)) for row in rows] for name in columns})

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[k]) for line in lines if line[2]) for k in range(4)]
        widths[0] = max(len(line[0]) for line in lines)
        title = f"target {plain(self.plan.target.name)} in {plain(self.plan.table.name)}: {self.plan.design.describe()}"
        told = [f"Not yet: {self.not_yet}"] if self.not_yet else []
        told += [f"Caution: {text}" for text in self.cautions]
        text = [*told, title] + [
            "  " + "  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths)).rstrip() for line in lines
        ]
        if self.comparison is None or self.not_yet:
            return "\n".join(text)
        return "\n".join([*text, *self._told])

    __repr__ = __str__

    def to_html(self) -> str:
        """The table of the learners, with what was found below, as HTML."""
        head, *lines = ([html.escape(cell) for cell in line] for line in self._lines())
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in lines)
        said = "".join(f"<p>{html.escape(text)}</p>" for text in self._told)
        if self.not_yet:
            said = f"<p><strong>Not yet:</strong> {html.escape(self.not_yet)}</p>"
        said += "".join(f"<p>Caution: {html.escape(text)}</p>" for text in self.cautions)
        return f"<table><thead><tr><th>{'</th><th>'.join(head)}</th></tr></thead><tbody>{body}</tbody></table>{said}"


GUESSES = ("zero-r", "zero-r-regressor")
"""Learners that ignore the rows; one that is not shown to beat them has learned nothing that is known."""

STOPPING = ("A006", "A032", "A042")
"""Findings that forbid an answer: a copy of the target, a feature that gives it away, units that repeat."""


def _guesses(learner: Learner) -> bool:
    return learner.entry.id in GUESSES or type(learner.estimator).__name__ in ("DummyClassifier", "DummyRegressor")


def _objection(finding: Mapping[str, Any]) -> str:
    """A finding as a sentence: what, the evidence, the way out."""
    columns = ", ".join(f"'{plain(name, 30)}'" for name in finding["columns"][:3])
    words = finding["remedy"]["words"] if isinstance(finding["remedy"], Mapping) else str(finding["remedy"])
    return f"{finding['kind']} ({columns}): {plain(finding['evidence'], 300)}; {plain(words, 300)}."


def _dropped(steps: tuple[Any, ...], column: str) -> bool:
    """Whether a preparation step leaves the column out."""
    return any(
        column in (getattr(step, "columns", None) or ()) for step in steps if type(step).__name__ == "DropColumns"
    )


def _ranks_nothing(fold: FoldPredictions) -> bool:
    """Whether every row of the fold has the same class probabilities."""
    shares = fold.probabilities
    return shares is not None and bool((shares == shares[:1]).all())


def _rounds(splits: list[Any], n_rows: int) -> list[list[int]]:
    """Splits gathered so that no row is tested twice in a round: the folds of a repetition, all blocks of time."""
    rounds: list[list[int]] = []
    seen = np.ones(n_rows, dtype=bool)
    for index, split in enumerate(splits):
        if seen[split.test].any():
            rounds.append([])
            seen = np.zeros(n_rows, dtype=bool)
        rounds[-1].append(index)
        seen[split.test] = True
    return rounds


def versions() -> dict[str, str]:
    """Versions that the numbers were made with."""
    found = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"assay": __version__, "python": platform.python_version(), **found}


def _gather(
    plan: Plan,
    number: int,
    values: Mapping[tuple[int, int | None], Mapping[str, Any]],
    failed: tuple[int, str] | None,
    stopped: Stopped | None = None,
) -> LearnerResult:
    learner = plan.learners[number]
    whole = values.get((number, None), {})
    words = list(whole.get("preparation", ()))
    folds = [values[number, index] for index in range(len(plan.splits)) if (number, index) in values]
    warnings = _merge_warnings(whole, folds)
    if stopped is not None:
        return LearnerResult(learner, {}, preparation=words, warnings=warnings, stopped=stopped)
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
        tuple(fold["chosen"] for fold in folds),
    )


def _merge_warnings(whole: Mapping[str, Any], folds: list[Mapping[str, Any]]) -> list[str]:
    """One text per code: that of the fit on all rows, which knows the column names, before those of the folds."""
    texts: dict[str, str] = {}
    for unit in [whole, *folds]:
        for code, text in unit.get("warnings", ()):
            texts.setdefault(code, text)
    return [f"[{code}] {text}" for code, text in texts.items()]
