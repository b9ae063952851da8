"""The baskets family: sets of items that go together, and rules between them."""

from .association_rules import AssociationRules
from .frequent_itemsets import FrequentItemsets

__all__ = ["AssociationRules", "FrequentItemsets"]
