"""The default comparison on simulated tables: how often any equal learner is called worse, and whether intervals cover.

Every learner of a setting has columns of its own, drawn alike, so that all are equally good by construction and any
"worse" is an error; ZeroR stands beside them for its interval alone. The true mean score is the mean over the tables.
Linear discriminants, least squares and nearest neighbours are fitted for all tables at once (closed forms over arrays);
trees and logistic regression are those of the catalogue. Scores by fold and the rows' contributions go to
`assay.evaluate.compare`, whose verdicts and intervals are counted.

    python -m tests.reference.calibration.default_comparison [share of the tables] [settings to run, as 0:10]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay import catalogue
from assay.evaluate import Evidence, compare, get_metric, make_design
from assay.evaluate.comparison_procedures import Folds
from assay.evaluate.distributions import t_quantile
from assay.evaluate.row_values import row_values

WIDTH = 4


@dataclass(frozen=True)
class Setting:
    """One kind of table: rows, learners, their family, the strength of the signal, the share of positives."""

    name: str
    rows: int
    learners: int
    family: str
    signal: float
    metric: str
    positives: float | None = None
    design: str = "3x10"
    tables: int = 600
    groups: int = 0
    uneven: bool = False

    @property
    def units(self) -> np.ndarray | None:
        """The group of each row: sizes alike, or falling to a twentieth of the largest."""
        if not self.groups:
            return None
        sizes = np.geomspace(1.0, 0.05 if self.uneven else 1.0, self.groups)
        ends = np.round(np.cumsum(sizes) / sizes.sum() * self.rows).astype(np.int64)
        return np.searchsorted(ends, np.arange(self.rows), side="right")

    @property
    def classify(self) -> bool:
        """Whether the target is a class."""
        return self.positives is not None


def _settings() -> Iterator[Setting]:
    for metric in ("accuracy", "roc_auc", "log_loss"):
        yield Setting("40 rows, weak", 40, 3, "discriminant", 0.6, metric, 0.3)
        yield Setting("60 rows, strong", 60, 2, "discriminant", 2.5, metric, 0.3)
        yield Setting("100 rows, weak", 100, 6, "discriminant", 0.6, metric, 0.3)
        yield Setting("200 rows, weak", 200, 12, "discriminant", 0.5, metric, 0.3, tables=400)
        yield Setting("100 rows, neighbours", 100, 3, "neighbours", 1.0, metric, 0.3)
    yield Setting("200 rows, F1", 200, 3, "discriminant", 2.0, "f1", 0.3)
    yield Setting("500 rows", 500, 3, "discriminant", 1.2, "roc_auc", 0.1)
    yield Setting("500 rows", 500, 3, "discriminant", 1.2, "f1", 0.1)
    yield Setting("2000 rows, strong", 2000, 2, "discriminant", 1.5, "accuracy", 0.3, "10-fold", 300)
    yield Setting("100 rows, ten folds", 100, 3, "discriminant", 0.8, "roc_auc", 0.3, "10-fold")
    yield Setting("100 rows, ten times ten", 100, 3, "discriminant", 0.8, "roc_auc", 0.3, "10x10", 300)
    yield Setting("60 rows", 60, 3, "least squares", 1.0, "rmse")
    yield Setting("100 rows, weak", 100, 12, "least squares", 0.3, "rmse", tables=400)
    yield Setting("300 rows", 300, 6, "least squares", 1.0, "rmse", tables=400)
    yield Setting("150 rows, neighbours", 150, 3, "neighbours", 1.0, "rmse")
    yield Setting("100 rows, logistic", 100, 3, "logistic", 0.8, "roc_auc", 0.3, tables=400)
    yield Setting("150 rows, pruned trees", 150, 3, "cart-classifier", 1.5, "accuracy", 0.3, tables=400)
    yield Setting("60 rows, weak, neighbours", 60, 6, "neighbours", 0.6, "roc_auc", 0.3)
    yield Setting("500 rows", 500, 3, "discriminant", 1.2, "balanced_accuracy", 0.1)
    yield Setting("150 rows, ten folds", 150, 3, "neighbours", 1.0, "rmse", None, "10-fold")
    for groups, uneven in (
        (60, False),
        (30, False),
        (30, True),
        (20, False),
        (12, False),
        (12, True),
        (8, False),
        (5, False),
    ):
        name, design = (
            f"{groups}{' uneven' if uneven else ''} groups",
            "3x10" if groups > 20 else f"{min(groups, 10)}-fold",
        )
        for metric, positives in (("accuracy", 0.5), ("roc_auc", 0.3), ("rmse", None)):
            family = "least squares" if metric == "rmse" else "discriminant"
            yield Setting(name, 300, 3, family, 1.0, metric, positives, design, 400, groups, uneven)


SETTINGS = tuple(_settings())


def draw(setting: Setting, tables: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Columns (tables, learners, rows, width) and targets (tables, rows)."""
    shape = (tables, setting.learners, setting.rows, WIDTH)
    X = rng.normal(size=shape)
    lift = np.zeros((tables, setting.rows))
    if (units := setting.units) is not None:
        lift = rng.normal(size=(tables, setting.groups))[:, units]
        X += 0.7 * rng.normal(size=(tables, setting.learners, setting.groups, WIDTH))[:, :, units]
    if setting.positives is not None:
        odds = setting.positives / (1 - setting.positives) * np.exp(lift)
        y = (rng.random((tables, setting.rows)) < odds / (1 + odds)).astype(np.int64)
        return X + y[:, None, :, None] * setting.signal / np.sqrt(WIDTH), y
    means = X.sum(axis=(1, 3)) / np.sqrt(WIDTH * setting.learners)
    return X, setting.signal * means + lift + rng.normal(size=(tables, setting.rows))


