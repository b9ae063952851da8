#include "assay/evaluate/clusterings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay {
namespace {

constexpr double kNegligible = 1e-20;
constexpr index_t kTile = 256;
constexpr index_t kBlock = 4;

// sum_k (k / n) ln(n k / (a b)) P(k) for one pair of sizes; logs[k] = ln k.
double expected_of_pair(std::int64_t a, std::int64_t b, std::int64_t n, const std::vector<double>& logs) {
    const std::int64_t low = std::max<std::int64_t>(0, a + b - n), high = std::min(a, b);
    const double mode_at = (static_cast<double>(a) + 1) * (static_cast<double>(b) + 1) / (static_cast<double>(n) + 2);
    const std::int64_t mode = std::clamp(static_cast<std::int64_t>(mode_at), low, high);
    const double offset = logs[static_cast<std::size_t>(n)] - logs[static_cast<std::size_t>(a)] -
                          logs[static_cast<std::size_t>(b)];
    const auto value = [&](std::int64_t k) {
        return k == 0 ? 0.0 : static_cast<double>(k) * (logs[static_cast<std::size_t>(k)] + offset);
    };
    double mass = 1, total = 1, sum = value(mode);
    for (std::int64_t k = mode; k < high && mass > kNegligible; ++k) {
        mass *= static_cast<double>(a - k) * static_cast<double>(b - k) /
                (static_cast<double>(k + 1) * static_cast<double>(n - a - b + k + 1));
        total += mass;
        sum += mass * value(k + 1);
    }
    mass = 1;
    for (std::int64_t k = mode; k > low && mass > kNegligible; --k) {
        mass *= static_cast<double>(k) * static_cast<double>(n - a - b + k) /
                (static_cast<double>(a - k + 1) * static_cast<double>(b - k + 1));
        total += mass;
        sum += mass * value(k - 1);
    }
    return sum / total / static_cast<double>(n);
}

// Adds to sums[r] the distances of point r of a block of four to the points [begin, end).
ASSAY_INLINE void distance_sums_body(const Matrix<const double>& columns, index_t point, index_t begin, index_t end,
                                     double* sums) {
    double squared[kBlock][kTile];
    for (index_t tile = begin; tile < end; tile += kTile) {
        const index_t width = std::min(kTile, end - tile);
        for (index_t r = 0; r < kBlock; ++r) std::fill_n(squared[r], width, 0.0);
        for (index_t f = 0; f < columns.rows; ++f) {
            const double* column = columns.row(f);
            const double* x = column + tile;
            const double p0 = column[point], p1 = column[point + 1], p2 = column[point + 2], p3 = column[point + 3];
            for (index_t j = 0; j < width; ++j) {
                const double d0 = x[j] - p0, d1 = x[j] - p1, d2 = x[j] - p2, d3 = x[j] - p3;
                squared[0][j] += d0 * d0;
                squared[1][j] += d1 * d1;
                squared[2][j] += d2 * d2;
                squared[3][j] += d3 * d3;
            }
        }
        for (index_t r = 0; r < kBlock; ++r) {
            for (index_t j = 0; j < width; ++j) squared[r][j] = std::sqrt(squared[r][j]);
            double lanes[8] = {};
            index_t j = 0;
            for (; j + 8 <= width; j += 8)
                for (index_t l = 0; l < 8; ++l) lanes[l] += squared[r][j + l];
            double total = 0;
            for (; j < width; ++j) total += squared[r][j];
            for (double lane : lanes) total += lane;
            sums[r] += total;
        }
    }
}
ASSAY_DISPATCH(void, distance_sums, distance_sums_body,
               (const Matrix<const double>& columns, index_t point, index_t begin, index_t end, double* sums),
               (columns, point, begin, end, sums))

}  // namespace

double expected_mutual_information(Vector<const std::int64_t> a, Vector<const std::int64_t> a_times,
                                   Vector<const std::int64_t> b, Vector<const std::int64_t> b_times, std::int64_t n,
                                   int threads) {
    std::vector<double> logs(static_cast<std::size_t>(n) + 1, 0.0);
    for (std::int64_t k = 1; k <= n; ++k) logs[static_cast<std::size_t>(k)] = std::log(static_cast<double>(k));
    std::vector<double> parts(static_cast<std::size_t>(a.size), 0.0);
    parallel_chunks(a.size, 1, threads, [&](index_t i, index_t, index_t) {
        double sum = 0;
        for (index_t j = 0; j < b.size; ++j)
            sum += static_cast<double>(b_times[j]) * expected_of_pair(a[i], b[j], n, logs);
        parts[static_cast<std::size_t>(i)] = static_cast<double>(a_times[i]) * sum;
    });
    double total = 0;
    for (double part : parts) total += part;
    return total;
}

void silhouette(Matrix<const double> columns, Vector<const std::int64_t> start, int threads, double* s) {
    const index_t n = columns.cols, clusters = start.size - 1;
    const index_t blocks = chunk_count(n, kBlock);
    parallel_chunks(blocks, 16, threads, [&](index_t, index_t first, index_t last) {
        std::vector<double> sums(static_cast<std::size_t>(kBlock * clusters));
        for (index_t block = first; block < last; ++block) {
            // The last block reaches back, so that it is full; its points get the same values twice.
            const index_t point = std::min(block * kBlock, n - kBlock);
            std::fill(sums.begin(), sums.end(), 0.0);
            for (index_t c = 0; c < clusters; ++c)
                distance_sums(columns, point, start[c], start[c + 1], sums.data() + c * kBlock);
            for (index_t r = 0; r < kBlock; ++r) {
                // A point that an earlier block owns is left to it.
                if (point + r < block * kBlock) continue;
                double own = 0, other = std::numeric_limits<double>::infinity();
                index_t own_size = 0;
                for (index_t c = 0; c < clusters; ++c) {
                    const index_t size = start[c + 1] - start[c];
                    const double sum = sums[static_cast<std::size_t>(c * kBlock + r)];
                    if (point + r >= start[c] && point + r < start[c + 1]) {
                        own_size = size;
                        own = size > 1 ? sum / static_cast<double>(size - 1) : 0.0;
                    } else if (size > 0) {
                        other = std::min(other, sum / static_cast<double>(size));
                    }
                }
                const double scale = std::max(own, other);
                s[point + r] = own_size > 1 && scale > 0 ? (other - own) / scale : 0.0;
            }
        }
    });
}

}  // namespace assay
