// An entry of a sorted column: rank in the upper half, row in the lower half, so that entries sort as integers. Wide
// entries (64 bits) serve the whole table, narrow ones (32 bits) a subtree of at most 32,768 rows. A missing cell has a
// rank of ones only and therefore stands at the end of every segment.
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/common/views.hpp"

namespace assay::trees {

using Wide = std::uint64_t;
using Narrow = std::uint32_t;

template <class Entry>
inline constexpr int half_bits = static_cast<int>(sizeof(Entry)) * 4;
template <class Entry>
inline constexpr Entry missing_rank = (Entry{1} << half_bits<Entry>)-1;

template <class Entry>
inline Entry rank_of(Entry entry) {
    return entry >> half_bits<Entry>;
}
template <class Entry>
inline index_t row_of(Entry entry) {
    return static_cast<index_t>(entry & missing_rank<Entry>);
}
template <class Entry>
inline Entry make_entry(Entry rank, index_t row) {
    return (rank << half_bits<Entry>) | static_cast<Entry>(row);
}
// How many entries at the end of a segment are missing.
template <class Entry>
inline index_t count_missing(const Entry* segment, index_t n) {
    if (rank_of(segment[n - 1]) != missing_rank<Entry>) return 0;
    const Entry first = make_entry<Entry>(missing_rank<Entry>, 0);
    return segment + n - std::lower_bound(segment, segment + n, first);
}

}  // namespace assay::trees
