// Generalised linear models: everything that an IRLS or Newton step needs, in one pass over the rows.
//
// The linear predictor of row i has a dense part, an offset and nominal columns held as codes, never expanded:
//   eta_i = b . z_i + sum_c a[code_ic] + offset_i,   z_ij = (x_ij - centre_j) * inverse_scale_j, then 1 if intercept
// with m = p + intercept dense unknowns b and L levels a. The mean is mu = g^{-1}(eta) for the link g; the family gives
// the variance function V(mu) and the unit deviance d(y, mu) = 2 int_mu^y (y - t) / V(t) dt. With mu' = d mu / d eta:
//   loss      = sum_i w_i d(y_i, mu_i) / 2
//   gradient  = sum_i w_i r_i x_i,       r = -(y - mu) mu' / V
//   Fisher    = sum_i w_i f_i x_i x_i^T, f = mu'^2 / V
//   Newton    = the same with h = f - (y - mu) (mu'' / V - mu'^2 V' / V^2) in place of f wherever h > 0
// so both matrices are positive semidefinite, and Newton is the true Hessian for the usual links (log, logit, probit).
// A row whose mean is outside the family's range makes the loss infinite; a line search then stays inside.
//
// For a nominal column the products are sums by code: gradient and diagonal block are histograms, its block with the
// dense columns adds one row of z to the row of the code, and two nominal columns meet in one cross table.
//
// Families and links are policies (losses/). Cost per pass: one read of X; n m^2 / 2 + n q m multiply-adds and
// n q^2 / 2 table updates for q nominal columns. Sums run in fixed chunks merged in order: the same bits for every
// thread count. A sparse table has no nominal columns and costs what its products cost (sparse_columns.hpp).
// Reference: McCullagh & Nelder, Generalized Linear Models, 2nd ed., 1989, ch. 2.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"
#include "assay/linear/sparse_columns.hpp"

namespace assay {

enum class GlmFamily : int {
    gaussian,
    bernoulli,
    poisson,
    gamma,
    inverse_gaussian,
    tweedie,            // parameter: the power p of V = mu^p, p outside {0, 1, 2} and (0, 1)
    negative_binomial,  // parameter: theta of V = mu + mu^2 / theta
    count
};

enum class GlmLink : int { identity, log, logit, probit, cloglog, inverse, inverse_squared, sqrt, count };

struct GlmProblem {
    Matrix<const double> x;               // IN n x p, C-ordered; p may be 0; of a sparse table the shape alone
    Matrix<const std::int32_t> codes;     // IN n x q level numbers over all nominal columns; L: no level
    Vector<const std::int32_t> starts;    // IN q + 1: levels of column c are starts[c]..starts[c + 1]-1
    Vector<const std::int64_t> rows;      // IN rows to use, in order; empty: all
    Vector<const double> y;               // IN n
    Vector<const double> weights;         // IN n weights >= 0; empty: all 1
    Vector<const double> offset;          // IN n; empty: all 0
    Vector<const double> centre;          // IN p
    Vector<const double> inverse_scale;   // IN p
    bool intercept = true;
    GlmFamily family = GlmFamily::gaussian;
    GlmLink link = GlmLink::identity;
    double parameter = 0.0;
    SparseMatrix by_row = {}, by_column = {};  // IN a sparse table in place of x, all of whose rows are used; empty: x

    bool sparse() const { return !by_row.empty(); }
    SparseColumns sparse_columns() const { return {by_row, by_column, centre, inverse_scale, intercept}; }
    index_t row_count() const { return rows.empty() ? x.rows : rows.size; }
    index_t dense() const { return x.cols + (intercept ? 1 : 0); }
    index_t levels() const { return starts.empty() ? 0 : starts[starts.size - 1]; }
    index_t unknowns() const { return dense() + levels(); }
    index_t row(index_t i) const { return rows.empty() ? i : static_cast<index_t>(rows[i]); }
};

struct GlmSums {
    double loss = 0.0;     // infinite if some mean is out of range
    double pearson = 0.0;  // sum of w (y - mu)^2 / V(mu)
    double worst = 0.0;    // largest |y - mu| over rows of positive weight
    double replaced = 0.0;  // rows whose h was not positive, so that f stands in the Newton matrix
};

enum class GlmCurvature : int { none, newton, fisher, observed };  // observed: h in every row, definite or not

// coefficients IN [dense, levels]; gradient OUT the same; hessian OUT unknowns x unknowns (read unless `none`).
GlmSums glm_pass(const GlmProblem& problem, const double* coefficients, GlmCurvature curvature, double* gradient,
                 double* hessian, int threads);

// The same for a sparse table with the matrix by its parts, Z' diag(curvatures) Z: curvatures OUT n (none: not written).
GlmSums sparse_glm_pass(const GlmProblem& problem, const double* coefficients, GlmCurvature curvature, double* gradient,
                        double* curvatures, int threads);

// What stands between the two products of a sparse table: the same sums from the linear predictors eta IN n (offset and
// levels included), with w r OUT n and w f or w h OUT n (as `curvature` says; none: not written). Of `problem` only y,
// weights, family, link and parameter are read.
GlmSums glm_rows(const GlmProblem& problem, Vector<const double> eta, GlmCurvature curvature, double* gradient,
                 double* curvatures, int threads);

// Minimises q(x) = gradient . (x - x0) + (x - x0)^T hessian (x - x0) / 2 + sum_j l1_j |x_j| by cyclic coordinate descent:
// full sweeps, and between them sweeps over the coordinates that are not zero. Stops when no coordinate moves the
// gradient scale by more than `tol`: max_j hessian_jj |step_j| <= tol. x IN x0 OUT minimiser; returns the sweeps made.
// Coordinates without curvature stay where they are. Cost: size * (coordinates that move) per sweep.
// Reference: Friedman, Hastie & Tibshirani, J. Statistical Software 33(1), 2010.
index_t penalised_quadratic(Matrix<const double> hessian, const double* gradient, const double* l1, double tol,
                            index_t max_sweeps, double* x);

}  // namespace assay
