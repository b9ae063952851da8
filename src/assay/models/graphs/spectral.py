"""Spectral clustering: k-means on eigenvectors of the graph of near rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import Cost, DataError, Integer, param, random_state_param, thread_count
from ...base.columns import renumber_by_first
from ...base.threads import one_blas_thread
from ..clustering import KMeans
from .eigen import largest_eigenpairs
from .graph import similarities
from .graph_clusterer import GraphClusterer


class Spectral(GraphClusterer):
    """Spectral clustering of Ng, Jordan and Weiss (2001).

    The k largest eigenvectors of D^-1/2 A D^-1/2, with rows scaled to length 1, are clustered by k-means; clusters
    may have
    any shape. The graph of near rows is sparse, and a block of vectors is filtered by Chebyshev polynomials, so
    memory grows with the edges; `affinity="rbf"` joins all pairs and says what that costs before it starts.

    {parameters}

    Attributes
    ----------
    labels_, eigenvalues_ (of the normalised adjacency), embedding_

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.graphs import Spectral
    >>> rings = [[r * np.cos(a), r * np.sin(a)] for r in (1, 4) for a in np.linspace(0, 6.2, 60)]
    >>> labels = Spectral(2, n_neighbors=5, random_state=0).fit(rings).labels_
    >>> labels[:60].max(), labels[60:].min()
    (np.int32(0), np.int32(1))
    """

    _first = "n_clusters"
    _way_out = "use affinity='nearest-neighbours', or k-means"

    n_clusters: int = param(8, Integer(1), "How many clusters.")
    n_init: int = param(10, Integer(1), "Restarts of k-means on the eigenvectors.")
    random_state: Any = random_state_param()

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Eigenvectors by products with a sparse matrix; n^2 memory for affinity='rbf'."""
        pairs = float(n_rows) ** 2 if self.affinity == "rbf" else 40.0 * n_rows
        work = 3e-7 * pairs * (self.n_clusters + 6) / 10
        return Cost(seconds=work + 2e-8 * n_rows * n_features, bytes=60.0 * pairs + 8.0 * n_rows * (n_features + 60))

    def fit(self, X: Any, y: Any = None) -> Spectral:
        """Embed the rows and cluster them; `y` is not used."""
        weights = self._affinities(X)
        n_nodes = weights.shape[0]
        if n_nodes < self.n_clusters:
            raise DataError(
                type(self).__name__,
                "X",
                f"must have at least n_clusters={self.n_clusters} rows",
                f"got n_samples={n_nodes}",
                "ask for fewer clusters",
            )
        degrees = np.asarray(weights.sum(axis=1)).ravel()
        scale = 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
        with one_blas_thread():
            if isinstance(weights, np.ndarray):
                weights *= scale[:, None]
                weights *= scale
            else:
                weights.data *= np.repeat(scale, np.diff(weights.indptr))
                weights.data *= scale[weights.indices]
            self.eigenvalues_, vectors = largest_eigenpairs(
                weights, self.n_clusters, -1.0, 1.0, threads=thread_count(self.n_jobs)
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        self.embedding_ = np.ascontiguousarray(vectors / np.where(lengths > 1e-300, lengths, 1.0))
        random = self._stream().generator()
        model = KMeans(self.n_clusters, n_init=self.n_init, random_state=random, n_jobs=self.n_jobs)
        self.labels_ = renumber_by_first(model.fit(self.embedding_).labels_)
        return self

    def _affinities(self, X: Any) -> Any:
        """The weights between the rows, for us alone: an array where every pair has one, else sparse."""
        if self.affinity != "rbf":
            return self._graph(X).adjacency.copy()
        rows, _ = self._begin(X)
        return similarities(rows, self.gamma, thread_count(self.n_jobs))
