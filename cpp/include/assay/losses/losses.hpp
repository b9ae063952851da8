// Sums, gradients and Hessians of a loss over rows, from raw scores: what boosting and neural networks need of a loss.
//
//   sum_i w_i loss(y_i, f_i),   gradient_ik = w_i d loss / d f_ik,   hessian_ik = w_i d^2 loss / d f_ik^2
// Losses, targets and parameters are those of registry.hpp. The Hessian is the true second derivative: 0 for losses made of
// lines, negative in places for a loss that is not convex (msle).
// Cost: one read of the scores, n K evaluations. Sums run in fixed chunks merged in order: the same bits for every thread
// count.
#pragma once

#include <string>
#include <vector>

#include "assay/common/views.hpp"
#include "assay/losses/registry.hpp"

namespace assay {

struct LossRows {
    Loss loss = Loss::squared_error;
    double parameter = 0.0;
    Vector<const double> y;        // IN n targets, or codes of classes
    Matrix<const double> raw;      // IN n x K raw scores, C-ordered
    Vector<const double> weights;  // IN n weights >= 0; empty: all 1
};

// gradient, hessian OUT n x K, or null to leave them out; returns the weighted sum of losses.
double loss_gradient(const LossRows& rows, double* gradient, double* hessian, int threads);

// Names of the losses, in the order of their numbers.
std::vector<std::string> loss_names();

}  // namespace assay
