// Cholesky factors of blocks of Q.
#pragma once

#include <vector>

#include "assay/common/views.hpp"

namespace assay::elastic_net {

// Where row i of the lower triangle begins: rows one after another, each as long as it needs to be in whole lanes.
inline index_t row_start(index_t i) { return 32 * (i / 8) * (i / 8 + 1) + i % 8 * 8 * (i / 8 + 1); }

// Lower triangle of a (m rows) in place; false if the matrix is not safely positive definite in the precision of its cells
// (double or float). Panels of columns are updated by all the columns before them in tiles of inner products, each in one
// fixed order: m^3 / 6 multiply-adds, the same to the bit for any number of threads.
template <class Cell>
bool factorise(Cell* a, index_t m, int threads);

// x <- a^-1 x, from the factor.
template <class Cell>
void solve_factored(const Cell* a, index_t m, std::vector<double>& x);

}  // namespace assay::elastic_net
