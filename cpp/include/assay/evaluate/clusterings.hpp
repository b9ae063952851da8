// Quality of clusterings.
//
// Expected mutual information of two partitions with the given class sizes a_i and b_j of n points, under random
// labelling (Vinh, Epps & Bailey, JMLR 11, 2010):
//   E = sum_ij sum_k (k / n) ln(n k / (a_i b_j)) P(k),   P(k) hypergeometric(n, a_i, b_j).
// Pairs of equal sizes are computed once (at most O(n) distinct pairs); P runs from its mode outwards by the ratio of
// neighbours until it no longer counts, and is normalised by its own sum: O(sqrt(a b / n)) terms, no log-gammas, no
// cancellation. IN sizes and how often each occurs.
//
// Silhouette (Rousseeuw 1987): s_i = (b_i - a_i) / max(a_i, b_i), a_i the mean distance to the other points of its own
// cluster, b_i the least mean distance to another cluster; 0 for a cluster of one point. IN columns (d x n): points
// sorted by cluster, one row per feature; start (k + 1): first point of each cluster. OUT s (n), in that order. Euclidean
// distances as sums of squared differences, never stored: O(n d + n k) memory, O(n^2 d) time.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"

namespace assay {

double expected_mutual_information(Vector<const std::int64_t> a, Vector<const std::int64_t> a_times,
                                   Vector<const std::int64_t> b, Vector<const std::int64_t> b_times, std::int64_t n,
                                   int threads);

void silhouette(Matrix<const double> columns, Vector<const std::int64_t> start, int threads, double* s);

}  // namespace assay
