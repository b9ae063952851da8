"""One result for every test: statistic, degrees of freedom, p, effect, interval, decision, sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ..base.record import Grid, Record, jsonable

__all__ = [
    "Assumption", "Interval", "Outcome", "TestResult", "decision_words", "df_words", "interval_words", "jsonable",
    "number", "p_words", "percent",
]  # fmt: skip

Assumption = tuple[str, bool | None]
Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class TestResult(Record):
    """What a test found.

    `effect` is named by `effect_name` and `interval` is its confidence interval at level 1 - `alpha` (None where
    none is defined). `assumptions` are pairs of a text and whether it holds: True or False where the numbers or
    the design settle it, None where the reader has to judge. `details` holds what only this test has. Bayesian tests
    have no p-value: there `p_value` is NaN, None in `to_dict`.

    >>> from assay.evaluate import corrected_resampled_t
    >>> result = corrected_resampled_t([0.80, 0.82, 0.81], [0.78, 0.79, 0.80], n_train=20, n_test=10)
    >>> print(result)
    A scored 0.02 higher than B on average (95 % interval -0.0193 to 0.0593); the difference is not significant at \
0.05 (t = 2.19, df = 2, p = 0.160).
    """

    __test__ = False

    name: str
    statistic: float
    df: float | tuple[float, float] | None
    p_value: float
    effect: float
    effect_name: str
    interval: Interval | None
    alpha: float
    reject: bool
    sentence: str
    assumptions: tuple[Assumption, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """False if an assumption is known not to hold, so that the p-value does not mean what it says."""
        return all(holds is not False for _, holds in self.assumptions)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, ready for JSON; infinite and undefined numbers become None."""
        assumptions = [{"text": text, "holds": holds} for text, holds in self.assumptions]
        return {**super().to_dict(), "assumptions": assumptions, "valid": self.valid}

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("statistic", number(self.statistic)),
            ("degrees of freedom", df_words(self.df) or "none"),
            ("p-value", p_words(self.p_value)),
            (self.effect_name, number(self.effect)),
            (f"{percent(1 - self.alpha)} interval", interval_words(self.interval) if self.interval else "none"),
            ("decision", "rejected" if self.reject else "not rejected"),
            *((text, {True: "holds", False: "does not hold", None: "not checked"}[h]) for text, h in self.assumptions),
        ]

    def grid(self) -> Grid:
        """The result as two columns of facts under the name of the test."""
        return Grid(["", ""], self._facts(), caption=self.name, left=2)


@dataclass(frozen=True)
class Outcome:
    """What a test computed, before it is told: `result` adds the sentence, which may use the words made here.

    >>> found = Outcome("sign test", 5.0, 0.0625, 0.05, 1.0, "share of wins", (0.48, 1.0))
    >>> found.decision, found.interval_words, found.p_words
    ('not significant at 0.05', '95 % interval 0.48 to 1', 'p = 0.062')
    """

    name: str
    statistic: float
    p_value: float
    alpha: float
    effect: float
    effect_name: str
    interval: Interval | None = None
    df: float | tuple[float, float] | None = None

    @property
    def reject(self) -> bool:
        """Whether p is below the level."""
        return self.p_value < self.alpha

    @property
    def decision(self) -> str:
        """Whether the effect is significant, and at which level."""
        return decision_words(self.reject, self.alpha)

    @property
    def interval_words(self) -> str:
        """The interval with its level."""
        return f"{percent(1 - self.alpha)} interval {interval_words(self.interval) if self.interval else 'none'}"

    @property
    def p_words(self) -> str:
        """The p-value for a sentence."""
        return p_words(self.p_value)

    def result(
        self, sentence: str, assumptions: tuple[Assumption, ...] = (), details: dict[str, Any] | None = None
    ) -> TestResult:
        """The outcome with its sentence, what it rests on and what only this test has."""
        return TestResult(
            **vars(self), reject=self.reject, sentence=sentence, assumptions=assumptions, details=details or {}
        )


def number(value: float) -> str:
    """A number for a sentence: three significant digits, no exponent for everyday sizes.

    >>> number(0.034251), number(12345.6), number(float("inf"))
    ('0.0343', '12,346', 'infinite')
    """
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3g}"
    # Rounding noise around zero is not worth a sentence.
    return f"{value:.3g}" if abs(value) > 1e-15 else "0"


def percent(share: float) -> str:
    """A share as a percentage: `95 %`."""
    return f"{100 * share:.4g} %"


def p_words(p: float) -> str:
    """A p-value for a sentence: `p = 0.063`, `p < 0.001`; Bayesian tests have none."""
    if math.isnan(p):
        return "none"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def df_words(df: float | tuple[float, float] | None) -> str:
    """Degrees of freedom for a sentence: `df = 9`, `df = 10 and 5`."""
    if df is None:
        return ""
    return "df = " + (" and ".join(number(d) for d in df) if isinstance(df, tuple) else number(df))


def interval_words(interval: Interval) -> str:
    """An interval for a sentence: `0.01 to 0.05`, `at least 0.01`, `at most 0.05`."""
    low, high = interval
    if math.isinf(high) and not math.isinf(low):
        return f"at least {number(low)}"
    if math.isinf(low) and not math.isinf(high):
        return f"at most {number(high)}"
    return f"{number(low)} to {number(high)}"


def decision_words(reject: bool, alpha: float) -> str:
    """`significant at 0.05` or `not significant at 0.05`."""
    return f"{'' if reject else 'not '}significant at {number(alpha)}"
