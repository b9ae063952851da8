"""Fast routes against the plain one: take the drawn rows, compute the metric; leave out a row, compute the metric."""

from __future__ import annotations

import numpy as np
import pytest

from assay import _kernels
from assay.base import Stream
from assay.evaluate import METRICS, Evidence, get_metric, replicates
from assay.evaluate.replicates import (
    RowRoute,
    TableRoute,
    deviation_left_out,
    draw_all,
    mean_of_defined,
    route_for,
    rows_of,
)

N = 60
STREAM = Stream.of(5)
NAMES = [*METRICS, "f2_macro"]


def evidence_for(name: str, classes: int = 2, ties: bool = False, seed: int = 0) -> Evidence:
    rng = np.random.default_rng(seed)
    needs = get_metric(name).needs
    y = rng.integers(0, classes, N)
    if needs == "labels":
        return Evidence(y, labels=np.where(rng.random(N) < 0.6, y, rng.integers(0, classes, N)))
    if needs == "clusters":
        return Evidence(y, clusters=np.where(rng.random(N) < 0.6, y, rng.integers(0, classes, N)))
    if needs == "probabilities":
        p = rng.dirichlet(np.ones(classes), N) + 0.5 * np.eye(classes)[y]
        p /= p.sum(axis=1, keepdims=True)
        if ties:
            p = np.round(p, 1)
        return Evidence(y, probabilities=p[:, 1] if classes == 2 else p, classes=np.arange(classes))
    truth = np.round(rng.gamma(2.0, 2.0, N))
    return Evidence(truth, values=truth + np.round(rng.gamma(1.0, 1.0, N), 1))


def plain(name: str, evidence: Evidence) -> RowRoute:
    metric = get_metric(name)
    return RowRoute(lambda rows: metric.of(rows_of(evidence, rows)), N)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("classes", "ties"), [(2, False), (2, True), (3, False)])
def test_replicates_equal_those_of_taken_rows(name, classes, ties):
    one_class = get_metric(name).needs == "labels" and name in (
        "precision",
        "recall",
        "f1",
        "sensitivity",
        "specificity",
    )
    if classes == 3 and one_class:
        pytest.skip("metric of one positive class")
    evidence = evidence_for(name, classes, ties)
    fast, slow = route_for(get_metric(name), evidence), plain(name, evidence)
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-12)
    got, expected = draw_all([fast, slow], N, STREAM, 40, 1)
    assert got == pytest.approx(expected, rel=1e-10, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("classes", "ties"), [(2, False), (2, True), (3, True)])
def test_jackknife_equals_leaving_out_each_row(name, classes, ties):
    if classes == 3 and name in ("precision", "recall", "f1", "sensitivity", "specificity"):
        pytest.skip("metric of one positive class")
    evidence = evidence_for(name, classes, ties)
    fast, slow = route_for(get_metric(name), evidence), plain(name, evidence)
    if isinstance(fast, RowRoute):
        pytest.skip("no closed form")
    every = np.arange(N)
    expected = [slow.score(np.delete(every, i)) for i in every]
    assert fast.jackknife(STREAM) == pytest.approx(expected, rel=1e-10)


def test_metrics_with_a_fast_route_are_the_ones_meant():
    slow = {n for n in METRICS if isinstance(route_for(get_metric(n), evidence_for(n)), RowRoute)}
    clusters = {n for n, m in METRICS.items() if m.needs == "clusters"}
    assert slow == clusters | {"median_absolute_error", "max_error"}


def test_a_crowd_of_classes_takes_rows_and_still_has_replicates():
    y = np.arange(300)
    route = route_for(get_metric("accuracy"), Evidence(y, labels=np.where(y % 3 == 0, 0, y)))
    assert isinstance(route, RowRoute)
    (values,) = draw_all([route], 300, STREAM, 50, 1)
    assert values.mean() == pytest.approx(route.estimate, abs=0.02) and values.std() > 0


def test_cell_counts_give_the_same_distribution_as_row_counts():
    evidence = evidence_for("accuracy", 3)
    route = route_for(get_metric("accuracy"), evidence)
    assert isinstance(route, TableRoute)
    (cells,) = draw_all([route], N, STREAM, 4000, 1)
    rows, _ = draw_all([route, plain("accuracy", evidence)], N, STREAM, 4000, 1)
    assert cells.mean() == pytest.approx(rows.mean(), abs=4 * rows.std() / np.sqrt(2000))
    assert cells.std() == pytest.approx(rows.std(), rel=0.06)


def test_joint_cells_keep_two_learners_paired():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N)
    same = np.where(rng.random(N) < 0.7, y, 0)
    routes = [route_for(get_metric("accuracy"), Evidence(y, labels=same), side) for side in (0, 1)]
    first, second = draw_all(routes, N, STREAM, 50, 1)
    assert np.array_equal(first, second) and first.std() > 0


@pytest.mark.parametrize("names", [("roc_auc", "brier", "calibration_error"), ("accuracy",), ("r2", "rae")])
def test_bits_do_not_depend_on_the_number_of_threads(names):
    routes = [route_for(get_metric(n), evidence_for(n)) for n in names]
    assert all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in zip(draw_all(routes, N, STREAM, 300, 1), draw_all(routes, N, STREAM, 300, 3))
    )


