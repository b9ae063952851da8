// Panels of 64 points in float32 and the two least scores against k centres, as k_means.hpp has them, for squared Euclidean
// and for Manhattan distances.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "assay/common/lanes.hpp"
#include "assay/common/threads.hpp"
#include "assay/common/views.hpp"

namespace assay::clustering {

constexpr index_t panel_points = 64;
constexpr index_t centre_block = 4;

struct TwoLeast {
    float best[panel_points], second[panel_points];
    std::int32_t index[panel_points];
};

// Scores are offset - <x, c>, or offset + sum |x - c|.
template <bool Manhattan, int W, int NV>
ASSAY_INLINE void scores_body(const float* panel, index_t d, const float* centres, const float* offsets, index_t k,
                              TwoLeast& out) {
    using vec = typename FloatLanes<W>::type;
    using whole = typename FloatLanes<W>::whole;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (index_t first = 0; first < panel_points; first += W * NV) {
        vec best[NV], second[NV];
        whole index[NV];
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            best[v] = vec{} + infinity;
            second[v] = vec{} + infinity;
            index[v] = whole{};
        }
        for (index_t j = 0; j < k; j += centre_block) {
            vec sum[centre_block][NV];
#pragma GCC unroll 4
            for (int r = 0; r < centre_block; ++r)
#pragma GCC unroll 4
                for (int v = 0; v < NV; ++v) sum[r][v] = vec{} + offsets[j + r];
            const float* const centre = centres + j * d;
            for (index_t t = 0; t < d; ++t) {
                vec x[NV];
#pragma GCC unroll 4
                for (int v = 0; v < NV; ++v)
                    x[v] = *reinterpret_cast<const vec*>(panel + t * panel_points + first + v * W);
#pragma GCC unroll 4
                for (int r = 0; r < centre_block; ++r) {
                    const float c = centre[r * d + t];
#pragma GCC unroll 4
                    for (int v = 0; v < NV; ++v) {
                        if constexpr (Manhattan)
                            sum[r][v] += reinterpret_cast<vec>(reinterpret_cast<whole>(x[v] - c) & 0x7fffffff);
                        else
                            sum[r][v] -= c * x[v];
                    }
                }
            }
#pragma GCC unroll 4
            for (int r = 0; r < centre_block; ++r)
#pragma GCC unroll 4
                for (int v = 0; v < NV; ++v) {
                    const vec score = sum[r][v];
                    const whole less = score < best[v];
                    const vec larger = less ? best[v] : score;
                    second[v] = larger < second[v] ? larger : second[v];
                    best[v] = less ? score : best[v];
                    index[v] = less ? (whole{} + static_cast<std::int32_t>(j + r)) : index[v];
                }
        }
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) {
            *reinterpret_cast<vec*>(out.best + first + v * W) = best[v];
            *reinterpret_cast<vec*>(out.second + first + v * W) = second[v];
            *reinterpret_cast<whole*>(out.index + first + v * W) = index[v];
        }
    }
}

template <int W, int NV>
ASSAY_INLINE void products_body(const float* panel, index_t d, const float* centres, const float* offsets, index_t k,
                                TwoLeast& out) {
    scores_body<false, W, NV>(panel, d, centres, offsets, k, out);
}
template <int W, int NV>
ASSAY_INLINE void gaps_body(const float* panel, index_t d, const float* centres, const float* offsets, index_t k,
                            TwoLeast& out) {
    scores_body<true, W, NV>(panel, d, centres, offsets, k, out);
}
ASSAY_DISPATCH_LANES(void, least_products, products_body,
                     (const float* panel, index_t d, const float* centres, const float* offsets, index_t k, TwoLeast& out),
                     (panel, d, centres, offsets, k, out))
ASSAY_DISPATCH_LANES(void, least_gaps, gaps_body,
                     (const float* panel, index_t d, const float* centres, const float* offsets, index_t k, TwoLeast& out),
                     (panel, d, centres, offsets, k, out))

