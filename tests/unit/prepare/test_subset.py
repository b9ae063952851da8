"""Subset selection: every step against refitting from nothing, and against scikit-learn and statsmodels."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline

from assay import config
from assay.base import AssayWarning, CostError, DataError, ParameterError
from assay.base.cv import make_folds
from assay.models.linear import Ridge
from assay.prepare import BackwardSelector, ExhaustiveSelector, ForwardSelector
from assay.prepare.subset_scores import GramParts

FOLDS = 4


def table(n: int = 90, p: int = 8, seed: int = 0, noise: float = 1.0):
    """Correlated columns on different scales, half of them in the target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.8 * rng.normal(size=(n, 1))
    y = X[:, ::2] @ rng.normal(size=(p + 1) // 2) + noise * rng.normal(size=n)
    return X * 10.0 ** rng.integers(-3, 4, size=p) + rng.normal(size=p) * 5, y + 3.0


def refit_rss(X, y, columns, w=None, intercept=True):
    """Residual sum of squares by QR of the rows."""
    w = np.ones(len(y)) if w is None else w
    design = np.column_stack([np.ones((len(y), int(intercept))), X[:, list(columns)]])
    q, _ = np.linalg.qr(design * np.sqrt(w)[:, None])
    right = y * np.sqrt(w)
    rest = right - q @ (q.T @ right)
    return float(rest @ rest)


def refit_loss(X, y, columns, criterion, folds, w=None, intercept=True):
    """The criterion of a subset by refitting everything."""
    w, columns = np.ones(len(y)) if w is None else w, list(columns)
    if criterion == "cv":
        errors = []
        for train, test in folds:
            # scikit-learn's LinearRegression cuts directions below 1e-6 of the largest: columns are scaled first.
            scale = np.abs(X[train][:, columns]).max(axis=0)
            part = X[:, columns] / np.where(scale > 0, scale, 1.0)
            if columns:
                model = LinearRegression(fit_intercept=intercept, tol=1e-13)
                prediction = model.fit(part[train], y[train], w[train]).predict(part[test])
            else:
                prediction = np.full(len(test), np.average(y[train], weights=w[train]) if intercept else 0.0)
            errors.append(np.average((y[test] - prediction) ** 2, weights=w[test]))
        return float(np.mean(errors))
    n, k = w.sum(), len(columns) + intercept
    rss, total = refit_rss(X, y, columns, w, intercept), refit_rss(X, y, [], w, intercept)
    if criterion == "mallows_cp":
        p = X.shape[1] + intercept
        return rss / (refit_rss(X, y, range(X.shape[1]), w, intercept) / (n - p)) - n + 2 * k
    if criterion == "adjusted_r2":
        return -(1 - (rss / (n - k)) / (total / (n - intercept)))
    return n * (np.log(2 * np.pi * rss / n) + 1) + (2 if criterion == "aic" else np.log(n)) * k


def walk(X, y, criterion, folds, direction, floating, size):
    """Stepwise selection of `size` columns by refitting every candidate: the reference for every step."""
    p = X.shape[1]
    chosen: list[int] = [] if direction == "forward" else list(range(p))
    best = {len(chosen): (refit_loss(X, y, chosen, criterion, folds), tuple(chosen))}
    steps = []

    def move(candidates, change):
        losses = {j: refit_loss(X, y, change(j), criterion, folds) for j in candidates}
        column = min(losses, key=lambda j: losses[j])
        return column, losses

    def without(j):
        return [c for c in chosen if c != j]

    def with_column(j):
        return [*chosen, j]

    def settle(what, column, losses):
        nonlocal chosen
        chosen = with_column(column) if what == "add" else without(column)
        steps.append((what, column, losses))
        if losses[column] < best.get(len(chosen), (np.inf,))[0]:
            best[len(chosen)] = (losses[column], tuple(chosen))

    forward = direction == "forward"
    while len(chosen) != size:
        if forward:
            column, losses = move([j for j in range(p) if j not in chosen], with_column)
            settle("add", column, losses)
        else:
            column, losses = move(chosen, without)
            settle("remove", column, losses)
        while floating and (len(chosen) > 1 if forward else len(chosen) < p):
            if forward:
                other, losses = move([j for j in chosen if j != column], without)
            else:
                outside = [j for j in range(p) if j not in chosen and j != column]
                if not outside:
                    break
                other, losses = move(outside, with_column)
            target = len(chosen) + (-1 if forward else 1)
            if not losses[other] < best[target][0] - 1e-9 * abs(best[target][0]):
                break
            settle("remove" if forward else "add", other, losses)
    return best[size][1], steps


@pytest.mark.parametrize("criterion", ["cv", "aic", "bic", "adjusted_r2", "mallows_cp"])
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("cls", [ForwardSelector, BackwardSelector])
def test_every_candidate_of_every_step_equals_refitting(cls, floating, criterion):
    for seed in range(3):
        X, y = table(n=60, p=7, seed=seed)
        folds = list(KFold(FOLDS).split(X))
        direction = "forward" if cls is ForwardSelector else "backward"
        subset, steps = walk(X, y, criterion, folds, direction, floating, 4)
        model = cls(n_features_to_select=4, criterion=criterion, floating=floating, cv=FOLDS, trace=True).fit(X, y)
        moves = [r for r in model.trace_ if r["what"] in ("add", "remove")]
        assert [(r["what"], r["values"]["column"]) for r in moves] == [(what, j) for what, j, _ in steps]
        for record, (_, _, losses) in zip(moves, steps, strict=True):
            assert record["values"]["candidates"] == sorted(losses)
            expected = [losses[j] for j in sorted(losses)]
            np.testing.assert_allclose(record["values"]["losses"], expected, rtol=1e-8, atol=1e-9)
        assert set(np.flatnonzero(model.support_)) == set(subset)


def test_floating_finds_what_plain_forward_misses():
    """x0 is a noisy sum of x1 and x2: taken first, then superfluous."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X[:, 1] + X[:, 2]
    X[:, 0] = y + 0.4 * rng.normal(size=200)
    y = y + 0.05 * rng.normal(size=200)
    plain = ForwardSelector(n_features_to_select=2).fit(X, y)
    floating = ForwardSelector(n_features_to_select=2, floating=True, trace=True).fit(X, y)
    assert plain.order_[0] == 0
    best = ForwardSelector(n_features_to_select="best", floating=True).fit(X, y)
    assert best.path_["subsets"][2].tolist() == [1, 2]
    assert floating.scores_["criterion"][-1] <= plain.scores_["criterion"][-1]


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_agrees_with_scikit_learn_on_the_same_folds(direction):
    """Reference: sklearn.feature_selection.SequentialFeatureSelector around LinearRegression, run here."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:440], y[:440]
    folds = list(KFold(5, shuffle=True, random_state=1).split(X))
    peer = SequentialFeatureSelector(
        LinearRegression(), n_features_to_select=4, direction=direction, scoring="neg_mean_squared_error", cv=folds
    ).fit(X, y)
    cls = ForwardSelector if direction == "forward" else BackwardSelector
    ours = cls(n_features_to_select=4, cv=folds).fit(X, y)
    np.testing.assert_array_equal(ours.get_support(), peer.get_support())
    score = cross_val_score(LinearRegression(), peer.transform(X), y, cv=folds, scoring="neg_mean_squared_error")
    at = list(ours.path_["sizes"]).index(4)
    assert ours.scores_["cv_error"][at] == pytest.approx(-score.mean(), rel=1e-10)
    assert ours.scores_["cv_error_se"][at] == pytest.approx(score.std(ddof=1) / np.sqrt(5), rel=1e-9)


def test_criteria_equal_those_of_statsmodels():
    """Reference: statsmodels OLS (aic, bic, rsquared_adj, ssr), run here."""
    sm = pytest.importorskip("statsmodels.api")
    X, y = table(seed=3)
    model = ForwardSelector(n_features_to_select="best", criterion="aic").fit(X, y)
    for i, subset in enumerate(model.path_["subsets"]):
        peer = sm.OLS(y, sm.add_constant(X[:, subset], has_constant="add")).fit()
        for ours, theirs in (("aic", peer.aic), ("bic", peer.bic), ("rss", peer.ssr), ("r2", peer.rsquared)):
            assert model.scores_[ours][i] == pytest.approx(theirs, rel=1e-8, abs=1e-8)
        assert model.scores_["adjusted_r2"][i] == pytest.approx(peer.rsquared_adj, rel=1e-8, abs=1e-8)


def test_mallows_cp_of_all_columns_is_the_number_of_coefficients():
    X, y = table()
    model = BackwardSelector(criterion="mallows_cp").fit(X, y)
    assert model.scores_["criterion"][-1] == pytest.approx(X.shape[1] + 1)
    with pytest.raises(DataError, match="more rows than columns"):
        BackwardSelector(criterion="mallows_cp").fit(X[:6], y[:6])


@pytest.mark.parametrize("cls", [ForwardSelector, BackwardSelector])
@pytest.mark.parametrize("criterion", ["cv", "bic"])
def test_auto_stops_at_the_first_step_that_is_not_worth_it(cls, criterion):
    X, y = table(p=9, seed=5)
    model = cls(criterion=criterion, cv=FOLDS).fit(X, y)
    folds = list(KFold(FOLDS).split(X))
    chosen = list(np.flatnonzero(model.support_))
    here = refit_loss(X, y, chosen, criterion, folds)
    if cls is ForwardSelector:
        others = [[*chosen, j] for j in range(9) if j not in chosen]
        assert min(refit_loss(X, y, c, criterion, folds) for c in others) >= here
    else:
        assert min(refit_loss(X, y, [c for c in chosen if c != j], criterion, folds) for j in chosen) > here
    assert 0 < len(chosen) < 9
    greedy = cls(criterion=criterion, cv=FOLDS, tol=0.5 if criterion == "cv" else 150.0).fit(X, y)
    assert greedy.n_features_to_select_ < model.n_features_to_select_


def test_best_walks_to_the_end_and_takes_the_best_size():
    X, y = table(p=9, seed=6)
    model = ForwardSelector(n_features_to_select="best", criterion="bic").fit(X, y)
    assert model.path_["sizes"].tolist() == list(range(10))
    at = int(np.argmin(model.scores_["bic"]))
    assert model.n_features_to_select_ == model.path_["sizes"][at] == model.support_.sum()
    assert model.path_["subsets"][at].tolist() == np.flatnonzero(model.support_).tolist()


@pytest.mark.parametrize("cls", [ForwardSelector, BackwardSelector, ExhaustiveSelector])
def test_fixed_columns_stay_and_sizes_are_obeyed(cls):
    X, y = table(p=7)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    for always in (["b", "g"], [1, -1], np.isin(np.arange(7), [1, 6])):
        model = cls(always=always, n_features_to_select=3).fit(frame, y)
        assert model.support_[[1, 6]].all() and model.support_.sum() == 3
    limited = cls(max_features=2, criterion="aic").fit(frame, y)
    assert limited.support_.sum() <= 2 and max(limited.path_["sizes"]) <= 2
    forced = cls(min_features=6, criterion="bic").fit(frame, y)
    assert forced.support_.sum() >= 6
    for bad in (["no such column"], [9], [1.5]):
        with pytest.raises(ParameterError, match="always"):
            cls(always=bad).fit(frame, y)
    with pytest.raises(ParameterError, match="n_features_to_select"):
        cls(n_features_to_select=8).fit(frame, y)
    with pytest.raises(ParameterError, match="max_features"):
        cls(always=["a", "b"], max_features=1).fit(frame, y)


def test_no_column_is_chosen_only_where_that_is_allowed():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 4)), rng.normal(size=80)
    assert ForwardSelector(criterion="bic").fit(X, y).support_.sum() == 1
    assert ForwardSelector(criterion="bic", min_features=0).fit(X, y).support_.sum() == 0
    assert BackwardSelector(criterion="bic", min_features=0).fit(X, y).support_.sum() == 0


