#include "assay/neighbours/large_margin.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::neighbours {
namespace {

ASSAY_INLINE double squared(const double* a, const double* b, index_t q) {
    double part[8] = {};
    index_t j = 0;
    for (; j + 8 <= q; j += 8)
        for (int l = 0; l < 8; ++l) part[l] += (a[j + l] - b[j + l]) * (a[j + l] - b[j + l]);
    for (int l = 0; j + l < q; ++l) part[l] += (a[j + l] - b[j + l]) * (a[j + l] - b[j + l]);
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

// The squared distances of row i to those of a list; infinity where there is none.
ASSAY_INLINE void distances_body(Matrix<const double> z, index_t i, const std::int64_t* list, index_t count, double* found) {
    for (index_t l = 0; l < count; ++l)
        found[l] = list[l] < 0 ? std::numeric_limits<double>::infinity() : squared(z.row(i), z.row(list[l]), z.cols);
}
ASSAY_DISPATCH(void, distances_to, distances_body,
               (Matrix<const double> z, index_t i, const std::int64_t* list, index_t count, double* found),
               (z, i, list, count, found))

// gradient_i += 2 w (z_i - z_j), gradient_j -= 2 w (z_i - z_j) for the rows j of a list.
ASSAY_INLINE void pull_body(Matrix<const double> z, index_t i, const std::int64_t* list, index_t count, const double* weight,
                            double* gradient) {
    const index_t q = z.cols;
    const double* const zi = z.row(i);
    double* __restrict const gi = gradient + i * q;
    for (index_t l = 0; l < count; ++l) {
        if (weight[l] == 0.0 || list[l] == i) continue;
        const double twice = 2.0 * weight[l];
        const double* const zj = z.row(list[l]);
        double* __restrict const gj = gradient + list[l] * q;
        for (index_t c = 0; c < q; ++c) {
            const double force = twice * (zi[c] - zj[c]);
            gi[c] += force;
            gj[c] -= force;
        }
    }
}
ASSAY_DISPATCH(void, pull, pull_body,
               (Matrix<const double> z, index_t i, const std::int64_t* list, index_t count, const double* weight,
                double* gradient),
               (z, i, list, count, weight, gradient))

}  // namespace

double large_margin_loss(Matrix<const double> z, Matrix<const std::int64_t> targets, Matrix<const std::int64_t> impostors,
                         double push, double* gradient, int threads) {
    const index_t n = z.rows, q = z.cols, k = targets.cols, m = impostors.cols;
    std::vector<double> losses(static_cast<std::size_t>(n), 0.0);
    std::vector<double> weights(static_cast<std::size_t>(n * (k + m)), 0.0);
    // Waking threads takes longer than the pairs of a small table.
    parallel_chunks(n, 64, n * (k + m) * q < 2'000'000 ? 1 : threads, [&](index_t, index_t begin, index_t end) {
        std::vector<double> near(static_cast<std::size_t>(k)), far(static_cast<std::size_t>(m));
        for (index_t i = begin; i < end; ++i) {
            double* weight = weights.data() + i * (k + m);
            double most = -1.0, loss = 0.0;
            distances_to(z, i, targets.row(i), k, near.data());
            for (index_t j = 0; j < k; ++j) {
                if (targets(i, j) < 0) continue;
                most = std::max(most, near[j]);
                loss += (1.0 - push) * near[j];
                weight[j] = 1.0 - push;
            }
            if (most < 0.0) continue;
            distances_to(z, i, impostors.row(i), m, far.data());
            for (index_t l = 0; l < m; ++l) {
                if (far[l] >= 1.0 + most) continue;
                for (index_t j = 0; j < k; ++j) {
                    const double margin = targets(i, j) < 0 ? 0.0 : 1.0 + near[j] - far[l];
                    if (!(margin > 0.0)) continue;
                    loss += push * margin;
                    weight[j] += push;
                    weight[k + l] -= push;
                }
            }
            losses[static_cast<std::size_t>(i)] = loss;
        }
    });
    std::fill(gradient, gradient + n * q, 0.0);
    double total = 0.0;
    for (index_t i = 0; i < n; ++i) {
        total += losses[static_cast<std::size_t>(i)];
        const double* weight = weights.data() + i * (k + m);
        pull(z, i, targets.row(i), k, weight, gradient);
        pull(z, i, impostors.row(i), m, weight + k, gradient);
    }
    return total;
}

}  // namespace assay::neighbours
