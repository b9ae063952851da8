"""Regularised discriminant analysis: between a covariance per class, one for all, and spheres."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import softmax

from ... import _kernels
from ...base.cost import Cost
from ...base.errors import ParameterError
from ...base.folds import Fold, Transforms
from ...base.parameters import Nothing, Real, param
from ...base.threads import thread_count
from ...numeric.class_scatter import ClassScatter
from .discriminant import SINGULAR, GaussianDiscriminant, Training, divisor

LEVELS = (0.0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""The shares that are tried: of the sphere in the whole, and of the pooled covariance in what is left."""


class RDA(GaussianDiscriminant):
    """Discriminant analysis with covariances S'_k = alpha s2 I + beta S + (1 - alpha - beta) S_k.

    S_k is the covariance of the class, S that of all classes around their means and s2 the mean of its diagonal. At the
    corners it is QDA (alpha = beta = 0), LDA (beta = 1) and the nearest mean (alpha = 1, with equal priors). What is
    None is chosen by leave-one-out: each training row is predicted without itself, exactly and without refitting, as
    leaving out one row takes one rank from the covariances; the least squared error of the probabilities wins, and of
    equal ones the simplest. Columns enter with the scale they have: standardise them first.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.bayes import RDA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 8))
    >>> y = np.repeat(["a", "b"], 30)
    >>> X[30:] += 1.0
    >>> model = RDA().fit(X, y)
    >>> model.chosen()
    {'alpha': 0.75, 'beta': 0.25}
    """

    _learned = {
        "covariance_": "array (classes, columns, columns)",
        "whitening_": "factors F with F F' the inverse of each covariance",
        "alpha_, beta_": "the shares in use",
        "loo_errors_": "array (tried, 3): alpha, beta and the squared error of leave-one-out, if something was chosen",
    }

    _by_batches = False  # leave-one-out sees every row again

    alpha: float | None = param(None, Real(0, 1) | Nothing(), "Share of the sphere s2 I; None to choose it.")
    beta: float | None = param(None, Real(0, 1) | Nothing(), "Share of the covariance of all classes; None to choose.")

    def _covariances(self, sums: ClassScatter, training: Training) -> np.ndarray:
        if self.alpha is not None and self.beta is not None and self.alpha + self.beta > 1 + 1e-12:
            raise ParameterError(
                "RDA", "parameter 'alpha'", "and 'beta' must not sum to more than 1", f"got {self.alpha} + {self.beta}"
            )
        scatter, weight, classes = sums.scatter(), sums.class_weight, sums.class_weight.shape[0]
        live = ~self.constant_
        pooled = scatter.sum(axis=0) / divisor(float(weight.sum()), classes, self.unbiased)
        own = np.array([one / divisor(float(w), 1.0, self.unbiased) for one, w in zip(scatter, weight)])
        sphere = float(np.diag(pooled)[live].mean()) if live.any() else 0.0
        tried = self._candidates()
        if sum(map(len, tried.values())) == 1 or classes < 2 or not live.any():
            mix, (alpha, *_) = max(tried.items())
            beta = (1.0 - alpha) * mix if self.beta is None else self.beta
        else:
            errors = [
                (alpha, (1.0 - alpha) * mix, error)
                for mix, alphas in tried.items()
                for alpha, error in zip(alphas, self._left_out(sums, training, mix, np.array(alphas)))
            ]
            self.loo_errors_ = np.array(errors)
            least = self.loo_errors_[:, 2].min()
            alpha, beta = max((a, b) for a, b, error in errors if error <= least * (1 + 1e-9))
        self.alpha_, self.beta_ = float(alpha), float(beta)
        identity = sphere * np.diag(live.astype(float))
        rest = 1.0 - self.alpha_ - self.beta_
        return self.alpha_ * identity + self.beta_ * pooled + (rest if rest > 1e-12 else 0.0) * own

    def _predict_folds(
        self, X: np.ndarray, y: Any, folds: Sequence[Fold], transforms: Transforms = None
    ) -> Iterator[np.ndarray | None] | None:
        """Only where nothing is chosen: what the folds chose is part of their answer, and only models tell it."""
        if self.alpha is None or self.beta is None:
            return None
        return super()._predict_folds(X, y, folds, transforms)

    def _candidates(self) -> dict[float, list[float]]:
        """For each share of S in what is not sphere, the shares of the sphere to try."""
        if self.alpha is not None:
            rest = 1.0 - self.alpha
            mixes = LEVELS if self.beta is None else (self.beta / rest if rest > 0 else 0.0,)
            return {mix: [self.alpha] for mix in (mixes if rest > 0 else mixes[:1])}
        if self.beta is None:
            return {mix: list(LEVELS) if mix == 0.0 else list(LEVELS[:-1]) for mix in LEVELS}
        if self.beta == 1.0:
            return {1.0: [0.0]}
        tried: dict[float, list[float]] = {}
        for alpha in LEVELS:
            if alpha + self.beta <= 1.0 and alpha < 1.0:
                tried.setdefault(self.beta / (1.0 - alpha), []).append(alpha)
        return tried

    def _left_out(self, sums: ClassScatter, training: Training, mix: float, alphas: np.ndarray) -> np.ndarray:
        """The squared error of the probabilities of each row, from the other rows, for each share of the sphere."""
        rows, codes, weights = training()
        live = np.flatnonzero(~self.constant_)
        square = np.ix_(live, live)
        scatter = [np.ascontiguousarray(one[square]) for one in sums.scatter()]
        pooled, means, size = np.sum(scatter, axis=0), self.means_[:, live], self.class_count_
        floor, classes, threads = self._floor[live], size.shape[0], thread_count(self.n_jobs)
        # A row stands for as many as its weight says; one of them is left out.
        one = 1.0 if weights is None else min(1.0, float(weights.min()))
        total = float(size.sum())
        freedom = divisor(total - one, classes, self.unbiased)
        errors = np.zeros(alphas.shape[0])
        for k in range(classes):
            mine = codes == k
            x, left = rows[mine][:, live], float(size[k]) - one
            apart = np.ascontiguousarray(x - means[k])
            lost = one * size[k] / left if left > 0 else 0.0
            spheres = (np.trace(pooled) - lost * (apart**2).sum(axis=1)) / (freedom * live.size)
            spheres = np.maximum(spheres, 1e-300)
            log_prior = self._left_out_priors(k, one)
            scores = np.full((x.shape[0], alphas.shape[0], classes), -np.inf)
            for j in range(classes):
                if j == k and left <= 0:
                    continue
                own = divisor(left if j == k else float(size[j]), 1.0, self.unbiased)
                matrix = mix * pooled / freedom + (1.0 - mix) * scatter[j] / own
                values, vectors = np.linalg.eigh(matrix)
                if values[0] < SINGULAR * values[-1]:
                    values, vectors = np.linalg.eigh(matrix + np.diag(floor))
                w = apart @ vectors
                y = w * (size[k] / left) if j == k else (x - means[j]) @ vectors
                c = lost * (mix / freedom + ((1.0 - mix) / own if j == k else 0.0))
                found = _kernels.leave_one_out_scores(
                    np.ascontiguousarray(y),
                    np.ascontiguousarray(w),
                    values,
                    np.maximum(spheres, 1e-300),
                    c,
                    alphas,
                    threads,
                )
                scores[:, :, j] = found + log_prior[j]
            with np.errstate(invalid="ignore"):
                chances = np.nan_to_num(softmax(scores, axis=2))
            chances[:, :, k] -= 1.0
            squared = (chances**2).sum(axis=2)
            errors += squared.sum(axis=0) if weights is None else weights[mine] @ squared
        return errors / total

    def _left_out_priors(self, k: int, one: float) -> np.ndarray:
        priors = self.priors_
        if self.priors is None:
            size = self.class_count_.copy()
            size[k] -= one
            priors = np.maximum(size, 0.0) / max(size.sum(), 1e-300)
        with np.errstate(divide="ignore"):
            return np.log(priors)

    def chosen(self) -> dict[str, int | float | str]:
        """The shares that leave-one-out chose."""
        found: dict[str, int | float | str] = {}
        for name in ("alpha", "beta"):
            if getattr(self, name) is None:
                found[name] = float(getattr(self, f"{name}_"))
        return found

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Sums of products, and rows seen from the axes of each candidate."""
        cost = super().estimate_cost(n_rows, n_features, n_outputs)
        if self.alpha is not None and self.beta is not None:
            return cost
        n, d = float(n_rows), float(n_features)
        mixes, alphas = len(self._candidates()), sum(map(len, self._candidates().values()))
        return Cost(
            seconds=cost.seconds + n * (1e-9 * mixes * d * d + 1e-8 * alphas * d), bytes=cost.bytes + 40 * n * d
        )
