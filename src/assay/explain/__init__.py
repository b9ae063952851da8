"""Explanation: what a fitted model's predictions are made of.

>>> from assay.explain import shapley_values
>>> shapley_values(lambda known: 12.0 if {"a", "b"} <= known else 0.0, ["a", "b", "c"])
{'a': 6.0, 'b': 6.0, 'c': 0.0}
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .agreement import Agreement as Agreement
    from .agreement import agreement_of as agreement_of
    from .agreement import importances as importances
    from .counterfactual import Counterfactuals as Counterfactuals
    from .counterfactual import counterfactuals as counterfactuals
    from .dependence import Dependence as Dependence
    from .dependence import accumulated_effects as accumulated_effects
    from .dependence import individual_curves as individual_curves
    from .dependence import partial_dependence as partial_dependence
    from .examples import Examples as Examples
    from .examples import nearest_examples as nearest_examples
    from .explanation import Explanation as Explanation
    from .imitation import Surrogate as Surrogate
    from .imitation import surrogate as surrogate
    from .importance import columns_that_matter as columns_that_matter
    from .importance import drop_column_importance as drop_column_importance
    from .importance import impurity_importance as impurity_importance
    from .importance import permutation_importance as permutation_importance
    from .importance import target_importance as target_importance
    from .linear_terms import coefficient_importance as coefficient_importance
    from .sampled_shap import exact_shap as exact_shap
    from .sampled_shap import kernel_shap as kernel_shap
    from .sampled_shap import linear_shap as linear_shap
    from .sampled_shap import sampling_shap as sampling_shap
    from .sampled_shap import shap_values as shap_values
    from .shap import tree_shap as tree_shap
    from .shapley import shapley_values as shapley_values

__getattr__, __dir__ = lazy(
    __name__,
    {
        "agreement": "Agreement agreement_of importances",
        "counterfactual": "Counterfactuals counterfactuals",
        "dependence": "Dependence accumulated_effects individual_curves partial_dependence",
        "examples": "Examples nearest_examples",
        "explanation": "Explanation",
        "imitation": "Surrogate surrogate",
        "importance": (
            "columns_that_matter drop_column_importance impurity_importance permutation_importance target_importance"
        ),
        "linear_terms": "coefficient_importance",
        "sampled_shap": "exact_shap kernel_shap linear_shap sampling_shap shap_values",
        "shap": "tree_shap",
        "shapley": "shapley_values",
    },
)
