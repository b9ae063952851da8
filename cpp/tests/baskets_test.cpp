#include "assay/baskets/itemsets.hpp"

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
