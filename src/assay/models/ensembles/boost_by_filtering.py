"""The original boosting of three learners: the second learns from the mistakes of the first, the third settles where
they disagree (Schapire 1990; 001 12.4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base.cost import Cost
from ...base.folds import weighted_fits
from ...base.parameters import Choice, Integer, param
from ...base.usual_parameters import trace_param
from ..trees import CartClassifier
from .combiner import ClassCombiner, OneKind, Training
from .units import Units, contents


class BoostByFiltering(OneKind, ClassCombiner):
    """Three classifiers: on a third of the rows, on mistakes among another third, on disagreements in the last.

    The rows are divided at random into three. The first learner is fitted to the first part and asked about the second;
    the second learner is fitted to the rows it got wrong and, with `filter='balanced'` (Schapire's filter), to as many
    that it got right, so that it learns what the first does not know. Both are asked about the third part, and the
    third learner is fitted to the rows on which they disagree. A row gets the label on which the first two agree, else
    the label of the third. With `depth` above 1 each of the three is such a system itself. It takes many rows: where a
    filter leaves rows of fewer than two classes, its learner is left out, and the first one stands in for it.

    Attributes
    ----------
    classes_ : array of the class labels
    estimators_ : list of the fitted learners: first, second, third, as far as there were rows for them
    filtered_ : array, the weight of rows that each of the three was given
    trace_ : with `trace`, the error of the first on the second part, the disagreement on the third

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import BoostByFiltering
    >>> X = np.random.default_rng(0).uniform(-1, 1, (3000, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "above", "below")
    >>> model = BoostByFiltering(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > model.estimators_[0].score(X, y))
    True
    """

    filter: str = param(
        "balanced",
        Choice("balanced", "wrong"),
        "Rows for the second learner: the wrong ones and as many right ones, or the wrong ones alone.",
    )
    depth: int = param(1, Integer(1, 6), "How often the construction is repeated inside: 3 to this power learners.")
    trace: bool = trace_param()

    filtered_: np.ndarray

    def _draws(self) -> bool:
        return True

    def _default_member(self) -> Any:
        return CartClassifier(max_depth=3)

    def _inner(self) -> Any:
        """What the three are."""
        if int(self.depth) == 1:
            return self._template()
        cls: Any = BoostByFiltering
        return cls(
            estimator=self._template(),
            filter=self.filter,
            depth=int(self.depth) - 1,
            categorical_features=self.categorical_features,
        )

    def _fit_members(self, training: Training) -> None:
        inner, stream, trace = self._inner(), self._stream(), self._new_trace()
        units = Units.of(
            contents(self, training.X, training.target, self.categorical_features), training.weights, training.n_rows
        )
        owner = units.owner
        order = stream.child(3).generator().permutation(units.count)
        third = -(-units.count // 3)
        parts = [order[:third], order[third : 2 * third], order[2 * third :]]
        fit = weighted_fits(inner, training.X, training.target)

        def fitted(k: int, chosen: np.ndarray) -> Any:
            return fit(units.weights(chosen), **self._settings(inner, stream.child(k)))

        assert training.codes is not None
        codes = training.codes[owner]
        if np.ptp(codes) > 0 and np.ptp(codes[parts[0]]) == 0:
            parts = [order, order[:0], order[:0]]  # too few rows to divide
        first = fitted(0, parts[0])
        said = [first.predict(training.X)[owner]]
        wrong = said[0] != training.target[owner]
        chosen = parts[1][wrong[parts[1]]]
        if self.filter == "balanced":
            right = parts[1][~wrong[parts[1]]]
            draw = stream.child(4).generator().permutation(right.shape[0])
            chosen = np.concatenate([chosen, right[draw[: chosen.shape[0]]]])
        self.estimators_, sizes = [first], [parts[0].shape[0]]
        error = float(wrong[parts[1]].mean()) if parts[1].size else 0.0
        trace.record("filter", learner=2, rows=int(chosen.shape[0]), error=error)
        if chosen.size and np.ptp(codes[chosen]) > 0:
            second = fitted(1, chosen)
            self.estimators_.append(second)
            sizes.append(chosen.shape[0])
            said.append(second.predict(training.X)[owner])
            apart = parts[2][said[0][parts[2]] != said[1][parts[2]]]
            share = apart.shape[0] / max(parts[2].shape[0], 1)
            trace.record("filter", learner=3, rows=int(apart.shape[0]), disagreement=share)
            if apart.size and np.ptp(codes[apart]) > 0:
                self.estimators_.append(fitted(2, apart))
                sizes.append(apart.shape[0])
        self.filtered_ = np.array(sizes, dtype=np.float64)
        self._keep_trace(trace)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the first two where they agree, else the probabilities of the third."""
        check_is_fitted(self)
        given = self._asked(self._check_rows(X), self._shares)
        if given.shape[0] == 1:
            return given[0]
        agree = given[0].argmax(axis=1) == given[1].argmax(axis=1)
        judge = given[2] if given.shape[0] == 3 else given[0]
        return np.where(agree[:, None], 0.5 * (given[0] + given[1]), judge)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Three learners on a third of the rows each, at every level."""
        one = self._learners_cost(max(1, n_rows // 3), n_features, n_outputs)
        return Cost(seconds=3.0 * int(self.depth) * one.seconds + 1e-7 * n_rows, bytes=one.bytes + 32.0 * n_rows)
