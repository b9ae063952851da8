"""Bagging: one learner on many bootstrap samples, and the mean of what they say."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from ...base.around import in_threads
from ...base.cost import Cost
from ...base.errors import ParameterError
from ...base.folds import take_rows, weighted_fits
from ...base.guard import INFERENCE
from ...base.parameters import Boolean, Choice, Integer, Real, param
from ...base.randomness import Stream
from ..trees import CartClassifier, CartRegressor
from .combiner import ClassCombiner, NumberCombiner, OneKind, Training, take_columns
from .units import Units, contents
from .vote_rules import NUMBER_RULES

# How often a sample that lost all classes but one is drawn again.
_REDRAWS = 20


class Resampled(OneKind):
    """Copies of one learner, each on rows and columns of its own; the classes below set what is drawn by default."""

    _learned = {
        "estimators_": "list of the fitted members",
        "columns_": "array (members, columns drawn), the columns of each member",
    }

    _open_state = (*INFERENCE, "oob_prediction_")

    n_estimators: int = param(10, Integer(1), "How many copies.")
    max_samples: int | float = param(
        1.0, Integer(1) | Real(0, 1, "right"), "Rows drawn for each: a number, or a share of all rows."
    )
    max_features: int | float = param(
        1.0, Integer(1) | Real(0, 1, "right"), "Columns drawn for each: a number, or a share of all columns."
    )
    bootstrap: bool = param(True, Boolean(), "Whether rows are drawn with replacement.")
    bootstrap_features: bool = param(False, Boolean(), "Whether columns are drawn with replacement.")
    oob_score: bool = param(
        False, Boolean(), "Predict each row by the members that did not draw it: `oob_score_`, `oob_prediction_`."
    )

    columns_: np.ndarray
    """The columns of each member, (members, columns drawn)."""

    def _draws(self) -> bool:
        return True

    # -- fitting -----------------------------------------------------------------------------------------------------
    def _fit_members(self, training: Training) -> None:
        X, target, weights = training.X, training.target, training.weights
        if self.oob_score and not self.bootstrap and self._drawn(self.max_samples, 10) == 10:
            raise ParameterError(
                type(self).__name__, "parameter 'oob_score'", "needs rows that a member did not draw",
                "got bootstrap=False and all rows", "set bootstrap=True",
            )  # fmt: skip
        member, stream = self._template(), self._stream()
        units = Units.of(contents(self, X, target, self.categorical_features), weights, target.shape[0])
        self.columns_ = np.array([self._draw_columns(stream.child(b).child(1)) for b in range(int(self.n_estimators))])
        every = np.arange(self.n_features_in_)
        whole = [bool(np.array_equal(columns, every)) for columns in self.columns_]
        share = weighted_fits(member, X, target) if any(whole) else None

        def fit(b: int) -> tuple[Any, np.ndarray | None]:
            counts = self._draw_rows(units, stream.child(b).child(0), training.codes)
            columns = None if whole[b] else self.columns_[b]
            told = self._settings(member, stream.child(b).child(2), columns)
            fit_to = share if columns is None else weighted_fits(member, take_columns(X, columns), target)
            assert fit_to is not None
            return fit_to(counts, **told), counts == 0 if self.oob_score else None

        fitted = in_threads(fit, range(int(self.n_estimators)), self.n_jobs)
        self.estimators_ = [model for model, _ in fitted]
        for name in ("oob_score_", "oob_prediction_"):
            self.__dict__.pop(name, None)
        if self.oob_score:
            self._score_out_of_bag(X, target, weights, [out for _, out in fitted if out is not None])

    def _drawn(self, wanted: int | float, count: int) -> int:
        if isinstance(wanted, numbers.Integral):
            return min(int(wanted), count)
        return max(1, math.floor(float(wanted) * count + 1e-9))

    def _draw_rows(self, units: Units, stream: Stream, codes: np.ndarray | None) -> np.ndarray:
        """The sample weights of one member; a sample of one class is drawn again where there are more."""
        size = self._drawn(self.max_samples, units.count)
        if not self.bootstrap and size == units.count:
            return units.weights(np.arange(units.count))
        for attempt in range(_REDRAWS):
            draw = stream.child(attempt).generator()
            if self.bootstrap:
                drawn = draw.integers(0, units.count, size)
            else:
                drawn = draw.permutation(units.count)[:size]
            if codes is None or np.ptp(codes[units.owner[drawn]]) > 0 or not np.ptp(codes):
                break
        return units.weights(drawn)

    def _draw_columns(self, stream: Stream) -> np.ndarray:
        size, draw = self._drawn(self.max_features, self.n_features_in_), stream.generator()
        if self.bootstrap_features:
            return np.sort(draw.integers(0, self.n_features_in_, size))
        return np.sort(draw.permutation(self.n_features_in_)[:size])

    def _columns_of(self, member: int) -> np.ndarray | None:
        columns = self.columns_[member]
        return None if np.array_equal(columns, np.arange(self.n_features_in_)) else columns

    # -- out of bag --------------------------------------------------------------------------------------------------
    def _answer(self, member: Any, X: Any) -> np.ndarray:
        """What a member says, (rows, outputs)."""
        raise NotImplementedError  # pragma: no cover

    def _score_out_of_bag(self, X: Any, target: np.ndarray, weights: np.ndarray | None, out: list[np.ndarray]) -> None:
        """Set `oob_prediction_` (NaN where every member drew the row) and `oob_score_`."""

        def answers(b: int) -> np.ndarray | None:
            rows = np.flatnonzero(out[b])
            if not rows.shape[0]:
                return None
            columns, part = self._columns_of(b), take_rows(X, rows)
            return self._answer(self.estimators_[b], part if columns is None else take_columns(part, columns))

        total, asked = None, np.zeros(_num_samples(X))
        for b, found in enumerate(in_threads(answers, range(len(out)), self.n_jobs)):
            if found is not None:
                total = np.zeros((asked.shape[0], found.shape[1])) if total is None else total
                total[out[b]] += found
                asked += out[b]
        if total is None:
            raise ParameterError(
                type(self).__name__, "parameter 'oob_score'", "needs rows that a member did not draw",
                "every member drew every row", "take more rows or a smaller max_samples",
            )  # fmt: skip
        with np.errstate(invalid="ignore"):
            mean = total / asked[:, None]
        known = asked > 0
        self._keep_out_of_bag(mean, known, target, None if weights is None else weights[known])

    def _keep_out_of_bag(
        self, mean: np.ndarray, known: np.ndarray, target: np.ndarray, weights: np.ndarray | None
    ) -> None:
        raise NotImplementedError  # pragma: no cover

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A fit of the learner for each member, on its share of rows and columns."""
        rows, columns = (self._drawn(self.max_samples, n_rows), self._drawn(self.max_features, n_features))
        one = self._learners_cost(max(rows, 1), columns, n_outputs)
        return Cost(seconds=(one.seconds + 1e-4) * int(self.n_estimators), bytes=one.bytes + 16.0 * n_rows)


