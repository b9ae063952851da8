"""DeLong's interval and test against their definition over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from sklearn.metrics import roc_auc_score

from assay.base import DataError, ParameterError
from assay.evaluate import bootstrap_interval, delong
from assay.evaluate.auc import areas_and_covariance
from assay.evaluate.result import number

RNG = np.random.default_rng(0)


def by_definition(y: np.ndarray, all_scores: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Areas and covariance from the matrix of all comparisons (DeLong et al. 1988, equations 3 to 5), O(n^2)."""
    kernels = []
    for scores in all_scores:
        positive, negative = scores[y == 1][:, None], scores[y == 0][None]
        kernels.append((positive > negative) + 0.5 * (positive == negative))
    v10 = np.stack([k.mean(axis=1) for k in kernels])
    v01 = np.stack([k.mean(axis=0) for k in kernels])
    m, n = kernels[0].shape
    return np.array([k.mean() for k in kernels]), np.atleast_2d(np.cov(v10)) / m + np.atleast_2d(np.cov(v01)) / n


@pytest.mark.parametrize("decimals", [0, 1, 10])
@pytest.mark.parametrize("n", [12, 200])
def test_areas_and_covariance_equal_the_definition(n, decimals):
    y = np.arange(n) % 3 // 2
    scores = [np.round(RNG.normal(size=n) + s * y, decimals) for s in (1.0, 0.5)]
    areas, covariance = areas_and_covariance(y == 1, scores)
    expected_areas, expected_covariance = by_definition(y, scores)
    assert areas == pytest.approx(expected_areas, abs=1e-14)
    assert covariance == pytest.approx(expected_covariance, abs=1e-14)
    assert areas[0] == pytest.approx(roc_auc_score(y, scores[0]))


def test_test_of_two_areas_is_the_t_test_of_their_difference():
    y = np.arange(100) % 2
    a, b = RNG.normal(size=100) + y, RNG.normal(size=100) + 0.4 * y
    areas, cov = by_definition(y, [a, b])
    error = np.sqrt(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1])
    result = delong(y, a, b)
    assert result.effect == pytest.approx(areas[0] - areas[1])
    assert result.statistic == pytest.approx((areas[0] - areas[1]) / error)
    assert 48 <= result.df <= 99
    half = stats.t.ppf(0.975, result.df) * error
    assert result.interval == pytest.approx((result.effect - half, result.effect + half))
    assert delong(y, b, a).statistic == pytest.approx(-result.statistic)
    assert delong(y, a, b, alternative="greater").p_value == pytest.approx(result.p_value / 2)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_test_of_one_area_is_the_t_test_against_a_half(alternative):
    y = np.arange(60) % 2
    scores = np.random.default_rng(8).normal(size=60) + 0.6 * y
    (area,), covariance = by_definition(y, [scores])
    result = delong(y, scores, alternative=alternative)
    t = (area - 0.5) / np.sqrt(covariance[0, 0])
    tails = {"greater": stats.t.sf(t, result.df), "less": stats.t.cdf(t, result.df)}
    assert result.statistic == pytest.approx(t)
    assert result.p_value == pytest.approx(tails.get(alternative, 2 * min(tails.values())))


def test_degrees_of_freedom_are_those_of_the_two_parts():
    """Satterthwaite's formula on the variances of placements of 7 positive and 30 negative rows, by hand."""
    y = np.repeat([1, 0], [7, 30])
    scores = np.random.default_rng(3).normal(size=37) + y
    above = (scores[:7, None] > scores[None, 7:]).astype(float)
    first, second = above.mean(axis=1).var(ddof=1) / 7, above.mean(axis=0).var(ddof=1) / 30
    result = delong(y, scores)
    assert result.df == pytest.approx((first + second) ** 2 / (first**2 / 6 + second**2 / 29))
    error = np.sqrt(first + second)
    half = stats.t.ppf(0.975, result.df) * error / (result.effect * (1 - result.effect))
    ends = special.expit(special.logit(result.effect) + np.array([-half, half]))
    assert result.interval == pytest.approx(tuple(ends))
    plain = stats.t.ppf(0.975, result.df) * error
    assert delong(y, scores, transform="none").interval == pytest.approx(
        (result.effect - plain, min(1.0, result.effect + plain))
    )
    assert delong([1] * 4 + [0] * 9, [2.0] * 4 + [1.0] * 9).df == 3


def test_open_ends_are_the_ends_of_the_scale():
    y = np.arange(60) % 2
    scores = np.random.default_rng(4).normal(size=60) + y
    assert delong(y, scores, alternative="greater").interval[1] == 1.0
    assert delong(y, scores, alternative="less").interval[0] == 0.0
    assert delong(y, scores, -scores, alternative="greater").interval[1] == 1.0
    assert delong(y, scores, -scores, alternative="less").interval[0] == -1.0


def test_a_one_sided_sentence_says_the_end_that_is_a_bound():
    y = np.arange(60) % 2
    scores = np.random.default_rng(4).normal(size=60) + y
    above, below = (delong(y, scores, alternative=side) for side in ("greater", "less"))
    assert f"at least {number(above.interval[0])} with 95 % confidence" in above.sentence
    assert f"at most {number(below.interval[1])} with 95 % confidence" in below.sentence
    assert above.interval[0] < below.interval[1] and "confidence" not in delong(y, scores).sentence


