// Logistic regression, binary and softmax: everything that a Newton step needs, in one pass over the rows.
//
// Columns are standardised on the fly, z_ij = (x_ij - centre_j) * inverse_scale_j, with a constant 1 behind the last
// one when there is an intercept: m = p + intercept columns. Rows i come from `rows` (an index list) or are all rows.
//   two classes, coefficients b (1 x m):   eta_i = b . z_i, y_i in {0, 1}
//       loss = sum_i w_i [log(1 + exp(eta_i)) - y_i eta_i]          gradient = sum_i w_i (p_i - y_i) z_i
//       Hessian = sum_i w_i p_i (1 - p_i) z_i z_i^T                 with p_i = 1 / (1 + exp(-eta_i))
//   K > 2 classes, coefficients B (K x m): eta_ik = b_k . z_i, p_i = softmax(eta_i)
//       loss = sum_i w_i [log sum_k exp(eta_ik) - eta_i,y_i]        gradient_k = sum_i w_i (p_ik - [y_i = k]) z_i
//       Hessian block (k, l) = sum_i w_i p_ik ([k = l] - p_il) z_i z_i^T
// Penalties, the linear solve and the line search stand above this kernel. Only blocks k < l of the softmax Hessian
// are summed: the blocks of a row add up to zero, which gives the diagonal ones.
//
// Cost per pass: one read of X; n m^2 / 2 multiply-adds per Hessian block (1 or K (K - 1) / 2 blocks), n m K for the
// rest. A tile of rows is packed into cache, used for eta, gradient and Hessian, and dropped. Sums run in fixed chunks
// of rows and are merged in order: the same bits for every thread count. A sparse table costs what its products cost
// (sparse_columns.hpp): one X v, one X'v, and one X'WX per Hessian block.
// Reference: Hastie, Tibshirani & Friedman, The Elements of Statistical Learning, 2nd ed., 2009, section 4.4.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"
#include "assay/linear/sparse_columns.hpp"

namespace assay {

struct LogisticProblem {
    Matrix<const double> x;             // IN n x p, C-ordered; of a sparse table the shape alone
    Vector<const std::int64_t> rows;    // IN rows to use, in order; empty: all
    Vector<const std::int32_t> codes;   // IN n class codes 0..classes-1
    Vector<const double> weights;       // IN n weights >= 0; empty: all 1
    Vector<const double> centre;        // IN p
    Vector<const double> inverse_scale; // IN p
    bool intercept = true;
    index_t classes = 2;
    SparseMatrix by_row = {}, by_column = {};  // IN a sparse table in place of x, all of whose rows are used; empty: x

    bool sparse() const { return !by_row.empty(); }
    SparseColumns sparse_columns() const { return {by_row, by_column, centre, inverse_scale, intercept}; }
    index_t row_count() const { return rows.empty() ? x.rows : rows.size; }
    index_t columns() const { return x.cols + (intercept ? 1 : 0); }
    index_t outputs() const { return classes == 2 ? 1 : classes; }  // rows of the coefficient matrix
    index_t row(index_t i) const { return rows.empty() ? i : static_cast<index_t>(rows[i]); }
};

struct LogisticSums {
    double loss = 0.0;
    double not_right = 0.0;  // rows whose own class does not have strictly the largest eta; 0 means separated classes
};

// coefficients IN outputs x m; gradient OUT outputs x m; hessian OUT (outputs m) x (outputs m), or no data to leave it
// out; probabilities OUT row_count x outputs (two classes: of code 1), or no data to leave it out.
LogisticSums logistic_pass(const LogisticProblem& problem, Matrix<const double> coefficients, Matrix<double> gradient,
                           Matrix<double> hessian, Matrix<double> probabilities, int threads);

// product OUT outputs x m: the Hessian at the point where `probabilities` were taken, times direction IN outputs x m.
// Cost: one read of X and 2 n m K multiply-adds.
void logistic_hessian_product(const LogisticProblem& problem, Matrix<const double> probabilities,
                              Matrix<const double> direction, Matrix<double> product, int threads);

// What stands between the two products of a sparse table: from the linear predictors eta IN n x outputs the losses, the
// residuals w (p - [y = k]) OUT n x outputs, the curvatures w p (1 - p) OUT n (two classes; no data to leave them out)
// and the probabilities OUT n x outputs (no data to leave them out). weights empty: all 1.
LogisticSums logistic_rows(Matrix<const double> eta, Vector<const std::int32_t> codes, Vector<const double> weights,
                           index_t classes, Matrix<double> residuals, Vector<double> curvatures,
                           Matrix<double> probabilities, int threads);

// Weighted mean and mean squared deviation of each column over the rows of the problem (centre and scale are not read);
// chunks are merged by the pairwise update of Chan, Golub & LeVeque (1983). mean, variance OUT p; returns the weight.
double column_moments(const LogisticProblem& problem, Vector<double> mean, Vector<double> variance, int threads);

}  // namespace assay
