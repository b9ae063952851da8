// Links and families of generalised linear models, as straight-line arithmetic on one row. A new one is one struct
// here and one line in the switch of glm.cpp.
//
// A link gives mu, 1 - mu (without cancellation where it can), mu' and mu''. A family gives V, V', half the unit
// deviance, the residual y - mu, and whether mu is in its range.
#pragma once

#include <cmath>

#include "assay/common/elementary.hpp"
#include "assay/common/simd.hpp"

namespace assay::glm {

struct Mean {
    double mu, rest, first, second;  // rest = 1 - mu
};

// Means are kept within 1e-100..1e100 where a link could leave them, so that their powers stay finite.
constexpr double largest_log = 230.0;

ASSAY_INLINE double clip(double x, double low, double high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

struct Identity {
    ASSAY_INLINE Mean at(double eta) { return {eta, 1.0 - eta, 1.0, 0.0}; }
};
struct Log {
    ASSAY_INLINE Mean at(double eta) {
        const double mu = fast_exp(clip(eta, -largest_log, largest_log));
        return {mu, 1.0 - mu, mu, mu};
    }
};
struct Logit {
    ASSAY_INLINE Mean at(double eta) {
        const double u = fast_exp(-std::abs(clip(eta, -largest_log, largest_log))), q = 1.0 / (1.0 + u);
        const double far = u * q, near = q;
        const double mu = eta >= 0.0 ? near : far, rest = eta >= 0.0 ? far : near;
        const double first = u * q * q;
        return {mu, rest, first, first * (rest - mu)};
    }
};
struct Probit {
    ASSAY_INLINE Mean at(double eta) {
        eta = clip(eta, -20.0, 20.0);
        const double root_half = 0.70710678118654752440, density = 0.39894228040143267794 * fast_exp(-0.5 * eta * eta);
        return {0.5 * std::erfc(-eta * root_half), 0.5 * std::erfc(eta * root_half), density, -eta * density};
    }
};
struct Cloglog {
    ASSAY_INLINE Mean at(double eta) {
        const double hazard = fast_exp(clip(eta, -largest_log, 5.0)), rest = fast_exp(-hazard);
        return {-std::expm1(-hazard), rest, hazard * rest, hazard * rest * (1.0 - hazard)};
    }
};
struct Inverse {
    ASSAY_INLINE Mean at(double eta) {
        const double mu = 1.0 / eta;
        return {mu, 1.0 - mu, -mu * mu, 2.0 * mu * mu * mu};
    }
};
struct InverseSquared {
    ASSAY_INLINE Mean at(double eta) {
        const double mu = 1.0 / std::sqrt(eta), cube = mu * mu * mu;
        return {mu, 1.0 - mu, -0.5 * cube, 0.75 * cube * mu * mu};
    }
};
struct Sqrt {
    ASSAY_INLINE Mean at(double eta) { return {eta * eta, 1.0 - eta * eta, 2.0 * eta, 2.0}; }
};

struct Terms {
    double variance, slope, half_deviance, residual, inside;
};

// a log(a / b), 0 at a = 0
ASSAY_INLINE double entropy_term(double a, double b) {
    const bool some = a > 0.0;
    const double value = a * fast_log(some ? a / b : 1.0);
    return some ? value : 0.0;
}
ASSAY_INLINE double positive(double mu) { return mu > 0.0 && mu < 1e200 ? 1.0 : 0.0; }

struct Gaussian {
    ASSAY_INLINE Terms at(double y, const Mean& m, double) {
        const double r = y - m.mu;
        return {1.0, 0.0, 0.5 * r * r, r, std::abs(m.mu) < 1e200 ? 1.0 : 0.0};
    }
};
struct Bernoulli {
    ASSAY_INLINE Terms at(double y, const Mean& m, double) {
        const double loss = entropy_term(y, m.mu) + entropy_term(1.0 - y, m.rest);
        const double inside = (m.mu > 0.0 && m.rest > 0.0) ? 1.0 : 0.0;
        return {m.mu * m.rest, m.rest - m.mu, loss, y * m.rest - (1.0 - y) * m.mu, inside};
    }
};
struct Poisson {
    ASSAY_INLINE Terms at(double y, const Mean& m, double) {
        const double r = y - m.mu;
        return {m.mu, 1.0, entropy_term(y, m.mu) - r, r, positive(m.mu)};
    }
};
struct Gamma {
    ASSAY_INLINE Terms at(double y, const Mean& m, double) {
        const double r = y - m.mu;
        return {m.mu * m.mu, 2.0 * m.mu, r / m.mu - fast_log(y / m.mu), r, positive(m.mu)};
    }
};
struct InverseGaussian {
    ASSAY_INLINE Terms at(double y, const Mean& m, double) {
        const double r = y - m.mu, square = m.mu * m.mu;
        return {square * m.mu, 3.0 * square, 0.5 * r * r / (y * square), r, positive(m.mu)};
    }
};
struct Tweedie {
    ASSAY_INLINE Terms at(double y, const Mean& m, double power) {
        const double one = 1.0 - power, two = 2.0 - power;
        const double mu_log = fast_log(m.mu > 0.0 ? m.mu : 1.0);
        const double to_one = fast_exp(one * mu_log), to_two = to_one * m.mu;
        const double saturated = y > 0.0 ? fast_exp(two * fast_log(y > 0.0 ? y : 1.0)) : 0.0;
        const double variance = m.mu / to_one;
        return {variance, power / to_one, saturated / (one * two) - y * to_one / one + to_two / two, y - m.mu,
                positive(m.mu)};
    }
};
struct NegativeBinomial {
    ASSAY_INLINE Terms at(double y, const Mean& m, double theta) {
        const double share = m.mu / theta;
        const double loss = entropy_term(y, m.mu) - (y + theta) * fast_log((y + theta) / (m.mu + theta));
        return {m.mu * (1.0 + share), 1.0 + 2.0 * share, loss, y - m.mu, positive(m.mu)};
    }
};

}  // namespace assay::glm
