#include "assay/common/panels.hpp"

#include <algorithm>

#include "assay/common/simd.hpp"

namespace assay {
namespace {

typedef double Eight __attribute__((vector_size(64)));
typedef double Four __attribute__((vector_size(32)));

// Lanes of column j, scaled where there is a scaling, to their place.
template <class Vector>
ASSAY_INLINE void put(const Vector& cells, index_t j, Scaling scaling, double* panel) {
    const Vector kept = scaling.mean == nullptr ? cells : (cells - scaling.mean[j]) * scaling.factor[j];
    __builtin_memcpy(panel + j * panel_lanes, &kept, sizeof kept);
}

// Columns [from, from + 8) of 8 rows, turned: lane l of column j comes from row l.
ASSAY_INLINE void turn_square(const double* const* rows, index_t from, Scaling scaling, double* panel) {
    Eight pairs[8], fours[8];
    for (int i = 0; i < 8; i += 2) {
        Eight a, b;
        __builtin_memcpy(&a, rows[i] + from, sizeof a);
        __builtin_memcpy(&b, rows[i + 1] + from, sizeof b);
        pairs[i] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
        pairs[i + 1] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int odd = 0; odd < 2; ++odd) {
            const Eight a = pairs[i + odd], b = pairs[i + 2 + odd];
            fours[i + odd] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
            fours[i + 2 + odd] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; ++i) {
        const Eight low = __builtin_shufflevector(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        const Eight high = __builtin_shufflevector(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        put(low, from + i, scaling, panel);
        put(high, from + i + 4, scaling, panel);
    }
}

// The same of 4 columns of 4 rows.
ASSAY_INLINE void turn_small_square(const double* const* rows, index_t from, Scaling scaling, double* panel) {
    Four pairs[4];
    for (int i = 0; i < 4; i += 2) {
        Four a, b;
        __builtin_memcpy(&a, rows[i] + from, sizeof a);
        __builtin_memcpy(&b, rows[i + 1] + from, sizeof b);
        pairs[i] = __builtin_shufflevector(a, b, 0, 4, 2, 6);
        pairs[i + 1] = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    }
    for (int odd = 0; odd < 2; ++odd) {
        const Four low = __builtin_shufflevector(pairs[odd], pairs[2 + odd], 0, 1, 4, 5);
        const Four high = __builtin_shufflevector(pairs[odd], pairs[2 + odd], 2, 3, 6, 7);
        put(low, from + odd, scaling, panel);
        put(high, from + odd + 2, scaling, panel);
    }
}

ASSAY_INLINE void pack_rest(const double* const* rows, index_t from, index_t d, Scaling scaling, double* panel) {
    for (index_t j = from; j < d; ++j)
        for (index_t lane = 0; lane < panel_lanes; ++lane) put(rows[lane][j], j, scaling, panel + lane);
}
// A cache line of each row, then the next: the rows come from memory side by side.
ASSAY_INLINE void pack_squares(const double* const* rows, index_t d, Scaling scaling, index_t used, double* panel) {
    if (d < 8) return pack_rest(rows, 0, d, scaling, panel);
    const bool both = used > 8;
    for (index_t from = 0; from < d; from += 8) {
        // The last square may overlap the one before it.
        const index_t at = std::min(from, d - 8);
        if (both)
            for (index_t lane = 0; lane < panel_lanes; ++lane) __builtin_prefetch(rows[lane] + std::min(d - 1, from + 32));
        turn_square(rows, at, scaling, panel);
        if (both) turn_square(rows + 8, at, scaling, panel + 8);
    }
}
ASSAY_INLINE void pack_small_squares(const double* const* rows, index_t d, Scaling scaling, index_t used, double* panel) {
    if (d < 4) return pack_rest(rows, 0, d, scaling, panel);
    const index_t lanes = used > 8 ? panel_lanes : 8;
    for (index_t from = 0; from < d; from += 8)
        for (index_t lane = 0; lane < lanes; lane += 4) {
            turn_small_square(rows + lane, std::min(from, d - 4), scaling, panel + lane);
            if (from + 4 < d) turn_small_square(rows + lane, std::min(from + 4, d - 4), scaling, panel + lane);
        }
}
ASSAY_INLINE void pack_plainly(const double* const* rows, index_t d, Scaling scaling, index_t, double* panel) {
    for (index_t from = 0; from < d; from += 8) pack_rest(rows, from, std::min(d, from + 8), scaling, panel);
}
ASSAY_DISPATCH_EACH(void, pack_dispatched, pack_squares, pack_small_squares, pack_plainly,
                    (const double* const* rows, index_t d, Scaling scaling, index_t used, double* panel),
                    (rows, d, scaling, used, panel))

}  // namespace

void pack_panel(const double* const* rows, index_t d, double* panel, const Scaling& scaling, index_t used) {
    pack_dispatched(rows, d, scaling, used, panel);
}

}  // namespace assay
