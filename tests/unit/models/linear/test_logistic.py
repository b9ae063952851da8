"""Logistic regression against scikit-learn 1.6+ and statsmodels 0.14+, its own gradient, and the edges of the data."""

import itertools
import json
import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as Peer

from assay import _kernels
from assay.base import AssayWarning, CostError, DataError, ParameterError, config
from assay.models.linear import LogisticRegression, logistic_solver


def make(n=400, p=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=p)
    score = X @ rng.normal(size=(p, classes)) + rng.gumbel(size=(n, classes))
    return X, np.where(np.arange(n) < classes, np.arange(n), score.argmax(axis=1))


def gradient(model, X, codes, weights=None, C=1.0):
    """The gradient of the objective in the units of the columns, from `predict_proba`."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    residual = weights[:, None] * (model.predict_proba(X) - np.eye(model.classes_.shape[0])[codes])
    if model.coef_.shape[0] == 1:
        residual = residual[:, 1:]
    return residual.T @ X + model.coef_ / C, residual.sum(axis=0)


def codes_of(caught):
    return [w.message.code for w in caught if isinstance(w.message, AssayWarning)]


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"C": 0.01},
        {"C": 1000.0},
        {"fit_intercept": False},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0, 1: 0.5}},
    ],
    ids=str,
)
def test_coefficients_equal_those_of_scikit_learn(classes, options):
    X, y = make(classes=classes)
    ours = LogisticRegression(**options).fit(X, y)
    theirs = Peer(solver="newton-cholesky", tol=1e-10, max_iter=1000, **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-6)
    assert ours.coef_.shape == theirs.coef_.shape and ours.intercept_.shape == theirs.intercept_.shape


def test_coefficients_equal_those_of_lbfgs_with_weights():
    X, y = make(classes=3)
    weights = np.random.default_rng(1).uniform(0.1, 3, size=400)
    ours = LogisticRegression().fit(X, y, sample_weight=weights)
    theirs = Peer(solver="lbfgs", tol=1e-10, max_iter=10000).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-5)


def test_without_penalty_it_is_the_maximum_likelihood_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    X, y = make()
    ours = LogisticRegression(penalty=None).fit(X, y)
    theirs = sm.Logit(y, sm.add_constant(X)).fit(disp=False, method="newton", tol=1e-12).params
    np.testing.assert_allclose(np.append(ours.intercept_, ours.coef_), theirs, atol=1e-8)


@pytest.mark.parametrize("reference", [0, 1])
def test_reference_class_form_equals_multinomial_logit_of_statsmodels(reference):
    sm = pytest.importorskip("statsmodels.api")
    X, y = make(classes=3)
    ours = LogisticRegression(penalty=None, reference_class=reference).fit(X, y)
    assert not ours.coef_[reference].any() and ours.intercept_[reference] == 0.0
    relabelled = np.where(y == reference, 0, np.where(y == 0, reference, y))
    theirs = sm.MNLogit(relabelled, sm.add_constant(X)).fit(disp=False, method="newton", tol=1e-12).params
    others = [k for k in ([0, 1, 2] if reference == 0 else [1, 0, 2]) if k != reference]
    np.testing.assert_allclose(np.column_stack([ours.intercept_, ours.coef_])[others].T, theirs, atol=1e-7)


def test_infinite_C_is_no_penalty():
    X, y = make(classes=3)
    np.testing.assert_array_equal(
        LogisticRegression(C=np.inf).fit(X, y).coef_, LogisticRegression(penalty=None).fit(X, y).coef_
    )


def test_reference_class_changes_the_penalised_model_but_not_the_likelihood_model():
    X, y = make(classes=3)
    symmetric, reference = LogisticRegression().fit(X, y), LogisticRegression(reference_class=2).fit(X, y)
    assert np.abs(symmetric.predict_proba(X) - reference.predict_proba(X)).max() > 1e-4
    free = [LogisticRegression(penalty=None, reference_class=r).fit(X, y).predict_proba(X) for r in (None, 0, 2)]
    np.testing.assert_allclose(free[1], free[0], atol=1e-9)
    np.testing.assert_allclose(free[2], free[0], atol=1e-9)


def test_symmetric_softmax_has_zero_class_sums():
    X, y = make(classes=4)
    model = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-12)
    assert abs(model.intercept_.sum()) < 1e-12


@pytest.mark.parametrize("classes", [2, 4])
def test_weights_equal_repetition(classes):
    X, y = make(200, classes=classes)
    weights = np.random.default_rng(2).integers(0, 4, size=200)
    weights[:classes] = 1
    for options in ({}, {"class_weight": "balanced"}):
        weighted = LogisticRegression(**options).fit(X, y, sample_weight=weights)
        repeated = LogisticRegression(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
        np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_objective_never_rises_at_any_step(classes):
    X, y = make(classes=classes)
    for options in ({}, {"C": 1e6}, {"penalty": None}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssayWarning)
            model = LogisticRegression(trace=True, **options).fit(X**3, y)  # heavy tails make full steps overshoot
        values = [record["values"]["objective"] for record in model.trace_]
        assert len(values) == model.n_iter_ >= 3
        assert all(after <= before for before, after in itertools.pairwise(values))
        assert model.trace_[-1]["values"]["gradient"] < model.trace_[0]["values"]["gradient"]
    assert not hasattr(LogisticRegression().fit(X, y), "trace_")


def test_separable_classes_are_fine_under_a_penalty():
    X, _ = make()
    y = (X[:, 0] > 0.3).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(C=1e4).fit(X, y)
    theirs = Peer(C=1e4, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-6)


@pytest.mark.parametrize("cuts", [[0.3], [-0.5, 0.5]])
def test_separation_without_penalty_is_said_in_one_warning(cuts):
    X, _ = make()
    y = np.digitize(X[:, 0], cuts)
    with pytest.warns(AssayWarning, match="hyperplane separates") as caught:
        model = LogisticRegression(penalty=None).fit(X, y)
    assert codes_of(caught) == ["W202"]
    assert np.isfinite(model.coef_).all() and model.score(X, y) == 1.0


def test_quasi_separation_without_penalty_is_said_too():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 300)
    X = np.column_stack([group, rng.normal(size=300)])
    y = np.where(group == 1, rng.integers(0, 2, 300), 0)
    with pytest.warns(AssayWarning, match="some rows are separated") as caught:
        model = LogisticRegression(penalty=None).fit(X, y)
    assert codes_of(caught) == ["W202"] and np.isfinite(model.coef_).all()


def test_units_of_the_columns_do_not_matter_without_a_penalty():
    X, y = make()
    units = np.array([1e12, 1e-12, 1.0, 1e-3])
    plain = LogisticRegression(penalty=None).fit(X, y)
    scaled = LogisticRegression(penalty=None).fit(X * units, y)
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-8)
    np.testing.assert_allclose(scaled.intercept_, plain.intercept_, rtol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_penalty_is_that_of_the_original_scale(classes):
    X, y = make(classes=classes)
    X = X * np.array([1e12, 1e-12, 1.0, 1e-3])
    model = LogisticRegression().fit(X, y)
    coef_gradient, intercept_gradient = gradient(model, X, y)
    spread = X.std(axis=0)
    assert np.abs(coef_gradient / spread).max() < 1e-6 * 400
    assert np.abs(intercept_gradient).max() < 1e-6 * 400
    assert np.abs(model.coef_[:, 1]).max() < 1e-8 < np.abs(model.coef_[:, 2]).max()


def test_constant_and_repeated_columns_work():
    X, y = make(classes=3)
    wide = np.column_stack([X, np.full(400, 0.1), X[:, 0]])
    model = LogisticRegression().fit(wide, y)
    assert not model.coef_[:, 4].any()
    np.testing.assert_allclose(model.coef_[:, 5], model.coef_[:, 0], atol=1e-9)
    theirs = Peer(solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(wide, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-6)


def test_dependent_columns_without_penalty_are_named_and_held_at_zero():
    X, y = make(classes=3)
    wide = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(400)])
    with pytest.warns(AssayWarning, match="linear combination") as caught:
        model = LogisticRegression(penalty=None).fit(wide, y)
    assert codes_of(caught) == ["W203"]
    np.testing.assert_allclose(
        model.predict_proba(wide), LogisticRegression(penalty=None).fit(X, y).predict_proba(X), atol=1e-9
    )


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_columns_whose_squares_leave_the_range_of_doubles_work(factor):
    X, y = make()
    X[:, 1] *= factor
    model = LogisticRegression().fit(X, y)
    assert np.isfinite(model.coef_).all() and model.score(X, y) > 0.5


def test_column_wider_than_a_double_is_refused():
    X, y = make(20)
    X[0, 1], X[1, 1] = 1.7e308, -1.7e308
    with pytest.raises(DataError, match="column 1 spans more than a double"):
        LogisticRegression().fit(X, y)


def test_more_columns_than_rows():
    X, y = make(30, p=100)
    theirs = Peer(solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(LogisticRegression().fit(X, y).coef_, theirs.coef_, atol=1e-6)


def test_hundred_classes():
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 100
    X = rng.normal(size=(1000, 8)) + 2 * rng.normal(size=(100, 8))[y]
    model = LogisticRegression().fit(X, y)
    coef_gradient, intercept_gradient = gradient(model, X, y)
    assert max(np.abs(coef_gradient).max(), np.abs(intercept_gradient).max()) < 1e-5
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"reference_class": 1}], ids=str)
def test_conjugate_gradients_find_the_same_coefficients_as_the_factored_hessian(monkeypatch, classes, options):
    X, y = make(300, p=6, classes=classes)
    factored = LogisticRegression(**options).fit(X, y)
    for gram_limit in (2000, 0):
        monkeypatch.setattr(logistic_solver, "DENSE_LIMIT", 0)
        monkeypatch.setattr(logistic_solver, "MOST_LOGISTIC", gram_limit)
        conjugate = LogisticRegression(**options).fit(X, y)
        np.testing.assert_allclose(conjugate.coef_, factored.coef_, atol=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
def test_number_of_threads_does_not_change_a_bit(classes):
    X, y = make(3000, p=7, classes=classes)
    one, two = (LogisticRegression(n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.coef_.tobytes() == two.coef_.tobytes() and one.intercept_.tobytes() == two.intercept_.tobytes()


def test_instruction_set_changes_rounding_only():
    X, y = make(1000, p=9, classes=3)
    best = _kernels.simd_level()
    expected = LogisticRegression().fit(X, y).coef_
    try:
        for level in ("baseline", "avx2"):
            _kernels.set_simd_level(level)
            np.testing.assert_allclose(LogisticRegression().fit(X, y).coef_, expected, atol=1e-10)
    finally:
        _kernels.set_simd_level(best)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("options", [{}, {"penalty": None}, {"class_weight": "balanced"}], ids=str)
def test_folds_equal_separate_fits(classes, options):
    X, y = make(300, classes=classes)
    weights = np.random.default_rng(3).integers(0, 3, size=300).astype(float)
    folds = [(np.flatnonzero(np.arange(300) % 5 != k), np.flatnonzero(np.arange(300) % 5 == k)) for k in range(5)]
    shared = list(LogisticRegression(**options).fit_folds(X, y, folds, sample_weight=weights))
    for (train, _), model in zip(folds, shared):
        alone = LogisticRegression(**options).fit(X[train], y[train], sample_weight=weights[train])
        np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-8)
        np.testing.assert_allclose(model.intercept_, alone.intercept_, atol=1e-8)
    last = next(iter(LogisticRegression(**options).fit_folds(X, y, folds[-1:], sample_weight=weights)))
    assert last.coef_.tobytes() == shared[-1].coef_.tobytes()


def test_fold_without_a_class_knows_only_the_classes_it_saw():
    X, y = make(120, classes=3)
    fold = (np.flatnonzero(y != 1), np.flatnonzero(y == 1))
    model = next(iter(LogisticRegression().fit_folds(X, y, [fold])))
    alone = LogisticRegression().fit(X[fold[0]], y[fold[0]])
    assert model.classes_.tolist() == [0, 2]
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-12)


def test_tol_and_max_iter_end_the_iteration():
    X, y = make(classes=3)
    assert LogisticRegression(tol=0.1).fit(X, y).n_iter_ < LogisticRegression().fit(X, y).n_iter_
    with pytest.warns(AssayWarning, match="not converged after 2") as caught:
        assert LogisticRegression(max_iter=2).fit(X, y).n_iter_ == 2
    assert codes_of(caught) == ["W201"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression(tol=0.0).fit(X, y)


def test_probabilities_are_stable_far_from_the_boundary():
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([0.0])
    far = np.array([[-1e4], [0.5], [1e4]])
    np.testing.assert_allclose(model.predict_proba(far)[:, 1], expit(far[:, 0]))
    np.testing.assert_allclose(model.predict_log_proba(far)[[0, 2]], [[0, -1e4], [-1e4, 0]])
    assert model.predict(far).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"reference_class": 9}, "'reference_class' must be a label of y"),
        ({"class_weight": {7: 1.0}}, "'class_weight' must name labels of y"),
        ({"class_weight": {0: -1.0}}, "must have a weight > 0"),
        ({"C": 0.0}, "'C' must be"),
        ({"penalty": "l3"}, "'penalty' must be"),
    ],
)
def test_bad_parameters_get_one_sentence(options, match):
    X, y = make(60, classes=3)
    with pytest.raises(ParameterError, match=match):
        LogisticRegression(**options).fit(X, y)


def test_one_class_is_refused():
    with pytest.raises(DataError, match="at least 2 classes"):
        LogisticRegression().fit(np.zeros((3, 1)), ["a", "a", "a"])


def test_view_names_columns_and_classes():
    pd = pytest.importorskip("pandas")
    X, y = make(classes=3)
    model = LogisticRegression().fit(pd.DataFrame(X, columns=list("abcd")), np.array(["x", "y", "z"])[y])
    view = json.loads(json.dumps(model.view().to_dict()))
    assert view["kind"] == "coefficients" and view["names"] == list("abcd") and view["classes"] == ["x", "y", "z"]
    np.testing.assert_allclose(view["values"], model.coef_)


def test_cost_grows_with_every_size():
    model = LogisticRegression()
    for outputs in (1, 5, 200):
        small, large = model.estimate_cost(1000, 10, outputs), model.estimate_cost(10**6, 10, outputs)
        assert 0 < small.seconds < large.seconds and 0 < small.bytes < large.bytes


def test_fit_over_the_memory_limit_is_refused_before_it_starts():
    X, y = make(classes=3)
    with config.use(max_bytes=1000.0), pytest.raises(CostError, match="needs about"):
        LogisticRegression().fit(X, y)


def test_the_share_of_the_absolute_penalty_alone_decides():
    X, y = make()
    for share, name in ((0.0, "l2"), (1.0, "l1")):
        ours = LogisticRegression(l1_ratio=share, C=0.1).fit(X, y)
        np.testing.assert_array_equal(ours.coef_, LogisticRegression(penalty=name, C=0.1).fit(X, y).coef_)
    mixed = LogisticRegression(l1_ratio=0.4, C=0.1, tol=1e-10).fit(X, y)
    theirs = LogisticRegression(penalty="elasticnet", l1_ratio=0.4, C=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_array_equal(mixed.coef_, theirs.coef_)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"penalty": "l2", "l1_ratio": 1.0}, "'l1_ratio' must be 0 with penalty='l2'"),
        ({"penalty": "l1", "l1_ratio": 0.5}, "'l1_ratio' must be 0 or 1"),
        ({"penalty": None, "l1_ratio": 0.5}, "'l1_ratio' must be 0"),
        ({"penalty": None, "C": 3.0}, "'C' must be left at 1 or be inf"),
    ],
    ids=str,
)
def test_a_parameter_that_would_be_ignored_is_refused(options, rule):
    X, y = make()
    with pytest.raises(ParameterError, match=rule):
        LogisticRegression(**options).fit(X, y)
    with pytest.raises(ParameterError, match=rule):
        list(LogisticRegression(**options).fit_folds(X, y, [(np.arange(20), np.arange(20, 25))]))
