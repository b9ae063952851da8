"""The clustering family: rows that belong together, found without a target."""

from .dbscan import DBSCAN, KDistances, k_distances
from .divisive import Divisive
from .hdbscan import HDBSCAN
from .hierarchical import Hierarchical
from .k_means import KMeans
from .k_medians import KMedians
from .k_medoids import KMedoids
from .k_prototypes import KPrototypes
from .kernel_k_means import KernelKMeans

__all__ = [
    "DBSCAN",
    "HDBSCAN",
    "Divisive",
    "Hierarchical",
    "KDistances",
    "KMeans",
    "KMedians",
    "KMedoids",
    "KPrototypes",
    "KernelKMeans",
    "k_distances",
]
