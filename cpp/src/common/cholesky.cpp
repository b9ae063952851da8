#include "assay/common/cholesky.hpp"

#include <algorithm>
#include <cmath>

#include "assay/common/lanes.hpp"
#include "assay/common/scratch.hpp"

namespace assay {
namespace {

ASSAY_INLINE bool cholesky_body(double* a, index_t n) {
    for (index_t i = 0; i < n; ++i) {
        double* row = a + i * n;
        for (index_t j = 0; j < i; ++j) {
            const double* other = a + j * n;
            row[j] = (row[j] - dot_inline(row, other, j)) / other[j];
        }
        const double pivot = row[i] - dot_inline(row, row, i);
        if (!(pivot > 0 && pivot < INFINITY)) return false;
        row[i] = std::sqrt(pivot);
    }
    return true;
}
ASSAY_DISPATCH(bool, cholesky_dispatch, cholesky_body, (double* a, index_t n), (a, n))

// The largest column sum of |(L L')^-1| = |M'M| with M = L^-1, whose rows stand `stride` cells apart, a multiple of eight, and
// are zero from their end to that of a vector. inverse (OUT): M, n x stride.
template <int W>
ASSAY_INLINE double inverse_norm_body(const double* factor, index_t n, index_t stride, double* inverse) {
    for (index_t i = 0; i < n; ++i) {
        const double *of_row = factor + i * n, share = 1.0 / of_row[i];
        double* row = inverse + i * stride;
        for (index_t j = 0; j <= i; j += 8) {
            Eight<W> sum{};
            for (index_t k = j; k < i; ++k) sum += of_row[k] * Eight<W>::load(inverse + k * stride + j);
            (-share * sum).store(row + j);
        }
        row[i] = share;
    }
    double largest = 0;
    for (index_t j = 0; j < n; j += 8) {
        double total[8] = {};
        for (index_t i = 0; i < n; i += 4) {
            Eight<W> sum[4] = {};
            for (index_t k = std::max(i, j); k < n; ++k) {
                const auto cells = Eight<W>::load(inverse + k * stride + j);
                const double* row = inverse + k * stride + i;
#pragma GCC unroll 4
                for (int h = 0; h < 4; ++h) sum[h] += row[h] * cells;
            }
            for (int h = 0; h < 4 && i + h < n; ++h)
                for (int lane = 0; lane < 8; ++lane) total[lane] += std::abs(sum[h].lane(lane));
        }
        for (int lane = 0; lane < 8; ++lane) largest = std::max(largest, total[lane]);
    }
    return largest;
}
ASSAY_DISPATCH_DOUBLES(double, inverse_norm, inverse_norm_body, (const double* factor, index_t n, index_t stride, double* inverse),
                       (factor, n, stride, inverse))

}  // namespace

bool cholesky(double* a, index_t n) { return cholesky_dispatch(a, n); }

double scaled_cholesky(const double* a, index_t n, double lift, double* factor, double* scale) {
    for (index_t i = 0; i < n; ++i) {
        const double size = a[i * n + i] + lift;
        if (!(size > 0 && size < INFINITY)) return 0;
        scale[i] = 1.0 / std::sqrt(size);
    }
    double norm = 0;
    for (index_t i = 0; i < n; ++i) {
        double sum = 0;
        for (index_t j = 0; j < n; ++j) {
            const double cell = i == j ? (a[i * n + i] + lift) * scale[i] * scale[i] : a[i * n + j] * scale[j] * scale[i];
            sum += std::abs(cell);
            factor[i * n + j] = j <= i ? cell : 0.0;
        }
        norm = std::max(norm, sum);
    }
    if (!cholesky_dispatch(factor, n)) return 0;
    const index_t stride = (n + 7) / 8 * 8;
    Scratch<96 * 96> room(n * stride);
    const double found = 1.0 / (norm * inverse_norm(factor, n, stride, room.data()));
    return found > 0 && found < INFINITY ? found : 0;
}

void scaled_solve(const double* factor, const double* scale, index_t n, const double* right, index_t count, double* out) {
    Scratch<96> column(n);
    double* const x = column.data();
    for (index_t k = 0; k < count; ++k) {
        for (index_t i = 0; i < n; ++i) x[i] = right[i * count + k] * scale[i];
        solve_lower(factor, n, x);
        solve_upper(factor, n, x);
        for (index_t i = 0; i < n; ++i) out[i * count + k] = x[i] * scale[i];
    }
}

void solve_lower(const double* factor, index_t n, double* x) {
    for (index_t i = 0; i < n; ++i) {
        double sum = x[i];
        for (index_t k = 0; k < i; ++k) sum -= factor[i * n + k] * x[k];
        x[i] = sum / factor[i * n + i];
    }
}

void solve_upper(const double* factor, index_t n, double* x) {
    for (index_t i = n; i-- > 0;) {
        x[i] /= factor[i * n + i];
        for (index_t k = 0; k < i; ++k) x[k] -= factor[i * n + k] * x[i];
    }
}

}  // namespace assay
