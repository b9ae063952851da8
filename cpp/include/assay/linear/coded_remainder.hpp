// Rows kept as 16-bit codes, and what the log loss of two classes adds there to its second-order model.
//
// With z = (x - centre) * inverse_scale, a cell is coded as k_ij = round(z_ij / unit_j + u_i) and read as
// z~_ij = (k_ij - u_i) unit_j, where u_i is a random number in [-1/2, 1/2) of the row alone. The error e_ij = z~_ij - z_ij is then
// uniform in [-unit_j / 2, unit_j / 2) whatever the cell is (subtractive dither: Schuchman 1964; Lipshitz, Wannamaker & Vanderkooy
// 1992), and independent from row to row.
//
// At coefficients b, of which loss, gradient and Hessian are known for all rows, a step d changes eta_i = b . z_i by delta_i = d . z_i and
//   loss(b + d)     = loss(b) + gradient . d + d' Hessian d / 2 + sum_i w_i r_i
//   gradient(b + d) = gradient + Hessian d + sum_i w_i rho_i z_i
//   rho_i = s(eta + delta) - s(eta) - s'(eta) delta,   r_i = L(eta + delta) - L(eta) - s(eta) delta - s'(eta) delta^2 / 2
// with s the logistic function and L its integral. No label enters, and rho is of the order of delta^2, so that coded rows give these
// sums well. How well: with D = sum_j unit_j |d_j| / 2 >= |e . d|, E = sum_j unit_j |b_j| / 2 >= |e . b|, delta' = |delta| + D,
//   |rho| <= .0482 delta'^2 / w =: U / w     |d rho / d delta| D + |d rho / d eta| E <= .0963 delta' D + .0625 delta'^2 E =: T / w
// (bounds of s'', s''' over all eta). The part of the error of z_ij rho_i that is linear in e has the mean 0 and is at most
// B_ij = (U_i + T_i) unit_j / 2 + |z~_ij| T_i, so that its sum over rows exceeds 8 sqrt(sum_i B_ij^2) with a chance below 3e-14 (Hoeffding
// 1963). The rest is of second order and at most
//   T_i unit_j / 2 + |z_ij| (.0482 w D^2 + 1.4 E T_i).
// All of it follows from sum T, sum (U + T)^2 and sum_i z~_ij^2 T_i^2, which the pass gives beside the sums.
#pragma once

#include <cstdint>

#include "assay/common/views.hpp"

namespace assay {

// codes OUT n x p; false if a cell is not finite or its code does not fit. per_unit IN p: 1 / (unit * scale), or 0 for a column that
// is left out. Row i has the number first + i in the stream `key`.
bool code_rows(Matrix<const double> x, Vector<const double> centre, Vector<const double> per_unit, std::uint64_t key,
               std::uint64_t first, Matrix<std::int16_t> codes, int threads);

struct CodedRows {
    Matrix<const std::int16_t> codes;  // IN n x p
    Vector<const double> unit;         // IN p
    Vector<const double> weights;      // IN n weights >= 0; empty: all 1
    bool intercept = true;
    std::uint64_t key = 0, first = 0;

    index_t columns() const { return codes.cols + (intercept ? 1 : 0); }
};

struct RemainderSums {
    double value = 0.0;       // sum w r
    double slack = 0.0;       // sum T
    double slack_square = 0.0;  // sum (U + T)^2
};

// at, step IN m: b and d; gradient OUT m: sum w rho z~; spread OUT m: sum z~^2 T^2. Sums run in fixed chunks of rows and are merged in order.
RemainderSums coded_remainder(const CodedRows& rows, Vector<const double> at, Vector<const double> step, Vector<double> gradient,
                              Vector<double> spread, int threads);

}  // namespace assay