def test_a_replicate_does_not_depend_on_how_many_are_drawn():
    route = route_for(get_metric("roc_auc"), evidence_for("roc_auc"))
    assert np.array_equal(draw_all([route], N, STREAM, 20, 1)[0], draw_all([route], N, STREAM, 200, 1)[0][:20])


@pytest.mark.parametrize("n", [1, 3, 255, 256, 257, 1000])
def test_drawn_rows_add_up(n):
    counts = _kernels.resample_rows(n, 7, 0, 50, 1)
    assert counts.shape == (50, n) and (counts.sum(axis=1, dtype=np.int64) == n).all()


def test_row_counts_are_multinomial():
    """Chi-square of single rows, and the variance of block totals against n p (1 - p)."""
    n, draws = 600, 3000
    counts = _kernels.resample_rows(n, 3, 0, draws, 1).astype(np.int64)
    per_row = counts.sum(axis=0)
    assert ((per_row - draws) ** 2 / draws).sum() < n + 4 * np.sqrt(2 * n)
    for block in (slice(0, 100), slice(200, 300), slice(250, 260)):
        share = counts[:, block].shape[1] / n
        assert counts[:, block].sum(axis=1).var() == pytest.approx(n * share * (1 - share), rel=0.12)


def test_leave_one_out_deviation_equals_its_definition():
    values = np.random.default_rng(0).normal(size=30)
    expected = [np.abs(np.delete(values, i) - np.delete(values, i).mean()).sum() for i in range(30)]
    assert deviation_left_out(values) == pytest.approx(expected)


def test_means_skip_what_is_undefined():
    values = np.array([[1.0, np.nan], [np.nan, np.nan], [1.0, 3.0]])
    assert mean_of_defined(values) == pytest.approx([1.0, np.nan, 2.0], nan_ok=True)


@pytest.mark.parametrize(
    "change", [{"groups": np.full((1, 4), 9, np.int32)}, {"orders": np.full((1, 4), 4, np.int32)}, {"n": 5}]
)
def test_kernel_refuses_indices_out_of_range(change):
    arguments = {
        "n": 4,
        "orders": np.arange(4, dtype=np.int32)[None],
        "flags": np.full((1, 4), 2, np.uint8),
        "want_precision": False,
        "groups": np.zeros((1, 4), np.int32),
        "weights": np.empty((0, 4)),
        "sizes": np.array([2]),
        "terms": np.empty((0, 4)),
        "deviations": np.empty((0, 4)),
        "key": 0,
        "first": 0,
        "replicates": 2,
        "threads": 1,
    }
    _kernels.replicate_rows(**arguments)
    with pytest.raises(ValueError, match="replicate_rows"):
        _kernels.replicate_rows(**{**arguments, **change})


@pytest.mark.parametrize("name", ["kappa", "f1_macro", "mcc", "roc_auc", "log_loss"])
def test_how_much_is_held_at_once_changes_no_number(name, monkeypatch):
    evidence, metric = evidence_for(name, 3, seed=2), get_metric(name)
    whole = route_for(metric, evidence).jackknife(STREAM), draw_all([route_for(metric, evidence)], N, STREAM, 50, 1)
    monkeypatch.setattr(replicates, "_BLOCK", 40)
    route = route_for(metric, evidence)
    assert route.jackknife(STREAM) == pytest.approx(whole[0], abs=1e-12)
    assert np.asarray(draw_all([route], N, STREAM, 50, 1)) == pytest.approx(np.asarray(whole[1]), abs=1e-12)


@pytest.mark.parametrize("few", [1, 2, 3])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", ["average_precision", "roc_auc"])
def test_few_rows_of_a_class_are_left_out_one_by_one(few, turned, name):
    """Without the only row of a class there is no score, and nothing is divided by 0 to say so."""
    rng = np.random.default_rng(3)
    y = ((np.arange(8) >= few) != turned).astype(int)
    evidence = Evidence(y, probabilities=np.round(rng.random(8), 1), classes=np.arange(2))
    metric = get_metric(name)
    with np.errstate(all="raise"):
        found = route_for(metric, evidence).jackknife(STREAM)
    for row in range(8):
        kept = np.delete(np.arange(8), row)
        if len(set(y[kept])) < 2:
            assert np.isnan(found[row])
        else:
            assert found[row] == pytest.approx(metric.of(rows_of(evidence, kept)))


@pytest.mark.parametrize("turned", [False, True])
def test_joint_cells_of_learners_with_different_classes_stay_apart(turned):
    """The first names five classes, the second two; each row is right by exactly one of them."""
    y = np.repeat([0, 1], [90, 10])
    wide = np.where(np.arange(100) % 3 == 0, 4 - y, y)
    narrow = np.where(wide == y, 1 - y, y)
    given = [narrow, wide] if turned else [wide, narrow]
    routes = [route_for(get_metric("accuracy"), Evidence(y, labels=labels), side) for side, labels in enumerate(given)]
    drawn = draw_all(routes, 100, STREAM, 2000, 1)
    assert drawn[0] + drawn[1] == pytest.approx(np.ones(2000))
    for values, route in zip(drawn, routes):
        assert values.mean() == pytest.approx(route.estimate, abs=0.006)
        assert values.std() == pytest.approx(np.sqrt(0.34 * 0.66 / 100), rel=0.1)
