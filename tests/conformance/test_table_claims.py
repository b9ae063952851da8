"""What every method that is fitted to a table claims, proved in both directions."""

from __future__ import annotations

import inspect
import json
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from assay import config
from assay.base import AssayError, CostError
from assay.catalogue import TASKS

from .tables import FRAMES, claiming, is_plain, named, numeric, outputs, quick, with_missing, with_nominal

every_method = pytest.mark.parametrize(**named(claiming("table")))


@every_method
def test_every_parameter_refuses_its_bad_values_in_one_sentence(entry):
    X, y = numeric(entry)
    cls = entry.load()
    for name, declared in cls.__parameters__.items():
        for bad in declared.kind.bad_values():
            with pytest.raises(AssayError) as caught:
                cls(**{name: bad}).fit(X, y)
            text = str(caught.value)
            assert text.startswith(f"{cls.__name__}: parameter '{name}' must be ") and "\n" not in text


@every_method
def test_defaults_are_allowed_values_and_documented(entry):
    cls = entry.load()
    for name, declared in cls.__parameters__.items():
        assert declared.kind.accepts(declared.default), name
        assert f"{name} : " in cls.__doc__ and declared.meaning in cls.__doc__
        json.dumps(declared.kind.schema())
    assert ">>>" in cls.__doc__


@every_method
def test_fitted_state_is_plain_arrays_and_small_values(entry):
    X, y = numeric(entry)
    model = quick(entry).fit(X, y)
    for name, value in vars(model).items():
        assert name in model.__parameters__ or name.endswith("_") or name.startswith("_"), name
        if name not in ("feature_names_in_", *model.__parameters__):
            assert is_plain(value), f"{name} is a {type(value).__name__}"


@every_method
def test_what_a_method_chooses_by_itself_is_named_and_plain(entry):
    X, y = numeric(entry)
    assert all(isinstance(value, (int, float, str)) for value in quick(entry).fit(X, y).chosen().values())
    chosen = quick(entry, **dict(entry.preset)).fit(X, y).chosen()
    assert chosen or not entry.preset
    assert json.loads(json.dumps(chosen, allow_nan=False)) == chosen


@every_method
def test_trace_has_one_schema_and_is_absent_unless_asked_for(entry):
    X, y = numeric(entry)
    model = quick(entry).fit(X, y)
    assert not hasattr(model, "trace_")
    if "trace" not in model.__parameters__:
        return
    model = quick(entry, trace=True).fit(X, y)
    assert model.trace_
    for step, record in enumerate(model.trace_):
        assert set(record) == {"step", "what", "values"} and record["step"] == step
    json.dumps(model.trace_)
    np.testing.assert_array_equal(outputs(model, X), outputs(quick(entry).fit(X, y), X))
    assert not hasattr(clone(model), "trace_")


@every_method
def test_cost_grows_with_the_table_and_the_limit_is_obeyed(entry):
    small, large = quick(entry).estimate_cost(1000, 10), quick(entry).estimate_cost(1_000_000, 10)
    assert 0 < small.seconds < large.seconds and 0 < small.bytes < large.bytes
    X, y = numeric(entry)
    with config.use(max_bytes=1.0), pytest.raises(CostError, match="max_bytes") as caught:
        quick(entry).fit(X, y)
    assert "\n" not in str(caught.value)
    with config.use(max_seconds=1e-12), pytest.raises(CostError, match="max_seconds"):
        quick(entry).fit(X, y)


@every_method
def test_same_seed_gives_the_same_bits_whatever_the_number_of_threads(entry):
    assert entry.deterministic
    X, y = numeric(entry, n=3000 if quick(entry).estimate_cost(3000, 4).seconds < 1 else 1000)
    parameters = entry.load().__parameters__
    given = []
    for jobs in (1, 2, 5):
        with threadpool_limits(limits=jobs, user_api="openmp"):
            model = quick(entry, **({"n_jobs": jobs} if "n_jobs" in parameters else {})).fit(X, y)
            given.append(outputs(model, X[:500]))
    np.testing.assert_array_equal(given[0], given[1])
    np.testing.assert_array_equal(given[0], given[2])


