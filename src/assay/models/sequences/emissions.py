"""What hidden states emit: normal distributions and mixtures of them, symbols, counts.

Each kind has log densities by state (`logs`), the maximisation step given the weighted probabilities of the states
(`maximised`), and draws (`sample`). `logs` gives what the kernel takes: log densities of the rows and None, or of the
symbols and the symbol of each row (then `maximised` takes sums of the probabilities by symbol); and what `maximised`
needs besides. A row of which nothing is known has log density 0 under every state.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from ... import _kernels
from ..mixtures.gaussian_components import Gaussians
from ..mixtures.incomplete_rows import IncompleteRows

LEAST_RATE = 1e-10
Parts = tuple[np.ndarray, np.ndarray]
"""Log densities of known rows by state, and by state and component with its mixing weight."""
Logs = tuple[np.ndarray, np.ndarray | None, Parts | None]


@dataclass(frozen=True)
class Observed:
    """Rows with some known cell, and where they stand; `incomplete` if some of their cells are missing."""

    n_rows: int
    rows: np.ndarray
    present: np.ndarray | None
    incomplete: IncompleteRows | None
    buffers: dict[str, np.ndarray] = field(default_factory=dict)
    """Memory that the steps of a fit use again."""

    def scratch(self, name: str, n_rows: int, n_columns: int) -> np.ndarray:
        """An array of this shape whose cells hold anything; what was there under this name is lost."""
        held = self.buffers.get(name)
        if held is None or held.shape != (n_rows, n_columns):
            held = self.buffers[name] = np.empty((n_rows, n_columns))
        return held

    @classmethod
    def of(cls, rows: np.ndarray) -> Observed:
        """Sort out rows of which nothing is known."""
        missing = np.isnan(rows)
        if not missing.any():
            return cls(rows.shape[0], rows, None, None)
        present = ~missing.all(axis=1)
        known = np.ascontiguousarray(rows[present])
        partly = bool(missing[present].any())
        return cls(rows.shape[0], known, present, IncompleteRows(known) if partly else None)

    def spread(self, logs: np.ndarray) -> np.ndarray:
        """Log densities of all rows, 0 where nothing is known."""
        if self.present is None:
            return logs
        out = np.zeros((self.n_rows, logs.shape[1]))
        out[self.present] = logs
        return out

    def of_present(self, values: np.ndarray) -> np.ndarray:
        """The values of rows with some known cell."""
        return values if self.present is None else np.ascontiguousarray(values[self.present])


@dataclass(frozen=True)
class GaussianEmissions:
    """k states of m normal components each, state by state; `mixing` is k x m."""

    parts: Gaussians
    mixing: np.ndarray
    threads: int = 1

    def passed(
        self,
        seen: Observed,
        offsets: np.ndarray,
        start: np.ndarray,
        transitions: np.ndarray,
        weights: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Log likelihoods, expected starts and moves, and moments by state of complete rows, without arrays of them."""
        return _kernels.hmm_normal_pass(seen.rows, offsets, start, transitions, weights, *self._given(), self.threads)

    def passes(self, seen: Observed) -> bool:
        """Whether `passed` can be asked: one component for each state, and no cell is missing."""
        return self.mixing.shape[1] == 1 and seen.present is None and seen.incomplete is None

    def _given(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
        """What kernels take: constants, means, whitening and whether it is of diagonals."""
        (k, d), diagonal = self.parts.means.shape, self.parts.form in ("diag", "spherical")
        whitening, constants = self.parts.whitening()
        if self.parts.form == "tied":
            whitening = np.broadcast_to(whitening, (k, d, d))
        shaped = np.ascontiguousarray(whitening.reshape((k if diagonal else k * d, d)))
        constants = np.ascontiguousarray(constants - 0.5 * d * np.log(2 * np.pi))
        return constants, np.ascontiguousarray(self.parts.means), shaped, diagonal

    def logs(self, seen: Observed) -> Logs:
        """Log densities of the rows; no symbols; those of the states and components, if a state has several."""
        k, m = self.mixing.shape
        if seen.incomplete is not None:
            logs = seen.incomplete.log_joint(replace(self.parts, weights=np.ones(k * m)))
        else:
            logs = seen.scratch("logs", len(seen.rows), k * m)
            _kernels.gaussian_logs(seen.rows, *self._given(), logs, self.threads)
        if m == 1:
            return np.ascontiguousarray(seen.spread(logs)), None, None
        with np.errstate(divide="ignore"):
            joint = logs.reshape(-1, k, m) + np.log(self.mixing)
        total = np.logaddexp.reduce(joint, axis=2)
        return np.ascontiguousarray(seen.spread(total)), None, (total, joint)

    def maximised(self, seen: Observed, shares: np.ndarray, parts: Parts | None) -> GaussianEmissions:
        """The likeliest components given the weighted probabilities of states."""
        k, m = self.mixing.shape
        own = seen.of_present(shares)
        if parts is not None:
            total, joint = parts
            own = (own[:, :, None] * np.exp(joint - total[:, :, None])).reshape(-1, k * m)
        own = np.ascontiguousarray(own)
        if seen.incomplete is not None:
            return self._mixed(seen.incomplete.maximised(self.parts, own), own.sum(axis=0))
        means, diagonal = np.ascontiguousarray(self.parts.means), self.parts.form != "full"
        return self.from_moments(_kernels.gaussian_moments(seen.rows, own, means, diagonal, self.threads))

    def from_moments(self, moments: np.ndarray) -> GaussianEmissions:
        """The likeliest components given counts, first and second moments (lower parts) about the means, a row each."""
        n_parts, d = self.parts.means.shape
        counts, first, second = np.ascontiguousarray(moments[:, 0]), moments[:, 1 : 1 + d], moments[:, 1 + d :]
        if self.parts.form == "full":
            lower = np.tril(second.reshape(n_parts, d, d))
            second = lower + np.swapaxes(np.tril(lower, -1), 1, 2)
        return self._mixed(self.parts.maximised(counts, first, second), counts)

    def _mixed(self, parts: Gaussians, counts: np.ndarray) -> GaussianEmissions:
        """These components, mixed by their counts."""
        held = counts.reshape(self.mixing.shape)
        sums = held.sum(axis=1, keepdims=True)
        mixing = np.where(sums > 0, held / np.where(sums > 0, sums, 1.0), self.mixing)
        return replace(self, parts=parts, mixing=mixing)

    def penalty(self) -> float:
        """No prior."""
        return 0.0

    def n_parameters(self) -> int:
        """Free numbers."""
        k, d = self.parts.means.shape
        cells = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
        return k * d + cells[self.parts.form] + self.mixing.shape[0] * (self.mixing.shape[1] - 1)

    def means(self) -> np.ndarray:
        """The expected row of each state."""
        k, m = self.mixing.shape
        return (self.mixing[:, :, None] * self.parts.means.reshape(k, m, -1)).sum(axis=1)

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A row for each state."""
        m = self.mixing.shape[1]
        chosen = states * m
        if m > 1:
            edges = np.cumsum(self.mixing, axis=1)[states]
            chosen = chosen + np.minimum((rng.random(len(states))[:, None] >= edges).sum(axis=1), m - 1)
        noise = rng.normal(size=(len(states), self.parts.means.shape[1]))
        factors = np.linalg.cholesky(self.parts.matrices())
        return self.parts.means[chosen] + np.einsum("nij,nj->ni", factors[chosen], noise)


@dataclass(frozen=True)
class CategoricalEmissions:
    """Probabilities of symbols, k x s; `prior` is added to every count."""

    table: np.ndarray
    prior: float = 0.0

    def logs(self, codes: np.ndarray) -> Logs:
        """Log probabilities of the symbols, with a last row for a missing one (code -1), and the symbol of each row."""
        with np.errstate(divide="ignore"):
            by_symbol = np.vstack([np.log(self.table.T), np.zeros((1, self.table.shape[0]))])
        return by_symbol, codes, None

    def maximised(self, codes: np.ndarray, counts: np.ndarray, parts: None = None) -> CategoricalEmissions:
        """Shares of the symbols, smoothed by the prior; symbols that are impossible at the start stay so."""
        return replace(self, table=normalised(counts[:-1].T, self.prior, self.table))

    def penalty(self) -> float:
        """The log prior."""
        return log_prior(self.table, self.prior)

    def n_parameters(self) -> int:
        """Free numbers."""
        return int((self.table > 0).sum()) - self.table.shape[0]

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The code of a symbol for each state."""
        edges = np.cumsum(self.table, axis=1)[states]
        return np.minimum((rng.random(len(states))[:, None] >= edges).sum(axis=1), self.table.shape[1] - 1)


@dataclass(frozen=True)
class PoissonEmissions:
    """Rates of counts, k x d; columns are independent given the state."""

    rates: np.ndarray

    def logs(self, seen: Observed) -> Logs:
        """Log probabilities of the rows; no symbols."""
        known = ~np.isnan(seen.rows)
        counts = np.where(known, seen.rows, 0.0)
        logs = counts @ np.log(self.rates).T - known.astype(float) @ self.rates.T
        logs = seen.spread(logs - gammaln(counts + 1.0).sum(axis=1)[:, None])
        return np.ascontiguousarray(logs), None, None

    def maximised(self, seen: Observed, shares: np.ndarray, parts: None = None) -> PoissonEmissions:
        """Weighted means of the known counts, at least 1e-10."""
        own, known = seen.of_present(shares), ~np.isnan(seen.rows)
        sums, weights = own.T @ np.where(known, seen.rows, 0.0), own.T @ known.astype(float)
        found = np.maximum(sums / np.where(weights > 0, weights, 1.0), LEAST_RATE)
        return replace(self, rates=np.where(weights > 0, found, self.rates))

    def penalty(self) -> float:
        """No prior."""
        return 0.0

    def n_parameters(self) -> int:
        """Free numbers."""
        return int(self.rates.size)

    def means(self) -> np.ndarray:
        """The expected row of each state."""
        return self.rates

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Counts for each state."""
        return rng.poisson(self.rates[states]).astype(np.float64)


Emissions = Any
"""One of the classes above."""


def normalised(counts: np.ndarray, prior: float, before: np.ndarray) -> np.ndarray:
    """Rows of counts plus the prior as shares; cells that were 0 stay 0, rows without counts stay as they were.

    >>> normalised(np.array([[3.0, 1.0, 0.0]]), 1.0, np.array([[0.5, 0.5, 0.0]])).round(3)
    array([[0.667, 0.333, 0.   ]])
    """
    raised = np.where(before > 0, counts + prior, 0.0)
    sums = raised.sum(axis=-1, keepdims=True)
    return np.where(sums > 0, raised / np.where(sums > 0, sums, 1.0), before)


def log_prior(table: np.ndarray, prior: float) -> float:
    """The log of a Dirichlet prior with `prior` pseudo-counts, but for its constant, over the cells that may move."""
    return prior * float(np.log(table[table > 0]).sum()) if prior > 0 else 0.0
