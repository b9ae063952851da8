// The loops of histogram trees over cells and rows: adding words to histograms, scores of boundaries, and gradients and Hessians
// rounded to words.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/trees/histogram_tree.hpp"
#include "assay/trees/packed_sums.hpp"

namespace assay::trees {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr index_t prefetch = 24, partition_chunk = 16384, parallel_cells = 120000;

double hessian_of(Word sum) { return weight_of(sum); }

// One addition per cell. The histograms of a block stand one after the other, 256 words each.
template <int columns>
void accumulate(const std::uint8_t* codes, const std::int32_t* rows, index_t m, const Word* words, Word* histogram) {
    const auto add = [&](index_t row) {
        std::uint64_t code;
        std::memcpy(&code, codes + row * block_columns, sizeof(code));
        const Word word = words[row];
        for (int c = 0; c < columns; ++c) histogram[c * bin_stride + ((code >> (8 * c)) & 255)] += word;
    };
    index_t i = 0;
    for (; i + prefetch < m; ++i) {
        __builtin_prefetch(codes + static_cast<index_t>(rows[i + prefetch]) * block_columns);
        __builtin_prefetch(words + rows[i + prefetch]);
        add(rows[i]);
    }
    for (; i < m; ++i) add(rows[i]);
}

void accumulate_block(index_t columns, const std::uint8_t* codes, const std::int32_t* rows, index_t m, const Word* words,
                      Word* histogram) {
    switch (columns) {
        case 1: return accumulate<1>(codes, rows, m, words, histogram);
        case 2: return accumulate<2>(codes, rows, m, words, histogram);
        case 3: return accumulate<3>(codes, rows, m, words, histogram);
        case 4: return accumulate<4>(codes, rows, m, words, histogram);
        case 5: return accumulate<5>(codes, rows, m, words, histogram);
        case 6: return accumulate<6>(codes, rows, m, words, histogram);
        case 7: return accumulate<7>(codes, rows, m, words, histogram);
        default: return accumulate<8>(codes, rows, m, words, histogram);
    }
}

// What a scan needs of its node. Sums are whole numbers; scales turn them into gradients and Hessians.
struct Terms {
    double g_scale = 1, h_scale = 1, l2 = 0, l1 = 0;
    double g = 0, h = 0;      // of the node
    double least = 0;         // Hessian that each side must have
    Word all = 0;             // the sum of the node
    // In units of the sums: what each side must have, and l2; not `rough` where they are too large or too small for float.
    std::uint32_t least_units = 0;
    float l2_units = 0;
    bool rough = false;
    double lower = -infinity, upper = infinity;
};

double shrunk(double g, double l1) { return std::copysign(std::max(std::abs(g) - l1, 0.0), g); }

// The score T(G_L)^2 / (H_L + l2) + T(G_R)^2 / (H_R + l2) of a boundary with these sums to its left.
ASSAY_INLINE double boundary_score(double g, double h, const Terms& t) {
    const double gl = t.g_scale * g, hl = t.h_scale * h, gr = t.g - gl, hr = t.h - hl;
    double a = std::abs(gl) - t.l1, c = std::abs(gr) - t.l1;
    a = a > 0 ? a : 0;
    c = c > 0 ? c : 0;
    const double dl = hl + t.l2, dr = hr + t.l2;
    const double s = (a * a * dr + c * c * dl) / (dl * dr);
    const bool holds = (hl >= t.least) & (hr >= t.least) & (dl * dr > 0);
    return holds ? s : -infinity;
}

// Scores of the boundaries after bins 0..count-1, the largest first seen; none where it is surely not above `needed` units.
template <int lanes>
ASSAY_INLINE double scan_body(const Word* histogram, index_t count, Word start, const Terms& t, float needed, index_t& best) {
    const auto exact = [&](Word sum) { return boundary_score(gradient_of(sum), hessian_of(sum), t); };
    if (t.rough) return scan_rough<lanes>(histogram, count, start, t.all, t.least_units, t.l2_units, needed, exact, best);
    alignas(64) double g[bin_stride], h[bin_stride], score[bin_stride];
    running_sums<lanes>(histogram, count, start, g, h);
    for (index_t b = 0; b < count; ++b) score[b] = boundary_score(g[b], h[b], t);
    return first_largest(score, count, best);
}
ASSAY_DISPATCH_EACH(double, scan, (scan_body<8>), (scan_body<1>), (scan_body<1>),
                    (const Word* histogram, index_t count, Word start, const Terms& t, float needed, index_t& best),
                    (histogram, count, start, t, needed, best))

ASSAY_INLINE void subtract_body(Word* from, const Word* what, index_t n) {
    for (index_t i = 0; i < n; ++i) from[i] -= what[i];
}
ASSAY_DISPATCH(void, subtract, subtract_body, (Word* from, const Word* what, index_t n), (from, what, n))

// The largest |g| and h of some rows, and their weight.
struct Largest {
    double g = 0, h = 0, weight = 0;
    void join(const Largest& other) {
        g = std::max(g, other.g);
        h = std::max(h, other.h);
        weight += other.weight;
    }
};

ASSAY_INLINE Largest largest_body(const std::int32_t* rows, index_t m, const GradientRows& data) {
    Largest top;
    if (data.weights != nullptr)
        for (index_t i = 0; i < m; ++i) top.weight += data.weights[rows[i]];
    else
        top.weight = static_cast<double>(m);
    if (m > 0 && rows[m - 1] - rows[0] == m - 1) {
        const double *g = data.g + rows[0], *h = data.h == nullptr ? nullptr : data.h + rows[0];
        double g_top = 0, h_top = h == nullptr ? 1 : 0;
#pragma omp simd reduction(max : g_top)
        for (index_t i = 0; i < m; ++i) g_top = std::abs(g[i]) > g_top ? std::abs(g[i]) : g_top;
        if (h != nullptr)
#pragma omp simd reduction(max : h_top)
            for (index_t i = 0; i < m; ++i) h_top = h[i] > h_top ? h[i] : h_top;
        top.g = g_top;
        top.h = h_top;
        return top;
    }
    for (index_t i = 0; i < m; ++i) {
        top.g = std::max(top.g, std::abs(data.g[rows[i]]));
        top.h = std::max(top.h, data.h == nullptr ? 1.0 : data.h[rows[i]]);
    }
    return top;
}
ASSAY_DISPATCH(Largest, largest_of, largest_body, (const std::int32_t* rows, index_t m, const GradientRows& data), (rows, m, data))

struct Rounding {
    double g_scale, h_scale;
    bool whole;    // weights multiply after rounding
    bool squares;  // are wanted
};
struct RoundedSums {
    Word words = 0;
    std::int64_t squares = 0;  // of q, by weight: the sum of |a| is below 2^31, that of a q below 2^62
};

// To the nearest whole number: 1.5 * 2^52 leaves it in the lower bits.
ASSAY_INLINE std::int64_t nearest(double x) { return std::bit_cast<std::int64_t>(x + 0x1.8p52) - std::bit_cast<std::int64_t>(0x1.8p52); }

ASSAY_INLINE void round_body(const double* g, const double* h, const double* w, index_t m, const Rounding& by, Word* to, RoundedSums& sums) {
    const double gs = by.g_scale, hs = by.h_scale;
    const auto packed = [](std::int64_t a, std::int64_t b) { return (static_cast<Word>(a) << 32) + static_cast<Word>(b); };
    const auto weighted = [&](index_t i, double x, double scale) {
        return by.whole ? nearest(w[i] * static_cast<double>(nearest(x * scale))) : nearest(w[i] * x * scale);
    };
    if (w != nullptr) {
        for (index_t i = 0; i < m; ++i) to[i] = packed(weighted(i, g[i], gs), weighted(i, h == nullptr ? 1.0 : h[i], hs));
    } else if (h != nullptr) {
        for (index_t i = 0; i < m; ++i) to[i] = packed(nearest(g[i] * gs), nearest(h[i] * hs));
    } else {
        const std::int64_t one = nearest(hs);
        for (index_t i = 0; i < m; ++i) to[i] = packed(nearest(g[i] * gs), one);
    }
    Word words = 0;
    for (index_t i = 0; i < m; ++i) words += to[i];
    sums.words += words;
    if (!by.squares) return;
    for (index_t i = 0; i < m; ++i) {
        const std::int64_t q = nearest((w == nullptr || by.whole ? 1.0 : w[i]) * g[i] * gs);
        sums.squares += q * (w == nullptr || !by.whole ? q : weighted(i, g[i], gs));
    }
}
ASSAY_DISPATCH(void, round_words, round_body,
               (const double* g, const double* h, const double* w, index_t m, const Rounding& by, Word* to, RoundedSums& sums),
               (g, h, w, m, by, to, sums))

}  // namespace
}  // namespace assay::trees
