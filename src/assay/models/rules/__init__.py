"""Rules: the rule set that every rule learner gives, and the learners. Names arrive lazily: trees use rule sets too."""

from typing import TYPE_CHECKING

from ..._lazy import lazy

if TYPE_CHECKING:
    from .conditions import Condition as Condition
    from .linear import LinearCondition as LinearCondition
    from .linear import LinearSum as LinearSum
    from .ripper import Ripper as Ripper
    from .rule_set import Rule as Rule
    from .rule_set import RuleSet as RuleSet
    from .rules_from_tree import RulesFromTree as RulesFromTree
    from .sequential_covering import SequentialCovering as SequentialCovering

__getattr__, __dir__ = lazy(
    __name__,
    {
        "conditions": "Condition",
        "linear": "LinearCondition LinearSum",
        "ripper": "Ripper",
        "rule_set": "Rule RuleSet",
        "rules_from_tree": "RulesFromTree",
        "sequential_covering": "SequentialCovering",
    },
)
