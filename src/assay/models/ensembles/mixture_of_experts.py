"""Mixtures of experts: a softmax gate says for each row which expert is asked, and EM teaches both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base.cells import require_squares
from ...base.cost import Cost
from ...base.errors import DataError
from ...base.estimator import Classifier, Estimator, Regressor
from ...base.parameters import Integer, Real, param
from ...base.randomness import Stream
from ...base.threads import one_blas_thread
from ...base.usual_parameters import random_state_param, trace_param
from ...base.views import Coefficients, coefficients_of
from ...numeric.em import expectation_maximisation
from ...numeric.moments import deviation_or_one, weighted_mean
from ...numeric.softmax import fit_softmax, log_softmax, ridge, softmax, with_ones
from ...numeric.solves import ridge_of_products

# Newton steps of the gate and of an expert of classes in each maximisation step: more would be thrown away by the next.
_STEPS = 2
# Pseudo rows and their variance, as a share of the target's, that keep an expert from a variance of zero.
_ROWS, _SHARE = 2.0, 1e-4


@dataclass
class _State:
    gate: np.ndarray
    """(columns + 1, experts)"""
    experts: np.ndarray
    """(experts, columns + 1, outputs)"""
    variance: np.ndarray
    """(experts,); of no use for classes"""


class _Mixture(Estimator):
    """The gate and EM, for classes and numbers alike."""

    _learned = {
        "gate_coef_, gate_intercept_": "arrays (experts, columns) and (experts,), the gate's scores before the softmax",
        "log_likelihood_": "array, the penalised log likelihood before each EM step",
        "n_iter_": "int, EM steps taken",
        "trace_": "with `trace`, the log likelihood at each step of each start",
    }
    _squares = True
    _way_out = "take a sample of the rows or fewer experts"

    n_experts: int = param(2, Integer(1), "How many experts.")
    alpha: float = param(
        0.1, Real(0, None, "neither"), "Penalty alpha / 2 ||coefficients||^2 of gate and experts, on scaled columns."
    )
    n_init: int = param(2, Integer(1), "Starts, of which the likeliest end is kept.")
    max_iter: int = param(100, Integer(1), "Most EM steps from each start.")
    tol: float = param(1e-3, Real(0), "Stop when a step gains no more than this in log likelihood per row.")
    random_state: Any = random_state_param()
    trace: bool = trace_param()

    gate_coef_: np.ndarray
    gate_intercept_: np.ndarray
    log_likelihood_: np.ndarray
    n_iter_: int

    # -- EM ------------------------------------------------------------------------------------------------------
    def _climb(self, rows: np.ndarray, weights: np.ndarray | None, target: np.ndarray) -> _State:
        """The likeliest parameters on scaled columns; sets what tells how they were found."""
        if self.n_experts > rows.shape[0]:
            raise DataError(
                type(self).__name__,
                "X",
                f"must have at least n_experts={self.n_experts} rows with weight (n_samples >= n_experts)",
                f"got n_samples={rows.shape[0]}",
                "ask for fewer experts",
            )
        w = np.ones(rows.shape[0]) if weights is None else weights
        self._centre = weighted_mean(rows, weights)
        spread = np.sqrt(weighted_mean((rows - self._centre) ** 2, weights))
        self._scale = deviation_or_one(spread, self._centre)
        Z = with_ones((rows - self._centre) / self._scale)
        trace = self._new_trace()
        K, d = int(self.n_experts), Z.shape[1]

        def start(stream: Stream) -> _State:
            draw = stream.generator().normal(size=(d, K)) * (2.0 / np.sqrt(d))
            state = _State(draw, np.zeros((K, d, self._outputs(target))), np.ones(K))
            return self._maximise(Z, w, target, softmax(Z @ draw), state, gate=False)

        def step(state: _State) -> tuple[_State, float]:
            logs = log_softmax(Z @ state.gate) + self._log_densities(Z, target, state)
            top = logs.max(axis=1, keepdims=True)
            each = top[:, 0] + np.log(np.exp(logs - top).sum(axis=1))
            value = float((w * each).sum()) - ridge(state.gate, self.alpha) + self._log_prior(state)
            return self._maximise(Z, w, target, softmax(logs), state), value

        with one_blas_thread():
            run = expectation_maximisation(
                type(self).__name__,
                start,
                step,
                self._stream(),
                restarts=int(self.n_init) if K > 1 else 1,
                max_iter=int(self.max_iter),
                tol=float(self.tol),
                scale=float(w.sum()),
                trace=trace if trace.on else None,
            )
        self._keep_trace(trace)
        self.log_likelihood_, self.n_iter_ = run.log_likelihood, run.n_iter
        return run.parameters

    def _maximise(
        self, Z: np.ndarray, w: np.ndarray, target: np.ndarray, shares: np.ndarray, state: _State, gate: bool = True
    ) -> _State:
        gates = fit_softmax(Z, shares, w, float(self.alpha), state.gate, _STEPS) if gate else state.gate
        experts, variance = self._teach(Z, w, target, shares, state)
        return _State(gates, experts, variance)

    def _outputs(self, target: np.ndarray) -> int:
        raise NotImplementedError  # pragma: no cover

    def _log_densities(self, Z: np.ndarray, target: np.ndarray, state: _State) -> np.ndarray:
        """The log density of each row's target under each expert."""
        raise NotImplementedError  # pragma: no cover

    def _log_prior(self, state: _State) -> float:
        raise NotImplementedError  # pragma: no cover

    def _teach(
        self, Z: np.ndarray, w: np.ndarray, target: np.ndarray, shares: np.ndarray, state: _State
    ) -> tuple[np.ndarray, np.ndarray]:
        """Experts (and their variances) that fit the rows by their shares of responsibility."""
        raise NotImplementedError  # pragma: no cover

    # -- using -----------------------------------------------------------------------------------------------------
    def _in_units(self, scaled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (outputs, columns) and intercepts for the columns as they came, from those (columns + 1,
        outputs) on scaled columns."""
        coef = (scaled[1:] / self._scale[:, None]).T
        return coef, scaled[0] - coef @ self._centre

    def _keep_gate(self, state: _State) -> None:
        self.gate_coef_, self.gate_intercept_ = self._in_units(state.gate)
        self._gate = state.gate
        self._experts = state.experts

    def _scaled(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return with_ones((self._read(X, reset=False) - self._centre) / self._scale)

    def gate(self, X: Any) -> np.ndarray:
        """The share of each expert in the answer to each row, (rows, experts)."""
        return softmax(self._scaled(X) @ self._gate)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Newton steps of the gate for each EM step: second derivatives by pairs of experts, then a system to solve."""
        unknowns = float(self.n_experts) * (n_features + 1)
        steps = float(self.n_init) * min(float(self.max_iter), 50.0) * _STEPS
        return Cost(
            seconds=steps
            * (3e-10 * n_rows * unknowns * (unknowns + 20.0) + 8e-6 * float(self.n_experts) ** 2 + 1e-11 * unknowns**3),
            bytes=24.0 * n_rows * (n_features + 4.0 * self.n_experts) + 16.0 * unknowns**2,
        )


class MixtureOfExpertsRegressor(_Mixture, Regressor):
    """Linear experts with Gaussian noise, and a softmax gate that says where each is asked.

    The model is p(y | x) = sum_k g_k(x) N(y; b_k + beta_k x, s_k^2) with g = softmax of linear functions, fitted by EM
    (Jordan & Jacobs 1994): responsibilities, then weighted least squares for the experts and Newton steps for the gate.
    The penalised log likelihood never falls. The prediction is the gate's mean of the experts.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import MixtureOfExpertsRegressor
    >>> X = np.linspace(-1, 1, 400)[:, None]
    >>> model = MixtureOfExpertsRegressor(random_state=0).fit(X, np.abs(X[:, 0]))
    >>> np.sort(model.coef_[:, 0]).round(2)
    array([-1.,  1.])
    >>> model.predict([[-0.5], [0.8]]).round(2)
    array([0.5, 0.8])
    """

    _learned = {
        "coef_, intercept_": "arrays (experts, columns) and (experts,), the experts in the units of the columns",
        "sigma_": "array (experts,), standard deviation of the noise of each expert",
    }
    coef_: np.ndarray
    intercept_: np.ndarray
    sigma_: np.ndarray

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MixtureOfExpertsRegressor:
        """Climb by EM from `n_init` starts."""
        rows, target, weights = self._begin(X, y, sample_weight)
        require_squares(type(self).__name__, target)
        middle = float(weighted_mean(target[:, None], weights)[0])
        spread = float(np.sqrt(weighted_mean(((target - middle) ** 2)[:, None], weights)[0]))
        spread = float(deviation_or_one(np.array([spread]), np.array([middle]))[0])
        state = self._climb(rows, weights, (target - middle) / spread)
        self._keep_gate(state)
        coef, intercept = self._in_units(state.experts[:, :, 0].T)
        self.coef_, self.intercept_ = coef * spread, intercept * spread + middle
        self.sigma_ = np.sqrt(state.variance) * spread
        self._middle, self._spread = middle, spread
        return self

    def _outputs(self, target: np.ndarray) -> int:
        return 1

    def _log_densities(self, Z: np.ndarray, target: np.ndarray, state: _State) -> np.ndarray:
        gap = target[:, None] - Z @ state.experts[:, :, 0].T
        return -0.5 * (np.log(2.0 * np.pi * state.variance) + gap**2 / state.variance)

    def _log_prior(self, state: _State) -> float:
        squares = (state.experts[:, 1:, 0] ** 2).sum(axis=1)
        held = _ROWS * np.log(state.variance) + (_ROWS * _SHARE + self.alpha * squares) / state.variance
        return -0.5 * float(held.sum())

    def _teach(
        self, Z: np.ndarray, w: np.ndarray, target: np.ndarray, shares: np.ndarray, state: _State
    ) -> tuple[np.ndarray, np.ndarray]:
        experts, variance = state.experts.copy(), state.variance.copy()
        penalty = np.full(Z.shape[1], float(self.alpha))
        penalty[0] = 0.0
        for k in range(shares.shape[1]):
            weight = w * shares[:, k]
            # An expert that no row asks keeps what it knows.
            if weight.sum() <= 1e-8 * w.sum():
                continue
            weighted = weight[:, None] * Z
            experts[k, :, 0] = ridge_of_products(Z.T @ weighted, weighted.T @ target, penalty)
            gap = float(weight @ (target - Z @ experts[k, :, 0]) ** 2)
            gap += _ROWS * _SHARE + float(self.alpha) * float((experts[k, 1:, 0] ** 2).sum())
            variance[k] = gap / (float(weight.sum()) + _ROWS)
        return experts, variance

    def _means(self, Z: np.ndarray) -> np.ndarray:
        return self._middle + self._spread * (Z @ self._experts[:, :, 0].T)

    def predict(self, X: Any) -> np.ndarray:
        """The mean of the experts by the gate."""
        Z = self._scaled(X)
        return (softmax(Z @ self._gate) * self._means(Z)).sum(axis=1)

    def predict_deviation(self, X: Any) -> np.ndarray:
        """The standard deviation of the target of each row: noise of the experts and difference between them."""
        Z = self._scaled(X)
        shares, means = softmax(Z @ self._gate), self._means(Z)
        centre = (shares * means).sum(axis=1, keepdims=True)
        return np.sqrt((shares * (self.sigma_**2 + (means - centre) ** 2)).sum(axis=1))

    def view(self) -> Coefficients:
        """The coefficients of the experts."""
        check_is_fitted(self)
        names = np.array([f"expert {k + 1}" for k in range(self.coef_.shape[0])])
        return coefficients_of(self, self.coef_, self.intercept_, names)


class MixtureOfExpertsClassifier(_Mixture, Classifier):
    """Experts that are softmax regressions, and a softmax gate that says where each is asked.

    The model is p(class | x) = sum_k g_k(x) softmax_k(x), fitted by EM as `MixtureOfExpertsRegressor`: Newton steps for
    the gate on the responsibilities and for each expert on the rows weighted by them. Borders between classes may bend
    where the gate hands over from one expert to the next.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import MixtureOfExpertsClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (600, 2))
    >>> y = np.where(X[:, 1] > np.abs(X[:, 0]), "above", "below")
    >>> bool(MixtureOfExpertsClassifier(random_state=0).fit(X, y).score(X, y) > 0.97)
    True
    """

    _learned = {
        "coef_, intercept_": "arrays (experts, classes, columns) and (experts, classes), in the units of the columns"
    }
    coef_: np.ndarray
    intercept_: np.ndarray

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MixtureOfExpertsClassifier:
        """Climb by EM from `n_init` starts."""
        rows, codes, weights = self._begin(X, y, sample_weight)
        self._require_classes()
        target = np.zeros((codes.shape[0], self.classes_.shape[0]))
        target[np.arange(codes.shape[0]), codes] = 1.0
        state = self._climb(rows, weights, target)
        self._keep_gate(state)
        parts = [self._in_units(expert) for expert in state.experts]
        self.coef_, self.intercept_ = (np.array([part[k] for part in parts]) for k in range(2))
        return self

    def _outputs(self, target: np.ndarray) -> int:
        return int(target.shape[1])

    def _log_densities(self, Z: np.ndarray, target: np.ndarray, state: _State) -> np.ndarray:
        return np.column_stack([(target * log_softmax(Z @ expert)).sum(axis=1) for expert in state.experts])

    def _log_prior(self, state: _State) -> float:
        return -sum(ridge(expert, float(self.alpha)) for expert in state.experts)

    def _teach(
        self, Z: np.ndarray, w: np.ndarray, target: np.ndarray, shares: np.ndarray, state: _State
    ) -> tuple[np.ndarray, np.ndarray]:
        alpha = float(self.alpha)
        experts = [
            fit_softmax(Z, target, w * shares[:, k], alpha, state.experts[k], _STEPS) for k in range(shares.shape[1])
        ]
        return np.array(experts), state.variance

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the experts' probabilities by the gate."""
        Z = self._scaled(X)
        shares = softmax(Z @ self._gate)
        given = np.array([softmax(Z @ expert) for expert in self._experts])
        found = np.einsum("nk,knc->nc", shares, given)
        return found / found.sum(axis=1, keepdims=True)

    def view(self) -> Coefficients:
        """The coefficients of the gate: where each expert is asked."""
        check_is_fitted(self)
        names = np.array([f"expert {k + 1}" for k in range(self.gate_coef_.shape[0])])
        return coefficients_of(self, self.gate_coef_, self.gate_intercept_, names)
