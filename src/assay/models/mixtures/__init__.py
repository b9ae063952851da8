"""The mixtures family: rows made by one of several distributions, found by expectation-maximisation."""

from .gaussian_mixture import GaussianMixture
from .mixture_model import MixtureModel
from .mixture_of_factor_analysers import MixtureOfFactorAnalysers

__all__ = ["GaussianMixture", "MixtureModel", "MixtureOfFactorAnalysers"]
