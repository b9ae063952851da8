"""Densities without a form given in advance: histograms, kernels, nearest neighbours; and classifiers made of them."""

from .density_classifier import DensityClassifier
from .grid import DensityGrid
from .histogram_density import HistogramDensity
from .knn_density import KNNDensity
from .naive_density import NaiveDensity
from .parzen_density import ParzenDensity

__all__ = ["DensityClassifier", "DensityGrid", "HistogramDensity", "KNNDensity", "NaiveDensity", "ParzenDensity"]
