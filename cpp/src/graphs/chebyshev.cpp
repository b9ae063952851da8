#include "assay/graphs/chebyshev.hpp"

#include <algorithm>
#include <cmath>

#include "../linear/tiles.hpp"
#include "assay/common/large_pages.hpp"
#include "assay/common/threads.hpp"

namespace assay::graphs {
namespace {

constexpr index_t rows_of_chunk = 256;

// What a pass needs: out_i = scale (sum_j A_ij now_j - centre now_i) - before_i.
struct Pass {
    const double *now, *before;
    index_t width;
    double scale, centre;
    double* out;
};

// Columns first to first + W NV of row i.
template <int W, int NV>
ASSAY_INLINE void row_step(const Csr& matrix, const Pass& pass, index_t i, index_t first) {
    using vec = typename Lanes<W>::type;
    const index_t at = i * pass.width + first;
    vec sum[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sum[v] = -pass.centre * *reinterpret_cast<const vec*>(pass.now + at + v * W);
    for (std::int64_t e = matrix.start[i]; e < matrix.start[i + 1]; ++e) {
        const double* const from = pass.now + matrix.to[e] * pass.width + first;
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[v] += matrix.weight[e] * *reinterpret_cast<const vec*>(from + v * W);
    }
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
        vec value = pass.scale * sum[v];
        if (pass.before) value -= *reinterpret_cast<const vec*>(pass.before + at + v * W);
        *reinterpret_cast<vec*>(pass.out + at + v * W) = value;
    }
}

template <int W, int MR, int NV>
ASSAY_INLINE void step_body(const Csr& matrix, const Pass& pass, index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) {
        index_t first = 0;
        for (; first + W * NV <= pass.width; first += W * NV) row_step<W, NV>(matrix, pass, i, first);
        for (; first < pass.width; first += W) row_step<W, 1>(matrix, pass, i, first);
    }
}
ASSAY_DISPATCH_BLOCKED(step, step_body, (const Csr& matrix, const Pass& pass, index_t begin, index_t end),
                       (matrix, pass, begin, end))

double largest(const double* values, index_t n) {
    double most = 0.0;
    for (index_t i = 0; i < n; ++i) most = std::max(most, std::abs(values[i]));
    return most;
}

}  // namespace

void chebyshev_filter(const Csr& matrix, double* block, index_t width, double low, double cut, index_t degree, int threads) {
    const index_t n = matrix.n, cells = n * width;
    const double centre = (low + cut) / 2, half = std::max((cut - low) / 2, 1e-12);
    LargeVector<double> other(static_cast<std::size_t>(cells)), last(static_cast<std::size_t>(cells));
    double *before = nullptr, *now = block, *next = other.data(), *spare = last.data();
    for (index_t t = 0; t < degree && !interrupted(); ++t) {
        const Pass pass{now, before, width, (t == 0 ? 1.0 : 2.0) / half, centre, next};
        parallel_chunks(n, rows_of_chunk, threads, [&](index_t, index_t begin, index_t end) { step(matrix, pass, begin, end); });
        double* const free = before ? before : spare;
        before = now;
        now = next;
        next = free;
        // A step raises a vector at most to |2 (high - centre) / half| of it: eight steps are far from the end of the doubles.
        if (t % 8 != 7) continue;
        const double most = largest(now, cells);
        if (most > 1e100)
            for (index_t i = 0; i < cells; ++i) {
                now[i] /= most;
                before[i] /= most;
            }
    }
    if (now != block) std::copy_n(now, cells, block);
}

}  // namespace assay::graphs
