"""The mixtures family: rows made by one of several distributions, found by expectation-maximisation."""

from .gaussian_mixture import GaussianMixture

__all__ = ["GaussianMixture"]
