"""Mixtures of named distributions, column by column: normal with exponential, counts, latent classes of mixed
tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import (
    ArrayLike,
    Choice,
    Cost,
    DataError,
    Integer,
    Mapping,
    ParameterError,
    Real,
    Stream,
    categorical_features_param,
    param,
    random_state_param,
    trace_param,
)
from ...base.columns import column_names
from ...data.columns import MixedInput
from ...numeric.em import expectation_maximisation
from ...numeric.moments import deviation_or_one
from .distributions import DISTRIBUTIONS, Distribution
from .gaussian_mixture import Mixture

NAMES = tuple(DISTRIBUTIONS)


class MixtureModel(MixedInput, Mixture):
    """A mixture in which each column of a component has a named distribution; columns are independent within a
    component.

    `distributions` is one name for every numeric column, a list with one name for each component (such as ["normal",
    "exponential"]), or a dict from columns to names; nominal columns are categorical, which makes latent class "
    "analysis.
    A missing cell adds nothing to the likelihood. No step lowers the likelihood.

    {parameters}

    Attributes
    ----------
    weights_, parameters_ (by component and column), labels_, log_likelihood_, n_iter_, converged_

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.mixtures import MixtureModel
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.exponential(1.0, 300), rng.normal(12.0, 1.0, 300)])[:, None]
    >>> model = MixtureModel(2, distributions=["exponential", "normal"], random_state=0).fit(X)
    >>> round(model.parameters_[1][0]["mean"]), model.weights_.round(1)
    (12, array([0.5, 0.5]))
    """

    _first = "n_components"

    distributions: Any = param(
        "normal",
        Choice(*NAMES) | ArrayLike() | Mapping(),
        "Names of distributions: one, one per component, or by column.",
    )
    n_init: int = param(5, Integer(1), "Restarts, of which the likeliest is kept.")
    max_iter: int = param(500, Integer(1), "Most steps of each restart.")
    tol: float = param(1e-6, Real(0), "Stop when a step gains less log likelihood per row.")
    reg_covar: float = param(1e-6, Real(0, 1, "neither"), "Least variance of a normal, as a share of the column's.")
    categorical_features: Any = categorical_features_param()
    random_state: Any = random_state_param()
    trace: bool = trace_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Some hundred steps of n k d densities."""
        work = float(n_rows) * n_features * self.n_components
        return Cost(seconds=100 * self.n_init * 3e-8 * work, bytes=16.0 * n_rows * (n_features + 3 * self.n_components))

    def _kinds(self) -> list[list[Distribution]]:
        """The distribution of each column in each component."""
        names, nominal = column_names(self), self.schema_.nominal
        given = self.distributions
        k = self.n_components
        if isinstance(given, str):
            told = [[given] * len(names)] * k
        elif isinstance(given, dict):
            told = [[str(given.get(name, given.get(j, "normal"))) for j, name in enumerate(names)]] * k
        else:
            told = [[str(name)] * len(names) for name in given]
        wrong = [name for line in told for name in line if name not in DISTRIBUTIONS]
        if len(told) != k or wrong:
            raise ParameterError(
                type(self).__name__,
                "parameter 'distributions'",
                f"must be names among {', '.join(NAMES)}: one, one for each of {k} components, or by column",
                f"got {given!r}",
            )
        counts = self.schema_.n_categories
        return [
            [DISTRIBUTIONS["categorical" if flag else name](int(c)) for name, flag, c in zip(line, nominal, counts)]
            for line in told
        ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MixtureModel:
        """Climb the likelihood; `y` is not used."""
        rows, weights = self._begin_weighted(X, sample_weight)
        who, k = type(self).__name__, self.n_components
        if rows.shape[0] < k:
            raise DataError(who, "X", f"must have at least n_components={k} rows", f"got n_samples={rows.shape[0]}")
        kinds, names = self._kinds(), column_names(self)
        for line in kinds:
            for j, kind in enumerate(line):
                kind.check(who, names[j], rows[:, j])
                kind.learn(rows[:, j], self.reg_covar)
        share = np.ones(rows.shape[0]) if weights is None else weights
        trace = self._new_trace()

        def maximised(shares: np.ndarray) -> tuple[np.ndarray, list[list[dict[str, Any]]]]:
            held = shares * share[:, None]
            parts = [
                [kind.maximise(rows[:, j], held[:, c]) for j, kind in enumerate(line)] for c, line in enumerate(kinds)
            ]
            return held.sum(axis=0) / share.sum(), parts

        def step(state: tuple[np.ndarray, list[list[dict[str, Any]]]]) -> tuple[Any, float]:
            density, shares = self._shares(rows, kinds, *state)
            return maximised(shares), float(share @ density)

        run = expectation_maximisation(
            who,
            lambda stream: maximised(self._start(rows, stream)),
            step,
            self._stream(),
            restarts=self.n_init if k > 1 else 1,
            max_iter=self.max_iter,
            tol=self.tol,
            scale=float(share.sum()),
            trace=trace,
        )
        self.weights_, self.parameters_ = run.parameters
        self.log_likelihood_, self.n_iter_ = float(run.log_likelihood[-1]), run.n_iter
        self.converged_ = bool(run.converged)
        self._kinds_ = [[kind.name for kind in line] for line in kinds]
        self.labels_ = np.argmax(self._log_parts(self._read(X, reset=False))[1], axis=1)
        self._keep_trace(trace)
        return self

    def _start(self, rows: np.ndarray, stream: Stream) -> np.ndarray:
        """Responsibilities that lean to the nearest of k random rows, by columns in units of their spread."""
        k = self.n_components
        if k == 1:
            return np.ones((rows.shape[0], 1))
        rng = stream.generator()
        known = ~np.isnan(rows)
        spread = np.where(known, rows, np.nan)
        with np.errstate(all="ignore"):
            scale = deviation_or_one(np.nanstd(spread, axis=0), np.nanmean(spread, axis=0))
        seeds = rows[rng.choice(rows.shape[0], k, replace=False)]
        gaps = (rows[:, None, :] - seeds) / scale
        away = np.where(np.isnan(gaps), 0.0, gaps**2).sum(axis=2)
        shares = np.full(away.shape, 0.1 / k)
        shares[np.arange(rows.shape[0]), np.argmin(away + 1e-9 * rng.random(away.shape), axis=1)] += 0.9
        return shares

    @staticmethod
    def _shares(
        rows: np.ndarray, kinds: list[list[Distribution]], weights: np.ndarray, parts: list[list[dict[str, Any]]]
    ) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore"):
            logs = np.tile(np.log(np.maximum(weights, 1e-300)), (rows.shape[0], 1))
        for c, line in enumerate(kinds):
            for j, kind in enumerate(line):
                known = ~np.isnan(rows[:, j])
                logs[known, c] += np.maximum(kind.log_density(rows[known, j], parts[c][j]), -1e300)
        density = np.logaddexp.reduce(logs, axis=1)
        return density, np.exp(logs - density[:, None])

    def _log_parts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = self.schema_.n_categories
        kinds = [[DISTRIBUTIONS[name](int(c)) for name, c in zip(line, counts)] for line in self._kinds_]
        return self._shares(rows, kinds, self.weights_, self.parameters_)

    def _n_parameters(self) -> int:
        free = sum(np.size(v) - (np.ndim(v) > 0) for line in self.parameters_ for part in line for v in part.values())
        return int(free) + self.weights_.shape[0] - 1

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the mixture; a nominal cell is the number of its category."""
        rng = Stream.of(random_state).generator()
        owner = rng.choice(self.weights_.shape[0], size=n_samples, p=self.weights_ / self.weights_.sum())
        drawn = np.empty((n_samples, self.n_features_in_))
        for c, line in enumerate(self._kinds_):
            own = owner == c
            for j, name in enumerate(line):
                drawn[own, j] = DISTRIBUTIONS[name](0).draw(rng, int(own.sum()), self.parameters_[c][j])
        return drawn
