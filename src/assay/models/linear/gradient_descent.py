"""Gradient descent on linear scores: batch, mini-batch and stochastic, for regression and classification."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.class_weight import class_weight_param, refuse_balance, with_class_weights
from ...base.cost import Cost
from ...base.errors import AssayWarning, DataError, ParameterError, quoted
from ...base.estimator import Estimator
from ...base.folds import hold_out_rows
from ...base.parameters import Boolean, Choice, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param, random_state_param, trace_param
from ...base.views import Coefficients, coefficients_of
from ...numeric.losses import LOSSES, Loss
from .descent_path import stable_step
from .logistic_solver import log_probabilities_of, probabilities_of
from .predictions import LinearClasses, LinearNumbers
from .sparse import SparseInput
from .tables import table_of

REGRESSION_LOSSES = {name: LOSSES[name] for name in ("squared_error", "absolute_error", "huber", "mape", "msle")}
CLASSIFICATION_LOSSES = {name: LOSSES[name] for name in ("log_loss", "hinge", "squared_hinge", "modified_huber")} | {
    "squared_error": LOSSES["squared_margin"]
}
# Numbers of the kernel's schedules.
SCHEDULES = {"constant": 0, "invscaling": 1, "inverse_time": 2, "exponential": 3, "adaptive": 4}
# The kernel's word for a loss that grew without bound, and how often our own step is halved then.
DIVERGED = 2
_HALVINGS = 60
# The trace holds the parameters themselves up to this many.
TRACED_PARAMETERS = 32


class _DescentLearner(SparseInput, Estimator):
    """What both learners share: the objective's penalty, the step, the stopping rules and the epochs."""

    _learned = {
        "coef_": "array (n_features,)",
        "intercept_": "float",
        "n_iter_": "int, epochs run",
        "t_": "int, steps taken",
        "eta0_": "float, the first step",
        "objective_": "float, mean loss plus penalty in the last epoch (with parts of the rows: as seen on the way)",
        "validation_loss_": "float with `early_stopping`, the smallest mean loss of the held-out rows",
        "trace_": "with `trace`, loss, step and largest gradient component (or move) of each epoch, and the parameters "
        "after it (coefficients, then the intercept; class by class) if there are at most 32",
    }

    penalty: str | None = param(
        "l2", Choice("l2", "l1", "elasticnet", None), "Penalty on the coefficients: squared, absolute, both, or none."
    )
    alpha: float = param(1e-4, Real(0), "Strength of the penalty, beside the mean loss.")
    l1_ratio: float = param(0.15, Real(0, 1), "Share of the absolute penalty in 'elasticnet'.")
    fit_intercept: bool = param(True, Boolean(), "Whether to fit an intercept, which is never penalised.")
    batch_size: int | None = param(
        None, Integer(1) | Nothing(), "Rows in a step: None for all (batch), 1 for stochastic, between for mini-batch."
    )
    max_iter: int = param(1000, Integer(1), "Most epochs (passes over the rows).")
    tol: float | None = param(
        1e-4,
        Real(0) | Nothing(),
        "Stop when the gradient has shrunk to this share of the first one (full batches of a smooth loss), or when "
        "the loss no longer falls by this share of itself; None runs all epochs.",
    )
    learning_rate: str = param(
        "auto",
        Choice("auto", "constant", "invscaling", "inverse_time", "exponential", "adaptive"),
        "Step at update t after e epochs: eta0, eta0 / t^power_t, eta0 / (1 + decay e), eta0 exp(-decay e), or eta0 "
        "divided by 5 whenever the loss stands still; 'auto' is constant for full batches of a smooth loss, else "
        "adaptive.",
    )
    eta0: float | None = param(
        None, Real(0, closed="neither") | Nothing(), "First step; None takes 1 / L from the curvature L of the data."
    )
    power_t: float = param(0.5, Real(0), "Exponent of 'invscaling'.")
    decay: float = param(0.01, Real(0), "Decay per epoch of 'inverse_time' and 'exponential'.")
    momentum: float = param(0.0, Real(0, 1, closed="left"), "Share of the last move that is added to the next.")
    nesterov: bool = param(False, Boolean(), "Whether the gradient is taken where the momentum leads.")
    shuffle: bool = param(True, Boolean(), "Whether each epoch of steps on parts of the rows draws a new order.")
    early_stopping: bool = param(False, Boolean(), "Whether to stop by, and keep the best of, held-out rows.")
    validation_fraction: float = param(
        0.1, Real(0, 1, closed="neither"), "Share of the rows held out by `early_stopping`."
    )
    n_iter_no_change: int = param(5, Integer(1), "Epochs without progress before stopping or a smaller step.")
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    _way_out = "take a sample of the rows or fewer epochs"

    # -- objective ---------------------------------------------------------------------------------------------
    @property
    def _loss(self) -> Loss:
        raise NotImplementedError  # pragma: no cover

    def _loss_curvature(self, target: np.ndarray, outputs: int) -> float:
        """Bound on the second derivative of the loss in a score; for a loss with kinks, a value that scales alike."""
        raise NotImplementedError  # pragma: no cover

    def _penalties(self) -> tuple[float, float]:
        share = {"l1": 1.0, "l2": 0.0, "elasticnet": float(self.l1_ratio), None: 0.0}[self.penalty]
        strength = 0.0 if self.penalty is None else float(self.alpha)
        return share * strength, (1.0 - share) * strength

    def _is_smooth(self) -> bool:
        return self._loss.smooth

    def _first_constant(self, target: np.ndarray, weights: np.ndarray | None) -> float:
        """Where the intercept begins."""
        return 0.0

    # -- epochs ------------------------------------------------------------------------------------------------
    def _start(self, n_features: int, outputs: int, constant: float = 0.0) -> None:
        self._theta = np.zeros((outputs, n_features + 1))
        self._theta[:, -1] = constant
        self._velocity = np.zeros_like(self._theta)
        self.t_, self._epochs = 0, 0

    def _curvature(self, X: np.ndarray, target: np.ndarray, weights: np.ndarray, rows: np.ndarray, batch: int) -> float:
        """L of the objective seen by a batch: the largest eigenvalue for all rows, the longest row for one, and
        between them the expected smoothness of Gower et al. (2019)."""
        threads = thread_count(self.n_jobs)
        whole, row = _kernels.score_curvature(table_of(X).kernel, weights, rows, bool(self.fit_intercept), threads)
        n = rows.shape[0]
        if batch == n or n == 1:
            data = whole
        else:
            data = (n * (batch - 1) * whole + (n - batch) * row) / (batch * (n - 1))
        return self._loss_curvature(target[rows], self._theta.shape[0]) * max(data, whole) + self._penalties()[1]

    def _descend(
        self,
        X: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray | None,
        *,
        max_epochs: int,
        rows: np.ndarray | None = None,
        validation: np.ndarray | None = None,
    ) -> dict[str, Any]:
        """Run epochs from the state kept in `_theta`, `_velocity`, `t_` and leave the new state there."""
        given = np.zeros(0) if weights is None else weights
        chosen = np.arange(X.shape[0], dtype=np.int64) if rows is None else rows
        held_out = np.zeros(0, dtype=np.int64) if validation is None else validation
        batch = chosen.shape[0] if self.batch_size is None else min(int(self.batch_size), chosen.shape[0])
        if self.t_ == 0:
            self.eta0_ = 1.0 if self.eta0 is None else float(self.eta0)
            if self.eta0 is None:
                curvature = self._curvature(X, target, given, chosen, batch)
                if curvature > 0 and np.isfinite(1.0 / curvature):
                    self.eta0_ = 1.0 / curvature
        full = self.batch_size is None
        smooth = self._is_smooth()
        schedule = self.learning_rate
        if schedule == "auto":
            schedule = "constant" if full and smooth else "adaptive"
        l1, l2 = self._penalties()
        run = partial(
            _kernels.descend,
            x=table_of(X).kernel,
            target=target,
            weights=given,
            rows=chosen,
            validation=held_out,
            theta=self._theta,
            velocity=self._velocity,
            updates=self.t_,
            epochs=self._epochs,
            intercept=bool(self.fit_intercept),
            loss=self._loss.number,
            parameter=float(getattr(self, "epsilon", 1.0)),
            max_epochs=max_epochs,
            batch_size=0 if full else batch,
            schedule=SCHEDULES[schedule],
            power=float(self.power_t),
            decay=float(self.decay),
            momentum=float(self.momentum),
            nesterov=bool(self.nesterov),
            l1=l1,
            l2=l2,
            tol=-1.0 if self.tol is None else float(self.tol),
            patience=int(self.n_iter_no_change),
            by_gradient=smooth,
            keep_best=full and not smooth,
            shuffle=bool(self.shuffle),
            keep_path=bool(self.trace) and self._theta.size <= TRACED_PARAMETERS,
            key=self._key(),
            threads=thread_count(self.n_jobs),
        )
        found = run(eta0=self.eta0_)
        for _ in range(_HALVINGS if self.eta0 is None else 0):
            if found["status"] != DIVERGED:
                break
            # The step is ours, so a curvature taken too small is ours to correct; shorter steps descend at last.
            self.eta0_ *= 0.5
            found = run(eta0=self.eta0_)
        if found["status"] == DIVERGED:
            self._refuse_divergence(X, target, given, chosen, batch, smooth)
        self._theta, self._velocity = found["theta"], found["velocity"]
        self.t_, self._epochs = int(found["updates"]), int(found["epochs"])
        return found

    def _key(self) -> int:
        if not hasattr(self, "_stream_key") or self.t_ == 0:
            self._stream_key = self._stream().child(0).key
        return self._stream_key

    def _refuse_divergence(
        self, X: np.ndarray, target: np.ndarray, weights: np.ndarray, rows: np.ndarray, batch: int, smooth: bool
    ) -> None:
        if self.eta0 is None:
            raise DataError(
                type(self).__name__,
                "the loss",
                f"grew without bound with the step taken from the data ({self.eta0_:.3g})",
                way_out="standardise the columns and divide y by its largest value, or give a smaller eta0",
            )
        way_out = "use a smaller eta0, or None to take it from the data"
        rule = "is too large: the loss grew without bound"
        if smooth:
            limit = stable_step(self._curvature(X, target, weights, rows, batch), self.momentum, self.nesterov)
            formula = "2 / L" if not self.momentum else "the limit of this momentum"
            rule += f", and steps are stable below {limit:.3g} ({formula}) for these rows"
        raise ParameterError(type(self).__name__, "parameter 'eta0'", rule, f"got {self.eta0_:.3g}", way_out)

    def _fit_epochs(
        self, X: np.ndarray, target: np.ndarray, weights: np.ndarray | None, outputs: int, strata: np.ndarray | None
    ) -> None:
        """All epochs of a fit, and what it leaves behind."""
        rows = validation = None
        if self.early_stopping:
            generator = self._stream().child(1).generator()
            share = float(self.validation_fraction)
            rows, validation = hold_out_rows(type(self).__name__, X.shape[0], share, strata, generator)
        seen = slice(None) if rows is None else rows
        constant = self._first_constant(target[seen], None if weights is None else weights[seen])
        self._start(X.shape[1], outputs, constant)
        found = self._descend(X, target, weights, max_epochs=int(self.max_iter), rows=rows, validation=validation)
        self._keep(found)
        self.n_iter_ = len(found["objective"])
        if found["status"] == 0 and self.tol is not None:
            text = (
                f"{type(self).__name__}: not converged after {self.n_iter_} epochs; standardise the columns, or "
                "raise max_iter or tol."
            )
            warnings.warn(AssayWarning("W201", text), stacklevel=4)

    def _keep(self, found: dict[str, Any]) -> None:
        self.coef_: Any = self._theta[:, :-1].copy()
        self.intercept_: Any = self._theta[:, -1].copy()
        kept_best = self.batch_size is None and not self._is_smooth()
        self.objective_ = float(found["objective"].min() if kept_best else found["objective"][-1])
        if self.early_stopping and len(found["validation"]):
            self.validation_loss_ = float(found["validation"].min())
        elif hasattr(self, "validation_loss_"):
            del self.validation_loss_
        trace = self._new_trace()
        if trace.on:
            for epoch, objective in enumerate(found["objective"].tolist()):
                values = {"loss": objective, "step": float(found["step"][epoch])}
                values["gradient" if self.batch_size is None else "move"] = float(found["gradient"][epoch])
                if len(found["validation"]):
                    values["validation_loss"] = float(found["validation"][epoch])
                if len(found["path"]):
                    values["parameters"] = found["path"][epoch + 1].tolist()
                trace.record("epoch", **values)
        self._keep_trace(trace)

    def _is_new(self) -> bool:
        return not hasattr(self, "_theta")

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """All epochs: a read and two multiply-adds a cell for each output."""
        cells = float(n_rows) * (n_features + 1.0)
        per_row = 3e-8 if self.batch_size is not None else 5e-9
        seconds = int(self.max_iter) * (7e-10 * cells * n_outputs + per_row * n_rows)
        return Cost(seconds=1e-4 + seconds, bytes=8.0 * cells + 24.0 * n_rows)


