#include "assay/mixtures/gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../linear/tiles.hpp"
#include "assay/common/elementary.hpp"
#include "assay/common/threads.hpp"

namespace assay::mixtures {
namespace {

constexpr index_t tile = 32;       // rows of a tile
constexpr index_t height = 4;      // rows of W at a time
constexpr double negligible = 1e-13;

// The lower triangles of all W_c in blocks of four rows: block a holds, for b = 0..4a+3, the four cells W[4a..4a+3][b].
struct PackedWhitening {
    std::vector<double> cells;
    index_t blocks, size;

    PackedWhitening(const double* whitening, index_t k, index_t d)
        : blocks((d + height - 1) / height), size(2 * height * blocks * (blocks + 1)) {
        cells.assign(static_cast<std::size_t>(k * size), 0.0);
        for (index_t c = 0; c < k; ++c)
            for (index_t a = 0; a < blocks; ++a)
                for (index_t b = 0; b < std::min(d, height * (a + 1)); ++b)
                    for (index_t r = 0; r < height; ++r) {
                        const index_t row = height * a + r;
                        if (row < d && b <= row)
                            cells[static_cast<std::size_t>(c * size + offset(a) + b * height + r)] =
                                whitening[(c * d + row) * d + b];
                    }
    }
    static index_t offset(index_t a) { return height * height * a * (a + 1) / 2; }
};

// squares[p] = |W (x_p - m)|^2 for a tile; z OUT holds x - m, padded with zero rows to whole blocks.
template <int W, int MR, int NV>
ASSAY_INLINE void quadratic_body(const double* panel, index_t d, const double* mean, const double* packed, index_t blocks,
                                 double* z, double* squares) {
    using vec = typename Lanes<W>::type;
    for (index_t t = 0; t < d; ++t)
        for (index_t p = 0; p < tile; ++p) z[t * tile + p] = panel[t * tile + p] - mean[t];
    for (index_t first = 0; first < tile; first += W * NV) {
        vec total[NV] = {};
        for (index_t a = 0; a < blocks; ++a) {
            vec sum[height][NV] = {};
            const double* const cell = packed + height * height * a * (a + 1) / 2;
            const index_t stop = std::min(d, height * (a + 1));
            for (index_t b = 0; b < stop; ++b) {
                vec x[NV];
#pragma GCC unroll 4
                for (int v = 0; v < NV; ++v) x[v] = *reinterpret_cast<const vec*>(z + b * tile + first + v * W);
#pragma GCC unroll 4
                for (int r = 0; r < height; ++r)
#pragma GCC unroll 4
                    for (int v = 0; v < NV; ++v) sum[r][v] += cell[b * height + r] * x[v];
            }
#pragma GCC unroll 4
            for (int r = 0; r < height; ++r)
#pragma GCC unroll 4
                for (int v = 0; v < NV; ++v) total[v] += sum[r][v] * sum[r][v];
        }
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) *reinterpret_cast<vec*>(squares + first + v * W) = total[v];
    }
}
ASSAY_DISPATCH_BLOCKED(quadratic, quadratic_body,
                       (const double* panel, index_t d, const double* mean, const double* packed, index_t blocks,
                        double* z, double* squares),
                       (panel, d, mean, packed, blocks, z, squares))

ASSAY_INLINE void diagonal_body(const double* panel, index_t d, const double* mean, const double* inverse,
                                double* squares) {
    for (index_t p = 0; p < tile; ++p) squares[p] = 0.0;
    for (index_t t = 0; t < d; ++t) {
        const double m = mean[t], s = inverse[t];
        for (index_t p = 0; p < tile; ++p) {
            const double gap = (panel[t * tile + p] - m) * s;
            squares[p] += gap * gap;
        }
    }
}
ASSAY_DISPATCH(void, diagonal_squares, diagonal_body,
               (const double* panel, index_t d, const double* mean, const double* inverse, double* squares),
               (panel, d, mean, inverse, squares))

// A += r z, diagonal of B += r z^2, N += r over a tile.
ASSAY_INLINE void diagonal_moments_body(const double* panel, index_t d, const double* mean, const double* shares,
                                        double* sums) {
    for (index_t t = 0; t <= d; ++t) {
        double first[8] = {}, second[8] = {};
        for (index_t p = 0; p < tile; p += 8)
            for (index_t v = 0; v < 8; ++v) {
                const double gap = t < d ? panel[t * tile + p + v] - mean[t] : 1.0;
                first[v] += shares[p + v] * gap;
                second[v] += shares[p + v] * gap * gap;
            }
        double a = 0.0, b = 0.0;
        for (index_t v = 0; v < 8; ++v) {
            a += first[v];
            b += second[v];
        }
        if (t < d) {
            sums[t] += a;
            sums[d + t] += b;
        } else {
            sums[2 * d] += a;
        }
    }
}
ASSAY_DISPATCH(void, diagonal_moments, diagonal_moments_body,
               (const double* panel, index_t d, const double* mean, const double* shares, double* sums),
               (panel, d, mean, shares, sums))

// From log f_c (k x 32, in place) to responsibilities; log_density OUT.
ASSAY_INLINE void responsibilities_body(double* logs, index_t k, double* log_density) {
    double most[tile], sum[tile];
    for (index_t p = 0; p < tile; ++p) {
        most[p] = logs[p];
        sum[p] = 0.0;
    }
    for (index_t c = 1; c < k; ++c)
        for (index_t p = 0; p < tile; ++p) most[p] = logs[c * tile + p] > most[p] ? logs[c * tile + p] : most[p];
    for (index_t c = 0; c < k; ++c)
        for (index_t p = 0; p < tile; ++p) {
            const double e = fast_exp(logs[c * tile + p] - most[p]);
            logs[c * tile + p] = e;
            sum[p] += e;
        }
    for (index_t p = 0; p < tile; ++p) {
        log_density[p] = most[p] + fast_log(sum[p]);
        sum[p] = 1.0 / sum[p];
    }
    for (index_t c = 0; c < k; ++c)
        for (index_t p = 0; p < tile; ++p) logs[c * tile + p] *= sum[p];
}
ASSAY_DISPATCH(void, to_responsibilities, responsibilities_body, (double* logs, index_t k, double* log_density),
               (logs, k, log_density))

template <int W, int MR, int NV>
ASSAY_INLINE void sandwich_body(const double* rows, index_t width, const double* curvatures, double* weighted, double* block) {
    add_sandwich<W, MR, NV>(rows, width, curvatures, weighted, block);
}
ASSAY_DISPATCH_BLOCKED(sandwich, sandwich_body,
                       (const double* rows, index_t width, const double* curvatures, double* weighted, double* block),
                       (rows, width, curvatures, weighted, block))

// Rows on their way into B_c: 64 of them, [x - m_c, 1] padded to whole vectors.
struct Gatherer {
    index_t width;
    std::vector<double> rows, shares, weighted;
    std::vector<index_t> count;
    double* blocks;

