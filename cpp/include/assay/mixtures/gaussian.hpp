// One pass of expectation-maximisation for a mixture of k normal distributions with weights p_c, means m_c and covariances
// S_c (Dempster, Laird & Rubin, JRSS B 39, 1977).
//
// With W_c lower triangular and W_c S_c W_c^T = I (or the inverse deviations, for diagonal covariances):
//     log f_c(x) = log p_c + log det W_c - (d/2) log 2 pi - |W_c (x - m_c)|^2 / 2,
//     log f(x)   = log sum_c exp log f_c(x),     r_c(x) = f_c(x) / f(x)   (responsibilities),
// and the moments about the current means, from which the maximisation step follows without cancellation:
//     N_c = sum w r_c,   A_c = sum w r_c (x - m_c),   B_c = sum w r_c (x - m_c)(x - m_c)^T   (its diagonal, if diagonal).
// Responsibilities below 1e-13 add nothing to the moments.
//
// Factors (Ghahramani & Hinton, The EM algorithm for mixtures of factor analyzers, CRG-TR-96-1, 1997): for S_c = L_c L_c^T + V_c with
// q columns in L_c and V_c diagonal, Woodbury's identity with C C^T = I + L^T V^-1 L and R = C^-1 L^T V^-1 gives
//     |W (x - m)|^2 = |V^-1/2 (x - m)|^2 - |R (x - m)|^2        (d (q + 1) multiply-adds instead of d^2 / 2),
// and all that the maximisation step needs is sum w r_c (x - m) (R (x - m))^T beside N_c, A_c and the diagonal of B_c.
//
// Blocks of 512 rows stay in cache for all k components; densities, responsibilities and moments of a block are done before
// the next one is read. Rows with a responsibility worth adding are gathered per component, 64 at a time, for B_c. Fixed
// chunks, merged in order: the number of threads changes nothing.
//
// Bounds. Let D_c = |W_c (x - m_c)|. When parameters move to W', m', then by the triangle inequality
//     D'_c >= s_min(W' W^-1) D_c - |W' (m' - m)|     (shrink and shift; s_min the least singular value),
// so that a lower bound of D_c lives on from pass to pass. A component for which the bound puts log f_c 40 below that of the
// row's owner (its largest responsibility in the pass before, which is measured first) adds less than 2^-57 of f: it is not
// measured. This is exact to rounding, and EM that settles measures few pairs beyond those that matter.
//
// Shapes: rows n x d, weights n or null, constants k (the terms of log f_c without x), means k x d, whitening k x d x d
// (k x d if diagonal; with factors k x (q+1) x d: the inverse deviations V^-1/2, then the lines of R); OUT log_density n, responsibilities n x k (each may be null), moments k x (d+1) x (d+1) of
// [x - m_c, 1] (k x (2 d + 1): A, diagonal of B, N, if diagonal; k x (q+2) x (d+1) with factors: sums of [x - m_c, 1] times each
// of R (x - m_c), times 1, and of their squares; null for densities alone). Returns
// sum_i w_i log f(x_i). Cost n k d^2 / 2 multiply-adds (n k d), and as many again for the moments of a dense mixture.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"

namespace assay::mixtures {

constexpr index_t gaussian_block = 512;  // rows of a block

struct GaussianComponents {
    index_t k = 0;
    bool diagonal = false;
    index_t factors = 0;  // q; 0 for covariances without factors
    const double* constants = nullptr;
    const double* means = nullptr;
    const double* whitening = nullptr;
};

// Kept between passes over the same rows: `owners` n (any at first), `lower` one block of 512 for each component for each
// block of rows (zeros at first); both IN and OUT. `shrink` and `shift` k, of the move since the pass before.
struct GaussianBounds {
    std::int32_t* owners = nullptr;
    float* lower = nullptr;
    const float* shrink = nullptr;
    const float* shift = nullptr;
};

double gaussian_pass(Matrix<const double> rows, const double* weights, const GaussianComponents& components,
                     const GaussianBounds* bounds, double* log_density, double* responsibilities, double* moments,
                     int threads);

}  // namespace assay::mixtures
