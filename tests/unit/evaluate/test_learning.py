"""Learning curves, validation curves and the gap between training and test rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import special, stats
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from assay.base import DataError, ParameterError, UsageError
from assay.evaluate import (
    BootstrapSplitter,
    PowerLaw,
    ValidationCurve,
    corrected_interval,
    fit_power_law,
    learning_curve,
    learning_curve_from_scores,
    make_design,
    overfitting_gap,
    validation_curve,
)
from assay.evaluate.intervals import honest_df
from assay.evaluate.learning import _lines, _ordered, _rows_words, _sizes, _spread, _worth
from assay.evaluate.metrics import get_metric

RNG = np.random.default_rng(0)
SIZES = np.array([25, 50, 100, 200, 400, 800])


def two_classes(n: int, shift: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(n) % 2
    return RNG.normal(size=(n, 2)) + shift * y[:, None], np.array(["no", "yes"])[y]


def noisy_scores(n_splits: int, spread: float, rng: np.random.Generator) -> np.ndarray:
    return (0.92 - 0.8 * SIZES**-0.5)[:, None] + spread * rng.normal(size=(SIZES.size, n_splits))


# -- the power law ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("a", "b", "c"),
    [(0.9, 1.0, 0.5), (0.7, 2.0, 1.2), (0.99, 0.4, 0.15), (0.5, 0.0, 1.0), (1.0, 0.6, 0.05), (0.8, 30.0, 2.5)],
)
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


# -- what the numbers are -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("splits", "ratio"), [(20, 0.0), (400, 0.0), (10, 1 / 9), (100, 1 / 9), (30, 1 / 29), (2, 1.0)]
)
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_a_draw_holds_as_many_splits_as_make_its_percentiles_as_wide_as_the_corrected_interval(splits, alpha, ratio):
    scores = np.random.default_rng(7).normal(size=splits)
    low, high = corrected_interval(scores, n_train=1.0, n_test=ratio, alpha=alpha)
    worth = _worth(splits, ratio, alpha)
    half = stats.norm.isf(alpha / 2) * scores.std() / np.sqrt(worth)
    # Up to the whole number that a draw must hold; of two splits, less does not vary.
    if worth > 2:
        assert half == pytest.approx((high - low) / 2, rel=0.6 / worth)
    else:
        assert half <= (high - low) / 2 * 1.15


def test_a_single_split_is_drawn_as_it_is():
    assert _worth(1, 0.5, 0.05) == 1 and _worth(2, 9.0, 0.05) == 2
    scores = (0.9 - 0.8 * SIZES**-0.5)[:, None]
    curve = learning_curve_from_scores(SIZES, scores, scores, n_bootstrap=3, random_state=0)
    assert len({tuple(law) for law in curve.laws}) == 1


def test_the_limits_are_quantiles_of_the_draws_of_laws():
    scores = noisy_scores(9, 0.01, np.random.default_rng(8))
    curve = learning_curve_from_scores(SIZES, scores, scores, n_bootstrap=120, alpha=0.1, random_state=0)
    assert curve.laws.shape == (120, 3)
    at = [PowerLaw(*law).predict(300) for law in curve.laws]
    assert curve.predict_interval(300) == pytest.approx(tuple(np.quantile(at, [0.05, 0.95])))
    assert curve.predict_interval(300, alpha=0.5) == pytest.approx(tuple(np.quantile(at, [0.25, 0.75])))
    assert np.shape(curve.predict_interval(np.full((2, 3), 300))) == (2, 2, 3)
    # A whole number of rows reaches the score, one fewer does not; the limits are among the draws.
    needed = curve.rows_needed(0.88, alpha=0.2)
    assert curve.predict(needed.rows) >= 0.88 > curve.predict(needed.rows - 1)
    drawn = [np.ceil(PowerLaw(*law).rows_needed(0.88)) for law in curve.laws]
    share = [np.mean(np.array(drawn) < needed.interval[0]), np.mean(np.array(drawn) > needed.interval[1])]
    assert max(share) <= 0.1 and set(needed.interval) <= set(drawn) and needed.interval[0] < needed.interval[1]
    assert min(np.mean(np.array(drawn) <= needed.interval[0]), np.mean(np.array(drawn) >= needed.interval[1])) > 0.09
    assert needed.alpha == 0.2 and "times the most" not in needed.sentence and "80 % interval" in needed.sentence


@pytest.mark.parametrize("sign", [1, -1])
def test_rows_that_reach_a_score_are_none_all_or_where_the_curve_meets_it(sign):
    greater = sign > 0
    rising, flat = PowerLaw(sign * 0.9, sign * 2.0, 0.5), PowerLaw(sign * 0.9, 0.0, 0.5)
    for n in (1.0, 40.0, 1e5):
        assert rising.rows_needed(float(rising.predict(n)), greater) == pytest.approx(n, rel=1e-6)
    for law in (rising, flat):
        assert law.rows_needed(sign * 0.95, greater) == np.inf
    assert rising.rows_needed(sign * 0.9, greater) == np.inf  # only endless rows do
    assert flat.rows_needed(sign * 0.9, greater) == 0 == flat.rows_needed(sign * 0.2, greater)


def test_a_law_does_not_depend_on_the_unit_of_rows_or_of_errors_nor_on_the_order_of_splits():
    errors = 3.0 + 5.0 * (SIZES**-0.6)[:, None] + 0.05 * np.random.default_rng(9).normal(size=(SIZES.size, 7))
    law = fit_power_law(SIZES, errors, metric="rmse")
    turned = fit_power_law(SIZES[::-1], errors[::-1, ::-1], metric="rmse")
    thousands = fit_power_law(SIZES / 1000, errors, metric="rmse")
    larger = fit_power_law(SIZES, 7 * errors, metric="rmse")
    for n in (30, 500, 5000):
        assert turned.predict(n) == pytest.approx(law.predict(n), rel=1e-9)
        assert thousands.predict(n / 1000) == pytest.approx(law.predict(n), rel=1e-9)
        assert larger.predict(n) == pytest.approx(7 * law.predict(n), rel=1e-9)


def test_a_weight_is_as_many_splits():
    scores = noisy_scores(4, 0.01, np.random.default_rng(10))
    weighted = fit_power_law(SIZES, scores[:, :1], weights=[3.0])
    alone = fit_power_law(SIZES, scores[:, 0])
    assert (weighted.a, weighted.b, weighted.c) == pytest.approx((alone.a, alone.b, alone.c))
    heavy = fit_power_law(SIZES, scores, weights=[1.0, 1e9, 1.0, 1.0])
    assert heavy.predict(SIZES) == pytest.approx(fit_power_law(SIZES, scores[:, 1]).predict(SIZES), abs=3e-3)


@pytest.mark.parametrize(
    ("sizes", "most", "classes", "want"),
    [
        (4, 1000, 2, [50, 136, 368, 1000]),  # a twentieth of the rows first, then as many times more each
        (3, 64, 2, [4, 16, 64]),  # two rows of each class first
        (3, 45, 0, [5, 15, 45]),
        ([0.1, 0.5, 1.0], 200, 2, [20, 100, 200]),
        ([30, 2, 10, 10], 30, 2, [2, 10, 30]),
    ],
)
def test_sizes_are_spaced_evenly_in_log_n_or_as_given(sizes, most, classes, want):
    target = np.arange(2 * most) % max(classes, 1)
    assert _sizes(sizes, most, target, classes > 0).tolist() == want


@pytest.mark.parametrize(("sizes", "most"), [([1, 5, 9], 20), (3, 4), ([], 20), ([[2, 3, 4]], 20), ([2, 3, np.nan], 9)])
def test_sizes_that_cannot_be_are_refused(sizes, most):
    with pytest.raises((ParameterError, DataError)):
        _sizes(sizes, most, np.arange(40) % 2, True)


def test_every_beginning_holds_each_class_in_proportion_and_no_class_is_always_first():
    target = np.repeat([0, 1, 2], [70, 21, 9])
    first = set()
    for seed in range(30):
        order = _ordered(np.arange(100), target, np.random.default_rng(seed))
        assert sorted(order) == list(range(100))
        counts = np.cumsum(target[order][:, None] == [0, 1, 2], axis=0)
        assert np.abs(counts - np.arange(1, 101)[:, None] * [0.7, 0.21, 0.09]).max() < 2
        first.add(int(target[order[0]]))
    assert first == {0, 1, 2}


@pytest.mark.parametrize(("metric", "sign"), [("r2", 1), ("rmse", -1)])
def test_the_error_of_a_setting_is_that_of_the_corrected_interval(metric, sign):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(90, 2))
    y = X[:, 0] + rng.normal(size=90)
    values = [1, 4, 8, 12, 40]
    curve = validation_curve(
        KNeighborsRegressor(), X, y, parameter="n_neighbors", values=values, metric=metric,
        design=ShuffleSplit(6, test_size=30, random_state=0),
    )  # fmt: skip
    for scores, error in zip(curve.test_scores, curve.standard_errors):
        low, high = corrected_interval(scores, n_train=60, n_test=30)
        df = honest_df(6, 0.5)
        assert error > 0 and np.isfinite(df)
        assert error == pytest.approx((high - low) / 2 / stats.t.isf(0.025, df))
    means = sign * curve.test_means
    reach = means.max() - curve.standard_errors[means.argmax()]
    assert curve.within_one_error == [v for v, mean in zip(values, means) if mean >= reach]
    assert 1 < len(curve.within_one_error) < len(values)
    (test, train) = curve.chart().lines
    assert np.subtract(test.high, test.y) == pytest.approx(curve.standard_errors)
    assert np.subtract(test.y, test.low) == pytest.approx(curve.standard_errors)
    assert list(test.x) == list(train.x) == values and list(train.y) == curve.train_means.tolist()
    assert curve.gaps == pytest.approx(sign * (curve.train_means - curve.test_means))


@pytest.mark.parametrize(("values", "wide"), [([1, 99], False), ([1, 100], True), ([0, 100], False)])
def test_values_that_span_two_orders_are_drawn_in_logarithms(values, wide):
    scores = np.array([[0.7, 0.8], [0.8, 0.9]])
    curve = ValidationCurve(
        metric="accuracy", greater_is_better=True, parameter="p", values=values, train_scores=scores,
        test_scores=scores, standard_errors=np.zeros(2), best=values[1], within_one_error=[], sentence="",
    )  # fmt: skip
    assert bool(curve.chart().log_x) == wide


def test_the_gap_has_the_corrected_interval_and_test_rows_may_be_the_easier_ones():
    class Turned(GaussianNB):
        """Says the other class of rows it has seen."""

        def fit(self, X, y):
            self.known_ = {tuple(row) for row in X}
            return super().fit(X, y)

        def predict(self, X):
            said = super().predict(X)
            seen = np.array([tuple(row) in self.known_ for row in X])
            return np.where(seen, np.where(said == "no", "yes", "no"), said)

    X, y = two_classes(120, shift=3.0)
    found = overfitting_gap(Turned(), X, y, design="6-fold", random_state=0)
    assert found.interval[1] < 0 and "calls for a look at the splits" in found.sentence
    gaps = found.train_scores - found.test_scores
    assert found.interval == pytest.approx(corrected_interval(gaps, n_train=100, n_test=20))
    assert (found.train, found.test) == pytest.approx((found.train_scores.mean(), found.test_scores.mean()))


def test_the_chart_of_the_curve_goes_as_far_as_asked():
    scores = noisy_scores(5, 0.01, np.random.default_rng(12))
    curve = learning_curve_from_scores(SIZES, scores + 0.05, scores, n_bootstrap=20, random_state=0)
    points, law, train = curve.chart(5000).lines
    assert list(points.x) == SIZES.tolist() and list(points.y) == curve.test_means.tolist()
    assert (law.x[0], law.x[-1]) == pytest.approx((25, 5000)) and list(train.y) == curve.train_means.tolist()
    assert list(law.y) == pytest.approx(curve.predict(law.x))
    assert (np.array(law.low) <= law.y).all() and (np.array(law.high) >= law.y).all()
    assert curve.chart().lines[1].x[-1] == pytest.approx(800)
    low, high = (f"{value:.4f}"[:5] for value in curve.predict_interval(1600))
    assert low[:4] in curve.sentence and high[:4] in curve.sentence and curve.gaps == pytest.approx(np.full(6, 0.05))


def test_only_a_curve_that_more_rows_do_not_improve_has_no_law():
    falls, rises = (np.repeat((0.8 + sign * SIZES**-0.5)[:, None], 3, axis=1) for sign in (1, -1))
    said = [learning_curve_from_scores(SIZES, s, s, n_bootstrap=3, random_state=0).sentence for s in (falls, rises)]
    assert "no power law is drawn" in said[0] and "endless rows 0.8" in said[1]


@pytest.mark.parametrize("robust", [True, False])
def test_the_cost_of_a_line_is_hubers_and_no_line_near_it_costs_less(robust):
    rng = np.random.default_rng(13)
    x = SIZES.astype(float)[None, None, :] ** -np.array([0.3, 0.8])[None, :, None]
    y = 0.9 - 2.0 * x[0, 1] + 0.01 * rng.normal(size=SIZES.size)
    y[2] -= 0.2 if robust else 0.0
    spread = rng.uniform(0.005, 0.02, SIZES.size) if robust else np.full(SIZES.size, np.inf)
    weight = rng.integers(1, 4, (1, SIZES.size)).astype(float)
    a, b, cost = _lines(x, y, spread, weight, get_metric("r2"))

    def huber(j, a, b):
        residual = (y - a + b * x[0, j]) / (spread if robust else 1.0)
        return (weight * (special.huber(1.345, residual) if robust else residual**2 / 2)).sum()

    for j in range(2):
        assert cost[0, j] == pytest.approx(huber(j, a[0, j], b[0, j]), rel=1e-12)
        for move in ((0.02, 0.0), (-0.02, 0.0), (0.0, 0.2), (0.0, -0.2)):
            assert huber(j, a[0, j] + move[0], b[0, j] + move[1]) > cost[0, j]


def test_the_spread_at_a_size_is_the_median_deviation_and_never_far_below_the_usual():
    scores = np.random.default_rng(14).normal(size=(5, 9)) * [[1.0], [2.0], [0.5], [1.0], [3.0]]
    scores[0, :6] = 0.25  # most splits agree by chance
    want = stats.median_abs_deviation(scores, axis=1, scale="normal")
    floor = np.median(scores.std(axis=1, ddof=1)) / 4
    assert _spread(scores) == pytest.approx(np.maximum(want, floor), rel=1e-4) and want[0] == 0 < floor
    assert np.isinf(_spread(scores[:, :1])).all() and _spread(scores[:, :2]) == pytest.approx(
        np.maximum(
            stats.median_abs_deviation(scores[:, :2], axis=1, scale="normal"),
            np.median(scores[:, :2].std(axis=1, ddof=1)) / 4,
        ),
        rel=1e-4,
    )


def test_the_exponent_stays_between_a_fiftieth_and_five():
    steep = fit_power_law([1, 2, 3, 4], 0.9 - 0.5 * np.array([1.0, 2.0, 3.0, 4.0]) ** -9)
    slow = fit_power_law(SIZES, 0.3 + 0.01 * np.log(SIZES))
    assert steep.c == pytest.approx(5.0, rel=1e-6) and 0.02 <= slow.c < 0.2


def test_the_sentences_name_the_ends_of_the_curve():
    scores = noisy_scores(5, 0.001, np.random.default_rng(15))
    curve = learning_curve_from_scores(SIZES, scores, scores, n_bootstrap=20, random_state=0)
    first, last = (f"{scores[i].mean():.3g}" for i in (0, -1))
    assert f"goes from {first} with 25 training rows to {last} with 800;" in curve.sentence
    needed = curve.rows_needed(0.905)
    assert f"about {needed.rows:,.0f} training rows, {needed.rows / 800:.3g} times the most tried" in needed.sentence
    assert _rows_words((40.0, 40.0)) == "40" and _rows_words((40.0, 1500.0)) == "40 to 1,500"
    assert (
        _rows_words((np.inf, np.inf)) == "no number of rows" and _rows_words((9.0, np.inf)) == "9 to no number of rows"
    )


def test_the_least_of_everything_is_taken():
    """Two draws, two splits, rows no more than twice the classes; and what is just too little is refused."""
    X, y = two_classes(60)
    curve = learning_curve(GaussianNB(), X, y, sizes=3, design="2-fold", n_bootstrap=2, random_state=0)
    assert curve.laws.shape == (2, 3) and curve.test_scores.shape == (3, 2)
    assert overfitting_gap(GaussianNB(), X, y, design="2-fold", random_state=0).test_scores.shape == (2,)
    with pytest.raises(ParameterError, match=">= 2"):
        learning_curve(GaussianNB(), X, y, n_bootstrap=2.5)
    for call in (overfitting_gap, learning_curve):
        with pytest.raises(DataError, match="at least 2 splits"):
            call(GaussianNB(), X, y, design=[(np.arange(40), np.arange(40, 60))])
    with pytest.raises(DataError, match="more than 4 training rows"):
        _sizes(3, 4, np.arange(8) % 2, True)


@pytest.mark.parametrize(("metric", "sign"), [("r2", 1), ("rmse", -1)])
def test_gaps_and_best_scores_are_in_units_of_the_metric(metric, sign):
    rng = np.random.default_rng(16)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.normal(size=60)
    cv = ShuffleSplit(4, test_size=20, random_state=0)
    found = overfitting_gap(KNeighborsRegressor(2), X, y, metric=metric, design=cv)
    gaps = sign * (found.train_scores - found.test_scores)
    assert found.gap == pytest.approx(gaps.mean()) and found.gap > 0
    assert found.interval == pytest.approx(corrected_interval(gaps, n_train=40, n_test=20))
    curve = validation_curve(
        KNeighborsRegressor(), X, y, parameter="n_neighbors", values=[2, 9], metric=metric, design=cv
    )
    means = curve.test_means
    best = means.max() if sign > 0 else means.min()
    assert f"is best, {best:.3g}, at n_neighbors = {curve.best};" in curve.sentence