// The distance of a row and a centre in float64 from differences: their squares, or their sizes.
template <bool Manhattan, class T>
ASSAY_INLINE double distance_body(const T* x, const double* c, index_t d) {
    double part[8] = {};
    index_t j = 0;
    for (; j + 8 <= d; j += 8)
        for (index_t v = 0; v < 8; ++v) {
            const double gap = static_cast<double>(x[j + v]) - c[j + v];
            part[v] += Manhattan ? std::abs(gap) : gap * gap;
        }
    for (index_t v = 0; j < d; ++j, ++v) {
        const double gap = static_cast<double>(x[j]) - c[j];
        part[v] += Manhattan ? std::abs(gap) : gap * gap;
    }
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}
ASSAY_DISPATCH(double, squared_distance_double, (distance_body<false, double>),
               (const double* x, const double* c, index_t d), (x, c, d))
ASSAY_DISPATCH(double, squared_distance_float, (distance_body<false, float>),
               (const float* x, const double* c, index_t d), (x, c, d))
ASSAY_DISPATCH(double, manhattan_distance, (distance_body<true, double>),
               (const double* x, const double* c, index_t d), (x, c, d))
inline double squared_distance(const double* x, const double* c, index_t d) { return squared_distance_double(x, c, d); }
inline double squared_distance(const float* x, const double* c, index_t d) { return squared_distance_float(x, c, d); }

// Where the float32 side lies: x' = (x - mean) * scale, |x'_j| <= 1.
struct Frame {
    std::vector<double> mean;
    double scale = 1.0;
    double mean_variance = 0.0;  // of the columns, weighted
};

template <class T>
Frame frame_of(Matrix<const T> rows, const double* weights, int threads) {
    const index_t n = rows.rows, d = rows.cols, grain = std::max<index_t>(4096, (n + 63) / 64);
    const index_t chunks = chunk_count(n, grain);
    const auto width = static_cast<std::size_t>(d);
    std::vector<double> sums(static_cast<std::size_t>(chunks) * (width + 1)), spreads(static_cast<std::size_t>(chunks));
    std::vector<double> largest(static_cast<std::size_t>(chunks));
    parallel_chunks(n, grain, threads, [&](index_t c, index_t begin, index_t end) {
        double* const sum = sums.data() + static_cast<std::size_t>(c) * (width + 1);
        for (index_t i = begin; i < end; ++i) {
            const double w = weights ? weights[i] : 1.0;
            const T* const x = rows.row(i);
            for (index_t j = 0; j < d; ++j) sum[j] += w * static_cast<double>(x[j]);
            sum[d] += w;
        }
    });
    Frame frame;
    frame.mean.assign(width, 0.0);
    double total = 0.0;
    for (index_t c = 0; c < chunks; ++c) {
        const double* const sum = sums.data() + static_cast<std::size_t>(c) * (width + 1);
        for (std::size_t j = 0; j < width; ++j) frame.mean[j] += sum[j];
        total += sum[d];
    }
    for (double& m : frame.mean) m /= total;
    parallel_chunks(n, grain, threads, [&](index_t c, index_t begin, index_t end) {
        double spread = 0.0, most = 0.0;
        for (index_t i = begin; i < end; ++i) {
            const double w = weights ? weights[i] : 1.0;
            const T* const x = rows.row(i);
            double own = 0.0;
            for (index_t j = 0; j < d; ++j) {
                const double gap = static_cast<double>(x[j]) - frame.mean[static_cast<std::size_t>(j)];
                own += gap * gap;
                most = std::max(most, std::abs(gap));
            }
            spread += w * own;
        }
        spreads[static_cast<std::size_t>(c)] = spread;
        largest[static_cast<std::size_t>(c)] = most;
    });
    double most = 0.0;
    for (index_t c = 0; c < chunks; ++c) {
        frame.mean_variance += spreads[static_cast<std::size_t>(c)] / total;
        most = std::max(most, largest[static_cast<std::size_t>(c)]);
    }
    frame.mean_variance /= static_cast<double>(std::max<index_t>(1, d));
    frame.scale = most > 0.0 ? std::ldexp(1.0, -std::ilogb(most) - 1) : 1.0;
    return frame;
}