def test_the_sentence_names_the_better_one():
    y = np.arange(80) % 2
    scores = np.random.default_rng(5).normal(size=80)
    better, worse = scores + y, scores
    assert "of A is" in str(delong(y, better, worse)) and "higher than that of B" in str(delong(y, better, worse))
    assert "lower than that of B" in str(delong(y, worse, better))
    assert "is the same as that of B" in str(delong(y, worse, worse))


@pytest.mark.parametrize(("positives", "valid"), [(9, False), (10, True)])
def test_ten_rows_of_a_class_are_enough(positives, valid):
    y = np.arange(60) < positives
    assert delong(y, np.random.default_rng(6).normal(size=60) + y).valid is valid


def test_interval_agrees_with_the_bootstrap():
    y = np.arange(2000) % 2
    scores = RNG.normal(size=2000) + y
    drawn = bootstrap_interval(y, scores, n_replicates=4000, random_state=0)
    exact = delong(y, scores)
    assert exact.details["standard_error"] == pytest.approx(drawn.standard_error, rel=0.06)
    assert exact.interval == pytest.approx(drawn.interval, abs=0.003)


def test_transform_keeps_the_interval_inside_and_none_is_symmetric():
    y = np.repeat([0, 1], 15)
    scores = y + np.tile(np.linspace(0, 1.1, 15), 2)
    logit, plain = delong(y, scores), delong(y, scores, transform="none")
    assert 0 < logit.interval[0] < logit.effect < logit.interval[1] <= 1
    assert logit.interval[0] < plain.interval[0]


def test_separated_classes_still_have_a_limit():
    """20 right pairs of 20: areas below 0.025^(1/20) are ruled out."""
    y = np.repeat([0, 1], [50, 20])
    result = delong(y, y.astype(float))
    assert result.effect == 1 and result.interval == pytest.approx((0.025 ** (1 / 20), 1.0))
    assert result.p_value == pytest.approx(2 * 0.5**20) and result.reject
    worst = delong(y, -y.astype(float))
    assert worst.interval[0] == 0 and 0 < worst.interval[1] < 0.2
    assert delong(y, -y.astype(float), alternative="greater").p_value == 1


def test_ties_everywhere_say_nothing():
    result = delong([0, 1] * 20, np.ones(40))
    assert result.effect == 0.5 and result.interval == (0.0, 1.0) and result.p_value == 1 and not result.reject


def test_same_scores_do_not_differ():
    y, scores = np.arange(40) % 2, RNG.normal(size=40)
    result = delong(y, scores, scores.copy())
    assert result.p_value == 1 and result.effect == 0 and not result.reject
    assert ("the areas vary", True) in result.assumptions
    assert ("the areas vary", True) in delong(y, scores + y, RNG.normal(size=40)).assumptions
    separated = delong(y, y + 0.0, -y)
    assert ("the areas vary", False) in separated.assumptions and separated.p_value == 0


def test_infinite_scores_are_scores():
    assert delong([0, 0, 1, 1], [-np.inf, 0.0, 1.0, np.inf]).effect == 1


def test_few_positives_are_marked():
    y = np.arange(100) < 5
    result = delong(y, RNG.normal(size=100) + y)
    assert not result.valid and "interval" in result.sentence


def test_the_positive_class_can_be_named():
    y = np.array(["ill", "well"])[np.arange(40) % 2]
    scores = RNG.normal(size=40) + (y == "ill")
    assert delong(y, scores, positive="ill").effect == pytest.approx(1 - delong(y, scores).effect)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: delong([0, 1, 0, 1], [1, 2, 3]), DataError, "each of 4 rows"),
        (lambda: delong([0, 1, 0, 1], [1, 2, 3, np.nan]), DataError, "NaN"),
        (lambda: delong([0, 1, 0, np.nan], [1, 2, 3, 4]), DataError, "NaN"),
        (lambda: delong([1, 1, 1], [1, 2, 3]), DataError, "two classes"),
        (lambda: delong([0, 1, 0], [1, 2, 3]), DataError, "at least 2 rows"),
        (lambda: delong([], []), DataError, "one class per row"),
        (lambda: delong([0, 1, 0, 1], [1, 2, 3, 4], alpha=2), ParameterError, "between 0 and 1"),
        (lambda: delong([0, 1, 0, 1], [1, 2, 3, 4], alternative="up"), ParameterError, "two-sided"),
        (lambda: delong([0, 1, 0, 1], [1, 2, 3, 4], transform="arc"), ParameterError, "logit"),
    ],
)
def test_mistakes_get_one_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_the_interval_covers_with_five_positives():
    rng = np.random.default_rng(5)
    y = np.repeat([1, 0], [5, 95])
    hits, plain_hits, truth = 0, 0, stats.norm.cdf(1.2 / np.sqrt(2))
    for _ in range(300):
        result = delong(y, rng.normal(size=100) + 1.2 * y)
        hits += result.interval[0] <= truth <= result.interval[1]
        error, area = result.details["standard_error"], result.effect
        plain_hits += abs(area - truth) <= 1.96 * error
    assert plain_hits < hits and hits / 300 > 0.9


def test_one_sided_tests_of_separated_classes_ask_on_their_own_side():
    """By chance all pairs of the smaller class are right (or all wrong) with probability 0.5^m."""
    y = np.repeat([0, 1], [50, 8])
    for scores, sure in ((y.astype(float), "greater"), (-y.astype(float), "less")):
        for alternative in ("greater", "less"):
            found = delong(y, scores, alternative=alternative)
            assert found.p_value == pytest.approx(0.5**8 if alternative == sure else 1.0)
            assert found.reject == (alternative == sure)
