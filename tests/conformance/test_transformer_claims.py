"""Every claim of every transformer of the catalogue: what is claimed works, what is not is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import KFold

from assay.base import AssayError

from .tables import FRAMES, TRANSFORMERS, named, numeric, quick, with_missing, with_nominal

every_transformer = pytest.mark.parametrize(**named(TRANSFORMERS))


@every_transformer
def test_class_loads_and_transforms(entry):
    X, y = numeric(entry)
    model = quick(entry).fit(X, y)
    out = model.transform(X)
    assert out.shape[0] == X.shape[0] and np.isfinite(out).all()
    assert out.shape[1] == len(model.get_feature_names_out())
    assert not entry.probabilities and not hasattr(model, "predict")


@every_transformer
@pytest.mark.parametrize("frame", FRAMES)
def test_nominal_columns_are_taken_natively_exactly_if_claimed(entry, frame):
    columns, y = with_nominal(entry)
    if "nominal" not in entry.native:
        with pytest.raises(AssayError, match="column 'colour' holds labels such as .* where numbers are needed"):
            quick(entry).fit(FRAMES[frame](columns), y)
        return
    assert quick(entry).fit(FRAMES[frame](columns), y).transform(FRAMES[frame](columns)).shape[0] == len(y)


@every_transformer
def test_missing_values_are_taken_natively_exactly_if_claimed(entry):
    X, y = with_missing(entry)
    if "missing" not in entry.native:
        with pytest.raises(AssayError, match=r"^\w+: column .* missing cell.*[.]$"):
            quick(entry).fit(X, y)
        return
    assert quick(entry).fit(X, y).transform(X).shape[0] == len(y)


@every_transformer
def test_pandas_and_polars_frames_give_the_same_columns(entry):
    X, y = numeric(entry)
    names = ["a", "b", "c", "d"]
    outputs = []
    for make in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = quick(entry).fit(make, y)
        assert list(model.feature_names_in_) == names
        outputs.append((list(model.get_feature_names_out()), np.asarray(model.transform(make))))
    assert outputs[0][0] == outputs[1][0]
    np.testing.assert_array_equal(outputs[0][1], outputs[1][1])


@every_transformer
def test_folds_equal_separate_fits(entry):
    X, y = numeric(entry, n=200)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    for (train, test), model in zip(folds, quick(entry).fit_folds(X, y, folds), strict=True):
        separate = quick(entry).fit(X[train], y[train])
        np.testing.assert_allclose(model.transform(X[test]), separate.transform(X[test]), rtol=1e-6, atol=1e-7)
