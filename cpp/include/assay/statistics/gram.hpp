// Weighted Gram matrix of shifted columns: the mergeable sufficient statistic of every linear Gaussian model.
//
//   z_i = [x_i - s_x, y_i - s_y, 1]  (length d = p + q + 1),      G = sum_i w_i z_i z_i^T
//
// G over a union of disjoint row sets is the sum of their G for the same shift s, so the Gram matrix of a training part
// is the total minus that of the test part. The shift keeps that subtraction, and the centring that follows
// (G_ab - G_a1 G_b1 / G_11), free of cancellation: s should be near the column means; any fixed value is exact algebra.
//
// Method: rows are packed into panels of 16 columns and multiplied by a register-blocked kernel (8 x 16 accumulators
// on AVX-512, 4 x 8 otherwise), upper panels only. Narrow tables (d <= 768) are split into fixed row chunks whose
// partial matrices are added in chunk order; wide ones are split over tiles of G, each summed over the rows in order.
// Either way the result is the same for any number of threads.
//
// Cost: one read of X; n d^2 / 2 multiply-adds; memory 8 d^2 bytes for each chunk (at most 64 MiB in all), or 8 d^2.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "assay/common/views.hpp"

namespace assay {

// Which rows of a table take part and how much each counts; null pointers mean all rows and weight one.
struct RowSelection {
    const std::int64_t* rows = nullptr;  // indices into the table
    index_t count = 0;                   // rows taking part
    const double* weights = nullptr;     // one weight per row of the whole table

    index_t row(index_t i) const { return rows == nullptr ? i : static_cast<index_t>(rows[i]); }
};

// x: n x p, y: n x q (q may be 0), C-ordered; shift: p + q values; gram (OUT): d x d, C-ordered, symmetric.
void weighted_gram(Matrix<const double> x, Matrix<const double> y, RowSelection selection, const double* shift,
                   double* gram, int threads);

// The same of rows that are made when they are needed, a block at a time: make(begin, end, to) writes rows begin..end of
// `columns` cells each, from any thread. weights: one for each row, or null.
using MakeRows = std::function<void(index_t, index_t, double*)>;
void made_gram(index_t columns, const MakeRows& make, Matrix<const double> y, const double* weights, const double* shift,
               double* gram, int threads);

// A shift near the means, from every step-th row: the mean of each column of x and y over them, of one that does not
// vary there its value. shift (OUT): p + q values.
void central_values(Matrix<const double> x, Matrix<const double> y, index_t step, double* shift);

// Which columns have a mean more than a hundred deviations from the shift, by the sums G around it: centring them would
// cancel. far (OUT): d - 1 values.
void far_columns(Matrix<const double> gram, const double* shift, bool* far);

// Moments around the mean, or around zero if not `centre` (then the shift is zero): of G, or of G - less where that is not null;
// sums over weighted rows, or averages over them.
struct CentredMoments {
    double weight = 0;
    std::vector<double> x_mean, y_mean;     // of the p columns and the q targets
    std::vector<double> gram, cross;        // p x p, p x q
    std::vector<double> y_squares;          // q
};
CentredMoments centred_moments(Matrix<const double> gram, const double* less, const double* shift, index_t targets,
                               bool centre, bool averaged);

// The Gram matrix of each class by itself, q = 0, in one pass over the rows: codes: one class in 0 .. classes - 1 per row of x;
// shift: classes x p; grams (OUT): classes x (p + 1) x (p + 1). Rows gather in a block of their class, which is multiplied
// when it is full; where blocks and sums of all classes leave the second-level cache, the classes are summed in turn.
void class_grams(Matrix<const double> x, const std::int32_t* codes, index_t classes, RowSelection selection,
                 const double* shift, double* grams, int threads);

// out[k] (OUT) = c_k' G c_k for each row c_k of `combinations` (k x d): the weighted squares of linear combinations of the
// columns. Zeros are skipped; d multiply-adds for each cell that is not zero. G: d x d, symmetric.
void quadratic_forms(Matrix<const double> gram, Matrix<const double> combinations, double* out, int threads);

}  // namespace assay
