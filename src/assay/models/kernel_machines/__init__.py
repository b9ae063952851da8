"""Kernel machines: support vector machines for classes, numbers and one class, kernel ridge and kernel perceptron."""

from .kernel_perceptron import KernelPerceptron
from .kernel_ridge import KernelRidge
from .one_class_svm import OneClassSVM
from .svm_classifier import SVMClassifier
from .svm_regressor import SVMRegressor

__all__ = ["KernelPerceptron", "KernelRidge", "OneClassSVM", "SVMClassifier", "SVMRegressor"]
