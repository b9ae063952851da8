// Entries of sorted columns (see tables/coded_columns.hpp) in two sizes: wide ones (32 bits) serve the whole table, narrow ones
// (16 bits) a subtree of at most 16,384 rows, which numbers its rows anew.
#pragma once

#include <cstdint>

#include "assay/tables/coded_columns.hpp"

namespace assay::trees {

using tables::count_missing;
using tables::fresh_bit;
using tables::is_fresh;
using tables::is_missing;
using tables::missing_bit;
using tables::row_of;
using Wide = tables::Entry;
using Narrow = std::uint16_t;

// Whether a segment holds more than one value.
template <class Entry>
inline bool varies(const Entry* segment, index_t n) {
    constexpr index_t block = 32;
    index_t i = 1;
    for (; i + block <= n; i += block) {
        Entry any = 0;
        for (index_t j = 0; j < block; ++j) any |= segment[i + j];
        if (is_fresh(any)) return true;
    }
    for (; i < n; ++i)
        if (is_fresh(segment[i])) return true;
    return false;
}

}  // namespace assay::trees