@pytest.mark.parametrize("cls", [ForwardSelector, BackwardSelector, ExhaustiveSelector])
@pytest.mark.parametrize("criterion", ["cv", "aic", "mallows_cp"])
def test_weights_equal_repetition(cls, criterion):
    X, y = table(n=70, p=6, seed=8)
    counts = np.random.default_rng(1).integers(0, 4, size=70)
    owner = np.repeat(np.arange(70), counts)
    groups = np.arange(70) % FOLDS
    folds = [(np.flatnonzero(groups != f), np.flatnonzero(groups == f)) for f in range(FOLDS)]
    repeated = [(np.flatnonzero(groups[owner] != f), np.flatnonzero(groups[owner] == f)) for f in range(FOLDS)]
    one = cls(criterion=criterion, cv=folds).fit(X, y, sample_weight=counts)
    two = cls(criterion=criterion, cv=repeated).fit(X[owner], y[owner])
    np.testing.assert_array_equal(one.support_, two.support_)
    for name in one.scores_:
        np.testing.assert_allclose(one.scores_[name], two.scores_[name], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("cls", [ForwardSelector, BackwardSelector, ExhaustiveSelector])
def test_column_order_and_scale_do_not_matter(cls):
    X, y = table(p=7, seed=4)
    order = np.random.default_rng(0).permutation(7)
    factors = 10.0 ** np.array([12, -12, 6, -6, 3, -3, 0])
    here = cls(criterion="cv").fit(X, y)
    there = cls(criterion="cv").fit((X * factors)[:, order], 1e6 * y - 4)
    np.testing.assert_array_equal(here.support_[order], there.support_)
    np.testing.assert_allclose(here.scores_["cv_error"] * 1e12, there.scores_["cv_error"], rtol=1e-7)


@pytest.mark.parametrize("cls", [ForwardSelector, BackwardSelector, ExhaustiveSelector])
def test_number_of_threads_changes_no_bit(cls):
    X, y = table(n=400, p=12, seed=9)
    models = [cls(criterion="cv", n_jobs=jobs, random_state=0).fit(X, y) for jobs in (1, 2, 5)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.order_, models[0].order_)
        np.testing.assert_array_equal(model.scores_["cv_error"], models[0].scores_["cv_error"])


def test_seed_shuffles_rows_and_none_keeps_blocks():
    X, y = table(n=100, p=6, seed=1)
    blocks = ForwardSelector(n_features_to_select=2).fit(X, y).scores_["cv_error"]
    given = ForwardSelector(n_features_to_select=2, cv=KFold(5)).fit(X, y).scores_["cv_error"]
    first, again, other = (
        ForwardSelector(n_features_to_select=2, random_state=s).fit(X, y).scores_["cv_error"] for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(blocks, given)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other) and not np.array_equal(first, blocks)
    fewer = ForwardSelector(n_features_to_select=2, cv=3).fit(X, y).scores_["cv_error"]
    assert not np.array_equal(fewer, blocks)


def test_folds_that_do_not_split_all_rows_are_read_from_the_rows():
    X, y = table(n=80, p=5, seed=2)
    splitter = TimeSeriesSplit(4)
    model = ForwardSelector(n_features_to_select="best", cv=splitter).fit(X, y)
    for i, subset in enumerate(model.path_["subsets"]):
        expected = refit_loss(X, y, subset, "cv", list(splitter.split(X)))
        assert model.scores_["cv_error"][i] == pytest.approx(expected, rel=1e-8)


def test_bad_folds_are_refused_in_one_sentence():
    X, y = table(n=20, p=3)
    for bad in ([(np.arange(5), np.array([99]))], [1, 2], []):
        with pytest.raises(ParameterError, match="cv"):
            ForwardSelector(cv=bad).fit(X, y)
    with pytest.warns(AssayWarning, match="each of these is a fold"):
        ForwardSelector(cv=5).fit(X[:4], y[:4])


def test_without_intercept():
    X, y = table(p=5, seed=7)
    folds = list(KFold(FOLDS).split(X))
    for criterion in ("cv", "aic", "adjusted_r2"):
        model = ForwardSelector(n_features_to_select="best", criterion=criterion, fit_intercept=False, cv=FOLDS)
        model.fit(X, y)
        for i, subset in enumerate(model.path_["subsets"]):
            sign = -1 if criterion == "adjusted_r2" else 1
            expected = sign * refit_loss(X, y, subset, criterion, folds, intercept=False)
            assert model.scores_["criterion"][i] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("cls", [ForwardSelector, BackwardSelector, ExhaustiveSelector])
@pytest.mark.parametrize("criterion", ["cv", "bic"])
def test_hard_columns_never_give_nan(cls, criterion):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9))
    y = 2 * X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=60)
    X[:, 2] = 7.3
    X[:, 3] = X[:, 0]
    X[:, 4] = X[:, 0] - 3 * X[:, 1]
    X[:, 5] = 1e12 + 1e12 * X[:, 5]
    X[:, 6] *= 1e-200
    X[:, 7] *= 1e200
    X[:, 8] = np.arange(60) == 17
    model = cls(criterion=criterion).fit(X, y)
    assert not model.support_[2]
    assert np.linalg.matrix_rank(X[:, [0, 1, 3, 4]][:, model.support_[[0, 1, 3, 4]]]) == 2
    assert model.support_[[0, 1, 3, 4]].sum() == 2
    for name, values in model.scores_.items():
        assert np.isfinite(values).all(), name
    i = list(model.path_["sizes"]).index(model.n_features_to_select_)
    usable = X / np.abs(X).max(axis=0)
    expected = refit_rss(usable, y, np.flatnonzero(model.support_))
    assert model.scores_["rss"][i] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("cls", [ForwardSelector, BackwardSelector])
