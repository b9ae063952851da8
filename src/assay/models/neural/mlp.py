"""Multilayer perceptrons for classes and numbers, with whole epochs of back-propagation inside the kernel."""

from __future__ import annotations

import numbers
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.class_weight import class_weight_param, refuse_balance, with_class_weights
from ...base.cost import Cost
from ...base.errors import AssayWarning, DataError, ParameterError, plain
from ...base.estimator import Classifier, Estimator, Regressor
from ...base.folds import hold_out_rows
from ...base.parameters import LARGEST, ArrayLike, Boolean, Choice, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param, random_state_param, trace_param
from ...base.views import LossCurve
from ...base.words import number, percent
from ...numeric.losses import LOSSES, Loss
from ..linear.gradient_descent import codes_in, known_classes
from ..linear.logistic_solver import log_probabilities_of, probabilities_of
from .losses_by_epoch import LEARNED, best_epoch, keep_losses, loss_view

REGRESSION_LOSSES = {name: LOSSES[name] for name in ("squared_error", "absolute_error", "huber", "quantile", "poisson")}
# Numbers of the kernel.
ACTIVATIONS = {"identity": 0, "logistic": 1, "sigmoid": 1, "tanh": 2, "relu": 3}
SOLVERS = {"sgd": 0, "adam": 1}
SCHEDULES = {"constant": 0, "invscaling": 1, "inverse_time": 2, "exponential": 3, "adaptive": 4}
CONVERGED, DIVERGED = 1, 2
# Cells of a table up to which 'auto' computes in float64, and what float32 can hold with room for sums of squares.
_SMALL_TABLE, _LARGEST_CELL = 100_000, 1e15
# Rows on which the units are looked at after a fit, and the share of stuck ones that is worth a warning.
_LOOKED_AT, _STUCK = 1000, 0.5
# Epochs of `partial_fit` whose losses are kept.
_KEPT_EPOCHS = 999


