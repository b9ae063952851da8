// Products of a tile of packed rows, shared by the passes of logistic regression and of generalised linear models: a tile
// is 64 rows x a width padded to 8 columns, kept in cache for linear predictors, gradient and Hessian.
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/common/simd.hpp"
#include "assay/common/views.hpp"

namespace assay {

constexpr index_t tile_rows = 64;  // rows packed at a time: 32 columns of them and their weighted copy fit in L1
constexpr index_t lane = 8;        // all packed widths are multiples of the widest vector

inline index_t padded(index_t n) { return (n + lane - 1) / lane * lane; }

template <int W>
struct Lanes {
    typedef double type __attribute__((vector_size(W * 8), aligned(8), may_alias));
    typedef std::int64_t whole __attribute__((vector_size(W * 8), aligned(8), may_alias));
};

// C[i][j] += sum_s a[s * a_step + i * a_row] * b[s * b_step + j] for MR rows i and NV vectors of W columns j.
template <int W, int MR, int NV>
ASSAY_INLINE void multiply_block(const double* a, index_t a_step, index_t a_row, const double* b, index_t b_step,
                                 double* c, index_t c_row, index_t steps) {
    using vec = typename Lanes<W>::type;
    vec sum[MR][NV];
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) sum[i][v] = *reinterpret_cast<const vec*>(c + i * c_row + v * W);
    for (index_t s = 0; s < steps; ++s) {
        vec right[NV];
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) right[v] = *reinterpret_cast<const vec*>(b + s * b_step + v * W);
#pragma GCC unroll 8
        for (int i = 0; i < MR; ++i) {
            const double left = a[s * a_step + i * a_row];
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) sum[i][v] += left * right[v];
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) *reinterpret_cast<vec*>(c + i * c_row + v * W) = sum[i][v];
}

// The same for any number of rows and columns that are multiples of 8 (rows also 1); with `lower`, blocks that lie
// wholly above the diagonal are left out.
template <int W, int MR, int NV>
ASSAY_INLINE void multiply(const double* a, index_t a_step, index_t a_row, const double* b, index_t b_step, double* c,
                           index_t c_row, index_t n_rows, index_t n_cols, index_t steps, bool lower) {
    for (index_t i = 0; i < n_rows; i += MR) {
        const index_t stop = lower ? std::min(n_cols, padded(i + MR)) : n_cols;
        index_t j = 0;
        for (; j + NV * W <= stop; j += NV * W)
            multiply_block<W, MR, NV>(a + i * a_row, a_step, a_row, b + j, b_step, c + i * c_row + j, c_row, steps);
        for (; j < stop; j += W)
            multiply_block<W, MR, 1>(a + i * a_row, a_step, a_row, b + j, b_step, c + i * c_row + j, c_row, steps);
    }
}

ASSAY_INLINE double sum_tile(const double* values) {
    double part[lane] = {};
    for (index_t t = 0; t < tile_rows; t += lane)
        for (index_t v = 0; v < lane; ++v) part[v] += values[t + v];
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

// The sum of the lanes of a vector, halves first.
template <int W>
ASSAY_INLINE double sum_lanes(const typename Lanes<W>::type& sum) {
    if constexpr (W == 2) {
        return sum[0] + sum[1];
    } else {
        using half = typename Lanes<W / 2>::type;
        half low{}, high{};
#pragma GCC unroll 4
        for (int v = 0; v < W / 2; ++v) {
            low[v] = sum[v];
            high[v] = sum[v + W / 2];
        }
        return sum_lanes<W / 2>(low + high);
    }
}

// out[t] = z_t . coefficients
template <int W>
ASSAY_INLINE void dot_tile(const double* rows, index_t width, const double* coefficients, double* out) {
    using vec = typename Lanes<W>::type;
    for (index_t t = 0; t < tile_rows; ++t) {
        const double* const z = rows + t * width;
        vec sum = {};
        for (index_t j = 0; j < width; j += W)
            sum += *reinterpret_cast<const vec*>(z + j) * *reinterpret_cast<const vec*>(coefficients + j);
        out[t] = sum_lanes<W>(sum);
    }
}

// block += z^T diag(curvature) z, lower part; weighted OUT diag(curvature) z
template <int W, int MR, int NV>
ASSAY_INLINE void add_sandwich(const double* rows, index_t width, const double* curvatures, double* weighted,
                               double* block) {
    for (index_t t = 0; t < tile_rows; ++t) {
        const double curvature = curvatures[t];
        const double* const z = rows + t * width;
        double* const to = weighted + t * width;
        for (index_t j = 0; j < width; ++j) to[j] = curvature * z[j];
    }
    multiply<W, MR, NV>(weighted, width, 1, rows, width, block, width, width, width, tile_rows, true);
}

// Rows per chunk: few enough chunks that their sums (`cells` doubles each) stay within 64 MB, at most 64, at least 8.
inline index_t chunk_grain(index_t n, index_t cells) {
    const index_t most = std::clamp<index_t>((index_t{8} << 20) / std::max<index_t>(1, cells), 8, 64);
    const index_t grain = std::max<index_t>((n + most - 1) / most, 512);
    return (grain + tile_rows - 1) / tile_rows * tile_rows;
}

// Threads for passes of so many operations a row: waking them costs more than a small pass. The chunks, and so the bits, are
// the same.
inline int pass_threads(index_t n, index_t operations, int threads) { return n * operations < 2'000'000 ? 1 : threads; }

}  // namespace assay

// Register blocks differ by instruction set (32 wide registers, or 16): the body is a template over vector width, rows
// and vectors of a block; otherwise as ASSAY_DISPATCH.
#define ASSAY_DISPATCH_BLOCKED(name, body, parameters, arguments) \
    ASSAY_DISPATCH_EACH(void, name, (body<8, 8, 2>), (body<4, 4, 2>), (body<2, 4, 2>), parameters, arguments)
