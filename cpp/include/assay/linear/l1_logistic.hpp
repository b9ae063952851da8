// Two-class logistic regression with an absolute penalty on a wide sparse table: proximal Newton, the quadratic models
// solved by coordinate descent on the columns.
//
//   min over g, c  sum_i w_i log(1 + exp(-m_i)) + sum_j l1_j |g_j| + sum_j ridge_j g_j^2 / 2,
//   m_i = +-eta_i (own class 1 or 0),  eta_i = c + sum_j g_j inverse_j x_ij,   c = 0 without an intercept
// At g let r = w (p - y), D = w p (1 - p), G = X'r with X the scaled columns. The step d minimises
//   G'd + d'(X'DX)d / 2 + penalties, over d and the step of c; the latter is eliminated: for given d it is
//   -(sum r + sum_j h_j d_j) / S,   h = X'D1, S = sum D,
// so that each coordinate sees the curvature H_jj - h_j^2 / S of its centred column, at no cost in stored cells.
// Columns that come into question are laid out in single precision for the quadratic model alone (an approximate
// Hessian); gradients, objective and optimality come from the rows themselves in double precision. Columns that are zero
// with a gradient well inside their penalty rest until the next gradient. After each sweep the ends of the last sweeps are
// mixed so that their moves cancel best (Anderson), as long as the model falls: a third of the sweeps where most columns
// are active.
// The model is solved to a share of the violation that was left, which shrinks with the square of what the step before
// achieved; then the step is halved until the objective falls by its share.
// Stops when no violation of optimality exceeds tol times the total weight, with one step more from there.
// Cost of an iteration: two reads of the stored cells, and two of the working columns for every sweep over them.
// References: Yuan, Ho & Lin, An improved GLMNET for L1-regularized logistic regression, JMLR 13, 2012; Friedman, Hastie &
// Tibshirani, J. Statistical Software 33(1), 2010; Bertrand & Massias, Anderson acceleration of coordinate descent, AISTATS
// 2021; Eisenstat & Walker, SIAM J. Scientific Computing 17(1), 1996.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"
#include "assay/linear/sparse.hpp"

namespace assay {

struct L1LogisticProblem {
    SparseMatrix rows;                 // IN n x p, by row
    Vector<const std::int32_t> codes;  // IN n codes 0 and 1
    Vector<const double> weights;      // IN n; empty: all 1
    Vector<const double> inverse;      // IN p inverse scales; 0 holds a coefficient at 0
    Vector<const double> l1, ridge;    // IN p
    bool intercept = true;
};

enum class L1LogisticStatus : int { max_iter, converged, stalled };

struct L1LogisticStep {
    double objective, violation, longest;
};

struct L1LogisticResult {
    L1LogisticStatus status = L1LogisticStatus::max_iter;
    bool separated = false;             // every row on its own side
    std::vector<L1LogisticStep> steps;  // one per iteration, and the last point
};

// coefficients IN start OUT solution: p scaled ones, then c.
L1LogisticResult l1_logistic(const L1LogisticProblem& problem, double tol, index_t max_iter, int threads,
                             double* coefficients);

}  // namespace assay
