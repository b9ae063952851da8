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

// The sums of bins 0..b, and of `start`, for each b: lanes are summed among themselves, and the chain is one addition each.
template <int lanes>
ASSAY_INLINE void running_words(const Word* histogram, index_t count, Word start, Word* sums) {
    index_t b = 0;
#if defined(__x86_64__) && defined(__GNUC__)
    if constexpr (lanes == 8) {
        typedef Word Lanes __attribute__((vector_size(64)));
        const Lanes none = {};
        Lanes before = none + start;
        for (; b + 8 <= count; b += 8) {
            Lanes own;
            __builtin_memcpy(&own, histogram + b, sizeof(own));
            own += __builtin_shuffle(own, none, Lanes{8, 0, 1, 2, 3, 4, 5, 6});
            own += __builtin_shuffle(own, none, Lanes{8, 8, 0, 1, 2, 3, 4, 5});
            own += __builtin_shuffle(own, none, Lanes{8, 8, 8, 8, 0, 1, 2, 3});
            const Lanes here = own + before;
            before += __builtin_shuffle(own, Lanes{7, 7, 7, 7, 7, 7, 7, 7});
            __builtin_memcpy(sums + b, &here, sizeof(here));
        }
        start = before[0];
    }
#endif
    for (; b + 4 <= count; b += 4) {
        const Word one = histogram[b], two = one + histogram[b + 1], three = two + histogram[b + 2];
        sums[b] = start + one;
        sums[b + 1] = start + two;
        sums[b + 2] = start + three;
        sums[b + 3] = start += three + histogram[b + 3];
    }
    for (; b < count; ++b) sums[b] = start += histogram[b];
}

// The same as gradients and weights.
template <int lanes>
ASSAY_INLINE void running_sums(const Word* histogram, index_t count, Word start, double* g, double* h) {
    alignas(64) Word sums[256];
    running_words<lanes>(histogram, count, start, sums);
    for (index_t b = 0; b < count; ++b) {
        g[b] = static_cast<double>(static_cast<std::int32_t>(sums[b] >> 32));
        h[b] = static_cast<double>(static_cast<std::int64_t>(sums[b] & 0xFFFFFFFFULL));
    }
}

// The largest score, and the first place that has it: -1 where all are minus infinity.
ASSAY_INLINE double first_largest(const double* score, index_t count, index_t& best) {
    double top = -std::numeric_limits<double>::infinity();
#pragma omp simd reduction(max : top)
    for (index_t b = 0; b < count; ++b) top = score[b] > top ? score[b] : top;
    best = -1;
    if (!(top > -std::numeric_limits<double>::infinity())) return top;
    constexpr index_t lanes = 16;
    for (best = 0; best + lanes <= count; best += lanes) {
        int here = 0;
        for (index_t b = 0; b < lanes; ++b) here |= score[best + b] == top ? 1 : 0;
        if (here != 0) break;
    }
    while (score[best] != top) ++best;
    return top;
}

// Rough scores in float, room for `rough_lanes` of them at a time, say which boundaries may be the best; `exact` scores those in
// double, by the sum to the left. Each term of a score is positive and no operation loses more than a rounding, so that a rough one
// is right to half of `rough_error`. Minus one marks a boundary that does not hold. Where none can be above `needed`, none is scored.
constexpr float rough_error = 4e-6F;
constexpr index_t rough_lanes = 32;
template <class Exact>
ASSAY_INLINE double first_largest_of(const float* score, const Word* sums, index_t count, float needed, Exact exact, index_t& best) {
    float top = -1;
#pragma omp simd reduction(max : top)
    for (index_t b = 0; b < count; ++b) top = score[b] > top ? score[b] : top;
    best = -1;
    double largest = -std::numeric_limits<double>::infinity();
    if (top < 0 || top < needed - needed * rough_error) return largest;
    const float enough = top - top * rough_error;
    for (index_t from = 0; from < count; from += rough_lanes) {
        int here = 0;
        for (index_t b = 0; b < rough_lanes; ++b) here |= score[from + b] >= enough ? 1 : 0;
        if (here == 0) continue;
        const index_t to = from + rough_lanes < count ? from + rough_lanes : count;
        for (index_t b = from; b < to; ++b) {
            if (score[b] < enough || (b > from && sums[b] == sums[b - 1])) continue;
            const double own = exact(sums[b]);
            if (own > largest) largest = own, best = b;
        }
    }
    return largest;
}

// The largest score G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) of the boundaries after bins 0..count-1 with at least `least` on both sides
// (1 or more where l2 is 0), and the first that has it: scores in float say which may be the best, `exact` scores those.
template <int lanes, class Exact>
ASSAY_INLINE double scan_rough(const Word* histogram, index_t count, Word start, Word all, std::uint32_t least, float l2, float needed,
                               Exact exact, index_t& best) {
    alignas(64) Word sums[256];
    alignas(64) float score[256];
    alignas(64) std::uint32_t smaller[256];
    running_words<lanes>(histogram, count, start, sums);
    const index_t padded = (count + rough_lanes - 1) / rough_lanes * rough_lanes;
    for (index_t b = count; b < padded; ++b) sums[b] = all;  // nothing to the right, which does not hold or is worth no more
    const auto all_g = static_cast<std::int32_t>(all >> 32);
    const auto all_h = static_cast<std::uint32_t>(all);
#pragma omp simd
    for (index_t b = 0; b < padded; ++b) {
        const auto gl = static_cast<std::int32_t>(sums[b] >> 32), gr = all_g - gl;
        const auto hl = static_cast<std::uint32_t>(sums[b]), hr = all_h - hl;
        const float a = static_cast<float>(gl), c = static_cast<float>(gr);
        const float dl = static_cast<float>(hl) + l2, dr = static_cast<float>(hr) + l2;
        score[b] = (a * a * dr + c * c * dl) / (dl * dr);
        smaller[b] = hl < hr ? hl : hr;
    }
#pragma omp simd
    for (index_t b = 0; b < padded; ++b) score[b] = smaller[b] >= least ? score[b] : -1.0F;
    return first_largest_of(score, sums, count, needed, exact, best);
}

}  // namespace assay::trees
