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

constexpr index_t softmax_rows = 32;

// The same for `softmax_rows` rows side by side: f stands class after class, `softmax_rows` apart; `own` holds classes as numbers.
ASSAY_INLINE void softmax_of_rows(double* f, index_t outputs, const double* own, double* loss, double* missed) {
    constexpr index_t m = softmax_rows;
    double largest[m], top[m], others[m];
    for (index_t i = 0; i < m; ++i) largest[i] = f[i], top[i] = 0.0, others[i] = 0.0, missed[i] = 0.0;
    for (index_t k = 1; k < outputs; ++k)
        for (index_t i = 0; i < m; ++i) {
            const bool larger = f[k * m + i] > largest[i];
            largest[i] = larger ? f[k * m + i] : largest[i];
            top[i] = larger ? static_cast<double>(k) : top[i];
        }
    for (index_t i = 0; i < m; ++i) loss[i] = 0.0;
    for (index_t k = 0; k < outputs; ++k)
        for (index_t i = 0; i < m; ++i) {
            const auto here = static_cast<double>(k);
            const double below = f[k * m + i] - largest[i], share = fast_exp(below);
            loss[i] = own[i] == here ? -below : loss[i];
            others[i] += top[i] == here ? 0.0 : share;
            f[k * m + i] = top[i] == here ? 1.0 : share;
        }
    for (index_t i = 0; i < m; ++i) {
        const double few = others[i] < 1.0 ? others[i] : 1.0, sum = 1.0 + others[i];
        loss[i] += others[i] < 1.0 ? log1p_unit(few) : fast_log(sum);
        others[i] = 1.0 / sum;
    }
    for (index_t k = 0; k < outputs; ++k)
        for (index_t i = 0; i < m; ++i) {
            f[k * m + i] *= others[i];
            missed[i] += own[i] == static_cast<double>(k) ? 0.0 : f[k * m + i];
        }
}

}  // namespace assay::losses
