"""Bad input to every public test: one clear sentence or a defined answer, never a warning, NaN or traceback.

Each test is described by a call on scores of two learners (or of a mapping of learners, or of labels). New public
tests must join the list: the last test here looks for those that are missing.
"""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest

import assay.evaluate
from assay.base import AssayError
from assay.evaluate import (
    TestResult,
    anova,
    approximate_normal_test,
    bayes_correlated_t,
    bayes_signed_rank,
    binomial_test,
    cochran_q,
    compare,
    compare_predictions,
    corrected_resampled_t,
    five_by_two_f,
    five_by_two_t,
    friedman,
    hotelling_t2,
    kruskal_wallis,
    manova,
    mcnemar,
    mcnemar_from_counts,
    nemenyi,
    one_sample_t,
    paired_t,
    permutation_test,
    resampled_t,
    sign_test,
    wilcoxon,
)

RNG = np.random.default_rng(0)
A, B = RNG.normal(0.8, 0.02, (5, 2)), RNG.normal(0.7, 0.02, (5, 2))
Y = np.tile([0, 1], 20)


# Scores of two learners, shape (5, 2), as every one of these takes them.
SCORE_TESTS = {
    "paired_t": paired_t,
    "one_sample_t": lambda a, b: one_sample_t(a, np.ravel(b)[0] if np.size(b) else np.nan),
    "resampled_t": resampled_t,
    "corrected_resampled_t": lambda a, b: corrected_resampled_t(a, b, n_train=50, n_test=50),
    "five_by_two_t": five_by_two_t,
    "five_by_two_f": five_by_two_f,
    "sign_test": sign_test,
    "wilcoxon": wilcoxon,
    "permutation_test": permutation_test,
    "bayes_correlated_t": lambda a, b: bayes_correlated_t(a, b, n_train=50, n_test=50),
    "bayes_signed_rank": lambda a, b: bayes_signed_rank(a, b, n_samples=500),
    "hotelling_t2": hotelling_t2,
    "manova": manova,
    "anova": anova,
    "kruskal_wallis": kruskal_wallis,
    "friedman": lambda a, b: friedman({"a": a, "b": b}),
    "nemenyi": lambda a, b: nemenyi({"a": a, "b": b}),
    "compare 5x2": lambda a, b: compare({"a": a, "b": b}, "5x2"),
    "compare datasets": lambda a, b: compare({"a": np.ravel(a), "b": np.ravel(b)}, "datasets"),
    "compare losses": lambda a, b: compare_predictions(
        np.ravel(a), {"a": np.ravel(a), "b": np.ravel(b)}, task="regress"
    ),
}
LABEL_TESTS = {
    "mcnemar": mcnemar,
    "mcnemar exact": lambda y, a, b: mcnemar(y, a, b, exact=True),
    "mcnemar corrected": lambda y, a, b: mcnemar(y, a, b, exact=False),
    "cochran_q": lambda y, a, b: cochran_q(y, {"a": a, "b": b, "c": a}),
    "permutation_test": lambda y, a, b: permutation_test(y, a, kind="labels", n_permutations=99),
    "compare_predictions": lambda y, a, b: compare_predictions(y, {"a": a, "b": b}),
    "compare with y": lambda y, a, b: compare({"a": a, "b": b, "c": a}, "holdout", y=y),
}
COUNT_TESTS = {
    "binomial_test": binomial_test,
    "binomial_test normal": lambda e, n, r: binomial_test(e, n, r, method="normal"),
    "approximate_normal_test": approximate_normal_test,
    "mcnemar_from_counts": lambda e, n, r: mcnemar_from_counts(e, round(r), n),
}
# A number of independent pairs does not matter to these, or one pair is enough for a (weak) answer.
ONE_PAIR_IS_ENOUGH = {"sign_test", "wilcoxon", "permutation_test", "bayes_signed_rank", "kruskal_wallis"}
# Samples of different size are their business.
MAY_DIFFER_IN_LENGTH = {"anova", "kruskal_wallis", "one_sample_t", "manova"}


