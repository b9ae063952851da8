"""Bootstrap intervals: against SciPy's, on plain arrays, paired, one-sided, and with bad input."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as reference

from assay.base import AssayWarning, DataError, ParameterError, UsageError
from assay.evaluate import METRICS, Metric, bootstrap_interval, bootstrap_many, get_metric
from assay.evaluate.bootstrap import bca_levels

RNG = np.random.default_rng(0)
N = 80
Y = RNG.integers(0, 2, N)
SCORES = RNG.normal(size=N) + Y
OTHERS = RNG.normal(size=N) + 0.5 * Y
LABELS = (SCORES > 0.5).astype(int)
TRUTH = RNG.gamma(2.0, size=N)
VALUES = np.abs(TRUTH + RNG.normal(size=N))
PREDICTIONS = {"labels": LABELS, "probabilities": 1 / (1 + np.exp(-SCORES)), "values": VALUES, "clusters": LABELS}


def area_by_pairs(y, scores):
    return np.mean(scores[y == 1][:, None] > scores[y == 0])


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(
    ("metric", "y", "predictions", "function"),
    [
        ("mse", TRUTH[:15], VALUES[:15], lambda y, p: np.mean((y - p) ** 2)),
        ("accuracy", Y, LABELS, lambda y, p: np.mean(y == p)),
        ("roc_auc", Y[:30], SCORES[:30], area_by_pairs),
    ],
)
def test_ends_agree_with_scipy_within_monte_carlo_error(metric, y, predictions, function, method, alternative):
    """scipy.stats.bootstrap, 2,000 replicates, paired rows; ends within a few Monte Carlo errors of a quantile."""
    theirs = stats.bootstrap(
        (y, predictions),
        function,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method=method,
        alternative=alternative,
        rng=np.random.default_rng(1),
    )
    ours = bootstrap_interval(
        y, predictions, metric, n_replicates=20000, method=method, alternative=alternative, random_state=0
    )
    assert ours.standard_error == pytest.approx(theirs.standard_error, rel=0.1)
    for a, b in zip(ours.interval, theirs.confidence_interval):
        if np.isfinite(b):
            assert a == pytest.approx(b, abs=0.3 * theirs.standard_error)


def test_bca_levels_equal_scipy_on_the_same_replicates():
    """The correction itself, on fixed replicates: scipy.stats._resampling computes the same levels."""
    data = RNG.gamma(1.0, size=20)
    result = stats.bootstrap((data,), np.mean, n_resamples=999, method="BCa", rng=np.random.default_rng(0))
    left_out = (data.sum() - data) / 19
    levels = bca_levels(result.bootstrap_distribution, data.mean(), left_out, 0.025)
    ours = np.quantile(result.bootstrap_distribution, levels)
    assert ours == pytest.approx(list(result.confidence_interval), rel=1e-9)


@pytest.mark.parametrize("name", [n for n in METRICS if METRICS[n].needs != "clusters"])
def test_every_metric_gets_an_interval_around_its_estimate(name):
    metric = METRICS[name]
    y = TRUTH if metric.needs == "values" else Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = bootstrap_interval(y, PREDICTIONS[metric.needs], name, n_replicates=300, random_state=0)
    assert result.estimate == pytest.approx(metric.score(y, PREDICTIONS[metric.needs]))
    assert result.interval[0] <= result.interval[1]
    assert metric.bounds[0] <= result.interval[0] and result.interval[1] <= metric.bounds[1]
    if name not in ("max_error", "calibration_error", "sse", "bias"):  # far from normal
        assert result.interval[0] < result.estimate < result.interval[1]


def test_clusterings_get_intervals_too():
    result = bootstrap_interval(Y, LABELS, "adjusted_rand", n_replicates=100, random_state=0)
    assert result.interval[0] < result.estimate < result.interval[1]


def test_a_function_gives_what_its_fast_twin_gives():
    """Same draws for both routes: rows in the order of the scores, so that the fast one walks the same counts."""
    order = np.argsort(-SCORES, kind="stable")
    fast = bootstrap_interval(Y[order], SCORES[order], "roc_auc", n_replicates=200, random_state=3)
    slow = bootstrap_interval(Y[order], SCORES[order], reference.roc_auc_score, n_replicates=200, random_state=3)
    assert slow.replicates == pytest.approx(fast.replicates)
    assert slow.interval == pytest.approx(fast.interval)
    assert slow.metric == "roc_auc_score"


def test_own_metric_objects_are_taken():
    mine = Metric("within_one", "within one", True, "values", lambda e: float((np.abs(e.errors) < 1).mean()))
    assert 0.4 < bootstrap_interval(TRUTH, VALUES, mine, n_replicates=50, random_state=0).estimate < 0.9


def test_a_pair_sees_the_same_draws():
    both = bootstrap_interval(Y, SCORES, second=OTHERS, random_state=0)
    alone = bootstrap_interval(Y, SCORES, random_state=0)
    assert both.paired and not alone.paired and alone.reject is None
    assert both.estimate == pytest.approx(alone.estimate - both.estimates[1])
    assert both.standard_error < np.hypot(alone.standard_error, alone.standard_error) * 1.5
    with pytest.warns(AssayWarning, match="W302"):
        itself = bootstrap_interval(Y, LABELS, "f1", second=LABELS.copy(), n_replicates=20, random_state=0)
    assert itself.interval == (0.0, 0.0) and itself.reject is False


def test_a_clear_difference_is_told():
    result = bootstrap_interval(Y, SCORES + 3 * Y, second=OTHERS, names=("new", "old"), random_state=0)
    assert result.reject and "of new is" in result.sentence and "excludes 0" in result.sentence


def test_many_at_once_share_draws_with_one_alone():
    p = PREDICTIONS["probabilities"]
    many = bootstrap_many(["roc_auc", "brier", "accuracy"], Y, probabilities=p, n_replicates=100, random_state=4)
    alone = bootstrap_interval(Y, p, "roc_auc", n_replicates=100, random_state=4)
    assert np.array_equal(many["roc_auc"].replicates, alone.replicates)
    assert many["accuracy"].estimate == pytest.approx(np.mean((p > 0.5) == Y))


def test_many_pairs():
    p, q = PREDICTIONS["probabilities"], 1 / (1 + np.exp(-OTHERS))
    many = bootstrap_many(["roc_auc", "log_loss"], Y, probabilities=p, second={"probabilities": q}, random_state=0)
    assert many["log_loss"].estimates[1] == pytest.approx(get_metric("log_loss").score(Y, q))


def test_several_classes_and_names_of_classes():
    y = np.array(["a", "b", "c"])[RNG.integers(0, 3, 90)]
    p = RNG.dirichlet(np.ones(3), 90)
    result = bootstrap_many(
        ["roc_auc", "log_loss", "f1_macro"], y, probabilities=p, classes=["a", "b", "c"], random_state=0
    )
    assert result["roc_auc"].estimate == pytest.approx(reference.roc_auc_score(y, p, multi_class="ovr"))


def test_row_order_does_not_matter_without_ties():
    order = RNG.permutation(N)
    assert bootstrap_interval(Y, SCORES, random_state=0).interval == pytest.approx(
        bootstrap_interval(Y[order], SCORES[order], random_state=0).interval
    )


def test_same_seed_same_bits_for_any_number_of_threads():
    one = bootstrap_interval(Y, SCORES, random_state=1, n_jobs=1)
    two = bootstrap_interval(Y, SCORES, random_state=1, n_jobs=2)
    other = bootstrap_interval(Y, SCORES, random_state=2)
    assert np.array_equal(one.replicates, two.replicates) and not np.array_equal(one.replicates, other.replicates)


def test_parameters_matter():
    base = bootstrap_interval(Y, SCORES, random_state=0)
    width = np.diff(base.interval)
    assert np.diff(bootstrap_interval(Y, SCORES, random_state=0, confidence=0.5).interval) < width
    assert bootstrap_interval(Y, SCORES, random_state=0, method="percentile").interval != base.interval
    assert bootstrap_interval(Y, SCORES, random_state=0, n_replicates=50).replicates.size == 50
    lower = bootstrap_interval(Y, SCORES, random_state=0, alternative="greater").interval
    assert lower[1] == 1.0 and lower[0] > base.interval[0]
    upper = bootstrap_interval(Y, SCORES, random_state=0, alternative="less").interval
    assert upper[0] == 0.0 and upper[1] < base.interval[1]


def test_a_perfect_score_warns_that_the_interval_has_no_width():
    with pytest.warns(AssayWarning, match="W302"):
        result = bootstrap_interval(Y, Y.astype(float), random_state=0)
    assert result.interval == (1.0, 1.0)


def test_draws_without_positives_are_left_out_and_told():
    y = np.zeros(30, dtype=int)
    y[:2] = 1
    with pytest.warns(AssayWarning, match="W301"):
        result = bootstrap_interval(y, RNG.normal(size=30) + y, random_state=0)
    assert 50 < result.undefined < 250 and np.isfinite(result.replicates).all()


def test_ties_everywhere_give_a_defined_answer():
    with pytest.warns(AssayWarning, match="W302"):
        assert bootstrap_interval(Y, np.ones(N), random_state=0).interval == (0.5, 0.5)


def test_probabilities_of_zero_and_one_are_probabilities():
    certain = np.where(np.arange(N) % 7 == 0, 1.0 - Y, Y).astype(float)
    assert bootstrap_interval(Y, certain, metric="brier", random_state=0).estimate == pytest.approx(
        np.mean((certain - Y) ** 2)
    )


def test_a_small_scale_is_not_taken_for_no_width(recwarn):
    """Errors of 1e-6 vary by 1e-7: far above rounding."""
    y = RNG.normal(size=N)
    result = bootstrap_interval(y, y + 1e-3 * RNG.normal(size=N), metric="mse", random_state=0)
    assert 0 < result.interval[1] - result.interval[0] < 1e-6 and not [w for w in recwarn if "W302" in str(w.message)]


def test_result_is_plain_data_and_html():
    result = bootstrap_interval(Y, SCORES, random_state=0)
    record = json.loads(json.dumps(result.to_dict()))
    assert record["interval"] == list(result.interval) and record["n_replicates"] == 1000
    assert "replicates" not in record
    assert str(result) == result.sentence and "0." in result._repr_html_() and "<table>" in result._repr_html_()
    assert result.bias == pytest.approx(result.replicates.mean() - result.estimate)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: bootstrap_interval(Y, SCORES[:-1]), DataError, "one row for each of 80"),
        (lambda: bootstrap_interval(Y, np.where(Y == 1, np.nan, SCORES)), DataError, "finite"),
        (lambda: bootstrap_interval(np.ones(N, int), SCORES), DataError, "two classes|classes"),
        (lambda: bootstrap_interval([], []), DataError, "at least one row"),
        (lambda: bootstrap_interval([1], [1], "accuracy"), DataError, "at least 2 rows"),
        (lambda: bootstrap_interval(Y, SCORES, "accuracy"), DataError, "needs predicted labels"),
        (lambda: bootstrap_interval(Y, SCORES, "log_loss"), DataError, "between 0 and 1"),
        (lambda: bootstrap_interval(Y, SCORES, "rock_auc"), UsageError, "roc_auc"),
        (lambda: bootstrap_interval(Y, SCORES, n_replicates=3), ParameterError, ">= 10"),
        (lambda: bootstrap_interval(Y, SCORES, method="t"), ParameterError, "bca, percentile"),
        (lambda: bootstrap_interval(Y, SCORES, confidence=95), ParameterError, "between 0 and 1"),
        (lambda: bootstrap_interval(Y, SCORES, confidence=1.0), ParameterError, "between 0 and 1"),
        (lambda: bootstrap_interval(Y, SCORES, confidence=1.5), ParameterError, "between 0 and 1"),
        (lambda: bootstrap_interval(Y, SCORES, confidence=0), ParameterError, "between 0 and 1"),
        (lambda: bootstrap_interval(Y, SCORES, alternative="up"), ParameterError, "two-sided"),
        (lambda: bootstrap_interval(Y, SCORES[:9], lambda y, p: 0.0), DataError, "one row for each"),
        (lambda: bootstrap_interval([0, 1, 2] * 5, [0, 1, 2] * 5, "f1"), DataError, "two classes"),
        (lambda: bootstrap_interval(-2 - TRUTH, VALUES, "msle"), DataError, "no value"),
        (lambda: bootstrap_many(["r2"], Y, labels=LABELS), UsageError, "needs values"),
        (lambda: bootstrap_many([], Y, labels=LABELS), UsageError, "at least one"),
    ],
)
def test_mistakes_get_one_sentence(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_the_open_end_of_a_difference_is_the_largest_possible_one():
    """Matthews' correlation is between -1 and 1, a difference of two between -2 and 2; accuracy: -1 and 1."""
    y, a, b = np.arange(40) % 2, (np.arange(40) + (np.arange(40) % 5 == 0)) % 2, np.arange(40) // 20
    for metric, end in (("mcc", 2.0), ("accuracy", 1.0)):
        for alternative, side in (("greater", 1), ("less", 0)):
            settings = {"second": b, "alternative": alternative, "n_replicates": 100, "random_state": 0}
            assert bootstrap_interval(y, a, metric, **settings).interval[side] == (end if side else -end)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_a_difference_to_perfect_predictions_has_the_interval_of_the_other_alone(method):
    settings = {"method": method, "n_replicates": 400, "random_state": 0}
    alone = bootstrap_interval(TRUTH, VALUES, "mae", **settings)
    ahead = bootstrap_interval(TRUTH, VALUES, "mae", second=TRUTH, **settings)
    behind = bootstrap_interval(TRUTH, TRUTH, "mae", second=VALUES, **settings)
    assert np.array_equal(ahead.replicates, alone.replicates) and ahead.interval == alone.interval
    assert np.array_equal(behind.replicates, -alone.replicates)
    assert behind.interval == pytest.approx((-alone.interval[1], -alone.interval[0]), rel=1e-6)


