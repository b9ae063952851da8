"""Ranking: groups equal written-down pairs, agreement with SVMs on differences, scores."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from sklearn.datasets import load_diabetes, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from assay.base import AssayWarning, DataError, ParameterError
from assay.models.linear import LinearRank, linear_rank
from assay.models.linear.linear_rank import ordered_share
from assay.models.linear.rank_pairs import GroupPairs
from assay.models.linear.rank_problem import NEWTON_STEPS, RankProblem, RoundedCorner
from assay.numeric.newton import damped_newton


@pytest.fixture
def queries():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    groups = rng.integers(0, 8, 120)
    grades = np.digitize(X @ [1.0, -1.0, 0.5, 0.0] + 0.7 * rng.normal(size=120) + groups, [2, 4, 6])
    return X, grades, groups


def pairs_of(y, groups):
    return np.array(
        [(i, j) for i in range(len(y)) for j in range(len(y)) if groups[i] == groups[j] and y[i] > y[j]], dtype=int
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_groups_equal_their_written_down_pairs(queries, loss):
    X, y, groups = queries
    pairs = pairs_of(y, groups)
    grouped = LinearRank(loss=loss, alpha=0.05, tol=1e-5).fit(X, y, groups=groups)
    listed = LinearRank(loss=loss, alpha=0.05, tol=1e-5).fit_pairs(X, pairs)
    assert grouped.pair_weight_ == len(pairs) == listed.pair_weight_
    assert grouped.objective_ == pytest.approx(listed.objective_, rel=1e-5)
    np.testing.assert_allclose(grouped.coef_, listed.coef_, atol=1e-8)


@pytest.mark.parametrize(("loss", "factor"), [("hinge", 1.0), ("squared_hinge", 0.5)])
def test_solution_is_that_of_a_linear_svm_on_differences(queries, loss, factor):
    """liblinear without intercept minimises C sum loss + |w|^2 / 2 over differences x_u - x_v, half of them turned."""
    X, y, groups = queries
    pairs, alpha = pairs_of(y, groups), 0.05
    sign = np.where(np.arange(len(pairs)) % 2, 1, -1)
    peer = LinearSVC(
        loss=loss, C=factor / (alpha * len(pairs)), fit_intercept=False, dual=True, tol=1e-9, max_iter=2_000_000
    ).fit((X[pairs[:, 0]] - X[pairs[:, 1]]) * sign[:, None], sign)
    model = LinearRank(loss=loss, alpha=alpha, tol=1e-7).fit(X, y, groups=groups)
    np.testing.assert_allclose(model.coef_, peer.coef_[0], atol=3e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_no_small_move_improves_the_objective(queries, loss):
    X, y, groups = queries
    pairs, alpha = pairs_of(y, groups), 0.02
    model = LinearRank(loss=loss, alpha=alpha, tol=1e-6).fit(X, y, groups=groups)

    def objective(w):
        gap = np.maximum(1 - (X[pairs[:, 0]] - X[pairs[:, 1]]) @ w, 0)
        return (gap if loss == "hinge" else 0.5 * gap**2).mean() + 0.5 * alpha * (w @ w)

    best = objective(model.coef_)
    assert best == pytest.approx(model.objective_, rel=1e-6)
    rng = np.random.default_rng(1)
    assert all(objective(model.coef_ + 1e-2 * rng.normal(size=4)) >= best * (1 - 1e-5) for _ in range(200))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_gap_is_certified(queries, loss):
    X, y, groups = queries
    rough = LinearRank(loss=loss, alpha=0.01, tol=0.2).fit(X, y, groups=groups)
    fine = LinearRank(loss=loss, alpha=0.01, tol=1e-5).fit(X, y, groups=groups)
    assert rough.n_iter_ < fine.n_iter_ or loss == "squared_hinge"
    assert rough.objective_ - rough.dual_gap_ - 1e-12 <= fine.objective_ <= rough.objective_ + 1e-12
    assert fine.dual_gap_ <= 1e-5 * fine.objective_


def test_the_default_is_the_hinge_and_its_optimality_conditions_hold(queries):
    """0 is a subgradient: pairs of margin 1 make up, with shares from 0 to 1, what the others and the penalty leave."""
    X, y, groups = queries
    pairs, alpha = pairs_of(y, groups), 0.02
    model = LinearRank(alpha=alpha).fit(X, y, groups=groups)
    assert model.loss == "hinge" and model.dual_gap_ <= 1e-12 * model.objective_
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    margin = differences @ model.coef_
    corner, open_pairs = np.abs(margin - 1) <= 1e-9, margin < 1 - 1e-9
    assert 1 <= corner.sum() <= X.shape[1]
    left = alpha * model.coef_ - differences[open_pairs].sum(axis=0) / len(pairs)
    parts = lsq_linear(differences[corner].T / len(pairs), left, bounds=(0, 1))
    np.testing.assert_allclose(parts.fun, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("X", "y"), [load_diabetes(return_X_y=True, scaled=False), load_wine(return_X_y=True)], ids=["diabetes", "wine"]
)
@pytest.mark.parametrize("alpha", [1e-4, 1e-2])
def test_the_hinge_is_minimised_to_rounding_on_real_tables(X, y, alpha):
    model = LinearRank(alpha=alpha).fit(X, y)
    assert model.dual_gap_ <= 1e-11 * model.objective_
    better, worse = np.nonzero(y[:, None] > y[None, :])
    hinge = np.maximum(1 - (X[better] - X[worse]) @ model.coef_, 0).mean()
    assert hinge + alpha / 2 * model.coef_ @ model.coef_ == pytest.approx(model.objective_, rel=1e-11)


def test_rounded_corners_are_minimised_by_the_newton_driver(queries):
    X, y, groups = queries
    order = GroupPairs("test", y, groups, None, np.arange(len(y)), 1)
    problem = RankProblem(X[order.order], order, 1e-2, 1.0 / np.sqrt(X.var(axis=0) + 1e-2))
    weights = np.zeros(4)
    for width in (0.5, 0.125):
        search = RoundedCorner(problem, width)
        end = damped_newton(search, search.at(weights), NEWTON_STEPS)
        assert end.status == "settled" and 1 < end.n_iter < NEWTON_STEPS
        assert np.abs(end.point.gradient).max() < 1e-7
        weights = end.point.coefficients
        aside = search.at(0.9 * weights)
        for j in range(4):
            below, above = (search.at(0.9 * weights + sign * 1e-6 * np.eye(4)[j]).value for sign in (-1, 1))
            assert (above - below) / 2e-6 == pytest.approx(aside.gradient[j], abs=1e-6)


def test_a_corner_too_full_to_be_listed_ends_the_steps_where_they_stand(queries):
    X, y, groups = queries
    order = GroupPairs("test", y, groups, None, np.arange(len(y)), 1)
    problem = RankProblem(X[order.order], order, 1e-2, np.ones(4))
    problem.limit = 0
    search = RoundedCorner(problem, 0.5)
    begin = np.full(4, 0.5)
    end = damped_newton(search, search.at(begin), NEWTON_STEPS)
    assert end.n_iter == 1 and end.last_step is None
    np.testing.assert_array_equal(end.point.coefficients, begin)


def test_the_hinge_goes_through_the_newton_driver(queries, monkeypatch):
    X, y, groups = queries
    ends = []

    def watched(*given, **named):
        ends.append(damped_newton(*given, **named))
        return ends[-1]

    monkeypatch.setattr(linear_rank, "damped_newton", watched)
    model = LinearRank().fit(X, y, groups)
    assert ends and all(isinstance(end.point.coefficients, np.ndarray) for end in ends)
    assert model.dual_gap_ <= 1e-4 * model.objective_


def test_whole_numbers_with_many_pairs_on_the_corner_are_solved_too():
    rng = np.random.default_rng(6)
    X = rng.integers(0, 3, size=(60, 3)).astype(float)
    y = X.sum(axis=1) + rng.integers(0, 2, 60)
    model, listed = LinearRank(alpha=0.1).fit(X, y), LinearRank(alpha=0.1).fit_pairs(X, pairs_of(y, np.zeros(60)))
    assert max(model.dual_gap_, listed.dual_gap_) <= 1e-12
    np.testing.assert_allclose(model.coef_, listed.coef_, atol=1e-10)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("factor", [1e6, 1e3, 1e-6, 1e-12])
def test_the_unit_of_a_column_does_not_spoil_the_minimum(loss, factor):
    """A large column is hardly penalised, a tiny one in vain: the objective is that of a free or an absent column."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, y = X[:100], y[:100]
    without = LinearRank(loss=loss).fit(X[:, 1:], y).objective_
    scaled = LinearRank(loss=loss).fit(X * np.append(factor, np.ones(9)), y)
    assert scaled.dual_gap_ <= (1e-5 if factor == 1e6 else 1e-9)
    if factor < 1:
        assert scaled.objective_ == pytest.approx(without, rel=1e-6)
    else:
        assert scaled.objective_ <= LinearRank(loss=loss).fit(X, y).objective_ + scaled.dual_gap_


