"""Neural networks: multilayer perceptrons in compiled epochs, convolutional networks on PyTorch."""

from .convnet import ConvNet, Saliency
from .images import read_images
from .mlp import MLPClassifier, MLPRegressor

__all__ = ["ConvNet", "MLPClassifier", "MLPRegressor", "Saliency", "read_images"]
