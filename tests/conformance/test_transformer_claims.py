"""Every claim of every transformer of the catalogue: what is claimed works, what is not is refused."""

from __future__ import annotations

import inspect
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from assay import config
from assay.base import AssayError, CostError

from .tables import TRANSFORMERS, named, numeric, quick, with_missing, with_nominal
from .test_claims import FRAMES, _is_plain

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
        with pytest.raises((ValueError, TypeError)):
            quick(entry).fit(FRAMES[frame](columns), y)
        return
    assert quick(entry).fit(FRAMES[frame](columns), y).transform(FRAMES[frame](columns)).shape[0] == len(y)


@every_transformer
def test_missing_values_are_taken_natively_exactly_if_claimed(entry):
    X, y = with_missing(entry)
    if "missing" not in entry.native:
        with pytest.raises(ValueError, match="NaN|missing"):
            quick(entry).fit(X, y)
        return
    assert quick(entry).fit(X, y).transform(X).shape[0] == len(y)


@every_transformer
def test_sparse_matrices_are_taken_exactly_if_claimed(entry):
    X, y = numeric(entry)
    if "sparse" not in entry.native:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            quick(entry).fit(csr_matrix(X), y)
        return
    out = quick(entry).fit(csr_matrix(X), y).transform(csr_matrix(X))
    np.testing.assert_allclose(out.toarray(), quick(entry).fit(X, y).transform(X))


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


def _grouped_folds(owner: np.ndarray, groups: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    held = groups[owner]
    return [(np.flatnonzero(held != g), np.flatnonzero(held == g)) for g in np.unique(groups)]


@every_transformer
def test_weights_equal_repetition_exactly_if_claimed(entry):
    X, y = numeric(entry)
    takes = "sample_weight" in inspect.signature(entry.load().fit).parameters
    assert takes == entry.weights
    if not takes:
        return
    weights = np.random.default_rng(3).integers(0, 4, size=len(y))
    owner, groups = np.repeat(np.arange(len(y)), weights), np.arange(len(y)) % 4
    has_folds = "cv" in entry.load().__parameters__
    extra = [{"cv": _grouped_folds(rows, groups)} if has_folds else {} for rows in (np.arange(len(y)), owner)]
    weighted = quick(entry, **extra[0]).fit(X, y, sample_weight=weights)
    repeated = quick(entry, **extra[1]).fit(X[owner], y[owner])
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-7, atol=1e-8)


@every_transformer
def test_same_seed_gives_the_same_bits_whatever_the_number_of_threads(entry):
    assert entry.deterministic
    X, y = numeric(entry, n=3000)
    outputs = []
    for jobs in (1, 2, 5):
        with threadpool_limits(limits=jobs, user_api="openmp"):
            extra = {"n_jobs": jobs} if "n_jobs" in entry.load().__parameters__ else {}
            outputs.append(quick(entry, **extra).fit(X, y).transform(X))
    np.testing.assert_array_equal(outputs[0], outputs[1])
    np.testing.assert_array_equal(outputs[0], outputs[2])


@every_transformer
def test_folds_equal_separate_fits(entry):
    X, y = numeric(entry, n=200)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    for (train, test), model in zip(folds, quick(entry).fit_folds(X, y, folds), strict=True):
        separate = quick(entry).fit(X[train], y[train])
        np.testing.assert_allclose(model.transform(X[test]), separate.transform(X[test]), rtol=1e-6, atol=1e-7)


@every_transformer
def test_every_parameter_refuses_its_bad_values_in_one_sentence(entry):
    X, y = numeric(entry)
    cls = entry.load()
    for name, declared in cls.__parameters__.items():
        for bad in declared.kind.bad_values():
            with pytest.raises(AssayError) as caught:
                cls(**{name: bad}).fit(X, y)
            text = str(caught.value)
            assert text.startswith(f"{cls.__name__}: parameter '{name}' must be ") and "\n" not in text


@every_transformer
def test_defaults_are_allowed_values_and_documented(entry):
    cls = entry.load()
    for name, declared in cls.__parameters__.items():
        assert declared.kind.accepts(declared.default), name
        assert f"{name} : " in cls.__doc__ and declared.meaning in cls.__doc__
        json.dumps(declared.kind.schema())
    assert ">>>" in cls.__doc__


@every_transformer
def test_fitted_state_is_plain_arrays_and_small_values(entry):
    X, y = numeric(entry)
    model = quick(entry).fit(X, y)
    for name, value in vars(model).items():
        assert name in model.__parameters__ or name.endswith("_") or name.startswith("_"), name
        if name not in ("feature_names_in_", *model.__parameters__):
            assert _is_plain(value), f"{name} is a {type(value).__name__}"


@every_transformer
def test_trace_has_one_schema_and_is_absent_unless_asked_for(entry):
    X, y = numeric(entry)
    model = quick(entry).fit(X, y)
    assert not hasattr(model, "trace_")
    if "trace" not in model.__parameters__:
        return
    traced = quick(entry, trace=True).fit(X, y)
    assert traced.trace_
    for step, record in enumerate(traced.trace_):
        assert set(record) == {"step", "what", "values"} and record["step"] == step
    json.dumps(traced.trace_)
    np.testing.assert_array_equal(traced.transform(X), model.transform(X))
    assert not hasattr(clone(traced), "trace_")


@every_transformer
def test_cost_grows_with_the_table_and_the_limit_is_obeyed(entry):
    small, large = quick(entry).estimate_cost(1000, 10), quick(entry).estimate_cost(1_000_000, 10)
    assert 0 < small.seconds < large.seconds and 0 < small.bytes < large.bytes
    X, y = numeric(entry)
    with config.use(max_bytes=1.0), pytest.raises(CostError, match="max_bytes") as caught:
        quick(entry).fit(X, y)
    assert "\n" not in str(caught.value)
    with config.use(max_seconds=1e-12), pytest.raises(CostError, match="max_seconds"):
        quick(entry).fit(X, y)


@every_transformer
@pytest.mark.parametrize("case", ["constant target", "one row", "constant column", "huge values", "duplicate rows"])
def test_odd_tables_give_an_answer_or_one_sentence(entry, case):
    X, y = numeric(entry)
    if case == "constant target":
        y = np.full(len(y), y[0])
    elif case == "one row":
        X, y = X[:1], y[:1]
    elif case == "constant column":
        X[:, 1] = 7.0
    elif case == "huge values":
        X *= 1e12
    else:
        X, y = np.repeat(X[:20], 5, axis=0), np.repeat(y[:20], 5)
    refusal = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = quick(entry).fit(X, y).transform(X)
        except ValueError as error:
            refusal = str(error).strip()
    if refusal is None:
        assert np.isfinite(answer).all()
    else:
        assert refusal and "\n" not in refusal