@every_method
def test_sparse_matrices_are_taken_exactly_if_claimed(entry):
    X, y = numeric(entry)
    if "sparse" not in entry.native:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            quick(entry).fit(csr_matrix(X), y)
        return
    np.testing.assert_allclose(
        outputs(quick(entry).fit(csr_matrix(X), y), csr_matrix(X)), outputs(quick(entry).fit(X, y), X)
    )


@every_method
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refusal = None
        try:
            answer = outputs(quick(entry).fit(X, y), X)
        except ValueError as error:
            refusal = str(error).strip()
    if refusal is None:
        assert np.isfinite(answer).all()
    else:
        assert refusal and "\n" not in refusal


def _grouped_folds(owner: np.ndarray, groups: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    held = groups[owner]
    return [(np.flatnonzero(held != g), np.flatnonzero(held == g)) for g in np.unique(groups)]


@every_method
def test_weights_equal_repetition_exactly_if_claimed(entry):
    X, y = numeric(entry)
    takes = "sample_weight" in inspect.signature(entry.load().fit).parameters
    assert takes == entry.weights
    if not takes:
        return
    if TASKS[entry.task].estimator_type == "clusterer":
        pytest.skip("starts may differ; `test_cluster_claims` has clusters that all starts find")
    weights = np.random.default_rng(3).integers(0, 4, size=len(y))
    owner, groups = np.repeat(np.arange(len(y)), weights), np.arange(len(y)) % 4
    has_folds = "cv" in entry.load().__parameters__
    extra = [{"cv": _grouped_folds(rows, groups)} if has_folds else {} for rows in (np.arange(len(y)), owner)]
    weighted = quick(entry, **extra[0]).fit(X, y, sample_weight=weights)
    repeated = quick(entry, **extra[1]).fit(X[owner], y[owner])
    np.testing.assert_allclose(outputs(weighted, X), outputs(repeated, X), rtol=1e-7, atol=1e-8)


OTHERS = [entry for entry in claiming("table") if not {"learner", "transformer"} & set(TASKS[entry.task].claims)]
every_other_method = pytest.mark.parametrize(**named(OTHERS))


@every_other_method
def test_class_has_the_calls_of_its_task(entry):
    model = entry.load()()
    task = TASKS[entry.task]
    assert getattr(get_tags(model), "estimator_type", None) == task.estimator_type
    assert all(callable(getattr(model, name, None)) for name in task.calls if name != "sample"), task.calls


@every_other_method
@pytest.mark.parametrize("frame", FRAMES)
def test_nominal_columns_are_taken_natively_exactly_if_claimed(entry, frame):
    columns, y = with_nominal(entry)
    X = FRAMES[frame](columns)
    if "nominal" not in entry.native:
        with pytest.raises(AssayError, match="column 'colour' holds labels such as .* where numbers are needed"):
            quick(entry).fit(X, y)
        return
    assert outputs(quick(entry).fit(X, y), X).shape[0] == len(y)


@every_other_method
def test_missing_values_are_taken_natively_exactly_if_claimed(entry):
    X, y = with_missing(entry)
    if "missing" not in entry.native:
        with pytest.raises(AssayError, match=r"^\w+: column .* missing cell.*[.]$"):
            quick(entry).fit(X, y)
        return
    assert np.isfinite(outputs(quick(entry).fit(X, y), X)).all()


@every_other_method
def test_pandas_and_polars_frames_give_the_same_model(entry):
    X, y = numeric(entry)
    names = ["a", "b", "c", "d"]
    given = [make(dict(zip(names, X.T))) for make in FRAMES.values()]
    fitted = [quick(entry).fit(frame, y) for frame in given]
    assert all(list(model.feature_names_in_) == names for model in fitted)
    np.testing.assert_array_equal(*(outputs(model, frame) for model, frame in zip(fitted, given)))
