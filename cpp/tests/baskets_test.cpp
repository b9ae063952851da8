#include "assay/baskets/itemsets.hpp"
#include "assay/baskets/rules.hpp"

#include <vector>

#include "check.hpp"

using namespace assay;

TEST("three baskets have the itemsets counted by hand, and the larger of equals is closed") {
    const std::vector<std::int64_t> offsets{0, 2, 5, 6};
    const std::vector<std::int32_t> items{0, 1, 0, 1, 2, 0};
    const Vector<const std::int64_t> where{offsets.data(), 4, 1};
    const Vector<const std::int32_t> held{items.data(), 6, 1};
    const auto found = baskets::frequent_itemsets(where, held, 3, 2, 0, 100, 2);
    CHECK(found.complete);
    CHECK(found.counts == (std::vector<std::int64_t>{2, 2, 3}));
    CHECK(found.items == (std::vector<std::int32_t>{1, 0, 1, 0}));
    const auto kinds = baskets::itemset_kinds({found.starts.data(), 4, 1}, {found.items.data(), 4, 1},
                                              {found.counts.data(), 3, 1}, 3);
    CHECK(kinds == (std::vector<std::uint8_t>{0, 3, 1}));
    CHECK(!baskets::frequent_itemsets(where, held, 3, 2, 0, 2, 1).complete);
}

TEST("itemsets are put in order by size and then by items") {
    const std::vector<std::int64_t> starts{0, 3, 4, 6, 9, 10};
    const std::vector<std::int32_t> items{1, 2, 4, 7, 1, 9, 1, 2, 3, 5};
    CHECK(baskets::itemset_order({starts.data(), 6, 1}, {items.data(), 10, 1}) == (std::vector<std::int64_t>{4, 1, 2, 3, 0}));
}

TEST("rules are the splits of each set, and those that a shorter one tells as well are marked") {
    // Sets {0}, {1}, {2}, {0 1}, {0 2}, {1 2}, {0 1 2} with item 2 an attribute.
    const std::vector<std::int64_t> starts{0, 1, 2, 3, 5, 7, 9, 12}, counts{4, 4, 4, 3, 2, 2, 1};
    const std::vector<std::int32_t> items{0, 1, 2, 0, 1, 0, 2, 1, 2, 0, 1, 2};
    const Vector<const std::int64_t> where{starts.data(), 8, 1}, held{counts.data(), 7, 1};
    const auto found = baskets::candidate_rules(where, {items.data(), 12, 1}, held, 3, 2, 2, 100, true);
    CHECK(found.complete);
    CHECK(found.both == (std::vector<std::int64_t>{3, 3, 4, 5, 6, 6, 6}));
    CHECK(found.left == (std::vector<std::int64_t>{1, 0, 2, 2, 5, 4, 2}));
    CHECK(found.right == (std::vector<std::int64_t>{0, 1, 0, 1, 0, 1, 3}));
    CHECK(found.redundant == (std::vector<std::uint8_t>{0, 0, 0, 0, 1, 1, 0}));
    CHECK(!baskets::candidate_rules(where, {items.data(), 12, 1}, held, 3, 2, 2, 6, false).complete);
}

TEST("the tail of independence is that of the hypergeometric distribution") {
    const std::vector<std::int64_t> x{4, 4, 4, 3}, y{5, 5, 5, 3}, both{3, 0, 2, 3};
    const auto tails = baskets::independence_tails({x.data(), 4, 1}, {y.data(), 4, 1}, {both.data(), 4, 1}, 10, 1);
    // C(4,3) C(6,2) / C(10,5) + C(4,4) C(6,1) / C(10,5) = (60 + 6) / 252
    CHECK_NEAR(tails[0], 66.0 / 252.0, 1e-14);
    CHECK_NEAR(tails[1], 1.0, 0.0);
    CHECK_NEAR(tails[2], 186.0 / 252.0, 1e-14);
    CHECK_NEAR(tails[3], 1.0 / 120.0, 1e-15);
}
