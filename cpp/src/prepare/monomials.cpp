#include "assay/prepare/monomials.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::prepare {
namespace {

ASSAY_INLINE void row_body(const double* x, const MonomialRuns& runs, double* out, index_t width) {
    double* const first = out + static_cast<index_t>(runs.ones);
    double* __restrict to = first;
    if (runs.ones) out[0] = 1.0;
    for (index_t r = 0; r < runs.of.rows; ++r) {
        const std::int64_t* const run = runs.of.row(r);
        const double factor = run[0] < 0 ? 1.0 : first[run[0]];
        const double* const __restrict from = x + run[1];
        for (std::int64_t k = 0; k < run[2]; ++k) to[k] = factor * from[k];
        to += run[2];
    }
    if (!runs.finite) return;
    double zeros[8] = {};  // NaN as soon as a cell is not finite
    index_t k = 0;
    for (; k + 8 <= width; k += 8)
        for (int lane = 0; lane < 8; ++lane) zeros[lane] += out[k + lane] * 0.0;
    for (; k < width; ++k) zeros[0] += out[k] * 0.0;
    double sum = 0.0;
    for (const double zero : zeros) sum += zero;
    if (sum == 0.0) return;
    for (k = 0; k < width; ++k)
        if (std::isinf(out[k])) out[k] = std::numeric_limits<double>::quiet_NaN();
}

ASSAY_INLINE void rows_body(Matrix<const double> x, const MonomialRuns& runs, Matrix<double> out, index_t begin,
                            index_t end) {
    for (index_t i = begin; i < end; ++i) row_body(x.row(i), runs, out.row(i), out.cols);
}
ASSAY_DISPATCH(void, rows, rows_body,
               (Matrix<const double> x, const MonomialRuns& runs, Matrix<double> out, index_t begin, index_t end),
               (x, runs, out, begin, end))

ASSAY_INLINE void scaled_rows_body(Matrix<const double> x, const double* centre, const double* scale, const MonomialRuns& runs,
                                   index_t begin, index_t end, double* row, double* to, index_t width) {
    for (index_t i = begin; i < end; ++i, to += width) {
        for (index_t j = 0; j < x.cols; ++j) row[j] = (x.row(i)[j] - centre[j]) / scale[j];
        row_body(row, runs, to, width);
    }
}
ASSAY_DISPATCH(void, scaled_rows, scaled_rows_body,
               (Matrix<const double> x, const double* centre, const double* scale, const MonomialRuns& runs, index_t begin,
                index_t end, double* row, double* to, index_t width),
               (x, centre, scale, runs, begin, end, row, to, width))

}  // namespace

void scaled_monomials(Matrix<const double> x, const double* centre, const double* scale, const MonomialRuns& runs,
                      index_t begin, index_t end, double* to, index_t width) {
    std::vector<double> row(static_cast<std::size_t>(x.cols));
    scaled_rows(x, centre, scale, runs, begin, end, row.data(), to, width);
}

void monomials(Matrix<const double> x, const MonomialRuns& runs, Matrix<double> out, int threads) {
    constexpr index_t worth_a_team = 1 << 20, grain = 256;
    parallel_chunks(x.rows, grain, out.rows * out.cols < worth_a_team ? 1 : threads,
                    [&](index_t, index_t begin, index_t end) { rows(x, runs, out, begin, end); });
}

}  // namespace assay::prepare
