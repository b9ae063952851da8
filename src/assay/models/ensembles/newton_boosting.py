"""Newton boosting: trees grown on gradients and Hessians, with penalties on their values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...base.class_weight import class_weight_param, with_class_weights
from ...base.errors import DataError, ParameterError, plain
from ...base.estimator import Classifier, Regressor
from ...base.parameters import ArrayLike, Choice, Function, Integer, Mapping, Nothing, Real, param
from ...numeric.losses import weighted_quantile
from .boosting import LOG_LINK, Boosting

ROWS_AT_ONCE = 16_384


class BoostedClasses(Boosting, Classifier):
    """Boosting for labels: one score for two classes, one per class for more."""

    _learned = {"base_score_": "scores before the first round"}

    class_weight: Any = class_weight_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the rounds."""
        cells, codes, weights = self._begin(X, y, sample_weight)
        weights = with_class_weights(type(self).__name__, self.class_weight, self.classes_, codes, weights)
        self._check_constraints()
        count = self.classes_.shape[0]
        table = [self._binned(cells, weights)]  # in a list, so that it is held by nobody here
        del cells  # they are as large as all that follows
        if count == 1:
            self._boost(table, np.zeros(codes.shape[0]), weights, None, "squared_error", 0.0)
        else:
            self._boost(table, codes, weights, None, "log_loss" if count == 2 else "softmax", 0.0, count)
        return self

    def _check_constraints(self) -> None:
        """Constraints that need several classes or columns are checked here."""

    def decision_function(self, X: Any) -> np.ndarray:
        """The log odds of the second class, or for more classes one score each."""
        scores = self._scores(X)
        return scores[:, 0] if self.n_outputs_ == 1 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities: the logistic function of the score, or the softmax of the scores."""
        return self._probabilities(self._scores(X))

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities from scores, which are given up."""
        if self.classes_.shape[0] == 1:
            return np.ones((scores.shape[0], 1))
        if self.n_outputs_ == 1:
            found = np.empty((scores.shape[0], 2))
            for begin in range(0, scores.shape[0], ROWS_AT_ONCE):  # what is in between stays in the caches
                own, some = scores[begin : begin + ROWS_AT_ONCE, 0], found[begin : begin + ROWS_AT_ONCE]
                small = np.exp(-np.abs(own))
                high, low = 1.0 / (1.0 + small), small / (1.0 + small)
                some[:, 0], some[:, 1] = np.where(own >= 0, low, high), np.where(own >= 0, high, low)
            return found
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Probabilities after each round."""
        for scores in self._staged_scores(X):
            yield self._probabilities(scores)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The most probable class after each round."""
        for shares in self.staged_predict_proba(X):
            yield self.classes_[shares.argmax(axis=1)]

    def _link_name(self) -> str:
        return "logit" if self.n_outputs_ == 1 else "softmax"


class BoostedNumbers(Boosting, Regressor):
    """Boosting for numbers, by any of the losses."""

    loss: Any = param(
        "squared_error",
        Choice("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie") | Function(),
        "Loss; with 'poisson', 'gamma' and 'tweedie' the score is the logarithm of the mean. A function of (y, scores) "
        "must return gradients and Hessians of the loss in the scores, rows as they came less those of weight 0; "
        "predictions are then the scores.",
    )
    quantile: float = param(0.5, Real(0, 1, "neither"), "Level of the quantile loss.")
    huber_delta: float | None = param(
        None,
        Real(0, None, "neither") | Nothing(),
        "Residual beyond which Huber's loss is linear; None: 2 median absolute deviations of y.",
    )
    tweedie_power: float = param(1.5, Real(1, 2, "neither"), "Power of the variance in the Tweedie loss.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Any:
        """Fit the rounds. `offset` is added to the scores: the logarithm of an exposure, or another model's score."""
        cells, target, weights = self._begin(X, y, sample_weight)
        shift = self._offset(offset, np.asarray(y).shape[0])
        if shift is not None and sample_weight is not None:
            shift = shift[np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), shift.shape) > 0]
        self._check_range(target)
        table = [self._binned(cells, weights)]  # in a list, so that it is held by nobody here
        del cells  # they are as large as all that follows
        self._boost(table, target, weights, shift, self.loss, self._parameter(target, weights))
        return self

    def _parameter(self, target: np.ndarray, weights: np.ndarray | None) -> float:
        if self.loss == "quantile":
            return float(self.quantile)
        if self.loss == "tweedie":
            return float(self.tweedie_power)
        if self.loss != "huber":
            return 0.0
        if self.huber_delta is not None:
            return float(self.huber_delta)
        w = np.ones(target.shape[0]) if weights is None else weights
        spread = weighted_quantile(np.abs(target - weighted_quantile(target, w, 0.5)), w, 0.5)
        return 2.0 * spread if spread > 0 else max(float(np.abs(target).max()), 1.0)

    def _check_range(self, target: np.ndarray) -> None:
        if self.loss not in LOG_LINK:
            return
        bad = np.flatnonzero(target <= 0 if self.loss == "gamma" else target < 0)
        if bad.shape[0]:
            raise DataError(
                type(self).__name__,
                "y",
                f"must be {'> 0' if self.loss == 'gamma' else '>= 0'} for loss={self.loss!r}",
                f"got {target[bad[0]]:g} at row {int(bad[0])}",
                "take another loss",
            )

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """The mean (or median, quantile) of each row; `offset` as in `fit`."""
        return self._mean(self._scores(X, offset))

    def staged_predict(self, X: Any, offset: Any = None) -> Iterator[np.ndarray]:
        """Predictions after each round; `offset` as in `fit`."""
        for scores in self._staged_scores(X, offset):
            yield self._mean(scores)

    def _mean(self, scores: np.ndarray) -> np.ndarray:
        column = scores[:, 0]
        return np.exp(np.clip(column, -230.0, 230.0)) if self.loss in LOG_LINK else column

    def _link_name(self) -> str:
        return "log" if self.loss in LOG_LINK else "identity"


