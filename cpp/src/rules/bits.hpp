// Sets of rows as bits.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/views.hpp"

namespace assay::rules {

using Bits = std::vector<std::uint64_t>;

inline bool holds(const Bits& set, std::uint32_t row) { return (set[row >> 6] >> (row & 63)) & 1U; }
inline void put(Bits& set, index_t row) { set[static_cast<std::size_t>(row) >> 6] |= std::uint64_t{1} << (row & 63); }

inline bool any(const Bits& set) {
    for (const auto word : set)
        if (word != 0) return true;
    return false;
}
inline Bits both(const Bits& a, const Bits& b) {
    Bits result(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] & b[i];
    return result;
}
inline Bits without(const Bits& a, const Bits& b) {
    Bits result(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] & ~b[i];
    return result;
}
inline void remove_from(Bits& a, const Bits& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] &= ~b[i];
}
inline void join(Bits& a, const Bits& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] |= b[i];
}

ASSAY_INLINE std::int64_t shared_body(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < words; ++i) count += std::popcount(a[i] & b[i]);
    return count;
}
ASSAY_DISPATCH(std::int64_t, shared, shared_body, (const std::uint64_t* a, const std::uint64_t* b, std::size_t words),
               (a, b, words))

// Weight of the rows in both sets: their number if `weights` is null.
inline double weight_of(const Bits& a, const Bits& b, const double* weights) {
    if (weights == nullptr) return static_cast<double>(shared(a.data(), b.data(), a.size()));
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::uint64_t word = a[i] & b[i]; word != 0; word &= word - 1)
            total += weights[i * 64 + static_cast<std::size_t>(std::countr_zero(word))];
    return total;
}

}  // namespace assay::rules
