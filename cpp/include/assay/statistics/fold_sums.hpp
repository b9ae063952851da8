// Sums over many lists of rows of one table in one call: what cross-validation with many folds asks for.
//
// Each list gets what a call by itself would give it, bit for bit: `class_moments` and `class_grams` of its rows, and for
// preparations that standardise columns, with the rows x_1 .. x_n of the list,
//
//   mean_j = sum x_ij / n,    left_j = sum (x_ij - mean_j) / n,    square_j = sum (x_ij - mean_j)^2 / n
//
// where left_j is what rounding left in the mean. Rows are added in eight lanes (row i to lane i mod 8) over blocks of 512
// rows; lanes, then blocks, are added in order. `column_spread` has the same order for a table that lies by columns.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/row_lists.hpp"
#include "assay/common/views.hpp"
#include "assay/statistics/class_moments.hpp"

namespace assay {

// The moments of each list (no weights, no nominal columns), as `class_moments` gives them.
std::vector<ClassMoments> fold_moments(Matrix<const double> x, const std::int32_t* codes, index_t classes,
                                       const RowLists& lists, const double* shift, int threads);

// grams (OUT): lists x classes x (p + 1) x (p + 1), as `class_grams` gives them.
void fold_grams(Matrix<const double> x, const std::int32_t* codes, index_t classes, const RowLists& lists,
                const double* shift, double* grams, int threads);

// mean, left, square (OUT): lists x p, of the first p columns of x; complete cells.
void fold_spreads(Matrix<const double> x, index_t p, const RowLists& lists, double* mean, double* left, double* square,
                  int threads);

// The same for all rows of a table whose p columns lie one after the other (columns: p x n).
void column_spread(Matrix<const double> columns, double* mean, double* left, double* square, int threads);

// values (OUT), the rows of all lists one below the other: mean_kp + sum_j slope_kj (x_ij - mean_kj) of row i of list k, for
// means lists x (p + 1), whose last is that of the value, and slopes lists x p.
void fold_lines(Matrix<const double> x, const RowLists& lists, Matrix<const double> means, Matrix<const double> slopes,
                double* values, int threads);

// split[k] (OUT): 1 if the lists `trains[k]` and `tests[k]` hold each of n rows once between them, 2 if both also ascend.
void complementary(const RowLists& trains, const RowLists& tests, index_t n, std::uint8_t* split, int threads);

}  // namespace assay
