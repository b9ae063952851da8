"""Pruning: reduced error on other rows, and the price of a leaf chosen in cross-validation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from assay.base import DataError, ParameterError
from assay.models.trees import CartClassifier, CartRegressor
from assay.models.trees.pruning import (
    PruningCurve,
    class_loss,
    costs_along_path,
    node_costs,
    path_alphas,
    reduced_error_leaves,
)


def noisy(n=300, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.8 * rng.normal(size=n) > 0).astype(int), X[:, 0] ** 2 + 0.5 * rng.normal(size=n)


@pytest.fixture(scope="module")
def parts():
    X, y, z = noisy()
    return X[:200], y[:200], z[:200], X[200:], y[200:], z[200:]


class Given(KFold):
    """A splitter whose folds are given."""

    def __init__(self, pairs):
        super().__init__(3)
        self.pairs = pairs

    def split(self, X, y=None, groups=None):
        return self.pairs


def by_group(group):
    return [(np.flatnonzero(group != k), np.flatnonzero(group == k)) for k in range(3)]


# -- reduced error ---
def test_pruning_returns_a_copy_and_leaves_the_model_alone(parts):
    X, y, _, V, v, _ = parts
    model = CartClassifier(trace=True).fit(X, y)
    before = model.tree_
    pruned = model.prune_reduced_error(V, v)
    assert pruned is not model and model.tree_ is before and type(pruned) is CartClassifier
    assert pruned.get_n_leaves() < model.get_n_leaves()
    assert pruned.score(V, v) > model.score(V, v)
    assert pruned.get_params() == model.get_params()


def test_weights_of_the_pruning_rows_equal_repetition(parts):
    X, y, z, V, v, u = parts
    counts = np.random.default_rng(1).integers(0, 3, len(v))
    for model, target in ((CartClassifier().fit(X, y), v), (CartRegressor().fit(X, z), u)):
        a = model.prune_reduced_error(V, target, sample_weight=counts)
        b = model.prune_reduced_error(np.repeat(V, counts, axis=0), np.repeat(target, counts))
        np.testing.assert_array_equal(a.tree_.feature, b.tree_.feature)


def test_class_weight_counts_in_reduced_error(parts):
    X, y, _, V, v, _ = parts
    weight = {0: 20.0, 1: 1.0}
    model = CartClassifier(class_weight=weight, max_depth=5).fit(X, y)
    plain = CartClassifier(max_depth=5).fit(X, y)
    pruned = model.prune_reduced_error(V, v)
    equal = model.set_params(class_weight=None).prune_reduced_error(V, v, sample_weight=np.where(v == 0, 20.0, 1.0))
    np.testing.assert_array_equal(pruned.tree_.feature, equal.tree_.feature)
    costs = [float(np.dot(m.predict(V) != v, np.where(v == 0, 20.0, 1.0))) for m in (pruned, plain)]
    assert costs[0] <= costs[1]
    balanced = CartClassifier(class_weight="balanced", max_depth=5).fit(X, y)
    assert balanced.prune_reduced_error(V, v).get_n_leaves() <= balanced.get_n_leaves()


def test_rows_of_an_unknown_class_are_missed_everywhere(parts):
    X, y, _, V, v, _ = parts
    model = CartClassifier().fit(X, y)
    known = model.prune_reduced_error(V, v)
    with_others = model.prune_reduced_error(np.vstack([V, V]), np.concatenate([v, np.full(len(v), 7)]))
    np.testing.assert_array_equal(known.tree_.feature, with_others.tree_.feature)


def test_nodes_that_no_pruning_row_reaches_go():
    X = np.arange(8.0)[:, None]
    model = CartClassifier().fit(X, [0, 1, 0, 1, 1, 1, 1, 1])
    assert model.prune_reduced_error([[7.0]], [1]).get_n_leaves() == 1
    assert model.prune_reduced_error(X, [0, 1, 0, 1, 1, 1, 1, 1]).get_n_leaves() == model.get_n_leaves()


def test_several_outputs_are_pruned_by_their_summed_squares(parts):
    X, _, z, V, _, u = parts
    model = CartRegressor().fit(X, np.column_stack([z, -z]))
    one = CartRegressor().fit(X, z).prune_reduced_error(V, u)
    both = model.prune_reduced_error(V, np.column_stack([u, -u]))
    assert both.get_n_leaves() == one.get_n_leaves() < model.get_n_leaves()


def test_pruning_rows_must_fit_the_model(parts):
    X, y, z, V, v, u = parts
    with pytest.raises(DataError, match="same number of rows"):
        CartClassifier().fit(X, y).prune_reduced_error(V, v[:-1])
    with pytest.raises(DataError, match="1 finite numbers"):
        CartRegressor().fit(X, z).prune_reduced_error(V, np.column_stack([u, u]))
    with pytest.raises(DataError, match="sample_weight"):
        CartRegressor().fit(X, z).prune_reduced_error(V, u, sample_weight=[1.0])


def test_pessimistic_pruning_cuts_more_the_less_the_training_rows_are_trusted(parts):
    X, y, *_ = parts
    model = CartClassifier().fit(X, y)
    leaves = [model.prune_pessimistic(trust).get_n_leaves() for trust in (0.5, 0.25, 0.001)]
    assert model.get_n_leaves() >= leaves[0] >= leaves[1] > leaves[2]
    with pytest.raises(ParameterError, match="confidence_factor"):
        model.prune_pessimistic(0.0)


# -- the path ---
def test_classification_path_is_that_of_scikit_learn():
    """Effective alphas and impurities of DecisionTreeClassifier; random weights keep splits from tying."""
    X, y, _ = noisy(400, 5)
    weights = np.random.default_rng(2).integers(1, 1000, 400) / 64
    for criterion in ("gini", "entropy"):
        ours = CartClassifier(criterion=criterion, min_samples_leaf=4).cost_complexity_pruning_path(X, y, weights)
        theirs = DecisionTreeClassifier(
            criterion=criterion, min_samples_leaf=4, random_state=0
        ).cost_complexity_pruning_path(X, y, weights)
        np.testing.assert_allclose(ours.ccp_alphas, theirs.ccp_alphas, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(ours.impurities, theirs.impurities, rtol=1e-8)


def test_totals_along_the_path_are_those_of_the_trees_cut_one_by_one(parts):
    X, y, _, V, v, _ = parts
    tree = CartClassifier().fit(X, y).tree_
    leaves = tree.apply(V, 1)
    costs, squares = node_costs(tree, leaves, class_loss(tree, v.astype(np.int32)), None)
    np.testing.assert_array_equal(costs, squares)
    alphas, counts = path_alphas(tree)
    assert (np.diff(alphas) > 0).all() and counts[-1] == 1 and (np.diff(counts) < 0).all()
    totals = costs_along_path(tree, costs, alphas)
    for alpha, count, total in zip(alphas, counts, totals, strict=True):
        pruned = tree.pruned(alpha)
        assert pruned.n_leaves == count
        assert total == pytest.approx((pruned.value.argmax(axis=1)[pruned.apply(V, 1)] != v).sum())


@pytest.mark.parametrize("kind", ["class", "squared_error", "absolute_error"])
def test_curve_is_that_of_refitting_at_every_alpha(parts, kind):
    """Brute force: one fit per fold and alpha, the mean loss of held-out rows and the standard error of that mean."""
    X, y, z, *_ = parts
    X, y, z = X[:120], y[:120], z[:120]
    folds = StratifiedKFold(4) if kind == "class" else KFold(4)
    model = CartClassifier() if kind == "class" else CartRegressor(criterion=kind)
    target = y if kind == "class" else z
    curve = model.pruning_path_cv(X, target, cv=folds)
    for k in range(0, len(curve.alphas), 5):
        losses = np.empty(120)
        for train, test in folds.split(X, target):
            said = model.set_params(ccp_alpha=float(curve.alphas[k])).fit(X[train], target[train]).predict(X[test])
            miss = np.abs(said - target[test])
            losses[test] = miss > 0 if kind == "class" else miss**2 if kind == "squared_error" else miss
        assert curve.errors[k] == pytest.approx(losses.mean())
        assert curve.standard_errors[k] == pytest.approx(losses.std() / np.sqrt(120))
        model.fit(X, target)
        assert model.get_n_leaves() == curve.leaves[k]


def test_alphas_lie_inside_the_ranges_of_the_path(parts):
    X, y, *_ = parts
    ends = np.unique(CartClassifier().cost_complexity_pruning_path(X, y).ccp_alphas)
    curve = CartClassifier().pruning_path_cv(X, y)
    np.testing.assert_allclose(curve.alphas[:-1], np.sqrt(ends[:-1] * ends[1:]))
    assert curve.alphas[-1] == 2 * ends[-1]


def test_weights_count_in_the_curve(parts):
    X, y, *_ = parts
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    group = np.arange(len(y)) % 3
    copies = np.repeat(np.arange(len(y)), weights.astype(int))
    a = CartClassifier().pruning_path_cv(X, y, weights, cv=Given(by_group(group)))
    b = CartClassifier().pruning_path_cv(X[copies], y[copies], cv=Given(by_group(group[copies])))
    np.testing.assert_allclose(a.errors, b.errors)
    np.testing.assert_allclose(a.standard_errors, b.standard_errors)


def test_rules_choose_the_least_error_and_the_smallest_tree_near_it():
    numbers = {
        "alphas": np.array([0.0, 0.1, 0.2, 0.3]),
        "leaves": np.array([9, 5, 3, 1]),
        "errors": np.array([0.3, 0.2, 0.2, 0.23]),
        "standard_errors": np.array([0.05, 0.04, 0.04, 0.04]),
    }
    assert PruningCurve(**numbers, rule="min").chosen == 2
    curve = PruningCurve(**numbers, rule="1se")
    assert curve.chosen == 3 and curve.ccp_alpha == 0.3
    assert curve.to_dict()["leaves"] == [9, 5, 3, 1]
    assert str(curve).splitlines()[4].split() == ["*", "1", "0.3", "0.23", "0.04"]
    assert str(curve).endswith("chosen by one standard error: ccp_alpha 0.3, 1 leaf")
    assert curve._repr_html_().count("<tr>") == 5


@pytest.mark.parametrize("model", [CartClassifier(), CartRegressor()])
def test_fit_takes_the_alpha_that_cross_validation_chose(parts, model):
    X, y, z, *_ = parts
    target = y if isinstance(model, CartClassifier) else z
    for name, rule in (("cv", "min"), ("cv_1se", "1se")):
        curve = model.pruning_path_cv(X, target, rule=rule)
        fitted = type(model)(ccp_alpha=name).fit(X, target)
        assert fitted.ccp_alpha_ == curve.ccp_alpha == fitted.pruning_curve_.ccp_alpha
        assert fitted.get_n_leaves() == curve.leaves[curve.chosen]
        again = type(model)(ccp_alpha=fitted.ccp_alpha_).fit(X, target)
        np.testing.assert_array_equal(again.tree_.feature, fitted.tree_.feature)
    assert type(model)(ccp_alpha="cv_1se").fit(X, target).get_n_leaves() < type(model)().fit(X, target).get_n_leaves()


def test_pruning_by_cross_validation_predicts_better_on_noise():
    X, y, _ = noisy(1500, 3, d=6)
    full = CartClassifier().fit(X[:500], y[:500]).score(X[500:], y[500:])
    assert CartClassifier(ccp_alpha="cv").fit(X[:500], y[:500]).score(X[500:], y[500:]) > full + 0.03


def test_folds_follow_cv_and_random_state(parts):
    X, y, *_ = parts
    default = CartClassifier().pruning_path_cv(X, y)
    np.testing.assert_array_equal(default.errors, CartClassifier().pruning_path_cv(X, y).errors)
    assert (default.errors != CartClassifier().pruning_path_cv(X, y, cv=3).errors).any()
    assert (default.errors != CartClassifier(random_state=9).pruning_path_cv(X, y).errors).any()
    np.testing.assert_array_equal(default.errors, CartClassifier().pruning_path_cv(X, y, cv=StratifiedKFold(5)).errors)


def test_outer_folds_choose_their_alpha_from_their_own_rows():
    X, y, _ = noisy(150, 2)
    frame = pd.DataFrame(X).assign(kind=np.where(X[:, 1] > 0, "up", "down"))
    frame.columns = frame.columns.astype(str)
    model = CartClassifier(ccp_alpha="cv", cv=3)
    folds = list(KFold(3).split(X))
    for (train, _), shared in zip(folds, model.fit_folds(frame, y, folds), strict=True):
        alone = CartClassifier(ccp_alpha="cv", cv=3).fit(frame.iloc[train], y[train])
        assert shared.ccp_alpha_ == alone.ccp_alpha_
        np.testing.assert_array_equal(shared.predict_proba(frame), alone.predict_proba(frame))


def test_tiny_and_constant_tables_have_nothing_to_prune():
    one = CartRegressor(ccp_alpha="cv").fit([[1.0]], [2.0])
    assert one.ccp_alpha_ == 0 and not hasattr(one, "pruning_curve_")
    flat = CartClassifier(ccp_alpha="cv", cv=5).fit([[1.0], [2.0], [3.0]], [1, 1, 1])
    assert flat.pruning_curve_.alphas.tolist() == [0.0] and flat.get_n_leaves() == 1
    again = flat.set_params(ccp_alpha=0.0).fit([[1.0], [2.0]], [0, 1])
    assert not hasattr(again, "pruning_curve_")


def test_a_rule_or_splitter_that_cannot_be_is_refused(parts):
    X, y, *_ = parts
    with pytest.raises(ParameterError, match="rule"):
        CartClassifier().pruning_path_cv(X, y, rule="best")
    with pytest.raises(ParameterError, match="cv"):
        CartClassifier().pruning_path_cv(X, y, cv=1)
    with pytest.raises(ParameterError, match="to train and to test on"):
        CartClassifier().pruning_path_cv(X, y, cv=Given([]))
    with pytest.raises(ParameterError, match="row numbers"):
        CartClassifier().pruning_path_cv(X, y, cv=[([0.5, 1.5], [2])])
    with pytest.raises(ParameterError, match="folds of the rows"):
        CartClassifier().pruning_path_cv(X, y, cv=[1, 2, 3])


def test_pairs_name_rows_as_they_were_given(parts):
    """Rows of weight zero count in the numbers, and in folds of the whole the numbers stay."""
    X, y, *_ = parts
    group = np.arange(len(y)) % 3
    weights = (np.arange(len(y)) % 5 > 0).astype(float)
    kept = weights > 0
    a = CartClassifier().pruning_path_cv(X, y, weights, cv=by_group(group))
    b = CartClassifier().pruning_path_cv(X[kept], y[kept], cv=Given(by_group(group[kept])))
    np.testing.assert_array_equal(a.errors, b.errors)
    model = CartClassifier(ccp_alpha="cv", cv=by_group(group))
    shared = next(model.fit_folds(X, y, [(np.flatnonzero(kept), np.flatnonzero(~kept))]))
    np.testing.assert_array_equal(shared.pruning_curve_.errors, b.errors)


def test_reduced_error_keeps_a_single_leaf():
    tree = CartClassifier().fit([[1.0]], [1]).tree_
    assert reduced_error_leaves(tree, np.zeros(1)).tolist() == [True]
