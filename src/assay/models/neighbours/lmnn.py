"""Large margin nearest neighbours: a linear map after which a row's neighbours have its class."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ... import _kernels
from ...base.cost import Cost
from ...base.errors import DataError, ParameterError
from ...base.estimator import check_lengths, distinct_labels
from ...base.parameters import Integer, Nothing, Real, param
from ...base.threads import one_blas_thread, thread_count
from ...base.usual_parameters import n_jobs_param, trace_param
from ...numeric.distances import Euclidean
from ...numeric.moments import PrincipalAxes, column_products
from ...numeric.neighbours import NeighbourIndex
from ...prepare.reduction import ClassReduction

# Steps of L-BFGS between two searches for impostors.
_STEPS = 12
# A search of fewer products than these is done before another thread has woken up.
_FEW_PRODUCTS = 2e7


class LMNN(ClassReduction):
    """Learns a linear map L for nearest neighbours: |L(x - x')| is a Mahalanobis distance fitted to classes.

    It minimises the squared distances of each row to its k targets (the nearest rows of its class, fixed at the start)
    and, for each impostor (a row of another class that is nearer than a target plus 1), by how much it is too near:

        (1 - m) sum |L(x_i - x_j)|^2 + m sum max(0, 1 + |L(x_i - x_j)|^2 - |L(x_i - x_l)|^2) + alpha n |L - L_0|^2.

    The last part keeps L near its start L_0 where the rows do not say otherwise (the unit of length is the mean
    distance to targets then): many coefficients fitted to few rows can make a good distance worse. L is square, or has
    `n_components` rows. L-BFGS takes some steps, then impostors are searched anew, until the loss no longer falls. At
    the start L is a multiple of the identity, or of the principal axes if it has fewer rows. Use it
    before `KNNClassifier` in a pipeline.

    Attributes
    ----------
    components_ : array (components, columns), the map L; Euclidean distance after `transform` is the learned one
    classes_ : array of the class labels
    loss_ : the loss at the end, per row
    n_iter_ : steps of L-BFGS
    n_impostors_ : pairs of a row and an impostor within its margin at the end

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.neighbours import LMNN, KNNClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(100) % 2
    >>> X = np.column_stack([y + 0.2 * rng.normal(size=100), 5.0 * rng.normal(size=100)])
    >>> lmnn = LMNN().fit(X, y)
    >>> before, after = (KNNClassifier(3).fit(Z, y).leave_one_out(3)[2] for Z in (X, lmnn.transform(X)))
    >>> bool(after < before)
    True
    """

    _needs_classes = True
    _first = "n_neighbors"

    n_neighbors: int = param(3, Integer(1), "Targets of each row (k).")
    n_components: int | None = param(None, Integer(1) | Nothing(), "Rows of L; None for as many as columns.")
    push: float = param(0.5, Real(0, 1, "neither"), "Weight m of the impostors, against 1 - m of the targets.")
    alpha: float = param(0.1, Real(0), "Strength of the squared penalty on how far L is from its start, per row.")
    max_impostors: int = param(30, Integer(1), "The nearest rows of other classes that are looked at for each row.")
    max_iter: int = param(60, Integer(1), "Most steps of L-BFGS.")
    tol: float = param(1e-4, Real(0), "Stop when the loss falls by less than this share between two searches.")
    trace: bool = trace_param()
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any) -> LMNN:
        """Learn the map from rows and their classes."""
        self._check_parameters()
        codes = self._codes(y)
        rows, _ = self._begin(X)
        check_lengths(type(self).__name__, rows.shape[0], codes.shape[0])
        if self.classes_.shape[0] < 2:
            raise DataError(
                type(self).__name__,
                "y",
                "must hold at least 2 classes",
                f"got {self.classes_.shape[0]} class",
                "check the target column",
            )
        self.mean_ = rows.mean(axis=0)
        centred, trace = np.ascontiguousarray(rows - self.mean_), self._new_trace()
        with one_blas_thread():
            components = start = self._start(centred)
            targets = self._targets(centred, codes)
            unit = self._unit(components, centred, targets)
            centred *= unit
            self.n_iter_, before = 0, np.inf
            impostors = self._impostors(centred @ components.T, codes)
            while True:
                components, loss, steps = self._descend(components, start, centred, targets, impostors)
                self.n_iter_ += steps
                trace.record("round", steps=self.n_iter_, loss=loss / rows.shape[0])
                z = centred @ components.T
                found = self._impostors(z, codes)
                met = _union(impostors, found)
                grew = (met >= 0).sum() > (impostors >= 0).sum() * (1.0 + self.tol)
                if self.n_iter_ >= self.max_iter or steps == 0 or (not grew and loss >= (1.0 - self.tol) * before):
                    break
                before, impostors = loss, met
        self.components_, self.loss_ = components * unit, loss / rows.shape[0]
        self.n_impostors_ = _within_margin(z, targets, found)
        self._keep_trace(trace)
        return self

    def _threads(self, rows: np.ndarray) -> int:
        return 1 if rows.shape[0] * rows.size < _FEW_PRODUCTS else thread_count(self.n_jobs)

    def _codes(self, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError("LMNN: requires y to be passed, but the target y is None; give one class per row.")
        labels = column_or_1d(y, warn=True)
        self.classes_, codes = distinct_labels(type(self).__name__, labels)
        return codes

    def _start(self, centred: np.ndarray) -> np.ndarray:
        d = centred.shape[1]
        wanted = d if self.n_components is None else self.n_components
        if wanted > d:
            raise ParameterError(
                type(self).__name__, "parameter 'n_components'", f"must be at most {d}, the columns", f"got {wanted}"
            )
        if wanted == d:
            return np.eye(d)
        axes = PrincipalAxes.of(column_products(centred, threads=1)[:-1, :-1], 0.0).directions.T[:wanted]
        return np.vstack([axes, np.zeros((wanted - axes.shape[0], d))])

    def _targets(self, centred: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The k nearest rows of the same class of each row, -1 where there are fewer."""
        targets = np.full((centred.shape[0], self.n_neighbors), -1, dtype=np.int64)
        for k in range(self.classes_.shape[0]):
            mine = np.flatnonzero(codes == k)
            count = min(self.n_neighbors, mine.size - 1)
            if count > 0:
                index = NeighbourIndex(np.ascontiguousarray(centred[mine]), Euclidean())
                targets[mine, :count] = mine[index.nearest_to_itself(count, self._threads(centred))[0]]
        return targets

    def _unit(self, components: np.ndarray, centred: np.ndarray, targets: np.ndarray) -> float:
        """What brings targets to a mean squared distance of 1, the unit of the margin."""
        z, known = centred @ components.T, targets >= 0
        rows = np.repeat(np.arange(z.shape[0])[:, None], targets.shape[1], axis=1)[known]
        apart = ((z[rows] - z[targets[known]]) ** 2).sum(axis=1)
        spread = float(apart.mean()) if apart.size and apart.any() else float((z**2).sum(axis=1).mean())
        return 1.0 / float(np.sqrt(spread)) if spread > 0 else 1.0

    def _impostors(self, z: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The nearest rows of other classes of each row."""
        found = np.full((z.shape[0], self.max_impostors), -1, dtype=np.int64)
        for k in range(self.classes_.shape[0]):
            mine, others = np.flatnonzero(codes == k), np.flatnonzero(codes != k)
            count = min(self.max_impostors, others.size)
            index = NeighbourIndex(np.ascontiguousarray(z[others]), Euclidean())
            nearest = index.nearest(np.ascontiguousarray(z[mine]), count, self._threads(z))[0]
            found[mine, :count] = others[nearest]
        return found

    def _descend(
        self,
        components: np.ndarray,
        start: np.ndarray,
        centred: np.ndarray,
        targets: np.ndarray,
        impostors: np.ndarray,
    ) -> tuple[np.ndarray, float, int]:
        """Some steps of L-BFGS with these impostors: the map, its loss, and how many steps."""
        shape, threads = components.shape, thread_count(self.n_jobs)
        strength = float(self.alpha) * centred.shape[0]

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            now = flat.reshape(shape)
            z, moved = np.ascontiguousarray(centred @ now.T), now - start
            value, gradient = _kernels.large_margin_loss(z, targets, impostors, self.push, threads)
            total = value + strength * float((moved * moved).sum())
            return total, (gradient.T @ centred + 2.0 * strength * moved).ravel()

        steps = min(_STEPS, self.max_iter - self.n_iter_)
        options = {"maxiter": steps, "maxcor": 10}
        found = minimize(loss, components.ravel(), jac=True, method="L-BFGS-B", options=options)
        return found.x.reshape(shape), float(found.fun), int(found.nit)

    def explain(self) -> list[str]:
        """What was learned, in words."""
        check_is_fitted(self)
        size = self.components_.shape[0]
        return [f"A map to {size} columns by {self.n_iter_} steps; {self.n_impostors_} impostors are left in margins."]

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Searches over all pairs of rows, and losses over targets and impostors."""
        n, d = float(n_rows), float(n_features)
        q = d if self.n_components is None else float(self.n_components)
        searches, pairs = self.max_iter / _STEPS + 2.0, self.n_neighbors + self.max_impostors
        seconds = 3e-11 * searches * n * n * q + 1.5 * self.max_iter * n * (1e-9 * pairs * q + 2e-10 * q * d)
        return Cost(seconds=1e-5 + seconds, bytes=8.0 * n * (4 * d + 2 * q + 3 * pairs))


def _union(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The row numbers in either of two padded lists, for each row; once each, padded with -1."""
    both = -np.sort(-np.concatenate([first, second], axis=1), axis=1)
    both[:, 1:][both[:, 1:] == both[:, :-1]] = -1
    both = -np.sort(-both, axis=1)
    return np.ascontiguousarray(both[:, : max(1, int((both >= 0).sum(axis=1).max()))])


def _within_margin(z: np.ndarray, targets: np.ndarray, impostors: np.ndarray) -> int:
    """How many pairs of a row and an impostor are within the margin of the row."""
    last = np.where(targets >= 0, ((z[:, None] - z[targets]) ** 2).sum(axis=2), -np.inf).max(axis=1)
    return sum(
        int(((((z - z[one]) ** 2).sum(axis=1) < 1.0 + last) & (one >= 0)).sum())
        for one in np.ascontiguousarray(impostors.T)
    )