class _Perceptron(Estimator):
    """What both learners share: the net, the penalty, the steps, the stopping rule."""

    _squares = True
    _way_out = "take a sample of the rows, smaller layers or fewer epochs"
    _learned = {
        **LEARNED,
        "coefs_": "list of arrays, the weights of each layer (inputs, units)",
        "intercepts_": "list of arrays, the biases of each layer (units,)",
        "t_": "int, steps taken",
        "saturation_": "array, of each hidden layer the share of units that no longer learn (see `explain`)",
        "n_layers_": "int, layers with inputs and outputs",
        "n_outputs_": "int",
        "out_activation_": "str, what makes predictions of the outputs",
    }

    hidden_layer_sizes: Any = param(
        (100,), ArrayLike() | Integer(1), "Units of each hidden layer; () for none, which makes a linear model."
    )
    activation: str = param("relu", Choice(*ACTIVATIONS), "Activation of the hidden units ('sigmoid' is 'logistic').")
    solver: str = param(
        "adam",
        Choice("adam", "sgd", "lbfgs"),
        "Steps on batches by Adam or by (momentum) gradient descent, or L-BFGS on all rows, for small tables.",
    )
    alpha: float = param(1e-4, Real(0), "Strength of the squared penalty: alpha / 2 |W|^2 beside the mean loss.")
    l1_alpha: float = param(0.0, Real(0), "Strength of the absolute penalty l1_alpha |W|, which sets weights to 0.")
    dropout: float = param(0.0, Real(0, 1, "left"), "Share of hidden units left out at random in each training step.")
    batch_size: int | str = param(
        "auto", Choice("auto") | Integer(1), "Rows in a step: 1 is online, 'auto' is 200 or all rows if fewer."
    )
    learning_rate: str = param(
        "constant",
        Choice(*SCHEDULES),
        "Step at update t after e epochs: learning_rate_init, that / t^power_t, / (1 + decay e), * exp(-decay e), or "
        "divided by 5 whenever the loss stands still.",
    )
    learning_rate_init: float = param(1e-3, Real(0, closed="neither"), "First step.")
    power_t: float = param(0.5, Real(0), "Exponent of 'invscaling'.")
    decay: float = param(0.01, Real(0), "Decay per epoch of 'inverse_time' and 'exponential'.")
    momentum: float = param(0.9, Real(0, 1, "left"), "With 'sgd', share of the last move that is added to the next.")
    nesterovs_momentum: bool = param(True, Boolean(), "With 'sgd', whether momentum looks ahead.")
    beta_1: float = param(0.9, Real(0, 1, "left"), "With 'adam', decay of the mean gradient.")
    beta_2: float = param(0.999, Real(0, 1, "left"), "With 'adam', decay of the mean squared gradient.")
    epsilon: float = param(1e-8, Real(0, closed="neither"), "With 'adam', what keeps the step finite.")
    max_iter: int = param(200, Integer(1), "Most epochs (passes over the rows).")
    tol: float | None = param(
        1e-4,
        Real(0) | Nothing(),
        "Stop when the loss has not fallen by this much for n_iter_no_change epochs; None runs all epochs.",
    )
    n_iter_no_change: int = param(10, Integer(1), "Epochs without progress before stopping or a smaller step.")
    shuffle: bool = param(True, Boolean(), "Whether each epoch of steps on parts of the rows draws a new order.")
    early_stopping: bool = param(False, Boolean(), "Whether to stop by, and keep the best of, held-out rows.")
    validation_fraction: float = param(0.1, Real(0, 1, "neither"), "Share of the rows held out by `early_stopping`.")
    init: str = param(
        "auto",
        Choice("auto", "glorot", "he", "uniform"),
        "First weights: uniform within sqrt(6 / (inputs + units)), sqrt(6 / inputs) or 0.01; 'auto' is 'glorot', and "
        "'he' for three or more hidden layers of relu.",
    )
    warm_start: bool = param(False, Boolean(), "Whether `fit` goes on from the weights of the last one.")
    dtype: str = param(
        "auto",
        Choice("auto", "float32", "float64"),
        "Precision of weights and products; 'auto' is float64 for tables of up to 100,000 cells, float32 above.",
    )
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    # -- the net -----------------------------------------------------------------------------------------------
    @property
    def _loss(self) -> Loss:
        raise NotImplementedError  # pragma: no cover

    def _loss_parameter(self) -> float:
        return self._loss.default

    def _hidden(self) -> tuple[int, ...]:
        given = self.hidden_layer_sizes
        sizes = (given,) if isinstance(given, numbers.Integral) else tuple(np.asarray(given, dtype=object).tolist())
        for size in sizes:
            if not isinstance(size, numbers.Integral) or isinstance(size, bool) or not 1 <= int(size) <= LARGEST:
                raise ParameterError(
                    type(self).__name__,
                    "parameter 'hidden_layer_sizes'",
                    "must hold integers >= 1",
                    f"got {plain(repr(given))}",
                )
        return tuple(int(size) for size in sizes)

    def _start(self, widths: list[int], cells: int) -> None:
        """A new net: first weights drawn, moments zero."""
        root = self._stream()
        self._stream_key, self._hold_out_key = root.child(0).key, root.child(1).key
        deep = len(widths) > 4 and ACTIVATIONS[self.activation] == ACTIVATIONS["relu"]
        rule = ("he" if deep else "glorot") if self.init == "auto" else self.init
        single = self.dtype == "float32" or (self.dtype == "auto" and cells > _SMALL_TABLE)
        draw = root.child(2).generator()
        parts = []
        for inputs, units in pairwise(widths):
            bound = {"glorot": np.sqrt(6.0 / (inputs + units)), "he": np.sqrt(6.0 / inputs), "uniform": 0.01}[rule]
            parts.append(draw.uniform(-bound, bound, units * inputs))
            parts.append(draw.uniform(-1.0, 1.0, units) * min(bound, 1.0 / np.sqrt(inputs)))
        both = single and self.solver != "lbfgs"
        self._theta: Any = np.concatenate(parts).astype(np.float32 if both else np.float64)
        self._widths = widths
        self._forget_moments()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_theta")

    def _forget_moments(self) -> None:
        self._first = np.zeros_like(self._theta)
        self._second = np.zeros_like(self._theta[: self._theta.shape[0] if self.solver == "adam" else 0])
        self.t_, self._epochs = 0, 0

    def _layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights (units, inputs) and biases of each layer, as views of all parameters."""
        found, place = [], 0
        for inputs, units in pairwise(self._widths):
            end = place + inputs * units
            found.append((self._theta[place:end].reshape(units, inputs), self._theta[end : end + units]))
            place = end + units
        return found

    @property
    def coefs_(self) -> list[np.ndarray]:
        """The weights of each layer, (inputs, units)."""
        return [weights.T for weights, _ in self._layers()]

    @property
    def intercepts_(self) -> list[np.ndarray]:
        """The biases of each layer."""
        return [biases for _, biases in self._layers()]

    # -- epochs ------------------------------------------------------------------------------------------------
    def _prepare(self, X: np.ndarray, outputs: int) -> bool:
        """Make the net, or check that the one to go on from fits; whether it is new."""
        widths = [X.shape[1], *self._hidden(), outputs]
        going_on = hasattr(self, "_theta")
        if going_on and self._widths != widths:
            raise ParameterError(
                type(self).__name__,
                "the net",
                f"of layers {self._widths} cannot go on as one of layers {widths}",
                way_out="keep columns, classes and hidden_layer_sizes, or set warm_start=False and fit anew",
            )
        if not going_on:
            self._start(widths, X.size)
        elif self.solver == "adam" and self._second.shape != self._theta.shape:
            self._second = np.zeros_like(self._theta)  # the steps before were not Adam's
        largest = max(float(X.max()), -float(X.min()))
        if self._theta.dtype == np.float32 and largest > _LARGEST_CELL:
            raise DataError(
                type(self).__name__,
                "X",
                f"must lie within {_LARGEST_CELL:g} for float32",
                f"got {largest:.3g}",
                "standardise the columns, or set dtype='float64'",
            )
        return not going_on

    def _run(
        self,
        X: np.ndarray,
        target: np.ndarray,
        weights: np.ndarray | None,
        *,
        max_epochs: int,
        rows: np.ndarray | None = None,
        validation: np.ndarray | None = None,
    ) -> dict[str, Any]:
        """Epochs from the state kept here, which is changed in place."""
        chosen = np.arange(X.shape[0], dtype=np.int64) if rows is None else rows
        found = _kernels.mlp_epochs(
            x=X,
            target=target,
            weights=np.zeros(0) if weights is None else weights,
            rows=chosen,
            validation=np.zeros(0, dtype=np.int64) if validation is None else validation,
            widths=self._widths,
            theta=self._theta,
            first=self._first,
            second=self._second,
            updates=self.t_,
            epochs=self._epochs,
            activation=ACTIVATIONS[self.activation],
            loss=self._loss.number,
            parameter=self._loss_parameter(),
            classes=self._loss.link == "logit",
            solver=SOLVERS[self.solver],
            max_epochs=max_epochs,
            batch_size=200 if self.batch_size == "auto" else int(self.batch_size),
            schedule=SCHEDULES[self.learning_rate],
            eta0=float(self.learning_rate_init),
            power=float(self.power_t),
            decay=float(self.decay),
            momentum=float(self.momentum),
            nesterov=bool(self.nesterovs_momentum),
            beta1=float(self.beta_1),
            beta2=float(self.beta_2),
            epsilon=float(self.epsilon),
            l1=float(self.l1_alpha),
            l2=float(self.alpha),
            dropout=float(self.dropout),
            tol=-1.0 if self.tol is None else float(self.tol),
            patience=int(self.n_iter_no_change),
            shuffle=bool(self.shuffle),
            key=self._stream_key,
            threads=thread_count(self.n_jobs),
        )
        self.t_, self._epochs = int(found["updates"]), int(found["epochs"])
        if found["status"] == DIVERGED or not np.isfinite(self._theta).all():
            self._refuse_divergence(X, found["loss"])
        return found

    def _refuse_divergence(self, X: np.ndarray, loss: np.ndarray) -> None:
        epoch, largest, step = len(loss), float(np.abs(X).max()), float(self.learning_rate_init)
        del self._theta  # weights that are no numbers are none to go on from
        if largest > 100.0:
            raise DataError(
                type(self).__name__,
                "X",
                "made the loss grow without bound",
                f"cells reach {largest:.3g}, and the weights of the first layer are moved in proportion to them "
                f"(epoch {epoch})",
                "standardise the columns",
            )
        raise ParameterError(
            type(self).__name__,
            "parameter 'learning_rate_init'",
            "is too large: each step leads further up than the last, and the loss grew without bound",
            f"got {step:g} (epoch {epoch})",
            f"try {step / 10:g}",
        )

    def _fit_net(
        self, X: np.ndarray, target: np.ndarray, weights: np.ndarray | None, outputs: int, strata: np.ndarray | None
    ) -> None:
        """All epochs of a fit, and what it leaves behind."""
        if not self.warm_start and hasattr(self, "_theta"):
            del self._theta
        if not self._prepare(X, outputs):
            self._forget_moments()
        rows = validation = None
        if self.solver == "lbfgs":
            found = self._minimise(X, target, weights)
        else:
            if self.early_stopping:
                generator = np.random.Generator(np.random.Philox(key=self._hold_out_key))
                share = float(self.validation_fraction)
                rows, validation = hold_out_rows(type(self).__name__, X.shape[0], share, strata, generator)
            found = self._run(X, target, weights, max_epochs=int(self.max_iter), rows=rows, validation=validation)
        self._keep(found)
        self._look_at_units(X)
        if found["status"] != CONVERGED and self.tol is not None:
            text = (
                f"{type(self).__name__}: not converged after {self.n_iter_} epochs; raise max_iter or "
                "learning_rate_init, or set tol=None to run that many and no more."
            )
            warnings.warn(AssayWarning("W201", text), stacklevel=4)

    def _minimise(self, X: np.ndarray, target: np.ndarray, weights: np.ndarray | None) -> dict[str, Any]:
        for name, off in (("l1_alpha", 0.0), ("dropout", 0.0), ("early_stopping", False)):
            if getattr(self, name) != off:
                raise ParameterError(
                    type(self).__name__,
                    f"parameter '{name}'",
                    f"must be {off} with solver='lbfgs'",
                    f"got {plain(repr(getattr(self, name)))}",
                    "use solver='adam' or 'sgd'",
                )
        curve: list[float] = []
        with np.errstate(all="ignore"):
            found = minimize(
                lambda theta: self.objective_gradient(X, target, weights, theta),
                self._theta,
                jac=True,
                method="L-BFGS-B",
                callback=lambda intermediate_result: curve.append(float(intermediate_result.fun)),
                options={
                    "maxiter": int(self.max_iter),
                    "maxfun": 10**9,
                    "gtol": 1e-12 if self.tol is None else float(self.tol),
                    "ftol": 0.0,
                },
            )
        self._theta = np.array(found.x)
        self.t_ = self._epochs = int(found.nit)
        curve = curve or [float(found.fun)]
        if not (np.isfinite(found.fun) and np.isfinite(self._theta).all()):
            self._refuse_divergence(X, np.array(curve))
        status = CONVERGED if found.status != 1 else 0
        return {"status": status, "loss": np.array(curve), "step": np.ones(len(curve)), "validation": np.zeros(0)}

    def objective_gradient(
        self, X: np.ndarray, target: np.ndarray, weights: np.ndarray | None, theta: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Objective and gradient at all parameters `theta` (layer by layer weights by unit, then biases).

        `target` holds class codes (n, 1) or numbers as the net sees them (n, outputs).
        """
        return _kernels.mlp_gradient(
            x=X,
            target=target,
            weights=np.zeros(0) if weights is None else weights,
            widths=self._widths,
            theta=theta,
            activation=ACTIVATIONS[self.activation],
            loss=self._loss.number,
            parameter=self._loss_parameter(),
            classes=self._loss.link == "logit",
            l1=float(self.l1_alpha),
            l2=float(self.alpha),
            threads=thread_count(self.n_jobs),
        )

    def _keep(self, found: dict[str, Any]) -> None:
        keep_losses(self, found["loss"], found["step"], found["validation"])
        self.n_layers_, self.n_outputs_ = len(self._widths), self._widths[-1]

    # -- looking at it -----------------------------------------------------------------------------------------
    def _look_at_units(self, X: np.ndarray) -> None:
        """Of each hidden layer the share of units that no longer learn: relu that is 0 in every row, or a sigmoid
        whose derivative is below a hundredth of its largest in nine rows of ten."""
        values = X[:: max(1, X.shape[0] // _LOOKED_AT)]
        stuck = []
        for weights, biases in self._layers()[:-1]:
            with np.errstate(over="ignore"):
                values = values @ weights.T.astype(np.float64) + biases
            kind = ACTIVATIONS[self.activation]
            if kind == ACTIVATIONS["relu"]:
                values = np.maximum(values, 0.0)
                flat = (values <= 0.0).all(axis=0)
            elif kind == ACTIVATIONS["identity"]:
                flat = np.zeros(values.shape[1], dtype=bool)
            else:
                # logistic(z) = (1 + tanh(z / 2)) / 2
                half = 0.5 if kind == ACTIVATIONS["logistic"] else 1.0
                values = np.tanh(half * values)
                flat = (1.0 - values**2 < 0.01).mean(axis=0) > 0.9
                values = 0.5 * (1.0 + values) if half == 0.5 else values
            stuck.append(float(flat.mean()))
        self.saturation_ = np.array(stuck)
        if stuck and max(stuck) > _STUCK:
            warnings.warn(AssayWarning("W207", f"{type(self).__name__}: {self._stuck_words()}"), stacklevel=5)

    def _stuck_words(self) -> str:
        layer = int(np.argmax(self.saturation_))
        share = percent(float(self.saturation_[layer]), 0)
        if ACTIVATIONS[self.activation] == ACTIVATIONS["relu"]:
            what, why = "are 0 in every row (dead), so that no gradient reaches their weights", "a step too large"
        else:
            what, why = "are saturated, so that almost no gradient reaches their weights", "inputs or weights too large"
        return (
            f"{share} of the units of hidden layer {layer + 1} {what}; the usual reason is {why}: standardise the "
            "columns or take a smaller learning_rate_init."
        )

    def explain(self) -> str:
        """How the descent went, in words: epochs, loss, overfitting, and units that no longer learn.

        >>> from assay.models.neural import MLPRegressor
        >>> model = MLPRegressor(hidden_layer_sizes=(4,), activation="tanh", solver="lbfgs", random_state=0)
        >>> print(model.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).explain()[:36])
        A net of 1 input, 4 units, 1 output;
        """
        check_is_fitted(self)
        sizes = [_count(self._widths[0], "input"), *(_count(width, "unit") for width in self._widths[1:-1])]
        said = [
            f"A net of {', '.join([*sizes, _count(self._widths[-1], 'output')])}; {self._theta.shape[0]:,} weights."
        ]
        first, last = number(float(self.loss_curve_[0])), number(self.loss_)
        said.append(f"The loss went from {first} to {last} in {_count(len(self.loss_curve_), 'epoch')}.")
        best = best_epoch(self)
        if best is not None:
            said.append(f"The held-out rows were predicted best after epoch {best} ({number(self.best_loss_)}).")
            if best < len(self.validation_curve_) and self.loss_curve_[-1] < self.loss_curve_[best - 1]:
                said.append("After it the training loss fell on while theirs did not: overfitting, undone.")
        rises = np.diff(self.loss_curve_) > 0
        if len(rises) >= 5 and rises.mean() > 0.3:
            said.append(
                f"In {percent(float(rises.mean()), 0)} of the epochs the loss rose: the step is near the largest "
                "that these rows bear."
            )
        if len(self.saturation_):
            stuck = float(self.saturation_.max())
            said.append(self._stuck_words() if stuck > 0.1 else "Nearly all hidden units still learn.")
        return " ".join(said)

    def view(self) -> LossCurve:
        """The loss of each epoch."""
        check_is_fitted(self)
        return loss_view(self)

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        return _kernels.mlp_scores(
            rows, self._widths, self._theta, ACTIVATIONS[self.activation], thread_count(self.n_jobs)
        )

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """All epochs: six operations for each weight and row, and one step for each batch."""
        widths = [n_features, *self._hidden(), n_outputs]
        size = sum((inputs + 1.0) * units for inputs, units in pairwise(widths))
        batch = 200 if self.batch_size == "auto" else int(self.batch_size)
        steps = int(self.max_iter) * max(1.0, n_rows / batch)
        seconds = int(self.max_iter) * (2e-10 * size + 3e-8 * sum(widths)) * n_rows * 0.3 + steps * (3e-9 * size + 1e-6)
        return Cost(seconds=seconds, bytes=16.0 * n_rows * n_features + 100.0 * size)


def _count(many: int, what: str) -> str:
    return f"{many:,} {what}" + ("" if many == 1 else "s")


class MLPClassifier(_Perceptron, Classifier):
    """Multilayer perceptron for classes: softmax (or one logistic output) over layers of units, by back-propagation.

    Minimises the weighted mean log loss plus alpha / 2 |W|^2 + l1_alpha |W|; parameters are named as those of
    scikit-learn's `MLPClassifier`, which divides alpha by the size of a batch. Columns are used as they come, so
    standardise them. Whole epochs run inside the kernel, in float32 for large tables; the result does not depend on
    `n_jobs`. Tables of up to 200 rows make one step per epoch, in which sample weights count as repetition.

    A loss that grows without bound is refused with the step that did it; units that no longer learn are reported
    (warning W207), and `explain` tells how the descent went.

    Examples
    --------
    >>> from assay.models.neural import MLPClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> model = MLPClassifier(hidden_layer_sizes=(8,), activation="tanh", solver="lbfgs", random_state=0).fit(X, y)
    >>> model.predict(X)
    array(['no', 'yes', 'yes', 'no'], dtype='<U3')
    """

    class_weight: Any = class_weight_param()

    @property
    def _loss(self) -> Loss:
        return LOSSES["log_loss"]

    def _outputs(self) -> int:
        return 1 if self.classes_.shape[0] == 2 else int(self.classes_.shape[0])

    def _name_output(self) -> None:
        self.out_activation_ = "logistic" if self._outputs() == 1 else "softmax"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPClassifier:
        """Back-propagation until the loss stands still; with `warm_start` from the weights of the last fit."""
        self._check_parameters()
        before = self.classes_ if self.warm_start and hasattr(self, "_theta") else None
        rows, codes, weights = self._begin(X, y, sample_weight)
        self._require_classes()
        if before is not None and not np.array_equal(before, self.classes_):
            found, self.classes_ = self.classes_, before
            raise DataError(
                type(self).__name__,
                "y",
                "must hold the classes of the last fit with warm_start=True",
                f"got {found.shape[0]} classes after {before.shape[0]}",
                "set warm_start=False",
            )
        weights = with_class_weights(type(self).__name__, self.class_weight, self.classes_, codes, weights)
        self._name_output()
        self._fit_net(rows, codes.astype(np.float64)[:, None], weights, self._outputs(), codes)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> MLPClassifier:
        """One epoch on these rows, from where the last call ended; the first call names all `classes`."""
        refuse_balance(type(self).__name__, self.class_weight)
        _refuse_full_solver(self)
        new = not hasattr(self, "_theta")
        labels = known_classes(self, None if new else self.classes_, classes)
        if not new:
            self._read(X, reset=False)
        rows, codes, weights = self._begin(X, y, sample_weight)
        codes = codes_in(self, labels, self.classes_, codes)
        self.classes_ = labels
        self._require_classes()
        weights = with_class_weights(type(self).__name__, self.class_weight, labels, codes, weights)
        self._name_output()
        self._prepare(rows, self._outputs())
        _one_epoch(self, rows, codes.astype(np.float64)[:, None], weights)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Log odds of `classes_[1]` (two classes), or one score per class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class."""
        return probabilities_of(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class."""
        return log_probabilities_of(self.decision_function(X))


class MLPRegressor(_Perceptron, Regressor):
    """Multilayer perceptron for numbers, one or several outputs, by back-propagation.

    Minimises the weighted mean loss plus alpha / 2 |W|^2 + l1_alpha |W|; parameters are named as those of
    scikit-learn's `MLPRegressor`, which divides alpha by the size of a batch. `fit` standardises the target and
    predictions are put back, so that its unit does not matter (not with 'poisson'; losses are those of the
    standardised target); `partial_fit` on a new model takes the target as it comes. Columns are used as they come, so
    standardise them. Several outputs share the hidden layers.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.neural import MLPRegressor
    >>> x = np.linspace(-2, 2, 41)
    >>> model = MLPRegressor(hidden_layer_sizes=(9,), activation="tanh", solver="lbfgs", tol=None, random_state=0)
    >>> model = model.fit(x[:, None], np.column_stack([x**2, 3 - x]))
    >>> model.predict([[1.0]]).round(1)
    array([[1., 2.]])
    """

    _multi_output = True

    loss: str = param(
        "squared_error",
        Choice(*REGRESSION_LOSSES),
        "Loss of a row: (f - y)^2 / 2, |f - y|, Huber's, that of a quantile, or the Poisson deviance of exp(f).",
    )
    loss_parameter: float | None = param(
        None,
        Real(0, closed="neither") | Nothing(),
        "Where Huber's loss becomes absolute (in standard deviations of the target), or the level of the quantile.",
    )

    @property
    def _loss(self) -> Loss:
        return REGRESSION_LOSSES[self.loss]

    def _loss_parameter(self) -> float:
        if self.loss_parameter is None:
            return {"huber": 1.35, "quantile": 0.5}.get(self.loss, 0.0)
        if self.loss == "quantile" and not self.loss_parameter < 1.0:
            raise ParameterError(
                type(self).__name__,
                "parameter 'loss_parameter'",
                "must be below 1 with loss='quantile'",
                f"got {self.loss_parameter:g}",
            )
        return float(self.loss_parameter)

    def _checked(self, target: np.ndarray) -> np.ndarray:
        """The target as a table; refuses what the loss has no value for."""
        self._loss_parameter()
        table = target[:, None] if target.ndim == 1 else target
        outside = ~self._loss.holds(table)
        if outside.any():
            row = int(np.flatnonzero(outside.any(axis=1))[0])
            rule = f"{self._loss.rule} with loss={self.loss!r}"
            raise DataError(type(self).__name__, "y", rule, f"first at row {row}", "use another loss")
        self._one_column = target.ndim == 1
        self.out_activation_ = "exponential" if self._loss.link == "log" else "identity"
        return table

    def _standardised(self, table: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        outputs = table.shape[1]
        self._center, self._scale = np.zeros(outputs), np.ones(outputs)
        if self._loss.link != "log":
            largest = np.abs(table).max(axis=0)
            unit = np.where(largest > 0, largest, 1.0)
            shares = table / unit
            self._center = np.average(shares, axis=0, weights=weights)
            spread = np.sqrt(np.average((shares - self._center) ** 2, axis=0, weights=weights))
            varies = spread > 1e-12
            self._center, self._scale = self._center * unit, np.where(varies, spread, 1.0) * unit
        return (table - self._center) / self._scale

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPRegressor:
        """Back-propagation until the loss stands still; with `warm_start` from the weights of the last fit."""
        rows, target, weights = self._begin(X, y, sample_weight)
        table = self._checked(target)
        if self.warm_start and hasattr(self, "_theta") and self._scale.shape[0] == table.shape[1]:
            table = (table - self._center) / self._scale
        else:
            table = self._standardised(table, weights)
        self._fit_net(rows, np.ascontiguousarray(table), weights, table.shape[1], None)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPRegressor:
        """One epoch on these rows, from where the last call ended."""
        _refuse_full_solver(self)
        new = not hasattr(self, "_theta")
        if not new:
            self._read(X, reset=False)
        rows, target, weights = self._begin(X, y, sample_weight)
        table = self._checked(target)
        if new:
            self._center, self._scale = np.zeros(table.shape[1]), np.ones(table.shape[1])
        self._prepare(rows, table.shape[1])
        _one_epoch(self, rows, np.ascontiguousarray((table - self._center) / self._scale), weights)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The prediction of each row, (n,) or (n, outputs)."""
        scores = self._scores(X)
        if self._loss.link == "log":
            scores = np.exp(np.minimum(scores, 700.0))
        scores = scores * self._scale + self._center
        return scores[:, 0] if self._one_column else scores


def _refuse_full_solver(model: _Perceptron) -> None:
    if model.solver == "lbfgs":
        raise ParameterError(
            type(model).__name__,
            "parameter 'solver'",
            "must make steps on batches in partial_fit",
            "got 'lbfgs'",
            "use 'adam' or 'sgd'",
        )


def _one_epoch(model: Any, X: np.ndarray, target: np.ndarray, weights: np.ndarray | None) -> None:
    """What `partial_fit` does with rows of which the net has been made or checked."""
    found = model._run(X, target, weights, max_epochs=1)
    curve = model.loss_curve_ if model._epochs > 1 else []
    model._keep(found)
    model.loss_curve_ = [*curve[-_KEPT_EPOCHS:], model.loss_]
    model.best_loss_ = min(model.loss_curve_)
    model.n_iter_ = model._epochs
    model.saturation_ = np.zeros(0)
