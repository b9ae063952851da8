"""Support vector machines for classes: optimality, libsvm, toys solved by hand, limits, options, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.svm import SVC

from assay import config
from assay.base import AssayError, CostError, DataError
from assay.models.kernel_machines import SVMClassifier, kernel_choice, linear_machine, support_vectors
from assay.numeric import kernels

KERNELS = {
    "linear": {"kernel": "linear"},
    "polynomial": {"kernel": "poly", "coef0": 1.0},
    "gaussian": {"kernel": "rbf"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.02},
}


def blobs(n=200, d=5, classes=2, seed=0, gap=1.2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, d)) + gap * rng.normal(size=(classes, d))[y], y


def objectives(beta, gram, sign, intercept, price):
    """The primal and the dual objective of one machine."""
    f = gram @ beta
    length = beta @ f
    slack = np.maximum(0.0, 1.0 - sign * (f + intercept))
    return 0.5 * length + (price * slack).sum(), np.abs(beta).sum() - 0.5 * length


def all_beta(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_objective_is_that_of_libsvm(name, C):
    X, y = blobs(300)
    peer = SVC(C=C, tol=1e-5, **KERNELS[name]).fit(X, y)
    gamma = KERNELS[name].get("gamma", "scale")
    model = SVMClassifier(kernel=name, C=C, gamma=gamma).fit(X, y)
    gram, sign = model._kernel()(X), np.where(y == 1, 1.0, -1.0)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    theirs = objectives(beta, gram, sign, peer.intercept_[0], C)
    ours = objectives(all_beta(model, len(y)), gram, sign, model.intercept_[0], C)
    assert ours[1] == pytest.approx(theirs[1], rel=1e-6)
    assert model.objective_[0] == pytest.approx(ours[1], rel=1e-10)
    if name != "sigmoid":  # not a kernel: no primal problem
        assert ours[0] - ours[1] <= 1e-8 * ours[0], "no gap between the primal and the dual"
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)


def test_the_conditions_of_optimality_hold():
    X, y = blobs(250)
    C = 2.0
    model = SVMClassifier(C=C).fit(X, y)
    alpha = np.abs(all_beta(model, len(y)))
    sign = np.where(y == 1, 1.0, -1.0)
    edge = sign * model.decision_function(X)
    assert ((alpha >= 0) & (alpha <= C)).all() and abs((alpha * sign).sum()) < 1e-10
    assert (edge[alpha == 0] >= 1 - 1e-7).all()
    assert (edge[alpha == C] <= 1 + 1e-7).all()
    np.testing.assert_allclose(edge[(alpha > 0) & (alpha < C)], 1.0, atol=1e-7)
    assert model.violation_[0] <= 1e-7


def test_float32_rows_and_the_float64_matrix_have_the_same_objective(monkeypatch):
    X, y = blobs(500, d=7)
    exact = SVMClassifier(C=5.0).fit(X, y)
    monkeypatch.setattr(kernel_choice, "SMALL", 0)
    for name in ("gaussian", "linear", "polynomial", "laplacian", "sigmoid", "mahalanobis"):
        given = {"kernel": name, "gamma": 0.02 if name == "sigmoid" else "scale", "C": 5.0}
        single = SVMClassifier(**given, cache_bytes=2e5).fit(X, y)
        assert single._single_
        with monkeypatch.context() as wide:
            wide.setattr(kernel_choice, "SMALL", 10_000)
            exact = SVMClassifier(**given).fit(X, y)
        assert not exact._single_
        assert single.violation_[0] <= 1e-3
        np.testing.assert_allclose(single.objective_, exact.objective_, rtol=1e-6)
        np.testing.assert_allclose(single.decision_function(X), exact.decision_function(X), atol=5e-3)


def test_a_gaussian_kernel_too_narrow_for_products_is_made_of_differences(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = 1e4 + rng.normal(size=(200, 2)), np.arange(200) % 2
    exact = SVMClassifier(gamma=300.0).fit(X, y)
    monkeypatch.setattr(kernel_choice, "SMALL", 0)
    single = SVMClassifier(gamma=300.0).fit(X, y)
    np.testing.assert_allclose(single.objective_, exact.objective_, rtol=1e-6)


def test_xor_needs_a_kernel_of_degree_two():
    X, y = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]), np.array([-1, 1, 1, -1])
    model = SVMClassifier(kernel="polynomial", degree=2, gamma=1.0, coef0=1.0, C=np.inf).fit(X, y)
    # By hand: every row is a support vector with alpha 1/8, f(x) = -x1 x2, |w|^2 = 1/2.
    np.testing.assert_allclose(np.abs(model.dual_coef_[0]), 1 / 8, atol=1e-9)
    assert model.margin_[0] == pytest.approx(2 * np.sqrt(2))
    np.testing.assert_allclose(model.decision_function([[0.5, 0.5], [2.0, -3.0]]), [-0.25, 6.0], atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.error_bound_ == 1.0
    with pytest.raises(DataError, match="must be separable by the kernel for C=inf; 4 rows keep slack"):
        SVMClassifier(kernel="linear", C=np.inf).fit(X, y)


def test_a_toy_solved_by_hand():
    # The nearest points of the classes are (1, 0) and (3, 0): w = (1, 0), b = -2, margin 2, both alphas 1/2.
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [3.0, 0.0], [4.0, 1.0], [5.0, -2.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    model = SVMClassifier(kernel="linear", C=np.inf).fit(X, y)
    np.testing.assert_array_equal(model.support_, [1, 3])
    np.testing.assert_allclose(model.dual_coef_, [[-0.5, 0.5]], atol=1e-9)
    np.testing.assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-9)
    np.testing.assert_allclose(model.intercept_, [-2.0], atol=1e-9)
    assert model.margin_[0] == pytest.approx(2.0) and model.error_bound_ == pytest.approx(2 / 6)
    np.testing.assert_allclose(model.slacks(X, y), 0.0, atol=1e-8)
    # With C below 1/2 the alphas are at C, w = 2 C (1, 0), and both rows have slack 1 - 2 C.
    soft = SVMClassifier(kernel="linear", C=0.25).fit(X[[1, 3]], y[[1, 3]])
    np.testing.assert_allclose(soft.coef_, [[0.5, 0.0]], atol=1e-12)
    np.testing.assert_allclose(soft.slacks(X[[1, 3]], y[[1, 3]]), 0.5, atol=1e-9)


def test_limits_of_the_gaussian_kernel():
    X, y = blobs(60, d=2, gap=0.5)
    narrow = SVMClassifier(gamma=1e6, C=10.0).fit(X, y)
    # Every row is its own neighbourhood: all are support vectors, all are learned, new rows get the constant.
    assert narrow.support_.size == 60 and narrow.score(X, y) == 1.0
    np.testing.assert_allclose(narrow.decision_function(X + 50.0), narrow.intercept_[0])
    # K is all but constant: exp(-g r) = 1 - g r, a linear machine with C g small (Keerthi & Lin, 2003).
    wide = SVMClassifier(gamma=1e-9, C=1.0).fit(X[:-1], y[:-1])
    assert np.unique(wide.predict(X)).size == 1
    linear = SVMClassifier(kernel="linear", C=1.0).fit(X, y)
    alike = SVMClassifier(gamma=1e-6, C=1.0 / 2e-6, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(alike.decision_function(X), linear.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_are_those_of_libsvm(multi_class):
    X, y = blobs(240, classes=4)
    labels = np.array(["n", "e", "s", "w"])[y]
    model = SVMClassifier(multi_class=multi_class).fit(X, labels)
    assert model.dual_coef_.shape[0] == (6 if multi_class == "ovo" else 4)
    if multi_class == "ovo":
        peer = SVC(tol=1e-6).fit(X, labels)
        np.testing.assert_array_equal(model.predict(X), peer.predict(X))
        np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-4)
        np.testing.assert_array_equal(model.support_, np.sort(peer.support_))
        assert np.isnan(model.slacks(X, labels)).mean() == pytest.approx(0.5)
    else:
        for k, label in enumerate(model.classes_):
            one = SVMClassifier(gamma=model.gamma_).fit(X, labels == label)
            np.testing.assert_allclose(model.decision_function(X)[:, k], one.decision_function(X), atol=1e-7)


def test_a_machine_of_a_pair_among_many_rows_is_that_of_its_own_rows():
    X, y = blobs(n=900, classes=4, gap=0.7)
    model = SVMClassifier(kernel="linear").fit(X, y)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    for machine, pair in enumerate(pairs):
        chosen = np.isin(y, pair)
        alone = SVMClassifier(kernel="linear").fit(X[chosen], y[chosen])
        np.testing.assert_allclose(model.objective_[machine], alone.objective_[0], rtol=1e-8)
        np.testing.assert_allclose(model.coef_[machine], alone.coef_[0], atol=1e-5)


def test_weights_of_rows_and_classes_multiply_the_price():
    X, y = blobs(120)
    weights = np.random.default_rng(0).random(120) + 0.1
    model = SVMClassifier(gamma=0.1, class_weight={1: 3.0}).fit(X, y, weights)
    peer = SVC(gamma=0.1, class_weight={1: 3.0}, tol=1e-6).fit(X, y, weights)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-4)
    some = np.where(np.arange(120) < 20, 0.0, 1.0)
    left = SVMClassifier(gamma=0.1).fit(X, y, some)
    assert left.support_.min() >= 20
    np.testing.assert_array_equal(X[left.support_], left.support_vectors_)


def test_a_kernel_as_an_object_a_function_or_a_matrix_is_the_same_machine():
    X, y = blobs(90)
    new = np.random.default_rng(1).normal(size=(10, 5))
    kernel = 0.5 * kernels.Linear() + kernels.Gaussian(0.2) * kernels.Polynomial(2, 0.1, 1.0)
    wanted = SVMClassifier(kernel=kernel).fit(X, y)
    user = SVMClassifier(kernel=kernels.Function(lambda a, b: kernel(a, b))).fit(X, y)
    given = SVMClassifier(kernel="precomputed").fit(kernel(X), y)
    np.testing.assert_allclose(user.decision_function(new), wanted.decision_function(new), atol=1e-9)
    np.testing.assert_allclose(given.decision_function(kernel(new, X)), wanted.decision_function(new), atol=1e-9)
    weights = np.arange(90) % 3
    part = SVMClassifier(kernel="precomputed").fit(kernel(X), y, weights)
    whole = SVMClassifier(kernel=kernel).fit(X, y, weights)
    np.testing.assert_allclose(part.decision_function(kernel(new, X)), whole.decision_function(new), atol=1e-7)


def test_what_is_no_kernel_is_refused_with_its_eigenvalue():
    X, y = blobs(20)
    with pytest.raises(DataError, match=r"positive semi-definite; its smallest eigenvalue is -\d"):
        SVMClassifier(kernel=kernels.Function(lambda a, b: -(a @ b.T))).fit(X, y)
    with pytest.raises(DataError, match="must be symmetric"):
        SVMClassifier(kernel="precomputed").fit(np.triu(np.ones((20, 20))), y)
    with pytest.raises(DataError, match="must be a square Gram matrix"):
        SVMClassifier(kernel="precomputed").fit(X, y)


def test_equal_rows_of_both_classes_have_no_hard_margin():
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([0, 1, 1])
    with pytest.raises(DataError, match="separable"):
        SVMClassifier(C=np.inf).fit(X, y)
    assert np.isfinite(SVMClassifier().fit(X, y).decision_function(X)).all()


def test_too_few_steps_are_warned_of():
    X, y = blobs(200, gap=0.3)
    with pytest.warns(UserWarning, match="not converged after 3 steps"):
        SVMClassifier(max_iter=3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert SVMClassifier(max_iter=100_000).fit(X, y).score(X, y) > 0.5


def test_a_table_too_large_for_the_kernel_names_the_linear_route_and_landmarks_which_both_take_it():
    X, y = blobs(60_000, d=4)
    with config.use(max_seconds=2.0), pytest.raises(CostError, match="kernel='linear'.*n_landmarks=500, the Nystroem"):
        SVMClassifier().fit(X, y)
    with config.use(max_seconds=2.0):
        assert SVMClassifier(kernel="linear").estimate_cost(60_000, 4).seconds < 2.0
        assert SVMClassifier(n_landmarks=20, random_state=0).fit(X, y).score(X, y) > 0.7
        assert SVMClassifier(kernel="linear").fit(X, y).score(X, y) > 0.7


def test_a_path_of_prices_takes_fewer_steps_than_separate_solutions():
    X, y = blobs(300, gap=0.4)
    # In float32 the solver stops at the tolerance; in float64 it goes on to the last digits, from wherever it starts.
    gram, sign = kernels.Gaussian(0.2)(X).astype(np.float32), np.where(y == 1, 1.0, -1.0)
    prices = np.array([1.0, 2.0, 4.0, 8.0])
    model = SVMClassifier()
    duals = [model._dual(gram, np.arange(300), sign, np.full(300, price)) for price in prices]
    path = []
    for dual in duals:
        path.append(dual.solve(1e-3, None, 1, dual.start_from(path[-1] if path else None, 2.0)))
    alone = [dual.solve(1e-3, None, 1) for dual in duals]
    assert sum(one.n_iter for one in path[1:]) < 0.8 * sum(one.n_iter for one in alone[1:])
    for one, other in zip(path, alone, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-5)


def test_rows_do_not_depend_on_their_order():
    X, y = blobs(150)
    order = np.random.default_rng(0).permutation(150)
    one, other = SVMClassifier(C=3.0).fit(X, y), SVMClassifier(C=3.0).fit(X[order], y[order])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-7)


def test_labels_that_were_not_learned_have_no_slack():
    X, y = blobs(30)
    model = SVMClassifier().fit(X, y)
    with pytest.raises(AssayError, match="must hold one label of"):
        model.slacks(X, y + 5)


def many(n, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1) + 5.0
    score = (X - 5.0) @ rng.normal(size=d) / np.arange(1, d + 1).mean()
    return X, np.where(score + rng.normal(size=n) > 0, "yes", "no")


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_linear_route_ends_where_the_dual_ends(C, monkeypatch):
    X, y = many(600)
    dual = SVMClassifier(kernel="linear", C=C).fit(X, y)
    monkeypatch.setattr(support_vectors, "TINY", 0)
    for rows in (X, csr_matrix(X)):
        primal = SVMClassifier(kernel="linear", C=C, tol=1e-6).fit(rows, y)
        np.testing.assert_allclose(primal.objective_, dual.objective_, rtol=1e-7)
        np.testing.assert_allclose(primal.decision_function(rows), dual.decision_function(X), atol=1e-4)
        assert primal.margin_[0] == pytest.approx(dual.margin_[0], rel=1e-4)
        assert abs(primal.dual_coef_.sum()) < 1e-6 * np.abs(primal.dual_coef_).sum()
        beta = np.zeros(600)
        beta[primal.support_] = primal.dual_coef_[0]
        np.testing.assert_allclose(X.T @ beta, primal.coef_[0], atol=1e-4 * np.abs(primal.coef_).max())


def test_many_rows_and_wide_tables_have_no_gap_between_primal_and_dual(monkeypatch):
    X, y = many(30_000, d=4)
    model = SVMClassifier(kernel="linear").fit(X, y)
    primal = 0.5 * (model.coef_**2).sum() + model.slacks(X, y).sum()
    assert 0.0 <= primal - model.objective_[0] <= 1e-6 * primal
    monkeypatch.setattr(support_vectors, "TINY", 0)
    monkeypatch.setattr(linear_machine, "_SQUARE", 3)
    X, y = many(300, d=20)
    wide = SVMClassifier(kernel="linear", tol=1e-5).fit(X, y)
    primal = 0.5 * (wide.coef_**2).sum() + wide.slacks(X, y).sum()
    assert 0.0 <= primal - wide.objective_[0] <= 1e-6 * primal


def test_as_many_landmarks_as_rows_are_the_kernel_itself():
    X, y = blobs(150)
    wanted = SVMClassifier().fit(X, y)
    found = SVMClassifier(n_landmarks=150, random_state=0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(found.decision_function(X), wanted.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(found.objective_, wanted.objective_, rtol=1e-6)
    few = SVMClassifier(n_landmarks=30, random_state=0).fit(X, y)
    assert few.support_vectors_.shape == (30, 5) and few.score(X, y) > 0.85
    gram = wanted._kernel()(X)
    given = SVMClassifier(kernel="precomputed", n_landmarks=30, random_state=0).fit(gram, y)
    assert given.score(gram, y) > 0.85


@pytest.mark.parametrize("gamma", ["scale", 0.1])
@pytest.mark.parametrize("small", [0, 2048])
def test_a_list_of_prices_is_searched_as_by_separate_fits(gamma, small, monkeypatch):
    monkeypatch.setattr(kernel_choice, "SMALL", small)
    monkeypatch.setattr(support_vectors, "SMALL", small)
    X, y = blobs(200, classes=3, gap=0.6)
    folds = [(np.flatnonzero(np.arange(200) % 4 != k), np.flatnonzero(np.arange(200) % 4 == k)) for k in range(4)]
    prices = [100.0, 0.01, 1.0]
    model = SVMClassifier(C=prices, gamma=gamma, cv=folds).fit(X, y)
    wanted = [
        [SVMClassifier(C=C, gamma=gamma).fit(X[a], y[a]).score(X[b], y[b]) for C in sorted(prices)] for a, b in folds
    ]
    np.testing.assert_allclose(model.scores_, wanted, atol=0.021 if small == 0 else 1e-12)
    assert model.C_ in prices and model.chosen() == {"C": model.C_}
    np.testing.assert_allclose(
        model.decision_function(X), SVMClassifier(C=model.C_, gamma=gamma).fit(X, y).decision_function(X), atol=1e-6
    )


def test_probabilities_come_from_held_out_rows_and_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    truth = 1.0 / (1.0 + np.exp(-2.0 * X[:, 0]))
    y = (rng.random(1500) < truth).astype(int)
    model = SVMClassifier(probability=True, C=[0.1, 1.0]).fit(X[:1000], y[:1000])
    given = model.predict_proba(X[1000:])
    np.testing.assert_allclose(given.sum(axis=1), 1.0)
    assert np.abs(given[:, 1] - truth[1000:]).mean() < 0.08
    labels, rejected = model.predict_with_reject(X[1000:], threshold=0.8)
    np.testing.assert_array_equal(rejected, given.max(axis=1) < 0.8)
    assert (labels == y[1000:])[~rejected].mean() > (labels == y[1000:]).mean()
    assert model.predict_with_reject(X[1000:], reject_cost=0.2)[1].any()
    three = SVMClassifier(probability=True, multi_class="ovr").fit(*blobs(150, classes=3))
    np.testing.assert_allclose(three.predict_proba(blobs(150, classes=3)[0]).sum(axis=1), 1.0)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_rows_within_the_margin_can_be_rejected(multi_class):
    X, y = blobs(150, classes=3)
    model = SVMClassifier(multi_class=multi_class).fit(X, y)
    labels, rejected = model.predict_with_reject(X, margin=0.5)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert 0 < rejected.sum() < 150 and (labels == y)[~rejected].mean() >= (labels == y).mean()
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AssayError, match="parameter 'margin' must be given where probability=False"):
        model.predict_with_reject(X, threshold=0.7)


def test_sparse_rows_are_written_out_for_other_kernels():
    X, y = blobs(80)
    X[X < 0.5] = 0.0
    for kernel in ("gaussian", "linear"):
        one, other = SVMClassifier(kernel=kernel).fit(csr_matrix(X), y), SVMClassifier(kernel=kernel).fit(X, y)
        np.testing.assert_allclose(one.decision_function(csr_matrix(X)), other.decision_function(X), atol=1e-8)


def test_prices_that_are_none_are_refused():
    X, y = blobs(30)
    for bad in ([], [1.0, -1.0], ["a"], [1.0, np.inf]):
        with pytest.raises(AssayError, match="parameter 'C' must be a number > 0 or hold finite ones"):
            SVMClassifier(C=bad).fit(X, y)


@pytest.mark.parametrize("C", [1e-6, 1e8])
def test_any_price_of_slack_ends_without_a_gap_on_the_linear_route(C):
    X, y = many(3000, d=3)
    model = SVMClassifier(kernel="linear", C=C).fit(X, y)
    primal = 0.5 * (model.coef_**2).sum() + C * model.slacks(X, y).sum()
    assert 0.0 <= primal - model.objective_[0] <= 1e-5 * primal
