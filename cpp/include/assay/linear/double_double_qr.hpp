// Least squares in double-double arithmetic (about 106 bits), for certified digits.
//
//   minimise  sum_i w_i (y_i - a_i . b)^2
//
// A number is an unevaluated sum hi + lo of two doubles; sums and products use the error-free transformations of
// Knuth and Dekker (Hida, Li & Bailey, "Library for double-double and quad-double arithmetic", 2000).
//
// Method: modified Gram-Schmidt on [A y] with rows scaled by sqrt(w), which is backward stable for least squares when y
// is carried along as a last column (Bjorck, "Numerical Methods for Least Squares Problems", 1996, sec. 2.4). Columns
// are taken in order. One whose part orthogonal to the columns before it is at most `tolerance` times its own norm is
// left out: a linear combination of them; its coefficient is 0. The tolerance belongs to the rounding of the data, not of
// the arithmetic: a few units in the last place of a double for raw columns.
//
// Cost: about 2 n k^2 double-double multiply-adds (some 25 flops each); memory 16 n k bytes. Columns of a step are
// updated in parallel, each by one thread: the result does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay {

struct ExactLeastSquares {
    std::vector<double> coefficients;  // k; 0 for columns left out
    std::vector<double> inverse;       // k x k, R^{-1} (upper triangular): (A^T W A)^{-1} = R^{-1} R^{-T}
    std::vector<double> spread;        // k, sqrt of the diagonal of (A^T W A)^{-1}; 0 for columns left out
    std::vector<double> remaining;     // k, norm of the orthogonal part over the norm of the column
    std::vector<std::uint8_t> kept;    // k
    double residual_squares = 0;       // weighted sum of squared residuals
    double total_squares = 0;          // the same with b = 0, or around the mean when the first column is the intercept
};

// design: n x k, C-ordered; target: n; weights: n or null; intercept_first: column 0 is the constant.
ExactLeastSquares exact_least_squares(Matrix<const double> design, const double* target, const double* weights,
                                      bool intercept_first, double tolerance, int threads);

}  // namespace assay
