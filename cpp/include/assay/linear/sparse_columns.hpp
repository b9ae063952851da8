// The columns of a sparse table, standardised without being written out: z_ij = (x_ij - centre_j) * inverse_scale_j, then
// 1 when there is an intercept; m = p + intercept columns. What the fused passes over dense rows sum tile by tile follows
// here from three products (K outputs):
//   product:            out = Z B',          n x K from K x m    X (b s) + (b_m - sum_j b_j s_j c_j)
//   transposed_product: out = V'Z,           K x m from n x K    ((X'v)_j - c_j sum(v)) s_j, then sum(v)
//   gram:               out = Z' diag(w) Z,  m x m               (X'WX - c f' - f c' + sum(w) c c') s s', f = X'w
// with c = centre and s = inverse_scale. Columns whose centre is many units of their scale from zero would cancel: the
// callers store them shifted. Cost: that of the products of sparse.hpp; the same bits for every thread count.
#pragma once

#include "assay/linear/sparse.hpp"

namespace assay {

struct SparseColumns {
    SparseMatrix rows;                   // IN the table by row
    SparseMatrix columns;                // IN the same table by column
    Vector<const double> centre;         // IN p
    Vector<const double> inverse_scale;  // IN p
    bool intercept = true;

    index_t width() const { return rows.places + (intercept ? 1 : 0); }

    void product(Matrix<const double> coefficients, Matrix<double> out, int threads) const;
    void transposed_product(Matrix<const double> values, Matrix<double> out, int threads) const;
    void gram(Vector<const double> weights, Matrix<double> out, int threads) const;
    // The diagonal of gram; out m.
    void gram_diagonal(Vector<const double> weights, double* out, int threads) const;
};

// Solves (Z' diag(curvatures) Z + diag(ridge)) x = right over the active unknowns, by conjugate gradients with the diagonal
// as preconditioner, until the residual has fallen to `accuracy` of the first in that norm (at most 500 products).
// diagonal, right, ridge IN m; active IN m, 0 for unknowns held at 0; x OUT m, the scaled right side if no step was made.
void solve_by_products(const SparseColumns& z, Vector<const double> curvatures, const double* diagonal,
                       const double* right, const double* ridge, const bool* active, double accuracy, double* x,
                       int threads);

}  // namespace assay
