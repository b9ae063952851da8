// Frequent itemsets: every set of items that at least `least` baskets hold (Zaki, Scalable algorithms for association
// mining, IEEE TKDE 12, 2000, on bitsets, with the database cut down to the baskets of the first item).
//
// Items are ordered from the rarest to the commonest. For each first item the baskets that hold it are numbered anew, and
// the later items of these baskets become bitsets over them; longer sets come from the and of two bitsets, depth first. A
// first item costs its baskets, an extension baskets / 64 words.
//
// Shapes: offsets n + 1, items offsets[n] (basket b holds items[offsets[b]] .. , each item once), ids in 0 .. n_items - 1.
// OUT sets one after the other: starts (one more than sets), items (ascending ids within a set) and counts; sets by first
// item in that order. `longest` bounds the size of a set (0: none), `most` how many sets are kept: beyond it `complete` is
// false and the result of no use. The number of threads changes nothing.
//
// A set is closed if no set with one item more has its count, maximal if none with one item more is frequent.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::baskets {

struct Itemsets {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> items;
    std::vector<std::int64_t> counts;
    bool complete = true;
};

Itemsets frequent_itemsets(Vector<const std::int64_t> offsets, Vector<const std::int32_t> items, index_t n_items,
                           std::int64_t least, index_t longest, std::int64_t most, int threads);

// The sets in order: by size, then by their items.
std::vector<std::int64_t> itemset_order(Vector<const std::int64_t> starts, Vector<const std::int32_t> items);

// For all frequent itemsets: bit 0 if closed, bit 1 if maximal.
std::vector<std::uint8_t> itemset_kinds(Vector<const std::int64_t> starts, Vector<const std::int32_t> items,
                                        Vector<const std::int64_t> counts, index_t n_items);

}  // namespace assay::baskets