def test_what_cannot_be_certified_is_said():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, y = X[:100], y[:100]
    with pytest.warns(AssayWarning, match="W201.*standardise"):
        huge = LinearRank().fit(X * np.append(1e12, np.ones(9)), y)
    assert huge.objective_ == pytest.approx(LinearRank().fit(X, y).objective_, rel=1e-6)
    with pytest.raises(DataError, match="squared"):
        LinearRank().fit(X * 1e150, y)


@pytest.mark.parametrize("width", [0.01, 0.3])
@pytest.mark.parametrize("one_group", [False, True])
def test_listed_pairs_are_those_of_all_pairs(queries, width, one_group):
    X, y, groups = queries
    groups = np.zeros(len(y)) if one_group else groups
    scores, weights = X @ [1.0, 0.3, -0.2, 0.0], np.arange(len(y)) % 3 + 1.0
    table = GroupPairs("test", y.astype(float), groups, weights, np.arange(len(y)), 1)
    first, second, share = table.between(scores[table.order], 1 - width, 1 + width, 10_000)
    wanted = {(i, j) for i, j in pairs_of(y, groups).tolist() if 1 - width <= scores[i] - scores[j] <= 1 + width}
    assert set(zip(table.order[first].tolist(), table.order[second].tolist(), strict=True)) == wanted
    assert len(first) == len(wanted) and table.between(scores[table.order], 1 - width, 1 + width, 1) is None
    np.testing.assert_allclose(share * table.total, weights[table.order[first]] * weights[table.order[second]])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_equal_repetition(queries, loss):
    X, y, groups = queries
    weights = np.random.default_rng(2).integers(0, 3, len(y))
    weighted = LinearRank(loss=loss, tol=1e-5, alpha=0.05).fit(X, y, groups=groups, sample_weight=weights)
    again = np.repeat(np.arange(len(y)), weights)
    repeated = LinearRank(loss=loss, tol=1e-5, alpha=0.05).fit(X[again], y[again], groups=groups[again])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7, atol=1e-7)
    assert weighted.pair_weight_ == pytest.approx(repeated.pair_weight_)
    assert weighted.score(X, y, groups=groups, sample_weight=weights) == pytest.approx(
        repeated.score(X[again], y[again], groups=groups[again])
    )


