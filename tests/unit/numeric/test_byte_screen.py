"""The byte screen answers as float64 brute force does, bit for bit: same rows, same order of ties, same distances."""

import numpy as np
import pytest

from assay import _kernels
from assay.models.neighbours import KNNClassifier, KNNRegressor
from assay.numeric import neighbours
from assay.numeric.neighbours import NeighbourIndex, get

BYTES = ("panels", "half_norms", "steps", "residuals", "centre", "scale")
NO_FLAGS = np.zeros(0, dtype=np.uint8)
in_bytes = pytest.mark.skipif(
    _kernels.byte_screen(np.ones((40, 2)) * np.arange(40)[:, None], False, 1) is None,
    reason="this machine does not multiply bytes",
)


def by_bytes(rows, queries, k, threads=1):
    made = _kernels.byte_screen(rows, False, threads)
    if made is None:
        return None
    return _kernels.byte_screen_nearest(rows, *made, queries, k, threads)


def by_float64(rows, queries, k):
    panels = _kernels.metric_panels(rows, 1)
    return _kernels.metric_nearest(get("euclidean").code, 2.0, NO_FLAGS, panels, rows.shape[0], queries, k, 1)


def table(kind, n, d, rng):
    rows = rng.normal(size=(n, d))
    if kind == "duplicates":
        rows = np.repeat(rows[: n // 10 + 1], 10, axis=0)[:n]
    elif kind == "ties":
        rows = rng.integers(0, 2, size=(n, d)).astype(float)
    elif kind == "offset":
        rows = 1e8 + rows
    elif kind == "differences of 1e-8":
        rows = 1.0 + 1e-8 * rng.integers(0, 50, size=(n, d))
    elif kind == "outlying row":
        rows[n // 3] *= 1e12
    elif kind == "outlying rows":
        some = rows[:: n // 5 + 1]
        some *= 10.0 ** np.arange(0, 3 * len(some), 3)[:, None]
    elif kind == "outlying column":
        rows[:, d // 2] *= 1e9
    elif kind == "outlying cell":
        rows[n // 2, d // 2] = 1e200
    elif kind == "constant columns":
        rows[:, : d // 2 + 1] = 3.0
    elif kind == "all the same":
        rows[:] = rows[0]
    elif kind == "denormal":
        rows *= 1e-310
    elif kind == "some denormal":
        rows[::2] *= 1e-310
    elif kind == "tiny beside large":
        rows[: n // 2] = 1e-170 * rows[: n // 2]
    elif kind == "huge":
        rows *= 1e150
    elif kind == "clusters":
        rows = rows[rng.integers(0, min(5, n), size=n)] * 100.0 + 1e-3 * rows
    elif kind == "skewed":
        rows = np.exp(4.0 * rows)
    elif kind == "mostly zeros":
        rows[rng.random(rows.shape) < 0.97] = 0.0
    elif kind == "one direction":
        rows = np.ones((n, d)) * rows[:, :1]
    elif kind == "norms of every size":
        rows *= 10.0 ** rng.uniform(-12, 12, size=(n, 1))
    return np.ascontiguousarray(rows)


KINDS = [
    "normal",
    "duplicates",
    "ties",
    "offset",
    "differences of 1e-8",
    "outlying row",
    "outlying rows",
    "outlying column",
    "outlying cell",
    "constant columns",
    "all the same",
    "denormal",
    "some denormal",
    "tiny beside large",
    "huge",
    "clusters",
    "skewed",
    "mostly zeros",
    "one direction",
    "norms of every size",
]


@in_bytes
@pytest.mark.parametrize("kind", KINDS)
def test_bytes_give_the_neighbours_of_float64_brute_force(kind):
    rng = np.random.default_rng(sum(map(ord, kind)))
    for n, d in [(1, 1), (33, 1), (500, 2), (700, 7), (1500, 33), (900, 130), (300, 1000)]:
        rows = table(kind, n, d, rng)
        queries = np.vstack([rows[:: max(1, n // 20)], table(kind, max(n, 40), d, rng)[:20], np.zeros((1, d))])
        queries = np.vstack([queries, queries[:3] * (1.0 + 1e-9), np.full((1, d), 1e7), np.full((1, d), -1e100)])
        for k in {1, min(15, n), min(70, n), min(n, 600)}:
            found = by_bytes(rows, queries, k)
            if found is None:
                assert kind in ("denormal", "some denormal", "tiny beside large", "huge", "outlying cell")
                continue
            expected = by_float64(rows, queries, k)
            np.testing.assert_array_equal(found[0], expected[0])
            np.testing.assert_array_equal(found[1], expected[1])


@in_bytes
def test_threads_and_instruction_sets_change_nothing():
    rng = np.random.default_rng(3)
    rows, queries = rng.normal(size=(4000, 80)), rng.normal(size=(300, 80))
    made = _kernels.byte_screen(rows, True, 1)
    for one, other in zip(made, _kernels.byte_screen(rows, True, 2), strict=True):
        np.testing.assert_array_equal(one, other)
    expected = _kernels.byte_screen_nearest(rows, *made, queries, 12, 1)
    best = _kernels.simd_level()
    try:
        for level in ("baseline", "avx2", "avx512"):
            _kernels.set_simd_level(level)
            for threads in (1, 2, 3):
                found = _kernels.byte_screen_nearest(rows, *made, queries, 12, threads)
                np.testing.assert_array_equal(found[0], expected[0])
                np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)
            if level != "avx512":
                assert _kernels.byte_screen(rows, True, 1) is None
    finally:
        _kernels.set_simd_level(best)


@in_bytes
def test_wide_tables_are_indexed_in_bytes_unless_these_cannot_tell_rows_apart():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(3000, 60))
    index = NeighbourIndex(rows, get("euclidean"))
    assert index.kind == "bytes"
    copies = np.repeat(rows[:2], 1500, axis=0)
    assert NeighbourIndex(copies, get("euclidean")).kind == "screen"
    assert NeighbourIndex(rows[:, :10].copy(), get("euclidean")).kind == "screen"
    assert NeighbourIndex(rows, get("manhattan")).kind == "panels"
    again = NeighbourIndex.of_state(index.state(), get("euclidean"))
    np.testing.assert_array_equal(again.nearest(rows[:9], 4)[0], index.nearest(rows[:9], 4)[0])


@in_bytes
def test_questions_about_a_radius_are_answered_as_without_bytes(monkeypatch):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(3100, 64))
    index = NeighbourIndex(rows, get("euclidean"))
    assert index.kind == "bytes"
    monkeypatch.setattr(neighbours, "_BYTES_FROM", ())
    plain = NeighbourIndex(rows, get("euclidean"))
    assert plain.kind == "screen"
    np.testing.assert_array_equal(index.count(rows[:40], 9.0), plain.count(rows[:40], 9.0))
    for one, other in zip(index.within(rows[:40], 9.0), plain.within(rows[:40], 9.0), strict=True):
        np.testing.assert_array_equal(one, other)


@in_bytes
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_models_on_bytes_are_those_on_float32(monkeypatch, weights):
    rng = np.random.default_rng(6)
    X, queries = rng.normal(size=(3200, 70)), rng.normal(size=(50, 70))
    y = rng.integers(0, 3, size=3200)

    def answers():
        classifier = KNNClassifier(7, weights=weights, algorithm="brute").fit(X, y)
        regressor = KNNRegressor(7, weights=weights, algorithm="brute").fit(X, X[:, 0])
        left_out = KNNClassifier(1, algorithm="brute").fit(X, y).leave_one_out(9)
        return classifier.predict_proba(queries), regressor.predict(queries), left_out, classifier._index.kind

    *with_bytes, kind = answers()
    assert kind == "bytes"
    monkeypatch.setattr(neighbours, "_BYTES_FROM", ())
    *without, kind = answers()
    assert kind == "screen"
    for one, other in zip(with_bytes, without, strict=True):
        np.testing.assert_array_equal(one, other)


@in_bytes
def test_arrays_from_outside_are_checked_before_use():
    rows = np.random.default_rng(7).normal(size=(100, 5))
    made = dict(zip(BYTES, _kernels.byte_screen(rows, False, 1), strict=True))
    given = {"rows": rows, "queries": rows[:2], "k": 3, "threads": 1}
    for name, value, message in [
        ("panels", made["panels"][:-1], "panels must hold every padded row"),
        ("steps", made["steps"][:-1], "one value per padded row"),
        ("centre", made["centre"][:-1], "centre must have one value per column"),
        ("half_norms", np.zeros_like(made["half_norms"]), "half_norms must be infinite after the last row"),
    ]:
        with pytest.raises(ValueError, match=message):
            _kernels.byte_screen_nearest(**given, **{**made, name: value})
    with pytest.raises(ValueError, match="k must be between 1 and the number of rows"):
        _kernels.byte_screen_nearest(**{**given, "k": 101}, **made)


@in_bytes
@pytest.mark.parametrize("kernel", ["byte_screen", "euclidean"])
def test_numbers_that_no_rows_give_never_lead_outside_the_rows(kernel):
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(2000, 5))
    if kernel == "byte_screen":
        made, nearest = _kernels.byte_screen(rows, False, 1), _kernels.byte_screen_nearest
    else:
        made, nearest = _kernels.euclidean_screen(rows, 1), _kernels.euclidean_nearest
    for place, array in enumerate(made):
        if not isinstance(array, np.ndarray) or array.shape[0] < 2000 or array.dtype == np.uint8:
            continue
        for share in (0.05, 1.0):
            spoiled, hit = array.copy(), rng.random(array.shape[0]) < share
            hit[2000:] = False
            spoiled[hit] = rng.choice([0.0, np.nan, -1e30, 1e30, np.inf, -np.inf], size=hit.sum()).astype(array.dtype)
            for k in (3, 100):
                found = nearest(rows, *made[:place], spoiled, *made[place + 1 :], rows[:2].copy(), k, 1)[0]
                assert ((found >= 0) & (found < 2000)).all()
    for value in (np.nan, np.inf):
        spoiled = rows.copy()
        spoiled[:50] = value
        assert (nearest(spoiled, *made, rows[:2].copy(), 100, 1)[0] < 2000).all()
