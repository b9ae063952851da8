"""Communities of a graph by modularity: Louvain and Leiden."""

from __future__ import annotations

from typing import Any

from ... import _kernels
from ...base import Boolean, Cost, Integer, Real, param, random_state_param, thread_count, trace_param
from .graph_clusterer import GraphClusterer


class Louvain(GraphClusterer):
    """Communities with more edges inside than chance would put there (modularity).

    Nodes move to the neighbouring community that raises modularity most; communities become nodes of a smaller
    graph, and
    so on. With `refine=True` communities are cut into well connected parts before that (Leiden), so that none is
    disconnected. The order of the nodes comes from the seed.

    {parameters}

    Attributes
    ----------
    labels_, modularity_, levels_ (modularity after each level)

    Examples
    --------
    >>> from assay.models.graphs import Graph, Louvain
    >>> pairs = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
    >>> model = Louvain(affinity="precomputed", random_state=0).fit(Graph.from_edges(pairs).adjacency)
    >>> model.labels_, round(model.modularity_, 4)
    (array([0, 0, 0, 1, 1, 1], dtype=int32), 0.3571)
    """

    resolution: float = param(1.0, Real(0, None, "neither"), "More than 1 gives more and smaller communities.")
    refine: bool = param(False, Boolean(), "Leiden: refine communities before they become nodes.")
    n_rounds: int = param(10, Integer(1), "Most rounds over all levels, each from the result of the one before.")
    random_state: Any = random_state_param()
    trace: bool = trace_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A search for neighbours, and a few passes over thirty edges for each row."""
        pairs = float(n_rows) ** 2 if self.affinity == "rbf" else 30.0 * n_rows
        return Cost(seconds=1e-7 * pairs + 1e-7 * n_rows * n_features, bytes=60.0 * pairs + 16.0 * n_rows * n_features)

    def fit(self, X: Any, y: Any = None) -> Louvain:
        """Find communities; `y` is not used."""
        graph, trace = self._graph(X), self._new_trace()
        start, to, weight = graph.arrays()
        settings = (float(self.resolution), bool(self.refine), self.n_rounds, self._stream().key)
        labels, levels = _kernels.communities(start, to, weight, *settings, thread_count(self.n_jobs))
        self.labels_, self.levels_ = labels, levels
        self.modularity_ = float(_kernels.modularity(start, to, weight, labels, settings[0]))
        for value in levels:
            trace.record("level", modularity=float(value))
        self._keep_trace(trace)
        return self
