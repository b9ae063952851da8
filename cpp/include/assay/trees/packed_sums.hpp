// A gradient and a weight (or Hessian) as whole numbers in one word, the gradient in the upper half: one addition adds
// both. Scans of a histogram of such words turn them into numbers once, then work on lanes.
#pragma once

#include <cstdint>
#include <limits>

#include "assay/common/simd.hpp"
#include "assay/common/views.hpp"

namespace assay::trees {

using Word = std::uint64_t;

inline double gradient_of(Word sum) { return static_cast<double>(static_cast<std::int32_t>(sum >> 32)); }
inline double weight_of(Word sum) { return static_cast<double>(static_cast<std::uint32_t>(sum)); }

// Gradients and weights of all that lies in bins 0..b, and of `start`, for each b.
ASSAY_INLINE void running_sums(const Word* histogram, index_t count, Word start, double* g, double* h) {
    Word sum = start;
    for (index_t b = 0; b < count; ++b) {
        sum += histogram[b];
        g[b] = static_cast<double>(static_cast<std::int32_t>(sum >> 32));
        h[b] = static_cast<double>(static_cast<std::int64_t>(sum & 0xFFFFFFFFULL));
    }
}

// The largest score, and the first place that has it: -1 where all are minus infinity.
ASSAY_INLINE double first_largest(const double* score, index_t count, index_t& best) {
    double top = -std::numeric_limits<double>::infinity();
    for (index_t b = 0; b < count; ++b) top = score[b] > top ? score[b] : top;
    best = -1;
    if (top > -std::numeric_limits<double>::infinity())
        for (best = 0; score[best] != top; ++best) {
        }
    return top;
}

}  // namespace assay::trees
