// Small symmetric positive definite systems inside a kernel: a = L L', then L (L' x) = b by substitution.
//
//   l_ij = (a_ij - sum over k < j of l_ik l_jk) / l_jj,    l_ii = sqrt(a_ii - sum over k < i of l_ik^2)
//
// Matrices are n x n, C-ordered; of a symmetric one the lower triangle counts. Large systems belong to BLAS (blas.hpp) or to the
// factor in blocks of the elastic net.
#pragma once

#include "assay/common/simd.hpp"
#include "assay/common/views.hpp"

namespace assay {

ASSAY_INLINE double dot_inline(const double* a, const double* b, index_t n) {
    double lanes[8] = {};
    index_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) lanes[k] += a[i + k] * b[i + k];
    double tail = 0;
    for (; i < n; ++i) tail += a[i] * b[i];
    for (int k = 0; k < 4; ++k) lanes[k] += lanes[k + 4];
    return ((lanes[0] + lanes[2]) + (lanes[1] + lanes[3])) + tail;
}

// L in place of a; false if a is not positive definite.
bool cholesky(double* a, index_t n);

// The factor of s (a + lift I) s with s_i = 1 / sqrt(a_ii + lift), so that its diagonal is 1, zeros above it; gives one over its
// condition number in the 1-norm, or 0 where it is not positive definite. factor (OUT): n x n; scale (OUT): n values.
double scaled_cholesky(const double* a, index_t n, double lift, double* factor, double* scale);

// (a + lift I)^-1 right by that factor, for n x count right-hand sides. out (OUT): n x count.
void scaled_solve(const double* factor, const double* scale, index_t n, const double* right, index_t count, double* out);

// x <- L^-1 x and x <- L'^-1 x.
void solve_lower(const double* factor, index_t n, double* x);
void solve_upper(const double* factor, index_t n, double* x);

}  // namespace assay
