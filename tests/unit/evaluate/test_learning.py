"""Learning curves, validation curves and the gap between training and test rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from assay.base import DataError, ParameterError, UsageError
from assay.evaluate import (
    BootstrapSplitter,
    fit_power_law,
    learning_curve,
    learning_curve_from_scores,
    make_design,
    overfitting_gap,
    validation_curve,
)

RNG = np.random.default_rng(0)
SIZES = np.array([25, 50, 100, 200, 400, 800])


def two_classes(n: int, shift: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(n) % 2
    return RNG.normal(size=(n, 2)) + shift * y[:, None], np.array(["no", "yes"])[y]


def noisy_scores(n_splits: int, spread: float, rng: np.random.Generator) -> np.ndarray:
    return (0.92 - 0.8 * SIZES**-0.5)[:, None] + spread * rng.normal(size=(SIZES.size, n_splits))


# -- the power law ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("a", "b", "c"), [(0.9, 1.0, 0.5), (0.7, 2.0, 1.2), (0.99, 0.4, 0.15), (0.5, 0.0, 1.0)])
def test_an_exact_power_law_is_found(a, b, c):
    scores = a - b * SIZES**-c
    law = fit_power_law(SIZES, scores)
    assert law.predict(SIZES) == pytest.approx(scores, abs=1e-4)
    if b > 0:
        assert (law.a, law.b, law.c) == pytest.approx((a, b, c), rel=0.02)


def test_errors_fall_to_a_floor():
    law = fit_power_law(SIZES, 0.5 + 3.0 * SIZES**-0.5, metric="rmse")
    assert (law.a, law.b, law.c) == pytest.approx((0.5, -3.0, 0.5), rel=0.01)
    assert law.rows_needed(0.8, greater_is_better=False) == pytest.approx(100, rel=0.01)


def test_the_limit_stays_within_the_bounds_of_the_metric():
    still_rising = 0.5 + 0.07 * np.log(SIZES)
    assert fit_power_law(SIZES, np.minimum(still_rising, 0.99)).a <= 1
    assert fit_power_law(SIZES, 1.0 + 9 * SIZES**-0.9 - 1.0, metric="mae").a >= 0


def test_scores_that_get_worse_make_a_flat_law():
    law = fit_power_law(SIZES, 0.9 - 0.02 * np.log(SIZES))
    assert law.b == 0 and law.rows_needed(0.95) == np.inf and law.rows_needed(0.5) == 0


def test_one_failed_split_hardly_moves_the_law():
    scores = noisy_scores(10, 0.005, np.random.default_rng(1))
    spoiled = scores.copy()
    spoiled[:, 3] = 0.1
    clean, robust = fit_power_law(SIZES, scores), fit_power_law(SIZES, spoiled)
    least_squares = fit_power_law(SIZES, spoiled.mean(axis=1))
    shift = abs(robust.predict(1600) - clean.predict(1600))
    assert shift < 0.01 < 0.05 < abs(least_squares.predict(1600) - clean.predict(1600))


def test_the_fit_is_as_good_as_that_of_scipy():
    """Plain least squares of one score per size, against scipy.optimize.curve_fit from its best start."""
    from scipy.optimize import curve_fit

    scores = noisy_scores(1, 0.01, np.random.default_rng(2))[:, 0]
    ours = fit_power_law(SIZES, scores)
    best = min(
        np.sum((found[0] - found[1] * SIZES ** -found[2] - scores) ** 2)
        for start in (0.3, 0.7, 1.5)
        for found in [
            curve_fit(
                lambda n, a, b, c: a - b * n**-c,
                SIZES.astype(float),
                scores,
                p0=(0.9, 1.0, start),
                bounds=([0, 0, 0.02], [1, np.inf, 5]),
            )[0]
        ]
    )
    assert np.sum((ours.predict(SIZES) - scores) ** 2) <= best * (1 + 1e-4)


# -- rows needed ------------------------------------------------------------------------------------------------------
def test_rows_needed_turns_the_curve_around():
    scores = noisy_scores(12, 0.004, np.random.default_rng(3))
    curve = learning_curve_from_scores(SIZES, scores, scores, random_state=0)
    needed = curve.rows_needed(0.9)
    assert needed.interval[0] <= 1600 <= needed.interval[1] and needed.interval[0] <= needed.rows <= needed.interval[1]
    assert curve.predict(needed.rows) == pytest.approx(0.9, abs=1e-4)
    assert "training rows" in needed.sentence and "times the most tried" in needed.sentence
    beyond = curve.rows_needed(0.999)
    assert beyond.rows == np.inf and "out of reach" in beyond.sentence and beyond.to_dict()["rows"] is None
    low, high = curve.predict_interval([100, 10_000])
    assert (low <= curve.predict([100, 10_000])).all() and (high >= curve.predict([100, 10_000])).all()
    assert high[1] - low[1] > high[0] - low[0]


def test_splits_that_share_rows_widen_the_interval():
    scores = noisy_scores(10, 0.01, np.random.default_rng(4))
    widths = []
    for ratio in (0.0, 1 / 9, 1.0):
        low, high = learning_curve_from_scores(
            SIZES, scores, scores, test_train_ratio=ratio, random_state=0
        ).predict_interval(1600)
        widths.append(high - low)
    assert widths[0] < widths[1] < widths[2]


def coverage(repetitions: int) -> float:
    rng = np.random.default_rng(6)
    hits = 0
    for r in range(repetitions):
        scores = noisy_scores(15, 0.01, rng)
        curve = learning_curve_from_scores(SIZES, scores, scores, n_bootstrap=200, random_state=r)
        low, high = curve.rows_needed(0.9).interval
        hits += low <= 1600 <= high
    return hits / repetitions


def test_the_interval_of_rows_needed_covers():
    assert coverage(25) >= 0.76


@pytest.mark.slow
def test_the_interval_of_rows_needed_covers_at_its_level():
    assert 0.91 <= coverage(1000) <= 0.99


# -- learning curve ----------------------------------------------------------------------------------------------------
def test_the_curve_of_a_learner():
    X, y = two_classes(400)
    curve = learning_curve(GaussianNB(), X, y, sizes=5, design="5-fold", random_state=0)
    assert curve.test_scores.shape == curve.train_scores.shape == (5, 5)
    assert curve.sizes[0] == 16 and curve.sizes[-1] == 320 and curve.metric == "accuracy"
    assert curve.gaps[0] > curve.gaps[-1]
    assert curve.test_train_ratio == pytest.approx(0.25)
    record = curve.to_dict()
    json.dumps(record, allow_nan=False)
    assert set(record["law"]) == {"a", "b", "c"} and len(record["fitted_low"]) == 5
    assert "twice as many rows" in str(curve) and "<table>" in curve._repr_html_()


def test_each_size_holds_the_classes_in_proportion_and_the_smaller_size():
    y = np.repeat([0, 1, 2], [60, 30, 10])
    seen: list[np.ndarray] = []

    class Watcher(GaussianNB):
        def fit(self, X, y):
            seen.append(X[:, 0].astype(int))
            return super().fit(X + np.random.default_rng(0).normal(size=X.shape), y)

    X = np.arange(100.0)[:, None]
    learning_curve(Watcher(), X, y, sizes=[20, 40, 60], design=[(np.arange(100), np.arange(100))] * 2, random_state=0)
    for rows in seen:
        shares = np.bincount(y[rows], minlength=3) / rows.size
        assert np.abs(shares - [0.6, 0.3, 0.1]).max() <= 1.01 / rows.size
    small, middle, large = seen[0], seen[2], seen[4]
    assert set(small) < set(middle) < set(large)


def test_the_same_seed_gives_the_same_curve_for_any_number_of_jobs():
    X, y = two_classes(100)
    learner = DecisionTreeClassifier(max_features=1)
    runs = [
        learning_curve(learner, X, y, sizes=3, design="5-fold", random_state=2, n_bootstrap=20, n_jobs=j).to_dict()
        for j in (None, 2)
    ]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    "design", ["2x3", make_design("4-fold"), ShuffleSplit(4, random_state=0), BootstrapSplitter(4, random_state=0)]
)
def test_any_design_or_splitter_will_do(design):
    X, y = two_classes(120)
    curve = learning_curve(GaussianNB(), X, y, sizes=[0.3, 0.6, 1.0], design=design, n_bootstrap=10, random_state=0)
    assert curve.test_scores.shape[0] == 3 and np.isfinite(curve.test_scores).all()


def test_frames_text_labels_and_metrics_of_probabilities():
    import pandas as pd

    X, y = two_classes(150)
    frame = pd.DataFrame(X, columns=["a", "b"])
    curve = learning_curve(
        LogisticRegression(), frame, pd.Series(y), sizes=3, design="3-fold", metric="log_loss", random_state=0
    )
    assert not curve.greater_is_better and curve.law.b <= 0
    regression = learning_curve(Ridge(), X, X @ [1, 2] + RNG.normal(size=150), sizes=3, design="3-fold", random_state=0)
    assert regression.metric == "r2"


def test_drawing():
    plt = pytest.importorskip("matplotlib.pyplot")
    import matplotlib

    matplotlib.use("Agg")
    X, y = two_classes(100)
    curve = learning_curve(GaussianNB(), X, y, sizes=3, design="3-fold", random_state=0).plot(extrapolate_to=1000)
    assert curve.ax_.get_xlabel() == "training rows" and curve.figure_ is curve.ax_.figure
    shown = validation_curve(GaussianNB(), X, y, parameter="var_smoothing", values=[1e-9, 1.0], design="3-fold").plot()
    assert shown.ax_.get_xscale() == "log"
    named = validation_curve(
        KNeighborsClassifier(), X, y, parameter="weights", values=["uniform", "distance"], design="3-fold"
    ).plot(plt.subplots()[1])
    assert [t.get_text() for t in named.ax_.get_xticklabels()] == ["uniform", "distance"]
    plt.close("all")


# -- validation curve and gap ---------------------------------------------------------------------------------------
def test_the_validation_curve_is_that_of_scikit_learn():
    from sklearn.model_selection import validation_curve as theirs

    X, y = two_classes(90)
    cv = ShuffleSplit(5, random_state=0)
    ours = validation_curve(KNeighborsClassifier(), X, y, parameter="n_neighbors", values=[1, 5, 15], design=cv)
    train, test = theirs(KNeighborsClassifier(), X, y, param_name="n_neighbors", param_range=[1, 5, 15], cv=cv)
    assert ours.train_scores == pytest.approx(train) and ours.test_scores == pytest.approx(test)
    assert ours.best == [1, 5, 15][int(test.mean(axis=1).argmax())] and ours.best in ours.within_one_error
    assert ours.gaps[0] > ours.gaps[2] and "n_neighbors" in ours.sentence
    json.dumps(ours.to_dict(), allow_nan=False)


def test_the_best_value_of_an_error_is_the_smallest():
    X = RNG.normal(size=(80, 1))
    y = X[:, 0] + 0.1 * RNG.normal(size=80)
    curve = validation_curve(
        KNeighborsRegressor(),
        X,
        y,
        parameter="n_neighbors",
        values=[3, 50],
        metric="rmse",
        design="4-fold",
        random_state=0,
    )
    assert curve.best == 3 and curve.within_one_error == [3] and curve.gaps[0] > 0


def test_the_gap_of_a_learner_that_memorises_and_of_one_that_does_not():
    X, y = two_classes(200)
    memory = overfitting_gap(KNeighborsClassifier(1), X, y, random_state=0)
    simple = overfitting_gap(GaussianNB(), X, y, random_state=0)
    assert memory.train == 1 and memory.interval[0] > 0 and "better than new ones" in memory.sentence
    assert simple.gap < 0.05 and "not shown" in simple.sentence
    assert memory.gap == pytest.approx((memory.train_scores - memory.test_scores).mean())
    loss = overfitting_gap(KNeighborsRegressor(1), X, X[:, 0] + RNG.normal(size=200), metric="mae", random_state=0)
    assert loss.gap > 0.5 and loss.train < loss.test
    json.dumps(memory.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda X, y: learning_curve(object(), X, y), UsageError, "fit method"),
        (lambda X, y: learning_curve(GaussianNB(), X, y[1:]), DataError, "same number of rows"),
        (lambda X, y: learning_curve(GaussianNB(), X, y, metric="rmse"), UsageError, "is for regression"),
        (lambda X, y: learning_curve(GaussianNB(), X, y, sizes=2), ParameterError, "at least 3"),
        (lambda X, y: learning_curve(GaussianNB(), X, y, sizes=[5, 9, 900]), ParameterError, "must not exceed"),
        (lambda X, y: learning_curve(GaussianNB(), X, y, sizes=[5, 5, 9]), ParameterError, "3 different"),
        (lambda X, y: learning_curve(GaussianNB(), X, y, sizes=[-1, 5, 9]), ParameterError, "positive"),
        (lambda X, y: learning_curve(GaussianNB(), X, y, design="holdout"), DataError, "at least 2 splits"),
        (lambda X, y: learning_curve(GaussianNB(), X, y, design=7), ParameterError, "name of a design"),
        (lambda X, y: learning_curve(GaussianNB(), X, y, n_bootstrap=1), ParameterError, ">= 2"),
        (lambda X, y: learning_curve(Ridge(), X, np.r_[np.inf, np.zeros(59)]), DataError, "finite"),
        (lambda X, y: fit_power_law([1, 2], [0.1, 0.2]), DataError, "at least 3 different"),
        (lambda X, y: fit_power_law([1, 2, 3], [0.1, 0.2]), DataError, "one row for each"),
        (lambda X, y: fit_power_law([0, 2, 3], [0.1, 0.2, 0.3]), DataError, "positive"),
        (lambda X, y: fit_power_law([1, 2, 3], [0.1, np.nan, 0.3]), DataError, "finite"),
        (
            lambda X, y: validation_curve(GaussianNB(), X, y, parameter="depth", values=[1]),
            ParameterError,
            "not one of",
        ),
        (
            lambda X, y: validation_curve(GaussianNB(), X, y, parameter="priors", values=[]),
            ParameterError,
            "at least one",
        ),
        (lambda X, y: overfitting_gap(GaussianNB(), X, y, alpha=2), ParameterError, "between 0 and 1"),
    ],
)
def test_bad_input_gets_one_sentence(call, error, words):
    X, y = two_classes(60)
    with pytest.raises(error, match=words):
        call(X, y)


def test_a_curve_refuses_impossible_questions():
    scores = noisy_scores(3, 0.01, np.random.default_rng(5))
    curve = learning_curve_from_scores(SIZES, scores, scores, n_bootstrap=10, random_state=0)
    with pytest.raises(ParameterError, match="positive"):
        curve.predict(0)
    with pytest.raises(ParameterError, match="finite"):
        curve.rows_needed(np.nan)