def test_more_columns_than_rows(cls):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 60))
    y = X[:, 3] * 3 + 0.1 * rng.normal(size=25)
    model = cls(n_features_to_select=2, criterion="cv").fit(X, y)
    assert model.support_.sum() == 2
    assert np.isfinite(model.scores_["cv_error"]).all()
    with pytest.warns(AssayWarning, match="W151"):
        full = ForwardSelector(n_features_to_select=40, criterion="aic").fit(X, y)
    assert full.support_.sum() == 24


def test_a_perfect_fit_takes_no_more_columns():
    X, _ = table(p=8, seed=11)
    y = X[:, 1] / X[:, 1].std() - 2 * X[:, 6] / X[:, 6].std()
    for criterion in ("cv", "aic", "bic", "adjusted_r2"):
        assert set(ForwardSelector(criterion=criterion).fit(X, y).order_) == {1, 6}
        assert set(np.flatnonzero(BackwardSelector(criterion=criterion).fit(X, y).support_)) == {1, 6}


def test_constant_target_and_constant_table():
    X, _ = table(p=4)
    for cls in (ForwardSelector, BackwardSelector, ExhaustiveSelector):
        model = cls().fit(X, np.zeros(len(X)))
        assert model.support_.sum() == 1
        assert np.isfinite(model.scores_["criterion"]).all()
        with pytest.raises(DataError, match="varies"):
            cls().fit(np.ones((30, 3)), np.arange(30.0))


