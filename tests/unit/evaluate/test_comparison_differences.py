"""Intervals of differences on the same rows: agreement cancels, equal learners stay equal, nothing leaves the range."""

import numpy as np
import pytest

from assay.evaluate import compare, corrected_resampled_t
from assay.evaluate.metrics import Evidence, get_metric
from assay.evaluate.row_values import row_values

FOLDS = 10


def scored(metric: str, counts: tuple[int, ...], learners: int, seed: int, gap: float = 1.2):
    """Scores by fold and rows' values of learners that are exchangeable: the nearest class mean, each with columns of
    its own of one distribution, in stratified folds."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    fold = np.concatenate([rng.permutation(np.arange(count) % FOLDS) for count in counts])
    classes, measure = np.arange(len(counts)), get_metric(metric)
    centres = gap * rng.normal(size=(len(counts), 3)) if len(counts) > 2 else gap * np.array([[0.0] * 3, [1.0] * 3])
    scores, rows = {}, {}
    for j in range(learners):
        x = centres[y] + rng.normal(size=(y.size, 3))
        shares = np.empty((y.size, len(counts)))
        for k in range(FOLDS):
            kept, held = fold != k, fold == k
            means = np.stack([x[kept & (y == c)].mean(axis=0) for c in classes])
            near = np.exp(-((x[held][:, None] - means) ** 2).sum(axis=2) / 2) + 1e-12
            shares[held] = near / near.sum(axis=1, keepdims=True)
        evidence = [
            Evidence(y[held], labels=shares[held].argmax(axis=1), probabilities=shares[held], classes=classes)
            for held in [fold == k for k in range(FOLDS)] + [np.ones(y.size, dtype=bool)]
        ]
        scores[f"learner {j}"] = np.array([[measure.of(one) for one in evidence[:-1]]])
        rows[f"learner {j}"] = row_values(measure, evidence[-1])
    return scores, rows, y.size


def compared(metric: str, scores: dict, rows: dict, n: int, smaller: int, **options):
    return compare(
        scores, "10-fold", metric=metric, rows=rows, smaller=smaller, n_train=0.9 * n, n_test=0.1 * n, **options
    )


CASES = [("balanced_accuracy", (20,) * 30), ("balanced_accuracy", (270, 30)), ("roc_auc", (280, 20))]


@pytest.mark.parametrize(("metric", "counts"), [*CASES, ("accuracy", (60, 40))])
def test_learners_that_agree_in_everything_differ_by_exactly_0(metric, counts):
    scores, rows, n = scored(metric, counts, 2, 0)
    scores["copy"], rows["copy"] = scores["learner 0"], rows["learner 0"]
    pairs = {frozenset((p["a"], p["b"])): p for p in compared(metric, scores, rows, n, min(counts), pairs="all").pairs}
    copy = pairs[frozenset(("learner 0", "copy"))]
    assert (copy["interval"], copy["simultaneous_interval"], copy["p_adjusted"]) == ((0.0, 0.0), (0.0, 0.0), 1.0)
    other = pairs[frozenset(("learner 0", "learner 1"))]["simultaneous_interval"]
    assert other[1] - other[0] > 0


@pytest.mark.parametrize(("metric", "counts"), CASES)
def test_the_interval_of_two_is_about_that_of_the_corrected_resampled_t_test(metric, counts):
    ratios = []
    for seed in range(20):
        scores, rows, n = scored(metric, counts, 2, seed)
        low, high = compared(metric, scores, rows, n, min(counts)).pairs[0]["simultaneous_interval"]
        plain = corrected_resampled_t(*scores.values(), n_train=0.9 * n, n_test=0.1 * n).interval
        ratios.append((high - low) / (plain[1] - plain[0]))
    assert min(ratios) > 1 - 1e-9 and np.median(ratios) < 1.6


@pytest.mark.parametrize(("metric", "counts"), CASES)
def test_equal_learners_are_rarely_told_apart(metric, counts):
    tables, wrong = 100, 0
    for seed in range(tables):
        scores, rows, n = scored(metric, counts, 3, 1000 + seed)
        wrong += any(pair["reject"] for pair in compared(metric, scores, rows, n, min(counts), pairs="all").pairs)
    assert wrong / tables <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / tables)


def test_one_interval_and_one_p_for_a_pair():
    for seed in range(10):
        scores, rows, n = scored("accuracy", (60, 40), 4, seed, gap=0.6 + 0.1 * seed)
        scores["learner 0"] = np.clip(scores["learner 0"] - 0.1, 0, 1)
        found = compared("accuracy", scores, rows, n, 40, pairs="all")
        for pair in found.pairs:
            low, high = pair["simultaneous_interval"]
            assert (low > 0 or high < 0) == pair["reject"] == (pair["p_adjusted"] < 0.05)
            low, high = pair["interval"]
            assert (low > 0 or high < 0) == (pair["p_value"] < 0.05)
            assert "95 % simultaneous interval of the difference" in pair["sentence"]


def test_no_difference_of_shares_is_larger_than_1():
    rng = np.random.default_rng(0)
    scores = {name: rng.integers(0, 2, (1, 3)).astype(float) for name in "abc"} | {"d": np.array([[0.0, 1.0, 1.0]])}
    found = compare(scores, "3-fold", pairs="all")
    ends = [end for pair in found.pairs for key in ("interval", "simultaneous_interval") for end in pair[key]]
    assert max(map(abs, ends)) == 1.0
    assert found.smallest_detectable_difference is None
    assert "No difference could have been seen with so few rows." in found.sentence
    wide = compare({name: 10 * values for name, values in scores.items()}, "3-fold", metric="rmse")
    assert max(map(abs, wide.pairs[0]["interval"])) > 1 and wide.smallest_detectable_difference > 1
