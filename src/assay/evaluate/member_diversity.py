"""How members of an ensemble differ, what that brings, and how sure the ensemble is.

For two members let a be the share of rows both get right, d the share both get wrong, b and c the shares that only one
gets right (Kuncheva & Whitaker, Machine Learning 51, 2003):

- disagreement b + c: on so many rows exactly one is right;
- Q statistic (ad - bc) / (ad + bc): 0 for independent members, negative where they err on different rows;
- correlation (ad - bc) / sqrt((a + b)(c + d)(a + c)(b + d)) of being right;
- double fault d: where both fail, a vote of the two fails;
- kappa: agreement of the labels beyond chance; against the mean error of the pair it is the kappa-error diagram of
  Margineantu & Dietterich (ICML 1997).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.chart import Chart, Drawn, Line, Mark
from ..base.errors import DataError, plain
from ..base.estimator import check_weights
from .records import Grid, Record, TableRecord
from .result import number, percent


@dataclass(frozen=True, kw_only=True, eq=False)
class Diversity(Drawn, TableRecord):
    """Measures of all pairs of members, as symmetric matrices, and the error of each member.

    `means` holds the mean of each measure over pairs; a pair whose measure is not defined (Q and the correlation of a
    member that is always right) is left out. Drawn, it is the kappa-error diagram: one point for each pair.
    """

    names: list[str]
    errors: np.ndarray
    disagreement: np.ndarray
    q_statistic: np.ndarray
    correlation: np.ndarray
    double_fault: np.ndarray
    kappa: np.ndarray
    means: dict[str, float]
    ensemble_error: float
    sentence: str

    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        return np.triu_indices(len(self.names), 1)

    def chart(self) -> Chart:
        """The kappa-error diagram: left is diverse, low is accurate."""
        i, j = self._pairs()
        pair_error = 0.5 * (self.errors[i] + self.errors[j])
        line = Line(self.kappa[i, j].tolist(), pair_error.tolist(), style="points")
        marks = (Mark(y=self.ensemble_error, label="majority of all"),)
        return Chart(
            "Kappa-error diagram", "kappa (agreement beyond chance)", "mean error of the pair", (line,), marks,
            description=self.sentence,
        )  # fmt: skip

    def grid(self) -> Grid:
        """One line for each member: its error, and its mean measures with the others."""
        others = ~np.eye(len(self.names), dtype=bool)
        parts = {name: getattr(self, name) for name in _MEASURES}
        lines = []
        for k, name in enumerate(self.names):
            means = [_mean(matrix[k][others[k]]) for matrix in parts.values()]
            lines.append([plain(name, 40), percent(self.errors[k]), *(number(one) for one in means)])
        lines.append(["mean", percent(float(self.errors.mean())), *(number(self.means[name]) for name in _MEASURES)])
        return Grid(["member", "error", *(name.replace("_", " ") for name in _MEASURES)], lines, notes=[self.sentence])


_MEASURES = ("disagreement", "q_statistic", "correlation", "double_fault", "kappa")


def diversity(predictions: Any, y: Any, *, names: Sequence[str] | None = None, sample_weight: Any = None) -> Diversity:
    """How members (rows of `predictions`) that classify rows of true labels y differ.

    `predictions` is (members, rows), as `predict_members` of the combiners gives it; use rows the members did not see.

    >>> measured = diversity([["a", "a", "b", "b"], ["a", "b", "b", "a"]], ["a", "a", "b", "a"])
    >>> measured.means["disagreement"], measured.means["double_fault"], measured.errors
    (0.5, 0.0, array([0.25, 0.25]))
    """
    who = "diversity"
    given, truth, weights = _read(who, predictions, y, sample_weight, 2)
    members = given.shape[0]
    if members < 2:
        raise DataError(who, "predictions", "must hold at least 2 members", f"got {members}")
    labels, codes = np.unique(np.concatenate([given.ravel(), truth]), return_inverse=True)
    votes, target = codes[: given.size].reshape(given.shape), codes[given.size :]
    right = (votes == target).astype(np.float64)
    # Sums of the weights as given are exact where these are whole, and the division comes last.
    total = weights.sum()
    a = (right * weights) @ right.T / total
    single = right @ weights / total
    wrong = 1.0 - right
    b = (right * weights) @ wrong.T / total
    c = b.T
    d = (wrong * weights) @ wrong.T / total
    with np.errstate(invalid="ignore", divide="ignore"):
        q = (a * d - b * c) / (a * d + b * c)
        root = np.sqrt(np.maximum((a + b) * (c + d) * (a + c) * (b + d), 0.0))
        correlation = np.where(root > 1e-15, (a * d - b * c) / np.where(root > 0, root, 1.0), np.nan)
    same, chance = np.zeros_like(a), np.zeros_like(a)
    for code in range(labels.shape[0]):
        chosen = (votes == code).astype(np.float64)
        same += (chosen * weights) @ chosen.T / total
        share = chosen @ weights / total
        chance += np.outer(share, share)
    # Two members that give one and the same label to every row agree, be it by chance or not.
    kappa = np.where(chance < 1.0 - 1e-15, (same - chance) / np.maximum(1.0 - chance, 1e-300), 1.0)
    matrices = {"disagreement": b + c, "q_statistic": q, "correlation": correlation, "double_fault": d, "kappa": kappa}
    i, j = np.triu_indices(members, 1)
    means = {name: _mean(matrix[i, j]) for name, matrix in matrices.items()}
    errors = 1.0 - single
    joint = float(weights @ (_plurality(votes, labels.shape[0]) != target) / total)
    return Diversity(
        names=[str(name) for name in names] if names is not None else [f"member {k + 1}" for k in range(members)],
        errors=errors,
        **matrices,
        means=means,
        ensemble_error=joint,
        sentence=(
            f"{members} members err on {percent(float(errors.mean()))} of the rows on average, the majority of all "
            f"on {percent(joint)}; two members disagree about being right on {percent(means['disagreement'])}, "
            f"and both are wrong on {percent(means['double_fault'])}."
        ),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Ambiguity(Record):
    """The squared error of a mean of members: that of a member on average less the ambiguity, exactly.

    Krogh & Vedelsby (NIPS 1994): (f - y)^2 = mean (f_k - y)^2 - mean (f_k - f)^2 with f the weighted mean of the f_k.
    """

    ensemble_error: float
    member_error: float
    ambiguity: float
    sentence: str

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("squared error of the mean", self.ensemble_error), ("of a member on average", self.member_error)]
        return [(name, number(value)) for name, value in [*facts, ("ambiguity", self.ambiguity)]]


def ambiguity(predictions: Any, y: Any, *, weights: Any = None, sample_weight: Any = None) -> Ambiguity:
    """What averaging members (rows of `predictions`, numbers) brings; `weights` are those of the members.

    >>> found = ambiguity([[1.0, 3.0], [3.0, 3.0]], [2.0, 2.0])
    >>> found.ensemble_error, found.member_error, found.ambiguity
    (0.5, 1.0, 0.5)
    """
    who = "ambiguity"
    given, truth, rows = _read(who, predictions, y, sample_weight, 2)
    rows = rows / rows.sum()
    try:
        given, truth = given.astype(np.float64), truth.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(who, "predictions and y", "must hold numbers", way_out="use diversity for labels") from None
    share = check_weights(who, np.ones(given.shape[0]) if weights is None else weights, given.shape[0])
    assert share is not None
    share = share / share.sum()
    mean = share @ given
    joint = float(rows @ (mean - truth) ** 2)
    each = float(share @ (((given - truth) ** 2) @ rows))
    spread = float(share @ (((given - mean) ** 2) @ rows))
    return Ambiguity(
        ensemble_error=joint,
        member_error=each,
        ambiguity=spread,
        sentence=(
            f"A member has a mean squared error of {number(each)}; their differences take off {number(spread)}, so "
            f"that the mean of the members has {number(joint)}."
        ),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class MembersCurve(Drawn, Record):
    """The error of the first m members together, for each m."""

    members: np.ndarray
    error: np.ndarray
    single_error: float
    what: str
    sentence: str

    def chart(self) -> Chart:
        """Error against the number of members, with the mean error of single members."""
        line = Line(self.members.tolist(), self.error.tolist(), "together")
        marks = (Mark(y=self.single_error, label="a single member"),)
        title = f"{self.what} against number of members".capitalize()
        return Chart(title, "number of members", self.what, (line,), marks, description=self.sentence)

    def _facts(self) -> list[tuple[str, str]]:
        return [("single member", number(self.single_error)), ("all together", number(float(self.error[-1])))]


def error_by_members(answers: Any, y: Any, *, classes: Any = None, sample_weight: Any = None) -> MembersCurve:
    """The error as members join one by one.

    `answers` is (members, rows) of labels (the label with most votes is taken) or of numbers with y numbers (the mean
    is taken, and the error is the mean squared one), or (members, rows, classes) of probabilities in the order of
    `classes` (sorted labels of y if not given).

    >>> error_by_members([["a", "b"], ["a", "a"], ["b", "a"]], ["a", "a"]).error
    array([0.5, 0. , 0. ])
    """
    who = "error_by_members"
    given, truth, weights = _read(who, answers, y, sample_weight, None)
    weights = weights / weights.sum()
    count = np.arange(1, given.shape[0] + 1)
    if given.ndim == 2 and given.dtype.kind == "f" and truth.dtype.kind in "fiu":
        running = np.cumsum(given, axis=0) / count[:, None]
        error = ((running - truth) ** 2) @ weights
        single = float((((given - truth) ** 2) @ weights).mean())
        what = "mean squared error"
    else:
        votes, target = _votes(who, given, truth, classes)
        total = np.zeros(votes.shape[1:])
        error, alone = np.empty(count.shape[0]), np.empty(count.shape[0])
        for k, one in enumerate(votes):
            total += one
            error[k] = weights @ (total.argmax(axis=1) != target)
            alone[k] = weights @ (one.argmax(axis=1) != target)
        single, what = float(alone.mean()), "error rate"
    return MembersCurve(
        members=count,
        error=error,
        single_error=single,
        what=what,
        sentence=(
            f"The {what} of a single member is {number(single)} on average, of all {count.shape[0]} together "
            f"{number(float(error[-1]))}."
        ),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class MarginDistribution(Drawn, Record):
    """Margins of rows, sorted: probability of the true class minus the largest of the others, from -1 to 1.

    A row is classified wrongly where its margin is below 0. Large margins bound the error on new rows, which is how
    Schapire, Freund, Bartlett & Lee (Annals of Statistics 26, 1998) explain boosting.
    """

    margins: np.ndarray
    shares: np.ndarray
    """The share of rows with a margin of at most that."""
    mean: float
    least: float
    negative: float
    sentence: str

    def chart(self) -> Chart:
        """The cumulative distribution."""
        line = Line(self.margins.tolist(), self.shares.tolist(), style="step")
        return Chart(
            "Distribution of margins", "margin", "share of rows", (line,), (Mark(x=0.0),), x_range=(-1.0, 1.0),
            y_range=(0.0, 1.02), description=self.sentence,
        )  # fmt: skip

    def _facts(self) -> list[tuple[str, str]]:
        return [("mean margin", number(self.mean)), ("least", number(self.least)), ("below 0", percent(self.negative))]


def margin_distribution(
    probabilities: Any, y: Any, *, classes: Any = None, sample_weight: Any = None
) -> MarginDistribution:
    """The margins of rows whose class probabilities (or shares of votes) are given, columns in the order of `classes`.

    >>> margin_distribution([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]], ["a", "a", "a"], classes=["a", "b"]).margins.round(1)
    array([-0.2,  0.4,  0.8])
    """
    who = "margin_distribution"
    given, truth, weights = _read(who, np.asarray(probabilities)[None], y, sample_weight, 3)
    weights = weights / weights.sum()
    votes, target = _votes(who, given, truth, classes)
    shares, rows = votes[0], np.arange(truth.shape[0])
    own = shares[rows, target]
    others = shares.copy()
    others[rows, target] = -np.inf
    margins = own - others.max(axis=1)
    order = np.argsort(margins, kind="stable")
    total = np.cumsum(weights[order])
    negative = float(weights @ (margins < 0))
    mean = float(weights @ margins)
    return MarginDistribution(
        margins=margins[order],
        shares=total,
        mean=mean,
        least=float(margins.min()),
        negative=negative,
        sentence=f"The mean margin is {number(mean)}, and {percent(negative)} of the rows have one below 0.",
    )


# -- reading ------------------------------------------------------------------------------------------------------
def _read(
    who: str, predictions: Any, y: Any, sample_weight: Any, dimensions: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Answers with members first, the target, and weights of rows."""
    given, truth = np.asarray(predictions), np.asarray(y)
    rows = truth.shape[0] if truth.ndim else 0
    wanted = (2, 3) if dimensions is None else (dimensions,)
    if truth.ndim != 1 or given.ndim not in wanted or not given.size or given.shape[1] != rows:
        shape = "(rows, classes)" if dimensions == 3 else "(members, rows)"
        raise DataError(
            who,
            "predictions",
            f"must have shape {shape} for {rows} labels",
            f"got {given.shape[1:] if dimensions == 3 else given.shape}",
        )
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise DataError(who, "predictions", "must be finite")
    weights = check_weights(who, np.ones(rows) if sample_weight is None else sample_weight, rows)
    assert weights is not None
    return given, truth, weights


