"""Random subspaces: every member has its own columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.base.errors import ParameterError
from assay.models.ensembles import RandomSubspaceClassifier, RandomSubspaceRegressor
from assay.models.trees import CartClassifier

from .test_newton_boosting import labels, numbers


def test_members_use_the_columns_they_drew_and_no_others():
    X, y = labels(n=200, classes=3)
    model = RandomSubspaceClassifier(max_features=2, n_estimators=6, random_state=1).fit(X, y)
    assert model.columns_.shape == (6, 2) and len({tuple(c) for c in model.columns_}) > 1
    given = np.mean([CartClassifier().fit(X[:, c], y).predict_proba(X[:, c]) for c in model.columns_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), given, rtol=1e-12)


def test_frames_keep_their_names_and_importances_add_up_over_columns():
    X, y = numbers(200)
    frame = pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])])
    model = RandomSubspaceRegressor(random_state=0).fit(frame, y)
    names = [list(member.feature_names_in_) for member in model.estimators_]
    assert names == [[f"c{j}" for j in columns] for columns in model.columns_]
    view = model.view()
    assert abs(sum(view.values) - 1) < 1e-12 and view.names == frame.columns
    np.testing.assert_array_equal(model.predict(frame.to_arrow()), model.predict(frame))


def test_random_patches_draw_rows_too():
    X, y = labels(n=200, classes=2)
    model = RandomSubspaceClassifier(bootstrap=True, oob_score=True, n_estimators=30, random_state=0).fit(X, y)
    assert 0.5 < model.oob_score_ <= 1.0
    twice = RandomSubspaceClassifier(bootstrap_features=True, max_features=1.0, random_state=0).fit(X, y)
    assert any(len(set(c)) < len(c) for c in twice.columns_.tolist())


def test_a_list_in_the_place_of_a_nominal_column_is_refused():
    X, y = numbers(50)
    with pytest.raises(ParameterError, match="'categorical_features' must name columns of X"):
        RandomSubspaceRegressor(categorical_features=[[1]]).fit(X, y)