def test_column_that_varies_in_one_fold_only():
    """The training rows of the other folds hold a constant there: coefficient zero, as the refit gives."""
    X, y = table(n=40, p=3, seed=12)
    X[:, 2] = np.where(np.arange(40) == 3, 1.0, 0.0)
    folds = list(KFold(FOLDS).split(X))
    model = ForwardSelector(n_features_to_select=3, cv=FOLDS).fit(X, y)
    assert model.scores_["cv_error"][-1] == pytest.approx(refit_loss(X, y, [0, 1, 2], "cv", folds), rel=1e-8)


def test_subtraction_is_left_where_a_fold_holds_the_variation():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    X[:10, 1] *= 1e7
    y = X[:, 0] + rng.normal(size=40)
    y[10:] += X[10:, 1]
    folds = list(KFold(FOLDS).split(X))
    parts = GramParts.of(X, y, None, folds, fit_intercept=True, threads=1)
    train = folds[0][0]
    centred = X[train] - X[train].mean(axis=0)
    correlation = np.corrcoef(centred.T)
    np.testing.assert_allclose(parts.train[0][:3, :3], correlation, atol=1e-12)


def test_two_labels_are_a_linear_probability_and_more_need_a_learner():
    X, labels = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[labels]
    two = names != "c"
    text = ForwardSelector(n_features_to_select=2).fit(X[two], names[two])
    number = ForwardSelector(n_features_to_select=2).fit(X[two], labels[two])
    np.testing.assert_array_equal(text.order_, number.order_)
    with pytest.raises(DataError, match="estimator"):
        ForwardSelector().fit(X, names)
    model = ForwardSelector(n_features_to_select=2, estimator=LogisticRegression()).fit(X, names)
    peer = SequentialFeatureSelector(LogisticRegression(), n_features_to_select=2, cv=5).fit(X, names)
    np.testing.assert_array_equal(model.get_support(), peer.get_support())


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("learner", [Ridge(alpha=2.0), LinearRegression()])
def test_any_learner_by_refitting_agrees_with_scikit_learn(direction, learner):
    X, y = table(n=60, p=5, seed=13)
    cls = ForwardSelector if direction == "forward" else BackwardSelector
    ours = cls(n_features_to_select=2, estimator=learner, cv=3, n_jobs=2).fit(X, y)
    peer = SequentialFeatureSelector(learner, n_features_to_select=2, direction=direction, cv=3).fit(X, y)
    np.testing.assert_array_equal(ours.get_support(), peer.get_support())
    at = list(ours.path_["sizes"]).index(2)
    assert ours.scores_["criterion"][at] == pytest.approx(cross_val_score(learner, peer.transform(X), y, cv=3).mean())
    other = cls(n_features_to_select=2, estimator=learner, cv=3, scoring="neg_mean_absolute_error").fit(X, y)
    assert other.scores_["criterion"][at] < 0


