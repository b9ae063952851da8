"""Claims about the predictions of many folds at once: those of their models, whatever other folds are asked for."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.base.folds import FoldTransform, FoldTransforms, fit_folds, predict_folds
from assay.data import infer_roles
from assay.models.bayes import LDA, QDA, NaiveBayes, NearestMean
from assay.prepare import Preparation
from assay.prepare.shared import SharedPreparation

LEARNERS = {
    "naive-bayes": NaiveBayes(),
    "naive-bayes-priors": NaiveBayes(fit_prior=False, var_smoothing=1e-3),
    "lda": LDA(),
    "lda-biased": LDA(unbiased=False, priors="equal"),
    "lda-diagonal": LDA(covariance="diagonal"),
    "lda-spherical": LDA(covariance="spherical"),
    "lda-shrunk": LDA(shrinkage=0.3),
    "qda": QDA(),
    "qda-biased": QDA(unbiased=False),
    "qda-diagonal": QDA(covariance="diagonal"),
    "nearest-mean": NearestMean(),
    "nearest-mean-diagonal": NearestMean(covariance="diagonal"),
}
learners = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS.keys())


def _table(n_classes: int, columns: int, n: int = 330):
    rng = np.random.default_rng(n_classes + columns)
    y = rng.integers(n_classes, size=n)
    return rng.normal(size=(n, columns)) + 0.7 * rng.normal(size=(n_classes, columns))[y], y


def _repeated(n: int, seed: int = 0, folds: int = 5, repeats: int = 3):
    """Folds of unequal size: n is no multiple of them."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(repeats):
        numbers = rng.permutation(n) % folds
        found += [(np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in range(folds)]
    return found


def assert_folds_agree(learner, X, y, folds, transforms=None):
    """The answers are those of the models; a fold alone, and any number of threads, give the same bits."""
    said = list(predict_folds(learner, X, y, folds, transforms))
    models = list(fit_folds(learner, X, y, folds, transforms=transforms))
    for k, ((train, test), model, answer) in enumerate(zip(folds, models, said, strict=True)):
        missing = np.setdiff1d(y, y[train]).size > 0
        assert (answer is None) <= (missing or isinstance(learner, NaiveBayes))
        if answer is None:
            continue
        rows = X[test] if transforms is None else transforms.folds[k].apply(X, test)
        np.testing.assert_allclose(answer, model.predict_proba(rows), rtol=1e-9, atol=1e-12)
        one = None if transforms is None else transforms.only(k)
        np.testing.assert_array_equal(answer, next(iter(predict_folds(learner, X, y, [(train, test)], one))))
    for threads in (1, 3):
        again = predict_folds(type(learner)(**{**learner.get_params(), "n_jobs": threads}), X, y, folds, transforms)
        for answer, other in zip(said, again, strict=True):
            assert (answer is None) == (other is None)
            np.testing.assert_array_equal(answer, other)
    return said


@learners
@pytest.mark.parametrize(("n_classes", "columns"), [(2, 4), (3, 1), (9, 6)])
def test_many_folds_say_what_their_models_say(learner, n_classes, columns):
    X, y = _table(n_classes, columns)
    said = assert_folds_agree(learner, X, y, _repeated(len(y)))
    assert all(answer is not None for answer in said)


@learners
def test_a_fold_whose_training_rows_lack_a_class_is_left_to_its_model(learner):
    X, y = _table(3, 4)
    gone = y == 2
    folds = [*_repeated(len(y), repeats=1), (np.flatnonzero(~gone), np.flatnonzero(gone))]
    one = (np.flatnonzero(gone), np.flatnonzero(~gone))  # trained on one class alone
    said = list(predict_folds(learner, X, y, [*folds, one]))
    assert said[-1] is None and said[-2] is None and all(answer is not None for answer in said[:-2])
    assert_folds_agree(learner, X, y, folds)


@learners
def test_folds_with_a_constant_or_a_doubled_column_or_a_class_of_one_row_agree_with_their_models(learner):
    X, y = _table(3, 4, 200)
    folds = _repeated(len(y), repeats=1)
    constant = X.copy()
    constant[folds[1][0], 2] = 0.25  # constant in the training rows of the second fold, not in its test rows
    said = assert_folds_agree(learner, constant, y, folds)
    assert sum(answer is not None for answer in said) >= len(folds) - 1
    if not isinstance(learner, QDA):
        assert_folds_agree(learner, np.column_stack([X, X[:, 0]]), y, folds)
    rare = y.copy()
    rare[rare == 2] = 1
    rare[[0, 1]] = 2
    assert_folds_agree(learner, X, rare, folds)


@learners
def test_folds_that_are_no_partition_agree_with_their_models(learner):
    """Blocks of time, doubled training rows, and test rows in any order."""
    X, y = _table(3, 4, 240)
    rows = np.arange(240)
    folds = [(rows[:120], rows[120:160]), (rows[:160], rows[160:]), (np.repeat(rows[:100], 2), rows[100:])]
    folds.append((rows[::2], rows[1::2][::-1]))
    said = assert_folds_agree(learner, X, y, folds)
    # Naive Bayes takes the sums of the test rows from those of all rows; where these are not the rest, it fits a model.
    rest = [np.array_equal(np.sort(np.concatenate(fold)), rows) for fold in folds]
    answered = rest if isinstance(learner, NaiveBayes) else [True] * len(folds)
    assert [answer is not None for answer in said] == answered and sum(rest) == 2


@pytest.mark.parametrize("learner", [LDA(), QDA(), NearestMean(), NearestMean(covariance="diagonal")])
def test_folds_seen_through_their_own_scaling_agree_with_their_models(learner):
    X, y = _table(3, 4)
    X = 1e4 + X * np.array([1.0, 100.0, 0.01, 1.0])
    folds = _repeated(len(y))

    def scaling(rows):
        return FoldTransform(np.arange(4), np.empty(0, dtype=np.int64), rows.mean(axis=0), 1.0 / rows.std(axis=0))

    transforms = FoldTransforms(tuple(scaling(X[train]) for train, _ in folds), scaling(X))
    said = assert_folds_agree(learner, X, y, folds, transforms)
    assert all(answer is not None for answer in said)


@pytest.mark.parametrize("learner", [LDA(), QDA(), NearestMean(), NearestMean(covariance="diagonal")])
@pytest.mark.parametrize("odd", ["class", "column"])
def test_folds_seen_through_their_own_scaling_that_need_a_closer_look_agree_with_their_models(learner, odd):
    X, y = _table(3, 4, 90)
    if odd == "class":
        y[:2] = 3  # of one training row in some folds, of none in others
    else:
        X[:, 2], X[7, 2] = 0.0, 1.0  # constant in the training rows of the folds that test row 7
    folds = _repeated(90, 2, 4)

    def scaling(rows):
        spread = rows.std(axis=0)
        inverse = 1.0 / np.where(spread > 0, spread, 1.0)
        return FoldTransform(np.arange(4), np.empty(0, dtype=np.int64), rows.mean(axis=0), inverse)

    transforms = FoldTransforms(tuple(scaling(X[train]) for train, _ in folds), scaling(X))
    said = assert_folds_agree(learner, X, y, folds, transforms)
    whole = [np.unique(y[train]).size == np.unique(y).size for train, _ in folds]
    assert [answer is not None for answer in said] == whole


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("learner", [learner for name, learner in LEARNERS.items() if "bayes" not in name])
def test_folds_that_fill_missing_cells_share_their_sums(learner, weighted, standardise, monkeypatch):
    X, y = _table(3, 3)
    X = 1e3 + X * np.array([1.0, 50.0, 0.1])
    rng = np.random.default_rng(0)
    columns = {f"x{j}": [None if gone else v for v, gone in zip(X[:, j], rng.random(330) < 0.2 * j)] for j in range(3)}
    frame = pl.DataFrame({**columns, "place": ["nws"[k] for k in rng.integers(0, 3, 330)]})
    weights = rng.uniform(0.5, 2.0, 330) if weighted else None
    preparation = Preparation(roles=infer_roles(frame), drop_first=True, standardise=standardise)
    shared, folds = SharedPreparation.of(frame, preparation), _repeated(330, repeats=1)
    transforms = FoldTransforms(tuple(shared.fold(train) for train, _ in folds), shared.fold(None))
    assert all(fold.fills for fold in transforms.folds)
    with monkeypatch.context() as patch:
        patch.setattr(type(learner), "fit", lambda *given, **named: pytest.fail("a fold was fitted by itself"))
        models = list(fit_folds(learner, shared.matrix, y, folds, sample_weight=weights, transforms=transforms))
    for (train, test), through, model in zip(folds, transforms.folds, models, strict=True):
        alone = type(learner)(**learner.get_params())
        alone.fit(through.apply(shared.matrix, train), y[train], None if weights is None else weights[train])
        rows = through.apply(shared.matrix, test)
        np.testing.assert_allclose(model.means_, alone.means_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.predict_proba(rows), alone.predict_proba(rows), rtol=1e-8, atol=1e-10)
    if not weighted:
        for answer, through, (_, test), model in zip(
            predict_folds(learner, shared.matrix, y, folds, transforms), transforms.folds, folds, models, strict=True
        ):
            wanted = model.predict_proba(through.apply(shared.matrix, test))
            np.testing.assert_allclose(answer, wanted, rtol=1e-9, atol=1e-12)
