// The vote of neighbours: for query i with neighbours r_1 .. r_k of classes c(r) and weights w
//
//   share[i][c] = sum over j with c(r_j) = c of w_ij / sum over j of w_ij.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"

namespace assay::neighbours {

// rows: n x k row numbers; codes: the class of each row; weights: n x k, or null where all count the same;
// shares (OUT): n x classes.
void vote_shares(const std::int64_t* rows, index_t n, index_t k, const std::int32_t* codes, const double* weights,
                 index_t classes, double* shares, int threads);

}  // namespace assay::neighbours
