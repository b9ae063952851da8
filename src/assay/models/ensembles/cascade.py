"""Cascades: a cheap learner answers where it is sure, the next one only where it is not, and so on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import _num_samples, check_is_fitted

from ...base.cost import Cost
from ...base.cv import cv_param
from ...base.drawings import shares_figure
from ...base.errors import ParameterError, plain
from ...base.folds import Fold, open_seeds, take_rows
from ...base.parameters import ArrayLike, Boolean, Choice, Nothing, Real, param
from ...base.record import Grid
from ...base.usual_parameters import trace_param
from ...base.views import View
from ...base.words import clean, compact, number, percent
from ..bayes import NaiveBayes
from .combiner import ClassCombiner, NamedMembers, Training, out_of_fold
from .usual_members import FOREST


@dataclass(frozen=True, kw_only=True)
class CascadeAccount(View):
    """Who answers and what it costs: for each stage the rows that reach it, those it answers and the cost of a row.

    Every row that reaches a stage pays for it, so the cost of all rows is the sum of reached times cost.
    """

    kind: ClassVar[str] = "cascade"
    stages: list[str]
    reached: list[float]
    answered: list[float]
    costs: list[float]
    right: list[float] | None = None
    """Rows answered rightly by each stage, where the labels are known."""

    @property
    def total(self) -> float:
        """The cost of all rows together."""
        return float(sum(rows * cost for rows, cost in zip(self.reached, self.costs)))

    @property
    def expected_cost(self) -> float:
        """The cost of a row on average."""
        return self.total / self.reached[0] if self.reached[0] else 0.0

    @property
    def cost_of_all_stages(self) -> float:
        """What a row would cost if every stage were asked."""
        return float(sum(self.costs))

    def to_svg(self, title: str = "") -> str:
        """The share of rows that each stage answers."""
        rows = self.reached[0] or 1.0
        return shares_figure(
            self.stages, [one / rows for one in self.answered], title=title or "Rows answered by each stage"
        )

    @property
    def how_to_read(self) -> str:
        """The expected cost in a sentence."""
        return (
            f"A row costs {number(self.expected_cost)} on average; asking every stage would cost "
            f"{number(self.cost_of_all_stages)}. The bars are the shares of rows that each stage answers."
        )

    def grid(self) -> Grid:
        """One line for each stage."""
        rows = self.reached[0] or 1.0
        heads = ["stage", "reached", "answered", "cost of a row", "cost"]
        lines = [
            [clean(s, 60), percent(r / rows, 1), percent(a / rows, 1), compact(c), compact(r * c)]
            for s, r, a, c in zip(self.stages, self.reached, self.answered, self.costs)
        ]
        if self.right is not None:
            heads.append("right")
            for line, right, answered in zip(lines, self.right, self.answered):
                line.append(percent(right / answered, 1) if answered else "")
        return Grid(heads, lines)


class Cascade(NamedMembers, ClassCombiner):
    """Classifiers one after the other; each answers only the rows on which those before it were unsure.

    A stage is sure of a row if it is right with a probability that reaches the threshold; the last stage answers all
    that is left. Learners that say 0.99 and err in one of six rows are common (naive Bayes of many columns), so how
    often a stage is right at a confidence is taken from rows that it had not seen: isotonic regression of its
    out-of-fold hits on its largest probability. `calibrate=False` takes the stage's word.

    With `train_on='unsure'` a stage is fitted to the rows that the stages before it were unsure of when they had not
    seen them (out-of-fold probabilities by the fold engine), so that it becomes a specialist for hard rows; where
    these lack classes that the stage would need (fewer than two are left), it gets all rows. Put cheap and simple
    learners first.

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> from assay.models.ensembles import Cascade
    >>> frame = load_dataset("iris").frame
    >>> X, y = frame.drop("species"), frame["species"]
    >>> model = Cascade(costs=[1, 20], random_state=0).fit(X, y)
    >>> account = model.account(X, y)
    >>> bool(account.total == account.reached[0] * 1 + account.reached[1] * 20), account.expected_cost < 21
    (True, True)
    """

    _learned = {
        "estimators_, names_": "the fitted stages and their names",
        "thresholds_": "array, the probability that each stage but the last must give; above 1: it never answers",
        "reached_": "array, the weight of training rows that reached each stage, by out-of-fold probabilities",
        "trace_": "with `trace`, for each stage the rows it was fitted to and the rows it left",
    }

    threshold: Any = param(
        0.95,
        Real(0, 1) | ArrayLike(),
        "Probability at which a stage is sure: one number, or one for each but the last.",
    )
    calibrate: bool = param(
        True,
        Boolean(),
        "Whether a stage's probability is how often it was right, at such confidence, about rows it had not seen; if "
        "not, it is what the stage says.",
    )
    costs: Any = param(None, ArrayLike() | Nothing(), "Cost of asking each stage about a row; None is 1 each.")
    train_on: str = param(
        "unsure", Choice("unsure", "all"), "Rows that a stage is fitted to: those left unsure before it, or all."
    )
    cv: Any = cv_param(None, "5")
    trace: bool = trace_param()

    thresholds_: np.ndarray
    costs_: np.ndarray
    reached_: np.ndarray

    def _default_members(self) -> list[Any]:
        return [("naive-bayes", NaiveBayes()), ("forest", FOREST(n_estimators=20))]

    def _check_members(self) -> None:
        super()._check_members()
        stages = self._members()
        for name, member in stages:
            if not hasattr(member, "predict_proba"):
                raise ParameterError(
                    type(self).__name__,
                    f"stage '{plain(name)}'",
                    "must have probabilities",
                    f"{type(member).__name__} has none",
                )
        self.thresholds_ = self._numbers("threshold", self.threshold, len(stages) - 1, 1.0)
        self.costs_ = self._numbers("costs", 1.0 if self.costs is None else self.costs, len(stages), np.inf)

    def _numbers(self, name: str, given: Any, count: int, most: float) -> np.ndarray:
        try:
            found = np.asarray(given, dtype=np.float64)
            found = np.full(count, float(found)) if found.ndim == 0 else found
        except (TypeError, ValueError):
            found = np.empty((0, 0))
        if found.shape != (count,) or not np.isfinite(found).all() or (found < 0).any() or (found > most).any():
            limit = f" and at most {most:g}" if np.isfinite(most) else ""
            raise ParameterError(
                type(self).__name__,
                f"parameter '{name}'",
                f"must hold {count} numbers of at least 0{limit}",
                f"got {plain(given)}",
            )
        return found

    # -- fitting -----------------------------------------------------------------------------------------------------
    def _fit_members(self, training: Training) -> None:
        members, stream, trace = self._members(), self._stream(), self._new_trace()
        folds = self._validation_folds(training, self.cv) if len(members) > 1 else []
        weight = np.ones(training.n_rows) if training.weights is None else training.weights
        assert training.codes is not None
        left = np.ones(training.n_rows, dtype=bool)
        self.estimators_, self.names_, reached = [], [], []
        for k, (name, member) in enumerate(members):
            several = np.unique(training.codes[left]).shape[0] > 1
            used = left if self.train_on == "unsure" and several else np.ones_like(left)
            prototype = self._prototype(member, stream.child(k))
            self.estimators_.append(clone(prototype).fit(**training.part(np.flatnonzero(used))))
            self.names_.append(name)
            reached.append(float(weight[left].sum()))
            after = left
            if k + 1 < len(members):
                confidence, right = self._confidence(prototype, training, folds, used, open_seeds(member))
                if self.calibrate:
                    self.thresholds_[k] = _reaching(confidence[used], right[used], weight[used], self.thresholds_[k])
                after = left & (confidence < self.thresholds_[k])
            trace.record("stage", name=name, rows=int(used.sum()), reached=int(left.sum()), unsure=int(after.sum()))
            left = after
        self.reached_ = np.array(reached)
        self._keep_trace(trace)

    def _confidence(
        self, prototype: Any, training: Training, folds: list[Fold], used: np.ndarray, drawn: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The largest out-of-fold probability of each row that a stage is fitted to, and whether its class is right; 0
        and wrong for other rows and those that no fold tests."""
        parts = [(train[used[train]], test[used[test]]) for train, test in folds]
        codes = training.codes
        assert codes is not None
        parts = [(train, test) for train, test in parts if test.size and np.unique(codes[train]).shape[0] > 1]
        if not parts:
            return np.zeros(training.n_rows), np.zeros(training.n_rows, dtype=bool)
        found, asked = out_of_fold(prototype, training, parts, self._shares, drawn)
        found = np.where(asked[:, None] > 0, np.nan_to_num(found), 0.0)
        return found.max(axis=1), (found.argmax(axis=1) == codes) & (asked > 0)

    # -- using -------------------------------------------------------------------------------------------------------
    def _walk(self, X: Any) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Stage by stage: its number, the rows that it answers, and their probabilities."""
        left = np.arange(_num_samples(X))
        for k, member in enumerate(self.estimators_):
            if not left.size:
                return
            shares = self._shares(member, X if left.shape[0] == _num_samples(X) else take_rows(X, left))
            sure = np.ones(left.shape[0], dtype=bool)
            if k + 1 < len(self.estimators_):
                sure = shares.max(axis=1) >= self.thresholds_[k]
            yield k, left[sure], shares[sure]
            left = left[~sure]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the first stage that is sure."""
        rows = self._check_rows(X)
        found = np.empty((_num_samples(rows), self.classes_.shape[0]))
        for _, answered, shares in self._walk(rows):
            found[answered] = shares
        return found

    def stage_of(self, X: Any) -> np.ndarray:
        """The number of the stage that answers each row."""
        rows = self._check_rows(X)
        found = np.empty(_num_samples(rows), dtype=np.int64)
        for k, answered, _ in self._walk(rows):
            found[answered] = k
        return found

    def account(self, X: Any, y: Any = None) -> CascadeAccount:
        """Who answers these rows and what it costs; with labels, how often each stage is right."""
        stage = self.stage_of(X)
        answered = np.bincount(stage, minlength=len(self.names_)).astype(np.float64)
        right = None
        if y is not None:
            hits = self.predict(X) == np.asarray(y)
            right = np.bincount(stage, hits, minlength=len(self.names_)).tolist()
        return self._account(answered, right)

    def _account(self, answered: np.ndarray, right: list[float] | None) -> CascadeAccount:
        reached = np.cumsum(answered[::-1])[::-1]
        return CascadeAccount(
            stages=list(self.names_),
            reached=reached.tolist(),
            answered=answered.tolist(),
            costs=self.costs_.tolist(),
            right=right,
        )

    def view(self) -> CascadeAccount:
        """Who would answer the training rows if it had not seen them, and the expected cost."""
        check_is_fitted(self)
        return self._account(self.reached_ - np.append(self.reached_[1:], 0.0), None)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Each stage once and once for each fold."""
        one = self._learners_cost(n_rows, n_features, n_outputs)
        return Cost(seconds=(1 + (int(self.cv) if isinstance(self.cv, int) else 5)) * one.seconds, bytes=one.bytes)


def _reaching(confidence: np.ndarray, right: np.ndarray, weight: np.ndarray, wanted: float) -> float:
    """The least confidence at which a stage is right with the wanted probability, by isotonic regression; 2 if at none.

    >>> _reaching(np.array([0.5, 0.6, 0.9, 0.9]), np.array([False, True, True, True]), np.ones(4), 0.9)
    0.6
    """
    if wanted <= 0:
        return 0.0
    levels, place = np.unique(confidence, return_inverse=True)
    total = np.bincount(place, weight)
    share = np.bincount(place, weight * right) / np.maximum(total, 1e-300)
    reached = np.flatnonzero(isotonic_regression(share, sample_weight=np.maximum(total, 1e-300)) >= wanted - 1e-12)
    return float(levels[reached[0]]) if reached.size else 2.0
