// Agglomerative clustering: the two nearest clusters are joined until one is left. After joining i and j the distance to any
// other cluster k follows from the old ones (Lance & Williams, The Computer Journal 9, 1967):
//   complete  max(d_ik, d_jk)                       average  (n_i d_ik + n_j d_jk) / (n_i + n_j)
//   weighted  (d_ik + d_jk) / 2                      single   min(d_ik, d_jk), for given distances (points: spanning_tree.hpp)
//   centroid  D = (n_i D_ik + n_j D_jk) / (n_i + n_j) - n_i n_j D_ij / (n_i + n_j)^2      with D = d^2
//   median    D = (D_ik + D_jk) / 2 - D_ij / 4
//   ward      d^2 = 2 n_i n_k / (n_i + n_k) |m_i - m_k|^2 with the clusters' means m
//
// Reducible distances (complete, average, weighted, ward): the nearest-neighbour chain (Murtagh, The Computer Journal 26,
// 1983) finds pairs that are nearest to each other in O(n^2) time; of equally near clusters the one before in the chain, then
// the one with the smaller number, is nearer. Merges are sorted by height afterwards. Ward needs the means alone: O(n d)
// memory. The others work on lines of distances, closed up as clusters vanish, of which a join writes one and no column. Rows
// make a line when it is first looked at: most of a square is never stored, and never more than half of it.
// Centroid and median may join at a smaller height than before (inversions), so the nearest pair of all is looked for at every
// step: each cluster knows its nearest one with a larger number, and looks again when that has changed.
//
// OUT z: (n - 1) x 4 as in `hierarchy_of_tree`; heights are distances, not squared ones.
#pragma once

#include "assay/common/views.hpp"
#include "assay/neighbours/metrics.hpp"

namespace assay::clustering {

enum class Linkage : int { complete, average, weighted, centroid, median, single };

// `square`: n x n distances (squared for centroid and median), symmetric; destroyed.
void matrix_linkage(double* square, index_t n, Linkage linkage, double* z);

// Of rows; complete, average and weighted alone.
void rows_linkage(Matrix<const double> rows, neighbours::Metric metric, double p, Linkage linkage, double* z, int threads);

// The square for rows, as `matrix_linkage` takes it.
void fill_square(Matrix<const double> rows, neighbours::Metric metric, double p, bool squared, double* square, int threads);

void ward_linkage(Matrix<const double> rows, double* z, int threads);

}  // namespace assay::clustering
