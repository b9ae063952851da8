// All monomials of the columns up to a degree, row by row.
//
// In the order of the degrees, and within a degree in lexicographic order, the monomials that continue a monomial m by one
// factor stand side by side: m x_f, m x_(f+1), ..., m x_last. A run says so: its parent m (-1 for the constant 1), the first
// column f, and how many. A row of monomials is one product for each cell, written in order.
// Cost: one product and one write for each cell.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"

namespace assay::prepare {

struct MonomialRuns {
    Matrix<const std::int64_t> of;  // IN runs x 3: parent (an earlier monomial), first column, count
    bool ones = false;              // a column of ones in front, which parents do not count
    bool finite = false;            // cells beyond the range of double become NaN
};

// x IN n x p; out OUT n x (monomials + ones). The caller has checked the runs.
void monomials(Matrix<const double> x, const MonomialRuns& runs, Matrix<double> out, int threads);

// Rows begin..end of the monomials of (x - centre) / scale, one after the other. to OUT (end - begin) x `width`.
void scaled_monomials(Matrix<const double> x, const double* centre, const double* scale, const MonomialRuns& runs,
                      index_t begin, index_t end, double* to, index_t width);

}  // namespace assay::prepare
