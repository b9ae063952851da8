"""Principal components, with the views that say how many to keep and which rows they do not describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special
from sklearn.utils.validation import check_is_fitted

from ..base import Boolean, Choice, Cost, DataError, Integer, Nothing, ParameterError, Real, param
from ..base import svg as svg
from ..base.plotting import axes, paint_svg
from ..base.record import Grid, TableRecord
from ..base.words import number, percent
from ..numeric.moments import PrincipalAxes, deviation_or_one, weighted_mean
from .reduction import Reduction, settle_signs

_MATRIX_BYTES = 8.0


class _Figure(TableRecord):
    """A table with a figure."""

    def to_svg(self) -> str:
        """The figure, for pages."""
        raise NotImplementedError  # pragma: no cover

    def plot(self, ax: Any = None) -> Any:
        """The figure on axes of matplotlib, which are given back."""
        return paint_svg(self.to_svg(), axes(f"{type(self).__name__}.plot", ax))

    def to_html(self) -> str:
        """The figure."""
        return self.to_svg()


@dataclass(frozen=True)
class Scree(_Figure):
    """Variance by component: `variance`, `share` of the whole, `cumulative` share, and how many are `kept`.

    Shows itself as a table (text, HTML) and as a figure (`to_svg`, `plot`).
    """

    variance: np.ndarray
    share: np.ndarray
    cumulative: np.ndarray
    kept: int

    def grid(self) -> Grid:
        """A line for each component; those that are kept are marked."""
        lines = [
            [f"{k + 1}{' *' if k < self.kept else ''}", f"{v:.6g}", f"{s:.1%}", f"{c:.1%}"]
            for k, (v, s, c) in enumerate(zip(self.variance, self.share, self.cumulative))
        ]
        return Grid(["component", "variance", "share", "cumulative"], lines)

    def to_html(self) -> str:
        """The table and the figure."""
        return self.grid().to_html() + self.to_svg()

    def to_svg(self) -> str:
        """Bars of the shares of the first thirty components, and the line of their sum."""
        shown = min(self.share.shape[0], 30)
        width, height, left, top = 520.0, 240.0, 48.0, 16.0
        room, tall = width - left - 16, height - top - 36
        step = room / max(shown, 1)
        body = []
        for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
            y = top + tall * (1 - tick)
            body += [svg.line(left, y, width - 16, y), svg.text(left - 8, y + 4, percent(tick), "muted", 11, "end")]
        points = []
        for k in range(shown):
            bar = tall * float(self.share[k])
            tip = f"component {k + 1}: {self.share[k]:.1%}, together {self.cumulative[k]:.1%}"
            fill = "accent" if k < self.kept else "edge"
            body.append(svg.rect(left + k * step + 0.15 * step, top + tall - bar, 0.7 * step, bar, fill, tip=tip))
            points.append((left + (k + 0.5) * step, top + tall * (1 - float(self.cumulative[k]))))
        for (x1, y1), (x2, y2) in zip(points, points[1:]):  # noqa: RUF007
            body.append(svg.line(x1, y1, x2, y2, "warm", 2))
        body.append(svg.text(left + room / 2, height - 8, "component", "muted", 11, "middle"))
        kept, told = self.kept, self.cumulative[self.kept - 1]
        words = f"{kept} of {self.share.shape[0]} components are kept, {told:.1%} of the variance"
        return svg.figure(body, width, height, "Scree", words)


@dataclass(frozen=True)
class Distances(_Figure):
    """How far rows lie from the centre within the components, and how far from the components.

    `mahalanobis` is the squared distance within, `p_value` its chi-square tail if the rows were Gaussian,
    `reconstruction` the squared distance between a row and its reconstruction, and `limit` the threshold of the
    squared Mahalanobis distance at level `alpha`.
    """

    mahalanobis: np.ndarray
    p_value: np.ndarray
    reconstruction: np.ndarray
    limit: float
    alpha: float

    def grid(self) -> Grid:
        """The rows beyond the limit, the farthest first, twenty at most."""
        order = np.argsort(-self.mahalanobis, kind="stable")
        columns = (self.mahalanobis, self.p_value, self.reconstruction)
        lines = [
            [str(i), *(f"{column[i]:.4g}" for column in columns)]
            for i in order[:20].tolist()
            if self.mahalanobis[i] > self.limit
        ]
        heads = ["row", "squared Mahalanobis distance", "p-value", "squared distance from the components"]
        return Grid(heads, lines, caption=self._words())

    def _words(self) -> str:
        beyond, rows = int((self.mahalanobis > self.limit).sum()), self.mahalanobis.shape[0]
        return f"{beyond} of {rows} rows lie beyond the chi-square limit at level {self.alpha:g}"

    def to_svg(self) -> str:
        """The outlier map: distance within the components across, distance from them upwards."""
        width, height, left, top = 520.0, 340.0, 60.0, 16.0
        room, tall = width - left - 16, height - top - 44
        across, up = np.sqrt(self.mahalanobis), np.sqrt(self.reconstruction)
        most_x = max(float(across.max(initial=0.0)), np.sqrt(self.limit)) * 1.05 or 1.0
        most_y = float(up.max(initial=0.0)) * 1.05 or 1.0
        body = []
        for tick in svg.ticks(0, most_x):
            x = left + room * tick / most_x
            body += [svg.line(x, top, x, top + tall), svg.text(x, top + tall + 16, number(tick), "muted", 11, "middle")]
        for tick in svg.ticks(0, most_y):
            y = top + tall * (1 - tick / most_y)
            body += [svg.line(left, y, left + room, y), svg.text(left - 8, y + 4, number(tick), "muted", 11, "end")]
        x = left + room * np.sqrt(self.limit) / most_x
        body.append(svg.line(x, top, x, top + tall, "warm", 2, "4 3"))
        shown = np.argsort(-(across / most_x + up / most_y), kind="stable")[:2000]
        for i in np.sort(shown):
            px, py = left + room * across[i] / most_x, top + tall * (1 - up[i] / most_y)
            fill = "bad" if self.mahalanobis[i] > self.limit else "accent"
            tip = f"row {i}: {across[i]:.4g} within, {up[i]:.4g} from the components"
            body.append(svg.rect(px - 2, py - 2, 4, 4, fill, radius=2, opacity=0.7, tip=tip))
        body.append(svg.text(left + room / 2, height - 8, "Mahalanobis distance", "muted", 11, "middle"))
        body.append(svg.text(left, top - 4, "distance from the components", "muted", 11))
        return svg.figure(body, width, height, "Outlier map", self._words())


class PCA(Reduction):
    """Principal components: the directions in which rows vary most, uncorrelated and in order.

    With `matrix="correlation"` columns are divided by their standard deviation first, so that units do not matter.
    `n_components` is a number, a share of the variance to reach (such as 0.95), or "gap": as many as stand before the
    largest drop of the scree; None keeps every direction in which the rows vary. Each direction has the sign that makes
    its largest entry positive.

    Attributes
    ----------
    components_ : array (components, columns), unit vectors
    explained_variance_, explained_variance_ratio_ : variance along each kept component, and its share of the whole
    variances_ : variance along every component in which the rows vary, kept or not
    mean_, scale_ : what is subtracted from each column, and what it is then divided by
    n_components_ : number of components kept

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> from assay.prepare import PCA
    >>> X = load_dataset("iris").frame.drop("species")
    >>> pca = PCA(n_components=0.95).fit(X)
    >>> pca.n_components_, pca.explained_variance_ratio_.round(3).tolist()
    (2, [0.925, 0.053])
    >>> round(float(pca.reconstruction_error(X).mean()), 4)
    0.1014
    """

    n_components: Any = param(
        None,
        Integer(1) | Real(0, 1, "neither") | Choice("gap") | Nothing(),
        "Number of components, share of variance to reach, 'gap' for those before the largest drop, or None for all.",
    )
    matrix: str = param("covariance", Choice("covariance", "correlation"), "Whose eigenvectors are taken.")
    whiten: bool = param(False, Boolean(), "Divide the new columns by their standard deviations.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PCA:
        """Find the components of the training rows."""
        rows, weights = self._begin_weighted(X, sample_weight)
        total = float(rows.shape[0]) if weights is None else float(weights.sum())
        if total < 2 or rows.shape[0] < 1:
            raise DataError(
                "PCA", "the table", "must have at least 2 rows", f"got n_samples = {rows.shape[0]}", "add rows"
            )
        self.mean_ = weighted_mean(rows, weights)
        centred = rows - self.mean_
        root = centred if weights is None else centred * np.sqrt(weights)[:, None]
        self.scale_ = np.ones(rows.shape[1])
        if self.matrix == "correlation":
            deviation = np.sqrt(np.einsum("ij,ij->j", root, root) / (total - 1))
            self.scale_ = deviation_or_one(deviation, self.mean_)
            root = root / self.scale_
        variances, directions = _principal(root, total)
        rank = int((variances > 1e-13 * float(variances.max())).sum())
        self.variances_ = variances[: max(rank, 1)]
        self.n_components_ = self._count(variances.shape[0])
        self.components_ = settle_signs(directions[: self.n_components_])
        self.explained_variance_ = variances[: self.n_components_]
        whole = float(variances.sum())
        self.explained_variance_ratio_ = self.explained_variance_ / whole if whole > 0 else self.explained_variance_
        return self

    def _count(self, most: int) -> int:
        variances = self.variances_
        wanted = self.n_components
        if wanted is None:
            return variances.shape[0]
        if wanted == "gap":
            drops = variances[:-1] - variances[1:]
            return int(np.argmax(drops)) + 1 if drops.size else 1
        if isinstance(wanted, float):
            whole = variances.sum()
            reached = np.cumsum(variances) >= wanted * whole * (1 - 1e-12)
            return int(np.argmax(reached)) + 1 if whole > 0 else 1
        if wanted > most:
            raise ParameterError(
                "PCA", "parameter 'n_components'", f"must be at most {most} for this table", f"got {wanted}"
            )
        return int(wanted)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of rows along the components."""
        check_is_fitted(self)
        scores = (self._read(X, reset=False) - self.mean_) @ (self.components_ / self.scale_).T
        return scores / self._deviations() if self.whiten else scores

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows rebuilt from their coordinates."""
        check_is_fitted(self)
        scores = np.asarray(X, dtype=np.float64)
        if self.whiten:
            scores = scores * self._deviations()
        return (scores @ self.components_) * self.scale_ + self.mean_

    def reconstruction_error(self, X: Any) -> np.ndarray:
        """Squared distance between each row and its reconstruction, in the units of the matrix."""
        check_is_fitted(self)
        standard = (self._read(X, reset=False) - self.mean_) / self.scale_
        left = standard - (standard @ self.components_.T) @ self.components_
        return np.einsum("ij,ij->i", left, left)

    def mahalanobis(self, X: Any) -> np.ndarray:
        """Squared Mahalanobis distance of each row from the centre within the components."""
        check_is_fitted(self)
        return self._live_axes().squared_distances((self._read(X, reset=False) - self.mean_) / self.scale_)

    def _live_axes(self) -> PrincipalAxes:
        """The kept components along which the training rows vary."""
        live = self.explained_variance_ > 1e-12 * max(float(self.variances_[0]), 1e-300)
        return PrincipalAxes(self.explained_variance_[live], self.components_[live].T)

    def distances(self, X: Any, alpha: float = 0.025) -> Distances:
        """Both distances of each row with the chi-square limit: an outlier map.

        >>> from assay.data import load_dataset
        >>> from assay.prepare import PCA
        >>> X = load_dataset("iris").frame.drop("species")
        >>> far = PCA(n_components=2).fit(X).distances(X, alpha=0.01)
        >>> int((far.mahalanobis > far.limit).sum())
        1
        """
        if not 0 < alpha < 1:
            raise ParameterError("distances", "parameter 'alpha'", "must be a number > 0 and < 1", f"got {alpha}")
        squared = self.mahalanobis(X)
        live = self._live_axes().variances.size
        p = scipy.special.chdtrc(max(live, 1), squared)
        return Distances(
            squared, p, self.reconstruction_error(X), float(scipy.special.chdtri(max(live, 1), alpha)), alpha
        )

    def scree(self) -> Scree:
        """Variance by component, as a table and a figure.

        >>> from assay.data import load_dataset
        >>> from assay.prepare import PCA
        >>> print(PCA(n_components=1).fit(load_dataset("iris").frame.drop("species")).scree())
        component   variance  share  cumulative
        1 *          4.22824  92.5%       92.5%
        2           0.242671   5.3%       97.8%
        3          0.0782095   1.7%       99.5%
        4          0.0238351   0.5%      100.0%
        """
        check_is_fitted(self)
        whole = float(self.variances_.sum()) or 1.0
        share = self.variances_ / whole
        return Scree(self.variances_, share, np.cumsum(share), self.n_components_)

    def _deviations(self) -> np.ndarray:
        deviations = np.sqrt(np.maximum(self.explained_variance_, 0.0))
        floor = 1e-12 * (float(deviations.max(initial=0.0)) or 1.0)
        return np.where(deviations > floor, deviations, 1.0)

    def explain(self) -> list[str]:
        """How much the components say, in words."""
        check_is_fitted(self)
        share = float(self.explained_variance_ratio_.sum())
        return [
            f"{self.n_components_} principal components of {self.n_features_in_} columns: {share:.1%} of the variance."
        ]

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One Gram matrix and its eigenvectors, or a singular value decomposition where rows are few."""
        small, large = sorted((float(n_rows), float(n_features)))
        return Cost(
            seconds=5e-11 * large * small**2 + 1e-9 * small**3 + 4e-9 * n_rows * n_features + 1e-5,
            bytes=_MATRIX_BYTES * (2.0 * n_rows * n_features + 3.0 * small**2),
        )


def _principal(root: np.ndarray, total: float) -> tuple[np.ndarray, np.ndarray]:
    """Variances in falling order and the directions as rows.

    Many rows: eigenvectors of the covariance matrix, in O(n d^2). Otherwise the singular value decomposition, which
    does not square the condition number.
    """
    n_rows, n_columns = root.shape
    if n_rows > 10 * n_columns and n_columns <= 2000:
        values, vectors = scipy.linalg.eigh(root.T @ root / (total - 1))
        return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1].T)
    _, singular, directions = scipy.linalg.svd(root, full_matrices=False)
    return singular**2 / (total - 1), directions
