// Shapley values of sums of trees (TreeSHAP), exactly.
//
// The columns are the players. The value of a coalition S at row x is the expected output of a tree when the cells of S are known:
//   path-dependent  a test on a column outside S sends x to both children, by their share of the training rows (`cover`);
//   background      the mean over background rows b of the output at the row that has x's cells in S and b's elsewhere.
// A leaf with value v whose path uses the m distinct columns 1..m is a game of its own, and values add. Let o_k in {0, 1} say whether x passes
// all tests of column k on the path, and z_k be the product of the shares of its tests. Because s!(m-1-s)!/m! = int_0^1 t^s (1-t)^(m-1-s) dt,
//   phi_i  = v (o_i - z_i) int_0^1 prod_{k != i} ((1-t) z_k + t o_k) dt
//   phi_ij = v (o_i - z_i) (o_j - z_j) / 2 int_0^1 prod_{k != i,j} ((1-t) z_k + t o_k) dt          (i != j)
// and Gauss-Legendre with ceil(m/2) nodes is exact. With background rows, let f(M) count the rows that pass exactly the columns M, U the columns
// that x fails, b their number, and G_t(U) = sum over M containing U of f(M) t^(m-|M|). Then, over the number of background rows,
//   phi_i  = -v int (1-t)^(b-1) G_t(U) dt  for i in U,      v int (1-t)^b t^-1 (G_t(U) - G_t(U + i)) dt  otherwise,
// with the like for pairs.
//   What a leaf says of a row depends only on the set of columns that the row passes: for up to `most_in_table` columns the contributions of
// all 2^m sets are tabulated, by the formulas above, and a row needs m comparisons of codes and m look-ups, rows side by side. Longer
// paths are evaluated row by row, by quadrature or by the sets of the background rows.
// Cost: n sum over leaves of m, and 2^m m^2 per leaf. The result does not depend on the number of threads.
// References: Lundberg et al., Nature Machine Intelligence 2, 2020; Yang, Fast TreeSHAP, 2021; Nadel & Wettenstein, WOODELF, 2025.
#pragma once

#include <vector>

#include "assay/trees/forest.hpp"

namespace assay::explain {

constexpr index_t most_in_table = 12, most_on_path = 64;

struct ShapTask {
    const double* cover = nullptr;              // by node: weight of the training rows in it
    Matrix<const double> cells;                 // n x d
    const Matrix<const double>* background = nullptr;
    index_t outputs = 1;                        // tree t adds to outputs (t % (outputs / width)) * width + 0 .. width - 1
    bool interactions = false;
    int threads = 1;
};

struct ShapValues {
    std::vector<double> values;        // outputs x d x n
    std::vector<double> interactions;  // outputs x d x d x n, symmetric; rows of it sum to the values
    std::vector<double> base;          // outputs: without background, the expected output by cover
    bool too_long = false;             // with background: a path uses more than `most_on_path` columns, nothing was done
};

ShapValues tree_shap(const trees::ForestView& forest, const ShapTask& task);

}  // namespace assay::explain