class GradientDescentRegressor(_DescentLearner, LinearNumbers):
    """Linear regression by gradient descent: batch, mini-batch or stochastic, for five losses.

    Minimises the weighted mean loss plus alpha times the penalty (|b|^2 / 2, |b|_1 or both): the objective of
    scikit-learn's `SGDRegressor`. Columns are used as they come, so standardise them: the rate of descent depends on
    the ratio of the largest to the smallest curvature. The step defaults to 1 / L; a step beyond 2 / L diverges, which
    is reported with the limit. An absolute penalty acts by the proximal step, so coefficients become exactly 0. The
    intercept begins at the best constant of the loss (the mean for the squared error), so that a constant added to y
    changes nothing else where the loss is one of f - y. With full batches (the default) weights count as repetition;
    `partial_fit` makes one epoch on the rows it is given, and its first call sets the constant from them.

    Examples
    --------
    >>> from assay.models.linear import GradientDescentRegressor
    >>> model = GradientDescentRegressor(penalty=None, tol=1e-10).fit([[-1.0], [0.0], [1.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([2.]), 3.0)
    """

    loss: str = param(
        "squared_error",
        Choice(*REGRESSION_LOSSES),
        "Loss of a row: (f - y)^2 / 2, |f - y|, Huber's, |f - y| / |y|, or (log(1 + f) - log(1 + y))^2 (continued "
        "below f = 0 by its second-order expansion).",
    )
    epsilon: float = param(1.0, Real(0, closed="neither"), "Where Huber's loss turns from squared to absolute.")

    @property
    def _loss(self) -> Loss:
        return REGRESSION_LOSSES[self.loss]

    def _loss_curvature(self, target: np.ndarray, outputs: int) -> float:
        if self.loss == "msle":
            return 2.0 * (1.0 + float(np.log1p(target.max())))
        if self._is_smooth():
            return 1.0
        # Kinks have no curvature: one step should move scores by about the spread of the target.
        slope = 1.0 if self.loss == "absolute_error" else float(np.mean(1.0 / np.abs(target)))
        spread = float(np.mean(np.abs(target - np.median(target)))) or float(np.abs(target).max()) or 1.0
        return slope / spread

    def _first_constant(self, target: np.ndarray, weights: np.ndarray | None) -> float:
        """The best constant: from 0 the first gradient is that of a shift of y, beside which all others look small, so
        that the descent would stop before it had begun."""
        if not self.fit_intercept or (weights is not None and not weights.any()):
            return 0.0
        if target.min() == target.max():
            return float(target[0])  # to the last digit, which a mean of many is not
        return float(self._loss.constant(target, weights, float(self.epsilon))[0])

    def _check_target(self, target: np.ndarray) -> None:
        outside = ~self._loss.holds(target)
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            rule = f"{self._loss.rule} with loss={self.loss!r}"
            raise DataError(type(self).__name__, "y", rule, f"got {target[row]:g} at row {row}", "use another loss")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GradientDescentRegressor:
        """Descend from the best constant until a stopping rule holds."""
        rows, target, weights = self._begin(X, y, sample_weight)
        self._check_target(target)
        self._fit_epochs(rows, target, weights, 1, None)
        self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> GradientDescentRegressor:
        """One epoch on these rows, from where the last call ended."""
        known = None if self._is_new() else self.n_features_in_
        _check_columns(self, X, known)
        rows, target, weights = self._begin(X, y, sample_weight)
        self._check_target(target)
        if known is None:
            self._start(rows.shape[1], 1, self._first_constant(target, weights))
        self._keep(self._descend(rows, target, weights, max_epochs=1))
        self.n_iter_ = self._epochs
        self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])
        return self


