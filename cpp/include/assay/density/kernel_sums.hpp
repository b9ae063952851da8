// Sums of a kernel over all rows, for densities at many queries, by a tree whose nodes are taken whole where that is exact
// or within a stated error.
//
//     s(q) = sum_i w_i K(|q - x_i|^2 / h^2),    K(u) = exp(-u / 2) (gaussian), max(0, 1 - u) (epanechnikov), [u <= 1] (box)
//
// The result is log s(q), -infinity where no row counts. Gaussian sums are kept relative to the largest term so far, so that
// far queries do not underflow.
//
// A node holds the box, the weight W, the mean c and the scatter t of its rows. Let K_max and K_min be the kernel at the
// nearest and farthest point of its box:
//   gaussian      taken as W (K_max + K_min) / 2 if (K_max - K_min) W_all <= 2 r s, where s is the sum so far (at most the
//                 whole sum). All nodes together err by at most r s(q); r is `tolerance`, but no less than 2^-55.
//   epanechnikov  a box inside the support is W - (W |q - c|^2 + t) / h^2, exactly; one outside is 0.
//   box           a box inside the support is W, one outside 0.
// Nearer children come first, so that the sum is soon close to its end (Gray & Moore, "N-body problems in statistical
// learning", NIPS 2000). A query may leave out one unit of weight of one row (leave-one-out); nodes that hold this row are
// never taken whole.
//
// Cost: from m log n (compact kernels, small h) to m n d; memory 3 d + 2 doubles for each node (n / 16 nodes at most).
#pragma once

#include "assay/common/views.hpp"
#include "assay/neighbours/kd_tree.hpp"

namespace assay::density {

enum class Kernel : int { gaussian, epanechnikov, box };
constexpr int kernel_count = 3;

// weights: one per row of the table, or null for ones; bandwidths: one per query; left_out: a row for each query (-1 for
// none), or null.
void log_kernel_sums(const neighbours::KdTreeView& tree, Kernel kernel, const double* weights,
                     Matrix<const double> queries, Vector<const double> bandwidths, const std::int64_t* left_out,
                     double tolerance, double* sums, int threads);

// Shares each row linearly among the 2^d grid points around it. grid (OUT): sizes[0] x ... x sizes[d-1], C-ordered, filled
// with zeros before. Point k of axis j lies at low[j] + k step[j]; rows beyond the grid count at its end.
void linear_binning(Matrix<const double> rows, const double* weights, const double* low, const double* step,
                    const std::int64_t* sizes, double* grid);

}  // namespace assay::density
