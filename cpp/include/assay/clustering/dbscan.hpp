// DBSCAN (Ester, Kriegel, Sander & Xu, KDD 1996): a point is core if the points within eps of it (itself among them) weigh
// at least min_weight; core points within eps of each other share a cluster; a point that is not core but within eps of a
// core point is a border point; the others are noise.
//
// No neighbour list of a core point is kept. On the boxes of a k-d tree:
//   Core points: counting stops at min_weight; a node that lies within eps as a whole adds its weight without a distance.
//   Clusters: the core points of a node with a diameter of at most eps are one set at once (the cells of grid-based DBSCAN,
//   as large as the data allow); pairs in a leaf are measured. Then each core point looks at the nodes after its own place
//   that are not wholly in its set: one pass finds every pair of sets that touch (disjoint sets merge them).
//   Border points take the smallest label among the core points within eps.
// In many columns boxes rule out little: a point that is not core, or has core points of another set around, measures most
// leaves. Where a sample of points does (euclidean, no weights), all pairs are screened in float32 instead (neighbours/distance_reduce.hpp): core points are
// joined as their rows are found, the short lists of the others wait for the labels.
// Clusters are numbered by their first core row, so labels are those of the textbook algorithm run in row order.
//
// Metrics: euclidean, manhattan, chebyshev; `reach` is eps as the kernels compare distances (eps^2 for euclidean).
// OUT labels n (-1 noise), core n (0 or 1). Memory O(n d); time near n log n for few columns, n^2 d / 16 at worst. Sets do
// not depend on the order of merging, so the number of threads changes nothing.
#pragma once

#include <cstdint>

#include "assay/neighbours/metrics.hpp"

namespace assay::clustering {

void dbscan(Matrix<const double> rows, const double* weights, neighbours::Metric metric, double reach, double min_weight,
            std::int32_t* labels, std::uint8_t* core, int threads);

}  // namespace assay::clustering
