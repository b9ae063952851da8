"""Rule learners; the rule sets that they give stand in `assay.models.rule_sets`."""

from ..rule_sets import Condition, LinearCondition, LinearSum, Rule, RuleSet
from .ripper import Ripper
from .rules_from_tree import RulesFromTree
from .sequential_covering import SequentialCovering

__all__ = [
    "Condition",
    "LinearCondition",
    "LinearSum",
    "Ripper",
    "Rule",
    "RuleSet",
    "RulesFromTree",
    "SequentialCovering",
]