_FEW = "; {} for tables of fewer than 2000 rows whose number of rounds the folds choose."


class _Newton(Boosting):
    """Penalties and constraints of second-order boosting; what is 'auto' goes by the number of rows where rounds do."""

    learning_rate: float | str = param(
        "auto", Real(0, 1, "right") | Choice("auto"), "Factor of every tree's values. 'auto': 0.1" + _FEW.format(0.05)
    )
    max_leaf_nodes: int | str | None = param(
        "auto",
        Integer(2) | Nothing() | Choice("auto"),
        "Leaves of a tree at most; None for no limit. 'auto': 31"
        + _FEW.format("4, 8 or 31, which the folds choose too,"),
    )
    min_samples_leaf: int | str = param(
        "auto",
        Integer(1) | Choice("auto"),
        "Rows that a leaf must hold; a row of whole-number weight w counts as w rows (10**9 at most). 'auto': 20"
        + _FEW.format(5),
    )
    subsample: float | str = param(
        "auto",
        Real(0, 1, "right") | Choice("auto"),
        "Share of the rows drawn for each round. 'auto': 1" + _FEW.format(0.7),
    )
    min_samples_category: int | str = param(
        "auto",
        Integer(0) | Choice("auto"),
        "Rows that a category must have in a node to be placed by its own gradient. 'auto': 3" + _FEW.format(2),
    )
    l2_regularization: float | str = param(
        "auto",
        Real(0) | Choice("auto"),
        "L2 penalty on the values of leaves. 'auto': 1" + _FEW.format(3),
    )
    max_bins: int | str = param(
        "auto",
        Integer(2, 255) | Choice("auto"),
        "Bins per numeric column; one of no more distinct values is taken exactly. 'auto': 255" + _FEW.format(64),
    )
    l1_regularization: float = param(0.0, Real(0), "L1 penalty on the values of leaves.")
    min_child_weight: float = param(1e-3, Real(0), "Sum of the Hessians that a leaf must hold.")
    min_split_gain: float = param(0.0, Real(0), "Decrease of the penalised loss that a split must bring.")
    category_smoothing: float = param(
        20.0, Real(0), "Added to L2 in splits of nominal columns, and to the Hessian of a category in their order."
    )
    growth: str = param(
        "leaf_wise", Choice("leaf_wise", "depth_wise"), "Which leaf is split next: of largest gain, or of least depth."
    )
    max_features_node: float = param(1.0, Real(0, 1, "right"), "Share of the columns drawn for each node.")
    monotone: Any = param(
        None,
        Mapping() | ArrayLike() | Nothing(),
        "Columns in which predictions must rise (1) or fall (-1): a dict by name or a list by column.",
    )
    interactions: Any = param(
        None,
        ArrayLike() | Nothing(),
        "Groups of columns (names or numbers) that may meet on a path; columns of no group stand alone.",
    )

    def _penalties(self, n_rows: int) -> dict[str, Any]:
        names = self.schema_.names
        return {
            "columns_per_node": self._columns(self.max_features_node, len(names)),
            "min_hessian": float(self.min_child_weight),
            "l2": float(self._setting("l2_regularization", n_rows)),
            "l1": float(self.l1_regularization),
            "min_gain": float(self.min_split_gain),
            "smoothing": float(self.category_smoothing),
            "min_category_rows": float(self._setting("min_samples_category", n_rows)),
            "depth_wise": self.growth == "depth_wise",
            "monotone": self._signs(),
            "interactions": self._groups(),
        }

    def _column_number(self, name: Any, parameter: str) -> int:
        names = self.schema_.names
        if isinstance(name, str) and name in names:
            return names.index(name)
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= int(name) < len(names):
            return int(name)
        raise ParameterError(
            type(self).__name__,
            f"parameter '{parameter}'",
            "must name columns of X",
            f"got {plain(repr(name))}",
            f"X has {len(names)} columns",
        )

    def _signs(self) -> list[int]:
        if self.monotone is None:
            return []
        signs = np.zeros(len(self.schema_.names), dtype=np.int64)
        if isinstance(self.monotone, dict):
            for name, sign in self.monotone.items():
                signs[self._column_number(name, "monotone")] = self._sign(sign)
        else:
            given = list(self.monotone)
            if len(given) != signs.shape[0]:
                raise ParameterError(
                    type(self).__name__,
                    "parameter 'monotone'",
                    f"must have one sign for each of {signs.shape[0]} columns",
                    f"got {len(given)}",
                )
            signs[:] = [self._sign(sign) for sign in given]
        nominal = [self.schema_.names[j] for j in np.flatnonzero(signs) if self.schema_.nominal[j]]
        if nominal:
            raise ParameterError(
                type(self).__name__,
                "parameter 'monotone'",
                "must name numeric columns",
                f"{plain(nominal[0])!r} is nominal",
            )
        return signs.tolist() if signs.any() else []

    def _sign(self, sign: Any) -> int:
        if sign not in (-1, 0, 1):
            raise ParameterError(
                type(self).__name__, "parameter 'monotone'", "must hold -1, 0 and 1", f"got {plain(repr(sign))}"
            )
        return int(sign)

    def _groups(self) -> list[list[int]]:
        if self.interactions is None:
            return []
        try:
            groups = [[self._column_number(name, "interactions") for name in group] for group in self.interactions]
        except TypeError:
            raise ParameterError(
                type(self).__name__, "parameter 'interactions'", "must be a list of groups of columns"
            ) from None
        held = {column for group in groups for column in group}
        return groups + [[j] for j in range(len(self.schema_.names)) if j not in held]


