"""Rules of arules' Groceries: baskets with the counts that its printed rules imply give the printed numbers."""

import pytest

from assay.models.baskets import AssociationRules

N = 9835
OV, RV, WM, WSC = "other vegetables", "root vegetables", "whole milk", "whipped/sour cream"
# left side, right side, support, confidence, coverage (where printed), lift, count
PRINTED = [
    ((WSC,), OV, 0.02887646, 0.4028369, 0.07168277, 2.081924, 284),
    ((RV,), OV, 0.04738180, 0.4347015, 0.10899847, 2.246605, 466),
    ((RV, WM), OV, 0.02318251, 0.4740125, 0.04890696, 2.449770, 228),
    ((OV, WM), RV, 0.02318251, 0.3097826, 0.07483477, 2.842082, 228),
    ((OV, "yogurt"), WM, 0.02226741, 0.5128806, 0.04341637, 2.007235, 219),
    ((WM, "yogurt"), OV, 0.02226741, 0.3974592, 0.05602440, 2.054131, 219),
    (("Instant food products", "soda"), "hamburger meat", 0.001220132, 0.6315789, None, 18.995654, 12),
    (("popcorn", "soda"), "salty snack", 0.001220132, 0.6315789, None, 16.697793, 12),
    (("ham", "processed cheese"), "white bread", 0.001931876, 0.6333333, None, 15.045491, 19),
    (("liquor", "red/blush wine"), "bottled beer", 0.001931876, 0.9047619, None, 11.235269, 19),
    (("butter", "hard cheese"), WSC, 0.0020336, 0.5128205, None, 7.154028, 20),
    (("herbs", WM), RV, 0.0041688, 0.5394737, None, 4.949369, 41),
]


def baskets() -> list[set[str]]:
    """Baskets in which every count that a printed rule speaks of is right; what no rule speaks of is left out."""
    rows: list[set[str]] = [set() for _ in range(N)]
    # By other vegetables and whole milk: how many, and of them with root vegetables (first) and with yogurt (last).
    begin, blocks = 0, {}
    for held, size, roots, yogurts in (
        ({OV, WM}, 736, 228, 219),
        ({OV}, 1903 - 736, 466 - 228, 427 - 219),
        ({WM}, 2513 - 736, 481 - 228, 551 - 219),
        (set(), N - 1903 - 2513 + 736, 1072 - 466 - 481 + 228, 1372 - 427 - 551 + 219),
    ):
        block = rows[begin : begin + size]
        for row in block:
            row |= held
        for row in block[:roots]:
            row.add(RV)
        for row in block[size - yogurts :]:
            row.add("yogurt")
        blocks[frozenset(held)] = block
        begin += size
    milk, free = blocks[frozenset({WM})], iter(blocks[frozenset()])
    for row in [*milk[:41], *milk[300 : 300 + 76 - 41]]:
        row.add("herbs")
    for row in blocks[frozenset({OV})][:284]:
        row.add(WSC)

    def put(count: int, *items: str) -> None:
        for _ in range(count):
            next(free).update(items)

    put(20, "butter", "hard cheese", WSC)
    put(39 - 20, "butter", "hard cheese")
    put(705 - 284 - 20, WSC)
    for pair, right, both, left, all_right in (
        (("Instant food products", "soda"), "hamburger meat", 12, 19, 327),
        (("popcorn", "soda"), "salty snack", 12, 19, 372),
        (("ham", "processed cheese"), "white bread", 19, 30, 414),
        (("liquor", "red/blush wine"), "bottled beer", 19, 21, 792),
    ):
        put(both, *pair, right)
        put(left - both, *pair)
        put(all_right - both, right)
    return rows


@pytest.fixture(scope="module")
def rules():
    model = AssociationRules(min_support=0.001, min_confidence=0.3, max_length=3).fit(baskets())
    return {(frozenset(row["if"]), row["then"][0]): row for row in model.to_rows()}


@pytest.mark.parametrize("printed", PRINTED, ids=lambda p: f"{' and '.join(p[0])} then {p[1]}")
def test_the_numbers_that_arules_prints(rules, printed):
    left, right, support, confidence, coverage, lift, count = printed
    found = rules[frozenset(left), right]
    assert round(found["support"] * N) == count
    assert found["support"] == pytest.approx(support, abs=6e-8)
    assert found["confidence"] == pytest.approx(confidence, abs=6e-8)
    assert found["lift"] == pytest.approx(lift, abs=6e-7)
    assert coverage is None or found["coverage"] == pytest.approx(coverage, abs=6e-9)
