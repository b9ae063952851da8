"""The perceptron: online updates on mistakes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.class_weight import class_factors, class_weight_param, refuse_balance
from ...base.cost import Cost
from ...base.errors import AssayWarning
from ...base.parameters import Boolean, Choice, Integer, Nothing, param
from ...base.usual_parameters import random_state_param, trace_param
from ...base.views import Coefficients, coefficients_of
from .gradient_descent import codes_in, known_classes
from .predictions import LinearClasses
from .sparse import SparseInput
from .tables import table_of

# Rows looked at without fewer mistakes in an epoch: many times over for a small table, whose epochs cost nothing.
_WAITED_ROWS = 2**13


class Perceptron(SparseInput, LinearClasses):
    """Looks at rows one by one and moves its hyperplane only when it is wrong.

    Two classes: a row on the wrong side of (or on) the hyperplane is added to the coefficients with the sign of its
    class. Three or more: the row is added to the coefficients of its class and taken from those of the class that beat
    it. With `class_weight` a move is as long as the weight of the row's class.
    Stops after an epoch without a mistake; on rows that can be separated with margin g, all [x, 1] no longer than R, at
    most (R / g)^2 mistakes are made. Rows that cannot be separated keep it moving, until the mistakes no longer become
    fewer (`n_iter_no_change`): warning W201, and `average` gives a steadier answer. Scores are not probabilities, so
    there is no `predict_proba`. `partial_fit` makes one pass.

    Attributes
    ----------
    classes_ : array of the class labels
    coef_ : array, (1, n_features) for two classes (positive for `classes_[1]`), else (n_classes, n_features)
    intercept_ : array, (1,) or (n_classes,)
    n_iter_ : int, epochs run
    n_mistakes_ : int, mistakes made in all epochs
    trace_ : with `trace`, the mistakes of each epoch

    Examples
    --------
    >>> from assay.models.linear import Perceptron
    >>> model = Perceptron(shuffle=False).fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"])
    >>> model.predict([[1, 1], [0, 1]])
    array(['yes', 'no'], dtype='<U3')
    >>> model.n_mistakes_ > 0
    True
    """

    fit_intercept: bool = param(True, Boolean(), "Whether the hyperplane may miss the origin.")
    average: bool = param(False, Boolean(), "Whether to keep the mean of the coefficients over all rows seen.")
    max_iter: int = param(1000, Integer(1), "Most epochs (passes over the rows).")
    n_iter_no_change: int | str | None = param(
        "auto",
        Integer(1) | Choice("auto") | Nothing(),
        "Stop after this many epochs without fewer mistakes than the best; 'auto': as many as look at 8,192 rows, at "
        "least 5; None: never.",
    )
    class_weight: Any = class_weight_param()
    shuffle: bool = param(True, Boolean(), "Whether each epoch draws a new order of the rows.")
    random_state: Any = random_state_param()
    trace: bool = trace_param()

    _way_out = "take a sample of the rows or fewer epochs"

    def fit(self, X: Any, y: Any) -> Perceptron:
        """Make epochs until one has no mistake."""
        rows, codes, _ = self._begin(X, y)
        self._require_classes()
        self._start(rows.shape[1])
        mistakes = self._epochs_on(rows, codes, int(self.max_iter))
        self.n_iter_ = len(mistakes)
        if mistakes[-1] > 0:
            text = (
                f"{type(self).__name__}: still {mistakes[-1]} mistakes in the last of {self.n_iter_} epochs; the "
                "classes may not be separable: use average=True or LogisticRegression, or raise n_iter_no_change."
            )
            warnings.warn(AssayWarning("W201", text), stacklevel=3)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Perceptron:
        """One pass over these rows, from where the last call ended; the first call names all `classes`."""
        refuse_balance(type(self).__name__, self.class_weight)
        new = not hasattr(self, "_theta")
        labels = known_classes(self, None if new else self.classes_, classes)
        if not new:
            self._read(X, reset=False)
        rows, codes, _ = self._begin(X, y)
        codes = codes_in(self, labels, self.classes_, codes)
        self.classes_ = labels
        if new:
            self._start(rows.shape[1])
        self._epochs_on(rows, codes, 1)
        self.n_iter_ = self._epochs
        return self

    def _start(self, n_features: int) -> None:
        outputs = 1 if self.classes_.shape[0] == 2 else self.classes_.shape[0]
        self._theta = np.zeros((outputs, n_features + 1))
        self._drift = np.zeros_like(self._theta)
        self._seen = self._epochs = self.n_mistakes_ = 0
        self._stream_key = self._stream().key

    def _epochs_on(self, rows: np.ndarray, codes: np.ndarray, max_epochs: int) -> list[int]:
        factors = class_factors(type(self).__name__, self.class_weight, self.classes_, codes, None)
        self._theta, self._drift, self._seen, self._epochs, counts = _kernels.perceptron_epochs(
            x=table_of(rows).kernel,
            codes=codes,
            factors=np.ones(self.classes_.shape[0]) if factors is None else factors,
            theta=self._theta,
            drift=self._drift,
            seen=self._seen,
            epochs=self._epochs,
            intercept=bool(self.fit_intercept),
            max_epochs=max_epochs,
            patience=self._patience(rows.shape[0]),
            shuffle=bool(self.shuffle),
            key=self._stream_key,
        )
        mistakes = [int(count) for count in counts]
        self.n_mistakes_ += sum(mistakes)
        theta = self._theta - self._drift / self._seen if self.average else self._theta
        self.coef_, self.intercept_ = theta[:, :-1].copy(), theta[:, -1].copy()
        trace = self._new_trace()
        for count in mistakes:
            trace.record("epoch", mistakes=count)
        self._keep_trace(trace)
        return mistakes

    def _patience(self, n_rows: int) -> int:
        if self.n_iter_no_change == "auto":
            return max(5, -(-_WAITED_ROWS // n_rows))
        return 0 if self.n_iter_no_change is None else int(self.n_iter_no_change)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """All epochs, a multiply-add a cell for each output."""
        cells = float(n_rows) * (n_features + 1.0)
        seconds = int(self.max_iter) * (4e-10 * cells * n_outputs + 1e-8 * n_rows)
        return Cost(seconds=1e-4 + seconds, bytes=8.0 * cells + 16.0 * n_rows)

    def view(self) -> Coefficients:
        """The coefficients by class."""
        check_is_fitted(self)
        return coefficients_of(self, self.coef_, self.intercept_, self.classes_)
