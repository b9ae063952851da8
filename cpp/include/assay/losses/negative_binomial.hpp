// Negative binomial deviance, V = mu + mu^2 / theta.
#pragma once

#include "assay/losses/deviance.hpp"

namespace assay::losses {

struct NegativeBinomial {
    ASSAY_INLINE Deviance deviance(double y, const Mean& m, double theta) {
        const double share = m.mu / theta;
        const double loss = entropy_term(y, m.mu) - (y + theta) * fast_log((y + theta) / (m.mu + theta));
        return {m.mu * (1.0 + share), 1.0 + 2.0 * share, loss, y - m.mu, positive(m.mu)};
    }
};

}  // namespace assay::losses
