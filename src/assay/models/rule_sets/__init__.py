"""Rule sets: conditions on columns and linear sums, rules, their SQL and JSON. Trees and rule learners give them."""

from .conditions import Condition
from .linear import LinearCondition, LinearSum
from .rule_set import Rule, RuleSet

__all__ = ["Condition", "LinearCondition", "LinearSum", "Rule", "RuleSet"]
