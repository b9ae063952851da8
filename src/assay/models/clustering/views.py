"""What clusterings look like: sizes and profiles of the clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...base import svg
from ...base.columns import column_names
from ...base.drawings import matrix_figure, shares_figure
from ...base.record import Grid
from ...base.views import View
from ...base.words import clean, compact, number
from ...numeric.moments import deviation_or_one


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
        centre = cells.mean(axis=0)
        scaled = (cells - centre) / deviation_or_one(spread, centre)
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


@dataclass(frozen=True, kw_only=True)
class Dendrogram(View):
    """The merges of a hierarchy: two clusters, height and size each; drawn down to the last `most` merges."""

    kind: ClassVar[str] = "dendrogram"
    merges: list[list[float]]
    linkage: str = ""
    clusters: int = 1
    most: int = 40

    def _shown(self) -> tuple[list[list[float]], int, int]:
        """The merges that are drawn, how many there are, and the number of rows."""
        total = len(self.merges)
        return self.merges[max(0, total - self.most) :], total, total + 1

    def _layout(self) -> tuple[dict[int, float], list[tuple[int, str]]]:
        """Where each drawn cluster stands from left to right, and the leaves with their words."""
        shown, total, n = self._shown()
        first = total - len(shown)
        names = {n + first + t: merge for t, merge in enumerate(shown)}
        places: dict[int, float] = {}
        leaves: list[tuple[int, str]] = []
        stack: list[tuple[int, bool]] = [(2 * n - 2, False)] if shown else [(0, False)]
        while stack:
            node, done = stack.pop()
            if node not in names:
                places[node] = float(len(leaves))
                size = 1 if node < n else int(self.merges[node - n][3])
                leaves.append((node, str(node) if size == 1 else f"({compact(size)})"))
            elif done:
                places[node] = (places[int(names[node][0])] + places[int(names[node][1])]) / 2
            else:
                stack += [(node, True), (int(names[node][1]), False), (int(names[node][0]), False)]
        return places, leaves

    def to_svg(self, title: str = "") -> str:
        """Merges as brackets at their heights; a merge below its parts (an inversion) hangs below them."""
        shown, total, n = self._shown()
        places, leaves = self._layout()
        first = total - len(shown)
        width, height, left, bottom = max(320.0, 60.0 + 22.0 * len(leaves)), 300.0, 48.0, 250.0
        top = max([merge[2] for merge in shown], default=1.0) or 1.0

        def across(node: int) -> float:
            return left + 14.0 + places[node] * (width - left - 28.0) / max(len(leaves) - 1, 1)

        def up(value: float) -> float:
            return bottom - (bottom - 20.0) * value / top

        def level(node: int) -> float:
            return self.merges[node - n][2] if node in places and node >= n + first else 0.0

        body = []
        for value in svg.ticks(0.0, top, 5):
            body.append(svg.line(left, up(value), width - 8, up(value)))
            body.append(svg.text(left - 6, up(value) + 4, number(value), "muted", 11, "end"))
        for t, merge in enumerate(shown):
            a, b = int(merge[0]), int(merge[1])
            token = "muted" if first + t >= total - (self.clusters - 1) else "accent"
            y = up(merge[2])
            body += [svg.line(across(c), up(level(c)), across(c), y, token, 1.5) for c in (a, b)]
            body.append(svg.line(across(a), y, across(b), y, token, 1.5))
        for node, words in leaves:
            body.append(svg.text(across(node), bottom + 16, words, "muted", 10, "middle"))
        words = f"Heights of the last {len(shown)} of {total} merges; numbers in brackets are rows of a cluster."
        return svg.figure(body, width, height, title or f"Dendrogram, {self.linkage} linkage", words)

    def inversions(self) -> int:
        """How many merges are lower than the one before them that made one of their parts."""
        n = len(self.merges) + 1
        parts = [(merge[2], int(c)) for merge in self.merges for c in merge[:2] if c >= n]
        return sum(height < self.merges[c - n][2] for height, c in parts)

    @property
    def how_to_read(self) -> str:
        """What heights mean, and inversions if there are some."""
        text = f"Two clusters are joined at the height of their distance ({self.linkage} linkage)."
        found = self.inversions()
        return text + (f" {found} merges are lower than one of their parts (inversions)." if found else "")

    def grid(self) -> Grid:
        """The last merges."""
        shown, total, _ = self._shown()
        first = total - len(shown)
        lines = [
            [str(first + t), f"{int(m[0])} and {int(m[1])}", number(m[2]), str(int(m[3]))] for t, m in enumerate(shown)
        ]
        return Grid(["merge", "clusters", "height", "rows"], lines, left=2)
