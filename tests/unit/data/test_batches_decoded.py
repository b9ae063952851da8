"""Files that are decoded at every pass: the model of all rows in memory whatever they hold, and what is refused."""

from __future__ import annotations

import os
import warnings

import numpy as np
import polars as pl
import pytest

from assay.base import batches as base_batches
from assay.base.coded_rows import CodedPart, Coding
from assay.base.errors import AssayError
from assay.data import Batches, batches, batches_decoded
from assay.models.linear import LogisticRegression, logistic_sample

N, P = 6000, 4
NAMES = [f"x{j}" for j in range(P)]


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch):
    """Small files are treated as large ones, in blocks of 512 rows."""
    monkeypatch.setattr(batches, "DECODED_BYTES", 0)
    monkeypatch.setattr(logistic_sample, "STRETCHED_ROWS", 1600)
    monkeypatch.setattr(base_batches, "LEAST_BLOCK", 512)
    monkeypatch.setattr(base_batches, "BLOCK_CELLS", 512)


def table(seed: int = 1, classes: int = 2, rows: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, P)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 100.0, 0.0, -3.0]
    slopes = rng.normal(size=(P, classes)) * 0.7
    odds = (X - X.mean(axis=0)) / X.std(axis=0) @ slopes + rng.gumbel(size=(rows, classes))
    return pl.DataFrame({**{name: X[:, j] for j, name in enumerate(NAMES)}, "y": odds.argmax(axis=1)})


def kept(frame: pl.DataFrame, folder, parts: int = 3) -> str:
    size = -(-frame.height // parts)
    for k in range(parts):
        frame[k * size : (k + 1) * size].write_parquet(folder / f"p{k}.parquet", row_group_size=700)
    return str(folder / "*.parquet")


class Counted(Batches):
    """Batches that remember the table that was decoded."""

    seen = None

    def decoded(self, along):
        self.seen = super().decoded(along)
        return self.seen


def assert_as_in_memory(source, frame, weight=None, **settings):
    """The fit of the files and that of the rows; the first is given back."""
    found = LogisticRegression(**settings).fit_batches(source)
    rows = frame.filter(pl.col("y").is_not_null())
    weights = None if weight is None else rows[weight].to_numpy()
    whole = LogisticRegression(**settings | {"tol": min(1e-8, settings.get("tol", 1.0))}).fit(
        rows.select(NAMES), rows["y"].to_numpy(), weights
    )
    np.testing.assert_array_equal(found.classes_, whole.classes_)
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.intercept_, whole.intercept_, rtol=1e-7, atol=1e-8)
    return found, whole


@pytest.mark.parametrize(
    "settings",
    [{}, {"C": 0.001}, {"penalty": None}, {"fit_intercept": False}, {"n_jobs": 1}, {"C": 1e6, "tol": 1e-12}],
    ids=str,
)
def test_two_passes_give_the_fit_of_all_rows(tmp_path, settings):
    frame = table()
    source = Counted(kept(frame, tmp_path), "y", columns=NAMES)
    found, whole = assert_as_in_memory(source, frame, **settings)
    assert source.seen.first is not None and found.n_iter_ <= 3
    if "penalty" in settings:
        np.testing.assert_allclose(found.coef_se_, whole.coef_se_, rtol=1e-7)
        np.testing.assert_allclose(found.log_likelihood_, whole.log_likelihood_, rtol=1e-12)


@pytest.mark.parametrize("penalty", ["auto", None])
def test_a_sample_that_is_like_the_rest_takes_two_passes(tmp_path, monkeypatch, penalty):
    monkeypatch.setattr(logistic_sample, "STRETCHED_ROWS", 5600)
    source = Counted(kept(table(), tmp_path), "y", columns=NAMES)
    found = LogisticRegression(penalty=penalty).fit_batches(source)
    assert found.n_iter_ == 2
    # Standard errors take the Hessian at the optimum once more.
    assert {part._passes for part in source.seen.parts} == {2 if penalty else 3}


def test_the_bits_are_the_same_for_any_number_of_threads_and_size_of_pieces(tmp_path, monkeypatch):
    path = kept(table(), tmp_path)
    found = [LogisticRegression(n_jobs=jobs).fit_batches(Batches(path, "y")).coef_ for jobs in (1, 2)]
    monkeypatch.setattr("assay.data.read_columnar._PIECE_BYTES", 40_000)
    found.append(LogisticRegression().fit_batches(Batches(path, "y")).coef_)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_weights_and_rows_without_a_target(tmp_path, classes, weighted):
    frame = table(2, classes).with_columns(
        pl.Series("w", np.arange(N) % 4 + 0.5),
        pl.when(pl.int_range(N) % 97 == 5).then(None).otherwise(pl.format("kind {}", "y")).alias("y"),
    )
    weight = "w" if weighted else None
    source = Counted(kept(frame, tmp_path), "y", columns=NAMES, weight=weight)
    assert_as_in_memory(source, frame, weight)
    assert source.seen.first is not None and source.rows_left_out == frame["y"].null_count() > 0


