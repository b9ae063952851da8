// Kernel k-means: labels a_i that lower sum_i w_i |phi(x_i) - m_{a_i}|^2 at every step, where m_c is the weighted mean of
// cluster c in the space of a kernel (Scholkopf, Smola & Muller, Neural Computation 10, 1998; Dhillon, Guan & Kulis, KDD
// 2004). With the kernel matrix G, the weight M_c of a cluster and
//     s_ci = sum_{j in c} w_j G_ij,      q_c = sum_{i in c} w_i s_ci,
//     |phi(x_i) - m_c|^2 = G_ii - 2 s_ci / M_c + q_c / M_c^2.
//
// A row j that moves from a to b changes s_a and s_b by w_j times line j of G, which is symmetric: a step reads the lines of
// the rows that moved, in order, and no others. Sums are made anew when more than half of the rows moved, and at least
// every 32 steps. A strip of 1024 columns of all s stays in cache while the lines go by, for all restarts at once.
//
// The lines are those of a matrix that is kept, or of the Gaussian kernel, exp(-gamma |x - y|^2), made anew from the rows
// whenever they are asked for: with few columns this takes no longer than reading them, and nothing of size n^2 is held.
//
// Start: the cluster of a row is the nearest of k rows in the space of the kernel. Ties: the smaller number. Empty clusters:
// each takes, in the order of its number, the row farthest from its mean (the first among equals) of a cluster with more
// than one row. Stop: no label changed, or max_iter steps.
//
// Shapes: lines n x n symmetric, weights n or null, starts restarts x k row numbers, labels OUT restarts x n, centre_norms OUT
// restarts x k (q_c / M_c^2; infinite for a cluster without weight). Cost n per row that moved, times
// d + 20 where lines are made anew, and n k per step; memory 8 n k per restart beside the matrix, or beside 8 n d for rows. Strips belong to one thread each and lines come in order: the number of threads changes
// nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/clustering/k_means.hpp"
#include "assay/common/views.hpp"

namespace assay::clustering {

class KernelLines {
public:
    explicit KernelLines(Matrix<const double> gram) : gram_(gram), n_(gram.rows) {}
    KernelLines(Matrix<const double> rows, double gamma, int threads);

    index_t size() const { return n_; }
    double diagonal(index_t i) const { return panels_.empty() ? gram_(i, i) : 1.0; }
    // Cells [begin, end) of a line, begin a multiple of `panel_lanes`: where they are kept, or in `room`, which holds as
    // many of them as whole panels have.
    const double* cells(index_t row, index_t begin, index_t end, double* room) const;

private:
    Matrix<const double> gram_, rows_;
    index_t n_ = 0;
    double gamma_ = 0.0;
    std::vector<double> panels_;
};

std::vector<KMeansRun> kernel_k_means(const KernelLines& lines, const double* weights, index_t k, index_t restarts,
                                      const std::int64_t* starts, index_t max_iter, bool record, std::int32_t* labels,
                                      double* centre_norms, int threads);

}  // namespace assay::clustering
