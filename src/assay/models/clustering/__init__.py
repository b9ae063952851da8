"""The clustering family: rows that belong together, found without a target."""

from .dbscan import DBSCAN, KDistances, k_distances
from .divisive import Divisive
from .hdbscan import HDBSCAN
from .hierarchical import Hierarchical
from .k_means import KMeans

__all__ = ["DBSCAN", "HDBSCAN", "Divisive", "Hierarchical", "KDistances", "KMeans", "k_distances"]