def test_a_learner_with_squared_error_equals_the_sweeps():
    X, y = table(n=60, p=5, seed=14)
    weights = np.random.default_rng(0).integers(1, 4, size=60)
    for floating in (False, True):
        sweep = ForwardSelector(floating=floating).fit(X, y, sample_weight=weights)
        refit = ForwardSelector(floating=floating, estimator=LinearRegression(), scoring="neg_mean_squared_error").fit(
            X, y, sample_weight=weights
        )
        np.testing.assert_array_equal(sweep.order_, refit.order_)
        np.testing.assert_allclose(sweep.scores_["criterion"][1:], -refit.scores_["criterion"][1:], rtol=1e-8)
    with pytest.raises(ParameterError, match="criterion"):
        ForwardSelector(estimator=LinearRegression(), criterion="aic").fit(X, y)


def test_best_subsets_are_the_best_of_all():
    X, y = table(n=40, p=7, seed=15)
    model = ExhaustiveSelector(n_best=3, criterion="aic").fit(X, y)
    for size in range(1, 8):
        ranked = sorted((refit_rss(X, y, c), c) for c in itertools.combinations(range(7), size))
        kept = model.subsets_["size"] == size
        np.testing.assert_allclose(model.subsets_["rss"][kept], [r for r, _ in ranked[:3]], rtol=1e-9)
        np.testing.assert_array_equal(model.subsets_["rank"][kept], np.arange(1, kept.sum() + 1))
        assert tuple(np.flatnonzero(model.subsets_["members"][kept][0])) == ranked[0][1]
    best = min(
        (c for size in range(1, 8) for c in itertools.combinations(range(7), size)),
        key=lambda c: refit_loss(X, y, c, "aic", None),
    )
    assert tuple(np.flatnonzero(model.support_)) == best
    need = [refit_rss(X, y, [c for c in best if c != j]) for j in model.order_]
    assert need == sorted(need, reverse=True)


