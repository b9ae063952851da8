// Squared error (f - y)^2 / 2; as a family: the Gaussian, V = 1.
#pragma once

#include "assay/losses/deviance.hpp"

namespace assay::losses {

struct SquaredError {
    ASSAY_INLINE LossTerms at(double y, double f, double) { return {0.5 * (f - y) * (f - y), f - y, 1.0}; }
    ASSAY_INLINE Deviance deviance(double y, const Mean& m, double) {
        const double r = y - m.mu;
        return {1.0, 0.0, 0.5 * r * r, r, std::abs(m.mu) < 1e200 ? 1.0 : 0.0};
    }
};

}  // namespace assay::losses