def test_groups_matter_and_there_is_no_intercept(queries):
    X, y, groups = queries
    with_groups = LinearRank(alpha=0.05).fit(X, y, groups=groups)
    without = LinearRank(alpha=0.05).fit(X, y)
    assert np.abs(with_groups.coef_ - without.coef_).max() > 0.01
    np.testing.assert_array_equal(with_groups.predict(np.zeros((2, 4))), 0.0)
    shifted = LinearRank(alpha=0.05).fit(X + 5.0, y, groups=groups)
    np.testing.assert_allclose(shifted.coef_, with_groups.coef_, atol=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_threads_and_row_order_change_nothing_that_matters(queries, loss):
    X, y, groups = queries
    one, many = (LinearRank(loss=loss, alpha=0.05, n_jobs=n).fit(X, y, groups=groups) for n in (1, 4))
    np.testing.assert_array_equal(one.coef_, many.coef_)
    order = np.random.default_rng(3).permutation(len(y))
    turned = LinearRank(loss=loss, alpha=0.05, tol=1e-5).fit(X[order], y[order], groups=groups[order])
    straight = LinearRank(loss=loss, alpha=0.05, tol=1e-5).fit(X, y, groups=groups)
    np.testing.assert_allclose(turned.coef_, straight.coef_, atol=1e-8)


def test_pair_weights_max_iter_alpha_and_trace_matter(queries):
    X, y, groups = queries
    pairs = pairs_of(y, groups)
    weights = np.random.default_rng(4).integers(0, 3, len(pairs))
    weighted = LinearRank(loss="squared_hinge", tol=1e-9).fit_pairs(X, pairs, sample_weight=weights)
    repeated = LinearRank(loss="squared_hinge", tol=1e-9).fit_pairs(X, np.repeat(pairs, weights, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5)
    strong, weak = (LinearRank(alpha=a).fit(X, y, groups=groups).coef_ for a in (10.0, 0.01))
    assert np.linalg.norm(strong) < np.linalg.norm(weak)
    with pytest.warns(AssayWarning, match="W201"):
        short = LinearRank(loss="hinge", max_iter=2, trace=True).fit(X, y, groups=groups)
    assert short.n_iter_ == 2 and len(short.trace_) == 2
    assert not hasattr(LinearRank().fit(X, y, groups=groups), "trace_")


def test_score_is_the_area_under_the_curve_for_two_grades():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 2)).round(1)
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    model = LinearRank().fit(X, y)
    assert model.score(X, y) == pytest.approx(roc_auc_score(y, model.predict(X)), abs=1e-12)
    assert ordered_share("fit", [1, 2, 3], [1, 2, 3], None, None, 1) == 1.0


