// A block of vectors filtered by a Chebyshev polynomial of a sparse symmetric matrix A (Zhou, Saad, Tiago & Chelikowsky, J. Comp.
// Physics 219, 2006): with the unwanted part [low, cut] of the spectrum mapped to [-1, 1], c = (low + cut) / 2, h = (cut - low) / 2,
//     Y_1 = (A - c) Y_0 / h,     Y_{t+1} = 2 (A - c) Y_t / h - Y_{t-1},
// which stays small there and grows fast above cut. One fused pass over the rows of A for each degree: the product of a row with
// the block, and the terms of the recursion. The block is scaled down when it would leave the range of doubles.
//
// Shapes: A n x n as CSR, block n x width row by row, IN Y_0, OUT Y_degree up to a factor. Width is a multiple of 8. Cost degree x edges x
// width multiply-adds. Rows are independent: the number of threads changes nothing.
#pragma once

#include "assay/graphs/communities.hpp"

namespace assay::graphs {

void chebyshev_filter(const Csr& matrix, double* block, index_t width, double low, double cut, index_t degree, int threads);

}  // namespace assay::graphs
