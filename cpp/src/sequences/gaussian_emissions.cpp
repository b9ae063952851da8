#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/sequences/hmm.hpp"
#include "normal_tile.hpp"

namespace assay::sequences {
namespace {

constexpr index_t tile = NormalTile::rows;
constexpr index_t grain = 4096;  // rows of a chunk

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

NormalTile::NormalTile(const Normals& normals, index_t k)
    : normals_(normals), k_(k), panel_(static_cast<std::size_t>(normals.rows.cols * rows)), gaps_(panel_.size()),
      weighted_(panel_.size()), by_component_(static_cast<std::size_t>(k * rows)) {}

// The rows of a tile dimension by dimension; rows beyond `count` are zero.
void NormalTile::fill_panel(index_t first, index_t count) {
    for (index_t t = 0; t < normals_.rows.cols; ++t)
        for (index_t p = 0; p < rows; ++p)
            panel_[static_cast<std::size_t>(t * rows + p)] = p < count ? normals_.rows(first + p, t) : 0.0;
}

void NormalTile::find_logs(index_t first, index_t count) {
    fill_panel(first, count);
    tile_logs(panel_.data(), normals_.rows.cols, k_, normals_.diagonal, normals_.constants, normals_.means,
              normals_.whitening, gaps_.data(), by_component_.data());
}

void NormalTile::add_moments(index_t first, index_t count, double* sums) {
    fill_panel(first, count);
    tile_moments(panel_.data(), by_component_.data(), normals_.rows.cols, k_, normals_.diagonal, normals_.means,
                 gaps_.data(), weighted_.data(), sums, moments_of(normals_, 1));
}

void gaussian_logs(const Normals& normals, index_t k, double* logs, int threads) {
    parallel_chunks(normals.rows.rows, grain, threads, [&](index_t, index_t begin, index_t end) {
        NormalTile part(normals, k);
        for (index_t first = begin; first < end; first += tile)
            part.logs(first, std::min(tile, end - first),
                      [&](index_t row, index_t c, double value) { logs[(first + row) * k + c] = value; });
    });
}

void gaussian_moments(const Normals& normals, Matrix<const double> shares, double* moments, int threads) {
    const index_t k = shares.cols, n = normals.rows.rows, size = NormalTile::moments_of(normals, k);
    const index_t chunks = chunk_count(n, grain);
    std::vector<double> parts(static_cast<std::size_t>(chunks * size), 0.0);
    parallel_chunks(n, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
        NormalTile part(normals, k);
        for (index_t first = begin; first < end; first += tile) {
            const index_t count = std::min(tile, end - first);
            part.set_shares(count, [&](index_t row, index_t c) { return shares(first + row, c); });
            part.add_moments(first, count, parts.data() + chunk * size);
        }
    });
    std::fill(moments, moments + size, 0.0);
    for (index_t chunk = 0; chunk < chunks; ++chunk)
        for (index_t p = 0; p < size; ++p) moments[p] += parts[static_cast<std::size_t>(chunk * size + p)];
}

}  // namespace assay::sequences