def assignments(setting: Setting, y: np.ndarray, design: Any, rng: np.random.Generator) -> np.ndarray:
    """Fold numbers (tables, repetitions, rows), stratified as the design has it."""
    found = np.empty((y.shape[0], design.repetitions, y.shape[1]), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t, target in enumerate(y):
            for split in design.splits(target, setting.classify, int(rng.integers(2**31)), setting.units):
                found[t, split.repetition, split.test] = split.fold
    return found


def predict(setting: Setting, X: np.ndarray, y: np.ndarray, folds: np.ndarray, n_folds: int) -> np.ndarray:
    """Out-of-fold predictions (tables, learners, repetitions, rows): the share of class 1, or a number."""
    out = np.empty((X.shape[0], X.shape[1], folds.shape[1], X.shape[2]))
    if setting.family not in ("discriminant", "least squares", "neighbours"):
        return _by_catalogue(setting, X, y, folds, n_folds, out)
    for r in range(folds.shape[1]):
        for fold in range(n_folds):
            test = folds[:, r] == fold
            said = _fitted(setting, X, y, ~test)
            out[:, :, r][np.broadcast_to(test[:, None], said.shape)] = said[np.broadcast_to(test[:, None], said.shape)]
    return out


def _fitted(setting: Setting, X: np.ndarray, y: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Predictions of all rows by models of the training rows."""
    w = train[:, None, :].astype(float)
    if setting.family == "neighbours":
        squares = (X**2).sum(axis=3)
        distance = squares[..., :, None] + squares[..., None, :] - 2 * X @ np.swapaxes(X, 2, 3)
        distance = np.where(train[:, None, None, :], distance, np.inf)
        near = np.argpartition(distance, 9, axis=3)[..., :9]
        values = np.take_along_axis(np.broadcast_to(y[:, None, None, :], distance.shape), near, axis=3).mean(axis=3)
        return np.clip(values, 0.02, 0.98) if setting.classify else values
    if setting.classify:
        one = w * y[:, None, :]
        zero = w * (1 - y[:, None, :])
        counts = one.sum(axis=2), zero.sum(axis=2)
        means = [np.einsum("tkn,tknd->tkd", part, X) / size[..., None] for part, size in zip((one, zero), counts)]
        centred = X - np.where(y[:, None, :, None] == 1, means[0][:, :, None], means[1][:, :, None])
        scatter = np.einsum("tkn,tknd,tkne->tkde", w, centred, centred) / (w.sum(axis=2) - 2)[..., None, None]
        direction = np.linalg.solve(scatter, (means[0] - means[1])[..., None])[..., 0]
        middle = (direction * (means[0] + means[1])).sum(axis=2) / 2
        score = np.einsum("tknd,tkd->tkn", X, direction) - middle[..., None] + np.log(counts[0] / counts[1])[..., None]
        return 1 / (1 + np.exp(-np.clip(score, -30, 30)))
    full = np.concatenate([X, np.ones((*X.shape[:3], 1))], axis=3)
    gram = np.einsum("tkn,tknd,tkne->tkde", w, full, full)
    moments = np.einsum("tkn,tknd,tn->tkd", w, full, y)
    return np.einsum("tknd,tkd->tkn", full, np.linalg.solve(gram, moments[..., None])[..., 0])


def _by_catalogue(
    setting: Setting, X: np.ndarray, y: np.ndarray, folds: np.ndarray, n_folds: int, out: np.ndarray
) -> np.ndarray:
    loaded = catalogue.get(setting.family).load()
    parameters = {"ccp_alpha": "cv"} if setting.family.startswith("cart") else {}
    for t in range(X.shape[0]):
        rows = [np.flatnonzero(folds[t, r] == f) for r in range(folds.shape[1]) for f in range(n_folds)]
        pairs = [(np.setdiff1d(np.arange(X.shape[2]), test), test) for test in rows]
        for k in range(X.shape[1]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for i, model in enumerate(loaded(**parameters).fit_folds(X[t, k], y[t], pairs)):
                    out[t, k, i // n_folds, rows[i]] = model.predict_proba(X[t, k][rows[i]])[:, 1]
    return out


def zero_r(setting: Setting, y: np.ndarray, folds: np.ndarray, n_folds: int) -> np.ndarray:
    """What ZeroR says: the share of class 1 among the training rows, or their mean."""
    out = np.empty((y.shape[0], 1, folds.shape[1], y.shape[1]))
    for r in range(folds.shape[1]):
        for fold in range(n_folds):
            test = folds[:, r] == fold
            share = (y * ~test).sum(axis=1) / (~test).sum(axis=1)
            out[:, 0, r] = np.where(test, share[:, None], out[:, 0, r])
    return out


def evidence(classify: bool, y: np.ndarray, predicted: np.ndarray) -> Evidence:
    """Predictions as a metric takes them."""
    if not classify:
        return Evidence(y, values=predicted)
    shares = np.column_stack([1 - predicted, predicted])
    return Evidence(y, labels=(predicted > 0.5).astype(np.int64), probabilities=shares, classes=np.arange(2))


@dataclass
class Outcome:
    """What came of one setting, in shares of its tables."""

    any_worse: float
    covered: float
    covered_zero_r: float
    warned: float
    tables: int


def simulate(setting: Setting, share: float = 1.0, seed: int = 0) -> Outcome:
    """Run a setting."""
    rng = np.random.default_rng([seed, setting.rows, setting.learners, len(setting.metric)])
    design, metric = make_design(setting.design), get_metric(setting.metric)
    tables = max(10, int(setting.tables * share))
    worse, warned = [], []
    found: list[list[tuple[float, float, float]]] = []
    for begin in range(0, tables, 50):
        X, y = draw(setting, min(50, tables - begin), rng)
        folds = assignments(setting, y, design, rng)
        n_folds = int(design.folds or 1)
        said = np.concatenate([predict(setting, X, y, folds, n_folds), zero_r(setting, y, folds, n_folds)], axis=1)
        for t in range(X.shape[0]):
            scores, rows = _scored(setting, metric, y[t], said[t], folds[t], n_folds)
            if not all(np.isfinite(one).all() for one in scores.values()):
                continue
            smaller = int(min(y[t].sum(), (1 - y[t]).sum())) if setting.classify else None
            judged = _judge(setting, metric, design, scores, rows, smaller)
            worse.append(judged[0])
            found.append(judged[1])
            warned.append(judged[2])
    ends = np.array(found)
    truth = ends[:, :, 0].mean(axis=0)
    hit = ((ends[:, :, 1] <= truth) & (truth <= ends[:, :, 2])).mean(axis=0)
    return Outcome(float(np.mean(worse)), float(hit[:-1].mean()), float(hit[-1]), float(np.mean(warned)), len(worse))


def _scored(
    setting: Setting, metric: Any, y: np.ndarray, said: np.ndarray, folds: np.ndarray, n_folds: int
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    scores, rows = {}, {}
    for k, predicted in enumerate(said):
        name = "zero-r" if k == said.shape[0] - 1 else f"l{k}"
        scores[name] = np.array(
            [
                [
                    metric.of(evidence(setting.classify, y[folds[r] == f], predicted[r][folds[r] == f]))
                    for f in range(n_folds)
                ]
                for r in range(folds.shape[0])
            ]
        )
        values = [row_values(metric, evidence(setting.classify, y, one)) for one in predicted]
        rows[name] = None if any(value is None for value in values) else np.mean(values, axis=0)
    return scores, rows


def _judge(
    setting: Setting, metric: Any, design: Any, scores: dict[str, Any], rows: dict[str, Any], smaller: int | None
) -> tuple[bool, list[tuple[float, float, float]], bool]:
    """Whether an equal learner is called worse, mean and interval of each learner, whether the output warns."""
    greater = metric.greater_is_better
    units = setting.units
    procedure = Folds(scores, design, None, None, None, False, metric.name, greater, rows, units, smaller)
    ends = []
    for name in scores:
        row = procedure.summary(name, 0.05)
        ends.append((row["mean"], *row["interval"]))
    equal = [name for name in scores if name != "zero-r"]
    best = next(name for name in procedure.order if name != "zero-r")
    t = [abs(procedure.test(best, name, 0.05, ("", "")).statistic) for name in equal if name != best]
    if max(t) <= t_quantile(0.975, procedure.df):
        return False, ends, bool(procedure.cautions)  # below the critical value of a single pair, so of all
    part = {name: scores[name] for name in equal}
    given: dict[str, Any] = {"rows": rows, "units": units, "smaller": smaller}
    found = compare(part, design, metric=metric.name, greater_is_better=greater, margin=0.0, **given)
    return any(row["verdict"] == "worse" for row in found.summary.values()), ends, bool(found.warnings)


def line(setting: Setting, outcome: Outcome) -> str:
    """One line of the table in docs/design/calibration.md."""
    share = "" if setting.positives is None else f", {100 * setting.positives:g} % positive"
    return (
        f"| {setting.name}{share} | {setting.design} | {setting.learners}, {setting.family} | {setting.metric} "
        f"| {outcome.tables} | {100 * outcome.any_worse:.1f} | {100 * outcome.covered:.1f} "
        f"| {100 * outcome.covered_zero_r:.1f} | {'yes' if outcome.warned > 0.5 else ''} |"
    )


if __name__ == "__main__":
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    first, _, last = (sys.argv[2] if len(sys.argv) > 2 else ":").partition(":")
    for one in SETTINGS[int(first or 0) : int(last or len(SETTINGS))]:
        begin = time.process_time()
        print(line(one, simulate(one, scale)), flush=True)
        print(f"# {time.process_time() - begin:.0f} s", file=sys.stderr, flush=True)