class NewtonBoostingClassifier(_Newton, BoostedClasses):
    """Boosted trees by second-order steps, for two or more classes.

    Every round fits a tree to the gradients and Hessians of the log loss: leaves take the regularised Newton step,
    splits the largest gain of the penalised loss (Chen & Guestrin 2016). Columns are binned to one byte; histograms
    hold whole numbers, so that the model has the same bits for any order of the rows and any number of threads.
    Missing cells and nominal columns are taken as they are: categories are sorted by their gradients, and what such
    sorting is expected to gain from noise alone is taken off the gain of the split, so that columns of many labels
    are neither missed nor preferred. The constant of a tree is not penalised.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import NewtonBoostingClassifier
    >>> X = np.array([[0.0], [1.0], [np.nan]] * 40)
    >>> model = NewtonBoostingClassifier(n_estimators=20).fit(X, ["low", "high", "lost"] * 40)
    >>> model.predict([[0.0], [0.9], [np.nan]])
    array(['low', 'high', 'lost'], dtype='<U4')
    """

    def _check_constraints(self) -> None:
        if self.monotone is not None and self.classes_.shape[0] > 2:
            raise ParameterError(
                type(self).__name__,
                "parameter 'monotone'",
                "needs a target of two classes",
                f"got {self.classes_.shape[0]} classes",
            )


class NewtonBoostingRegressor(_Newton, BoostedNumbers):
    """Boosted trees by second-order steps, for numbers.

    As `NewtonBoostingClassifier`, for squared, absolute, Huber, quantile, Poisson, gamma and Tweedie loss, or one of
    your own by its gradient and Hessian. Losses without curvature are grown by their gradients; their leaves
    take the median or quantile of the residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import NewtonBoostingRegressor
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = NewtonBoostingRegressor(n_estimators=100).fit(X, np.sin(X[:, 0]))
    >>> abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.02
    np.True_
    """