def _has_probabilities(model: GradientDescentClassifier) -> bool:
    if model.loss != "log_loss":
        raise AttributeError(f"probabilities need loss='log_loss', this model has loss={model.loss!r}")
    return True


class GradientDescentClassifier(_DescentLearner, LinearClasses):
    """Linear classification by gradient descent: batch, mini-batch or stochastic, for five bounds of the 0-1 loss.

    Minimises the weighted mean loss plus alpha times the penalty (|b|^2 / 2, |b|_1 or both), for two classes the
    objective of scikit-learn's `SGDClassifier`. Three or more classes share one softmax with `log_loss`; the margin
    losses are summed one class against the rest. Probabilities exist with `log_loss` alone. Standardise the columns:
    the rate of descent depends on the ratio of curvatures. The step defaults to 1 / L; a step beyond the stable one is
    reported with the limit. With full batches (the default) weights count as repetition; `partial_fit` makes one epoch
    on the rows it is given.

    Examples
    --------
    >>> from assay.models.linear import GradientDescentClassifier
    >>> model = GradientDescentClassifier(loss="hinge").fit([[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[-0.5], [0.5]])
    array(['no', 'yes'], dtype='<U3')
    """

    _learned = {
        "coef_": "array, (1, n_features) for two classes (positive for `classes_[1]`), else (n_classes, n_features)",
        "intercept_": "array, (1,) or (n_classes,)",
    }

    loss: str = param(
        "log_loss",
        Choice(*CLASSIFICATION_LOSSES),
        "Loss of a margin m: log(1 + exp(-m)), max(0, 1 - m), its square, its square made linear below -1, or "
        "(1 - m)^2 / 2.",
    )
    class_weight: Any = class_weight_param()

    @property
    def _loss(self) -> Loss:
        return CLASSIFICATION_LOSSES[self.loss]

    def _loss_curvature(self, target: np.ndarray, outputs: int) -> float:
        if self.loss == "log_loss":
            return 0.25 if outputs == 1 else 0.5
        # The hinge has no curvature; its kinks bear steps ten times those of a curvature of 1.
        return {"hinge": 0.1, "squared_hinge": 2.0, "modified_huber": 2.0, "squared_error": 1.0}[self.loss]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GradientDescentClassifier:
        """Descend from zero until a stopping rule holds."""
        rows, codes, weights = self._begin(X, y, sample_weight)
        self._require_classes()
        weights = with_class_weights(type(self).__name__, self.class_weight, self.classes_, codes, weights)
        self._fit_epochs(rows, codes.astype(np.float64), weights, self._outputs(), codes)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> GradientDescentClassifier:
        """One epoch on these rows, from where the last call ended; the first call names all `classes`."""
        refuse_balance(type(self).__name__, self.class_weight)
        known = None if self._is_new() else self.n_features_in_
        labels = known_classes(self, None if known is None else self.classes_, classes)
        _check_columns(self, X, known)
        rows, codes, weights = self._begin(X, y, sample_weight)
        codes = codes_in(self, labels, self.classes_, codes)
        self.classes_ = labels
        weights = with_class_weights(type(self).__name__, self.class_weight, labels, codes, weights)
        if known is None:
            self._start(rows.shape[1], self._outputs())
        self._keep(self._descend(rows, codes.astype(np.float64), weights, max_epochs=1))
        self.n_iter_ = self._epochs
        return self

    def _outputs(self) -> int:
        return 1 if self.classes_.shape[0] == 2 else int(self.classes_.shape[0])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class (loss='log_loss' only)."""
        return probabilities_of(self.decision_function(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class (loss='log_loss' only)."""
        return log_probabilities_of(self.decision_function(X))

    def view(self) -> Coefficients:
        """The coefficients by class."""
        check_is_fitted(self)
        return coefficients_of(self, self.coef_, self.intercept_, self.classes_)