def sorted_by_class(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort("y", maintain_order=True)


def sorted_by_column(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort("x1")


def rare_class(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.when(pl.int_range(N) < 40).then(2).otherwise("y").alias("y"))


def constant_in_the_sample(frame: pl.DataFrame) -> pl.DataFrame:
    few = pl.int_range(N) < 30
    return frame.with_columns(pl.when(few).then("x2").otherwise(0.0).alias("x2"))


def far_out(frame: pl.DataFrame) -> pl.DataFrame:
    """Cells beyond all that a sample would see, as bytes that were damaged give."""
    few = pl.int_range(N) % 1501 == 3
    return frame.with_columns(pl.when(few).then(pl.col("x2") * 1e150).otherwise("x2").alias("x2"))


def far_off(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("x3") + pl.when(pl.int_range(N) < 20).then(1e5).otherwise(0.0))


def constant(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.lit(5.0).alias("x2"))


def separated_in_the_sample(frame: pl.DataFrame) -> pl.DataFrame:
    few = pl.int_range(N) < 60
    return frame.with_columns(pl.when(few).then("y").otherwise((pl.col("x0") > 0).cast(pl.Int64)).alias("y"))


def whole_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("x1").round().cast(pl.Int16), pl.col("x3").cast(pl.Float32))


def few_rows(frame: pl.DataFrame) -> pl.DataFrame:
    return frame[:30]


@pytest.mark.parametrize("penalty", ["auto", None])
@pytest.mark.parametrize(
    "change",
    [
        sorted_by_class,
        sorted_by_column,
        rare_class,
        constant_in_the_sample,
        constant,
        far_out,
        far_off,
        separated_in_the_sample,
        whole_numbers,
        few_rows,
    ],
)
def test_files_whose_sample_misleads_give_the_same_model(tmp_path, change, penalty):
    frame = change(table(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_as_in_memory(Batches(kept(frame, tmp_path), "y", columns=NAMES), frame, penalty=penalty)


def test_a_column_that_depends_on_others_is_told_and_held_at_0(tmp_path):
    frame = table(4).with_columns((pl.col("x0") - 2 * pl.col("x1")).alias("x3"))
    with pytest.warns(UserWarning, match="W203"):
        found = LogisticRegression(penalty=None).fit_batches(Batches(kept(frame, tmp_path), "y", columns=NAMES))
    with pytest.warns(UserWarning, match="W203"):
        whole = LogisticRegression(penalty=None).fit(frame.select(NAMES), frame["y"].to_numpy())
    assert (found.coef_ == 0).sum() == 1
    rows = frame.select(NAMES)
    np.testing.assert_allclose(found.predict_proba(rows), whole.predict_proba(rows), rtol=1e-7)


def test_missing_and_infinite_cells_are_refused_with_their_row(tmp_path):
    for cell in (None, float("inf")):
        frame = table().with_columns(pl.when(pl.int_range(N) == 4000).then(cell).otherwise("x1").alias("x1"))
        with pytest.raises(AssayError, match=r"column 'x1' must hold finite numbers; got 1 .* the first in row 4001"):
            LogisticRegression().fit_batches(Batches(kept(frame, tmp_path), "y"))


def decoded_table(source: Batches):
    settings = LogisticRegression()._task(np.empty((0, 0)), None, np.empty(0, dtype=np.int32), None, 2, None)
    sample, labels = logistic_sample.sample_of_batches(source, settings, 1e-8)
    return logistic_sample.look_first(source, sample, labels, logistic_sample.solve(*sample.search(100)))


def test_blocks_are_the_cells_at_every_pass_and_the_third_is_kept(tmp_path):
    frame = table().with_columns(pl.when(pl.int_range(N) % 50 == 1).then(None).otherwise("y").alias("y"))
    found = decoded_table(Batches(kept(frame, tmp_path), "y", columns=NAMES))
    wanted = frame.filter(pl.col("y").is_not_null()).select(NAMES).to_numpy()
    for _ in range(4):
        np.testing.assert_array_equal(np.vstack([b for part in found.parts for b in part.blocks()]), wanted)
    for part in found.parts:
        assert part._scratch is not None and part.n_rows == part._scratch.n_rows
    np.testing.assert_array_equal(found[[5, 5900 - 200, 17]], wanted[[5, 5700, 17]])


def test_rows_by_number_and_a_second_learner_have_the_file_kept(tmp_path):
    frame = table()
    source = Counted(kept(frame, tmp_path), "y", columns=NAMES)
    first = LogisticRegression().fit_batches(source)
    np.testing.assert_array_equal(source.seen[[5999, 3]], frame.select(NAMES).to_numpy()[[5999, 3]])
    decoded = source.seen
    again = LogisticRegression().fit_batches(source)
    assert source.seen is decoded and isinstance(source.table.parts[0], batches.ScratchPart)
    np.testing.assert_allclose(first.coef_, again.coef_, rtol=1e-9)


@pytest.mark.parametrize("change", ["longer", "same length", "gone"])
def test_a_file_that_changes_between_two_passes_is_one_sentence(tmp_path, change):
    frame = table()
    found = decoded_table(Batches(kept(frame, tmp_path), "y", columns=NAMES))
    file = tmp_path / "p1.parquet"
    if change == "gone":
        file.unlink()
    else:
        (frame[:10] if change == "longer" else frame[2000:4000] * 1).write_parquet(file)
        os.utime(file, ns=(1, 1))
    with pytest.raises(AssayError) as caught:
        np.vstack(list(found.parts[1].blocks()))
    assert "p1.parquet" in str(caught.value) and "\n" not in str(caught.value)


def test_who_stops_in_the_middle_of_a_pass_leaves_a_decoder_that_works(tmp_path):
    found = decoded_table(Batches(kept(table(), tmp_path), "y", columns=NAMES))
    blocks = found.parts[0].blocks()
    next(blocks)
    blocks.close()
    assert sum(block.shape[0] for block in found.parts[0].blocks()) == 2000


def test_more_slots_than_the_ring_has_are_filled_in_turn(tmp_path):
    frame = table()
    found = decoded_table(Batches(kept(frame, tmp_path, parts=1), "y", columns=NAMES))
    assert N // 512 > batches_decoded.SLOTS
    cells = [block.copy() for block in base_batches.read_ahead(found.parts[0].blocks())]
    np.testing.assert_array_equal(np.vstack(cells), frame.select(NAMES).to_numpy())


# -- rows that are kept as codes, so that files are decoded once -------------------------------------------------------
MANY, NEAR = 60_000, 1e-6
"""Rows, and the accuracy that codes of so few have for sure; what is found is nearer."""


@pytest.fixture
def large_sample(monkeypatch):
    """Half of the rows: the optimum of all of them is so near that codes tell the rest of the gradient."""
    monkeypatch.setattr(logistic_sample, "STRETCHED_ROWS", MANY // 2)


def passes(source: Counted) -> set[int]:
    return {part._passes for part in source.seen.parts}


@pytest.mark.parametrize("settings", [{}, {"C": 0.01}, {"fit_intercept": False}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_codes_of_the_rows_take_the_place_of_the_second_decoding(tmp_path, large_sample, settings, weighted):
    frame = table(5, rows=MANY).with_columns(
        pl.Series("w", np.arange(MANY) % 4 + 0.5),
        pl.when(pl.int_range(MANY) % 97 == 5).then(None).otherwise(pl.format("kind {}", "y")).alias("y"),
    )
    weight = "w" if weighted else None
    source = Counted(kept(frame, tmp_path), "y", columns=NAMES, weight=weight)
    assert_as_in_memory(source, frame, weight, tol=NEAR, **settings)
    assert passes(source) == {1}


def test_the_bits_of_a_fit_by_codes_are_the_same_for_any_number_of_threads(tmp_path, large_sample):
    path, found = kept(table(5, rows=MANY), tmp_path), []
    for jobs in (1, 2, 3):
        source = Counted(path, "y", columns=NAMES)
        found.append(LogisticRegression(tol=NEAR, n_jobs=jobs).fit_batches(source).coef_)
        assert passes(source) == {1}
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_an_accuracy_beyond_that_of_codes_decodes_again(tmp_path, large_sample):
    frame = table(5, rows=MANY)
    source = Counted(kept(frame, tmp_path), "y", columns=NAMES)
    assert_as_in_memory(source, frame, tol=1e-12)
    assert source.seen.coded is not None and min(passes(source)) > 1


def beyond_the_codes(frame: pl.DataFrame) -> pl.DataFrame:
    """One cell that the sample does not have and that is too large for a code, near enough to fit with."""
    return frame.with_columns(pl.when(pl.int_range(MANY) == 7).then(2.9).otherwise("x2").alias("x2"))


def other_rows_in_the_sample(frame: pl.DataFrame) -> pl.DataFrame:
    """The classes of rows that no sample sees follow another rule."""
    few = pl.int_range(MANY) % 20_000 < 1000
    return frame.with_columns(pl.when(few).then((pl.col("x0") < 0).cast(pl.Int64)).otherwise("y").alias("y"))


@pytest.mark.parametrize("change", [beyond_the_codes, other_rows_in_the_sample, sorted_by_class, sorted_by_column])
def test_rows_that_no_sample_tells_of_cost_passes_and_not_the_optimum(tmp_path, large_sample, change):
    frame = change(table(6, rows=MANY))
    source = Counted(kept(frame, tmp_path), "y", columns=NAMES)
    assert_as_in_memory(source, frame)
    if change is beyond_the_codes:
        assert source.seen.coded is None


def test_rows_are_not_kept_as_codes_where_they_are_many_or_read_again(tmp_path, large_sample, monkeypatch):
    path = kept(table(5, rows=MANY), tmp_path)
    source = Counted(path, "y", columns=NAMES)
    LogisticRegression(penalty=None).fit_batches(source)
    assert source.seen.coded is None
    monkeypatch.setattr(logistic_sample, "CODED_BYTES", 2 * MANY * P - 1)
    source = Counted(path, "y", columns=NAMES)
    LogisticRegression().fit_batches(source)
    assert source.seen.coded is None


@pytest.mark.parametrize("target", ["whole numbers", "halves", "text"])
def test_codes_in_a_scratch_file_give_the_bits_of_those_in_memory(tmp_path, large_sample, monkeypatch, target):
    frame, found = table(5, rows=MANY), []
    of = {"halves": pl.col("y") + 0.5, "text": pl.format("kind {}", "y")}.get(target, pl.col("y"))
    path = kept(frame.with_columns(of.alias("y")), tmp_path)
    for held in (0, 2**30):
        monkeypatch.setattr(logistic_sample, "HELD_BYTES", held)
        source = Counted(path, "y", columns=NAMES)
        model = LogisticRegression(tol=NEAR).fit_batches(source)
        assert passes(source) == {1}
        assert {part.coding.on_disk for part in source.seen.coded.parts} == {held == 0}
        found.append(model)
    np.testing.assert_array_equal(found[0].coef_, found[1].coef_)
    for model in found:
        assert model.classes_.tolist() == pl.read_parquet(path)["y"].unique().sort().to_list()
        assert model.classes_.dtype.kind == {"whole numbers": "i", "halves": "f", "text": "U"}[target]
        assert target == "text" or model.classes_.itemsize == 8


def test_a_scratch_file_without_room_costs_a_pass_and_not_the_fit(tmp_path, large_sample, monkeypatch):
    frame = table(5, rows=MANY)
    source = Counted(kept(frame, tmp_path), "y", columns=NAMES)
    monkeypatch.setattr(logistic_sample, "HELD_BYTES", 0)
    monkeypatch.setattr(CodedPart, "put_away", lambda self: False)
    assert_as_in_memory(source, frame, tol=NEAR)
    assert source.seen.coded is None and min(passes(source)) > 1


@pytest.mark.parametrize("intercept", [True, False])
def test_the_error_of_codes_is_within_what_their_problem_says(intercept):
    rng = np.random.default_rng(0)
    n, p, key = 40_000, 3, 5
    z, weights = rng.normal(size=(n, p)) * [1.0, 2.0, 0.5], rng.uniform(0.0, 2.0, n)
    coding = Coding.within(np.zeros(p), np.ones(p), np.full(p, 1000.0), 2)
    part = CodedPart(coding, key)
    assert part.add(z[:25_000]) and part.add(z[25_000:])
    table = np.column_stack([z, np.ones(n)]) if intercept else z
    at, step = rng.normal(size=table.shape[1]), 0.3 * rng.normal(size=table.shape[1])
    eta, delta = table @ at, table @ step
    chance, there = 1.0 / (1.0 + np.exp(-eta)), 1.0 / (1.0 + np.exp(-eta - delta))
    curve = chance * (1.0 - chance)
    rho = weights * (there - chance - curve * delta)
    change = np.logaddexp(0.0, eta + delta) - np.logaddexp(0.0, eta) - chance * delta - 0.5 * curve * delta**2
    begin, sums = 0, None
    for block in part.blocks():
        of_block = weights[begin : begin + block.shape[0]]
        found = logistic_sample.coded_block(block, of_block, coding, intercept, (at, step))
        sums, begin = found if sums is None else base_batches.added(sums, found), begin + block.shape[0]
    error = logistic_sample.error_of_codes(coding, (at, step), sums, float(weights.sum()), n)
    off = np.abs(sums[3] - rho @ table)
    assert (off <= error).all() and (off > 1e-6 * error).any()
    np.testing.assert_allclose(sums[0], weights @ change, rtol=1e-3)
    np.testing.assert_allclose(sums[3], rho @ table, rtol=1e-3, atol=0.5)
