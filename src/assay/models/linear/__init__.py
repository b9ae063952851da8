"""The linear family of learners."""

from .logistic import LogisticRegression

__all__ = ["LogisticRegression"]
