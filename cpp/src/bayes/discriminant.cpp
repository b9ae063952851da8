#include "assay/bayes/discriminant.hpp"

#include <cmath>
#include <limits>

#include "assay/common/elementary.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay {
namespace {

struct Sums {
    double yy, yw, ww, logs;
};

// Sums of y^2 / D, y w / D, w^2 / D and log D over the columns, in four lanes that are added in order.
ASSAY_INLINE Sums sums_body(const double* y, const double* w, const double* e, index_t d, double keep, double sphere) {
    constexpr int lanes = 8;
    double yy[lanes] = {}, yw[lanes] = {}, ww[lanes] = {}, logs[lanes] = {};
    index_t j = 0;
    for (; j + lanes <= d; j += lanes) {
        for (int l = 0; l < lanes; ++l) {
            const double value = keep * e[j + l] + sphere, inverse = 1.0 / value;
            const double scaled = w[j + l] * inverse;
            yy[l] += y[j + l] * y[j + l] * inverse;
            yw[l] += y[j + l] * scaled;
            ww[l] += w[j + l] * scaled;
            logs[l] += fast_log(value);
        }
    }
    for (int l = 0; j + l < d; ++l) {
        const double value = keep * e[j + l] + sphere, inverse = 1.0 / value;
        const double scaled = w[j + l] * inverse;
        yy[l] += y[j + l] * y[j + l] * inverse;
        yw[l] += y[j + l] * scaled;
        ww[l] += w[j + l] * scaled;
        logs[l] += fast_log(value);
    }
    Sums total{};
    for (int l = 0; l < lanes; ++l) {
        total.yy += yy[l];
        total.yw += yw[l];
        total.ww += ww[l];
        total.logs += logs[l];
    }
    return total;
}
ASSAY_DISPATCH(Sums, sums, sums_body,
               (const double* y, const double* w, const double* e, index_t d, double keep, double sphere),
               (y, w, e, d, keep, sphere))

}  // namespace

void leave_one_out_scores(Matrix<const double> y, Matrix<const double> w, const double* eigenvalues,
                          const double* spheres, double c, Vector<const double> shares, double* scores, int threads) {
    parallel_chunks(y.rows, 64, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
            for (index_t m = 0; m < shares.size; ++m) {
                const double keep = 1.0 - shares[m];
                const Sums found = sums(y.row(i), w.row(i), eigenvalues, y.cols, keep, shares[m] * spheres[i]);
                const double rest = 1.0 - keep * c * found.ww;
                double& out = scores[i * shares.size + m];
                out = rest > 0.0 ? -0.5 * (found.yy + keep * c * found.yw * found.yw / rest + found.logs + std::log(rest))
                                 : -std::numeric_limits<double>::infinity();
            }
        }
    });
}

}  // namespace assay
