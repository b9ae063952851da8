"""The default comparison on simulated tables: how often any equal learner is called worse, and whether intervals cover.

Every learner of a setting has columns of its own, drawn alike, so that all are equally good by construction and any
"worse" is an error; ZeroR stands beside them for its interval alone. The true mean score is the mean over the tables.
Learners are those of the catalogue, through their shared folds; scores, rows and verdicts those of `assay.evaluate`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay import catalogue
from assay.evaluate import Evidence, compare, get_metric, make_design
from assay.evaluate.row_values import row_values


@dataclass(frozen=True)
class Setting:
    """One kind of table: rows, learners, their family, the strength of the signal, the share of positives."""

    name: str
    rows: int
    learners: int
    family: str
    signal: float
    metrics: tuple[str, ...]
    positives: float | None = None
    design: str = "3x10"
    replicates: int = 400

    @property
    def classify(self) -> bool:
        """Whether the target is a class."""
        return self.positives is not None


LABELS = ("accuracy", "roc_auc", "f1", "log_loss")
NUMBERS = ("rmse",)
SETTINGS = (
    Setting("40 rows, weak", 40, 3, "naive-bayes", 0.6, ("accuracy", "roc_auc", "log_loss"), 0.4),
    Setting("60 rows, weak", 60, 3, "logistic", 0.6, LABELS, 0.4),
    Setting("60 rows, strong", 60, 3, "logistic", 3.0, LABELS, 0.4),
    Setting("100 rows, weak", 100, 6, "knn-classifier", 0.8, ("accuracy", "roc_auc"), 0.4),
    Setting("100 rows, strong", 100, 2, "cart-classifier", 2.0, ("accuracy", "f1"), 0.4),
    Setting("200 rows, weak", 200, 12, "logistic", 0.5, ("accuracy", "roc_auc", "log_loss"), 0.35, replicates=300),
    Setting("200 rows, tenth positive", 200, 3, "logistic", 1.5, ("roc_auc", "log_loss", "f1"), 0.1),
    Setting("500 rows, weak", 500, 6, "naive-bayes", 0.4, ("accuracy", "roc_auc", "log_loss"), 0.35, "3x10", 300),
    Setting("500 rows, tenth positive", 500, 3, "logistic", 1.0, ("balanced_accuracy", "roc_auc"), 0.1),
    Setting("2000 rows, strong", 2000, 2, "cart-classifier", 1.0, ("accuracy", "roc_auc"), 0.3, "10-fold", 300),
    Setting("60 rows, numbers", 60, 3, "least-squares", 1.0, NUMBERS),
    Setting("100 rows, numbers, weak", 100, 12, "least-squares", 0.3, NUMBERS, replicates=300),
    Setting("200 rows, numbers, trees", 200, 3, "cart-regressor", 2.0, NUMBERS),
    Setting("500 rows, numbers", 500, 6, "knn-regressor", 1.0, NUMBERS, replicates=300),
    Setting("100 rows, ten times ten", 100, 3, "logistic", 0.8, ("accuracy", "roc_auc", "log_loss"), 0.4, "10x10", 300),
    Setting("100 rows, ten folds", 100, 3, "logistic", 0.8, ("accuracy", "roc_auc", "log_loss"), 0.4, "10-fold"),
)


def draw(setting: Setting, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """The columns of each learner and the target."""
    n, width = setting.rows, 4
    blocks = [rng.normal(size=(n, width)) for _ in range(setting.learners)]
    if setting.positives is not None:
        y = (rng.random(n) < setting.positives).astype(np.int64)
        return [block + y[:, None] * setting.signal / np.sqrt(width) for block in blocks], y
    means = sum(block.sum(axis=1) for block in blocks) / np.sqrt(width * setting.learners)
    return blocks, setting.signal * means + rng.normal(size=n)


def out_of_fold(estimator: Any, X: np.ndarray, y: np.ndarray, splits: list[Any], repetitions: int) -> np.ndarray:
    """Predictions of every row in every repetition: the share of class 1, or a number."""
    found = np.empty((repetitions, y.shape[0]))
    for model, split in zip(estimator.fit_folds(X, y, [split.rows for split in splits]), splits):
        if hasattr(model, "predict_proba"):
            shares = model.predict_proba(X[split.test])
            found[split.repetition, split.test] = shares[:, 1] if shares.shape[1] == 2 else float(model.classes_[0])
        else:
            found[split.repetition, split.test] = model.predict(X[split.test])
    return found


def evidence(classify: bool, y: np.ndarray, predicted: np.ndarray) -> Evidence:
    """Predictions as a metric takes them."""
    if not classify:
        return Evidence(y, values=predicted)
    shares = np.column_stack([1 - predicted, predicted])
    return Evidence(y, labels=(predicted > 0.5).astype(np.int64), probabilities=shares, classes=np.arange(2))


@dataclass
class Outcome:
    """What came of one setting and metric."""

    any_worse: float
    covered: float
    covered_zero_r: float | None
    warned: float
    tables: int


def simulate(setting: Setting, replicates: int | None = None, seed: int = 0) -> dict[str, Outcome]:
    """Run a setting; metric -> outcome."""
    rng = np.random.default_rng([seed, setting.rows, setting.learners])
    design = make_design(setting.design)
    baseline = "zero-r" if setting.classify else "zero-r-regressor"
    loaded, zero_r = catalogue.get(setting.family).load(), catalogue.get(baseline).load()
    seen: dict[str, list[Any]] = {metric: [] for metric in setting.metrics}
    for _ in range(replicates or setting.replicates):
        blocks, y = draw(setting, rng)
        splits = design.splits(y, setting.classify, int(rng.integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = {f"l{j}": out_of_fold(loaded(), X, y, splits, design.repetitions) for j, X in enumerate(blocks)}
            said["zero-r"] = out_of_fold(zero_r(), blocks[0], y, splits, design.repetitions)
        for metric in setting.metrics:
            seen[metric].append(judge(setting, metric, y, said, splits, design))
    return {metric: summarise(found) for metric, found in seen.items()}


def judge(setting: Setting, name: str, y: np.ndarray, said: dict[str, np.ndarray], splits: Any, design: Any) -> Any:
    """Mean and interval of each learner, whether an equal one is called worse, whether the output warns."""
    metric = get_metric(name)
    scores, rows = {}, {}
    for learner, predicted in said.items():
        folds = np.empty((design.repetitions, design.folds))
        for split in splits:
            part = evidence(setting.classify, y[split.test], predicted[split.repetition][split.test])
            folds[split.repetition, split.fold] = metric.of(part)
        values = [row_values(metric, evidence(setting.classify, y, one)) for one in predicted]
        scores[learner] = folds
        rows[learner] = None if any(value is None for value in values) else np.mean(values, axis=0)
    if not all(np.isfinite(folds).all() for folds in scores.values()):
        return None
    smaller = int(min(y.sum(), (1 - y).sum())) if setting.classify else None
    options = {"metric": name, "greater_is_better": metric.greater_is_better, "smaller": smaller}
    everyone = compare(scores, design, rows=rows, **options)
    equal = [learner for learner in scores if learner != "zero-r"]
    among = compare({k: scores[k] for k in equal}, design, rows={k: rows[k] for k in equal}, **options)
    worse = any(row["verdict"] == "worse" for row in among.summary.values())
    intervals = {k: (row["mean"], *row["interval"]) for k, row in everyone.summary.items()}
    return worse, intervals, bool(everyone.warnings)


def summarise(found: list[Any]) -> Outcome:
    """Shares over the tables that had a score in every fold."""
    kept = [one for one in found if one is not None]
    truth = {k: np.mean([one[1][k][0] for one in kept]) for k in kept[0][1]}
    hit = {k: np.mean([one[1][k][1] <= truth[k] <= one[1][k][2] for one in kept]) for k in truth}
    learners = [share for k, share in hit.items() if k != "zero-r"]
    return Outcome(
        any_worse=float(np.mean([one[0] for one in kept])),
        covered=float(np.mean(learners)),
        covered_zero_r=float(hit["zero-r"]),
        warned=float(np.mean([one[2] for one in kept])),
        tables=len(kept),
    )


if __name__ == "__main__":
    import sys
    import time

    wanted = sys.argv[2:] or None
    for one in SETTINGS:
        if wanted and not any(word in one.name for word in wanted):
            continue
        begin = time.perf_counter()
        for metric, outcome in simulate(one, int(sys.argv[1]) if len(sys.argv) > 1 else None).items():
            print(
                f"| {one.name} | {one.design} | {one.learners} x {one.family} | {metric} | {outcome.tables} "
                f"| {100 * outcome.any_worse:.1f} | {100 * outcome.covered:.1f} | {100 * outcome.covered_zero_r:.1f} "
                f"| {100 * outcome.warned:.0f} |",
                flush=True,
            )
        print(f"# {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
