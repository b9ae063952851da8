// k-means: centres c_1..c_k and labels a_i that lower the inertia sum_i w_i |x_i - c_{a_i}|^2 at every step (Lloyd, "Least
// squares quantization in PCM", IEEE Trans. Information Theory 28, 1982).
//
// Assignment. a_i is the j with the least |x_i - c_j|^2, the smallest j among equals, in float64. Most rows never get there:
//   Bounds (Hamerly, "Making k-means even faster", SDM 2010): u_i >= |x_i - c_{a_i}| and l_i <= the distance to every other
//   centre follow the centres' moves by the triangle inequality; a row with u_i < max(l_i, g_{a_i}), where g_j is half the
//   distance from c_j to the nearest other centre, keeps its label without a look at its cells.
//   Screen. The rows that are left are packed in float32 panels of 64, moved by the columns' means and scaled by a power of
//   two so that cells lie in [-1, 1]. The scores s_ij = |c_j|^2 / 2 - <x_i, c_j> order the centres as the distances do, cost
//   one multiply-add per coordinate, and keep the two least in registers. |s_float32 - s| <= e_i = 1.02 (d + 8) 2^-24
//   (R^2 / 2 + |x_i| R) with R the largest |c_j| (Higham, Accuracy and Stability of Numerical Algorithms, ch. 3): if the two
//   least differ by more than 2 e_i the label is certain, else the row is measured in float64.
// So labels are those of Lloyd's algorithm in float64, with bounds or without.
//
// Update. Weighted means of the rows of each label. Sums are kept about the columns' means and corrected by the rows that
// changed their label; they are added up anew when many did, and at least every 32 steps.
//
// Empty clusters: each takes, in the order of its number, the row farthest from its centre (the first among equals) of a
// cluster with more than one row; it stays where it is if every row lies on its centre.
//
// Stop: no label changed; the squared moves of the centres sum to at most tol times the mean variance of the columns; or
// max_iter steps. In the last two cases rows are assigned once more, so that labels belong to the centres returned.
//
// All restarts walk through a chunk of rows before the next chunk is touched. Shapes: rows n x d (float32 or float64),
// centres IN/OUT restarts x k x d, labels OUT restarts x n. Cost per step: n k d multiply-adds in float32 at first, later
// one look at u_i and l_i for most rows; memory 12 n per restart. Chunks are fixed and merged in order: the number of
// threads changes nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::clustering {

struct KMeansOptions {
    index_t max_iter = 300;
    double tol = 1e-4;
    bool bounds = true;
    bool record = false;  // inertia of every step
};

// How a restart ended; of k-medians and kernel k-means, too.
struct KMeansRun {
    double inertia = 0.0;
    std::int32_t n_iter = 0;
    bool converged = false;
    std::vector<double> inertias;  // of each step, if recorded
};

template <class T>
std::vector<KMeansRun> k_means(Matrix<const T> rows, const double* weights, index_t k, index_t restarts, double* centres,
                               std::int32_t* labels, const KMeansOptions& options, int threads);

// The nearest centre of each row; `squared` (if not null) gets the squared distances in float64.
template <class T>
void nearest_centres(Matrix<const T> rows, Matrix<const double> centres, std::int32_t* labels, double* squared,
                     int threads);

// k-means++ (Arthur & Vassilvitskii, SODA 2007), greedy: row numbers of k starts. Each next start is drawn with probability
// w_i D_i^2, where D_i is the distance to the nearest start so far; of `trials` draws the one that leaves the least sum of
// w_i D_i^2 is kept. When every row lies on a start, rows are drawn by weight. Rows are
// drawn in the order of their cells, so neither their order nor weights in place of repetition change the starts. Cost n k d trials in float32.
template <class T>
void plus_plus_starts(Matrix<const T> rows, const double* weights, index_t k, index_t trials, std::uint64_t key,
                      std::uint64_t stream, std::int64_t* chosen, int threads);

// sum_i w_i |x_i - c_{label_i}|^2 in float64, by fixed chunks.
template <class T>
double inertia_of(Matrix<const T> rows, const double* weights, Matrix<const double> centres, const std::int32_t* labels,
                  int threads);

}  // namespace assay::clustering
