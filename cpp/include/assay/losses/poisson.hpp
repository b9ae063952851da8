// Poisson deviance, V = mu.
#pragma once

#include "assay/losses/deviance.hpp"

namespace assay::losses {

struct Poisson {
    ASSAY_INLINE Deviance deviance(double y, const Mean& m, double) {
        const double r = y - m.mu;
        return {m.mu, 1.0, entropy_term(y, m.mu) - r, r, positive(m.mu)};
    }
};

}  // namespace assay::losses
