// Multilayer perceptrons: whole epochs of back-propagation in one call, in float32 or float64.
//
// A net of widths d = u_0, u_1, ..., u_L = K maps a row a_0 = x by
//     z_l = W_l a_{l-1} + b_l,   a_l = s(z_l) for l < L,   scores f = z_L
// with one activation s (identity, logistic, tanh, relu); the softmax, logistic or exponential of the output is part of the
// loss (losses/registry.hpp). `theta` holds, layer by layer, W_l (u_l x u_{l-1}, C-ordered) and then b_l. The objective is
//     F(theta) = sum_i w_i loss(f_i, y_i) / sum_i w_i + l2 / 2 |W|^2 + l1 |W|_1                  (b free).
// Gradients of a batch B of m of the n training rows, by the chain rule (deltas d_l, the derivatives in z_l):
//     d_L = n / (m sum w) w_i grad loss,   d_{l-1} = (W_l^T d_l) * s'(z_{l-1}),   dF/dW_l = sum_i d_l a_{l-1}^T + l2 W_l
// Steps of size eta (optimise/step_schedule.hpp):
//     sgd      v <- mu v - eta g,  theta <- theta + v   (Nesterov: theta + mu v - eta g with the new v)
//     adam     m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2,  theta <- theta - eta_t m / (sqrt(v) + eps),
//              eta_t = eta sqrt(1 - b2^t) / (1 - b1^t)
// and then the soft threshold at l1 times the step of each weight, the proximal map in the metric of the step, so that
// weights become exactly 0 and a fixed point minimises F. Dropout sets hidden units to 0 with probability p in a training pass
// and divides the others by 1 - p.
// Stopping: the loss (of the validation rows if there are any, whose best weights are kept) has not fallen by more than tol
// for more than `patience` epochs. Diverged: the loss is not finite or 10^8 times what it was.
//
// IN  x n x d C-ordered, target n x K numbers or n x 1 class codes, weights n or empty, rows: training rows, validation.
// IN/OUT theta, first and second moments, counts: a call continues where the last one ended.
// Cost of an epoch: 6 n |theta| flops, 4 n |theta| of them in products of register tiles.
// A batch is cut into parts of rows by its size alone; each part sums its gradient in order, parts are added in order: the
// same bits for every thread count.
// References: Rumelhart, Hinton & Williams, Nature 323, 1986; Kingma & Ba, ICLR 2015; Srivastava et al., JMLR 15, 2014;
// Glorot & Bengio, AISTATS 2010; Sutskever et al., ICML 2013.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"
#include "assay/losses/registry.hpp"
#include "assay/optimise/step_schedule.hpp"

namespace assay {

enum class Activation : int { identity, logistic, tanh, relu };
enum class MlpSolver : int { sgd, adam };
enum class MlpStatus : int { max_epochs, converged, diverged };

struct MlpNet {
    std::vector<index_t> widths;  // inputs, hidden layers, outputs
    Activation activation = Activation::relu;
    Loss loss = Loss::squared_error;
    double parameter = 0.0;  // of the loss
    bool classes = false;    // the target holds class codes

    std::size_t layers() const { return widths.size() - 1; }
    index_t outputs() const { return widths.back(); }
    index_t size() const;  // of theta
};

struct MlpData {
    Matrix<const double> x;
    Matrix<const double> target;
    Vector<const double> weights;
    Vector<const std::int64_t> rows;        // training rows
    Vector<const std::int64_t> validation;  // may be empty
};

struct MlpOptions {
    MlpSolver solver = MlpSolver::adam;
    index_t max_epochs = 1, batch_size = 200;
    StepSchedule steps{.eta0 = 1e-3};
    double momentum = 0.9;
    bool nesterov = true;
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double l1 = 0.0, l2 = 0.0, dropout = 0.0;
    double tol = -1.0;  // negative: never stop early
    index_t patience = 10;
    bool shuffle = true;
    std::uint64_t key = 0;
    int threads = 1;
};

template <class T>
struct MlpState {
    T* theta = nullptr;
    T* first = nullptr;   // velocity, or first moment
    T* second = nullptr;  // second moment (adam)
    std::int64_t updates = 0, epochs = 0;
};

struct MlpHistory {
    MlpStatus status = MlpStatus::max_epochs;
    std::vector<double> loss, step, validation;  // one value per epoch (validation: none without rows)
};

template <class T>
MlpHistory mlp_epochs(const MlpNet& net, const MlpData& data, const MlpOptions& options, MlpState<T>& state);

// F at theta over all training rows without dropout; gradient OUT (theta's size) or null.
template <class T>
double mlp_gradient(const MlpNet& net, const MlpData& data, const MlpOptions& options, const T* theta, T* gradient);

// scores OUT n x K
template <class T>
void mlp_scores(const MlpNet& net, const T* theta, Matrix<const double> x, double* scores, int threads);

}  // namespace assay
