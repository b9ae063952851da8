// Lasso and elastic net by coordinate descent on working sets, for many penalties and many weightings of one table.
//
//   minimise  1/(2 W) sum_i w_i (y_i - b0 - x_i b)^2 + alpha l1_ratio sum_j v_j |b_j| + alpha (1 - l1_ratio)/2 sum_j v_j b_j^2
//
// with W = sum w; optionally b >= 0; v_j > 0 is the penalty weight of column j (infinity leaves the column out). The
// intercept is the means' business: everything here is around the weighted mean of its problem. With
//   Q = X'WX / W,  c = X'Wy / W,  g = c - Q b  (minus the gradient of the smooth loss),  l1 = alpha l1_ratio,
//   l2 = alpha (1 - l1_ratio):   b_j <- soft(g_j + Q_jj b_j, l1 v_j) / (Q_jj + l2 v_j),   g <- g - Q_j (change of b_j).
//
// Working set: coordinate descent sees only the columns of a growing set, whose block of Q is kept; a step along the path
// starts from the last solution and admits the columns that the sequential strong rule keeps, |g_j| >= v_j (2 l1 - l1'),
// then those that break the optimality conditions. Every so often (and at the end, with `refine`) the step to the
// minimum of the quadratic on the current signs is taken, by a Cholesky factor; where coefficients would change sign on the
// way, the lowest of the points on the way is taken, with and without those held at zero. It never raises the objective
// and makes the solution exact to rounding. Without `refine` and with a tolerance of 1e-6 or more the block is kept in single
// precision, which halves the bytes of a sweep. A path of 8 penalties or more from columns then also keeps them in single
// precision: blocks are computed from that copy, and so is the gradient of columns without a coefficient, with
// |g_j - computed| <= 80 2^-24 |x_j| |w r / W|. A column that may exceed l1 v_j with that bound, or has a coefficient, is read
// in double, so that the gap is certified as if all were.
//
// Stopping: duality gap <= tolerance y'Wy / W over ALL columns. Two feasible dual points are tried: the residual of the
// problem augmented by sqrt(l2 v) rows, scaled into the feasible set, and (l2 > 0) the residual itself with the conjugate of
// the elastic net. A column whose gradient was g_j when the residual had moved by a path length D_j has now at most
// |g_j| + |x_j| (D - D_j): while that stays below l1 v_j the column is inactive for certain and is not read again.
//
// One penalty from columns, as many rows as columns: no Q, but sweeps that update w r / W, four columns at a time with their
// own 4 x 4 block of Q, extrapolated every five sweeps (Anderson) where that is downhill. When they have taken about as long
// as Q of the active columns would (ill-conditioned columns), or rows are fewer, the penalty is reached by a path of larger
// ones, each 1/1.5 of the last and solved to 1e-3. `refine` then asks for at most 1,000 active columns, 200 without Q.
//
// Two sources of Q: a Gram matrix for each problem (many rows), or the columns themselves (many columns), where blocks of Q
// are computed when a column enters and the gradients of all problems come from one read of the table.
// From columns, many problems (training parts of folds) advance together, one penalty at a time. Either way each is the
// same bit for bit alone or in company, and for any number of threads.
//
// Cost for m working columns: m^2 multiply-adds a sweep; from columns n m for each column that enters and n p a check
// for all problems together; m^3 / 6 an exact step; without Q 2 n m a sweep. Memory 8 n p for the columns, 4 n p more on a long
// path in single precision, or only these where the rows are given; 4 or 8 m^2 for each problem, 4 m^2 in an exact step.
// References: Friedman, Hastie & Tibshirani, J. Statistical Software 33(1), 2010; Tibshirani et al., JRSS B 74, 2012 (strong
// rules); Fercoq, Gramfort & Salmon, ICML 2015 (gap-safe rules); Massias, Gramfort & Salmon, ICML 2018 (working sets,
// extrapolation).
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"
#include "assay/linear/sparse.hpp"

namespace assay {

struct ElasticNetTask {
    const double* alphas;           // penalties in the order in which they are solved, best descending
    index_t n_alphas;
    double l1_ratio;
    const double* penalty_weights;  // one per column, > 0
    bool positive;
    double tolerance;
    index_t max_sweeps;             // for each penalty
    bool refine;                    // finish each penalty with exact steps
    bool trace;                     // keep the objective after every sweep of the first problem
};

// One solution: the coefficients that are not zero.
struct ElasticNetPoint {
    std::vector<index_t> columns;
    std::vector<double> values;
};

struct ElasticNetSolution {
    std::vector<ElasticNetPoint> points;  // problems x alphas: few columns of a wide table are active
    std::vector<double> gaps;           // problems x alphas
    std::vector<std::int32_t> sweeps;   // problems x alphas
    std::vector<double> objective;      // trace: value after each sweep
    std::vector<std::int32_t> traced;   // trace: number of the penalty of each value
    bool finite = true;                 // false, and nothing solved, if the square of a column overflows

    // problems x alphas x p, with every coefficient written out.
    std::vector<double> coefficients(index_t p) const;
};

// Moments of one problem divided by its weight, around the mean: gram p x p, cross p, y_squares.
struct ElasticNetMoments {
    const double* gram;
    const double* cross;
    double y_squares;
};

// start: problems x p, or null for zero.
ElasticNetSolution elastic_net_from_moments(const std::vector<ElasticNetMoments>& problems, index_t p,
                                            const double* start, const ElasticNetTask& task, int threads);

// A table by column: column j is columns + j * stride, the last stride - n cells zero; likewise the target. Where `columns`
// is null, the cells are those of the rows less `shift`: the same numbers, gathered when they are read, or written by column
// where sweeps over full columns or a small tolerance read them often.
struct ColumnTable {
    const double* columns;
    const double* target;
    index_t p;
    index_t stride;  // a multiple of 8
    Matrix<const double> rows{};
    const double* shift = nullptr;
};

// weights: problems x stride (zero past the rows and for rows left out); x_mean (OUT): problems x p and y_mean (OUT):
// problems, zero without intercept.
ElasticNetSolution elastic_net_from_columns(const ColumnTable& table, const double* weights, index_t problems,
                                            bool intercept, const double* start, const ElasticNetTask& task,
                                            double* x_mean, double* y_mean, int threads);

// A sparse table by column, and its target.
struct SparseColumnTable {
    SparseMatrix columns;
    const double* target;
};

// The same from a sparse table; weights: problems x rows. Cost: the stored cells in place of n for each column.
ElasticNetSolution elastic_net_from_sparse_columns(const SparseColumnTable& table, const double* weights,
                                                   index_t problems, bool intercept, const double* start,
                                                   const ElasticNetTask& task, double* x_mean, double* y_mean,
                                                   int threads);

// out[j * stride + i] = x_ij - shift_j, zero for n <= i < stride.
void shifted_columns(Matrix<const double> x, const double* shift, double* out, index_t stride, int threads);

}  // namespace assay
