#include "assay/neighbours/large_margin.hpp"

#include <algorithm>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::neighbours {
namespace {

ASSAY_INLINE double squared_body(const double* a, const double* b, index_t q) {
    double part[8] = {};
    index_t j = 0;
    for (; j + 8 <= q; j += 8)
        for (int l = 0; l < 8; ++l) part[l] += (a[j + l] - b[j + l]) * (a[j + l] - b[j + l]);
    for (int l = 0; j + l < q; ++l) part[l] += (a[j + l] - b[j + l]) * (a[j + l] - b[j + l]);
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}
ASSAY_DISPATCH(double, squared, squared_body, (const double* a, const double* b, index_t q), (a, b, q))

// gradient_i += 2 w (z_i - z_j), gradient_j -= 2 w (z_i - z_j).
ASSAY_INLINE void pull_body(const double* zi, const double* zj, index_t q, double weight, double* gi, double* gj) {
    for (index_t c = 0; c < q; ++c) {
        const double force = 2.0 * weight * (zi[c] - zj[c]);
        gi[c] += force;
        gj[c] -= force;
    }
}
ASSAY_DISPATCH(void, pull, pull_body,
               (const double* zi, const double* zj, index_t q, double weight, double* gi, double* gj),
               (zi, zj, q, weight, gi, gj))

}  // namespace

double large_margin_loss(Matrix<const double> z, Matrix<const std::int64_t> targets, Matrix<const std::int64_t> impostors,
                         double push, double* gradient, int threads) {
    const index_t n = z.rows, q = z.cols, k = targets.cols, m = impostors.cols;
    std::vector<double> losses(static_cast<std::size_t>(n), 0.0);
    std::vector<double> weights(static_cast<std::size_t>(n * (k + m)), 0.0);
    parallel_chunks(n, 256, threads, [&](index_t, index_t begin, index_t end) {
        std::vector<double> near(static_cast<std::size_t>(k)), far(static_cast<std::size_t>(m));
        for (index_t i = begin; i < end; ++i) {
            double* weight = weights.data() + i * (k + m);
            double most = -1.0, loss = 0.0;
            for (index_t j = 0; j < k; ++j) {
                if (targets(i, j) < 0) continue;
                near[j] = squared(z.row(i), z.row(targets(i, j)), q);
                most = std::max(most, near[j]);
                loss += (1.0 - push) * near[j];
                weight[j] = 1.0 - push;
            }
            if (most < 0.0) continue;
            for (index_t l = 0; l < m; ++l) {
                if (impostors(i, l) < 0) continue;
                far[l] = squared(z.row(i), z.row(impostors(i, l)), q);
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
        for (index_t p = 0; p < k + m; ++p) {
            if (weight[p] == 0.0) continue;
            const std::int64_t other = p < k ? targets(i, p) : impostors(i, p - k);
            pull(z.row(i), z.row(other), q, weight[p], gradient + i * q, gradient + other * q);
        }
    }
    return total;
}

}  // namespace assay::neighbours