def check_sentence(call):
    with pytest.raises(AssayError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text and text.endswith((".", "!", "?")) and ": " in text
    return text


def check_answer(call) -> object:
    """A result with a defined decision and a sentence, that plain JSON can hold; and no warning on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = call()
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert result.sentence.endswith(".") and "nan" not in result.sentence.lower()
    assert "<" in result._repr_html_() and record["sentence"]
    if isinstance(result, TestResult):
        assert isinstance(result.reject, bool | np.bool_)
        if "Bayesian" in result.name:
            assert math.isnan(result.p_value)
            assert sum(result.details["probabilities"].values()) == pytest.approx(1)
        else:
            assert 0 <= result.p_value <= 1 and result.reject == (result.p_value < result.alpha)
    return result


@pytest.mark.parametrize("name", SCORE_TESTS)
def test_good_scores_get_an_answer(name):
    check_answer(lambda: SCORE_TESTS[name](A, B))


@pytest.mark.parametrize("name", sorted(set(SCORE_TESTS) - MAY_DIFFER_IN_LENGTH))
def test_lengths_that_differ(name):
    check_sentence(lambda: SCORE_TESTS[name](A, B[:4]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", SCORE_TESTS)
def test_scores_that_are_not_finite(name, bad):
    spoiled = A.copy()
    spoiled[1, 1] = bad
    if name.startswith("compare") and name != "compare losses":
        result = check_answer(lambda: SCORE_TESTS[name](spoiled, B))
        assert [item["id"] for item in result.left_out] == ["a"]
    else:
        check_sentence(lambda: SCORE_TESTS[name](spoiled, B))


@pytest.mark.parametrize("name", SCORE_TESTS)
def test_no_scores_at_all(name):
    check_sentence(lambda: SCORE_TESTS[name]([], []))


@pytest.mark.parametrize("name", SCORE_TESTS)
def test_a_single_fold(name):
    call = lambda: SCORE_TESTS[name]([0.8], [0.7])  # noqa: E731
    if name in ONE_PAIR_IS_ENOUGH:
        assert not getattr(check_answer(call), "reject", False) or "Bayes" in check_answer(call).name
    else:
        check_sentence(call)


@pytest.mark.parametrize("name", SCORE_TESTS)
def test_text_in_place_of_scores(name):
    check_sentence(lambda: SCORE_TESTS[name](np.full((5, 2), "high"), B))


@pytest.mark.parametrize("name", SCORE_TESTS)
def test_ties_everywhere_are_no_difference(name):
    same = np.full((5, 2), 0.8)
    result = check_answer(lambda: SCORE_TESTS[name](same, same))
    if isinstance(result, TestResult) and "Bayesian" not in result.name:
        assert result.p_value == 1.0 and not result.reject
    if not isinstance(result, TestResult):
        assert len(result.groups) == 1 and result.pairs[0]["p_value"] == 1.0


@pytest.mark.parametrize("name", SCORE_TESTS)
def test_the_same_difference_everywhere_has_a_defined_answer(name):
    """Where the formula's limit is p = 0, the result says that the scores do not vary."""
    result = check_answer(lambda: SCORE_TESTS[name](np.full((5, 2), 0.75), np.full((5, 2), 0.5)))
    if isinstance(result, TestResult) and result.p_value == 0:
        assert not result.valid


@pytest.mark.parametrize("name", SCORE_TESTS)
@pytest.mark.parametrize("scale", [1e-70, 1e70])
def test_the_unit_of_the_scores_does_not_change_the_answer(name, scale):
    scaled, plain = check_answer(lambda: SCORE_TESTS[name](A * scale, B * scale)), SCORE_TESTS[name](A, B)
    if isinstance(scaled, TestResult) and "Bayesian" not in scaled.name:
        assert scaled.p_value == pytest.approx(plain.p_value, rel=1e-6)
    elif not isinstance(scaled, TestResult):
        assert scaled.groups == plain.groups


@pytest.mark.parametrize("name", LABEL_TESTS)
def test_good_labels_get_an_answer(name):
    check_answer(lambda: LABEL_TESTS[name](Y, Y, 1 - Y))


@pytest.mark.parametrize("name", LABEL_TESTS)
def test_labels_of_different_length(name):
    check_sentence(lambda: LABEL_TESTS[name](Y, Y[:-1], Y[:-1]))


@pytest.mark.parametrize("name", LABEL_TESTS)
def test_no_labels_at_all(name):
    check_sentence(lambda: LABEL_TESTS[name]([], [], []))


@pytest.mark.parametrize("name", LABEL_TESTS)
def test_one_class_only(name):
    ones = np.ones(40, dtype=int)
    result = check_answer(lambda: LABEL_TESTS[name](ones, ones, ones))
    if isinstance(result, TestResult):
        assert result.p_value == 1.0


@pytest.mark.parametrize("name", LABEL_TESTS)
def test_text_labels_are_labels(name):
    words = np.where(Y == 1, "yes", "no")
    check_answer(lambda: LABEL_TESTS[name](words, words, words[::-1]))


@pytest.mark.parametrize("name", COUNT_TESTS)
@pytest.mark.parametrize(("errors", "rows"), [(-1, 10), (11, 10), (0, 0)])
def test_counts_that_cannot_be(name, errors, rows):
    check_sentence(lambda: COUNT_TESTS[name](errors, rows, 0.1))


@pytest.mark.parametrize("name", COUNT_TESTS)
@pytest.mark.parametrize("errors", [0, 10_000])
def test_extreme_counts_have_an_answer(name, errors):
    check_answer(lambda: COUNT_TESTS[name](errors, 10_000, 0.1))


@pytest.mark.parametrize("name", SCORE_TESTS)
@pytest.mark.parametrize("alpha", [0, 1, -0.1, 2, np.nan])
def test_levels_that_are_none(name, alpha):
    calls = {
        "one_sample_t": lambda: one_sample_t(A, 0.5, alpha=alpha),
        "corrected_resampled_t": lambda: corrected_resampled_t(A, B, n_train=1, n_test=1, alpha=alpha),
        "bayes_correlated_t": lambda: bayes_correlated_t(A, B, n_train=1, n_test=1, alpha=alpha),
        "compare 5x2": lambda: compare({"a": A, "b": B}, "5x2", alpha=alpha),
        "compare datasets": lambda: compare({"a": A.ravel(), "b": B.ravel()}, "datasets", alpha=alpha),
        "compare losses": lambda: compare_predictions(A.ravel(), {"b": B.ravel()}, alpha=alpha),
        "bayes_signed_rank": lambda: bayes_signed_rank(A, B, alpha=alpha),
        "friedman": lambda: friedman({"a": A, "b": B}, alpha=alpha),
        "nemenyi": lambda: nemenyi({"a": A, "b": B}, alpha=alpha),
    }
    check_sentence(calls.get(name, lambda: SCORE_TESTS[name].__call__(A, B, alpha=alpha)))


def test_every_public_test_is_on_the_list():
    here = {name.split()[0] for name in (*SCORE_TESTS, *LABEL_TESTS, *COUNT_TESTS)}
    words = ("test", "_t", "_f", "_t2", "_q", "anova", "friedman", "nemenyi", "wilcoxon", "kruskal_wallis", "mcnemar",
             "mcnemar_from_counts", "bayes_signed_rank", "compare", "compare_predictions")  # fmt: skip
    public = {name for name in dir(assay.evaluate) if name.endswith(words) and callable(getattr(assay.evaluate, name))}
    assert public <= here, sorted(public - here)
