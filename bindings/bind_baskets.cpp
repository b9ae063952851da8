// Baskets: frequent itemsets.
#include "assay/baskets/itemsets.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

void check_lists(const char* who, const Array1<const std::int64_t>& offsets, const Array1<const std::int32_t>& items,
                 std::int64_t n_items) {
    const std::size_t n = offsets.shape(0);
    require(n >= 1 && offsets.data()[0] == 0 && offsets.data()[n - 1] == static_cast<std::int64_t>(items.shape(0)), who,
            "offsets must run from 0 to the number of items");
    for (std::size_t b = 1; b < n; ++b) require(offsets.data()[b] >= offsets.data()[b - 1], who, "offsets must not fall");
    for (std::size_t p = 0; p < items.shape(0); ++p)
        require(items.data()[p] >= 0 && items.data()[p] < n_items, who, "items must be ids below n_items");
}

}  // namespace

void bind_baskets(nb::module_& m) {
    m.def(
        "frequent_itemsets",
        [](const Array1<const std::int64_t>& offsets, const Array1<const std::int32_t>& items, std::int64_t n_items,
           std::int64_t least, std::int64_t longest, std::int64_t most, int threads) {
            check_lists("frequent_itemsets", offsets, items, n_items);
            require(least >= 1 && longest >= 0 && most >= 0, "frequent_itemsets", "bounds must not be negative");
            auto found = without_gil([&] {
                return baskets::frequent_itemsets(view(offsets), view(items), static_cast<index_t>(n_items), least,
                                                  static_cast<index_t>(longest), most, threads);
            });
            return nb::make_tuple(found.complete, own(std::move(found.starts)), own(std::move(found.items)),
                                  own(std::move(found.counts)));
        },
        "offsets"_a, "items"_a, "n_items"_a, "least"_a, "longest"_a, "most"_a, "threads"_a,
        "Every set of items that at least `least` baskets hold: whether complete, starts, items, counts.");
    m.def(
        "itemset_kinds",
        [](const Array1<const std::int64_t>& starts, const Array1<const std::int32_t>& items,
           const Array1<const std::int64_t>& counts, std::int64_t n_items) {
            check_lists("itemset_kinds", starts, items, n_items);
            require(counts.shape(0) + 1 == starts.shape(0), "itemset_kinds", "counts must have one number per set");
            auto kinds = without_gil([&] {
                return baskets::itemset_kinds(view(starts), view(items), view(counts), static_cast<index_t>(n_items));
            });
            return own(std::move(kinds));
        },
        "starts"_a, "items"_a, "counts"_a, "n_items"_a, "Of all frequent itemsets: bit 0 if closed, bit 1 if maximal.");
}

}  // namespace assay::bindings