// How centres are compared: the distance in float64 and its length in the units of the triangle inequality; the float32 scores,
// which order centres as the distances do, what turns a score into a length, and the largest error of a score.
struct Euclidean {
    template <class T>
    static double measure(const T* x, const double* c, index_t d) {
        return squared_distance(x, c, d);
    }
    static double length(double measured) { return std::sqrt(measured); }
    static double norm_part(double cell) { return cell * cell; }
    static double norm(double sum) { return std::sqrt(sum); }
    static float offset(double sum) { return static_cast<float>(0.5 * sum); }
    static void scores(const float* panel, index_t d, const float* cells, const float* offsets, index_t k, TwoLeast& out) {
        least_products(panel, d, cells, offsets, k, out);
    }
    static double error(double squared_norm, double largest, index_t d) {
        return 1.02 * static_cast<double>(d + 8) * 0x1.0p-24 * (0.5 * largest * largest + std::sqrt(squared_norm) * largest) +
               1e-37;
    }
    static double length_of_score(double squared_norm, double score) {
        return std::sqrt(std::max(0.0, squared_norm + 2.0 * score));
    }
};

// |float32 - exact| <= (d + 8) 2^-24 (|x|_1 + |c|_1), and |x|_1 <= sqrt(d) |x|_2.
struct Manhattan {
    static double measure(const double* x, const double* c, index_t d) { return manhattan_distance(x, c, d); }
    static double length(double measured) { return measured; }
    static double norm_part(double cell) { return std::abs(cell); }
    static double norm(double sum) { return sum; }
    static float offset(double) { return 0.0f; }
    static void scores(const float* panel, index_t d, const float* cells, const float* offsets, index_t k, TwoLeast& out) {
        least_gaps(panel, d, cells, offsets, k, out);
    }
    static double error(double squared_norm, double largest, index_t d) {
        return 1.02 * static_cast<double>(d + 8) * 0x1.0p-24 * (std::sqrt(static_cast<double>(d) * squared_norm) + largest) +
               1e-37;
    }
    static double length_of_score(double, double score) { return std::max(0.0, score); }
};

// k centres on the float32 side, padded to whole blocks with centres that are never nearest.
template <class Geometry>
struct ScreenCentres {
    std::vector<float> cells, offsets;
    double largest_norm = 0.0;
    index_t k = 0, padded = 0;

    void set(const double* centres, index_t count, index_t d, const Frame& frame) {
        k = count;
        padded = (count + centre_block - 1) / centre_block * centre_block;
        cells.assign(static_cast<std::size_t>(padded * d), 0.0f);
        offsets.assign(static_cast<std::size_t>(padded), std::numeric_limits<float>::infinity());
        largest_norm = 0.0;
        for (index_t j = 0; j < count; ++j) {
            double sum = 0.0;
            for (index_t t = 0; t < d; ++t) {
                const double c = (centres[j * d + t] - frame.mean[static_cast<std::size_t>(t)]) * frame.scale;
                cells[static_cast<std::size_t>(j * d + t)] = static_cast<float>(c);
                sum += Geometry::norm_part(c);
            }
            offsets[static_cast<std::size_t>(j)] = Geometry::offset(sum);
            largest_norm = std::max(largest_norm, Geometry::norm(sum));
        }
    }
};

// A buffer of up to 64 rows on their way to the screen.
struct Panel {
    std::vector<float> cells;
    index_t rows[panel_points];
    double norms[panel_points];  // squared, after scaling
    index_t size = 0;

    explicit Panel(index_t d) : cells(static_cast<std::size_t>(d * panel_points), 0.0f) {}
    template <class T>
    void add(const T* x, index_t row, index_t d, const Frame& frame) {
        double norm = 0.0;
        for (index_t t = 0; t < d; ++t) {
            const double value = (static_cast<double>(x[t]) - frame.mean[static_cast<std::size_t>(t)]) * frame.scale;
            cells[static_cast<std::size_t>(t * panel_points + size)] = static_cast<float>(value);
            norm += value * value;
        }
        rows[size] = row;
        norms[size] = norm;
        ++size;
    }
};

}  // namespace assay::clustering
