"""A graph drawn: places by springs, nodes coloured by label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...base import svg
from ...base.randomness import Stream
from ...base.record import Grid
from ...base.views import View
from ...base.words import clean, number
from .graph import Graph

MOST_NODES = 400


@dataclass(frozen=True, kw_only=True)
class GraphDrawing(View):
    """Nodes at their places (from 0 to 1), edges between them, and a label of each node."""

    kind: ClassVar[str] = "graph"
    places: list[list[float]]
    edges: list[list[int]]
    labels: list[int]
    names: list[str]

    @classmethod
    def of(cls, graph: Any, labels: Any = None, random_state: Any = 0) -> GraphDrawing:
        """The drawing of a graph, of its first nodes if there are more than 400.

        >>> GraphDrawing.of(Graph.from_edges([(0, 1), (1, 2)])).to_svg().count("<circle")
        3
        """
        whole = Graph.of(graph)
        kept = np.arange(min(whole.n_nodes, MOST_NODES))
        part = whole if kept.size == whole.n_nodes else Graph(whole.adjacency[kept][:, kept].tocsr())
        colours = np.zeros(kept.size, dtype=int) if labels is None else np.asarray(labels)[kept]
        names = list(whole.names[: kept.size]) or [str(i) for i in kept]
        places = spring_layout(part, random_state)
        return cls(places=places.tolist(), edges=part.edges()[0].tolist(), labels=colours.tolist(), names=names)

    def to_svg(self, title: str = "") -> str:
        """Lines and circles; the colour of a circle is its label."""
        size, pad = 440.0, 20.0
        at = [[pad + (size - 2 * pad) * v for v in place] for place in self.places]
        body = [svg.line(at[a][0], at[a][1], at[b][0], at[b][1], "edge") for a, b in self.edges]
        for (x, y), label, name in zip(at, self.labels, self.names):
            token = "muted" if label < 0 else svg.class_token(label)
            mark = f'<circle cx="{svg.num(x)}" cy="{svg.num(y)}" r="5"{svg.paint(token)}>'
            body.append(f"{mark}<title>{svg.escape(clean(name, 60))}</title></circle>")
        return svg.figure(body, size, size, title or "Graph", self.how_to_read)

    @property
    def how_to_read(self) -> str:
        """How many nodes and edges."""
        return (
            f"{len(self.places)} nodes and {len(self.edges)} edges; nodes that share edges are drawn near each other."
        )

    def grid(self) -> Grid:
        """Node, label and place."""
        lines = [
            [clean(name, 60), str(label), number(x), number(y)]
            for name, label, (x, y) in zip(self.names, self.labels, self.places)
        ]
        return Grid(["node", "label", "x", "y"], lines)


def spring_layout(graph: Graph, random_state: Any = 0, steps: int = 60) -> np.ndarray:
    """Places in the unit square where edges pull and nodes push (Fruchterman & Reingold, 1991).

    >>> spring_layout(Graph.from_edges([(0, 1)])).shape
    (2, 2)
    """
    n = graph.n_nodes
    places = Stream.of(random_state).generator().uniform(size=(n, 2))
    if n < 2:
        return np.full((n, 2), 0.5)
    pairs, _ = graph.edges()
    ideal, heat = np.sqrt(1.0 / n), 0.1
    for _ in range(steps):
        gaps = places[:, None, :] - places
        away = np.maximum(np.linalg.norm(gaps, axis=2), 1e-3)
        moves = (gaps * (ideal**2 / away**2)[:, :, None]).sum(axis=1)
        pull = places[pairs[:, 0]] - places[pairs[:, 1]]
        force = pull * (np.linalg.norm(pull, axis=1, keepdims=True) / ideal)
        np.add.at(moves, pairs[:, 0], -force)
        np.add.at(moves, pairs[:, 1], force)
        length = np.maximum(np.linalg.norm(moves, axis=1, keepdims=True), 1e-9)
        places = places + moves / length * np.minimum(length, heat)
        heat *= 0.95
    low, high = places.min(axis=0), places.max(axis=0)
    return (places - low) / np.where(high > low, high - low, 1.0)