def test_the_draws_of_a_pair_are_those_of_each_alone():
    settings = {"n_replicates": 50, "random_state": 1}
    both = bootstrap_interval(TRUTH, VALUES, "rmse", second=VALUES[::-1], **settings)
    one, other = (bootstrap_interval(TRUTH, values, "rmse", **settings) for values in (VALUES, VALUES[::-1]))
    assert both.replicates == pytest.approx(one.replicates - other.replicates, abs=1e-12)
    assert both.bias == pytest.approx(both.replicates.mean() - (one.estimate - other.estimate), abs=1e-12)


def test_an_estimate_beyond_all_replicates_counts_as_half_a_replicate_away():
    replicates, no_skew = np.linspace(0.0, 0.9, 10), np.array([1.0, 2.0, 3.0])
    bias = stats.norm.ppf(1 - 0.5 / 10)
    for estimate, z0 in ((1.0, bias), (-1.0, -bias)):
        expected = stats.norm.cdf(2 * z0 + stats.norm.ppf([0.1, 0.9]))
        assert bca_levels(replicates, estimate, no_skew, 0.1) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("metric", "truth", "found", "way_out"),
    [
        ("accuracy", [1] + [0] * 29, [0] * 30, "for a rate use wilson_interval"),
        ("rmse", [100.0] + [0.0] * 29, [0.0] * 15 + [0.1] * 15, "judge by the mean or median absolute error"),
    ],
)
def test_a_score_that_hangs_on_one_row_is_told_with_a_way_out_for_its_kind(metric, truth, found, way_out):
    with pytest.warns(AssayWarning, match="one row makes .* of the variance") as told:
        bootstrap_interval(np.array(truth), np.array(found), metric, random_state=0)
    assert [str(one.message).endswith(f"collect more rows, or {way_out}.") for one in told] == [True]


