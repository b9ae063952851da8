// Gamma deviance, V = mu^2.
#pragma once

#include "assay/losses/deviance.hpp"

namespace assay::losses {

struct Gamma {
    ASSAY_INLINE Deviance deviance(double y, const Mean& m, double) {
        const double r = y - m.mu;
        return {m.mu * m.mu, 2.0 * m.mu, r / m.mu - fast_log(y / m.mu), r, positive(m.mu)};
    }
};

}  // namespace assay::losses
