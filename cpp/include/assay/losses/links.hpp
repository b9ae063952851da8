// Links: the mean as a function of the linear predictor (raw score), with 1 - mu (without cancellation where it can be had)
// and the first two derivatives. A new one is one struct here and one line in the switch of glm.cpp.
#pragma once

#include <cmath>

#include "assay/common/elementary.hpp"
#include "assay/common/simd.hpp"

namespace assay::losses {

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

}  // namespace assay::losses
