"""What clusterings look like: sizes and profiles of the clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...base.columns import column_names
from ...base.drawings import matrix_figure, shares_figure
from ...base.record import Grid
from ...base.views import View
from ...base.words import clean, compact, number


@dataclass(frozen=True, kw_only=True)
class Clusters(View):
    """How many rows each cluster has, and where its centre lies in each column; `noise` are rows in no cluster."""

    kind: ClassVar[str] = "clusters"
    sizes: list[int]
    names: list[str] | None = None
    centres: list[list[float]] | None = None
    noise: int | None = None

    def _labels(self) -> list[str]:
        return [f"cluster {k}" for k in range(len(self.sizes))]

    def to_svg(self, title: str = "") -> str:
        """Centres as a shaded grid (each column in units of its spread over the centres), or bars of the sizes."""
        if self.centres is None or self.names is None or not 1 < len(self.sizes) <= 12:
            words = [compact(size) for size in self.sizes]
            return shares_figure(self._labels(), self.sizes, title=title or "Rows of each cluster", words=words)
        cells = np.array(self.centres)
        spread = cells.std(axis=0)
        order = np.argsort(-spread / np.maximum(np.abs(cells).max(axis=0), 1e-300), kind="stable")[:20]
        scaled = (cells - cells.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return matrix_figure(
            np.abs(scaled[:, order]).T.tolist(),
            [self.names[j] for j in order],
            self._labels(),
            title=title or "How far each centre lies from the mean of the centres, in standard deviations",
            corner="column",
        )

    @property
    def how_to_read(self) -> str:
        """Sizes in words."""
        sizes = sorted(self.sizes, reverse=True)
        text = f"{len(sizes)} clusters of {compact(sizes[0])} to {compact(sizes[-1])} rows." if sizes else "No cluster."
        return text + (f" {compact(self.noise)} rows belong to none." if self.noise else "")

    def grid(self) -> Grid:
        """Rows and centre of each cluster."""
        names = self.names or []
        lines = [
            [label, compact(size), *(number(v) for v in (self.centres[k] if self.centres else []))]
            for k, (label, size) in enumerate(zip(self._labels(), self.sizes))
        ]
        return Grid(["", "rows", *(clean(name, 40) for name in (names if self.centres else []))], lines)


def clusters_view(model: Any) -> Clusters:
    """The view of a fitted clustering, with its centres if it has some."""
    labels = model.labels_
    centres = getattr(model, "cluster_centers_", None)
    count = len(centres) if centres is not None else int(labels.max(initial=-1)) + 1
    noise = int((labels < 0).sum())
    return Clusters(
        sizes=np.bincount(labels[labels >= 0], minlength=count).tolist(),
        names=None if centres is None else column_names(model),
        centres=None if centres is None else centres.tolist(),
        noise=noise or None,
    )
