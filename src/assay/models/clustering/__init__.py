"""The clustering family: rows that belong together, found without a target."""

from .k_means import KMeans

__all__ = ["KMeans"]
