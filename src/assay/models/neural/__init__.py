"""Neural networks: multilayer perceptrons in compiled epochs, convolutional networks on PyTorch."""

from .mlp import MLPClassifier, MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]