def known_classes(model: Any, before: np.ndarray | None, given: Any) -> np.ndarray:
    """The labels of an online learner: named in its first `partial_fit`, the same ever after."""
    if before is None:
        if given is None:
            raise ParameterError(
                type(model).__name__,
                "parameter 'classes'",
                "must be given in the first call of partial_fit",
                way_out="name every label, e.g. classes=np.unique(y)",
            )
        return np.unique(np.asarray(given))
    if given is not None and not np.array_equal(np.unique(np.asarray(given)), before):
        raise ParameterError(
            type(model).__name__, "parameter 'classes'", "must stay as in the first call of partial_fit"
        )
    return before


def codes_in(model: Any, labels: np.ndarray, seen: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Codes of `seen` labels as codes of all `labels`."""
    places = np.searchsorted(labels, seen)
    unknown = (places >= labels.shape[0]) | (labels[np.minimum(places, labels.shape[0] - 1)] != seen)
    if unknown.any():
        raise DataError(
            type(model).__name__,
            "y",
            "must hold labels named in the first call of partial_fit",
            f"got {quoted(seen[unknown][0])}",
        )
    return places.astype(np.int32)[codes]


def _check_columns(model: Any, X: Any, known: int | None) -> None:
    """Later calls of `partial_fit` must bring the columns of the first."""
    if known is not None:
        model._read(X, reset=False)
