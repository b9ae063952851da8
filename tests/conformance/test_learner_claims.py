"""Every claim of every learner of the catalogue: what is claimed works, what is not is refused."""

from __future__ import annotations

import inspect
import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import KFold

from assay.base import AssayError, Estimator
from assay.base.views import view_of
from assay.catalogue import TASKS

from .tables import FRAMES, LEARNERS, named, numeric, predictions, quick, with_missing, with_nominal

every_learner = pytest.mark.parametrize(**named(LEARNERS))


@every_learner
def test_class_loads_and_has_the_task_it_claims(entry):
    model = entry.load()()
    assert is_classifier(model) == TASKS[entry.task].classes
    assert is_regressor(model) == TASKS[entry.task].numbers


@every_learner
def test_learner_beats_guessing_unless_it_says_it_may_not(entry):
    X, y = numeric(entry)
    model = quick(entry).fit(X, y)
    assert model.predict(X).shape == y.shape
    baseline = 1 / 3 if TASKS[entry.task].classes else 0.0
    assert model.score(X, y) >= baseline - 1e-12


@every_learner
@pytest.mark.parametrize("frame", FRAMES)
def test_nominal_columns_are_taken_natively_exactly_if_claimed(entry, frame):
    columns, y = with_nominal(entry)
    X = FRAMES[frame](columns)
    if "nominal" not in entry.native:
        with pytest.raises(AssayError, match="column 'colour' holds labels such as .* where numbers are needed"):
            quick(entry).fit(X, y)
        return
    model = quick(entry).fit(X, y)
    if not entry.id.startswith("zero-r"):
        assert model.score(X, y) > (0.6 if TASKS[entry.task].classes else 0.5)
    unseen = FRAMES[frame]({**columns, "colour": ["never seen"] * len(y)})
    assert np.isfinite(predictions(model, unseen)).all()


@every_learner
def test_pandas_and_polars_frames_give_the_same_model(entry):
    X, y = numeric(entry)
    names = ["a", "b", "c", "d"]
    from_pandas = quick(entry).fit(pd.DataFrame(X, columns=names), y)
    from_polars = quick(entry).fit(pl.DataFrame(X, schema=names), y)
    assert list(from_pandas.feature_names_in_) == list(from_polars.feature_names_in_) == names
    np.testing.assert_array_equal(
        predictions(from_pandas, pd.DataFrame(X, columns=names)),
        predictions(from_polars, pl.DataFrame(X, schema=names)),
    )


@every_learner
def test_missing_values_are_taken_natively_exactly_if_claimed(entry):
    X, y = with_missing(entry)
    if "missing" not in entry.native:
        with pytest.raises(AssayError, match=r"^\w+: column .* missing cell.*[.]$"):
            quick(entry).fit(X, y)
        return
    model = quick(entry).fit(X, y)
    assert np.isfinite(predictions(model, X)).all()
    assert np.isfinite(predictions(model, np.full((3, X.shape[1]), np.nan))).all()
    if "nominal" in entry.native:
        columns, y = with_nominal(entry, missing=True)
        for make in FRAMES.values():
            assert np.isfinite(predictions(quick(entry).fit(make(columns), y), make(columns))).all()


@every_learner
def test_probabilities_are_probabilities_exactly_if_claimed(entry):
    X, y = numeric(entry)
    model = quick(entry).fit(X, y)
    assert hasattr(model, "predict_proba") == entry.probabilities
    if entry.probabilities:
        p = model.predict_proba(np.vstack([X, 1e6 * X]))
        assert (p >= 0).all() and (p <= 1).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)


@every_learner
def test_several_outputs_exactly_if_claimed(entry):
    X, y = numeric(entry)
    both = np.column_stack([y, y])
    if not entry.multi_output:
        with pytest.raises(ValueError):
            quick(entry).fit(X, both)
        return
    one, two = quick(entry).fit(X, y).predict(X), quick(entry).fit(X, both).predict(X)
    if entry.joint_outputs:
        # What both outputs share is learned from both: as good as alone, but not the same.
        alone = np.mean((one - y) ** 2)
        assert two.shape == both.shape and ((two - both) ** 2).mean(axis=0).max() < 1.5 * alone + 0.1 * y.var()
        return
    np.testing.assert_allclose(two, np.column_stack([one, one]), rtol=1e-10, atol=1e-10)