class ResampledClasses(Resampled, ClassCombiner):
    """Copies of a classifier."""

    _learned = {"oob_score_, oob_prediction_": "with `oob_score`, accuracy and mean probabilities out of bag"}

    def _default_member(self) -> Any:
        return CartClassifier()

    def _answer(self, member: Any, X: Any) -> np.ndarray:
        return self._shares(member, X)

    def _keep_out_of_bag(
        self, mean: np.ndarray, known: np.ndarray, target: np.ndarray, weights: np.ndarray | None
    ) -> None:
        self.oob_prediction_ = mean
        right = self.classes_[mean[known].argmax(axis=1)] == target[known]
        self.oob_score_ = float(np.average(right, weights=weights))

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the members' probabilities; of their votes where they have no probabilities."""
        return self._joined(self._check_rows(X), "mean")


class ResampledNumbers(Resampled, NumberCombiner):
    """Copies of a regressor."""

    _learned = {"oob_score_, oob_prediction_": "with `oob_score`, R squared and mean predictions out of bag"}

    rule: str = param(
        "mean", Choice(*NUMBER_RULES), "How the members' numbers are joined; 'median' is robust against wild members."
    )

    def _default_member(self) -> Any:
        return CartRegressor()

    def _answer(self, member: Any, X: Any) -> np.ndarray:
        return np.asarray(member.predict(X), dtype=np.float64)[:, None]

    def _keep_out_of_bag(
        self, mean: np.ndarray, known: np.ndarray, target: np.ndarray, weights: np.ndarray | None
    ) -> None:
        self.oob_prediction_ = mean[:, 0]
        gap = np.average((target[known] - mean[known, 0]) ** 2, weights=weights)
        spread = np.average((target[known] - np.average(target[known], weights=weights)) ** 2, weights=weights)
        self.oob_score_ = float(1.0 - gap / spread) if spread > 0 else 0.0

    def predict(self, X: Any) -> np.ndarray:
        """The members' numbers joined by the rule."""
        return self._joined(self._check_rows(X), self.rule)


class BaggingClassifier(ResampledClasses):
    """One classifier on many bootstrap samples; their probabilities are averaged.

    Averaging lowers the variance of unstable learners, such as trees, and leaves their bias as it is. A sample is a
    count for each row: it goes to the learner as sample weights where `fit` takes them, else as repeated rows, and the
    common work (the coding of columns, for trees) is done once. A row of whole-number weight w is drawn as w equal rows
    are, and the order of the rows does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import BaggingClassifier
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> y = np.where(np.abs(X[:, 0]) < 0.5, "in", "out")
    >>> model = BaggingClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> model.predict([[0.0], [0.9]]), bool(model.oob_score_ > 0.9)
    (array(['in', 'out'], dtype='<U3'), True)
    """


class BaggingRegressor(ResampledNumbers):
    """One regressor on many bootstrap samples; their predictions are averaged, or their median is taken.

    As `BaggingClassifier`, for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import BaggingRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = BaggingRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """
