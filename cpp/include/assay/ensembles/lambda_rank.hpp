// Gradients of LambdaRank: pairs of rows of one query, weighted by what their exchange would change in NDCG.
//
// Rows of a query stand in the order of their scores s, place r = 0, 1, .. with the discount d_r = 1 / log2(r + 2); a row has the gain G >= 0.
//   DCG = sum over places r < truncation of G d_r,     NDCG = DCG / its largest value.
// For a pair with G_i > G_j, one of them among the first `truncation` places, and p = 1 / (1 + exp(s_i - s_j)):
//   delta = |G_i - G_j| |d_i - d_j| / (largest DCG),   g_i -= p delta,  g_j += p delta,   h_i, h_j += p (1 - p) delta
// (Burges, From RankNet to LambdaRank to LambdaMART, MSR-TR-2010-82). As in LightGBM, delta is divided by 0.01 + |s_i - s_j| once the scores of
// a query differ, and the gradients of a query are scaled by log2(1 + S) / S, with S the sum of their sizes, so that long queries do not rule.
//   Rows of equal score keep the order in which they stand. Queries in parallel, each written by itself: the same bits for any number of threads.
// Cost O(n truncation) a round.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::ensembles {

struct RankTask {
    const double* gains = nullptr;      // by row
    Vector<const std::int64_t> begin;   // query q: rows begin[q] .. begin[q + 1) - 1
    index_t truncation = 30;
    int threads = 1;
};

// The largest DCG of each query, which depends on the gains alone.
std::vector<double> largest_gains(const RankTask& task);

// OUT g, h (n; zero where a query has no pair), ndcg (queries; 1 where no row has a gain, which no order can better); `largest` by query.
void lambda_gradients(const RankTask& task, const double* largest, const double* scores, double* g, double* h, double* ndcg);

}  // namespace assay::ensembles
