"""Every learner on folds whose preparation is fitted on their training rows: shared work equals separate fits."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import KFold, RepeatedKFold

from assay.base.folds import FoldTransforms, answers_are_fits, fit_folds, predict_folds
from assay.data import infer_roles
from assay.prepare import Preparation, auto_prepare
from assay.prepare.shared import SharedPreparation

from .tables import LEARNERS, named, numeric, predictions, quick

every_learner = pytest.mark.parametrize(**named(LEARNERS))


def _frame(entry, kind):
    """Columns of very different scale: complete numbers, or numbers and labels with missing cells and rare labels."""
    X, y = numeric(entry, n=300)
    X = X * np.array([1000.0, 1.0, 0.01, 5.0]) + np.array([1e4, 0.0, 3.0, -2.0])
    columns = {f"x{j}": X[:, j].tolist() for j in range(4)}
    if kind == "mixed":
        rng = np.random.default_rng(3)
        for j in (1, 3):
            for row in rng.choice(300, size=30, replace=False):
                columns[f"x{j}"][row] = None
        signal = y if y.dtype.kind == "U" else np.where(y > np.median(y), "high", "low")
        columns["colour"] = [None if i % 17 == 0 else str(v) for i, v in enumerate(signal)]
        columns["place"] = ["seldom" if i == 299 else "nwse"[k] for i, k in enumerate(rng.integers(0, 4, size=300))]
    return pl.DataFrame(columns), y


def _preparation(entry, frame, kind):
    """What the learner needs; a complete table of numbers is standardised for every learner."""
    needed = auto_prepare(infer_roles(frame), entry)
    return needed.set_params(standardise=True) if kind == "numbers" else needed


@every_learner
@pytest.mark.parametrize("kind", ["numbers", "mixed"])
def test_folds_through_their_own_preparation_equal_separate_fits(entry, kind):
    frame, y = _frame(entry, kind)
    preparation = _preparation(entry, frame, kind)
    shared = SharedPreparation.of(frame, preparation)
    if shared is None:
        assert {"nominal", "missing"} <= set(entry.native), "only who takes the table as it is needs no preparation"
        return
    folds = list(KFold(4, shuffle=True, random_state=0).split(np.zeros(len(y))))
    transforms = FoldTransforms(tuple(shared.fold(train) for train, _ in folds), shared.fold(None))
    models = list(fit_folds(quick(entry), shared.matrix, y, folds, transforms=transforms))
    assert len(models) == len(folds)
    for (train, test), through, model in zip(folds, transforms.folds, models, strict=True):
        own = Preparation(**preparation.get_params())
        separate = quick(entry).fit(own.fit_transform(frame[train]), y[train])
        wanted = predictions(separate, own.transform(frame[test]))
        np.testing.assert_allclose(predictions(model, through.apply(shared.matrix, test)), wanted, rtol=1e-6, atol=1e-7)
        assert model.n_features_in_ == through.width


@every_learner
def test_a_prepared_fold_does_not_depend_on_which_other_folds_are_asked_for(entry):
    frame, y = _frame(entry, "numbers")
    shared = SharedPreparation.of(frame, _preparation(entry, frame, "numbers"))
    folds = list(RepeatedKFold(n_splits=2, n_repeats=3, random_state=1).split(np.zeros(len(y))))
    transforms = FoldTransforms(tuple(shared.fold(train) for train, _ in folds), shared.fold(None))
    together = list(fit_folds(quick(entry), shared.matrix, y, folds, transforms=transforms))[3]
    alone = next(iter(fit_folds(quick(entry), shared.matrix, y, [folds[3]], transforms=transforms.only(3))))
    rows = transforms.folds[3].apply(shared.matrix, folds[3][1])
    np.testing.assert_array_equal(predictions(together, rows), predictions(alone, rows))


def _said(entry, repeats, places=None, kind="plain"):
    """What is said of the test rows of repeated folds without models, with what a fit of the same folds needs."""
    cells = "mixed" if kind == "mixed" else "numbers"
    frame, y = _frame(entry, cells)
    matrix, transforms = frame.to_numpy() if kind == "plain" else None, None
    if kind != "plain":
        shared = SharedPreparation.of(frame, _preparation(entry, frame, cells))
        if shared is None:
            return None, (None, y, [], None)  # who takes the table as it is
        matrix = shared.matrix
    folds = list(RepeatedKFold(n_splits=2, n_repeats=repeats, random_state=1).split(np.zeros(len(y))))
    folds = folds if places is None else [folds[k] for k in places]
    if kind != "plain":
        transforms = FoldTransforms(tuple(shared.fold(train) for train, _ in folds), shared.fold(None))
    codes = np.unique(y, return_inverse=True)[1] if y.dtype.kind == "U" else y
    matrix = np.ascontiguousarray(matrix)
    return predict_folds(quick(entry), matrix, codes, folds, transforms), (matrix, codes, folds, transforms)


@pytest.mark.parametrize(**named([entry for entry in LEARNERS if hasattr(entry.load(), "_predict_folds")]))
@pytest.mark.parametrize("kind", ["plain", "prepared", "mixed"])
def test_folds_predicted_without_models_equal_the_predictions_of_their_models(entry, kind):
    said, (matrix, y, folds, transforms) = _said(entry, 3, kind=kind)
    if said is None:
        chooses = entry.id == "rda"  # what its folds chose is told by their models alone
        fits = entry.id == "naive-bayes" or answers_are_fits(quick(entry))
        assert chooses or kind == "mixed" or (kind == "prepared" and fits)
        return
    found = list(said)
    models = list(fit_folds(quick(entry), matrix, y, folds, transforms=transforms))
    assert len(found) == len(models) and not any(one is None for one in found)
    for k, ((_, test), model) in enumerate(zip(folds, models, strict=True)):
        rows = matrix[test] if transforms is None else transforms.folds[k].apply(matrix, test)
        wanted = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)
        np.testing.assert_allclose(found[k], wanted, rtol=1e-9, atol=1e-12)
    some = list(_said(entry, 3, [3, 4], kind)[0] or [None, None])
    for k, alone in zip([3, 4], some, strict=True):
        if alone is not None:
            np.testing.assert_array_equal(alone, found[k])