    Gatherer(index_t k, index_t d, double* out)
        : width(padded(d + 1)), rows(static_cast<std::size_t>(k * tile_rows * width)),
          shares(static_cast<std::size_t>(k * tile_rows)), weighted(static_cast<std::size_t>(tile_rows * width)),
          count(static_cast<std::size_t>(k), 0), blocks(out) {}

    void add(index_t c, const double* x, const double* mean, index_t d, double share) {
        index_t& held = count[static_cast<std::size_t>(c)];
        double* const to = rows.data() + (c * tile_rows + held) * width;
        for (index_t t = 0; t < d; ++t) to[t] = x[t] - mean[t];
        to[d] = 1.0;
        shares[static_cast<std::size_t>(c * tile_rows + held)] = share;
        if (++held == tile_rows) flush(c);
    }
    void flush(index_t c) {
        index_t& held = count[static_cast<std::size_t>(c)];
        if (held == 0) return;
        double* const own = shares.data() + c * tile_rows;
        std::fill(own + held, own + tile_rows, 0.0);
        sandwich(rows.data() + c * tile_rows * width, width, own, weighted.data(), blocks + c * width * width);
        held = 0;
    }
};

}  // namespace

double gaussian_pass(Matrix<const double> rows, const double* weights, const GaussianComponents& components,
                     double* log_density, double* responsibilities, double* moments, int threads) {
    const index_t n = rows.rows, d = rows.cols, k = components.k, width = padded(d + 1);
    const bool diagonal = components.diagonal;
    const index_t cells = !moments ? 1 : diagonal ? k * (2 * d + 1) : k * width * width;
    const index_t grain = chunk_grain(n, cells), chunks = chunk_count(n, grain);
    const PackedWhitening packed(components.whitening, diagonal ? 0 : k, diagonal ? 0 : d);
    std::vector<double> sums(static_cast<std::size_t>(moments ? chunks * cells : 0), 0.0);
    std::vector<double> totals(static_cast<std::size_t>(chunks), 0.0);
    parallel_chunks(n, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
        std::vector<double> panel(static_cast<std::size_t>(d * tile)), logs(static_cast<std::size_t>(k * tile));
        std::vector<double> z(static_cast<std::size_t>((d + height) * tile));
        double density[tile];
        double* const own = moments ? sums.data() + chunk * cells : nullptr;
        Gatherer gatherer(moments && !diagonal ? k : 0, d, own);
        double total = 0.0;
        for (index_t first = begin; first < end && !interrupted(); first += tile) {
            const index_t size = std::min(tile, end - first);
            for (index_t p = 0; p < tile; ++p) {
                const double* const x = rows.row(first + std::min(p, size - 1));
                for (index_t t = 0; t < d; ++t) panel[static_cast<std::size_t>(t * tile + p)] = x[t];
            }
            for (index_t c = 0; c < k; ++c) {
                double squares[tile];
                if (diagonal)
                    diagonal_squares(panel.data(), d, components.means + c * d, components.whitening + c * d, squares);
                else
                    quadratic(panel.data(), d, components.means + c * d, packed.cells.data() + c * packed.size,
                              packed.blocks, z.data(), squares);
                for (index_t p = 0; p < tile; ++p) logs[static_cast<std::size_t>(c * tile + p)] = components.constants[c] - 0.5 * squares[p];
            }
            to_responsibilities(logs.data(), k, density);
            for (index_t p = 0; p < size; ++p) {
                const double w = weights ? weights[first + p] : 1.0;
                if (w > 0.0) total += w * density[p];
                if (log_density) log_density[first + p] = density[p];
                if (responsibilities)
                    for (index_t c = 0; c < k; ++c)
                        responsibilities[(first + p) * k + c] = logs[static_cast<std::size_t>(c * tile + p)];
            }
            if (!moments) continue;
            for (index_t c = 0; c < k; ++c) {
                double shares[tile] = {}, most = 0.0;
                for (index_t p = 0; p < size; ++p) {
                    const double share = logs[static_cast<std::size_t>(c * tile + p)];
                    shares[p] = share > negligible ? share * (weights ? weights[first + p] : 1.0) : 0.0;
                    most = std::max(most, shares[p]);
                }
                if (most == 0.0) continue;
                if (diagonal) {
                    diagonal_moments(panel.data(), d, components.means + c * d, shares, own + c * (2 * d + 1));
                } else {
                    for (index_t p = 0; p < size; ++p)
                        if (shares[p] > 0.0) gatherer.add(c, rows.row(first + p), components.means + c * d, d, shares[p]);
                }
            }
        }
        if (moments && !diagonal)
            for (index_t c = 0; c < k; ++c) gatherer.flush(c);
        totals[static_cast<std::size_t>(chunk)] = total;
    });
    if (moments) {
        std::vector<double> merged(static_cast<std::size_t>(cells), 0.0);
        for (index_t chunk = 0; chunk < chunks; ++chunk)
            for (index_t i = 0; i < cells; ++i)
                merged[static_cast<std::size_t>(i)] += sums[static_cast<std::size_t>(chunk * cells + i)];
        if (diagonal)
            std::copy(merged.begin(), merged.end(), moments);
        else
            for (index_t c = 0; c < k; ++c)
                for (index_t a = 0; a <= d; ++a)
                    for (index_t b = 0; b <= d; ++b) {
                        const index_t high = std::max(a, b), low = std::min(a, b);
                        moments[(c * (d + 1) + a) * (d + 1) + b] =
                            merged[static_cast<std::size_t>((c * width + high) * width + low)];
                    }
    }
    double total = 0.0;
    for (const double part : totals) total += part;
    return total;
}

}  // namespace assay::mixtures