@every_learner
def test_partial_fit_exists_exactly_if_claimed_and_equals_or_approaches_fit(entry):
    cls = entry.load()
    assert hasattr(cls, "partial_fit") == entry.incremental
    if not entry.incremental:
        assert not entry.online
        return
    X, y = numeric(entry)
    model = quick(entry)
    for _ in range(200 if entry.online else 1):
        for part in np.array_split(np.arange(len(y)), 3):
            model.partial_fit(X[part], y[part], **({"classes": np.unique(y)} if TASKS[entry.task].classes else {}))
    if entry.online:
        assert model.score(X, y) > quick(entry).fit(X, y).score(X, y) - 0.1
        return
    np.testing.assert_allclose(predictions(model, X), predictions(quick(entry).fit(X, y), X), rtol=1e-6, atol=1e-8)


def _folds(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(KFold(4, shuffle=True, random_state=0).split(np.zeros(n)))


@every_learner
def test_fold_sharing_equals_separate_fits(entry):
    # The guard around every method leaves what it wraps within reach.
    shares = inspect.unwrap(entry.load().fit_folds) is not Estimator.fit_folds
    assert shares == entry.shares_folds
    X, y = numeric(entry, n=300)
    folds = _folds(len(y))
    weights = np.random.default_rng(5).integers(0, 3, size=len(y)).astype(float) if entry.weights else None
    for given in [None, weights] if entry.weights else [None]:
        models = list(quick(entry).fit_folds(X, y, folds, sample_weight=given))
        assert len(models) == len(folds)
        for (train, test), model in zip(folds, models, strict=True):
            extra = {} if given is None else {"sample_weight": given[train]}
            separate = quick(entry).fit(X[train], y[train], **extra)
            np.testing.assert_allclose(
                predictions(model, X[test]), predictions(separate, X[test]), rtol=1e-6, atol=1e-7
            )


@every_learner
def test_a_fold_does_not_depend_on_which_other_folds_are_asked_for(entry):
    X, y = numeric(entry, n=300)
    folds = _folds(len(y))
    together = list(quick(entry).fit_folds(X, y, folds))[2]
    alone = next(iter(quick(entry).fit_folds(X, y, [folds[2]])))
    np.testing.assert_array_equal(predictions(together, X[folds[2][1]]), predictions(alone, X[folds[2][1]]))


@every_learner
def test_fold_sharing_works_on_mixed_tables(entry):
    if not {"nominal", "missing"} <= set(entry.native):
        pytest.skip("takes numbers only")
    columns, y = with_nominal(entry, missing=True)
    X = pl.DataFrame(columns)
    folds = _folds(len(y))
    for (train, test), model in zip(folds, quick(entry).fit_folds(X, y, folds), strict=True):
        separate = quick(entry).fit(X[train], y[train])
        np.testing.assert_allclose(predictions(model, X[test]), predictions(separate, X[test]), rtol=1e-6, atol=1e-7)


@every_learner
def test_scale_of_a_column_matters_exactly_if_claimed(entry):
    X, y = numeric(entry)
    units = np.array([1000.0, 1.0, 0.01, 5.0])
    # New rows too: a method that gets every training row right says the same of these in any unit.
    asked = np.vstack([X, numeric(entry, seed=9)[0]])
    plain, scaled = quick(entry).fit(X, y), quick(entry).fit(X * units, y)
    same = np.allclose(predictions(plain, asked), predictions(scaled, asked * units), rtol=1e-5, atol=1e-6)
    assert same != entry.scales


@every_learner
def test_view_is_a_record_of_a_known_kind_that_survives_json_and_draws_itself(entry):
    X, y = numeric(entry)
    view = quick(entry).fit(X, y).view()
    if view is None:
        return
    assert view_of(json.loads(json.dumps(view.to_dict()))) == view
    root = ElementTree.fromstring(view.to_svg())
    assert root.tag.endswith("svg") and root.find("{http://www.w3.org/2000/svg}desc").text
    assert view.how_to_read and view.grid().rows
