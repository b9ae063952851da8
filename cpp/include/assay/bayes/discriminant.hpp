// Leave-one-out scores of regularised Gaussian discriminants, for every share of the identity at once.
//
// Row v is left out of a class; seen from its eigenvectors the covariance of a class j is then
//     A = (1 - g) diag(e) + g s_v I - (1 - g) c w w',        w = V'(x_v - mean of its own class),
// a matrix known to all rows of one class, with a share g of the identity and less one rank (Friedman, "Regularized
// discriminant analysis", JASA 84, 1989, section 5). With D = (1 - g) e + g s_v, y = V'(x_v - mean_j) and c' = (1 - g) c
//     log N(x_v) + d/2 log 2 pi = -1/2 [ y'D^-1 y + c' (y'D^-1 w)^2 / (1 - c' w'D^-1 w) + sum log D + log(1 - c' w'D^-1 w) ].
// A matrix that is not positive definite without the row gives -infinity.
//
// Shapes: y, w n x d; e d; s n; shares g of length m; OUT scores n x m. Cost: n m d divisions and 3 n m d multiply-adds.
#pragma once

#include "assay/common/row_lists.hpp"
#include "assay/common/views.hpp"

namespace assay {

void leave_one_out_scores(Matrix<const double> y, Matrix<const double> w, const double* eigenvalues, const double* spheres,
                          double c, Vector<const double> shares, double* scores, int threads);

// Gaussian discriminants of many folds, each with classes of its own, for the rows of its own list. A row x is first seen
// through the scaling of its fold, t = (x - origin) * factor (both null: t = x), and then scored,
//     linear:     s_k = level_k + slope_k'(t - centre)                      one covariance for all classes
//     quadratic:  s_k = level_k - 1/2 |G_k (t - centre_k)|^2                G_k'G_k the inverse covariance of class k
// Arrays hold the folds one after the other: origin, factor folds x d; levels folds x K; centres folds x d or folds x K x d;
// forms folds x K x d (slopes) or folds x K x d x d (G, lower triangular). Sixteen rows are scored at a time.
struct DiscriminantFolds {
    index_t classes = 0;
    bool quadratic = false;
    const double *origin = nullptr, *factor = nullptr, *levels = nullptr, *centres = nullptr, *forms = nullptr;
};

// probabilities (OUT): the class probabilities exp(s_k) / sum exp(s) of the rows of each list, one list below the other.
// Cost: K d (linear) or K d^2 / 2 multiply-adds for each row.
void discriminant_fold_scores(Matrix<const double> x, const RowLists& lists, const DiscriminantFolds& folds,
                              double* probabilities, int threads);

}  // namespace assay
