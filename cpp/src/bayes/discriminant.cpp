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

// The sums in lanes, so that columns are added side by side.
struct Lanes {
    static constexpr int count = 8;
    double yy[count] = {}, yw[count] = {}, ww[count] = {}, logs[count] = {};

    __attribute__((always_inline)) void add(int l, double y, double w, double value) {
        const double inverse = 1.0 / value, scaled = w * inverse;
        yy[l] += y * y * inverse;
        yw[l] += y * scaled;
        ww[l] += w * scaled;
        logs[l] += fast_log(value);
    }
};

// Sums of y^2 / D, y w / D, w^2 / D and log D over the columns, in lanes that are added in order.
ASSAY_INLINE Sums sums_body(const double* y, const double* w, const double* e, index_t d, double keep, double sphere) {
    Lanes lanes;
    index_t j = 0;
    for (; j + Lanes::count <= d; j += Lanes::count)
        for (int l = 0; l < Lanes::count; ++l) lanes.add(l, y[j + l], w[j + l], keep * e[j + l] + sphere);
    for (int l = 0; j + l < d; ++l) lanes.add(l, y[j + l], w[j + l], keep * e[j + l] + sphere);
    Sums total{};
    for (int l = 0; l < Lanes::count; ++l) {
        total.yy += lanes.yy[l];
        total.yw += lanes.yw[l];
        total.ww += lanes.ww[l];
        total.logs += lanes.logs[l];
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