def _votes(who: str, given: np.ndarray, truth: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Answers as (members, rows, classes), and the codes of the true labels."""
    if given.ndim == 3:
        labels = np.unique(truth) if classes is None else np.asarray(classes)
        if labels.shape != (given.shape[2],):
            raise DataError(
                who, "classes", f"must name the {given.shape[2]} columns of probabilities", f"got {labels.shape[0]}"
            )
        place = {label: k for k, label in enumerate(labels.tolist())}
        if not set(truth.tolist()) <= set(place):
            raise DataError(who, "y", "must hold labels of `classes` only")
        return given.astype(np.float64), np.array([place[label] for label in truth.tolist()])
    labels, codes = np.unique(np.concatenate([given.ravel(), truth]), return_inverse=True)
    votes = codes[: given.size].reshape(given.shape)
    return np.eye(labels.shape[0])[votes], codes[given.size :]


def _plurality(votes: np.ndarray, n_labels: int) -> np.ndarray:
    """The label with most votes of each row, the first of equals."""
    counts = np.zeros((votes.shape[1], n_labels))
    rows = np.arange(votes.shape[1])
    for one in votes:
        counts[rows, one] += 1.0
    return counts.argmax(axis=1)


def _mean(values: np.ndarray) -> float:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if defined.size else float("nan")
