"""Hidden Markov models by scaled recursions and expectation-maximisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.cost import Cost
from ...base.errors import DataError, ParameterError, plain
from ...base.estimator import Estimator, check_weights
from ...base.parameters import ArrayLike, Choice, Integer, Nothing, Real, param
from ...base.randomness import Stream
from ...base.threads import one_blas_thread, thread_count
from ...base.unsupervised import check_count
from ...base.usual_parameters import n_jobs_param, random_state_param, trace_param
from ...numeric.em import expectation_maximisation
from ...numeric.moments import deviation_or_one
from ..clustering.k_means import starting_means
from ..mixtures.gaussian_components import FORMS, Gaussians, from_labels
from ..mixtures.incomplete_rows import IncompleteRows
from .emissions import (
    LEAST_RATE,
    CategoricalEmissions,
    Emissions,
    GaussianEmissions,
    Observed,
    PoissonEmissions,
    log_prior,
    normalised,
)
from .reading import as_table, encode, flat_states, is_unknown, offsets_of, symbols_of
from .views import StatePath

_FIXABLE = ("start", "transitions", "emissions")
Chain = tuple[np.ndarray, np.ndarray, Emissions]


class HiddenMarkovModel(Estimator):
    """A chain of hidden states, each of which emits symbols, counts, or rows of normal distributions.

    `fit` climbs the likelihood by Baum and Welch's algorithm over any number of sequences of any lengths; no step
    lowers it. A table with `lengths` holds several sequences one after the other; a list of tables (of lists of
    symbols) is a list of sequences. Cells that are NaN or None are missing: they are left out of the likelihood, and a
    row of which nothing is known leaves the states to the chain.

    `filter` uses the rows up to each one and no later one, `smooth` the whole sequence, `smooth(lag=...)` so many rows
    ahead, `predict` looks beyond the end, `decode` gives the likeliest path.

    {parameters}

    Attributes
    ----------
    start_, transitions_, log_likelihood_ (with the log prior, if there is one), n_iter_, converged_; means_,
    covariances_ and mixing_ (gaussian), emission_probabilities_ and categories_ (categorical), rates_ (poisson)

    Examples
    --------
    >>> from assay.models.sequences import HiddenMarkovModel
    >>> X = [[0.1], [-0.1], [0.0], [5.1], [4.9], [5.0], [0.1], [0.0]]
    >>> model = HiddenMarkovModel(2, random_state=0).fit(X)
    >>> path = model.decode(X)[1]
    >>> bool((path == path[0]).tolist() == [True, True, True, False, False, False, True, True])
    True
    >>> model.filter(X).shape
    (8, 2)
    """

    _first = "n_states"
    _allow_nan = True
    _squares = True
    _open_state = ("log_likelihood_",)

    n_states: int = param(2, Integer(1), "How many hidden states.")
    emission: str = param("gaussian", Choice("gaussian", "categorical", "poisson"), "What the states emit.")
    covariance_type: str = param("full", Choice(*FORMS), "Covariances of normal emissions, as in `GaussianMixture`.")
    n_components: int = param(1, Integer(1), "Normal components of each state (gaussian emissions).")
    start: Any = param(None, ArrayLike() | Nothing(), "Start probabilities to begin with; zeros stay zero.")
    transitions: Any = param(
        None, ArrayLike() | Nothing(), "Transitions to begin with; zeros stay zero (left-right models)."
    )
    emissions: Any = param(
        None, ArrayLike() | Nothing(), "Emissions to begin with: means, rates, or probabilities of symbols, by state."
    )
    categories: Any = param(None, ArrayLike() | Nothing(), "Symbols of categorical emissions; None: those of `fit`.")
    fixed: Any = param((), ArrayLike(), "Which of 'start', 'transitions', 'emissions' to leave as they begin.")
    start_prior: float = param(0.0, Real(0), "Added to every expected count of starts (a Dirichlet prior).")
    transition_prior: float = param(0.0, Real(0), "Added to every expected count of transitions.")
    emission_prior: float = param(0.0, Real(0), "Added to every expected count of symbols (categorical emissions).")
    n_init: int = param(1, Integer(1), "Restarts, of which the likeliest is kept.")
    max_iter: int = param(100, Integer(0), "Most steps of each restart; 0 keeps the beginning.")
    tol: float = param(1e-5, Real(0), "Stop when a step gains less log likelihood per row.")
    reg_covar: float = param(
        1e-6, Real(0, 1, "neither"), "Least variance along any direction, as a share of the columns' variances."
    )
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def _needs_squares(self) -> bool:
        return self.emission == "gaussian"

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Thirty steps of n k (k + d^2) multiply-adds."""
        k = self.n_states * self.n_components
        work = float(n_rows) * k * (k + n_features**2) * self.n_init
        return Cost(seconds=30 * 5e-10 * work, bytes=8.0 * n_rows * (2 * n_features + 6 * k))

    # -- learning ----------------------------------------------------------------------------------------------
    def fit(self, X: Any, lengths: Any = None, sample_weight: Any = None, states: Any = None) -> HiddenMarkovModel:
        """Climb the likelihood. `sample_weight` has one number for each sequence.

        With `states`, a state for each row (or a list of them for each sequence), the beginning is counted from them;
        `max_iter=0` then leaves it at that.
        """
        self._check_parameters()
        who = type(self).__name__
        seen, offsets, n_columns = self._observations(X, lengths, reset=True)
        n_rows, k = int(offsets[-1]), self.n_states
        self._check_cost(n_rows, n_columns)
        fixed = self._fixed()
        weights = check_weights(who, sample_weight, len(offsets) - 1)
        by_row = None if weights is None else np.repeat(weights, np.diff(offsets))
        labels = None if states is None else self._labels(states, n_rows)
        trace, threads = self._new_trace(), thread_count(self.n_jobs)

        def step(chain: Chain) -> tuple[Chain, float]:
            start, transitions, emissions = chain
            if isinstance(emissions, GaussianEmissions) and emissions.passes(seen):
                values, starts, moves, moments = emissions.passed(seen, offsets, start, transitions, weights)
            else:
                logs, codes, parts = emissions.logs(seen)
                wanted = (False, codes is None, True, -1)
                # Probabilities of states take the place of the log densities that they are made of.
                shares: Any = (
                    None if codes is not None else logs if parts is None else seen.scratch("shares", n_rows, k)
                )
                found = _kernels.hmm_pass(logs, offsets, start, transitions, weights, *wanted, codes, shares, threads)
                values, _, _, starts, moves, counts = found
                moments = None
            self._refuse_impossible(values, offsets)
            total = float(values.sum() if weights is None else weights @ values)
            total += log_prior(start, self.start_prior) + log_prior(transitions, self.transition_prior)
            total += emissions.penalty()
            if "emissions" in fixed:
                following = emissions
            elif moments is not None:
                following = emissions.from_moments(moments)
            elif codes is not None:
                following = emissions.maximised(seen, counts, parts)
            else:
                if by_row is not None:
                    shares *= by_row[:, None]
                following = emissions.maximised(seen, shares, parts)
            return (
                start if "start" in fixed else normalised(starts, self.start_prior, start),
                transitions if "transitions" in fixed else normalised(moves, self.transition_prior, transitions),
                following,
            ), total

        with one_blas_thread():
            run = expectation_maximisation(
                who,
                lambda stream: self._beginning(seen, offsets, by_row, labels, threads, stream.generator()),
                step,
                self._stream(),
                restarts=self.n_init,
                max_iter=self.max_iter,
                tol=self.tol,
                scale=float(n_rows if by_row is None else by_row.sum()),
                trace=trace,
            )
        self.start_, self.transitions_, emissions = run.parameters
        self._keep_emissions(emissions)
        self.log_likelihood_ = float(run.log_likelihood[-1])
        self.n_iter_, self.converged_ = run.n_iter, bool(run.converged)
        assert self.start_.shape == (k,)
        self._keep_trace(trace)
        return self

    def _fixed(self) -> tuple[str, ...]:
        names = tuple(str(name) for name in self.fixed)
        wrong = [name for name in names if name not in _FIXABLE]
        if wrong:
            raise ParameterError(
                type(self).__name__,
                "parameter 'fixed'",
                f"must hold names among {', '.join(_FIXABLE)}",
                f"got {plain(repr(wrong[0]), 40)}",
            )
        return names

    def _labels(self, states: Any, n_rows: int) -> np.ndarray:
        labels = flat_states(states)
        good = labels.shape == (n_rows,) and labels.dtype.kind in "iu"
        if not good or labels.min() < 0 or labels.max() >= self.n_states:
            raise DataError(
                type(self).__name__,
                "states",
                f"must hold a whole number from 0 to {self.n_states - 1} for each of {n_rows} rows",
                f"got an array of shape {labels.shape}" if labels.shape != (n_rows,) else "got another value",
                "number the labels of the states from 0",
            )
        return labels.astype(np.int64)

    def _refuse_impossible(self, values: np.ndarray, offsets: np.ndarray) -> None:
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise DataError(
                type(self).__name__,
                f"sequence {int(bad[0])}",
                "must be possible under the model",
                f"no path of states can make the {int(np.diff(offsets)[bad[0]])} rows",
                "leave fewer zeros in the start, transitions and emissions, or give priors",
            )

    # -- the beginning -----------------------------------------------------------------------------------------
    def _beginning(
        self,
        seen: Any,
        offsets: np.ndarray,
        by_row: np.ndarray | None,
        labels: np.ndarray | None,
        threads: int,
        rng: np.random.Generator,
    ) -> Chain:
        """Start, transitions and emissions from which one restart climbs."""
        k = self.n_states
        counted = labels is not None
        if labels is None and self.emission == "gaussian":
            given = all(part is not None for part in (self.start, self.transitions, self.emissions))
            # Where all is given, clusters would be of no use but for a shared covariance and shares of components.
            needless = given and self.n_components == 1 and self.covariance_type != "tied"
            labels = None if needless else self._clusters(seen, by_row, rng)
        if labels is None:
            starts = np.ones(k)
            moves = rng.dirichlet(np.ones(k), size=k) + 1.0 / k
        else:
            # Every state is possible unless states were given: EM never leaves a zero.
            least = 0.0 if counted else 1.0
            starts, moves = np.full(k, least), np.full((k, k), least)
            firsts, inside = offsets[:-1], np.ones(len(labels), dtype=bool)
            inside[firsts] = False
            later = np.flatnonzero(inside)
            np.add.at(starts, labels[firsts], 1.0 if by_row is None else by_row[firsts])
            np.add.at(moves, (labels[later - 1], labels[later]), 1.0 if by_row is None else by_row[later])
            starts, moves = starts + self.start_prior, moves + self.transition_prior
            moves[moves.sum(axis=1) == 0] = 1.0
        start = self._given("start", self.start, (k,), starts / starts.sum())
        transitions = self._given("transitions", self.transitions, (k, k), moves / moves.sum(axis=1, keepdims=True))
        return start, transitions, self._first_emissions(seen, by_row, labels, threads, rng)

    def _given(self, name: str, value: Any, shape: tuple[int, ...], otherwise: np.ndarray) -> np.ndarray:
        """Probabilities given by the user, or `otherwise`."""
        if value is None:
            return np.ascontiguousarray(otherwise)
        held = self._given_numbers(name, value, shape)
        if (held < 0).any() or not np.allclose(held.sum(axis=-1), 1.0, atol=1e-6):
            raise ParameterError(type(self).__name__, f"parameter '{name}'", "must hold probabilities that add up to 1")
        return held / held.sum(axis=-1, keepdims=True)

    def _given_numbers(self, name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
        try:
            held = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            held = np.empty(0)
        if held.shape != shape or not np.isfinite(held).all():
            raise ParameterError(
                type(self).__name__,
                f"parameter '{name}'",
                f"must be finite numbers of shape {shape}",
                f"got {held.shape}",
            )
        return held

    def _clusters(self, seen: Observed, by_row: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        """A state for each row by k-means on standardised columns; rows of which nothing is known follow the last."""
        filled = seen.rows if seen.incomplete is None else seen.incomplete.with_means()
        labels = np.zeros(seen.n_rows, dtype=np.int64)
        if self.n_states == 1 or not len(filled):
            return labels
        spread = deviation_or_one(filled.std(axis=0), filled.mean(axis=0))
        found = (
            starting_means(min(self.n_states, len(filled)), rng, self.n_jobs)
            .fit(filled / spread, None, None if by_row is None else seen.of_present(by_row))
            .labels_
        )
        if seen.present is None:
            return found.astype(np.int64)
        last = np.maximum(np.cumsum(seen.present) - 1, 0)
        return found[last].astype(np.int64)

    def _first_emissions(
        self, seen: Any, by_row: np.ndarray | None, labels: np.ndarray | None, threads: int, rng: np.random.Generator
    ) -> Emissions:
        k = self.n_states
        if self.emission == "categorical":
            n_symbols = len(self.categories_)
            if self.emissions is not None:
                table = np.ones((k, n_symbols))
            elif labels is None:
                counts = np.bincount(seen + 1, by_row, minlength=n_symbols + 1)[1:] + 1e-3
                table = (counts / counts.sum()) * rng.gamma(2.0, 1.0, size=(k, n_symbols)) + 1e-6
            else:
                table = np.full((k, n_symbols), self.emission_prior)
                known = seen >= 0
                np.add.at(table, (labels[known], seen[known]), 1.0 if by_row is None else by_row[known])
                table[table.sum(axis=1) == 0] = 1.0
            otherwise = table / table.sum(axis=1, keepdims=True)
            return CategoricalEmissions(
                self._given("emissions", self.emissions, (k, n_symbols), otherwise), self.emission_prior
            )
        d = seen.rows.shape[1]
        if self.emission == "poisson":
            return PoissonEmissions(self._first_rates(seen, by_row, labels, rng))
        weights = None if by_row is None else seen.of_present(by_row)
        filled = seen.rows if seen.incomplete is None else IncompleteRows(seen.rows).with_means()
        family = Gaussians.family(self.covariance_type, filled, weights, self.reg_covar)
        m = self.n_components
        if labels is None:
            # All is given but the covariances, which begin as those of all rows.
            means = self._given_numbers("emissions", self.emissions, (k, d))
            pooled = np.broadcast_to(np.diag(family.deviation**2), (k, d, d))
            start = Gaussians(**{**vars(family), "means": means, "covariances": pooled})
            return GaussianEmissions(start.maximised(np.ones(k), np.zeros((k, d)), pooled), np.ones((k, 1)), threads)
        own = seen.of_present(labels) * m
        if m > 1:
            # Within each state the rows are dealt out by k-means too.
            for state in range(k):
                members = np.flatnonzero(own == state * m)
                if len(members) > m:
                    part = starting_means(m, rng, self.n_jobs)
                    mass = None if weights is None else weights[members]
                    own[members] += part.fit(filled[members] / family.deviation, None, mass).labels_
        parts = from_labels(family, filled, own, weights, k * m)
        if self.emissions is not None:
            means = self._given_numbers("emissions", self.emissions, (k * m, d) if m > 1 else (k, d))
            pooled = np.broadcast_to(np.diag(family.deviation**2), (k * m, d, d))
            parts = Gaussians(**{**vars(parts), "means": means})
            if family.form != "tied":
                parts = parts.maximised(np.ones(k * m), np.zeros((k * m, d)), pooled)
        mixing = np.maximum(parts.weights.reshape(k, m), 1e-3 / (k * m))
        return GaussianEmissions(parts, mixing / mixing.sum(axis=1, keepdims=True), threads)

    def _first_rates(
        self, seen: Observed, by_row: np.ndarray | None, labels: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        """Means of the counts by state, or quantiles of their sums jittered."""
        k, d = self.n_states, seen.rows.shape[1]
        if self.emissions is not None:
            return np.maximum(self._given_numbers("emissions", self.emissions, (k, d)), LEAST_RATE)
        if labels is not None:
            shares = np.eye(k)[labels] * (1.0 if by_row is None else by_row[:, None])
            return PoissonEmissions(np.full((k, d), np.nanmean(seen.rows) + LEAST_RATE)).maximised(seen, shares).rates
        levels = np.nanquantile(seen.rows, (np.arange(k) + 0.5) / k, axis=0) + 0.1
        return levels * rng.gamma(50.0, 1.0 / 50.0, size=(k, d))

    # -- data --------------------------------------------------------------------------------------------------
    def _observations(self, X: Any, lengths: Any, *, reset: bool) -> tuple[Any, np.ndarray, int]:
        """Rows (or codes of symbols), offsets of the sequences, and the number of columns."""
        who = type(self).__name__
        X, lengths = as_table(who, X, lengths, symbols=self.emission == "categorical")
        if self.emission == "categorical":
            cells = symbols_of(who, X)
            if reset:
                self._learn_categories(cells)
            return encode(who, cells, self.categories_), offsets_of(who, lengths, len(cells)), 1
        rows = self._read(X, reset=reset)
        if self.emission == "poisson":
            known = rows[~np.isnan(rows)]
            if (known < 0).any() or (known != np.floor(known)).any():
                raise DataError(who, "X", "must hold whole numbers >= 0 for emission='poisson'")
        offsets = offsets_of(who, lengths, rows.shape[0])
        if reset and np.isnan(rows).all(axis=0).any():
            raise DataError(who, "X", "must have a known cell in every column")
        return Observed.of(rows), offsets, rows.shape[1]

    def _learn_categories(self, cells: np.ndarray) -> None:
        self.n_features_in_ = 1
        if self.categories is not None:
            self.categories_ = np.unique(np.asarray(self.categories))
            return
        known = cells[~is_unknown(cells)]
        if not known.size:
            raise DataError(type(self).__name__, "X", "must hold some symbol", "every one is missing")
        if known.dtype.kind == "O" and 0 < sum(isinstance(cell, str) for cell in known.tolist()) < known.size:
            other = next(cell for cell in known.tolist() if not isinstance(cell, str))
            raise DataError(
                type(self).__name__, "X", "must hold symbols of one kind", f"got texts and {plain(repr(other), 40)}"
            )
        self.categories_ = np.unique(np.array(known.tolist()) if known.dtype.kind == "O" else known)

    def _keep_emissions(self, emissions: Emissions) -> None:
        if self.emission == "categorical":
            self.emission_probabilities_ = emissions.table
        elif self.emission == "poisson":
            self.rates_ = emissions.rates
        else:
            self.means_, self.covariances_ = emissions.parts.means, emissions.parts.covariances
            self.mixing_ = emissions.mixing

    def _emissions(self) -> Emissions:
        check_is_fitted(self)
        if self.emission == "categorical":
            return CategoricalEmissions(self.emission_probabilities_)
        if self.emission == "poisson":
            return PoissonEmissions(self.rates_)
        parts = Gaussians(self.covariance_type, self.mixing_.ravel(), self.means_, self.covariances_)
        return GaussianEmissions(parts, self.mixing_, thread_count(self.n_jobs))

    def _logs(self, X: Any, lengths: Any) -> tuple[np.ndarray, np.ndarray]:
        emissions = self._emissions()
        seen, offsets, _ = self._observations(X, lengths, reset=False)
        logs, codes, _ = emissions.logs(seen)
        return logs if codes is None else logs[codes], offsets

    def _pass(self, X: Any, lengths: Any, filtered: bool, smoothed: bool, lag: int = -1) -> tuple[Any, ...]:
        logs, offsets = self._logs(X, lengths)
        threads = thread_count(self.n_jobs)
        want = (filtered, smoothed, False)
        found = _kernels.hmm_pass(logs, offsets, self.start_, self.transitions_, None, *want, lag, None, None, threads)
        if filtered or smoothed:
            self._refuse_impossible(found[0], offsets)
        return (*found, offsets)

    # -- use ---------------------------------------------------------------------------------------------------
    def score(self, X: Any, lengths: Any = None) -> float:
        """The log likelihood of all sequences together; minus infinity if one is impossible."""
        return float(self._pass(X, lengths, False, False)[0].sum())

    def score_samples(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The log likelihood of each sequence."""
        return self._pass(X, lengths, False, False)[0]

    def filter(self, X: Any, lengths: Any = None) -> np.ndarray:
        """P(state at t | rows up to t), one line per row: it never looks ahead."""
        return self._pass(X, lengths, True, False)[1]

    def smooth(self, X: Any, lengths: Any = None, lag: int | None = None) -> np.ndarray:
        """P(state at t | rows up to t + lag), of the whole sequence without a lag."""
        if lag is not None and not Integer(0).accepts(lag):
            raise ParameterError(
                type(self).__name__, "parameter 'lag'", "must be an integer >= 0 or None", f"got {plain(repr(lag))}"
            )
        return self._pass(X, lengths, False, True, -1 if lag is None else int(lag))[2]

    def predict(self, X: Any, lengths: Any = None, steps: int = 1) -> np.ndarray:
        """P(state `steps` after the end | all rows), one line per sequence."""
        _require_steps(type(self).__name__, steps)
        return self._ahead(self._pass(X, lengths, True, False), steps)

    def _ahead(self, found: tuple[Any, ...], steps: int) -> np.ndarray:
        return found[1][found[-1][1:] - 1] @ np.linalg.matrix_power(self.transitions_, int(steps))

    def predict_rows(self, X: Any, lengths: Any = None, steps: int = 1) -> np.ndarray:
        """The expected row (probabilities of the symbols) `steps` after the end, one line per sequence."""
        emissions = self._emissions()
        _require_steps(type(self).__name__, steps)
        expected = emissions.table if self.emission == "categorical" else emissions.means()
        return self._ahead(self._pass(X, lengths, True, False), steps) @ expected

    def decode(self, X: Any, lengths: Any = None) -> tuple[float, np.ndarray]:
        """The log probability of the likeliest paths (Viterbi) together with the rows, and the paths."""
        logs, offsets = self._logs(X, lengths)
        best, path = _kernels.hmm_decode(logs, offsets, self.start_, self.transitions_, thread_count(self.n_jobs))
        self._refuse_impossible(best, offsets)
        return float(best.sum()), path

    def online(self) -> OnlineFilter:
        """A filter that takes one observation at a time."""
        check_is_fitted(self)
        return OnlineFilter(self)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """One sequence of so many rows, and its states."""
        emissions = self._emissions()
        n = check_count(f"{type(self).__name__}.sample", n_samples)
        rng = Stream.of(random_state).generator()
        edges, uniform = np.cumsum(self.transitions_, axis=1), rng.random(n)
        top = self.n_states - 1
        states = np.empty(n, dtype=np.int64)
        states[0] = min(int(np.searchsorted(np.cumsum(self.start_), uniform[0], side="right")), top)
        for t in range(1, n):
            states[t] = min(int(np.searchsorted(edges[states[t - 1]], uniform[t], side="right")), top)
        drawn = emissions.sample(states, rng)
        return (self.categories_[drawn][:, None] if self.emission == "categorical" else drawn), states

    def n_parameters(self) -> int:
        """Free numbers: probabilities that are zero are not counted."""
        free = int((self.start_ > 0).sum()) - 1 + int((self.transitions_ > 0).sum()) - self.n_states
        return free + self._emissions().n_parameters()

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Akaike's criterion, 2 parameters - 2 log likelihood; less is better."""
        return 2.0 * self.n_parameters() - 2.0 * float(self._pass(X, lengths, False, False)[0].sum())

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Schwarz's criterion, log(rows) parameters - 2 log likelihood; less is better."""
        values, *_, offsets = self._pass(X, lengths, False, False)
        return float(np.log(offsets[-1]) * self.n_parameters() - 2.0 * float(values.sum()))

    def state_path(self, X: Any, lengths: Any = None) -> StatePath:
        """The likeliest path drawn over the sequence (of the first column), at most 2,000 rows of it."""
        path = self.decode(X, lengths)[1][:2000]
        table, _ = as_table(type(self).__name__, X, lengths, symbols=self.emission == "categorical")
        if self.emission == "categorical":
            cells = encode(type(self).__name__, symbols_of(type(self).__name__, table), self.categories_).astype(float)
        else:
            cells = self._read(table, reset=False)[:, 0]
        values = [None if not np.isfinite(v) else float(v) for v in cells[:2000]]
        return StatePath(values=values, states=path.tolist(), n_states=self.n_states)


class OnlineFilter:
    """P(state | observations so far), one observation at a time.

    >>> from assay.models.sequences import HiddenMarkovModel
    >>> words = [["a", "b", "a", "a"], ["b", "b", "a"]]
    >>> model = HiddenMarkovModel(2, emission="categorical", random_state=0).fit(words)
    >>> online = model.online()
    >>> belief = [online.update("a"), online.update("b")][-1]
    >>> bool(abs(belief - model.filter([["a", "b"]])[-1]).max() < 1e-12)
    True
    """

    def __init__(self, model: HiddenMarkovModel):
        self.model = model
        self.state: np.ndarray | None = None
        self.log_likelihood = 0.0
        self.n_seen = 0

    def predict(self, steps: int = 1) -> np.ndarray:
        """P(state so many steps after the last observation)."""
        _require_steps("OnlineFilter", steps)
        if self.state is None:
            return self.model.start_ @ np.linalg.matrix_power(self.model.transitions_, max(steps - 1, 0))
        return self.state @ np.linalg.matrix_power(self.model.transitions_, steps)

    def _row(self, observation: Any) -> np.ndarray:
        width = self.model.n_features_in_
        if observation is None:
            return np.full((1, width), np.nan)
        try:
            row = np.atleast_1d(np.asarray(observation, dtype=np.float64)).reshape(1, -1)
        except (TypeError, ValueError):
            row = np.empty((1, 0))
        if row.shape[1] != width:
            what = "a number" if width == 1 else f"a row of {width} numbers"
            raise DataError("OnlineFilter", "the observation", f"must be {what}", f"got {plain(repr(observation), 40)}")
        return row

    def update(self, observation: Any) -> np.ndarray:
        """Take one observation (a row, a number or a symbol; NaN or None if it is missing) and give the new belief."""
        model = self.model
        if model.emission == "categorical":
            row: Any = np.array([[observation]], dtype=object)
        else:
            row = self._row(observation)
        logs = model._logs(row, None)[0][0]
        prior = self.predict()
        with np.errstate(divide="ignore"):
            joint = np.log(prior) + logs
        top = joint.max()
        if not np.isfinite(top):
            raise DataError(
                "OnlineFilter", f"observation {self.n_seen}", "must be possible under the model", "no state can make it"
            )
        share = np.exp(joint - top)
        self.log_likelihood += float(top + np.log(share.sum()))
        self.n_seen += 1
        self.state = share / share.sum()
        return self.state


def _require_steps(who: str, steps: Any) -> None:
    if not Integer(0).accepts(steps):
        raise ParameterError(who, "parameter 'steps'", "must be an integer >= 0", f"got {plain(repr(steps))}")
