"""Every claim of every miner of baskets: supports counted by hand, order that does not matter; faults are caught."""

from __future__ import annotations

import numpy as np
import pytest

from .small_methods import SmallItemsets, entry_of
from .tables import claiming, named, quick

every_miner = pytest.mark.parametrize(**named(claiming("rules")))


def baskets(n: int = 60, seed: int = 0) -> list[list[str]]:
    """Baskets of six items of which bread and butter go together."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        basket = [item for item in ("milk", "tea", "salt", "soap") if rng.random() < 0.3]
        if rng.random() < 0.5:
            basket += ["bread", "butter"] if rng.random() < 0.9 else ["bread"]
        made.append(basket or ["milk"])
    return made


def found(entry, given: list[list[str]]) -> list[tuple[str, ...]]:
    """What a miner finds, as texts in one order."""
    model = quick(entry).fit(given)
    if hasattr(model, "itemsets_"):
        return sorted((*sorted(items), f"{support:.12g}") for items, support in model.itemsets_)
    return sorted((str(rule),) for rule in model.rules_.rules)


@every_miner
def test_every_support_is_the_share_of_baskets_counted_by_hand(entry):
    given = baskets()
    model = quick(entry).fit(given)
    if not hasattr(model, "itemsets_"):
        pytest.skip("gives rules, whose measures its own tests count")
    assert model.itemsets_
    for items, support in model.itemsets_:
        assert support == pytest.approx(np.mean([set(items) <= set(basket) for basket in given]), abs=1e-12)
        assert support >= model.min_support - 1e-12
    assert any(set(items) == {"bread", "butter"} for items, _ in model.itemsets_)


@every_miner
def test_rules_are_a_rule_set_where_there_are_rules(entry):
    model = quick(entry).fit(baskets())
    if hasattr(model, "rules_"):
        from assay.models.rules import RuleSet

        assert isinstance(model.rules_, RuleSet)
    else:
        assert hasattr(model, "itemsets_")


@every_miner
def test_neither_the_order_of_baskets_nor_of_items_matters(entry):
    given = baskets()
    assert found(entry, [basket[::-1] for basket in given[::-1]]) == found(entry, given)


@every_miner
def test_an_item_named_twice_counts_once(entry):
    given = baskets()
    assert found(entry, [basket + basket[:1] for basket in given]) == found(entry, given)


class CountsTwice(SmallItemsets):
    """Counts an item as often as it is named."""

    def fit(self, baskets, y=None):
        super().fit(baskets)
        named_items = [item for basket in baskets for item in basket]
        self.itemsets_ = [((item,), named_items.count(item) / len(baskets)) for item in sorted(set(named_items))]
        return self


class LastBasketCounts(SmallItemsets):
    """Keeps what the last basket holds."""

    def fit(self, baskets, y=None):
        super().fit(baskets)
        self.itemsets_ = [(items, share) for items, share in self.itemsets_ if set(items) <= set(baskets[-1])]
        return self


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (CountsTwice, test_an_item_named_twice_counts_once),
        (CountsTwice, test_every_support_is_the_share_of_baskets_counted_by_hand),
        (LastBasketCounts, test_neither_the_order_of_baskets_nor_of_items_matters),
    ],
)
def test_a_planted_fault_is_caught(fault, check):
    with pytest.raises(AssertionError):
        check(entry_of(fault, "rules"))
