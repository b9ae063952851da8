// Inverse Gaussian deviance, V = mu^3.
#pragma once

#include "assay/losses/deviance.hpp"

namespace assay::losses {

struct InverseGaussian {
    ASSAY_INLINE Deviance deviance(double y, const Mean& m, double) {
        const double r = y - m.mu, square = m.mu * m.mu;
        return {square * m.mu, 3.0 * square, 0.5 * r * r / (y * square), r, positive(m.mu)};
    }
};

}  // namespace assay::losses
