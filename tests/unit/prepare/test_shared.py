"""Claims about the matrix that folds share: seen through a fold it is what the preparation of that fold gives."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.data import infer_roles
from assay.data.roles import Role
from assay.prepare import Preparation
from assay.prepare.shared import SharedPreparation


def table(seed: int, n: int = 80) -> pl.DataFrame:
    """Numbers with and without missing cells, a constant, rare and missing labels, and labels of two kinds."""
    generator = np.random.default_rng(seed)
    colour = generator.choice(["red", "green", "blue", "(a)"], size=n).tolist()
    holed = generator.normal(1000.0, 3.0, size=n).tolist()
    for i in range(0, n, 7):
        holed[i] = None
    return pl.DataFrame(
        {
            "x": generator.normal(size=n),
            "holed": holed,
            "late": [None if i == n - 1 else float(i % 5) for i in range(n)],
            "same": [0.1] * n,
            "count": generator.integers(0, 50, size=n),
            "colour": [None if i % 9 == 0 else c for i, c in enumerate(colour)],
            "rare": ["only here" if i == n - 2 else "ab"[i % 2] for i in range(n)],
            "two": [["no", "yes"][int(v)] for v in generator.integers(0, 2, size=n)],
        }
    )


FOLDS = [np.arange(0, 60), np.arange(20, 80), np.arange(1, 80, 3), np.arange(79)]


@pytest.mark.parametrize("columns", [["x", "count", "same"], ["x", "holed", "late"], None])
@pytest.mark.parametrize("missing", ["impute", "native"])
@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("drop_first", [False, True])
def test_a_fold_sees_the_shared_matrix_as_its_own_preparation_would_give_it(columns, missing, standardise, drop_first):
    frame = table(0) if columns is None else table(0).select(columns)
    preparation = Preparation(roles=infer_roles(frame), missing=missing, standardise=standardise, drop_first=drop_first)
    shared = SharedPreparation.of(frame, preparation)
    for train in FOLDS:
        through = shared.fold(train)
        rows = preparation.fit(frame[train]).transform(frame)
        assert np.array_equal(through.apply(shared.matrix), rows, equal_nan=True)
        assert np.array_equal(through.apply(shared.matrix, train), rows[train], equal_nan=True)
        assert through.width == rows.shape[1]


def test_beside_labels_that_stay_labels_numbers_are_completed_and_codes_are_handed_on():
    frame = table(1)
    preparation = Preparation(roles=infer_roles(frame), nominal="native")
    shared = SharedPreparation.of(frame, preparation)
    for train in FOLDS:
        through, rows = shared.fold(train), preparation.fit(frame[train]).transform(frame)
        out, labels = through.apply(shared.matrix), list(through.labels)
        numbers = [j for j in range(out.shape[1]) if j not in labels]
        assert np.array_equal(out[:, numbers], rows[:, numbers].to_numpy())
        for place in labels:
            pairs = set(zip(out[:, place].tolist(), rows[:, place].to_list(), strict=True))
            ordered = sorted(pairs)
            assert [label for _, label in ordered] == sorted(label for _, label in pairs)
            assert len(pairs) == len({code for code, _ in pairs})


def test_sums_go_through_without_a_look_at_the_rows():
    frame = table(2)
    shared = SharedPreparation.of(frame, Preparation(roles=infer_roles(frame), standardise=True))
    for train in FOLDS:
        through = shared.fold(train)
        rows = through.apply(shared.matrix, train)
        gram = shared.matrix[train].T @ shared.matrix[train]
        first = shared.matrix[train].sum(axis=0)
        ours = through.combine(through.combine(gram).T)
        sums = through.combine(first[None])[0]
        full = ours + np.outer(sums, through.offset) + np.outer(through.offset, sums)
        full += len(train) * np.outer(through.offset, through.offset)
        np.testing.assert_allclose(full, rows.T @ rows, atol=1e-6)


@pytest.mark.parametrize("standardise", [False, True])
def test_sums_of_squares_go_through_filled_cells_too(standardise):
    frame = table(5)
    shared = SharedPreparation.of(frame, Preparation(roles=infer_roles(frame), standardise=standardise))
    for train in FOLDS:
        through, cells = shared.fold(train), shared.matrix[train]
        rows, weights = through.apply(shared.matrix, train), np.random.default_rng(1).uniform(0.5, 2.0, len(train))
        shift = cells[::7].mean(axis=0, keepdims=True)
        about, ours = cells - shift, rows - through.place(shift)
        found = through.combine_squares(
            weights[None] @ about**2, weights[None] @ about, shift, weights.sum(keepdims=True)
        )
        np.testing.assert_allclose(found[0], weights @ ours**2, rtol=1e-11, atol=1e-11)


def test_what_is_no_affine_map_is_not_shared():
    dates = pl.DataFrame({"day": pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 2, 9), eager=True)})
    assert SharedPreparation.of(dates, Preparation(roles=infer_roles(dates))) is None
    many = pl.DataFrame({"code": [f"c{i % 150}" for i in range(600)]}).with_columns(pl.lit(1.0).alias("x"))
    roles = {**infer_roles(many), "code": Role("nominal", 1.0, "declared")}
    assert SharedPreparation.of(many, Preparation(roles=roles)) is None
    few = Preparation(roles=roles, max_categories=200)
    assert SharedPreparation.of(many, few) is not None


def test_one_matrix_serves_learners_that_scale_and_learners_that_do_not():
    frame = table(3)
    plain = Preparation(roles=infer_roles(frame), drop_first=True)
    scaled = Preparation(roles=infer_roles(frame), standardise=True)
    shared = SharedPreparation.of(frame, plain)
    other = shared.like(scaled)
    assert other.matrix is shared.matrix
    for preparation, view in ((plain, shared), (scaled, other)):
        rows = preparation.fit(frame[FOLDS[0]]).transform(frame)
        assert np.array_equal(view.fold(FOLDS[0]).apply(view.matrix), rows)


def test_a_complete_table_of_numbers_is_its_own_matrix():
    frame = table(4).select("x", "same")
    matrix = frame.to_numpy(order="c")
    shared = SharedPreparation.of(frame, Preparation(roles=infer_roles(frame), standardise=True), matrix)
    assert shared.matrix is matrix


@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_many_folds_at_once_are_prepared_with_the_bits_of_each_by_itself(shift):
    """Complete numbers, one of them constant in some training rows; lists of unequal length, on any threads."""
    rng = np.random.default_rng(4)
    cells = shift + rng.normal(size=(1300, 5))
    cells[:1200, 2] = 0.1
    frame = pl.DataFrame(cells, schema=list("abcde"))
    preparation = Preparation(roles=infer_roles(frame), standardise=True)
    shared = SharedPreparation.of(frame, preparation)
    trains = [np.arange(0, 1300, 2), np.arange(1200), np.arange(17, 1300), np.array([5, 900]), None]
    alone = [shared.fold(train) for train in trains]
    for threads in (1, 2, 8):
        for one, fold in zip(alone, shared.folds(trains, threads), strict=True):
            np.testing.assert_array_equal(fold.mean, one.mean)
            np.testing.assert_array_equal(fold.inverse, one.inverse)
    for train, fold in zip(trains[:-1], alone, strict=False):
        wanted = preparation.fit(frame[train])
        np.testing.assert_array_equal(fold.apply(shared.matrix), wanted.transform(frame))
        np.testing.assert_allclose(fold.mean, cells[train].mean(axis=0), rtol=1e-12, atol=1e-14)
    assert alone[1].inverse[2] == 0.0 and alone[0].inverse[2] > 0.0