def test_values_that_do_not_change_without_a_row_have_no_skewness():
    """Without acceleration the levels are Phi(2 z0 + z)."""
    replicates = np.arange(11.0)
    for left_out in (np.full(5, 0.25), np.full(5, np.nan)):
        expected = stats.norm.cdf(2 * stats.norm.ppf(3.5 / 11) + stats.norm.ppf([0.1, 0.9]))
        assert bca_levels(replicates, 3.0, left_out, 0.1) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([1, 1, 0, 0, 0], [1, 0, 1, 0, 1], "of new is 0.6 higher than that of old (difference new - old: 95 %"),
        ([1, 0, 1, 0, 1], [1, 1, 0, 0, 0], "of new is 0.6 lower than that of old (difference new - old: 95 %"),
        ([1, 1, 0, 0, 1], [1, 1, 1, 0, 0], "of new is the same as that of old (difference new - old: 95 %"),
    ],
)
def test_a_difference_is_said_with_its_size_and_its_direction(first, second, words):
    y = np.array([1, 1, 0, 0, 0] * 6)
    found = bootstrap_interval(
        y, np.tile(first, 6), "accuracy", second=np.tile(second, 6), names=("new", "old"), random_state=0
    )
    assert words in found.sentence and found.sentence.startswith("Accuracy of new is ")
