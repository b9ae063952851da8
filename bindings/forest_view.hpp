// The arrays of a forest as views, checked: every index inside leads to a node, a column or a word that is there.
#pragma once

#include "assay/trees/forest.hpp"
#include "bindings.hpp"

namespace assay::bindings {

// Whether the nodes of a tree of numeric tests are in order. No branch depends on a node: this is done at every call, and large
// forests would spend more time on it than on a row.
inline bool plain_and_sound(const std::int32_t* feature, const std::int32_t* left, const std::int32_t* right,
                            const std::int64_t* categories, std::int32_t count, std::int32_t d) {
    std::uint32_t bad = 0;
    for (std::int32_t i = 0; i < count; ++i) {
        const std::uint32_t room = static_cast<std::uint32_t>(count - i - 1), own = static_cast<std::uint32_t>(i) + 1U;
        const std::uint32_t inner = feature[i] >= 0, to_left = static_cast<std::uint32_t>(left[i]) - own,
                            to_right = static_cast<std::uint32_t>(right[i]) - own;
        bad |= static_cast<std::uint32_t>(feature[i] >= d) |
               (inner & (static_cast<std::uint32_t>(to_left >= room) | static_cast<std::uint32_t>(to_right >= room)));
    }
    std::int64_t nominal = -1;  // stays below 0 where there is none
    for (std::int32_t i = 0; i < count; ++i) nominal &= categories[i];
    return bad == 0 && nominal < 0;
}

inline trees::ForestView forest_view(const Array1<const std::int64_t>& offsets, const Array1<const std::int32_t>& feature,
                              const Array1<const std::int32_t>& left, const Array1<const std::int32_t>& right,
                              const Array1<const double>& threshold, const Array1<const std::int64_t>& categories,
                              const Array1<const std::uint64_t>& words, const Array1<const std::uint8_t>& missing_left,
                              const Array2<const double>& value, const Array1<const std::int32_t>& n_categories,
                              const char* kernel) {
    const std::size_t nodes = feature.shape(0);
    require(offsets.shape(0) >= 1 && offsets(0) == 0 && offsets(offsets.shape(0) - 1) == static_cast<std::int64_t>(nodes),
            kernel, "offsets must run from 0 to the number of nodes");
    require(left.shape(0) == nodes && right.shape(0) == nodes && threshold.shape(0) == nodes &&
                categories.shape(0) == nodes && missing_left.shape(0) == nodes && value.shape(0) == nodes,
            kernel, "one entry per node");
    const auto d = static_cast<std::int32_t>(n_categories.shape(0));
    const auto n_words = static_cast<std::int64_t>(words.shape(0));
    for (std::size_t t = 0; t + 1 < offsets.shape(0); ++t) {
        const std::int64_t first = offsets(t), count = offsets(t + 1) - first;
        require(count >= 1, kernel, "a tree must have a node");
        if (first >= 0 && offsets(t + 1) <= static_cast<std::int64_t>(nodes) && count < (std::int64_t{1} << 31) &&
            plain_and_sound(feature.data() + first, left.data() + first, right.data() + first, categories.data() + first,
                            static_cast<std::int32_t>(count), d))
            continue;
        for (std::int64_t i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(first + i);
            const std::int32_t column = feature(at);
            require(column < d, kernel, "tests must name columns of the table");
            if (column < 0) continue;
            require(left(at) > i && left(at) < count && right(at) > i && right(at) < count, kernel,
                    "children must come after their parent");
            require(categories(at) < 0 || categories(at) + (n_categories(static_cast<std::size_t>(column)) + 63) / 64 <= n_words,
                    kernel, "words are missing");
        }
    }
    trees::ForestView view;
    view.offsets = {offsets.data(), static_cast<index_t>(offsets.shape(0)), 1};
    view.feature = feature.data();
    view.left = left.data();
    view.right = right.data();
    view.threshold = threshold.data();
    view.categories = categories.data();
    view.words = {words.data(), static_cast<index_t>(words.shape(0)), 1};
    view.missing_left = missing_left.data();
    view.value = value.data();
    view.width = static_cast<index_t>(value.shape(1));
    view.n_categories = n_categories.data();
    return view;
}

}  // namespace assay::bindings
