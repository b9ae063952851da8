// Softmax log loss of K scores, log sum_k exp(f_k - f_own): gradient p - e_own, Hessian diag(p) - p p^T, p = softmax(f).
#pragma once

#include <cmath>

#include "assay/common/elementary.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/views.hpp"

namespace assay::losses {

// f IN scores OUT probabilities; cells from `outputs` to `room` become 0 (a room that is a multiple of the vector width
// makes vector code). The largest score's exp is 1 and stands outside the sum, for the sake of log1p. Returns the loss of
// class `own`; missed OUT 1 - p_own, without cancellation.
ASSAY_INLINE double softmax(double* f, index_t outputs, index_t room, index_t own, double& missed) {
    index_t top = 0;
    for (index_t k = 1; k < outputs; ++k) top = f[k] > f[top] ? k : top;
    const double largest = f[top], gap = largest - f[own];
    for (index_t k = 0; k < outputs; ++k) f[k] -= largest;
    for (index_t k = outputs; k < room; ++k) f[k] = -INFINITY;
    f[top] = -INFINITY;
    for (index_t k = 0; k < room; ++k) f[k] = fast_exp(f[k]);
    double others = 0.0;
    for (index_t k = 0; k < outputs; ++k) others += f[k];
    f[top] = 1.0;
    const double scale = 1.0 / (1.0 + others);
    missed = 0.0;
    for (index_t k = 0; k < room; ++k) {
        f[k] *= scale;
        missed += k == own ? 0.0 : f[k];
    }
    return gap + std::log1p(others);
}

}  // namespace assay::losses
