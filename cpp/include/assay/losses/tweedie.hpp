// Tweedie deviance, V = mu^power, for powers outside {0, 1, 2} and (0, 1); between 1 and 2 the target may be 0.
#pragma once

#include "assay/losses/deviance.hpp"

namespace assay::losses {

struct Tweedie {
    ASSAY_INLINE Deviance deviance(double y, const Mean& m, double power) {
        const double one = 1.0 - power, two = 2.0 - power;
        const double mu_log = fast_log(m.mu > 0.0 ? m.mu : 1.0);
        const double to_one = fast_exp(one * mu_log), to_two = to_one * m.mu;
        const double saturated = y > 0.0 ? fast_exp(two * fast_log(y > 0.0 ? y : 1.0)) : 0.0;
        const double variance = m.mu / to_one;
        return {variance, power / to_one, saturated / (one * two) - y * to_one / one + to_two / two, y - m.mu,
                positive(m.mu)};
    }
};

}  // namespace assay::losses
