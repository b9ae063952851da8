"""Out-of-bag, .632 and .632+ errors against their definitions and against fresh data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assay.base import DataError, ParameterError, Stream, UsageError
from assay.evaluate import BootstrapSplitter, bootstrap_error, no_information_error
from assay.evaluate.error_estimates import _delta_error

RNG = np.random.default_rng(0)


def two_classes(n: int, shift: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + shift * y[:, None], y


def test_estimates_follow_their_definitions():
    """The same splits by hand: losses of each row by the models whose samples left it out."""
    X, y = two_classes(40, 1.0, RNG)
    result = bootstrap_error(GaussianNB(), X, y, n_replicates=30, random_state=7)
    losses = [[] for _ in y]
    for train, test in BootstrapSplitter(30, random_state=Stream.of(7).child(0)).split(y):
        model = GaussianNB().fit(X[train], y[train])
        for row, wrong in zip(test, model.predict(X[test]) != y[test]):
            losses[row].append(wrong)
    oob = np.mean([np.mean(row) for row in losses])
    fitted = GaussianNB().fit(X, y).predict(X)
    training = np.mean(fitted != y)
    gamma = np.mean(y[:, None] != fitted[None, :])
    overfitting = (oob - training) / (gamma - training)
    weight = 0.632 / (1 - 0.368 * overfitting)
    assert result.oob == pytest.approx(oob) and result.training == pytest.approx(training)
    assert result.e632 == pytest.approx(0.368 * training + 0.632 * oob)
    assert result.no_information == pytest.approx(gamma)
    assert result.relative_overfitting == pytest.approx(overfitting) and result.weight == pytest.approx(weight)
    assert result.estimate == result.e632_plus == pytest.approx((1 - weight) * training + weight * oob)


def test_the_example_that_breaks_632_and_not_632_plus():
    """Efron and Tibshirani (1997): 1-NN on labels without information has true error 1/2, .632 says .316."""
    X, y = RNG.normal(size=(60, 5)), np.arange(60) % 2
    result = bootstrap_error(KNeighborsClassifier(1), X, y, n_replicates=100, random_state=0)
    assert result.training == 0 and result.e632 == pytest.approx(0.316, abs=0.06)
    assert result.e632_plus == pytest.approx(0.5, abs=0.08) and result.relative_overfitting > 0.8


@pytest.mark.parametrize("loss", ["zero_one", "squared", "absolute"])
def test_the_no_information_error_is_the_mean_over_all_pairs(loss):
    y, f = RNG.integers(0, 4, 50).astype(float), RNG.integers(0, 5, 50).astype(float)
    pairs = y[:, None] - f[None, :]
    want = {"zero_one": pairs != 0, "squared": pairs**2, "absolute": np.abs(pairs)}[loss].mean()
    assert no_information_error(y, f, loss) == pytest.approx(want)


def test_regression_with_both_losses():
    X = RNG.normal(size=(50, 3))
    y = X @ [1.0, 2.0, 0.0] + RNG.normal(size=50)
    squared = bootstrap_error(LinearRegression(), X, y, n_replicates=60, random_state=0)
    absolute = bootstrap_error(LinearRegression(), X, y, loss="absolute", n_replicates=60, random_state=0)
    assert squared.loss == "squared" and squared.training < squared.e632_plus < squared.oob
    assert absolute.e632_plus == pytest.approx(np.sqrt(squared.e632_plus * 2 / np.pi), rel=0.2)


def test_a_learner_worse_on_its_training_rows_is_not_called_overfitting():
    class Contrary(KNeighborsClassifier):
        def predict(self, X):
            seen = (X[:, None, :] == self._fit_X[None, :, :]).all(axis=2).any(axis=1)
            right = super().predict(X)
            return np.where(seen, 1 - right, right)

    X, y = two_classes(40, 4.0, RNG)
    result = bootstrap_error(Contrary(1), X, y, n_replicates=20, random_state=0)
    assert result.training > result.oob and result.relative_overfitting == 0
    assert result.e632_plus == pytest.approx(result.e632)


def test_the_same_seed_gives_the_same_error_for_any_number_of_jobs():
    X, y = two_classes(40, 1.0, RNG)
    learner = DecisionTreeClassifier(max_features=1)
    runs = [bootstrap_error(learner, X, y, n_replicates=20, random_state=1, n_jobs=j).to_dict() for j in (None, 1, 2)]
    assert runs[0] == runs[1] == runs[2]
    assert bootstrap_error(learner, X, y, n_replicates=20, random_state=2).oob != runs[0]["oob"]
    json.dumps(runs[0], allow_nan=False)


def test_groups_are_left_out_whole():
    """Rows come in near copies: only leaving out the whole group shows the error."""
    centres, labels = RNG.normal(size=(20, 3)), np.arange(20) % 2
    groups = np.repeat(np.arange(20), 5)
    X, y = centres[groups] + 0.01 * RNG.normal(size=(100, 3)), labels[groups]
    alone = bootstrap_error(KNeighborsClassifier(1), X, y, n_replicates=40, random_state=0)
    whole = bootstrap_error(KNeighborsClassifier(1), X, y, n_replicates=40, groups=groups, random_state=0)
    assert alone.oob < 0.1 < 0.3 < whole.oob


def test_the_estimate_is_near_the_error_on_fresh_rows_and_its_standard_error_near_its_spread():
    rng = np.random.default_rng(5)
    estimates, errors, truth = [], [], []
    for r in range(40):
        X, y = two_classes(40, 1.0, rng)
        result = bootstrap_error(GaussianNB(), X, y, n_replicates=50, random_state=r)
        fresh, labels = two_classes(4000, 1.0, rng)
        truth.append(np.mean(GaussianNB().fit(X, y).predict(fresh) != labels))
        estimates.append(result.e632_plus)
        errors.append(result.standard_error)
    assert np.mean(estimates) == pytest.approx(np.mean(truth), abs=0.04)
    assert 0.6 < np.sqrt(np.mean(np.square(errors))) / np.std(estimates) < 1.8


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda X, y: bootstrap_error(object(), X, y), UsageError, "fit method"),
        (lambda X, y: bootstrap_error(GaussianNB(), X, y[1:]), DataError, "same number of rows"),
        (lambda X, y: bootstrap_error(GaussianNB(), X, y, loss="log"), ParameterError, "one of"),
        (lambda X, y: bootstrap_error(GaussianNB(), X, np.zeros(20)), DataError, "at least 2 classes"),
        (lambda X, y: bootstrap_error(GaussianNB(), X[:2], y[:2], random_state=0), DataError, "enough rows"),
        (lambda X, y: bootstrap_error(Ridge(), X, np.r_[np.nan, y[1:]]), DataError, "row 0"),
        (lambda X, y: bootstrap_error(Ridge(), X, y.astype(str)), DataError, "numeric"),
        (lambda X, y: bootstrap_error(Ridge(), X, np.column_stack([y, y])), DataError, "one-dimensional"),
        (lambda X, y: bootstrap_error(GaussianNB(), X, y, alpha=0), ParameterError, "between 0 and 1"),
        (lambda X, y: bootstrap_error(GaussianNB(), X, y, n_jobs=0), ParameterError, "n_jobs"),
        (lambda X, y: no_information_error([1], [1, 2]), DataError, "same number"),
        (lambda X, y: no_information_error([1], [1], "log"), ParameterError, "one of"),
    ],
)
def test_bad_input_gets_one_sentence(call, error, words):
    X, y = two_classes(20, 1.0, RNG)
    with pytest.raises(error, match=words):
        call(X, y)


def test_where_all_samples_lose_the_same_the_standard_error_is_that_of_the_rows():
    """Efron and Tibshirani (1997), sec. 5: only the first term of their derivative, (2 + 1 / (n - 1)) (E_i - E) / n, is
    left. Rows 0, 1, 2 have the errors 1/2, 0, 3/4 of mean 5/12."""
    pairs = [(np.array([0, 0, 0]), np.array([1, 2])), (np.array([1, 1, 1]), np.array([0, 2]))]
    found, errors = [np.array([0.0, 1.0]), np.array([0.5, 0.5])], np.array([0.5, 0.0, 0.75])
    error = _delta_error(3, pairs, found, errors, 5 / 12, np.array([1.0, 1.0, 2.0]))
    assert error == pytest.approx(2.5 / 3 * np.sqrt((1 / 12) ** 2 + (5 / 12) ** 2 + (1 / 3) ** 2))


@pytest.mark.parametrize(("samples", "times"), [(100, 40), (4000, 1)])
def test_a_loss_that_is_the_mean_of_the_sample_has_the_standard_error_of_a_mean(samples, times):
    """For few samples too: what their number adds to the squared error is taken off again."""
    rng, n = np.random.default_rng(7), 20
    x = 2 + rng.exponential(size=n)

    def squared_error() -> float:
        drawn = [rng.integers(0, n, n) for _ in range(samples)]
        pairs = [(rows, np.setdiff1d(np.arange(n), rows)) for rows in drawn]
        found = [np.full(test.size, x[rows].mean()) for rows, test in pairs]
        left_out = np.concatenate([test for _, test in pairs])
        often = np.bincount(left_out, minlength=n).astype(float)
        errors = np.bincount(left_out, weights=np.concatenate(found), minlength=n) / often
        return _delta_error(n, pairs, found, errors, float(errors.mean()), often) ** 2

    assert np.mean([squared_error() for _ in range(times)]) == pytest.approx(x.var() / n, rel=0.15)


@pytest.mark.parametrize("replicates", [1, 3])
def test_rows_that_every_sample_drew_have_no_out_of_bag_error(replicates):
    """The error of a row is its mean over the samples that left it out; the estimate is the mean over such rows."""
    X = np.random.default_rng(0).normal(size=(12, 1))
    y = X[:, 0] ** 2
    found = bootstrap_error(LinearRegression(), X, y, n_replicates=replicates, random_state=2)
    total, times = np.zeros(12), np.zeros(12)
    for train, test in BootstrapSplitter(replicates, random_state=Stream.of(2).child(0)).split(y):
        total[test] += (y[test] - LinearRegression().fit(X[train], y[train]).predict(X[test])) ** 2
        times[test] += 1
    assert (times == 0).any() and found.oob == pytest.approx((total[times > 0] / times[times > 0]).mean())
    training = np.mean((y - LinearRegression().fit(X, y).predict(X)) ** 2)
    assert found.training == pytest.approx(training)
    assert found.e632 == pytest.approx(0.368 * training + 0.632 * found.oob)


def test_the_interval_stays_where_errors_can_be():
    X, y = np.repeat([0.0, 9.0], 10)[:, None], np.repeat([0, 1], 10)
    none = bootstrap_error(KNeighborsClassifier(1), X, y, n_replicates=20, random_state=0)
    assert (none.training, none.oob, none.estimate, none.interval) == (0.0, 0.0, 0.0, (0.0, 0.0))
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 1)), np.arange(12) % 2
    few = bootstrap_error(KNeighborsClassifier(1), X, y, n_replicates=20, alpha=1e-12, random_state=0)
    assert few.interval == (0.0, 1.0)
    values = bootstrap_error(LinearRegression(), X, 5.0 * rng.normal(size=12), n_replicates=20, random_state=0)
    assert values.interval[1] > values.estimate > 1 and values.interval[0] >= 0
