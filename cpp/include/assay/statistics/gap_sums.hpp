// Sums over the rows that a column marks, for every pair of columns: what correlations by pairs need of missing cells.
//
//   sums[j, i] = sum of z_ri over the rows r with mark_rj,      squares[j, i] = sum of z_ri^2 over the same rows
//
// With marks on the missing cells and z = 0 there, the sum over the rows where both are present is the column's total less
// sums[j, i]; a column of which most cells are missing is better marked where it is present. The work is proportional to
// the marks, n p^2 marks / cells, where a product with the matrix of marks would take n p^2.
//
// both_marked[j, i] = rows where both i and j are marked, by counting bits.
//
// Method: blocks of rows x strips of columns that stay in the nearest cache; for each column j the marked rows of the
// block are added up in registers. Columns j are shared out among threads; rows are added in order, so the result is the
// same for any number of threads. IN z (n x p), marks (n x p, 0 or 1), C-ordered. OUT (p x p), C-ordered, added to.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"

namespace assay {

void gap_sums(Matrix<const double> z, Matrix<const std::uint8_t> marks, double* sums, double* squares,
              double* both_marked, int threads);

}  // namespace assay