def test_cross_validation_of_best_subsets_searches_in_every_fold():
    X, y = table(n=40, p=5, seed=16)
    folds = list(KFold(FOLDS).split(X))
    model = ExhaustiveSelector(criterion="cv", cv=FOLDS).fit(X, y)
    for i, size in enumerate(range(1, 6)):
        errors = []
        for train, test in folds:
            best = min(itertools.combinations(range(5), size), key=lambda c: refit_rss(X[train], y[train], c))
            fitted = LinearRegression().fit(X[train][:, best], y[train])
            errors.append(np.mean((y[test] - fitted.predict(X[test][:, best])) ** 2))
        assert model.scores_["cv_error"][i] == pytest.approx(np.mean(errors), rel=1e-8)


def test_exhaustive_search_refuses_what_it_cannot_search():
    rng = np.random.default_rng(0)
    with config.use(max_seconds=1e30), pytest.raises(DataError, match="at most 63"):
        ExhaustiveSelector().fit(rng.normal(size=(100, 70)), rng.normal(size=100))
    with pytest.raises(CostError, match="max_seconds"):
        ExhaustiveSelector().fit(rng.normal(size=(100, 70)), rng.normal(size=100))
    with pytest.raises(DataError, match="more rows than columns"):
        ExhaustiveSelector().fit(rng.normal(size=(20, 25)), rng.normal(size=20))


def test_names_frames_pipelines_and_output():
    X, y = table(p=4)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = ForwardSelector(n_features_to_select=2).set_output(transform="pandas").fit(frame, y)
    out = model.transform(frame)
    assert list(out.columns) == list(model.get_feature_names_out()) == list(frame.columns[model.support_])
    np.testing.assert_array_equal(model.inverse_transform(out)[:, ~model.support_], 0.0)
    pipe = make_pipeline(ForwardSelector(), LinearRegression())
    assert np.isfinite(cross_val_score(pipe, X, y, cv=3)).all()