def test_refusals_are_one_sentence(queries):
    X, y, groups = queries
    for call, error, match in [
        (lambda: LinearRank().fit(X, np.ones(len(y))), DataError, "must differ"),
        (lambda: LinearRank().fit(X, groups, groups=groups), DataError, "must differ"),
        (lambda: LinearRank().fit(X, y, groups=groups[:5]), DataError, "groups"),
        (lambda: LinearRank().fit_pairs(X, [[0, 500]]), DataError, "row numbers"),
        (lambda: LinearRank().fit_pairs(X, [0, 1]), DataError, "n_pairs, 2"),
        (lambda: LinearRank(alpha=0.0).fit(X, y), ParameterError, "alpha"),
        (lambda: ordered_share("fit", [1, 1], [0, 1], None, None, 1), DataError, "differ"),
    ]:
        with pytest.raises(error, match=match) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("case", ["collinear", "constant", "huge", "tiny", "wide"])
def test_hard_tables_give_finite_coefficients(queries, loss, case):
    X, y, groups = queries
    X = {
        "collinear": np.column_stack([X, X[:, 0]]),
        "constant": np.column_stack([X, np.full(len(y), 3.0)]),
        "huge": X * 1e12,
        "tiny": X * 1e-12,
        "wide": np.tile(X, 40),
    }[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssayWarning)
        model = LinearRank(loss=loss, max_iter=200).fit(X, y, groups=groups)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.predict(X)).all()
    if case != "tiny":
        assert model.score(X, y, groups=groups) > 0.6
