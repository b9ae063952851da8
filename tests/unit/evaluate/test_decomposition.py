"""Bias, variance and noise: the identities, the outside numbers, and the words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from assay.base import DataError, ParameterError, UsageError
from assay.evaluate import bias_variance, decompose_predictions
from assay.evaluate.decomposition import _assert_identity

RNG = np.random.default_rng(0)
REFERENCE = Path(__file__).parents[2] / "reference" / "mlxtend" / "bias_variance.json"


def votes(n_sets: int, n_rows: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    truth = RNG.integers(0, n_classes, n_rows)
    skill = RNG.uniform(size=n_rows)
    guesses = RNG.integers(0, n_classes, (n_sets, n_rows))
    return np.where(RNG.uniform(size=(n_sets, n_rows)) < skill, truth, guesses), truth


def test_loss_bias_and_plain_variance_are_those_of_mlxtend():
    """mlxtend 0.25.0 (see the script beside the numbers); its 0-1 variance is the plain one, which does not add up."""
    stored = json.loads(REFERENCE.read_text())
    for name, loss in (("0-1_loss", "zero_one"), ("mse", "squared")):
        theirs = stored[name]
        ours = decompose_predictions(theirs["predictions"], theirs["y"], loss=loss)
        assert ours.total == pytest.approx(theirs["loss"], rel=1e-12)
        assert ours.bias == pytest.approx(theirs["bias"], rel=1e-12)
        assert ours.variance == pytest.approx(theirs["variance"], rel=1e-12)
    labels = stored["0-1_loss"]
    assert abs(labels["loss"] - labels["bias"] - labels["variance"]) > 0.05
    ours = decompose_predictions(labels["predictions"], labels["y"], loss="zero_one")
    assert ours.bias + ours.net_variance == pytest.approx(labels["loss"], rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_domingos_identity_holds_at_every_row(n_classes):
    predictions, truth = votes(41, 200, n_classes)
    parts = decompose_predictions(predictions, truth, loss="zero_one")
    rows = parts.rows
    assert np.abs(rows["total"] - (predictions != truth).mean(axis=0)).max() < 1e-12
    assert np.abs(rows["total"] - rows["bias"] - rows["net_variance"]).max() < 1e-12
    biased = rows["bias"] == 1
    assert biased.any() and (~biased).any()
    # The factor of the variance at biased rows is -P(f = y | f != main): -1 for two classes, less in size for more.
    factor = rows["biased_variance"][biased] / rows["variance"][biased]
    wrong = predictions != rows["main"]
    by_hand = [(predictions[w, i] == truth[i]).mean() for i, w in enumerate(wrong.T) if biased[i]]
    assert factor == pytest.approx(by_hand)
    assert (factor == pytest.approx(1)) == (n_classes == 2)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_noise_enters_with_domingos_factor(n_classes):
    """P(f != t) over independent f and t, row by row, against c1 N + B + c2 V with c1 from its definition."""
    predictions, truth = votes(60, 80, n_classes)
    noise = RNG.dirichlet(np.ones(n_classes), 80)
    best = noise.argmax(axis=1)
    parts = decompose_predictions(predictions, truth, loss="zero_one", noise=noise)
    hits = np.array([(predictions == k).mean(axis=0) for k in range(n_classes)]).T
    assert parts.rows["total"] == pytest.approx(1 - (hits * noise).sum(axis=1))
    rate = 1 - noise[np.arange(80), best]
    hit_best = hits[np.arange(80), best]
    given_noise = ((hits * noise).sum(axis=1) - hit_best * (1 - rate)) / rate
    assert parts.rows["noise_term"] == pytest.approx((hit_best - given_noise) * rate)
    if n_classes == 2:
        assert parts.rows["noise_term"] == pytest.approx((2 * hit_best - 1) * rate)
    left, right = parts.identity
    assert left == pytest.approx(right, abs=1e-12)


def test_a_noise_rate_is_spread_over_the_other_labels():
    predictions, truth = votes(30, 50, 3)
    matrix = np.full((50, 3), 0.1)
    matrix[np.arange(50), truth] = 0.8
    by_rate = decompose_predictions(predictions, truth, loss="zero_one", noise=0.2, noisy_test=False)
    by_matrix = decompose_predictions(predictions, truth, loss="zero_one", noise=matrix)
    assert by_rate.total == pytest.approx(by_matrix.total) and by_rate.noise == pytest.approx(0.2)


def test_known_noise_leaves_the_squared_bias():
    """A straight line is unbiased for a line: what looks like bias against noisy targets is their noise."""
    rng = np.random.default_rng(3)

    def draw(generator):
        X = generator.uniform(-1, 1, (60, 1))
        return X, 2 * X[:, 0] + generator.normal(size=60)

    X_test = rng.uniform(-1, 1, (4000, 1))
    y_test = 2 * X_test[:, 0] + rng.normal(size=4000)
    given = {"method": "simulate", "generator": draw, "n_replicates": 40, "random_state": 0}
    blind = bias_variance(LinearRegression(), None, None, X_test, y_test, **given)
    known = bias_variance(LinearRegression(), None, None, X_test, y_test, noise=1.0, **given)
    truth = bias_variance(
        LinearRegression(), None, None, X_test, 2 * X_test[:, 0], noise=1.0, noisy_test=False, **given
    )
    assert blind.noise == 0 and blind.bias == pytest.approx(1, abs=0.1)
    assert known.total == pytest.approx(blind.total) and known.bias == pytest.approx(0, abs=0.1)
    assert truth.bias == pytest.approx(0, abs=0.01) and truth.total == pytest.approx(known.total, abs=0.1)
    for parts in (blind, known, truth):
        assert parts.total == pytest.approx(parts.bias + parts.variance + parts.noise, rel=1e-12)


def test_identity_survives_targets_far_from_zero():
    f = 1e8 + RNG.normal(size=(20, 30))
    parts = decompose_predictions(f, np.full(30, 1e8), loss="squared")
    assert parts.total == pytest.approx(parts.bias + parts.variance, rel=1e-6)


def test_deeper_trees_trade_bias_for_variance():
    X = RNG.uniform(size=(150, 1))
    y = np.sin(8 * X[:, 0]) + RNG.normal(scale=0.3, size=150)
    parts = [
        bias_variance(DecisionTreeRegressor(max_depth=d), X[:100], y[:100], X[100:], y[100:], random_state=0)
        for d in (1, 3, None)
    ]
    assert parts[0].bias > parts[1].bias > 0 and parts[0].variance < parts[1].variance < parts[2].variance
    assert "squared bias" in parts[0].sentence and "noise is not known" in parts[0].sentence


def test_the_same_seed_gives_the_same_parts_for_any_number_of_jobs():
    X, y = RNG.normal(size=(60, 2)), np.array(["a", "b", "c"])[RNG.integers(0, 3, 60)]
    learner = DecisionTreeClassifier(max_features=1)
    runs = [
        bias_variance(learner, X, y, X, y, n_replicates=20, random_state=5, n_jobs=jobs).to_dict() for jobs in (None, 2)
    ]
    assert runs[0] == runs[1]
    other = bias_variance(learner, X, y, X, y, n_replicates=20, random_state=6).to_dict()
    assert other != runs[0]
    json.dumps(runs[0], allow_nan=False)


def test_replicates_are_told_apart_by_index_alone():
    X, y = RNG.normal(size=(40, 2)), RNG.normal(size=40)
    few = bias_variance(LinearRegression(), X, y, X, y, n_replicates=2, random_state=1)
    assert few.n_replicates == 2 and few.n_test == 40 and few._repr_html_().startswith("<table>")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda X, y: bias_variance(object(), X, y, X, y), UsageError, "fit method"),
        (lambda X, y: bias_variance(KNeighborsClassifier(), X, y, X, y, loss="hinge"), ParameterError, "one of"),
        (lambda X, y: bias_variance(KNeighborsClassifier(), X, y, X, y, n_replicates=1), ParameterError, ">= 2"),
        (lambda X, y: bias_variance(KNeighborsClassifier(), X, y, X, y, method="jackknife"), ParameterError, "must be"),
        (lambda X, y: bias_variance(KNeighborsClassifier(), X, y, X, y, method="simulate"), ParameterError, "together"),
        (lambda X, y: bias_variance(KNeighborsClassifier(), X, y[:-1], X, y), DataError, "same number of rows"),
        (lambda X, y: decompose_predictions([[1, 2]], [1], loss="squared"), DataError, "must have shape"),
        (lambda X, y: decompose_predictions([["a"]], [1], loss="zero_one"), DataError, "one kind"),
        (lambda X, y: decompose_predictions([["a"]], ["a"], loss="squared"), DataError, "numeric"),
        (lambda X, y: decompose_predictions([[np.nan]], [1.0], loss="squared"), DataError, "finite"),
        (lambda X, y: decompose_predictions([[1.0]], [1.0], loss="squared", noise=-1), DataError, "not negative"),
        (lambda X, y: decompose_predictions([[1.0]], [1.0], loss="squared", noise=[1, 2]), DataError, "one for each"),
        (lambda X, y: decompose_predictions([[0, 1]], [0, 1], loss="zero_one", noise=0.1), ParameterError, "best lab"),
        (
            lambda X, y: decompose_predictions([[0, 1]], [0, 1], loss="zero_one", noise=0.6, noisy_test=False),
            DataError,
            "at most 0.5",
        ),
        (
            lambda X, y: decompose_predictions([[0, 1]], [0, 1], loss="zero_one", noise=[[0.5, 0.6], [0.5, 0.5]]),
            DataError,
            "sum to 1",
        ),
        (
            lambda X, y: decompose_predictions([[0, 1]], [0, 1], loss="zero_one", noise=np.ones((2, 3)) / 3),
            DataError,
            "must have shape",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call, error, words):
    X, y = RNG.normal(size=(10, 2)), np.arange(10) % 2
    with pytest.raises(error, match=words):
        call(X, y)


def test_what_is_shown_names_the_parts_of_the_loss():
    squared = decompose_predictions([[0.1], [0.3]], [0.5], loss="squared").to_markdown()
    assert "squared bias" in squared and "biased rows" not in squared and "net variance" not in squared
    zero_one = decompose_predictions([["a"], ["b"], ["b"]], ["b"], loss="zero_one").to_markdown()
    assert "squared bias" not in zero_one and "net variance" in zero_one and "biased rows" in zero_one


@pytest.mark.parametrize(
    ("predictions", "words"),
    [
        ([[0.1], [0.3]], "bias makes up 90 %"),  # bias (0.2 - 0.5)^2 = 0.09, variance 0.01
        ([[0.4], [0.6]], "variance makes up 100 %"),
        ([[0.0], [0.4]], "bias makes up 69.2 %"),  # bias 0.09, variance 0.04
        ([[0.1], [0.7]], "variance makes up 90 %"),  # bias 0.01, variance 0.09
    ],
)
def test_the_larger_part_is_told_with_its_share(predictions, words):
    assert words in decompose_predictions(predictions, [0.5], loss="squared").sentence


def test_of_a_perfect_learner_no_share_is_told():
    assert "makes up" not in decompose_predictions([[0.5], [0.5]], [0.5], loss="squared").sentence


@pytest.mark.parametrize("name", ["total", "noise_term", "bias", "net_variance"])
@pytest.mark.parametrize("main", [np.array([10.0, -3.0]), np.array([0, 1])])
def test_parts_that_miss_the_total_are_an_error(name, main):
    parts = {"noise_term": 0.1, "bias": 0.2, "net_variance": 0.3, "variance": 0.3, "noise": 0.1, "total": 0.6}
    whole = {key: np.full(2, value) for key, value in parts.items()} | {"main": main}
    _assert_identity(whole)
    for miss in (1e-6, -1e-6, 0.5):
        with pytest.raises(ArithmeticError, match="miss the total"):
            _assert_identity(whole | {name: whole[name] + [0.0, miss]})
