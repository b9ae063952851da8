"""Explanation: what a fitted model's predictions are made of.

>>> from assay.explain import shapley_values
>>> shapley_values(lambda known: 12.0 if {"a", "b"} <= known else 0.0, ["a", "b", "c"])
{'a': 6.0, 'b': 6.0, 'c': 0.0}
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .explanation import Explanation as Explanation
    from .shap import tree_shap as tree_shap
    from .shapley import shapley_values as shapley_values

__getattr__, __dir__ = lazy(
    __name__,
    {
        "explanation": "Explanation",
        "shap": "tree_shap",
        "shapley": "shapley_values",
    },
)
