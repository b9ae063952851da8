// Pairwise ranking losses of scores, without writing the pairs down.
//
// Rows lie in groups (queries), offsets group_begin[0..g]; within a group every pair (i, j) with level_i > level_j asks
// for s_i >= s_j + 1 and counts w_i w_j. Losses with gap = 1 - s_i + s_j:
//     hinge sum w_i w_j max(0, gap)          squared hinge sum w_i w_j max(0, gap)^2 / 2
// The gradient in s needs, for each i, the weight, sum and sum of squares of the scores s_j > s_i - 1 of lower levels
// (and the mirror image for j): rows enter a binary indexed tree over levels in order of score.
// Reference: Lee & Lin, Large-scale linear RankSVM, Neural Computation 26, 2014; Joachims, KDD 2006.
//
// IN  scores n, levels n (ranks 0.. within the whole table), weights n or empty, group_begin g + 1 (rows sorted by group).
// OUT gradient n (of the sum); returned: loss, total weight of the pairs.
// Cost: n log n for sorting and the tree. Threads take whole groups; sums are merged in group order.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"

namespace assay {

struct RankedRows {
    Vector<const double> scores;
    Vector<const std::int32_t> levels;
    Vector<const double> weights;
    Vector<const std::int64_t> group_begin;
};

double rank_loss(const RankedRows& rows, bool squared, Vector<double> gradient, int threads);

// OUT product n: the second derivative of the squared hinge at these scores (pairs with a gap > 0) times a direction n,
// sum over pairs of w_i w_j (d_i - d_j) at i and its negative at j. The same sweep, with d in the place of the scores.
void rank_curvature_product(const RankedRows& rows, Vector<const double> direction, Vector<double> product, int threads);

// Weight of the pairs whose scores are in order, equal, and of all pairs.
struct PairCounts {
    double ordered = 0.0, tied = 0.0, all = 0.0;
};
PairCounts count_pairs(const RankedRows& rows, int threads);

}  // namespace assay
