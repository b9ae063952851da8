#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/sequences/hmm.hpp"

namespace assay::sequences {
namespace {

constexpr index_t tile = 32;    // rows at a time, dimension by dimension
constexpr index_t grain = 4096;  // rows of a chunk

// panel OUT holds the rows of a tile dimension by dimension; rows beyond `count` are zero.
void fill_panel(Matrix<const double> rows, index_t first, index_t count, double* panel) {
    for (index_t t = 0; t < rows.cols; ++t)
        for (index_t p = 0; p < tile; ++p) panel[t * tile + p] = p < count ? rows(first + p, t) : 0.0;
}

ASSAY_INLINE void logs_body(const double* panel, index_t d, index_t k, bool diagonal, const double* constants,
                            const double* means, const double* whitening, double* gaps, double* logs) {
    for (index_t c = 0; c < k; ++c) {
        for (index_t t = 0; t < d; ++t)
            for (index_t p = 0; p < tile; ++p) gaps[t * tile + p] = panel[t * tile + p] - means[c * d + t];
        double squares[tile] = {};
        for (index_t a = 0; a < d; ++a) {
            double sum[tile] = {};
            const double* const factors = whitening + (diagonal ? c * d + a : (c * d + a) * d);
            if (diagonal) {
                for (index_t p = 0; p < tile; ++p) sum[p] = factors[0] * gaps[a * tile + p];
            } else {
                for (index_t b = 0; b <= a; ++b)
                    for (index_t p = 0; p < tile; ++p) sum[p] += factors[b] * gaps[b * tile + p];
            }
            for (index_t p = 0; p < tile; ++p) squares[p] += sum[p] * sum[p];
        }
        for (index_t p = 0; p < tile; ++p) logs[c * tile + p] = constants[c] - 0.5 * squares[p];
    }
}
ASSAY_DISPATCH(void, tile_logs, logs_body,
               (const double* panel, index_t d, index_t k, bool diagonal, const double* constants, const double* means,
                const double* whitening, double* gaps, double* logs),
               (panel, d, k, diagonal, constants, means, whitening, gaps, logs))

ASSAY_INLINE double lanes_sum(const double* values) {
    double part[8] = {};
    for (index_t p = 0; p < tile; p += 8)
        for (index_t v = 0; v < 8; ++v) part[v] += values[p + v];
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

ASSAY_INLINE double lanes_dot(const double* x, const double* y) {
    double part[8] = {};
    for (index_t p = 0; p < tile; p += 8)
        for (index_t v = 0; v < 8; ++v) part[v] += x[p + v] * y[p + v];
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

// sums: per component the count, d first moments, and the second ones (d, or d x d lower).
ASSAY_INLINE void moments_body(const double* panel, const double* shares, index_t d, index_t k, bool diagonal,
                               const double* means, double* gaps, double* weighted, double* sums, index_t size) {
    for (index_t c = 0; c < k; ++c) {
        const double* const share = shares + c * tile;
        double* const own = sums + c * size;
        own[0] += lanes_sum(share);
        for (index_t t = 0; t < d; ++t)
            for (index_t p = 0; p < tile; ++p) {
                gaps[t * tile + p] = panel[t * tile + p] - means[c * d + t];
                weighted[t * tile + p] = share[p] * gaps[t * tile + p];
            }
        for (index_t t = 0; t < d; ++t) own[1 + t] += lanes_sum(weighted + t * tile);
        for (index_t t = 0; t < d; ++t) {
            if (diagonal) {
                own[1 + d + t] += lanes_dot(weighted + t * tile, gaps + t * tile);
            } else {
                for (index_t u = 0; u <= t; ++u)
                    own[1 + d + t * d + u] += lanes_dot(weighted + t * tile, gaps + u * tile);
            }
        }
    }
}
ASSAY_DISPATCH(void, tile_moments, moments_body,
               (const double* panel, const double* shares, index_t d, index_t k, bool diagonal, const double* means,
                double* gaps, double* weighted, double* sums, index_t size),
               (panel, shares, d, k, diagonal, means, gaps, weighted, sums, size))

}  // namespace

void gaussian_logs(Matrix<const double> rows, index_t k, bool diagonal, const double* constants, const double* means,
                   const double* whitening, double* logs, int threads) {
    const index_t d = rows.cols;
    parallel_chunks(rows.rows, grain, threads, [&](index_t, index_t begin, index_t end) {
        std::vector<double> panel(static_cast<std::size_t>(d * tile)), gaps(panel.size());
        std::vector<double> found(static_cast<std::size_t>(k * tile));
        for (index_t first = begin; first < end; first += tile) {
            const index_t count = std::min(tile, end - first);
            fill_panel(rows, first, count, panel.data());
            tile_logs(panel.data(), d, k, diagonal, constants, means, whitening, gaps.data(), found.data());
            for (index_t p = 0; p < count; ++p)
                for (index_t c = 0; c < k; ++c)
                    logs[(first + p) * k + c] = found[static_cast<std::size_t>(c * tile + p)];
        }
    });
}

void gaussian_moments(Matrix<const double> rows, Matrix<const double> shares, bool diagonal, const double* means,
                      double* counts, double* first_moments, double* second, int threads) {
    const index_t d = rows.cols, k = shares.cols, n = rows.rows, square = diagonal ? d : d * d, size = 1 + d + square;
    const index_t chunks = chunk_count(n, grain);
    std::vector<double> parts(static_cast<std::size_t>(chunks * k * size), 0.0);
    parallel_chunks(n, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
        std::vector<double> panel(static_cast<std::size_t>(d * tile)), gaps(panel.size()), weighted(panel.size());
        std::vector<double> share(static_cast<std::size_t>(k * tile));
        double* const sums = parts.data() + chunk * k * size;
        for (index_t first = begin; first < end; first += tile) {
            const index_t count = std::min(tile, end - first);
            fill_panel(rows, first, count, panel.data());
            fill_panel(shares, first, count, share.data());
            tile_moments(panel.data(), share.data(), d, k, diagonal, means, gaps.data(), weighted.data(), sums, size);
        }
    });
    for (index_t c = 0; c < k; ++c) {
        counts[c] = 0.0;
        std::fill(first_moments + c * d, first_moments + (c + 1) * d, 0.0);
        std::fill(second + c * square, second + (c + 1) * square, 0.0);
        for (index_t chunk = 0; chunk < chunks; ++chunk) {
            const double* const sums = parts.data() + (chunk * k + c) * size;
            counts[c] += sums[0];
            for (index_t t = 0; t < d; ++t) first_moments[c * d + t] += sums[1 + t];
            for (index_t t = 0; t < square; ++t) second[c * square + t] += sums[1 + d + t];
        }
    }
}

}  // namespace assay::sequences
