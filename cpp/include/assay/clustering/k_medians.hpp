// k-medians: centres c_1..c_k and labels a_i that lower sum_i w_i |x_i - c_{a_i}|_1 at every step (Bradley, Mangasarian &
// Street, "Clustering via concave minimization", NIPS 9, 1997).
//
// Assignment. a_i is the j with the least Manhattan distance in float64, the smallest j among equals. The bounds and the
// float32 panels of k_means.hpp hold for any metric; here the score is the distance itself, with the error
// e_i = 1.02 (d + 8) 2^-24 (|x_i|_1 + max_j |c_j|_1).
//
// Update. Of each cluster whose rows changed, the weighted median of every column: the least value up to which half of the
// weight lies, which is the lower one of two middle values for equal weights. Selection, no sorting: two values of the step
// before, or of a sample, enclose the median of a long column, one pass keeps what lies between them, and nth_element ends it.
// With weights the side that holds half the weight is halved until it is short.
//
// Empty clusters and rounding as in k_means.hpp. Stop: no label changed, or max_iter steps; then rows are assigned once
// more, so that labels belong to the centres returned.
//
// Shapes: rows n x d, centres IN/OUT restarts x k x d, labels OUT restarts x n. Cost per step at most n k d in float32 and
// about two looks at every cell of the changed clusters; memory 24 n beside the rows. Fixed chunks, and each median belongs
// to one task: the number of threads changes nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/clustering/k_means.hpp"
#include "assay/common/views.hpp"

namespace assay::clustering {

std::vector<KMeansRun> k_medians(Matrix<const double> rows, const double* weights, index_t k, index_t restarts,
                                   double* centres, std::int32_t* labels, index_t max_iter, bool record, int threads);

// The nearest centre of each row by Manhattan distance, and that distance.
void nearest_medians(Matrix<const double> rows, Matrix<const double> centres, std::int32_t* labels, double* distances,
                     int threads);

}  // namespace assay::clustering