def test_summary_marks_the_chosen_line_and_names_columns():
    X, y = table(p=4)
    frame = pd.DataFrame(X, columns=["age", "height", "mass", "noise"])
    for cls in (ForwardSelector, BackwardSelector, ExhaustiveSelector):
        model = cls(criterion="bic").fit(frame, y)
        text = model.summary()
        marked = [line for line in text.splitlines() if line.lstrip().startswith("*")]
        assert len(marked) == 1 and f" {model.n_features_to_select_} " in marked[0]
        assert text.splitlines()[-1] == "chosen: " + ", ".join(model.get_feature_names_out())


def test_trace_lists_candidates_and_is_json():
    X, y = table(p=5)
    model = ForwardSelector(trace=True, criterion="bic").fit(X, y)
    assert model.trace_[0]["what"] == "start" and model.trace_[-1]["what"] == "stop"
    assert len(model.trace_[1]["values"]["candidates"]) == 5
    json.dumps(model.trace_)


def test_stability_tells_signal_from_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=120)
    model = ForwardSelector(criterion="bic")
    found = model.stability(X, y, n_resamples=20)
    again = clone(model).stability(X, y, n_resamples=20)
    np.testing.assert_array_equal(found.frequency, again.frequency)
    assert (found.frequency[:2] == 1.0).all() and (found.frequency[2:] < 0.5).all()
    assert found.sizes.shape == (20,) and found.sizes.mean() == pytest.approx(found.frequency.sum())
    assert 0.5 < found.agreement <= 1.0
    other = model.stability(X, y, n_resamples=20, random_state=1, sample_weight=np.ones(120))
    assert (other.frequency[:2] == 1.0).all()
    with pytest.raises(ParameterError, match="n_resamples"):
        model.stability(X, y, n_resamples=1)


def test_folds_of_a_classifier_are_stratified():
    y = np.repeat([0, 1], [40, 10])
    for _, test in make_folds("test", 5, y, stratify=True):
        assert y[test].sum() == 2


def test_removing_nearly_dependent_columns_keeps_the_digits():
    """Powers of a variable: inflation up to 1e9, walked from all columns down to one."""
    rng = np.random.default_rng(4)
    t = rng.uniform(0, 1, size=300)
    X = np.column_stack([t**k for k in range(1, 7)])
    y = np.sin(5 * t) + 0.1 * rng.normal(size=300)
    model = BackwardSelector(n_features_to_select=1, criterion="aic", trace=True).fit(X, y)
    chosen = list(range(6))
    for record in [r for r in model.trace_ if r["what"] == "remove"]:
        losses = record["values"]["losses"]
        expected = [refit_loss(X, y, [c for c in chosen if c != j], "aic", None) for j in chosen]
        np.testing.assert_allclose(losses, expected, rtol=1e-5)
        chosen.remove(record["values"]["column"])


def test_best_subsets_need_rows_that_count():
    X = np.random.default_rng(1).normal(size=(40, 3))
    with pytest.raises(DataError, match="a column that varies over the rows that count"):
        ExhaustiveSelector().fit(X, X[:, 0], sample_weight=10.0 ** (-11.0 * np.arange(40)))


@pytest.mark.parametrize("kind", [ForwardSelector, BackwardSelector])
def test_an_open_seed_of_the_learner_follows_from_that_of_the_selector_fold_by_fold(kind):
    X, y = table(60, 4)
    seeds = []

    class Watched(ExtraTreesRegressor):
        def fit(self, X, y, sample_weight=None):
            seeds.append((float(X[0, 0]), X.shape[1], self.random_state))
            return super().fit(X, y, sample_weight)

    def scores(seed):
        found = kind(estimator=Watched(2), cv=3, n_features_to_select=2, random_state=seed, n_jobs=1).fit(X, y)
        return found.path_["criterion"].tolist()

    first, drawn = scores(4), sorted({seed for *_, seed in seeds})
    assert len(drawn) == 3, "one seed for each fold, the same for all subsets"
    seeds.clear()
    assert scores(4) == first and sorted({seed for *_, seed in seeds}) == drawn
    seeds.clear()
    scores(5)
    assert not set(drawn) & {seed for *_, seed in seeds}
