#include "assay/common/cholesky.hpp"

#include <cmath>

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

}  // namespace

bool cholesky(double* a, index_t n) { return cholesky_dispatch(a, n); }

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
