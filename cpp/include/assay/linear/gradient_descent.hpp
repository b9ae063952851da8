// Gradient descent for linear scores: batch, mini-batch and stochastic, whole epochs in one call.
//
// Scores of a row are f_k = theta_k . [x, 1] for K outputs; theta is K x (p + 1), the last column the intercept (left
// alone without one). The objective is
//     F(theta) = sum_i w_i loss(f_i, y_i) / sum_i w_i + l2 / 2 |theta|^2 + l1 |theta|_1      (intercepts free).
// A step at `at` on a batch B of m rows, with v the last move and prox the soft threshold at eta l1 (intercepts free):
//     g = n / (m sum w) sum_{i in B} w_i grad loss_i(at) + l2 at
//     heavy ball: at = theta,         theta' = prox(theta + momentum v - eta g)
//     Nesterov:   at = theta + momentum v,  theta' = prox(at - eta g)
// Losses are the bounded ones of losses/registry.hpp; with K outputs margin losses are summed one class against the rest, and
// log_loss is the softmax.
// Lengths of steps: optimise/step_schedule.hpp.
// Stopping: `by_gradient` (full batches of a smooth loss): no component of the proximal gradient exceeds tol times the
// largest one at the first step, or what rounding leaves of one. Otherwise: the loss (of the validation rows if there
// are any, else of the epoch) has not fallen by more than tol of itself for `patience` epochs (with a negative tol
// nothing stops, and a loss that does not fall stands still). Diverged: a value is not finite or has grown without
// bound.
//
// IN  x n x p C-ordered, target n (numbers or class codes), weights n or empty, rows: training rows, validation: rows.
// OUT theta, velocity, update and epoch counts (also IN: a call continues where the last one ended), history per epoch.
// Cost of an epoch: one read of X, 4 n p K flops. Full batches are summed in fixed chunks of rows, merged in order: the
// same bits for every thread count. Small batches run on one thread, since each step needs the last.
// References: Bottou, Curtis & Nocedal, Optimization methods for large-scale machine learning, SIAM Review 60, 2018;
// Parikh & Boyd, Proximal algorithms, 2014; Polyak, 1964; Nesterov, 1983.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"
#include "assay/linear/sparse.hpp"
#include "assay/losses/registry.hpp"
#include "assay/optimise/step_schedule.hpp"

namespace assay {

enum class DescentStatus : int { max_epochs, converged, diverged };

struct DescentData {
    Matrix<const double> x;
    Vector<const double> target;
    Vector<const double> weights;
    Vector<const std::int64_t> rows;        // training rows
    Vector<const std::int64_t> validation;  // may be empty
    index_t outputs = 1;
    bool intercept = true;
    Loss loss = Loss::squared_error;
    double parameter = 1.0;  // of the loss
    SparseMatrix sparse = {};  // by row, in place of the cells of x (whose shape stands); empty: x itself
};

struct DescentOptions {
    index_t max_epochs = 1, batch_size = 0;  // 0: all rows in one batch
    StepSchedule steps{};
    double momentum = 0.0;
    bool nesterov = false;
    double l1 = 0.0, l2 = 0.0;
    double tol = -1.0;  // negative: never stop early
    index_t patience = 5;
    bool by_gradient = true, keep_best = false, shuffle = true, keep_path = false;
    std::uint64_t key = 0;
    int threads = 1;
};

struct DescentState {
    std::vector<double> theta, velocity;  // outputs x (p + 1)
    std::int64_t updates = 0, epochs = 0;
};

struct DescentHistory {
    DescentStatus status = DescentStatus::max_epochs;
    std::vector<double> objective, step, gradient, validation;  // one value per epoch (validation: none without rows)
    std::vector<double> path;                                   // theta before the first and after every epoch
};

DescentHistory descend(const DescentData& data, const DescentOptions& options, DescentState& state);

// (largest eigenvalue of A = sum w z z^T / sum w with z = [x, 1]; largest w |z|^2 n / sum w).
// Up to 64 unknowns A is written out and the first number is an upper bound, at most 1 % above. Beyond, it is the Rayleigh
// quotient of at least 30 power iterations from a random start, which is below half of the eigenvalue, where steps of its
// inverse would diverge, with a probability below sqrt(d) 2^-30 (Kuczynski & Wozniakowski, SIAM J. Matrix Analysis 13, 1992).
struct Curvature {
    double mean = 0.0, row = 0.0;
};
Curvature score_curvature(const DescentData& data, int threads);

}  // namespace assay
