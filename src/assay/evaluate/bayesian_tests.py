"""Bayesian comparison of two learners with a region of practical equivalence (rope).

Differences of at most `rope` do not matter in practice. Each test gives three posterior probabilities: that B is better
by more than the rope ("left"), that the two are practically equivalent ("rope"), that A is better by more than the rope
("right"). A decision is taken where one of them reaches 1 - alpha; unlike a p-value that is not small, a large
probability of the rope is evidence of equivalence (Benavoli, Corani, Demsar and Zaffalon, JMLR 18, 2017).

Results are `TestResult`s without a p-value: `p_value` is NaN (None in `to_dict`), for the posterior probabilities in
`details["probabilities"]` are no p-values. `reject` is True if the decision is that one learner is practically
better; `details["decision"]` is "a", "b", "equivalent" or "undecided"; `interval` is a credible interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import ParameterError
from ..base.randomness import Stream
from .distributions import t_p_value, t_quantile
from .hypothesis_tests import A_AND_B, Names, higher_words, paired_scores, size_ratio
from .intervals import check_alpha, spread
from .result import Assumption, Interval, TestResult, interval_words, number, percent

_CHUNK = 4_000_000


def bayes_correlated_t(
    scores_a: Any,
    scores_b: Any,
    *,
    n_train: Any,
    n_test: Any,
    rope: float = 0.01,
    alpha: float = 0.05,
    names: Names = A_AND_B,
) -> TestResult:
    """The Bayesian correlated t test, for the splits of one data set.

    The posterior of the mean difference is a t variable with J - 1 degrees of freedom around the mean of the J
    differences, with scale sqrt((1 / J + n_test / n_train) s^2): that of Nadeau and Bengio's corrected test, so the
    credible interval equals its confidence interval (Corani and Benavoli, Machine Learning 100, 2015). `statistic` is
    the mean over the scale.

    >>> a, b = [0.80, 0.82, 0.81, 0.83], [0.70, 0.73, 0.70, 0.71]
    >>> result = bayes_correlated_t(a, b, n_train=75, n_test=25)
    >>> result.details["decision"], round(result.details["probabilities"]["right"], 3)
    ('a', 0.999)
    """
    who = "bayes_correlated_t"
    a, b = paired_scores(who, scores_a, scores_b)
    _check(who, rope, alpha)
    ratio = size_ratio(who, n_train, n_test)
    differences = a - b
    scale = float(np.sqrt(1 / a.size + ratio)) * spread(differences, float(max(np.abs(a).max(), np.abs(b).max())))
    middle, df = float(differences.mean()), a.size - 1
    if scale > 0:
        left = t_p_value((-rope - middle) / scale, df, "less")
        right = t_p_value((rope - middle) / scale, df, "greater")
        half = t_quantile(1 - alpha / 2, df) * scale
        statistic = middle / scale
    else:
        left, right = (1.0 if middle < -rope else 0.0), (1.0 if middle > rope else 0.0)
        if rope == 0 and middle == 0:
            left = right = 0.5
        half, statistic = 0.0, 0.0 if middle == 0 else float(np.copysign(np.inf, middle))
    return _result(
        "Bayesian correlated t test",
        statistic,
        df,
        middle,
        "mean difference",
        (middle - half, middle + half),
        (left, max(0.0, 1 - left - right), right),
        rope,
        alpha,
        names,
        f"{higher_words(names, middle)} on average",
        (
            ("the differences vary", scale > 0),
            ("two splits' differences correlate by n_test / (n_train + n_test)", None),
            ("the differences are roughly normal", None),
        ),
        {},
    )


def bayes_signed_rank(
    scores_a: Any,
    scores_b: Any,
    *,
    rope: float = 0.01,
    prior_strength: float = 0.5,
    n_samples: int = 50_000,
    random_state: Any = 0,
    alpha: float = 0.05,
    names: Names = A_AND_B,
) -> TestResult:
    """The Bayesian signed rank test, for scores on several data sets.

    A Dirichlet process holds the differences d_1 .. d_n and a pseudo-difference 0 of weight `prior_strength`. Each
    of `n_samples` draws weighs them; theta_right is the weight of the pairs whose mean lies above the rope, likewise
    theta_rope and theta_left, and the probability of a region is the share of draws in which its theta is the largest
    (shared where two are). `effect` is the mean of theta_right - theta_left with its credible interval; `statistic`
    is the largest of the three probabilities. The seed is fixed unless another `random_state` is given (Benavoli et
    al., ICML 2014).

    >>> result = bayes_signed_rank([0.9, 0.8, 0.7, 0.9, 0.85, 0.8], [0.8, 0.7, 0.65, 0.8, 0.8, 0.7])
    >>> result.details["decision"]
    'a'
    """
    who = "bayes_signed_rank"
    a, b = paired_scores(who, scores_a, scores_b, least=1)
    _check(who, rope, alpha)
    if not prior_strength > 0:
        raise ParameterError(who, "parameter 'prior_strength'", "must be positive", f"got {prior_strength!r}")
    if n_samples < 1:
        raise ParameterError(who, "parameter 'n_samples'", "must be at least 1", f"got {n_samples!r}")
    theta = _theta(np.concatenate([[0.0], a - b]), rope, prior_strength, int(n_samples), random_state)
    largest = theta >= theta.max(axis=1, keepdims=True) - 1e-12
    left, middle, right = (largest / largest.sum(axis=1, keepdims=True)).mean(axis=0).tolist()
    lead = theta[:, 2] - theta[:, 0]
    low, high = np.quantile(lead, [alpha / 2, 1 - alpha / 2]).tolist()
    gain = float(np.median(a - b))
    return _result(
        "Bayesian signed rank test",
        max(left, middle, right),
        None,
        float(lead.mean()),
        "chance that a pair of data sets favours A, less that it favours B",
        (low, high),
        (left, middle, right),
        rope,
        alpha,
        names,
        f"{higher_words(names, gain)} in the median",
        (("the data sets are independent of each other", None),),
        {"theta": dict(zip(("left", "rope", "right"), theta.mean(axis=0).tolist())), "n_samples": int(n_samples)},
    )


def _theta(values: np.ndarray, rope: float, prior_strength: float, n_samples: int, random_state: Any) -> np.ndarray:
    """Draws (n_samples, 3) of the weights of pairs below, inside and above the rope; edges count half."""
    sums = values[:, None] + values
    above = (sums > 2 * rope) + 0.5 * (sums == 2 * rope)
    below = (sums < -2 * rope) + 0.5 * (sums == -2 * rope)
    shape = np.ones(values.size)
    shape[0] = prior_strength
    generator = Stream.of(random_state).generator()
    theta = np.empty((n_samples, 3))
    step = max(1, _CHUNK // values.size)
    for start in range(0, n_samples, step):
        weights = generator.standard_gamma(shape, (min(step, n_samples - start), values.size))
        weights /= weights.sum(axis=1, keepdims=True)
        part = theta[start : start + step]
        part[:, 0] = np.einsum("ij,ij->i", weights @ below, weights)
        part[:, 2] = np.einsum("ij,ij->i", weights @ above, weights)
    theta[:, 1] = np.maximum(0.0, 1 - theta[:, 0] - theta[:, 2])
    return theta


def _check(who: str, rope: float, alpha: float) -> None:
    check_alpha(who, alpha)
    if not (rope >= 0 and np.isfinite(rope)):
        raise ParameterError(who, "parameter 'rope'", "must be a difference of at least 0", f"got {rope!r}")


def _result(
    name: str,
    statistic: float,
    df: float | None,
    effect: float,
    effect_name: str,
    interval: Interval,
    probabilities: tuple[float, float, float],
    rope: float,
    alpha: float,
    names: Names,
    lead: str,
    assumptions: tuple[Assumption, ...],
    details: dict[str, Any],
) -> TestResult:
    left, inside, right = probabilities
    decision = "undecided"
    for word, probability in (("b", left), ("equivalent", inside), ("a", right)):
        if probability >= 1 - alpha:
            decision = word
    verdict = {
        "a": f"{names[0]} is practically better",
        "b": f"{names[1]} is practically better",
        "equivalent": "the two are practically equivalent",
        "undecided": f"no decision is possible at {percent(1 - alpha)}",
    }[decision]
    return TestResult(
        name=name,
        statistic=statistic,
        df=df,
        p_value=float("nan"),
        effect=effect,
        effect_name=effect_name,
        interval=interval,
        alpha=alpha,
        reject=decision in ("a", "b"),
        assumptions=assumptions,
        details={
            "probabilities": {"left": left, "rope": inside, "right": right},
            "rope": rope,
            "decision": decision,
            **details,
        },
        sentence=(
            f"{lead}; the probability is {_chance(right)} that {names[0]} is better by more than {number(rope)}, "
            f"{_chance(inside)} that they differ by no more, and {_chance(left)} that {names[1]} is better "
            f"({percent(1 - alpha)} credible interval of the {effect_name} {interval_words(interval)}): {verdict}."
        ),
    )


def _chance(probability: float) -> str:
    return "below 0.001" if probability < 0.001 else "above 0.999" if probability > 0.999 else number(probability)
