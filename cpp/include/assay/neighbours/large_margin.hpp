// The loss of large margin nearest neighbours and its gradient with respect to the mapped rows (Weinberger & Saul, "Distance
// metric learning for large margin nearest neighbor classification", J. Machine Learning Research 10, 2009).
//
//     loss(Z) = (1 - m) sum_{i,j} |z_i - z_j|^2 + m sum_{i,j,l} max(0, 1 + |z_i - z_j|^2 - |z_i - z_l|^2),
//
// over the targets j of each row i (near rows of its class) and its impostors l (near rows of other classes). With counts
// a_j of active terms for a target and b_l for an impostor, the gradient is that of sum (1 - m + m a_j) |z_i - z_j|^2
// - m b_l |z_i - z_l|^2. Lists are padded with -1.
//
// Shapes: z n x q; targets n x k; impostors n x m; OUT gradient n x q. Cost: n (k + m) q multiply-adds for distances and
// for active pairs again; n k m comparisons. Pairs are added in the order of the rows: the same bits every time.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"

namespace assay::neighbours {

double large_margin_loss(Matrix<const double> z, Matrix<const std::int64_t> targets, Matrix<const std::int64_t> impostors,
                         double push, double* gradient, int threads);

}  // namespace assay::neighbours
