"""What a linear model says of rows: a number, or the class of highest score."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base.estimator import LabelClassifier, Regressor
from ...base.views import Coefficients, coefficients_of


class LinearNumbers(Regressor):
    """A linear model of one target, or of several."""

    def predict(self: Any, X: Any) -> np.ndarray:
        """The linear prediction of each row."""
        check_is_fitted(self)
        return self._read(X, reset=False) @ self.coef_.T + self.intercept_

    def view(self: Any) -> Coefficients:
        """The coefficients."""
        check_is_fitted(self)
        return coefficients_of(self, np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_))


class LinearClasses(LabelClassifier):
    """A linear score for two classes, or one for each of several."""

    def decision_function(self: Any, X: Any) -> np.ndarray:
        """Score of `classes_[1]` (two classes), or one score per class."""
        check_is_fitted(self)
        decision = self._read(X, reset=False) @ self.coef_.T + self.intercept_
        return decision[:, 0] if decision.shape[1] == 1 else decision

    def predict(self, X: Any) -> np.ndarray:
        """The class of highest score of each row; the first in `classes_` wins a tie."""
        decision = self.decision_function(X)
        codes = (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[codes]
