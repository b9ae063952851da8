"""Generalised linear models against statsmodels 0.14+, scikit-learn 1.6+, one-hot expansion, and hard data."""

import itertools
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import special
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor

from assay.base import AssayWarning, DataError, ParameterError
from assay.data import Batches
from assay.models.linear import GLM, LeastSquares, LogisticRegression, glm_families, glm_solver
from assay.models.linear.glm_families import FAMILIES, LINKS, best_theta

sm = pytest.importorskip("statsmodels.api")
links = sm.families.links
N = 400


def predictor(seed=0):
    """Columns of very different units, and a predictor of moderate size from them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3)) * np.array([1.0, 100.0, 0.01]) + np.array([0.0, 1000.0, 0.0])
    Z = (X - X.mean(0)) / X.std(0)
    return rng, X, Z, 0.3 * Z[:, 0] - 0.2 * Z[:, 1] + 0.1 * Z[:, 2]


def tweedie_target(rng, mean):
    return np.array([rng.gamma(2, m / 2, size=rng.poisson(1)).sum() for m in mean])


CASES = {
    ("gaussian", "identity"): (lambda: sm.families.Gaussian(), lambda r, e: e + r.normal(size=N)),
    ("gaussian", "log"): (
        lambda: sm.families.Gaussian(links.Log()),
        lambda r, e: np.exp(1 + e) + 0.3 * r.normal(size=N),
    ),
    ("gaussian", "inverse"): (
        lambda: sm.families.Gaussian(links.InversePower()),
        lambda r, e: 1 / (3 + e) + 0.01 * r.normal(size=N),
    ),
    ("poisson", "log"): (lambda: sm.families.Poisson(), lambda r, e: r.poisson(np.exp(0.5 + e))),
    ("poisson", "identity"): (lambda: sm.families.Poisson(links.Identity()), lambda r, e: r.poisson(5 + e)),
    ("poisson", "sqrt"): (lambda: sm.families.Poisson(links.Sqrt()), lambda r, e: r.poisson((2 + e) ** 2)),
    ("gamma", "log"): (lambda: sm.families.Gamma(links.Log()), lambda r, e: r.gamma(2, np.exp(e) / 2)),
    ("gamma", "inverse"): (lambda: sm.families.Gamma(), lambda r, e: r.gamma(2, 0.5 / (2 + e))),
    ("gamma", "identity"): (lambda: sm.families.Gamma(links.Identity()), lambda r, e: r.gamma(2, (2 + e) / 2)),
    ("inverse_gaussian", "log"): (lambda: sm.families.InverseGaussian(links.Log()), lambda r, e: r.wald(np.exp(e), 2)),
    ("inverse_gaussian", "inverse_squared"): (
        lambda: sm.families.InverseGaussian(),
        lambda r, e: r.wald((3 + e) ** -0.5, 2),
    ),
    ("inverse_gaussian", "inverse"): (
        lambda: sm.families.InverseGaussian(links.InversePower()),
        lambda r, e: r.wald(1 / (3 + e), 2),
    ),
    ("inverse_gaussian", "identity"): (
        lambda: sm.families.InverseGaussian(links.Identity()),
        lambda r, e: r.wald(3 + e, 20),
    ),
    ("tweedie", "log"): (
        lambda: sm.families.Tweedie(links.Log(), var_power=1.5),
        lambda r, e: tweedie_target(r, np.exp(e)),
    ),
    ("negative_binomial", "log"): (
        lambda: sm.families.NegativeBinomial(alpha=0.5),
        lambda r, e: r.negative_binomial(2, 2 / (2 + np.exp(1 + e))),
    ),
    ("negative_binomial", "identity"): (
        lambda: sm.families.NegativeBinomial(links.Identity(), alpha=0.5),
        lambda r, e: r.negative_binomial(2, 2 / (7 + e)),
    ),
    ("negative_binomial", "sqrt"): (
        lambda: sm.families.NegativeBinomial(links.Sqrt(), alpha=0.5),
        lambda r, e: r.negative_binomial(2, 2 / (2 + (2 + e) ** 2)),
    ),
    ("bernoulli", "logit"): (lambda: sm.families.Binomial(), lambda r, e: r.random(N) < 1 / (1 + np.exp(-e))),
    ("bernoulli", "probit"): (
        lambda: sm.families.Binomial(links.Probit()),
        lambda r, e: r.random(N) < 1 / (1 + np.exp(-e)),
    ),
    ("bernoulli", "cloglog"): (
        lambda: sm.families.Binomial(links.CLogLog()),
        lambda r, e: r.random(N) < 1 / (1 + np.exp(-e)),
    ),
    ("bernoulli", "log"): (
        lambda: sm.families.Binomial(links.Log()),
        lambda r, e: r.random(N) < np.exp(-1.5 + 0.5 * e),
    ),
    ("bernoulli", "identity"): (
        lambda: sm.families.Binomial(links.Identity()),
        lambda r, e: r.random(N) < 0.5 + 0.1 * e,
    ),
}


def parameters(family, link):
    return {"family": family, "link": link, "theta": 2.0 if family == "negative_binomial" else None}


def peer(family, y, Z, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sm.GLM(y, sm.add_constant(Z), family=family, **options).fit(tol=1e-12, maxiter=300, use_t=False)


def codes_of(caught):
    return [w.message.code for w in caught if isinstance(w.message, AssayWarning)]


@pytest.mark.parametrize(("family", "link"), CASES, ids="-".join)
def test_coefficients_errors_deviance_and_criteria_are_those_of_statsmodels(family, link):
    rng, X, Z, eta = predictor()
    theirs_family, target = CASES[family, link]
    y = np.asarray(target(rng, eta), dtype=float)
    ours = GLM(trace=True, **parameters(family, link)).fit(X, y)
    theirs = peer(theirs_family(), y, Z)
    spread = X.std(0)
    np.testing.assert_allclose(ours.coef_ * spread, theirs.params[1:], rtol=0, atol=2e-7)
    np.testing.assert_allclose(ours.intercept_ + ours.coef_ @ X.mean(0), theirs.params[0], rtol=0, atol=2e-7)
    np.testing.assert_allclose(ours.coef_se_ * spread, theirs.bse[1:], rtol=1e-6)
    np.testing.assert_allclose(ours.deviance_, theirs.deviance, rtol=1e-9)
    np.testing.assert_allclose(ours.null_deviance_, theirs.null_deviance, rtol=1e-9)
    np.testing.assert_allclose(ours.dispersion_, theirs.scale, rtol=1e-6)
    log_likelihood, count = likelihood_as_in_r(theirs, family)
    np.testing.assert_allclose(ours.aic_, -2 * log_likelihood + 2 * count, atol=1e-4)
    np.testing.assert_allclose(ours.bic_, -2 * log_likelihood + np.log(N) * count, atol=1e-4)
    np.testing.assert_allclose(ours.predict(X), theirs.mu, rtol=1e-6)
    objectives = [record["values"]["objective"] for record in ours.trace_]
    assert all(after <= before for before, after in itertools.pairwise(objectives))


def likelihood_as_in_r(theirs, family):
    """The log likelihood at the deviance per unit of weight, and the parameters with that dispersion among them."""
    count = theirs.params.shape[0]
    if FAMILIES[family].one_dispersion:
        return theirs.llf, count
    weights, y = theirs.model.freq_weights, theirs.model.endog
    scale = theirs.deviance / weights.sum()
    return theirs.family.loglike(y, theirs.mu, freq_weights=weights, scale=scale), count + 1


def test_the_table_of_cases_covers_every_family_and_every_link():
    assert {family for family, _ in CASES} == set(FAMILIES)
    assert {link for _, link in CASES} == set(LINKS)


@pytest.mark.parametrize("family", ["poisson", "gamma", "gaussian", "bernoulli"])
def test_offset_and_frequency_weights_are_those_of_statsmodels(family):
    rng, X, Z, eta = predictor(1)
    theirs_family, target = CASES[family, FAMILIES[family].links[0]]
    offset, weights = 0.3 * rng.normal(size=N), rng.integers(0, 4, size=N).astype(float)
    y = np.asarray(target(rng, eta + offset), dtype=float)
    ours = GLM(family=family).fit(X, y, sample_weight=weights, offset=offset)
    some = weights > 0
    theirs = peer(theirs_family(), y[some], Z[some], offset=offset[some], freq_weights=weights[some])
    np.testing.assert_allclose(ours.coef_ * X.std(0), theirs.params[1:], atol=1e-7)
    np.testing.assert_allclose(ours.coef_se_ * X.std(0), theirs.bse[1:], rtol=1e-6)
    np.testing.assert_allclose(ours.deviance_, theirs.deviance, rtol=1e-9)
    log_likelihood, count = likelihood_as_in_r(theirs, family)
    np.testing.assert_allclose(ours.aic_, -2 * log_likelihood + 2 * count, rtol=1e-7)
    np.testing.assert_allclose(ours.null_deviance_, theirs.null_deviance, rtol=1e-7)
    np.testing.assert_allclose(ours.predict(X[some], offset=offset[some]), theirs.mu, rtol=1e-6)


def test_exposure_is_an_offset_of_its_logarithm():
    rng, X, Z, eta = predictor(2)
    exposure = rng.uniform(0.1, 5, size=N)
    y = rng.poisson(exposure * np.exp(eta)).astype(float)
    ours = GLM(family="poisson").fit(X, y, exposure=exposure)
    theirs = peer(sm.families.Poisson(), y, Z, exposure=exposure)
    np.testing.assert_allclose(ours.coef_ * X.std(0), theirs.params[1:], atol=1e-8)
    np.testing.assert_allclose(ours.predict(X, exposure=exposure), theirs.mu, rtol=1e-7)
    same = GLM(family="poisson").fit(X, y, offset=np.log(exposure))
    np.testing.assert_array_equal(same.coef_, ours.coef_)
    with pytest.raises(DataError, match="needs the log link"):
        GLM(family="poisson", link="sqrt").fit(X, y, exposure=exposure)
    with pytest.raises(DataError, match="exposure must be positive"):
        GLM(family="poisson").fit(X, y, exposure=exposure - 1)
    with pytest.raises(DataError, match="offset must have one value for each of 400 rows"):
        GLM(family="poisson").fit(X, y, offset=[1.0])


@pytest.mark.parametrize("alpha", [1e-4, 0.1, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie", "tweedie 1.9", "tweedie 3"])
def test_penalised_coefficients_equal_those_of_scikit_learn(name, alpha, fit_intercept):
    rng, _, X, eta = predictor(3)
    weights = rng.uniform(0.1, 2, size=N)
    y = rng.gamma(2, np.exp(eta) / 2) if name in ("gamma", "tweedie 3") else tweedie_target(rng, np.exp(eta))
    options = {"alpha": alpha, "fit_intercept": fit_intercept}
    fast = {"solver": "newton-cholesky", "tol": 1e-10, "max_iter": 1000}
    if name == "poisson":
        ours, theirs = GLM(family="poisson", **options), PoissonRegressor(**options, **fast)
    elif name == "gamma":
        ours, theirs = GLM(family="gamma", **options), GammaRegressor(**options, **fast)
    else:
        power = float(name.split()[1]) if " " in name else 1.5
        ours = GLM(family="tweedie", tweedie_power=power, **options)
        theirs = TweedieRegressor(power=power, link="log", **options, **fast)
    ours.fit(X, y, sample_weight=weights)
    theirs.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)


def test_gaussian_model_is_least_squares():
    _, X, _, eta = predictor()
    y = eta + np.random.default_rng(8).normal(size=N)
    ours, exact = GLM().fit(X, y), LeastSquares().fit(X, y)
    np.testing.assert_allclose(ours.coef_, exact.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.coef_se_, exact.coef_se_, rtol=1e-9)
    np.testing.assert_allclose(ours.p_values_, exact.p_values_, rtol=1e-7)
    np.testing.assert_allclose(np.sqrt(ours.dispersion_), exact.sigma_, rtol=1e-10)
    np.testing.assert_allclose(ours.confidence_intervals(0.9), exact.confidence_intervals(0.9), rtol=1e-8)


def test_bernoulli_model_is_logistic_regression_with_every_penalty():
    rng, _, X, eta = predictor(4)
    y = (rng.random(N) < 1 / (1 + np.exp(-2 * eta))).astype(float)
    for penalty, share in (("l2", 0.0), ("l1", 1.0), ("elasticnet", 0.4)):
        theirs = LogisticRegression(penalty=penalty, C=0.05, l1_ratio=share, tol=1e-10).fit(X, y)
        ours = GLM(family="bernoulli", alpha=1 / (0.05 * N), l1_ratio=share, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_[0], atol=1e-7)
    free = GLM(family="bernoulli").fit(X, y)
    theirs = LogisticRegression(penalty=None).fit(X, y)
    np.testing.assert_allclose(free.coef_se_, theirs.coef_se_[0], rtol=1e-6)
    np.testing.assert_allclose(free.aic_, theirs.aic_, rtol=1e-9)


def test_theta_is_the_maximum_likelihood_estimate_of_statsmodels():
    rng, _, X, eta = predictor(5)
    y = rng.negative_binomial(2, 2 / (2 + np.exp(1 + eta))).astype(float)
    ours = GLM(family="negative_binomial").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sm.NegativeBinomial(y, sm.add_constant(X)).fit(disp=False, maxiter=500, method="newton")
    np.testing.assert_allclose(1 / ours.theta_, theirs.params[-1], rtol=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.params[1:-1], atol=1e-5)
    np.testing.assert_allclose(ours.aic_, theirs.aic, atol=1e-5)
    mean, weights = ours.predict(X), np.ones(N)
    steps = ours.theta_ * np.exp(np.linspace(-0.1, 0.1, 21))
    family = FAMILIES["negative_binomial"]

    def likelihood(theta):
        half = GLM(family="negative_binomial", theta=float(theta)).fit(X, y).deviance_ / 2
        return family.saturated(y, weights, 1.0, theta) - half

    assert np.argmax([likelihood(theta) for theta in steps]) == 10
    np.testing.assert_allclose(best_theta(y, mean, weights), ours.theta_, rtol=1e-8)
    assert GLM(family="negative_binomial", theta=1.0).fit(X, y).theta_ == 1.0


def test_target_without_overdispersion_is_said():
    rng, _, X, _ = predictor(6)
    y = np.where(rng.random(N) < 0.5, 3.0, 4.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GLM(family="negative_binomial").fit(X, y)
    assert "W204" in codes_of(caught) and model.theta_ == 1e6
    np.testing.assert_allclose(model.coef_, GLM(family="poisson").fit(X, y).coef_, atol=1e-5)


def nominal_table(seed=0, n=600):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, size=n),
            "region": np.array([f"r{k}" for k in range(40)])[rng.integers(0, 40, size=n)],
            "size": rng.uniform(size=n),
            "kind": np.array(["a", "b", "c"])[rng.integers(0, 3, size=n)],
        }
    )
    eta = 0.02 * frame["age"] + 0.3 * (frame["kind"] == "b") + 0.01 * frame["region"].str[1:].astype(int)
    return frame, rng.poisson(np.exp(eta)).astype(float), rng.integers(1, 3, size=n).astype(float)


def one_hot(frame):
    return np.column_stack(
        [frame["age"], frame["size"], pd.get_dummies(frame["region"]), pd.get_dummies(frame["kind"])]
    ).astype(float)


@pytest.mark.parametrize("options", [{"alpha": 0.1}, {"alpha": 0.02, "l1_ratio": 0.7}], ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_nominal_columns_as_codes_equal_their_expansion(options, fit_intercept):
    frame, y, weights = nominal_table()
    model = GLM(family="poisson", tol=1e-10, fit_intercept=fit_intercept, **options)
    coded = model.fit(frame, y, sample_weight=weights)
    assert coded.term_names_[:3].tolist() == ["age", "size", "region=r0"] and coded.n_features_in_ == 4
    expanded = GLM(family="poisson", tol=1e-10, fit_intercept=fit_intercept, **options)
    expanded.fit(one_hot(frame), y, sample_weight=weights)
    np.testing.assert_allclose(coded.coef_, expanded.coef_, atol=1e-8)
    np.testing.assert_allclose(coded.predict(frame), expanded.predict(one_hot(frame)), rtol=1e-8)
    np.testing.assert_allclose(GLM(**model.get_params()).fit(pl.from_pandas(frame), y, weights).coef_, coded.coef_)


def test_without_penalty_the_first_level_is_the_reference():
    frame, y, _ = nominal_table()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GLM(family="poisson").fit(frame, y)
    dummies = one_hot(frame)
    kept = [j for j in range(dummies.shape[1]) if j not in (2, 42)]
    theirs = sm.GLM(y, sm.add_constant(dummies[:, kept]), family=sm.families.Poisson()).fit(tol=1e-12)
    assert model.coef_[2] == model.coef_[42] == 0.0
    np.testing.assert_allclose(model.coef_[kept], theirs.params[1:], atol=1e-7)
    np.testing.assert_allclose(model.coef_se_[kept], theirs.bse[1:], rtol=1e-6)
    np.testing.assert_allclose(model.aic_, theirs.aic, rtol=1e-9)
    unseen = frame.assign(region="elsewhere", kind="a")
    np.testing.assert_allclose(
        model.predict_linear(unseen), model.intercept_ + frame[["age", "size"]].to_numpy() @ model.coef_[:2]
    )


def test_categorical_features_declares_numeric_codes_nominal():
    frame, y, _ = nominal_table()
    numbers = np.column_stack([frame["age"], frame["region"].str[1:].astype(int)]).astype(float)
    model = GLM(family="poisson", alpha=0.1, categorical_features=[1]).fit(numbers, y)
    assert model.coef_.shape == (41,)
    assert GLM(family="poisson", alpha=0.1).fit(numbers, y).coef_.shape == (2,)


def test_missing_nominal_cells_are_refused_in_one_sentence():
    frame, y, _ = nominal_table()
    frame.loc[3, "region"] = None
    with pytest.raises(DataError, match=r"column 'region' holds 1 missing values"):
        GLM(family="poisson").fit(frame, y)


@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_folds_of_a_mixed_table_equal_separate_fits(alpha):
    frame, y, weights = nominal_table()
    rows = np.random.default_rng(0).permutation(len(y))
    folds = [(np.sort(rows[part:]), np.sort(rows[:part])) for part in (200, 300)]
    model = GLM(family="poisson", alpha=alpha)
    for (train, test), fitted in zip(folds, model.fit_folds(frame, y, folds, sample_weight=weights), strict=True):
        alone = GLM(family="poisson", alpha=alpha).fit(frame.iloc[train], y[train], sample_weight=weights[train])
        np.testing.assert_allclose(fitted.predict(frame.iloc[test]), alone.predict(frame.iloc[test]), rtol=1e-6)


def test_weights_equal_repetition_in_every_number():
    rng, X, _, eta = predictor(7)
    y = rng.gamma(2, np.exp(eta) / 2)
    weights = rng.integers(0, 4, size=N)
    weighted = GLM(family="gamma").fit(X, y, sample_weight=weights)
    repeated = GLM(family="gamma").fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for name in ("coef_", "coef_se_", "deviance_", "null_deviance_", "dispersion_", "aic_", "bic_", "df_residual_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-8)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_absolute_penalty_meets_its_optimality_conditions(share):
    rng, _, X, eta = predictor(9)
    X = np.column_stack([X, rng.normal(size=(N, 20))])
    y = rng.poisson(np.exp(eta)).astype(float)
    alpha = 0.05
    model = GLM(family="poisson", alpha=alpha, l1_ratio=share, trace=True).fit(X, y)
    slope = X.T @ (model.predict(X) - y) / N + alpha * (1 - share) * model.coef_
    zero = model.coef_ == 0
    assert 2 < zero.sum() < 23
    assert (np.abs(slope[zero]) <= alpha * share + 1e-8).all()
    np.testing.assert_allclose(slope[~zero], -alpha * share * np.sign(model.coef_[~zero]), atol=1e-8)
    assert abs((model.predict(X) - y).mean()) < 1e-8
    values = [record["values"]["objective"] for record in model.trace_]
    assert all(after <= before for before, after in itertools.pairwise(values))


def test_number_of_threads_changes_no_bit():
    frame, y, _ = nominal_table(n=5000)
    models = [GLM(family="poisson", n_jobs=jobs).fit(frame, y) for jobs in (1, 2)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    np.testing.assert_array_equal(models[0].coef_se_, models[1].coef_se_)


@pytest.mark.parametrize(
    ("family", "bad", "rule"),
    [
        ("poisson", -1.0, "must not be negative"),
        ("gamma", 0.0, "must be positive"),
        ("inverse_gaussian", -2.0, "must be positive"),
        ("bernoulli", 1.5, "must lie between 0 and 1"),
        ("tweedie", -0.5, "must not be negative"),
        ("negative_binomial", -3.0, "must not be negative"),
    ],
)
def test_targets_outside_the_range_of_the_family_get_one_sentence(family, bad, rule):
    X = np.arange(6.0)[:, None]
    y = np.full(6, 0.5)
    y[4] = bad
    with pytest.raises(DataError, match=rf"y of family '{family}' {rule}; got {bad:g} at row 4"):
        GLM(family=family).fit(X, y)


@pytest.mark.parametrize("family", ["poisson", "bernoulli", "tweedie", "negative_binomial"])
def test_all_zero_target_gets_one_sentence(family):
    with pytest.raises(DataError, match="must not be 0 in every row"):
        GLM(family=family).fit(np.arange(6.0)[:, None], np.zeros(6))
    assert GLM().fit(np.arange(6.0)[:, None], np.zeros(6)).coef_ == [0.0]


def test_separation_is_said_and_coefficients_stay_finite():
    X = np.linspace(-1, 1, 40)[:, None]
    for family, y in (("bernoulli", (X[:, 0] > 0).astype(float)), ("poisson", np.where(X[:, 0] > 0, 3.0, 0.0))):
        table = X if family == "bernoulli" else (X > 0).astype(float)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = GLM(family=family).fit(table, y)
        assert codes_of(caught) == ["W202"], family
        assert np.isfinite(model.coef_).all() and np.isfinite(model.predict(table)).all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            GLM(family=family, alpha=0.01).fit(table, y)


def test_collinear_and_constant_columns_get_zero_and_are_named():
    rng, _, X, eta = predictor(10)
    y = rng.poisson(np.exp(eta)).astype(float)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["total"] = table["a"] + table["b"]
    table["one"] = 1.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GLM(family="poisson").fit(table, y)
    assert codes_of(caught) == ["W203"] and "'total'" in str(caught[0].message)
    np.testing.assert_allclose(model.coef_[:3], GLM(family="poisson").fit(X, y).coef_, atol=1e-8)
    assert model.coef_[3] == model.coef_[4] == 0.0 and np.isinf(model.coef_se_[3:]).all()
    assert model.df_residual_ == N - 4


@pytest.mark.parametrize("scale", [1e12, 1e-12])
def test_units_of_columns_and_target_do_not_matter(scale):
    rng, _, X, eta = predictor(11)
    y = rng.gamma(2, np.exp(eta) / 2)
    base, scaled = GLM(family="gamma").fit(X, y), GLM(family="gamma").fit(X * scale, y * scale)
    np.testing.assert_allclose(scaled.coef_ * scale, base.coef_, rtol=1e-7)
    np.testing.assert_allclose(scaled.coef_se_ * scale, base.coef_se_, rtol=1e-6)
    base, scaled = GLM().fit(X, y), GLM().fit(X * scale, y * scale**0.5)
    np.testing.assert_allclose(scaled.coef_ * scale**0.5, base.coef_, rtol=1e-9)


def test_more_columns_than_rows():
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(10, 25)), rng.uniform(1, 2, size=10)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GLM(family="gamma").fit(X, y)
    assert "W203" in codes_of(caught)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-5)
    assert np.isinf(model.dispersion_) and np.isinf(model.coef_se_).all()
    assert np.isfinite(GLM(family="gamma", alpha=0.1).fit(X, y).coef_).all()


def test_dispersion_can_be_given_or_estimated():
    rng, _, X, eta = predictor(13)
    y = rng.poisson(rng.gamma(1, np.exp(eta))).astype(float)
    plain, pearson = GLM(family="poisson").fit(X, y), GLM(family="poisson", dispersion="pearson").fit(X, y)
    theirs = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson()).fit(scale="X2", tol=1e-12)
    np.testing.assert_allclose(pearson.coef_se_, theirs.bse[1:], rtol=1e-7)
    assert plain.dispersion_ == 1.0 and pearson.dispersion_ > 1.5
    by_deviance = GLM(family="poisson", dispersion="deviance").fit(X, y)
    np.testing.assert_allclose(by_deviance.dispersion_, by_deviance.deviance_ / by_deviance.df_residual_)
    given = GLM(family="poisson", dispersion=4.0).fit(X, y)
    np.testing.assert_allclose(given.coef_se_, 2 * plain.coef_se_, rtol=1e-9)


def test_summary_prints_and_needs_an_unpenalised_fit():
    rng, _, X, eta = predictor(14)
    y = rng.poisson(np.exp(eta)).astype(float)
    model = GLM(family="poisson").fit(X, y)
    theirs = peer(sm.families.Poisson(), y, X)
    summary = model.summary()
    np.testing.assert_allclose([row.p_value for row in summary.rows], theirs.pvalues, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose([[row.low, row.high] for row in summary.rows], theirs.conf_int(), rtol=1e-6)
    text = str(summary)
    assert "(intercept)" in text and "poisson, log link" in text and "AIC" in text and " z " in text
    assert summary._repr_html_().startswith("<table>")
    json.dumps(summary.to_dict())
    assert " t " in str(GLM(family="gamma").fit(X, y + 1).summary())
    with pytest.raises(ParameterError, match="'alpha' must be 0 for standard errors"):
        GLM(family="poisson", alpha=1.0).fit(X, y).summary()
    with pytest.raises(ParameterError, match="'level' must be between 0 and 1"):
        model.summary(level=1.0)


def test_multinomial_points_to_logistic_regression():
    with pytest.raises(ParameterError, match="use LogisticRegression"):
        GLM(family="multinomial").fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"family": "poisson", "link": "logit"}, "'link' must suit family 'poisson'; got 'logit'"),
        ({"family": "tweedie", "tweedie_power": 0.5}, "'tweedie_power' must be 0 or at least 1"),
    ],
)
def test_parameters_that_do_not_go_together_get_one_sentence(options, match):
    with pytest.raises(ParameterError, match=match):
        GLM(**options).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 1.0])


@pytest.mark.parametrize(
    ("power", "family"), [(0.0, "gaussian"), (1.0, "poisson"), (2.0, "gamma"), (3.0, "inverse_gaussian")]
)
def test_whole_tweedie_powers_are_the_families_they_name(power, family):
    rng, _, X, eta = predictor(15)
    y = rng.gamma(2, np.exp(eta) / 2)
    named = GLM(family=family, link="log").fit(X, y)
    by_power = GLM(family="tweedie", tweedie_power=power, link="log").fit(X, y)
    np.testing.assert_allclose(by_power.coef_, named.coef_, rtol=1e-12)
    near = GLM(family="tweedie", tweedie_power=max(power, 1.0) + 1e-7).fit(X, y)
    if power >= 1:
        np.testing.assert_allclose(near.coef_, named.coef_, atol=1e-5)


def test_link_without_reachable_start_is_said():
    X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    with pytest.raises(DataError, match="finds no coefficients that keep every mean"):
        GLM(family="gamma", link="inverse", fit_intercept=False).fit(X, [1.0, 1.0, 2.0, 2.0])
    model = GLM(family="gamma", link="identity", fit_intercept=False).fit(np.abs(X), [1.0, 1.5, 2.0, 2.5])
    assert model.intercept_ == 0.0 and (model.predict(np.abs(X)) > 0).all()


def test_max_iter_is_obeyed_and_tol_matters():
    rng, _, X, eta = predictor(16)
    y = rng.poisson(np.exp(3 * eta)).astype(float)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert GLM(family="poisson", max_iter=1).fit(X, y).n_iter_ == 1
    assert codes_of(caught) == ["W201"]
    assert GLM(family="poisson", tol=1e-1).fit(X, y).n_iter_ < GLM(family="poisson", tol=1e-12).fit(X, y).n_iter_


def test_unpenalised_fit_after_a_penalised_one_forgets_nothing_and_keeps_nothing():
    rng, _, X, eta = predictor(17)
    y = rng.poisson(np.exp(eta)).astype(float)
    model = GLM(family="poisson").fit(X, y)
    assert hasattr(model, "coef_se_")
    assert not hasattr(model.set_params(alpha=1.0).fit(X, y), "coef_se_")


def test_summary_reads_well_for_held_levels_and_names_with_two_words():
    X = pd.DataFrame({"dose": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "kind": ["old", "new"] * 3})
    model = GLM(family="negative_binomial", theta=2.0).fit(X, [1.0, 3.0, 2.0, 6.0, 4.0, 9.0])
    lines = str(model.summary()).splitlines()
    held = next(line for line in lines if line.startswith("kind=new"))
    assert held.split() == ["kind=new", "0", "-", "-", "-", "-", "-"]
    assert "negative binomial (theta = 2), log link" in str(model.summary()) and "inf" not in "".join(lines)
    assert "<td>-</td>" in model.summary()._repr_html_()


@pytest.mark.parametrize("power", [1.05, 1.3, 1.5, 1.9])
def test_the_tweedie_series_is_wrights_function(power):
    size, a = np.linspace(-300.0, 20.0, 500), (2.0 - power) / (power - 1.0)
    expected = special.log_wright_bessel(a, 0.0, np.exp(size))
    np.testing.assert_allclose(glm_families._log_tweedie_series(a, size), expected, rtol=1e-10, atol=1e-10)


def test_the_null_deviance_is_that_of_the_weighted_mean():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(50, 2)), rng.gamma(2.0, size=50), rng.integers(1, 4, 50).astype(float)
    mean = np.average(y, weights=w)
    expected = 2.0 * float(w @ (np.log(mean / y) + y / mean - 1.0))
    assert GLM(family="gamma").fit(X, y, sample_weight=w).null_deviance_ == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"alpha": 0.01}, {"alpha": 0.01, "l1_ratio": 0.5}], ids=str)
def test_a_long_table_in_blocks_begins_at_the_optimum_of_a_sample(monkeypatch, options):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(4000, 3))
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(y=rng.poisson(np.exp(1.0 + X @ [0.5, -0.4, 0.0])))
    found = []
    for sampled in (10**9, 200):
        monkeypatch.setattr(glm_solver, "SAMPLED_ROWS", sampled)
        found.append(GLM(family="poisson", **options).fit_batches(Batches([frame[:1500], frame[1500:]], "y")))
    whole, informed = found
    np.testing.assert_allclose(informed.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    assert informed.n_iter_ < whole.n_iter_


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_sample_without_an_optimum_is_no_start(monkeypatch):
    monkeypatch.setattr(glm_solver, "SAMPLED_ROWS", 100)
    x = np.arange(1000.0) / 1000
    frame = pl.DataFrame(
        {"x": x, "y": np.where(np.arange(1000) % 10 == 3, 1.0, 0.0)}
    )  # every tenth row, from 0 on, is 0
    model = GLM(family="poisson").fit_batches(Batches([frame], "y"))
    np.testing.assert_allclose(model.predict(frame.select("x")).mean(), 0.1, rtol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [{"alpha": 0.0}, {"alpha": 0.1}, {"alpha": 0.1, "l1_ratio": 0.5}, {"family": "gamma", "link": "log"}],
    ids=str,
)
def test_a_matrix_that_was_let_go_of_is_made_again_for_a_damped_step(monkeypatch, settings):
    rng, X, _, predicted = predictor()
    y, steps, kept = rng.poisson(np.exp(predicted)) + 0.5, [], glm_solver.Problem.step

    def twice(self, point, damping):
        first, held = kept(self, point, damping), point.hessian is not None
        steps.append(held)
        np.testing.assert_array_equal(kept(self, point, damping), first)
        kept(self, point, 1.0)
        return first

    monkeypatch.setattr(glm_solver.Problem, "step", twice)
    found = []
    for large in (10_000, 0):
        monkeypatch.setattr(glm_solver, "_LARGE", large)
        steps.clear()
        found.append(GLM(**{"family": "poisson", **settings}).fit(X, y))
        assert steps and set(steps) == {large > 0}
    np.testing.assert_array_equal(found[0].coef_, found[1].coef_)
    assert found[0].intercept_ == found[1].intercept_
